"""The tables of a comparison: tasks by where they moved, copies, instances, and every task for ``--verbose``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kstream_plan.comparison.changes import (
    Comparison,
    CopyChange,
    CopyChangeKind,
    InstanceChangeKind,
    Start,
    TaskChange,
    TaskClass,
)
from kstream_plan.model import LATEST, UNKNOWN, WorkId
from kstream_plan.plans import Role, Seat
from kstream_plan.plans.balance import Load
from kstream_plan.render.page import Row, Table, columns_of, text_row
from kstream_plan.render.pages.plan_instances import MemberLoad, members_table
from kstream_plan.render.pages.ways import MOST_ROWS, End, Way, way_rows
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration, records

_NO_LOAD = Load(0, 0, 0)
_CHANGES = {
    TaskClass.NEW: "new",
    TaskClass.GONE: "gone",
    TaskClass.ORPHANED: "unassigned",
    TaskClass.PROMOTED: "moved to a copy",
    TaskClass.WARM: "moved to left-over state",
    TaskClass.COLD: "cold start",
    TaskClass.STATELESS_MOVED: "stateless move",
    TaskClass.THREAD_MOVED: "other thread",
    TaskClass.STAYED: "stayed",
}
_CHANGES_OF_WORKERS = _CHANGES | {TaskClass.WARM: "moved", TaskClass.GONE: "deleted"}
_ROLES = {Role.STANDBY: "standby", Role.WARMUP: "warm-up", Role.TEMPORARY: "temporary standby"}


def _member_changes(comparison: Comparison) -> dict[str, str]:
    """Return which members are ``new`` or ``gone``."""
    old, new = comparison.old.active_tasks.keys(), comparison.new.active_tasks.keys()
    arrivals = {change.process_id for change in comparison.instances if change.kind is InstanceChangeKind.JOINED}
    return dict.fromkeys(old - new, "gone") | dict.fromkeys((new - old) | arrivals, "new")


class _Ends:
    """Where tasks and copies of a comparison were, and are."""

    def __init__(self, comparison: Comparison, names: Names) -> None:
        self.comparison, self.names = comparison, names
        self._changes = _member_changes(comparison)

    def end(self, seat: Seat | None, placeholder: str, *, thread: bool = False) -> End:
        """Return an end; ``placeholder`` is what stands for none."""
        if seat is None:
            return End((1,), placeholder)
        name = self.names.seat(seat) if thread else self.names.instance(seat.process_id)
        return End((0, self.names.reading_order(seat.process_id), name), name, self._changes.get(seat.process_id, ""))


def moves_table(comparison: Comparison, names: Names, *, whole: bool) -> Iterator[Table]:
    """Yield the table of tasks that another member runs, or another thread, or none; ``whole``: nothing is folded."""
    changes = [change for change in comparison.tasks if change.kind is not TaskClass.STAYED]
    if not changes:
        return
    ends = _Ends(comparison, names)
    ways = [_way(change, ends) for change in changes]
    noun = "Connectors and tasks" if comparison.of_workers else "Tasks"
    all_moves = all(change.kind.is_move for change in changes)
    columns = columns_of("From", "To", f">{noun}", "Which")
    member = "worker" if comparison.of_workers else "instance"
    rows = tuple(Row(cells, tone) for cells, tone in way_rows(ways, whole=whole, member=member))
    verb = "started" if all(change.from_ is None for change in changes) else "moved"
    yield Table(f"{noun} that {verb if all_moves else 'changed'}", columns, rows)


def copies_table(comparison: Comparison, names: Names, *, whole: bool) -> Iterator[Table]:
    """Yield the table of standbys and warm-ups that changed; ``whole``: nothing is folded."""
    ends = _Ends(comparison, names)
    ways = [_copy_way(change.task_id, copy, ends) for change in comparison.tasks for copy in change.copies]
    if not ways:
        return
    columns = columns_of("Change", "From", "To", ">Copies", "Which")
    kinds = dict.fromkeys(way.kind for way in ways)
    most = max(1, MOST_ROWS // len(kinds))
    rows = tuple(
        text_row(kind, *cells, tone=tone)
        for kind in kinds
        for cells, tone in way_rows(
            [way for way in ways if way.kind == kind], whole=whole, member="instance", most=most
        )
    )
    yield Table("Standbys and warm-ups that changed", columns, rows)


def _way(change: TaskChange, ends: _Ends) -> Way:
    comparison, names, kind = ends.comparison, ends.names, change.kind
    item = names.task(change.task_id)
    by_thread = kind is TaskClass.THREAD_MOVED
    source = ends.end(change.from_, "new" if kind is TaskClass.NEW else "unassigned", thread=by_thread)
    destination = ends.end(change.to, "gone" if kind is TaskClass.GONE else "unassigned", thread=by_thread)
    if kind is TaskClass.ORPHANED:
        next_owner = comparison.next_owners.get(change.task_id)
        if next_owner is None:
            return Way(source, destination, "unassigned", item, "bad")
        text = f"{item} (decided: {names.instance(next_owner.process_id)})"
        return Way(source, destination, "unassigned until the follow-up", text, "unknown")
    if kind is TaskClass.COLD and not comparison.untold:
        no_lags = change.start is not None and change.start.lag is None
        return Way(source, destination, "cold", f"{item} {'(no copy)' if no_lags else 'cold'}", "bad", whole=True)
    stateless = kind is TaskClass.STATELESS_MOVED and bool(comparison.new.group.stateful)
    group = kind.value if kind in (TaskClass.NEW, TaskClass.GONE, TaskClass.THREAD_MOVED) else "moved"
    return Way(source, destination, group, f"{item} (stateless)" if stateless else item)


def _copy_way(task_id: WorkId, copy: CopyChange, ends: _Ends) -> Way:
    roles = list(dict.fromkeys(_ROLES[seat.role] for seat in (copy.from_, copy.to) if seat is not None))
    to_restore = f" ({records(copy.restore_records)} records)" if copy.restore_records != 0 else ""
    change = "swapped with the task" if copy.kind is CopyChangeKind.SWAPPED else copy.kind.value
    kind = f"{' → '.join(roles)} {change}" if len(roles) == 1 else " → ".join(roles)
    return Way(ends.end(copy.from_, ""), ends.end(copy.to, ""), kind, f"{ends.names.task(task_id)}{to_restore}")


def every_task_table(comparison: Comparison, names: Names) -> Iterator[Table]:
    """Yield every task that changed, with what it started from and how long it paused."""
    if not comparison.tasks:
        return
    words = _CHANGES_OF_WORKERS if comparison.of_workers else _CHANGES
    columns = columns_of("Task", "Change", "From", "To", ">Lag", ">To restore", ">Paused")
    limits = {change.start.limit for change in comparison.tasks if change.start is not None}
    note = f"acceptable.recovery.lag: {' and '.join(f'{limit:,}' for limit in sorted(limits))}" if limits else ""
    rows = [_task_row(change, words, names) for change in comparison.tasks]
    table = Table("Every task that changed", columns, tuple(rows), note)
    yield table.leave_out("Lag", "To restore") if comparison.of_workers else table


def _task_row(change: TaskChange, words: Mapping[TaskClass, str], names: Names) -> Row:
    seats = ("" if seat is None else names.seat(seat) for seat in (change.from_, change.to))
    is_start = change.from_ is None and change.kind in (TaskClass.WARM, TaskClass.STATELESS_MOVED)
    word = "started" if is_start else words[change.kind]
    texts = (names.task(change.task_id), word, *seats, *_start_texts(change.start), _pause_text(change))
    return text_row(*texts, tone="bad" if change.kind in (TaskClass.COLD, TaskClass.ORPHANED) else "plain")


def _pause_text(change: TaskChange) -> str:
    """Return how long a task paused; a cold start restores first, for an unknown time."""
    if change.kind is TaskClass.COLD:
        return f"at least {duration(change.pause_ms)}" if change.pause_ms else "unknown"
    return duration(change.pause_ms) if change.pause_ms else ""


def _start_texts(start: Start | None) -> tuple[str, str]:
    """Return how far behind the new instance was, and what it restored."""
    if start is None:
        return "", ""
    lag = None if start.lag == UNKNOWN else start.lag
    return "ran there" if lag == LATEST else records(lag), records(start.restore_records)


def instances_table(comparison: Comparison, names: Names) -> Iterator[Table]:
    """Yield what every member runs before and after."""
    old, new, changes = comparison.old.loads, comparison.new.loads, _member_changes(comparison)
    members = [
        MemberLoad(member, old.get(member, _NO_LOAD), new.get(member, _NO_LOAD), changes.get(member, ""))
        for member in old.keys() | new.keys()
    ]
    if members:
        note = "Copies: without temporary standbys, which are cut over next" if comparison.temporary else ""
        yield members_table(members, names, of_workers=comparison.of_workers, note=note)
