"""``compare``: the same group under other settings, by another assignor, in other scenarios, beside each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.alternatives import inputs_compared, play_alternatives, report_compared
from kstream_plan.cli.actions.fleet_run import Work, each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.results import check_reports
from kstream_plan.cli.actions.scenarios import ScenarioOf, members_given, scale_out_of
from kstream_plan.cli.actions.variants import CONNECT_DELAY, OF_CONNECT, axes_of
from kstream_plan.cli.exit_codes import first_that_applies
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Deciding, Following, Measuring, PlansSnapshots, Reading, Rounds
from kstream_plan.cli.options.parameters import option_of, takes
from kstream_plan.cli.options.reports import Paging
from kstream_plan.cli.options.running import Spark
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.options.simulation import NewInstances
from kstream_plan.cli.output import OutputForm, write_stdout
from kstream_plan.cli.pages import answers_text
from kstream_plan.cli.progress import show_progress
from kstream_plan.comparison.alternatives import Alternative, SameOutcome, beside_each_other
from kstream_plan.documents.plan.files import each_saved_in, is_plan_file
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.errors import PlanFileError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.policy.findings import Standard
from kstream_plan.simulation.alternatives import saved_alternatives

#: Options that say how snapshots are read and planned; plans are compared as they were saved.
_FOR_SNAPSHOTS = (NewInstances, Reading, Measuring, Settings, Deciding, Following, Spark)


class CompareOptions(NewInstances, Rounds, Following, Paging, PlansSnapshots):
    """What ``compare`` is asked."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="{SNAPSHOT|PLAN}...",
            help="Snapshots to simulate, or saved plans of one snapshot.",
            show_default=False,
        ),
    ]
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=V,V...",
            help="Setting, assignor, protocol or design, and its values; repeatable: every combination.",
        ),
    ] = None
    scenario: Annotated[
        list[Path] | None,
        typer.Option("--scenario", metavar="FILE", help="Scenario of what happens to the group; several are compared."),
    ] = None
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Rules as YAML; shows which alternatives keep to them."),
    ] = None
    draws: int | None = None
    output: shared.Output = OutputForm.TABLE

    @cached_property
    def now_ms(self) -> int | None:
        """When plans begin: held against a policy, as of their snapshot, as in ``check``."""
        return super().now_ms if self.policy is None else self.as_of_ms

    @property
    def assignors_varied(self) -> Sequence[str]:
        """Every assignor that ``--vary`` names."""
        return [
            name
            for text in self.vary or ()
            if text.startswith("assignor=")
            for name in text.partition("=")[2].split(",")
        ]

    @property
    def designs(self) -> Sequence[str]:
        """Every design that is asked for: those that vary, if any does."""
        designs = [text.partition("=")[2].split(",") for text in self.vary or () if text.startswith("design=")]
        return designs[0] if designs else super().designs


