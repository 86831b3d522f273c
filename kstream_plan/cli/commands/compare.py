"""``compare``: the same group under other settings, by another assignor, in other scenarios, beside each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.alternatives import play_alternatives
from kstream_plan.cli.actions.each_application import Work, each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.actions.reports import check_reports
from kstream_plan.cli.actions.scenarios import ScenarioOf, scale_out_of
from kstream_plan.cli.actions.variants import CONNECT_DELAY, OF_CONNECT, axes_of
from kstream_plan.cli.compare_page import compare_page, report_compared
from kstream_plan.cli.exit_codes import first_that_applies
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.check import Today
from kstream_plan.cli.options.groups import Deciding, Measuring, PlansSnapshots, Reading, Rounds, Spark
from kstream_plan.cli.options.parameters import names_and_defaults, option_of, takes
from kstream_plan.cli.options.reports import Paging
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.options.simulation import NewInstances
from kstream_plan.cli.output import OutputForm, say
from kstream_plan.cli.progress import progress
from kstream_plan.comparison.alternatives import Alternative, SameOutcome, beside_each_other
from kstream_plan.documents.plan.files import each_saved_in, is_plan_file
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.errors import PlanFileError, UsageError
from kstream_plan.model import Snapshot
from kstream_plan.policy.findings import Standard
from kstream_plan.simulation.alternatives import saved_alternatives
from kstream_plan.simulation.draws import MOST_DRAWS

#: Options that say how snapshots are read and planned; plans are compared as they were saved.
_FOR_SNAPSHOTS = (NewInstances, Reading, Measuring, Settings, Deciding, Spark)


class CompareOptions(NewInstances, Rounds, Paging, PlansSnapshots):
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
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Rules as YAML; shows which alternatives keep to them.",
        ),
    ] = None
    today: Today = None
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            hidden=True,
            metavar="N",
            parser=shared.parser(shared.whole_number, 1, 1_000_000),
            help=f"Number of random simulations for each alternative (default: by size, at most {MOST_DRAWS} in all).",
        ),
    ] = None
    output: shared.Output = OutputForm.TABLE

    @property
    def designs(self) -> Sequence[str]:
        """Every design that is asked for: those that vary, if any does."""
        varied = [text.partition("=")[2].split(",") for text in self.vary or () if text.startswith("design=")]
        return varied[0] if varied else super().designs


@takes(CompareOptions)
def compare(asked: CompareOptions) -> None:
    """Compare alternatives: other settings, assignors or scenarios of one group, or plans of one snapshot."""
    with expected_failures(debug=asked.debug):
        standard = _standard(asked)
        check_reports(asked.report, None)
        if all(map(is_plan_file, asked.paths)):
            work: Work[Sequence[SameOutcome]] = Work([beside_each_other(_saved(asked, standard))])
        else:
            work = _played(asked, standard)
        for error in work.errors:
            report(error, debug=asked.debug)
        if work.results:
            report_compared(asked.report, work.results)
            say(compare_page(work.results, asked.output))
    raise typer.Exit(first_that_applies([], work.errors))


def _standard(asked: CompareOptions) -> Standard | None:
    """Return what every alternative is held against, if anything.

    Raises:
        UsageError: ``--today`` without a policy.
        ConfigError: the policy cannot be read.
    """
    if asked.policy is not None:
        return Standard(load_policy(asked.policy), asked.today or datetime.now(UTC))
    if asked.today is not None:
        raise UsageError("--today goes with --policy", fix="give a policy, or leave out --today")
    return None


def _played(asked: CompareOptions, standard: Standard | None) -> Work[Sequence[SameOutcome]]:
    """Read the snapshots and play every alternative of each.

    Raises:
        KstreamPlanError: something cannot be read or played.
    """
    plans = [path for path in asked.paths if is_plan_file(path)]
    if plans:
        what = "is a saved plan, which is compared with plans only"
        fix = "plan the snapshots with assign --out FILE, or give no plans"
        raise UsageError(what, where=plans[0], fix=fix)
    check_before_reading(asked, None)
    axes, settings, scenario_of = axes_of(asked.vary or (), asked.scenario or ()), overrides(asked), _scenario_of(asked)
    if "learner" not in asked.designs and any(text.startswith("max.learners=") for text in asked.vary or ()):
        raise UsageError("--vary max.learners goes with --design learner", fix="give both, or leave it out")
    if not axes:
        what = "there is nothing to compare"
        raise UsageError(what, fix="give --vary max.warmup.replicas=2,4,8, or several --scenario")
    varied = {axis[0].change.name for axis in axes}
    with progress(quiet=asked.quiet) as tell:
        tell("reading")

        def played(found: Snapshot, _done: int) -> Sequence[SameOutcome]:
            _check_varied(varied, found)
            return play_alternatives(
                found,
                axes,
                asked.plan_options,
                None if scenario_of is None else scenario_of(found.state.group),
                tell,
                standard=standard,
                number_of_draws=asked.draws,
            )

        found = read_snapshots(asked.paths, asked, protocols=("classic", "connect"))
        return each_application(found, settings, played, keep_going=asked.keep_going)


def _check_varied(varied: Collection[str], found: Snapshot) -> None:
    """Check that a group has the settings that are varied.

    Raises:
        UsageError: it has not.
    """
    application_id = found.state.group.application_id
    if found.group_protocol != "connect":
        if CONNECT_DELAY in varied:
            what = f"{CONNECT_DELAY} is a setting of Connect workers, and {application_id} has none"
            raise UsageError(what, where="--vary", fix="vary it for Connect groups alone")
        return
    others = sorted(set(varied) - OF_CONNECT)
    if others:
        what = f"{', '.join(others)} {'is no setting' if len(others) == 1 else 'are no settings'} of Connect workers"
        has = ", ".join(sorted(OF_CONNECT - {"scenario"}))
        raise UsageError(f"{what}, and {application_id} is a Connect group", where="--vary", fix=f"vary {has}")


def _scenario_of(asked: CompareOptions) -> ScenarioOf | None:
    """Return what happens in every alternative, unless that varies; ``None``: a rebalance starts now.

    Raises:
        UsageError: options that do not go together.
        ConfigError: the scenario cannot be read.
    """
    members = [name for name in names_and_defaults(NewInstances) if getattr(asked, name) is not None]
    if members and asked.scenario:
        raise UsageError(f"{option_of(members[0])} is an event, too", fix="write it into the scenario")
    if members:
        return scale_out_of(asked)
    if asked.draws is not None and not asked.scenario:
        raise UsageError("--draws goes with --add, --to or --scenario", fix="give one, or leave out --draws")
    if asked.scenario is None or len(asked.scenario) > 1:
        return None
    scenario = load_scenario(asked.scenario[0])
    return lambda _group: scenario


def _saved(asked: CompareOptions, standard: Standard | None) -> Sequence[Alternative]:
    """Read saved plans, which have to be of one snapshot.

    Raises:
        PlanFileError: one cannot be read.
        UsageError: they are of different snapshots, or there is something to vary, which is for snapshots.
    """
    given = dict.fromkeys(("vary", "scenario", "draws", "max_rounds", "application_id"))
    for name, default in chain(given.items(), *(names_and_defaults(of).items() for of in _FOR_SNAPSHOTS)):
        if getattr(asked, name) not in (default, None):
            what = f"{option_of(name)} is for snapshots; plans are compared as they were saved"
            raise UsageError(what, fix="give the snapshot instead of its plans")
    found = []
    for path in asked.paths:
        for place, saved in enumerate(each_saved_in(path)):
            if isinstance(saved, PlanFileError):
                raise saved
            name = path if not place else f"{path}, line {place + 1}"
            found.append((name, saved.plan, None if saved.simulation is None else saved.simulation.draws))
    return saved_alternatives(found, standard)
