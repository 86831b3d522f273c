"""Values of options, and the options that commands share one by one: same name, same meaning everywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.panels import INPUT, OUTPUT, PLANNING
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.plans import Trigger
from kstream_plan.snapshots.rows.times import parse_time


class KeyValue(NamedTuple):
    """The two sides of ``K=V``."""

    key: str
    value: str


def parser(
    parse: Callable[[str], float],
    low: float = 0,
    high: float = math.inf,
    show: Callable[[float], str] = str,
) -> Callable[[str], float]:
    """Return ``parse`` with a range, whose ends it says by ``show``; its errors become usage errors."""

    def parsed(text: str) -> float:
        try:
            value = parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if not low <= value <= high:
            ends = f"below {show(low)}: give {show(low)} or more" if value < low else f"above {show(high)}: give less"
            raise typer.BadParameter(f"{text} is {ends}")
        return value

    return parsed


def whole_number(text: str) -> int:
    """Return the number that ``text`` is; else ``ValueError``."""
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def key_value(text: str) -> KeyValue:
    """Return the two sides of ``K=V``; else a usage error."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not K=V")
    return KeyValue(name, value)


def name(text: str) -> str:
    """Return ``text``; a usage error if it is empty."""
    if not text.strip():
        raise typer.BadParameter("it is empty")
    return text


def one_of(choices: Iterable[str], metavar: str | None = None) -> dict[str, Any]:
    """Return the settings of an option that takes one of ``choices``, shown as ``metavar`` where they are many."""
    names = list(choices)

    def parsed(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(names)}")
        return text

    return {"parser": parsed, "metavar": metavar or f"[{'|'.join(names)}]", "autocompletion": lambda: names}


Snapshots = Annotated[
    list[str],
    typer.Argument(
        metavar="SNAPSHOT...", help="Paths, folders or globs of JSON or Parquet snapshots; - is standard input."
    ),
]
StreamsConfig = Annotated[
    list[str] | None,
    typer.Option(
        "--streams-config",
        metavar="[ID=]FILE",
        help="Settings as .properties or YAML; a folder: by application.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", rich_help_panel=INPUT, help="Ignore what is newer: 2026-11-21T12:00:00Z."),
]
Now = Annotated[
    int | None,
    typer.Option(
        "--now",
        metavar="TIME",
        parser=parser(parse_time),
        rich_help_panel=INPUT,
        hidden=True,
        help="What time it is now, when plans begin (default: --as-of, else the log's last line, or when the group was "
        "asked).",
    ),
]
ApplicationId = Annotated[
    list[str] | None,
    typer.Option(
        "--application-id", metavar="ID", rich_help_panel=INPUT, help="Only these applications; a glob, repeatable."
    ),
]
#: What starts a rebalance only after another one.
_LATER_ONLY = (Trigger.FOLLOW_UP, Trigger.LEARNER_READY, Trigger.DEADLINE)
RoundOneTrigger = Annotated[
    Trigger | None,
    typer.Option(
        "--trigger",
        **one_of(trigger.value for trigger in Trigger if trigger not in _LATER_ONLY),
        rich_help_panel=PLANNING,
        hidden=True,
        help="What starts round 1 (default: join if an instance is new, else manual).",
    ),
]
MaxRounds = Annotated[
    int | None,
    typer.Option(
        parser=parser(whole_number, 1),
        metavar="N",
        rich_help_panel=PLANNING,
        hidden=True,
        help="Give up after so many (default: 4 x (stateful tasks + 10)).",
    ),
]
Bounds = Annotated[
    bool,
    typer.Option(
        "--bounds", rich_help_panel=PLANNING, hidden=True, help="Also find the least state that has to be restored."
    ),
]
Ranges = Annotated[
    bool,
    typer.Option(
        "--ranges",
        rich_help_panel=PLANNING,
        hidden=True,
        help="Play how else a long plan may come out, however long that takes; what is saved always has it.",
    ),
]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay",
        rich_help_panel=PLANNING,
        help="Make the decision that a snapshot knows again, from what it was made of.",
    ),
]
Output = Annotated[OutputForm, typer.Option("--output", rich_help_panel=OUTPUT, help="What stdout shows.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", rich_help_panel=OUTPUT, help="Write the JSON to this file."),
]
Full = Annotated[
    bool, typer.Option("--full", rich_help_panel=OUTPUT, hidden=True, help="JSON with each round's outcome in full.")
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        rich_help_panel=OUTPUT,
        help="Every step with its reason; all applications in full.",
    ),
]
Debug = Annotated[
    bool, typer.Option("--debug", rich_help_panel=OUTPUT, hidden=True, help="Show tracebacks and Spark's log.")
]
#: How long ago something may have been, or how long something may take.
A_WHILE = {"metavar": "DURATION", "parser": parser(parse_duration)}

BrokerVersion = Annotated[
    str | None,
    typer.Option("--broker-version", metavar="RELEASE", help="Of a streams group's brokers: 4.2, 4.3 or 4.4."),
]
Restart = Annotated[
    int | None,
    typer.Option(
        "--restart",
        metavar="DURATION",
        parser=parser(parse_duration, 1, show="{}ms".format),
        help="How long an instance is away: from its stop until it joins again (default: 40s).",
    ),
]
#: A stop, the start of a JVM, and joining.
USUAL_RESTART_MS = 40_000
