"""``bounce``: the ways to restart instances of a group, one or all, each with the least pause that is safe."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.fleet_run import each_application
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading, read_snapshots
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Following, PlansSnapshots, Rounds
from kstream_plan.cli.options.parameters import parse_name, takes
from kstream_plan.cli.output import OutputForm, write_stdout, written_at_once
from kstream_plan.cli.pages import answers_text, inputs_of
from kstream_plan.cli.progress import show_progress
from kstream_plan.documents.scenario_file import scenario_yaml
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import moment
from kstream_plan.model.settings import kafka_name
from kstream_plan.planner.options import PlanOptions
from kstream_plan.render.text.escape import printable
from kstream_plan.simulation.bounces import Bounces, SimulatedWay
from kstream_plan.simulation.bounces import bounce as bounces_of
from kstream_plan.simulation.processes import processors


class BounceOptions(Rounds, Following, PlansSnapshots):
    """What ``bounce`` is asked."""

    paths: shared.Snapshots
    instance: Annotated[
        list[str] | None,
        typer.Option(
            "--instance",
            metavar="ID",
            parser=parse_name,
            help="Instance to restart now: process id, a prefix of it, or host; repeatable: in this order.",
        ),
    ] = None
    restart: shared.Restart = None
    output: shared.Output = OutputForm.TABLE
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File for the scenario of the best way, for simulate and check."),
    ] = None

    @property
    def is_about_now(self) -> bool:
        """Whether the question is about now: it is of instances that are named."""
        return bool(self.instance)


@takes(BounceOptions)
def bounce(options: BounceOptions) -> None:
    """Find out whether one instance may restart now, or how all may; exit code 3 if that is not known to be safe."""
    with expected_failures(debug=options.debug):
        _check_names(options.paths)
        check_before_reading(options, options.out, only_classic=True)
        settings = overrides(options)
        with show_progress(quiet=options.quiet) as progress:
            progress("reading")

            def find_bounces(snapshot: Snapshot) -> Bounces:
                name = snapshot.state.group.application_id
                return bounces_of(
                    snapshot,
                    shared.USUAL_RESTART_MS if options.restart is None else options.restart,
                    _plan_options(snapshot, options),
                    instances=options.instance or (),
                    workers=processors(),
                    on_way=lambda number, total: progress(f"{name}: way {number} of {total}", number, total),
                )

            work = each_application(
                read_snapshots(options.paths, options), settings, find_bounces, keep_going=options.keep_going
            )
        report_all(work.errors, debug=options.debug)
        _deliver(work.results, options)
    codes = [ExitCode.POLICY for bounces in work.results if not _may(bounces)]
    raise typer.Exit(first_that_applies(codes, work.errors))


def _may(bounces: Bounces) -> bool:
    """Tell whether those that are named may restart, or else whether any way is safe for all."""
    return bounces.best_safe is not None if bounces.answer is None else bounces.answer is Answer.YES


def _plan_options(snapshot: Snapshot, options: BounceOptions) -> PlanOptions:
    """Return the options of plans; of a snapshot without a time also now, so that the age of its reports is unknown."""
    plan_options = options.plan_options
    if snapshot.captured_at is not None or plan_options.now_ms is not None:
        return plan_options
    return replace(plan_options, now_ms=time.time_ns() // 1_000_000)


def _check_names(paths: Sequence[str]) -> None:
    """Let nobody who names an instance as drain takes it be told of a file."""
    for name in paths[1:]:
        if re.fullmatch(r"[\w-]+", name) and name != "-" and not Path(name).exists():
            raise UsageError(f"there is no file {name!r}", fix=f"if it is an instance, give --instance {name}")


def _deliver(groups: Sequence[Bounces], options: BounceOptions) -> None:
    """Write the best scenario if asked to, then show the ways."""
    if options.out is not None and groups:
        if len(groups) > 1:
            fix = "choose one with --application-id"
            raise UsageError(f"there are {len(groups)} applications, and one file", where="--out", fix=fix)
        if (best := groups[0].best_safe) is not None:
            with written_at_once(options.out) as file:
                file.write(_scenario_text(best))
            groups = [replace(groups[0], saved_in=str(options.out))]
    names = (bounces.first.group.application_id for bounces in groups)
    sources = inputs_of(options.paths, names, options.option_words, is_selection=bool(options.application_id))
    if groups:
        write_stdout(answers_text(groups, sources, options.output))


def _scenario_text(best: SimulatedWay) -> str:
    """Return the scenario file of a way."""
    settings = "".join(
        f", with {kafka_name(name)}={value} (simulate --set {kafka_name(name)}={moment(value)})"
        for name, value in best.way.settings
    )
    name = printable(best.plan.group.application_id)
    return scenario_yaml(best.scenario, f"restarts of {name}: {best.way.label}{settings}")
