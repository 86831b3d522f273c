"""What is to be checked: saved plans are read, snapshots are planned first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kstream_plan.cli.actions.check_report import PlanParts, ReportForms, report_parts
from kstream_plan.cli.actions.fleet_run import Work
from kstream_plan.cli.options.check import CheckOptions, Planning
from kstream_plan.cli.options.groups import Applications, Deciding, Following, Measuring, Reading
from kstream_plan.cli.options.running import Spark
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.options.simulation import Chance, NewInstances
from kstream_plan.cli.progress import Report
from kstream_plan.documents.plan.files import are_plans, each_saved_in, is_plan_file, read_saved_file
from kstream_plan.documents.plan.read import SavedPlan, each_saved
from kstream_plan.errors import KstreamPlanError, PlanFileError, UsageError
from kstream_plan.plans import Plan
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import CheckedPlan, Standard
from kstream_plan.snapshots.files.content import fetched, standard_input
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths

#: Options that say how snapshots are read and planned; a saved plan is checked as it is.
_FOR_SNAPSHOTS = (NewInstances, Planning, Chance, Reading, Measuring, Settings, Deciding, Following, Spark)


class Source(NamedTuple):
    """What is to be checked: files of saved plans, what standard input held of them, and paths of snapshots."""

    plan_files: tuple[str, ...]
    plans_from_stdin: bytes | None
    snapshots: tuple[str, ...]
    snapshots_from_stdin: bytes | None


def sort_paths(options: CheckOptions) -> Source:
    """Tell saved plans and snapshots apart by looking at them; folders and globs may hold both."""
    paths = check_paths(options.paths)
    data = standard_input() if paths.stdin else None
    piped_plans = data is not None and are_plans(data)
    plans: list[str] = []
    snapshots = [*paths.remote, *([STDIN] if paths.stdin and not piped_plans else [])]
    for file in paths.local:
        (plans if is_plan_file(file.path) else snapshots).append(file.name)
    if not snapshots:
        _refuse_for_plans(options, remote=any(map(fetched, options.paths)))
    return Source(tuple(plans), data if piped_plans else None, tuple(snapshots), None if piped_plans else data)


def _refuse_for_plans(options: CheckOptions, *, remote: bool) -> None:
    groups = [group for group in _FOR_SNAPSHOTS if not (remote and group is Spark)]
    typed = options.command_line
    for name in typed.names_given(*groups):
        if name not in vars(type(options)):  # else the command has one of its own, which is for plans as well
            option = typed.spelling_of(name)
            message = f"{option} is for snapshots, a saved plan is checked as it is"
            raise UsageError(message, fix=f"give the snapshot, or leave out {option}")


def baselines(files: Sequence[Path]) -> dict[str, SavedPlan]:
    """Return the saved plans for what was before, by application."""
    plans: dict[str, SavedPlan] = {}
    for file in files:
        for saved_plan in read_saved_file(file):
            name = saved_plan.plan.group.application_id
            if name in plans:
                message = f"application {name!r} has two baselines"
                raise PlanFileError(message, where=str(file), fix="give --baseline once per application")
            plans[name] = saved_plan
    return plans


def check_beside(
    baseline: SavedPlan | None,
    plan: Plan,
    draws: OverDraws | None,
    standard: Standard,
    source: str,
    *,
    was_saved: bool = False,
) -> CheckedPlan:
    """Hold a plan, or one of several draws, against the policy, beside the saved one for before, if any."""
    return check_plan(
        plan,
        standard,
        source=source,
        draws=draws,
        baseline=None if baseline is None else baseline.plan,
        baseline_draws=None if baseline is None else baseline.draws,
        was_saved=was_saved,
    )


def check_saved(
    source: Source,
    standard: Standard,
    plans_before: Mapping[str, SavedPlan],
    forms: ReportForms,
    options: Applications,
    progress: Report,
) -> Work[PlanParts]:
    """Read the saved plans, as far as they are selected, hold them against the policy, and return the reports."""
    work: Work[PlanParts] = Work()
    if not source.plan_files and source.plans_from_stdin is None:
        return work
    with without_cycle_collector():  # millions of objects, none in a cycle, are kept until the end
        saved_plans = _read(source, options, progress, work.errors)
        for number, (saved_plan, file) in enumerate(saved_plans):
            plan = saved_plan.plan
            progress(f"checking {plan.group.application_id}", number=number, total=len(saved_plans))
            baseline = plans_before.get(plan.group.application_id)
            checkup = check_beside(baseline, plan, saved_plan.draws, standard, file, was_saved=True)
            work.results.append(report_parts(checkup, forms))
    return work


def _read(
    source: Source, options: Applications, progress: Report, errors: list[KstreamPlanError]
) -> list[tuple[SavedPlan, str]]:
    """Return the plans that are selected, and where each is kept (empty: nowhere)."""
    selection = Selection(tuple(options.application_id or ()))
    saved_plans: list[tuple[SavedPlan, str]] = []
    ids: set[str] = set()
    for result, file in _each_plan(source, progress):
        saved_plan = (
            _without_simulation(result.plan, file)
            if isinstance(result, SavedPlan) and result.lacks_simulation
            else result
        )
        application_id = (
            saved_plan.application_id if isinstance(saved_plan, PlanFileError) else saved_plan.plan.group.application_id
        )
        ids |= set() if application_id is None else {application_id}
        if application_id is not None and not selection.wants(application_id):
            continue
        if not isinstance(saved_plan, PlanFileError):
            saved_plans.append((saved_plan, file))
        elif options.keep_going:
            errors.append(saved_plan)
        else:
            raise saved_plan
    if not source.snapshots and (absent_ids := selection.unmatched_globs(ids)):
        errors += selection.nothing_found(absent_ids, sorted(ids)[:5], source.plan_files)
        if not options.keep_going:
            raise errors[0]
    return saved_plans


def _without_simulation(plan: Plan, file: str) -> PlanFileError:
    """Return the error of a plan without what its simulation tells of other draws, of which one may be worse."""
    application_id = plan.group.application_id
    message = f"the plan of {application_id!r} belongs to a simulation whose other parts are missing (field simulation)"
    fix = "check what simulate or simulate-scaleout saved by --out"
    return PlanFileError(message, where=file or "standard input", fix=fix, application_id=application_id)


def _each_plan(source: Source, progress: Report) -> Iterator[tuple[SavedPlan | PlanFileError, str]]:
    """Yield every plan, or what is wrong with it, and where it is kept."""
    for number, file in enumerate(source.plan_files):
        progress(f"reading {file}", number=number, total=len(source.plan_files))
        yield from ((saved_plan, file) for saved_plan in each_saved_in(file))
    if source.plans_from_stdin is not None:
        yield from ((saved_plan, "") for saved_plan in each_saved(source.plans_from_stdin, "standard input"))