@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare alternatives: other settings, assignors or scenarios of one group, or plans of one snapshot."""
    with expected_failures(debug=options.debug):
        standard = _standard(options)
        check_reports(options.report, None)
        if all(map(is_plan_file, options.paths)):
            work: Work[Sequence[SameOutcome]] = Work([beside_each_other(_read_alternatives(options, standard))])
        else:
            work = _simulate_alternatives(options, standard)
        report_all(work.errors, debug=options.debug)
        if work.results:
            report_compared(options.report, work.results)
            sources = inputs_compared(work.results, options.paths, options)
            write_stdout(answers_text(work.results, sources, options.output))
    raise typer.Exit(first_that_applies([], work.errors))


def _standard(options: CompareOptions) -> Standard | None:
    """Return what every alternative is held against, if anything."""
    if options.policy is not None:
        return Standard(load_policy(options.policy), options.clock)
    return None


def _simulate_alternatives(options: CompareOptions, standard: Standard | None) -> Work[Sequence[SameOutcome]]:
    """Read the snapshots and play every alternative of each."""
    plans = [path for path in options.paths if is_plan_file(path)]
    if plans:
        message = "is a saved plan, which is compared with plans only"
        fix = "plan the snapshots with assign --out FILE, or give no plans"
        raise UsageError(message, where=plans[0], fix=fix)
    check_before_reading(options, None)
    axes, settings, scenario_of = (
        axes_of(options.vary or (), options.scenario or ()),
        overrides(options),
        _scenario_of(options),
    )
    if "learner" not in options.designs and any(text.startswith("max.learners=") for text in options.vary or ()):
        raise UsageError("--vary max.learners goes with --design learner", fix="give both, or leave it out")
    if not axes:
        message = "there is nothing to compare"
        raise UsageError(message, fix="give --vary max.warmup.replicas=2,4,8, or several --scenario")
    names = {axis[0].change.name for axis in axes}
    with show_progress(quiet=options.quiet) as progress:
        progress("reading")

        def compare_snapshot(snapshot: Snapshot) -> Sequence[SameOutcome]:
            _check_varied(names, snapshot)
            return play_alternatives(
                snapshot,
                axes,
                options.plan_options,
                None if scenario_of is None else scenario_of(snapshot.state.group),
                progress,
                standard=standard,
                number_of_draws=options.draws,
            )

        outcomes = read_snapshots(options.paths, options, protocols=("classic", "connect"))
        return each_application(outcomes, settings, compare_snapshot, keep_going=options.keep_going)


def _check_varied(names: Collection[str], snapshot: Snapshot) -> None:
    """Check that a group has the settings that are varied."""
    application_id = snapshot.state.group.application_id
    if snapshot.group_protocol != "connect":
        if CONNECT_DELAY in names:
            message = f"{CONNECT_DELAY} is a setting of Connect workers, and {application_id} has none"
            raise UsageError(message, where="--vary", fix="vary it for Connect groups alone")
        return
    other_names = sorted(set(names) - OF_CONNECT)
    if other_names:
        noun = "is no setting" if len(other_names) == 1 else "are no settings"
        message = f"{', '.join(other_names)} {noun} of Connect workers"
        has = ", ".join(sorted(OF_CONNECT - {"scenario"}))
        raise UsageError(f"{message}, and {application_id} is a Connect group", where="--vary", fix=f"vary {has}")


def _scenario_of(options: CompareOptions) -> ScenarioOf | None:
    """Return what happens in every alternative, unless that varies; ``None``: a rebalance starts now."""
    members = members_given(options)
    if members and options.scenario:
        raise UsageError(f"{option_of(members[0])} is an event, too", fix="write it into the scenario")
    if members:
        return scale_out_of(options)
    if options.command_line.draws is not None and not options.scenario:
        raise UsageError("--set draws goes with --add, --to or --scenario", fix="give one, or leave out --set draws")
    if options.scenario is None or len(options.scenario) > 1:
        return None
    scenario = load_scenario(options.scenario[0])
    return lambda _group: scenario


def _read_alternatives(options: CompareOptions, standard: Standard | None) -> Sequence[Alternative]:
    """Read saved plans, which have to be of one snapshot."""
    options = options.command_line
    names = ("vary", "scenario", "draws", "max_rounds", "application_id")
    for name in (
        *(name for name in names if getattr(options, name) is not None),
        *options.names_given(*_FOR_SNAPSHOTS),
    ):
        message = f"{options.spelling_of(name)} is for snapshots; plans are compared as they were saved"
        raise UsageError(message, fix="give the snapshot instead of its plans")
    alternatives = []
    for path in options.paths:
        for place, entry in enumerate(each_saved_in(path)):
            if isinstance(entry, PlanFileError):
                raise entry
            name = path if not place else f"{path}, line {place + 1}"
            alternatives.append((name, entry.plan, None if entry.simulation is None else entry.simulation.draws))
    return saved_alternatives(alternatives, standard)
