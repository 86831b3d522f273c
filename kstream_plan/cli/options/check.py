"""What ``check`` is asked."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Following, PlansSnapshots, Triggered
from kstream_plan.cli.options.parameters import WrongValueError, duration_option, number_option
from kstream_plan.cli.options.reports import ReportFile, report_option
from kstream_plan.cli.options.simulation import Chance, NewInstances
from kstream_plan.cli.output import OutputForm
from kstream_plan.render.check import REPORTS


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
    full: bool = False


class CheckOptions(NewInstances, Chance, Planning, Following, PlansSnapshots):
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
    require_generation: Annotated[int | None, number_option("Refuse plans from another generation.")] = None
    max_snapshot_age: Annotated[int | None, duration_option("Refuse plans made from an older snapshot.")] = None
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

    now: int | None = None

    @cached_property
    def now_ms(self) -> int | None:
        """When plans begin: a change is checked as of its snapshot, however old that is."""
        return self.as_of_ms
