"""Two generations of a group → what moved, and how warm each move was."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType

from kstream_plan.comparison.changes import (
    ChangeCourse,
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
from kstream_plan.comparison.sides import Evidence
from kstream_plan.model import Group, Holding, Instance, Note, WorkId
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.plans import Role, Seat
from kstream_plan.plans.balance import balance_of

_COPY_ROLES = (Role.STANDBY, Role.WARMUP, Role.TEMPORARY)


def compare(old: Side, new: Side, course: ChangeCourse | None = None) -> Comparison:
    """Return what changed from ``old`` to ``new``.

    Args:
        old: the group before; what it knows of lags decides how warm a move is.
        new: the group after.
        course: what is known of the way between them, which then counts instead of ``old``'s lags.
    """
    old_seats, new_seats = _Seats(old), _Seats(new)
    course = course or ChangeCourse()
    evidence = Evidence(old, new, course)
    changes = []
    unchanged = stopped_ms = 0
    for task_id in _all_tasks(old.group, new.group):
        change = _task_change(task_id, old_seats, new_seats, evidence)
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
            old,
            new,
            changes,
            course,
            unchanged,
            stopped_ms,
            pauses_known=evidence.pauses_known or not evidence.of_workers,
        ),
        remarks=_remarks(old, new, course, evidence.remarks(changes)),
        untold=evidence.untold,
        is_history=_is_full_history(course),
    )


def _is_full_history(course: ChangeCourse) -> bool:
    """Return whether a history shows what happened on the way: no generation of it is missing."""
    return course.is_history and course.pauses_ms is not None


def _remarks(old: Side, new: Side, course: ChangeCourse, remarks: Remarks) -> Remarks:
    """Add the remarks about the sides and the way between them."""
    notes = [
        Note("lags-measured", f"{moment}: {side.lag_coverage}")
        for moment, side in (("Before", old), ("After", new))
        if side.lag_coverage is not None
    ]
    if detours := tuple(map(str, course.detours)):
        tasks, runs = ("1 task", "it ran") if len(detours) == 1 else (f"{len(detours):,} tasks", "they ran")
        message = f"{tasks} started more than once; the tables show where {runs} first and last"
        notes.append(Note("started-more-than-once", f"{message}: {name_list(detours)}", detours))
    commands: tuple[Note, ...] = ()
    # a history has what follows from most
    if new.next_decision not in (None, new.generation) and not course.is_history:
        message = f"The newer snapshot also has the decision of generation {new.next_decision:,}"
        notes.append(Note("decision-not-compared", f"{message}; what that changes is not shown here"))
        commands = (Note("plan-decision", "kstream-plan assign SNAPSHOT"),)
    elif new.next_decision not in (None, new.generation):
        message = f"The history goes on: what generation {new.next_decision:,} changes is not shown here"
        notes.append(Note("history-goes-on", message))
    if not commands and new.models is None and _is_moving(new):
        generation_option = f" --generation {new.generation}" * course.is_history
        commands = (Note("ask-why", f"kstream-plan why SNAPSHOT{generation_option}"),)
    return remarks._replace(notes=tuple(notes), next=commands)


def _is_moving(side: Side) -> bool:
    """Return whether tasks have more copies than standbys, for these warm up, or wait until their owners stop."""
    copies = sum(len(holding.standby) + len(holding.warmup) for holding in side.holdings)
    targets = zip(side.holdings, side.decided_holdings or (), strict=False)
    waits = any({*target.active} - {*holding.active} for holding, target in targets)
    return waits or copies > side.config.num_standby_replicas * len(side.group.stateful)


def _all_tasks(old: Group, new: Group) -> Iterable[WorkId]:
    if old.task_index.keys() == new.task_index.keys():
        return new.task_index
    return sorted({*old.task_index, *new.task_index}, key=lambda task_id: task_id.sort_key)


class _Seats:
    """The owners and copies on one side, by task id; without standbys configured, a standby counts as warm-up."""

    def __init__(self, side: Side) -> None:
        group = side.group
        self.task_index = group.task_index
        self.active: dict[WorkId, Seat] = {}
        #: Who else has a task active: of a Connect group, in which that should not be, and is.
        self.also_active: dict[WorkId, list[Seat]] = defaultdict(list)
        self.copies: dict[WorkId, set[Seat]] = defaultdict(set)
        for consumer, holding in enumerate(side.holdings):
            place = group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer]
            active = Seat(*place, Role.ACTIVE)
            for task in holding.active:
                task_id = group.tasks[task].task_id
                if self.active.setdefault(task_id, active) is not active:
                    self.also_active[task_id].append(active)
            for role, tasks in zip(_COPY_ROLES, holding[1:], strict=True):
                warms_up = role is Role.STANDBY and not side.config.num_standby_replicas
                seat = Seat(*place, Role.WARMUP if warms_up else role)
                for task in tasks:
                    self.copies[group.tasks[task].task_id].add(seat)


def _task_change(task_id: WorkId, old_seats: _Seats, new_seats: _Seats, evidence: Evidence) -> TaskChange:
    old_owner, new_owner = _owners(task_id, old_seats, new_seats)
    copies: tuple[CopyChange, ...] = ()
    if old_seats.copies.get(task_id) != new_seats.copies.get(task_id):
        copies = tuple(_copy_changes(task_id, old_seats, new_seats, evidence))
    kind, start = TaskClass.STAYED, None
    if task_id not in old_seats.task_index:
        kind = TaskClass.NEW
    elif task_id not in new_seats.task_index:
        kind = TaskClass.GONE
    elif not _is_same(old_owner, new_owner):
        kind, start = _class_of_change(task_id, old_owner, new_owner, evidence)
    return TaskChange(task_id, kind, old_owner, new_owner, copies, start, evidence.pause_ms(task_id, old_owner, kind))


def _is_same(old_owner: Seat | None, new_owner: Seat | None) -> bool:
    return old_owner is new_owner if old_owner is None or new_owner is None else old_owner.is_at(new_owner)


def _owners(task_id: WorkId, old_seats: _Seats, new_seats: _Seats) -> tuple[Seat | None, Seat | None]:
    """Return the owner of a task on either side; of several the first that does not own it on the other side."""
    old_owner, new_owner = old_seats.active.get(task_id), new_seats.active.get(task_id)
    if task_id not in old_seats.also_active and task_id not in new_seats.also_active:
        return old_owner, new_owner
    sides = [
        [seat for seat in (side.active.get(task_id), *side.also_active.get(task_id, ())) if seat is not None]
        for side in (old_seats, new_seats)
    ]
    old_owners, new_owners = sides
    former_owner = next((seat for seat in old_owners if seat not in new_owners), old_owners[0] if old_owners else None)
    return former_owner, next(
        (seat for seat in new_owners if seat not in old_owners), new_owners[0] if new_owners else None
    )


def _class_of_change(
    task_id: WorkId, old_owner: Seat | None, new_owner: Seat | None, evidence: Evidence
) -> tuple[TaskClass, Start | None]:
    if new_owner is None:
        return TaskClass.ORPHANED, None
    if old_owner is not None and old_owner.process_id == new_owner.process_id:
        return TaskClass.THREAD_MOVED, None
    if evidence.of_workers:
        return TaskClass.WARM, None
    if not evidence.stateful(task_id):
        return TaskClass.STATELESS_MOVED, None
    start = evidence.start(task_id, new_owner.process_id)
    if not start.within:
        return TaskClass.COLD, start
    return TaskClass.PROMOTED if start.held else TaskClass.WARM, start


def _copy_changes(task_id: WorkId, old_seats: _Seats, new_seats: _Seats, evidence: Evidence) -> Iterator[CopyChange]:
    """Pair what ended with what began: a swap with the active first, then within an instance, then within a role."""
    old_copies, new_copies = old_seats.copies.get(task_id, set()), new_seats.copies.get(task_id, set())
    ended_copies = {seat.process_id: seat for seat in old_copies if not any(map(seat.is_at, new_copies))}
    begun_copies = {seat.process_id: seat for seat in new_copies if not any(map(seat.is_at, old_copies))}
    old_owner, new_owner = old_seats.active.get(task_id), new_seats.active.get(task_id)
    if (
        old_owner is not None
        and new_owner is not None
        and new_owner.process_id in ended_copies
        and old_owner.process_id in begun_copies
    ):
        yield CopyChange(
            CopyChangeKind.SWAPPED, ended_copies.pop(new_owner.process_id), begun_copies.pop(old_owner.process_id)
        )
    for process_id in sorted(ended_copies.keys() & begun_copies.keys()):
        yield CopyChange(CopyChangeKind.MOVED, ended_copies.pop(process_id), begun_copies.pop(process_id))
    for role in _COPY_ROLES:
        sources = sorted(seat for seat in ended_copies.values() if seat.role is role)
        destinations = sorted(seat for seat in begun_copies.values() if seat.role is role)
        for source, destination in zip_longest(sources, destinations):
            kind = (
                CopyChangeKind.MOVED
                if source and destination
                else CopyChangeKind.PLACED
                if destination
                else CopyChangeKind.DROPPED
            )
            ran_it = destination is None or (old_owner is not None and old_owner.process_id == destination.process_id)
            yield CopyChange(
                kind, source, destination, 0 if ran_it else evidence.restores(task_id, destination.process_id)
            )


def _instance_changes(old: Side, new: Side) -> Iterator[InstanceChange]:
    old_instances = {instance.process_id: instance for instance in old.group.instances}
    new_instances = {instance.process_id: instance for instance in new.group.instances}
    removed_instances = [instance for process_id, instance in old_instances.items() if process_id not in new_instances]
    added_instances = [instance for process_id, instance in new_instances.items() if process_id not in old_instances]
    restarted = _restarted(removed_instances, added_instances)
    for instance in removed_instances:
        if instance.process_id not in restarted.values():
            yield InstanceChange(instance.process_id, InstanceChangeKind.LEFT)
    for process_id, instance in new_instances.items():
        earlier = old_instances.get(restarted.get(process_id, process_id))
        if process_id in restarted:
            yield InstanceChange(process_id, InstanceChangeKind.RESTARTED, restarted[process_id], process_id)
        elif earlier is None or process_id in _only_just_come(old, new):
            yield InstanceChange(process_id, InstanceChangeKind.JOINED)
        if earlier is not None:
            yield from _capacity_and_tag_changes(process_id, earlier, instance)


def _capacity_and_tag_changes(
    process_id: str, old_instance: Instance, new_instance: Instance
) -> Iterator[InstanceChange]:
    if old_instance.capacity != new_instance.capacity:
        threads = str(old_instance.capacity), str(new_instance.capacity)
        yield InstanceChange(process_id, InstanceChangeKind.CAPACITY, *threads)
    if old_instance.client_tags != new_instance.client_tags:
        tags = [
            " ".join(f"{key}={value}" for key, value in instance.client_tags)
            for instance in (old_instance, new_instance)
        ]
        yield InstanceChange(process_id, InstanceChangeKind.TAGS, *tags)


def _only_just_come(old: Side, new: Side) -> frozenset[str]:
    """Return the newcomers of the old side that are members of the new one."""
    return old.newcomers if new.generation > old.generation else old.newcomers - new.newcomers


def _restarted(removed_instances: Sequence[Instance], added_instances: Sequence[Instance]) -> dict[str, str]:
    """Return new process id → old one, for instances that share a static member, or else a host of their own."""
    old_id_by_new_id: dict[str, str] = {}
    for names in (_static_members, _host):
        earlier, later = _by_name(removed_instances, names), _by_name(added_instances, names)
        for name in sorted(earlier.keys() & later.keys()):
            (first, *other_old_ids), (last, *other_new_ids) = earlier[name], later[name]
            is_unique = not other_old_ids and not other_new_ids
            if is_unique and last not in old_id_by_new_id and first not in old_id_by_new_id.values():
                old_id_by_new_id[last] = first
    return old_id_by_new_id


def _by_name(instances: Sequence[Instance], names: Callable[[Instance], list[str]]) -> dict[str, list[str]]:
    process_ids: dict[str, list[str]] = defaultdict(list)
    for instance in instances:
        for name in names(instance):
            process_ids[name].append(instance.process_id)
    return process_ids


def _static_members(instance: Instance) -> list[str]:
    return [consumer.group_instance_id for consumer in instance.consumers if consumer.group_instance_id is not None]


def _host(instance: Instance) -> list[str]:
    return [instance.host] if instance.host else []


def _totals(
    old: Side,
    new: Side,
    changes: Sequence[TaskChange],
    course: ChangeCourse,
    unchanged: int,
    stopped_ms: int,
    *,
    pauses_known: bool,
) -> Totals:
    """Return the sums; ``pauses_known``: pauses are not only estimated."""
    classes = Counter(change.kind for change in changes)
    classes[TaskClass.STAYED] += unchanged
    copies = [copy for change in changes for copy in change.copies]
    amounts = [change.start.restore_records for change in changes if change.start is not None]
    amounts += [copy.restore_records for copy in copies]
    moved_tasks = sum(change.kind.is_move and change.from_ is not None for change in changes)
    tasks = len(changes) + unchanged
    return Totals(
        tasks=tasks,
        classes=MappingProxyType({kind: classes[kind] for kind in TaskClass}),
        copies=MappingProxyType({kind: sum(copy.kind is kind for copy in copies) for kind in CopyChangeKind}),
        moved_tasks=moved_tasks,
        started_tasks=sum(change.kind.is_move and change.from_ is None for change in changes),
        moved_share=moved_tasks / tasks if tasks else 0.0,
        restore_records=course.restore_records if _is_full_history(course) else _sum(amounts),
        pause_ms=stopped_ms + sum(change.pause_ms for change in changes),
        pause_is="floor"
        if classes[TaskClass.COLD] or course.unknown_pauses or not pauses_known
        else "seen"
        if _is_full_history(course)
        else "estimate",
        skew_before=_skew(old),
        skew_after=_skew(new),
    )


def _sum(amounts: Sequence[int | None]) -> int | None:
    known_amounts = [amount for amount in amounts if amount is not None]
    return sum(known_amounts) if len(known_amounts) == len(amounts) else None


def _skew(side: Side) -> Skew:
    """Return the skew over the instances of a side; a newcomer counts as empty, as in a plan's balance."""
    group, holdings = side.group, side.holdings
    balance = balance_of(group, holdings)
    return Skew(
        instance=balance.instance_spread,
        thread=_spread([len(holding.active) for holding in holdings]),
        subtopology=_subtopology_skew(group, holdings),
        balance_factor=balance.balance_factor,
        subtopology_spread=balance.subtopology_spread,
    )


def _subtopology_skew(group: Group, holdings: Sequence[Holding]) -> int:
    counts: Mapping[str, list[int]] = defaultdict(lambda: [0] * len(group.instances))
    for consumer, holding in enumerate(holdings):
        for task in holding.active:
            counts[group.subtopologies[task]][group.instance_of[consumer]] += 1
    return max((_spread(instance_counts) for instance_counts in counts.values()), default=0)


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0
