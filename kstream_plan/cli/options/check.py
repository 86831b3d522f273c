"""The options that only ``check`` has."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options import shared as options
from kstream_plan.documents.policy_file import parse_date
from kstream_plan.render.check import REPORTS
from kstream_plan.snapshots.rows.times import parse_time


def _report(text: str) -> tuple[str, str]:
    form, equals, file = text.partition("=")
    if not equals or not file:
        raise typer.BadParameter(f"{text!r} is not FORMAT=FILE")
    if form not in REPORTS:
        raise typer.BadParameter(f"{form!r} is not one of {', '.join(REPORTS)}")
    return form, file


def _moment(text: str) -> datetime:
    try:
        if "T" not in text.upper():
            return datetime.combine(parse_date(text), time(23, 59, 59), UTC)
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=parse_time(text))
    except ValueError as error:
        raise typer.BadParameter(f"{error}, nor a time like 2027-01-31T12:00:00Z") from None


def _digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{12,64}", text):
        raise typer.BadParameter(f"{text!r} is not a digest in hexadecimal, nor at least 12 digits of its beginning")
    return text.lower()


Checked = Annotated[
    list[str],
    typer.Argument(
        metavar="PLAN|SNAPSHOT...",
        help="Saved plans, and snapshots to plan first (paths, folders, globs); - is standard input.",
    ),
]
PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="The rules, as YAML; without, plans only have to settle."),
]
Scenario = Annotated[
    Path | None,
    typer.Option("--scenario", metavar="FILE", help="What happens to the group; kstream-plan schema scenario."),
]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        parser=_report,
        help=f"Write what was found as {', '.join(REPORTS)}; repeatable; github=- below the table.",
    ),
]
Baseline = Annotated[
    list[Path] | None,
    typer.Option("--baseline", metavar="PLAN", help="Saved plans for what was before; repeatable."),
]
ExpectDigest = Annotated[
    list[str] | None,
    typer.Option(
        "--expect-digest",
        metavar="HEX",
        parser=_digest,
        help="Refuse a plan made from another input; repeatable, one must fit.",
    ),
]
FailOnWarning = Annotated[bool, typer.Option("--fail-on-warning", help="Exit code 3 for warnings as well.")]
Today = Annotated[
    datetime | None,
    typer.Option(
        "--today",
        metavar="DATE",
        parser=_moment,
        help="Take the end of this day, or this time, for now (default: the clock).",
    ),
]


class Planning:
    """How a snapshot is planned before it is checked, and where its plan goes."""

    scenario: Scenario = None
    trigger: options.TriggerName = None
    max_rounds: options.MaxRounds = None
    bounds: options.Bounds = False
    out: options.Out = None
    full: options.Full = False
