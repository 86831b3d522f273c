"""The table of rounds: each rebalance with its follow-ups, what it cuts over, what warms up, what pauses."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import WorkId
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.activity import Activity, only_return, records_of
from kstream_plan.render.page import Cell, Column, Row, Table, Tone, text_cell
from kstream_plan.render.pages.plan_folding import FoldedRun, fold
from kstream_plan.render.pages.plan_view import PlanView
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, number_range, span_to

#: Pages of so many columns have room for one more.
_WIDE = 100
_TRIGGERS = {
    Trigger.MANUAL: "started now",
    Trigger.JOIN: "join",
    Trigger.LEAVE: "leave",
    Trigger.MEMBER_RESTART: "restart",
    Trigger.CONFIG_CHANGE: "new settings",
    Trigger.LEARNER_READY: "learners ready",
    Trigger.DEADLINE: "deadline",
    Trigger.FOLLOW_UP: "follow-up",
}


def rounds_table(view: PlanView) -> Table:
    """Return the table of a plan that has rounds; a run of alike probes is one row."""
    of_workers = view.plan.is_of_workers
    with_stateless = not of_workers and any(activity.stateless for activity in view.activities)
    columns = [Column("#", right=True), Column("Time", right=True), Column("Rebalance")]
    columns += [Column("Move")] if of_workers else [Column("Cut over"), Column("Warm up")]
    columns += [Column("Stateless", right=True, from_width=_WIDE)] if with_stateless else []
    columns += [Column("Unassigned" if of_workers else "Paused", right=True)]
    columns += [] if of_workers else [Column("To restore", right=True, from_width=_WIDE)]
    pauses, lower_bounds = _pauses(view), view.plan.lower_bound_lags
    rows = []
    for timeline_row in fold(view.activities):
        if isinstance(timeline_row, FoldedRun):
            cells = _run_cells(timeline_row, pauses, lower_bounds)
        else:
            cells = _activity_cells(timeline_row, view.names, pauses, lower_bounds)
        rows.append(_row(cells, of_workers=of_workers, with_stateless=with_stateless))
    end_cell = _end_cell(view.plan)
    blank = Cell(("",))
    rows.append(
        Row((blank, text_cell(duration(view.plan.summary.duration_ms)), end_cell, *[blank] * (len(columns) - 3)))
    )
    return Table("Rounds", tuple(columns), tuple(rows))


class _Cells(dict[str, Cell]):
    """The cells of a row by the name of their column; a draft of one row."""

    tone: Tone = "plain"


def _row(cells: _Cells, *, of_workers: bool, with_stateless: bool) -> Row:
    names = ["number", "time", "rebalance", "cut_over"]
    names += [] if of_workers else ["warm_up"]
    names += ["stateless"] if with_stateless else []
    names += ["paused"]
    names += [] if of_workers else ["restore"]
    return Row(tuple(cells[name] for name in names), cells.tone)


def _pauses(view: PlanView) -> dict[int, int]:
    """Return how many tasks pause, by the number of the first rebalance of an activity."""
    starts_ms = [activity.rounds[0].at_ms for activity in view.activities]
    pauses = view.plan.pauses
    if view.plan.is_of_workers:
        numbers = [len(items) for items in pauses.unrun_from(starts_ms)]
    else:
        numbers = pauses.tasks_between(starts_ms)
    return {activity.rounds[0].number: number for activity, number in zip(view.activities, numbers, strict=True)}


def _activity_cells(activity: Activity, names: Names, pauses: dict[int, int], lower_bounds: frozenset[str]) -> _Cells:
    first, last = activity.rounds[0], activity.rounds[-1]
    cells = _Cells(
        number=text_cell(number_range(first.number, last.number), "dim"),
        time=text_cell(duration(first.at_ms)),
        rebalance=Cell((rebalance_name(activity, names),), tone="unknown" if _not_all_ready(activity) else "plain"),
        cut_over=_cut_over(activity, names),
        warm_up=_warm_up(activity, names),
        stateless=text_cell(f"{activity.stateless:,}" if activity.stateless else ""),
        paused=text_cell(f"{pauses[first.number]:,}"),
        restore=text_cell(_records([activity], lower_bounds)),
    )
    if activity.awaited:
        waits = tuple(names.move(*copy) for copy in activity.awaited)
        cells["cut_over"] = Cell(("none: waits for copies",), tone="unknown")
        cells["warm_up"] = Cell(waits, count(len(waits), "copy", "copies"))
    return cells


def _not_all_ready(activity: Activity) -> bool:
    return activity.ready < activity.expected


def rebalance_name(activity: Activity, names: Names) -> str:
    """Return what started a rebalance: ``probe 3``, ``i4, i5 join``."""
    if activity.probe is not None:
        ready = f", {activity.ready:,} of {activity.expected:,} caught up" if _not_all_ready(activity) else ""
        return f"probe {activity.probe:,}{ready}"
    arrivals, departures = name_list(names.instances(activity.joined), 2), name_list(names.instances(activity.left), 2)
    trigger = activity.rounds[0].trigger
    if activity.resized:
        return "new threads" if trigger is Trigger.JOIN else "fewer threads"
    if trigger is Trigger.JOIN and arrivals:
        verb = "return" if only_return(activity) else "join"
        return f"{arrivals} {f'{verb}s' if len(activity.joined) == 1 else verb}"
    if trigger is Trigger.LEAVE and departures:
        return f"{departures} {'leaves' if len(activity.left) == 1 else 'leave'}"
    if trigger is Trigger.DEADLINE and not names.have_disks:
        return "end of delay"
    return _TRIGGERS[trigger]


def _cut_over(activity: Activity, names: Names) -> Cell:
    """Return which tasks change their owner; what starts cold is always named."""
    cold = [f"{names.move(move.task_id, move.source, move.destination)} cold" for move in activity.cold]
    warm = [names.move(move.task_id, move.source, move.destination) for move in activity.warm]
    if not cold and not warm:
        return text_cell("")
    places = [(move.task_id, move.destination) for move in activity.warm]
    if cold:
        return Cell((*cold, *([_counts(places, "task", "tasks")] if len(warm) > 2 else warm)), tone="bad")
    return Cell(tuple(warm), _counts(places, "task", "tasks"), tone="moved")


def _warm_up(activity: Activity, names: Names) -> Cell:
    """Return which copies begin to restore: those that prepare a move, then the future standbys."""
    kept_copies = activity.kept_copies()
    items = [names.move(copy.task_id, copy.source, copy.destination) for copy in kept_copies if copy.to_run]
    standbys = [copy for copy in kept_copies if not copy.to_run]
    tasks_of: dict[str, list[WorkId]] = {}
    for copy in standbys:
        tasks_of.setdefault(copy.destination, []).append(copy.task_id)
    items += [names.copies(task_ids, destination) for destination, task_ids in tasks_of.items()]
    if not items:
        return text_cell("")
    short = (
        [_counts([copy.place for copy in kept_copies if copy.to_run], "task", "tasks")]
        if len(kept_copies) > len(standbys)
        else []
    )
    short += [count(len(standbys), "new standby")] if standbys else []
    return Cell(tuple(items), ", ".join(short))


def _counts(places: Sequence[tuple[WorkId, str]], singular: str, plural: str) -> str:
    """Return ``463 tasks to 56 instances``."""
    instances = len({destination for _, destination in places})
    return f"{count(len(places), singular, plural)} to {count(instances, 'instance')}"


def _records(activities: Sequence[Activity], lower_bounds: frozenset[str]) -> str:
    """Return what is restored; ``lower_bounds`` are the tasks of whose copies the least lag is known."""
    number = records_of(activity.records for activity in activities)
    if not number:
        return "unknown" if number is None else ""
    bound = "at least " if any(activity.restores_more(lower_bounds) for activity in activities) else ""
    return f"{bound}{number:,}"


def _run_cells(run: FoldedRun, pauses: dict[int, int], lower_bounds: frozenset[str]) -> _Cells:
    """Return the row of probes of one shape."""
    first, last = run.activities[0], run.activities[-1]
    moves = [len(activity.moves) for activity in run.activities]
    copies = [len(activity.copies) for activity in run.activities]
    stateless = sum(activity.stateless for activity in run.activities)
    cells = _Cells(
        number=text_cell(number_range(first.rounds[0].number, last.rounds[-1].number), "dim"),
        time=text_cell(duration(first.rounds[0].at_ms)),
        rebalance=text_cell(f"probes {first.probe:,} to {last.probe:,}"),
        cut_over=text_cell(_per_probe(moves, "task", "tasks")),
        warm_up=text_cell(_per_probe(copies, "copy", "copies")),
        stateless=text_cell(f"{stateless:,}" if stateless else ""),
        paused=text_cell(f"at most {max(pauses[activity.rounds[0].number] for activity in run.activities):,}"),
        restore=text_cell(_records(run.activities, lower_bounds)),
    )
    cells.tone = "dim"
    return cells


def _per_probe(numbers: Sequence[int], singular: str, plural: str) -> str:
    if not any(numbers):
        return ""
    return f"{count(sum(numbers), singular, plural)}, {span_to(min(numbers), max(numbers))} each"


def _end_cell(plan: Plan) -> Cell:
    if plan.verdict.is_over:
        return Cell(("not stuck any more",), tone="unknown")
    endings: dict[str, tuple[str, Tone]] = {
        "settled": ("settled", "good"),
        "stuck": ("stuck", "bad"),
        "cyclic": ("repeats from here on", "bad"),
        "unfinished": ("not settled", "bad"),
    }
    text, tone = endings[plan.verdict.kind]
    return Cell((text,), tone=tone)
