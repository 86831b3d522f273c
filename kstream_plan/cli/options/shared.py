"""Values of options, and the options that commands share one by one: same name, same meaning everywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.panels import INPUT, OUTPUT, PLANNING
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.errors import ConfigError
from kstream_plan.model.times import EPOCH
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


def _moment(text: str) -> datetime:
    """Return a time, or the end of a day."""
    try:
        if "T" not in text.upper():
            from kstream_plan.documents.policy_file import parse_date  # noqa: PLC0415 - not for every command

            return datetime.combine(parse_date(text), time(23, 59, 59), UTC)
        return EPOCH + timedelta(milliseconds=parse_time(text))
    except ValueError as error:
        raise WrongValueError(f"{error}, nor a time like 2027-01-31T12:00:00Z") from None


def _moment_ms(text: str) -> int:
    return (_moment(text) - EPOCH) // timedelta(milliseconds=1)


Snapshots = Annotated[
    list[str],
    typer.Argument(metavar="SNAPSHOT...", help="Snapshots, JSON or Parquet: files, folders, globs; - is stdin."),
]
StreamsConfig = Annotated[
    list[str] | None,
    typer.Option(
        "--streams-config",
        metavar="[ID=]FILE",
        help="Settings (.properties, YAML); a folder has one per application.",
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
        parser=_moment_ms,
        rich_help_panel=INPUT,
        hidden=True,
        help="Time that counts as now (default: --as-of, else the clock in drain, bounce --instance and check).",
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
