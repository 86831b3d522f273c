"""Options in groups that commands share: one added here is an option of every command that has the group."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import Options, fixable
from kstream_plan.cli.options.running import Limited, Spark
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.panels import INPUT, PLANNING
from kstream_plan.designs import DESIGNS
from kstream_plan.documents.given_settings import GivenDesign, parse_design
from kstream_plan.documents.target_file import target_content
from kstream_plan.model.times import EPOCH
from kstream_plan.planner.options import PlanOptions
from kstream_plan.snapshots.rows.fields import time_asked_for

_USUAL = PlanOptions()
#: Options that are those of plans, and what they are called there; not every command has all of them.
_OF_PLANS: Mapping[str, str] = {
    **{name: name for name in ("assignor", "protocol", "now_ms", "max_rounds", "bounds", "trigger", "replay")},
    **{"ranges": "long_ranges", "trust_reports_of": "trust_ms", "target_content": "target"},
}


class Reading(Options, panel=INPUT):
    """Of when a snapshot is."""

    as_of: shared.AsOf = None
    now: int | None = None
    trust_reports_of: int | None = None

    @property
    def is_about_now(self) -> bool:
        """Whether the question is about now: then now is what the clock says, unless a time is given."""
        return False

    @cached_property
    def now_ms(self) -> int | None:
        """When plans begin, since 1970; ``None``: when a snapshot says. The clock is read once."""
        if self.now is not None:
            return self.now
        return time.time_ns() // 1_000_000 if self.is_about_now and self.as_of is None else self.as_of_ms

    @property
    def clock(self) -> datetime:
        """What counts as now for the age of snapshots and for waivers: a time that is given, else the clock."""
        given_ms = self.as_of_ms if self.now is None else self.now
        return datetime.now(UTC) if given_ms is None else EPOCH + timedelta(milliseconds=given_ms)

    @property
    def as_of_ms(self) -> int | None:
        """The time of ``--as-of``, since 1970; ``None``: it is not given."""
        return None if self.as_of is None else time_asked_for(self.as_of, "--as-of") // 1000


class Measuring(Options, panel=INPUT):
    """What applications say of their copies now."""

    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            metavar="[KIND=]FILE|DIR|-",
            help="Lags: Prometheus metrics, offsets of changelogs, lag rows.",
        ),
    ] = None
    topology: Annotated[
        list[str] | None,
        typer.Option(
            "--topology",
            metavar="[ID=]FILE",
            help="Text of Topology.describe(); a folder has one per application.",
        ),
    ] = None

    @cached_property
    def lag_rows(self) -> Sequence[str]:
        """Which paths of ``--metrics`` hold lag rows."""
        if not self.metrics:
            return ()
        from kstream_plan.snapshots.metrics.measured_files import lag_rows  # noqa: PLC0415 - only where it is needed

        return lag_rows(self.metrics)


class Deciding(Options, panel=PLANNING):
    """Who decides, and how the group gets there."""

    assignor: str = _USUAL.assignor
    protocol: str = _USUAL.protocol
    design: Annotated[
        list[GivenDesign] | None,
        typer.Option(
            "--design",
            hidden=True,
            metavar="NAME[:KEY=VALUE,...]",
            parser=fixable(parse_design),
            autocompletion=lambda: list(DESIGNS),
            help=f"Coordination of the group (default: as Kafka does): {', '.join(DESIGNS)}.",
        ),
    ] = None

    @property
    def designs(self) -> Sequence[str]:
        """Every design that is asked for; none: the one that groups of this kind coordinate by."""
        return list(dict.fromkeys(design.name for design in self.design or ()))

    def design_options(self, name: str) -> Sequence[tuple[str, Any]]:
        """What only this design takes, by the fields of :class:`PlanOptions`."""
        return [option for design in self.design or () if design.name == name for option in design.options]

    @property
    def plan_options(self) -> PlanOptions:
        """How to plan, as far as a command can be asked for it."""
        values = {field: getattr(self, name, None) for name, field in _OF_PLANS.items()}
        design = self.designs[0] if len(self.designs) == 1 else None
        names = {design.name for design in self.design or ()}
        values |= self.design_options(*names) if len(names) == 1 else ()
        return PlanOptions(design=design, **{field: value for field, value in values.items() if value is not None})


class Following(Options, panel=PLANNING):
    """Which target file the assignor ``planned`` follows."""

    target: Path | None = None

    @cached_property
    def target_content(self) -> bytes | None:
        """What is in the file; ``None``: none is given.

        Raises:
            ConfigError: it cannot be read.
        """
        return None if self.target is None else target_content(self.target)


class Rounds(Deciding):
    """How many rounds are planned."""

    max_rounds: int | None = None


class Bounded(Rounds):
    """What is found besides of the least that has to be done."""

    bounds: bool = False


class Ranged(Deciding):
    """Whether how else it may come out is waited for where that takes long."""

    ranges: bool = False


class Triggered(Bounded):
    """Why the group rebalances now."""

    trigger: str | None = None


class Applications(Options, panel=INPUT):
    """Which applications, and what an error in one of them does."""

    application_id: shared.ApplicationId = None
    keep_going: bool = False


class PlansSnapshots(Reading, Measuring, Settings, Deciding, Spark, Limited, Applications):
    """What every command takes that reads snapshots and plans."""
