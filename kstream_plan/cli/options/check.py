"""What ``check`` is asked."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import PlansSnapshots, Triggered
from kstream_plan.cli.options.reports import ReportFile, report_option
from kstream_plan.cli.options.shared import WrongValueError, duration_option, number_option
from kstream_plan.cli.options.simulation import Chance, NewInstances
from kstream_plan.cli.output import OutputForm
from kstream_plan.documents.policy_file import parse_date
from kstream_plan.model.times import EPOCH
from kstream_plan.render.check import REPORTS
from kstream_plan.snapshots.rows.times import parse_time


def _moment(text: str) -> datetime:
    """Return a time, or the end of a day."""
    try:
        if "T" not in text.upper():
            return datetime.combine(parse_date(text), time(23, 59, 59), UTC)
        return EPOCH + timedelta(milliseconds=parse_time(text))
    except ValueError as error:
        raise WrongValueError(f"{error}, nor a time like 2027-01-31T12:00:00Z") from None


def _moment_ms(text: str) -> int:
    return (_moment(text) - EPOCH) // timedelta(milliseconds=1)


def _digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{12,64}", text):
        message = f"{text!r} is not a digest in hexadecimal"
        raise WrongValueError(message, fix="give all of its digits, or at least the first 12")
    return text.lower()


class Planning(Triggered):
    """How a snapshot is planned before it is checked, and where its plan goes."""

    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", metavar="FILE", help="Scenario to check (format: kstream-plan schema scenario)."),
    ] = None
    out: shared.Out = None
    full: shared.Full = False


#: Option ``--today``, wherever a policy's dates are gone by.
Today = Annotated[
    datetime | None,
    typer.Option(
        "--today",
        hidden=True,
        metavar="DATE",
        parser=_moment,
        help="Day, or time, for which the policy is checked (default: now).",
    ),
]


class CheckOptions(NewInstances, Chance, Planning, PlansSnapshots):
    """What is checked, against what, and where the findings go; then what is for snapshots only."""

    paths: Annotated[
        list[str],
        typer.Argument(metavar="PLAN|SNAPSHOT...", help="Saved plans, or snapshots to plan first; - is stdin."),
    ]
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Rules as YAML; without them, plans only have to settle."),
    ] = None
    report: Annotated[
        list[ReportFile] | None,
        report_option(REPORTS, f"Findings as {', '.join(REPORTS)}; repeatable."),
    ] = None
    baseline: Annotated[
        list[Path] | None,
        typer.Option("--baseline", metavar="PLAN", help="Saved plans of the state before the change; repeatable."),
    ] = None
    require_generation: Annotated[int | None, number_option("Refuse plans that start from another generation.")] = None
    max_snapshot_age: Annotated[int | None, duration_option("Refuse plans made from a snapshot older than this.")] = (
        None
    )
    expect_digest: Annotated[
        list[str] | None,
        typer.Option(
            "--expect-digest",
            hidden=True,
            metavar="HEX",
            parser=_digest,
            help="Refuse plans made from other input; repeatable, one has to match.",
        ),
    ] = None
    output: shared.Output = OutputForm.TABLE
    fail_on_warning: Annotated[
        bool, typer.Option("--fail-on-warning", help="Fail with exit code 3 on warnings as well.")
    ] = False
    now: Annotated[
        int | None,
        typer.Option(
            "--now",
            "--today",
            hidden=True,
            metavar="TIME",
            parser=_moment_ms,
            help="Time, or day until its end, for snapshot ages and waivers (default: the clock).",
        ),
    ] = None

    @cached_property
    def now_ms(self) -> int | None:
        """When plans begin: a change is checked as of its snapshot, however old that is."""
        return self.as_of_ms
