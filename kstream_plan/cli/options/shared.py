"""Values of options, and the options that commands share one by one: same name, same meaning everywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.panels import INPUT, OUTPUT, PLANNING
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.errors import ConfigError
from kstream_plan.plans import Trigger
from kstream_plan.snapshots.rows.times import parse_time

T = TypeVar("T")


class KeyValue(NamedTuple):
    """The two sides of ``K=V``."""

    key: str
    value: str


class WrongValueError(typer.BadParameter):
    """A value that an option does not take, and how to write it."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def parser(
    parse: Callable[[str], float], low: float = 0, high: float = math.inf, show: Callable[[float], str] = str
) -> Callable[[str], float]:
    """Return ``parse`` with a range, whose ends it says by ``show``; its errors become usage errors."""

    def parse_number(text: str) -> float:
        try:
            value = parse(text)
        except ValueError as error:
            raise WrongValueError(str(error)) from None
        if not low <= value <= high:
            is_small = value < low
            message = f"{text} is {'below' if is_small else 'above'} {show(low if is_small else high)}"
            raise WrongValueError(
                message, fix=f"give {show(low)} or more" if is_small else f"give at most {show(high)}"
            )
        return value

    return parse_number


def fixable(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return ``parse``; its errors become usage errors with their fix."""

    def parse_text(text: str) -> T:
        try:
            return parse(text)
        except ConfigError as error:
            raise WrongValueError(error.what, fix=error.fix) from None

    return parse_text


def whole_number(text: str) -> int:
    """Return the number that ``text`` is; else ``ValueError``."""
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def number_option(text: str, low: float = 0, high: float = math.inf, *, rare: bool = False) -> Any:
    """Return an option that takes a whole number in a range; ``text`` is its help."""
    return typer.Option(parser=parser(whole_number, low, high), metavar="N", hidden=rare, help=text)


def duration_option(text: str, *, rare: bool = False) -> Any:
    """Return an option that takes how long ago something may have been, or how long something may take."""
    return typer.Option(parser=parser(parse_duration), metavar="DURATION", hidden=rare, help=text)


def key_value(text: str) -> KeyValue:
    """Return the two sides of ``K=V``; else a usage error."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise WrongValueError(f"{text!r} is not K=V", fix="write a name, = and a value")
    return KeyValue(name, value)


def name(text: str) -> str:
    """Return ``text``; a usage error if it is empty."""
    if not text.strip():
        raise WrongValueError("the value is empty", fix="give a name")
    return text


def one_of(choices: Iterable[str], metavar: str | None = None) -> dict[str, Any]:
    """Return the settings of an option that takes one of ``choices``, shown as ``metavar`` where they are many."""
    names = list(choices)

    def parse(text: str) -> str:
        if text not in names:
            raise WrongValueError(f"{text!r} is not one of {', '.join(names)}")
        return text

    return {"parser": parse, "metavar": metavar or f"[{'|'.join(names)}]", "autocompletion": lambda: names}


Snapshots = Annotated[
    list[str],
    typer.Argument(metavar="SNAPSHOT...", help="Snapshots, JSON or Parquet: files, folders, globs; - is stdin."),
]
StreamsConfig = Annotated[
    list[str] | None,
    typer.Option(
        "--streams-config",
        metavar="[ID=]FILE",
        help="Settings (.properties, YAML); a folder has one file per application.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        rich_help_panel=INPUT,
        help="Ignore data newer than this time, e.g. 2026-11-21T12:00:00Z.",
    ),
]
Now = Annotated[
    int | None,
    typer.Option(
        "--now",
        metavar="TIME",
        parser=parser(parse_time),
        rich_help_panel=INPUT,
        hidden=True,
        help="Start time of plans (default: --as-of, else the clock in drain and bounce --instance, else the newest "
        "decision).",
    ),
]
TrustReportsOf = Annotated[
    int | None,
    duration_option(
        "Age up to which a report of a copy counts as true (default: 1m if measured, else a heartbeat).", rare=True
    ),
]
ApplicationId = Annotated[
    list[str] | None,
    typer.Option(
        "--application-id",
        metavar="ID",
        rich_help_panel=INPUT,
        help="Only applications with this id; a glob, repeatable.",
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
        help="Trigger of rebalance 1 (default: join if an instance is new, else manual).",
    ),
]
MaxRounds = Annotated[
    int | None,
    typer.Option(
        parser=parser(whole_number, 1),
        metavar="N",
        rich_help_panel=PLANNING,
        hidden=True,
        help="Largest number of rebalances to simulate (default: 4 x (stateful tasks + 10)).",
    ),
]
Bounds = Annotated[
    bool,
    typer.Option(
        "--bounds", rich_help_panel=PLANNING, hidden=True, help="Also compute the minimum of state to restore."
    ),
]
Ranges = Annotated[
    bool,
    typer.Option(
        "--ranges",
        rich_help_panel=PLANNING,
        hidden=True,
        help="Also compute the range of outcomes for long plans (slow; always done for saved plans).",
    ),
]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay",
        rich_help_panel=PLANNING,
        help="Repeat the decision recorded in the snapshot, from the input it was made from.",
    ),
]
Output = Annotated[OutputForm, typer.Option("--output", rich_help_panel=OUTPUT, help="Form of the answer on stdout.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", rich_help_panel=OUTPUT, help="File to write the answer to, as JSON."),
]
Full = Annotated[
    bool,
    typer.Option(
        "--full", rich_help_panel=OUTPUT, hidden=True, help="JSON with the complete outcome of each rebalance."
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", rich_help_panel=OUTPUT, help="Show every step with its reason, and all applications in full."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, hidden=True, help="Show no progress on stderr.")
]
Debug = Annotated[
    bool, typer.Option("--debug", rich_help_panel=OUTPUT, hidden=True, help="Show tracebacks and Spark's log.")
]
BrokerVersion = Annotated[
    str | None,
    typer.Option("--broker-version", metavar="RELEASE", help="Release of a streams group's brokers: 4.2, 4.3 or 4.4."),
]
Restart = Annotated[
    int | None,
    typer.Option(
        "--restart",
        metavar="DURATION",
        parser=parser(parse_duration, 1_000, show=lambda ms: f"{ms / 1_000:g}s"),
        help="Time from an instance's stop until it joins again (default: 40s).",
    ),
]
#: A stop, the start of a JVM, and joining.
USUAL_RESTART_MS = 40_000
