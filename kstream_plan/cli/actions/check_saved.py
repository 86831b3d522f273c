"""What is to be checked: saved plans are read, snapshots are planned first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kstream_plan.cli.actions.each_application import Work
from kstream_plan.cli.actions.told import Telling, Told, told
from kstream_plan.cli.options.check import CheckOptions, Planning
from kstream_plan.cli.options.groups import Applications, Deciding, Measuring, Reading, Spark
from kstream_plan.cli.options.parameters import names_and_defaults, option_of
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
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths

#: Options that say how snapshots are read and planned; a saved plan is checked as it is.
_FOR_SNAPSHOTS = (NewInstances, Planning, Chance, Reading, Measuring, Settings, Deciding, Spark)


class Source(NamedTuple):
    """What is to be checked: files of saved plans, what standard input held of them, and paths of snapshots."""

    plan_files: tuple[str, ...]
    plans_from_stdin: bytes | None
    snapshots: tuple[str, ...]
    snapshots_from_stdin: bytes | None


def sort_paths(asked: CheckOptions) -> Source:
    """Tell saved plans and snapshots apart by looking at them; folders and globs may hold both.

    Raises:
        SnapshotError: a path that does not exist, matches nothing or is empty.
        UsageError: an option that is for snapshots, and there are only saved plans.
    """
    paths = check_paths(asked.paths)
    data = standard_input() if paths.stdin else None
    piped_plans = data is not None and are_plans(data)
    plans: list[str] = []
    snapshots = [*paths.remote, *([STDIN] if paths.stdin and not piped_plans else [])]
    for file in paths.local:
        (plans if is_plan_file(file.path) else snapshots).append(file.name)
    if not snapshots:
        _refuse_for_plans(asked, elsewhere=any(map(fetched, asked.paths)))
    return Source(tuple(plans), data if piped_plans else None, tuple(snapshots), None if piped_plans else data)


def _refuse_for_plans(asked: CheckOptions, *, elsewhere: bool) -> None:
    groups = [group for group in _FOR_SNAPSHOTS if not (elsewhere and group is Spark)]
    for name, default in (pair for group in groups for pair in names_and_defaults(group).items()):
        if getattr(asked, name) not in (default, None):
            option = option_of(name)
            raise UsageError(
                f"{option} is for snapshots, a saved plan is checked as it is",
                fix=f"give the snapshot, or leave out {option}",
            )


def baselines(files: Sequence[Path]) -> dict[str, SavedPlan]:
    """Return the saved plans for what was before, by application.

    Raises:
        KstreamPlanError: one cannot be read, or an application is there twice.
    """
    found: dict[str, SavedPlan] = {}
    for file in files:
        for saved in read_saved_file(file):
            name = saved.plan.group.application_id
            if name in found:
                what = f"application {name!r} has two baselines"
                raise PlanFileError(what, where=str(file), fix="give --baseline once per application")
            found[name] = saved
    return found


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
    before: Mapping[str, SavedPlan],
    telling: Telling,
    asked: Applications,
    tell: Report,
) -> Work[Told]:
    """Read the saved plans, as far as they are selected, hold them against the policy, and say what is told of them.

    Raises:
        KstreamPlanError: one cannot be read, and ``keep_going`` is not set.
    """
    work: Work[Told] = Work()
    if not source.plan_files and source.plans_from_stdin is None:
        return work
    with without_cycle_collector():  # millions of objects, none in a cycle, are kept until the end
        found = _read(source, asked, tell, work.errors)
        for done, (saved, file) in enumerate(found):
            plan = saved.plan
            tell(f"checking {plan.group.application_id}", done=done, total=len(found))
            baseline = before.get(plan.group.application_id)
            checked = check_beside(baseline, plan, saved.draws, standard, file, was_saved=True)
            work.results.append(told(checked, telling))
    return work


def _read(
    source: Source, asked: Applications, tell: Report, errors: list[KstreamPlanError]
) -> list[tuple[SavedPlan, str]]:
    """Return the plans that are selected, and where each is kept (empty: nowhere)."""
    wanted = Selection(tuple(asked.application_id or ()))
    found: list[tuple[SavedPlan, str]] = []
    known: set[str] = set()
    for read, file in _each(source, tell):
        saved = _alone(read.plan, file) if isinstance(read, SavedPlan) and read.lacks_simulation else read
        of = saved.application_id if isinstance(saved, PlanFileError) else saved.plan.group.application_id
        known |= set() if of is None else {of}
        if of is not None and not wanted.wants(of):
            continue
        if not isinstance(saved, PlanFileError):
            found.append((saved, file))
        elif asked.keep_going:
            errors.append(saved)
        else:
            raise saved
    if not source.snapshots and (missing := wanted.missing(known)):
        errors += wanted.nothing_found(missing, sorted(known)[:5], source.plan_files)
        if not asked.keep_going:
            raise errors[0]
    return found


def _alone(plan: Plan, file: str) -> PlanFileError:
    """Return the error of a plan without what its simulation tells of other draws, of which one may be worse."""
    application_id = plan.group.application_id
    what = f"the plan of {application_id!r} belongs to a simulation whose other parts are missing (field simulation)"
    fix = "check what simulate or simulate-scaleout saved by --out"
    return PlanFileError(what, where=file or "standard input", fix=fix, application_id=application_id)


def _each(source: Source, tell: Report) -> Iterator[tuple[SavedPlan | PlanFileError, str]]:
    """Yield every plan, or what is wrong with it, and where it is kept."""
    for number, file in enumerate(source.plan_files):
        tell(f"reading {file}", done=number, total=len(source.plan_files))
        yield from ((saved, file) for saved in each_saved_in(file))
    if source.plans_from_stdin is not None:
        yield from ((saved, "") for saved in each_saved(source.plans_from_stdin, "standard input"))
