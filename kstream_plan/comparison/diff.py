"""Two generations of a group → what moved, and what is known of why it matters. Pure: values in, values out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType

from kstream_plan.comparison.changes import (
    Between,
    Comparison,
    CopyChange,
    CopyChangeKind,
    InstanceChange,
    InstanceChangeKind,
    Side,
    Skew,
    Start,
    TaskChange,
    TaskClass,
    Totals,
)
from kstream_plan.comparison.warmth import Evidence
from kstream_plan.model import Group, Holding, Instance, Note, WorkId
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.plans import Role, Seat
from kstream_plan.plans.balance import balance_of

_COPY_ROLES = (Role.STANDBY, Role.WARMUP, Role.TEMPORARY)


def compare(old: Side, new: Side, course: Between | None = None) -> Comparison:
    """Say what changed from ``old`` to ``new``.

    Args:
        old: the group before; what it knows of lags decides how warm a move is.
        new: the group after.
        course: what is known of the way between them, which then counts instead of ``old``'s lags.
    """
    before, after = _Seats(old), _Seats(new)
    course = course or Between()
    evidence = Evidence(old, new, course)
    changes = []
    unchanged = stopped_ms = 0
    for task_id in _all_tasks(old.group, new.group):
        change = _task_change(task_id, before, after, evidence)
        if change.kind is TaskClass.STAYED and not change.copies:
            unchanged += 1
            stopped_ms += change.pause_ms
        else:
            changes.append(change)
    return Comparison(
        old=old,
        new=new,
        tasks=tuple(changes),
        instances=tuple(_instance_changes(old, new)),
        totals=_totals(
            old, new, changes, course, unchanged, stopped_ms, told=evidence.pauses_known or not evidence.of_workers
        ),
        remarks=_remarks(old, new, course, evidence.remarks(changes)),
        untold=evidence.untold,
        seen=_is_seen(course),
    )


def _is_seen(course: Between) -> bool:
    """Tell whether a history shows what happened on the way: it has every generation of it."""
    return course.seen and course.pauses_ms is not None


def _remarks(old: Side, new: Side, course: Between, remarks: Remarks) -> Remarks:
    """Add the remarks about the sides and the way between them."""
    notes = [
        Note("lags-measured", f"{moment}: {side.measured}")
        for moment, side in (("Before", old), ("After", new))
        if side.measured is not None
    ]
    if detours := tuple(map(str, course.detours)):
        tasks, runs = ("1 task", "it ran") if len(detours) == 1 else (f"{len(detours):,} tasks", "they ran")
        message = f"{tasks} started more than once; the tables show where {runs} first and last"
        notes.append(Note("started-more-than-once", f"{message}: {name_list(detours)}", detours))
    commands: tuple[Note, ...] = ()
    if new.next_decision not in (None, new.generation) and not course.seen:  # a history has what follows from most
        message = f"The newer snapshot also has the decision of generation {new.next_decision:,}"
        notes.append(Note("decision-not-compared", f"{message}; what that changes is not shown here"))
        commands = (Note("plan-decision", "kstream-plan assign SNAPSHOT"),)
    elif new.next_decision not in (None, new.generation):
        message = f"The history goes on: what generation {new.next_decision:,} changes is not shown here"
        notes.append(Note("history-goes-on", message))
    if not commands and new.models is None and _is_moving(new):
        which = f" --generation {new.generation}" * course.seen
        commands = (Note("ask-why", f"kstream-plan why SNAPSHOT{which}"),)
    return remarks._replace(notes=tuple(notes), next=commands)


def _is_moving(side: Side) -> bool:
    """Return whether tasks have more copies than standbys, for these warm up, or wait until their owners stop."""
    copies = sum(len(holding.standby) + len(holding.warmup) for holding in side.holdings)
    targets = zip(side.holdings, side.decided or (), strict=False)
    waits = any({*target.active} - {*holding.active} for holding, target in targets)
    return waits or copies > side.config.num_standby_replicas * len(side.group.stateful)


def _all_tasks(old: Group, new: Group) -> Iterable[WorkId]:
    if old.task_index.keys() == new.task_index.keys():
        return new.task_index
    return sorted({*old.task_index, *new.task_index}, key=lambda task_id: task_id.sort_key)


class _Seats:
    """Who holds what on one side, by task id; where no standbys are wanted, a copy that is reported as one warms up."""

    def __init__(self, side: Side) -> None:
        group = side.group
        self.known = group.task_index
        self.active: dict[WorkId, Seat] = {}
        #: Who else has a task active: of a Connect group, in which that should not be, and is.
        self.also_active: dict[WorkId, list[Seat]] = defaultdict(list)
        self.copies: dict[WorkId, set[Seat]] = defaultdict(set)
        for consumer, held in enumerate(side.holdings):
            place = group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer]
            active = Seat(*place, Role.ACTIVE)
            for task in held.active:
                task_id = group.tasks[task].task_id
                if self.active.setdefault(task_id, active) is not active:
                    self.also_active[task_id].append(active)
            for role, tasks in zip(_COPY_ROLES, held[1:], strict=True):
                warms_up = role is Role.STANDBY and not side.config.num_standby_replicas
                seat = Seat(*place, Role.WARMUP if warms_up else role)
                for task in tasks:
                    self.copies[group.tasks[task].task_id].add(seat)


def _task_change(task_id: WorkId, before: _Seats, after: _Seats, evidence: Evidence) -> TaskChange:
    from_, to = _owners(task_id, before, after)
    copies: tuple[CopyChange, ...] = ()
    if before.copies.get(task_id) != after.copies.get(task_id):
        copies = tuple(_copy_changes(task_id, before, after, evidence))
    kind, start = TaskClass.STAYED, None
    if task_id not in before.known:
        kind = TaskClass.NEW
    elif task_id not in after.known:
        kind = TaskClass.GONE
    elif not _is_same(from_, to):
        kind, start = _class_of_change(task_id, from_, to, evidence)
    return TaskChange(task_id, kind, from_, to, copies, start, evidence.pause_ms(task_id, from_, kind))


def _is_same(seat: Seat | None, other: Seat | None) -> bool:
    return seat is other if seat is None or other is None else seat.is_at(other)


def _owners(task_id: WorkId, before: _Seats, after: _Seats) -> tuple[Seat | None, Seat | None]:
    """Return who has a task active on either side; where several have, first of those that the other side has not."""
    from_, to = before.active.get(task_id), after.active.get(task_id)
    if task_id not in before.also_active and task_id not in after.also_active:
        return from_, to
    sides = [
        [seat for seat in (side.active.get(task_id), *side.also_active.get(task_id, ())) if seat is not None]
        for side in (before, after)
    ]
    had, has = sides
    lost = next((seat for seat in had if seat not in has), had[0] if had else None)
    return lost, next((seat for seat in has if seat not in had), has[0] if has else None)


def _class_of_change(
    task_id: WorkId, from_: Seat | None, to: Seat | None, evidence: Evidence
) -> tuple[TaskClass, Start | None]:
    if to is None:
        return TaskClass.ORPHANED, None
    if from_ is not None and from_.process_id == to.process_id:
        return TaskClass.THREAD_MOVED, None
    if evidence.of_workers:
        return TaskClass.WARM, None
    if not evidence.stateful(task_id):
        return TaskClass.STATELESS_MOVED, None
    start = evidence.start(task_id, to.process_id)
    if not start.within:
        return TaskClass.COLD, start
    return TaskClass.PROMOTED if start.held else TaskClass.WARM, start


def _copy_changes(task_id: WorkId, before: _Seats, after: _Seats, evidence: Evidence) -> Iterator[CopyChange]:
    """Pair what ended with what began: a swap with the active first, then within an instance, then within a role."""
    had, has = before.copies.get(task_id, set()), after.copies.get(task_id, set())
    ended = {seat.process_id: seat for seat in had if not any(map(seat.is_at, has))}
    begun = {seat.process_id: seat for seat in has if not any(map(seat.is_at, had))}
    from_, to = before.active.get(task_id), after.active.get(task_id)
    if from_ is not None and to is not None and to.process_id in ended and from_.process_id in begun:
        yield CopyChange(CopyChangeKind.SWAPPED, ended.pop(to.process_id), begun.pop(from_.process_id))
    for process_id in sorted(ended.keys() & begun.keys()):
        yield CopyChange(CopyChangeKind.MOVED, ended.pop(process_id), begun.pop(process_id))
    for role in _COPY_ROLES:
        gone = sorted(seat for seat in ended.values() if seat.role is role)
        come = sorted(seat for seat in begun.values() if seat.role is role)
        for source, seat in zip_longest(gone, come):
            kind = (
                CopyChangeKind.MOVED if source and seat else CopyChangeKind.PLACED if seat else CopyChangeKind.DROPPED
            )
            ran_it = seat is None or (from_ is not None and from_.process_id == seat.process_id)
            yield CopyChange(kind, source, seat, 0 if ran_it else evidence.restores(task_id, seat.process_id))


def _instance_changes(old: Side, new: Side) -> Iterator[InstanceChange]:
    before = {instance.process_id: instance for instance in old.group.instances}
    after = {instance.process_id: instance for instance in new.group.instances}
    gone = [instance for process_id, instance in before.items() if process_id not in after]
    come = [instance for process_id, instance in after.items() if process_id not in before]
    restarted = _restarted(gone, come)
    for instance in gone:
        if instance.process_id not in restarted.values():
            yield InstanceChange(instance.process_id, InstanceChangeKind.LEFT)
    for process_id, instance in after.items():
        earlier = before.get(restarted.get(process_id, process_id))
        if process_id in restarted:
            yield InstanceChange(process_id, InstanceChangeKind.RESTARTED, restarted[process_id], process_id)
        elif earlier is None or process_id in _only_just_come(old, new):
            yield InstanceChange(process_id, InstanceChangeKind.JOINED)
        if earlier is not None:
            yield from _changed(process_id, earlier, instance)


def _changed(process_id: str, before: Instance, after: Instance) -> Iterator[InstanceChange]:
    if before.capacity != after.capacity:
        threads = str(before.capacity), str(after.capacity)
        yield InstanceChange(process_id, InstanceChangeKind.CAPACITY, *threads)
    if before.client_tags != after.client_tags:
        tags = [" ".join(f"{key}={value}" for key, value in of.client_tags) for of in (before, after)]
        yield InstanceChange(process_id, InstanceChangeKind.TAGS, *tags)


def _only_just_come(old: Side, new: Side) -> frozenset[str]:
    """The newcomers of the old side that take part in the new one: from the next generation on, they do."""
    return old.newcomers if new.generation > old.generation else old.newcomers - new.newcomers


def _restarted(gone: Sequence[Instance], come: Sequence[Instance]) -> dict[str, str]:
    """Return new process id → old one, for instances that share a static member, or else a host nobody else has."""
    found: dict[str, str] = {}
    for names in (_static_members, _host):
        earlier, later = _by_name(gone, names), _by_name(come, names)
        for name in sorted(earlier.keys() & later.keys()):
            (first, *others), (last, *rest) = earlier[name], later[name]
            if not others and not rest and last not in found and first not in found.values():
                found[last] = first
    return found


def _by_name(instances: Sequence[Instance], names: Callable[[Instance], list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for instance in instances:
        for name in names(instance):
            found[name].append(instance.process_id)
    return found


def _static_members(instance: Instance) -> list[str]:
    return [consumer.group_instance_id for consumer in instance.consumers if consumer.group_instance_id is not None]


def _host(instance: Instance) -> list[str]:
    return [instance.host] if instance.host else []


def _totals(
    old: Side,
    new: Side,
    changes: Sequence[TaskChange],
    course: Between,
    unchanged: int,
    stopped_ms: int,
    *,
    told: bool,
) -> Totals:
    """Add up; ``told``: how long tasks stood still is more than a guess."""
    classes = Counter(change.kind for change in changes)
    classes[TaskClass.STAYED] += unchanged
    copies = [copy for change in changes for copy in change.copies]
    amounts = [change.start.restore_records for change in changes if change.start is not None]
    amounts += [copy.restore_records for copy in copies]
    moved = sum(change.kind.is_move and change.from_ is not None for change in changes)
    tasks = len(changes) + unchanged
    return Totals(
        tasks=tasks,
        classes=MappingProxyType({kind: classes[kind] for kind in TaskClass}),
        copies=MappingProxyType({kind: sum(copy.kind is kind for copy in copies) for kind in CopyChangeKind}),
        moved=moved,
        started=sum(change.kind.is_move and change.from_ is None for change in changes),
        moved_share=moved / tasks if tasks else 0.0,
        restore_records=course.restore_records if _is_seen(course) else _sum(amounts),
        pause_ms=stopped_ms + sum(change.pause_ms for change in changes),
        pause_is="floor"
        if classes[TaskClass.COLD] or course.left or not told
        else "seen"
        if _is_seen(course)
        else "estimate",
        skew_before=_skew(old),
        skew_after=_skew(new),
    )


def _sum(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _skew(side: Side) -> Skew:
    """The skew over the instances of a side; who has only just come counts as empty, as in a plan's balance."""
    group, holdings = side.group, side.holdings
    found = balance_of(group, holdings)
    return Skew(
        instance=found.instance_spread,
        thread=_spread([len(held.active) for held in holdings]),
        subtopology=_subtopology_skew(group, holdings),
        balance_factor=found.balance_factor,
        subtopology_spread=found.subtopology_spread,
    )


def _subtopology_skew(group: Group, holdings: Sequence[Holding]) -> int:
    counts: Mapping[str, list[int]] = defaultdict(lambda: [0] * len(group.instances))
    for consumer, held in enumerate(holdings):
        for task in held.active:
            counts[group.subtopologies[task]][group.instance_of[consumer]] += 1
    return max((_spread(of) for of in counts.values()), default=0)


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0
