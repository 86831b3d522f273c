"""The state a plan starts from: what a snapshot tells, on the plan's clock, completed; and who has only just come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from kstream_plan.model import LATEST, Copy, Group, GroupState, KnownDecision, Snapshot
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.streams_group import BrokerGroup

#: (task, instance)
_Seat = tuple[int, int]

#: When left-over state is deleted, where nobody knows it: as is likely, or as early or as late as can be.
Cleaning: TypeAlias = Literal["likely", "early", "late"]
#: Which copies count as caught up by now, where nobody knows it: those that were assigned for a whole probing interval,
#: as is likely, or all, or none.
Ready: TypeAlias = Literal["likely", "all", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownHistory:
    """What is known of a group beside the state that a snapshot tells: that state's memory, on the plan's clock.

    The plan's clock counts from now, so these times are past, but for what is due. ``decision`` was made of the state.
    ``reported_ms`` tells when lags were reported and ``since_ms`` since when copies are assigned, where that is known.
    ``measured_lags`` are those that were measured: then nobody calls the others caught up that were not when reported.
    ``no_closer`` are copies that were seen to come no closer: nobody calls them caught up either.
    ``started_ms`` tells when instances, by process id, have started, ``in_stores`` whether offsets are kept inside the
    stores (``None``: not known), ``in_memory`` that a closed store leaves nothing. ``undated``: when the decision was
    made is not known, nor when lags were reported that do not say so themselves; ``undated_reports`` have a time that
    nothing can be counted from. ``ready`` tells which copies count as caught up by now where that is unknown,
    ``cleaning`` when left-over state is deleted. ``broker`` is what the broker knows of a streams group.
    """

    decision: KnownDecision | None = None
    reported_ms: Mapping[_Seat, int] = field(default_factory=lambda: MappingProxyType({}))
    since_ms: Mapping[_Seat, int] = field(default_factory=lambda: MappingProxyType({}))
    measured_lags: frozenset[_Seat] = frozenset()
    no_closer: frozenset[_Seat] = frozenset()
    started_ms: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    in_stores: bool | None = None
    in_memory: bool = False
    undated: bool = False
    undated_reports: frozenset[_Seat] = frozenset()
    ready: Ready = "likely"
    cleaning: Cleaning = "likely"
    broker: BrokerGroup | None = None


def known_history_of(
    snapshot: Snapshot, now_ms: int, *, ready: Ready = "likely", cleaning: Cleaning = "likely"
) -> KnownHistory:
    """Return what a snapshot tells beside its state; ``now_ms`` is counted from when it was taken."""
    decision = snapshot.decision
    if decision is not None:
        at_ms = None if decision.at_ms is None else min(0, decision.at_ms - now_ms)
        next_ms = None if decision.next_ms is None else decision.next_ms - now_ms
        decision = replace(decision, at_ms=at_ms, next_ms=next_ms)
    return KnownHistory(
        decision=decision,
        reported_ms=MappingProxyType(
            {seat: at_ms - now_ms for seat, at_ms in snapshot.reported_ms.items()}
            | dict.fromkeys(sorted(snapshot.undated_reports), -now_ms - 1)  # some time before, however short
        ),
        since_ms=MappingProxyType({seat: at_ms - now_ms for seat, at_ms in snapshot.since_ms.items()}),
        measured_lags=snapshot.measured_lags,
        no_closer=frozenset(snapshot.no_closer_ms),
        started_ms=MappingProxyType({process_id: at_ms - now_ms for process_id, at_ms in snapshot.started_ms.items()}),
        undated=decision is not None and decision.at_ms is None,
        undated_reports=snapshot.undated_reports,
        in_memory=snapshot.stores == "in-memory",
        in_stores=None if snapshot.streams_version is None else snapshot.offsets_in_stores,
        ready=ready,
        cleaning=cleaning,
        broker=snapshot.state.memory if isinstance(snapshot.state.memory, BrokerGroup) else None,
    )


def state_now(snapshot: Snapshot, now_ms: int, *, ready: Ready = "likely", cleaning: Cleaning = "likely") -> GroupState:
    """Return a snapshot's state with its times on the plan's clock, which counts from now.

    ``now_ms`` is counted from when the snapshot was taken; ``ready`` and ``cleaning`` as in :class:`KnownHistory`. The
    state's own time is that of the decision made of it, or of the oldest report. Nothing is played forward yet, but for
    the end offsets.
    """
    state, beginning = snapshot.state, known_history_of(snapshot, now_ms, ready=ready, cleaning=cleaning)
    decision = beginning.decision
    if decision is None or decision.at_ms is None:
        from_ms = min([-now_ms, *beginning.reported_ms.values()])
    else:
        from_ms = decision.at_ms
    heard_ms = -now_ms if decision is None or decision.at_ms is None else decision.at_ms

    def is_undated(seat: _Seat) -> bool:
        is_old = beginning.undated or seat in snapshot.undated_reports
        return (is_old or beginning.reported_ms.get(seat, heard_ms) < -now_ms) and seat not in beginning.since_ms

    shifted = tuple(
        tuple(_shifted(copy, now_ms, undated=is_undated((task, copy.instance))) for copy in of_task)
        for task, of_task in enumerate(state.copies)
    )
    if decision is None and from_ms < -now_ms:
        beginning = replace(beginning, reported_ms=_all_reported_ms(state, beginning, now_ms))
    memory = beginning if state.memory is None or beginning.broker is not None else state.memory
    state_at_start = replace(state, at_ms=min(0, from_ms), copies=shifted, memory=memory)
    return _with_what_was_written(state_at_start, snapshot, now_ms)


def _all_reported_ms(state: GroupState, beginning: KnownHistory, now_ms: int) -> Mapping[_Seat, int]:
    """Return when lags were reported; those that do not say so are as old as the snapshot, others may be older.

    An assigned copy that was never reported has restored since it was assigned, or, if that is unknown, the snapshot.
    """
    since_ms = beginning.since_ms
    as_read = {
        (task, copy.instance): -now_ms if copy.lag is not None else since_ms.get((task, copy.instance), -now_ms)
        for task, of_task in enumerate(state.copies)
        for copy in of_task
        if copy.lag != LATEST and (copy.lag is not None or copy.consumer is not None)
    }
    return MappingProxyType(as_read | dict(beginning.reported_ms))


def _shifted(copy: Copy, now_ms: int, *, undated: bool) -> Copy:
    """Return a copy with its times on the plan's clock.

    ``undated``: since when it is left over is unknown, and it was heard of before now: it may have been deleted by now.
    """
    if copy.lost_at_ms is None and copy.made_at_ms is None:
        return copy
    if undated and copy.lost_at_ms is not None:
        copy = copy._replace(lost_at_ms=copy.lost_at_ms - 1)
    times = (None if at_ms is None else at_ms - now_ms for at_ms in (copy.lost_at_ms, copy.made_at_ms))
    return Copy(*copy[:-2], *times)


def _with_what_was_written(state: GroupState, snapshot: Snapshot, now_ms: int) -> GroupState:
    """Return the state with end offsets of now; those of the snapshot are of when it was taken.

    Where nothing had been written yet when the group first started, and nobody knows how much has been since, it counts
    as little, but too much for anybody without a copy: those who run the tasks have written it.
    """
    rates, limit = snapshot.rates, snapshot.config.acceptable_recovery_lag
    tasks, begun_tasks = list(state.group.tasks), list[int]()
    for index in state.group.stateful if now_ms > 0 else ():
        task = tasks[index]
        if not task.end_offset_known:
            continue
        if rates.knows_produce(index):
            records = int(rates.produce_rate(index) * now_ms / 1000)
            if records:
                tasks[index] = replace(task, end_offset_sum=min(task.end_offset_sum + records, MAX_LONG - 1))
        elif task.end_offset_sum == 0:
            tasks[index] = replace(task, end_offset_sum=min(limit + 1, MAX_LONG - 1), end_offset_known=False)
            begun_tasks.append(index)
    group = Group(state.group.application_id, tuple(tasks), state.group.instances)
    copies = list(state.copies)
    for consumer, holding in enumerate(snapshot.assigned) if begun_tasks else ():
        instance = group.instance_of[consumer]
        for place in sorted(set(holding.active).intersection(begun_tasks)):
            if all(copy.instance != instance for copy in copies[place]):
                copies[place] = tuple(sorted([*copies[place], Copy(instance, 0, lost_at_ms=state.at_ms)]))
    return replace(state, group=group, copies=tuple(copies)) if group.tasks != state.group.tasks else state


def seated(state: GroupState) -> GroupState:
    """Let every copy name the consumer that holds it, and add the copies that are held but not reported.

    A copy that nobody holds is left over from the plan's beginning on, unless it says since when.
    """
    seats: dict[tuple[int, int], tuple[int, bool]] = {}
    for consumer, holding in enumerate(state.holdings):
        instance = state.group.instance_of[consumer]
        for tasks, active in zip(holding, (True, False, False, False), strict=True):
            seats.update(((task, instance), (consumer, active)) for task in tasks)
    copies = [{copy.instance: copy for copy in of_task} for of_task in state.copies]
    for (task, instance), seat in seats.items():
        if state.group.tasks[task].stateful:
            copies[task][instance] = _held_copy(state, task, instance, copies[task].get(instance), seat)
    return replace(
        state,
        holdings=tuple(state.holdings),
        copies=tuple(
            tuple(_or_left_over(by_instance[i], state.at_ms) for i in sorted(by_instance)) for by_instance in copies
        ),
    )


def _held_copy(state: GroupState, task: int, instance: int, copy: Copy | None, seat: tuple[int, bool]) -> Copy:
    if copy is None and seat[1]:
        return Copy(instance, LATEST, (seat[0],), 0, *seat)
    if copy is None:
        return Copy(instance, None, (), state.group.tasks[task].end_offset_sum, *seat)
    return copy._replace(consumer=seat[0], active=seat[1], lost_at_ms=None)


def _or_left_over(copy: Copy, at_ms: int) -> Copy:
    return copy._replace(lost_at_ms=at_ms) if copy.consumer is None and copy.lost_at_ms is None else copy


def newcomers(state: GroupState) -> tuple[int, ...]:
    """Indices of the instances that hold nothing and report nothing."""
    instances_with_state = {
        state.group.instance_of[consumer] for consumer, holding in enumerate(state.holdings) if any(holding)
    }
    instances_with_state |= {copy.instance for copies in state.copies for copy in copies}
    return tuple(instance for instance in range(len(state.group.instances)) if instance not in instances_with_state)
