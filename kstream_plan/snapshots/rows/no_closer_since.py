"""Copies that come no closer from one generation of a group to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from kstream_plan.model import Copy, Snapshot
from kstream_plan.snapshots.rows.stalled_copies import LONG_ENOUGH_MS, Course, notes_of

#: Process id and task id.
_Seat = tuple[str, str]


def copies_behind(snapshot: Snapshot) -> bool:
    """Tell whether any standby or warm-up that a group goes on with was reported as behind."""
    return any(True for _ in _lagging_copies(snapshot))


def with_no_closer(snapshot: Snapshot, earlier: Sequence[Snapshot]) -> Snapshot:
    """Return a snapshot that knows, and warns, of its copies that come no closer; arguments as below."""
    still = no_closer_since(snapshot, earlier)
    return replace(
        snapshot,
        warnings=(*snapshot.warnings, *notes_of(snapshot.state.group, still)),
        no_closer_ms=MappingProxyType({seat: course.elapsed_ms for seat, course in still.items()}),
    )


def no_closer_since(snapshot: Snapshot, earlier: Sequence[Snapshot]) -> dict[tuple[int, int], Course]:
    """Return, by task and instance, the standbys and warm-ups that are behind, and no less than they were.

    A copy is compared with the latest earlier snapshot whose report is at least a minute older, and in which it was
    assigned or by whose decision it was: a copy that was new then, without a report, had everything to restore.

    Args:
        snapshot: the newest.
        earlier: some before it, the latest first.
    """
    earlier_places = [(previous, _places(previous)) for previous in earlier]
    courses: dict[tuple[int, int], Course] = {}
    for seat, place, lag_now in _lagging_copies(snapshot):
        for previous, places in earlier_places:
            course = _course(snapshot, place, lag_now, previous, places.get(seat))
            if course is not None and course.elapsed_ms >= LONG_ENOUGH_MS:
                if course.stands(snapshot.config.acceptable_recovery_lag):
                    courses[place] = course
                break
    return courses


def _lagging_copies(snapshot: Snapshot) -> Iterator[tuple[_Seat, tuple[int, int], int]]:
    """Yield the reported standbys and warm-ups that are not caught up: seat, place in the group, and lag."""
    group, ready_lag = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    kept_copies = _assigned_copies(snapshot, by_decision=True)
    for task, copies in enumerate(snapshot.state.copies):
        for copy in copies:
            waits = copy.consumer is not None and not copy.active and (task, copy.instance) in kept_copies
            if waits and copy.lag is not None and copy.lag > ready_lag:
                seat = group.instances[copy.instance].process_id, str(group.tasks[task].task_id)
                yield seat, (task, copy.instance), snapshot.told_lags.get((task, copy.instance), copy.lag)


def _places(snapshot: Snapshot) -> Mapping[_Seat, tuple[int, int]]:
    """Return the places of a snapshot's standbys and warm-ups in its group, those of its decision too."""
    group = snapshot.state.group
    assigned_copies = _assigned_copies(snapshot, by_decision=False) | _assigned_copies(snapshot, by_decision=True)
    return {
        (group.instances[instance].process_id, str(group.tasks[task].task_id)): (task, instance)
        for task, instance in assigned_copies
    }


def _assigned_copies(snapshot: Snapshot, *, by_decision: bool) -> set[tuple[int, int]]:
    """Return the standbys and warm-ups, as (task, instance): as held, or by the decision if it is known."""
    decision, instance_of = snapshot.decision, snapshot.state.group.instance_of
    holdings = snapshot.state.holdings
    if by_decision and decision is not None and decision.consumers is not None:
        holdings = decision.consumers
    return {
        (task, instance_of[consumer])
        for consumer, holding in enumerate(holdings)
        for task in (*holding.standby, *holding.warmup, *holding.temporary)
    }


def _course(
    snapshot: Snapshot, place: tuple[int, int], lag_now: int, earlier: Snapshot, earlier_place: tuple[int, int] | None
) -> Course | None:
    """Return the course of a copy since an earlier snapshot; ``None``: unknown."""
    first_ms, last_ms = earlier.captured_at_ms, snapshot.captured_at_ms
    if earlier_place is None or first_ms is None or last_ms is None:
        return None
    task, instance = earlier_place
    copy = next((copy for copy in earlier.state.copies[task] if copy.instance == instance), Copy(instance, None))
    reported_lag = earlier.told_lags.get(earlier_place, copy.lag)
    lag_before = earlier.state.group.tasks[task].end_offset_sum if reported_lag is None else reported_lag
    if lag_before < 0 or copy.active:
        return None
    earlier_ms = first_ms + earlier.reported_ms.get(earlier_place, 0)
    return Course(lag_before, lag_now, last_ms + snapshot.reported_ms.get(place, 0) - earlier_ms)
