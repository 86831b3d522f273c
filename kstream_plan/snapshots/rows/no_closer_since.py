"""Copies that come no closer from one generation of a group to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from kstream_plan.model import Copy, Snapshot
from kstream_plan.snapshots.rows.no_closer import LONG_ENOUGH_MS, Course, notes_of

#: Process id and task id.
_Seat = tuple[str, str]


def copies_behind(snapshot: Snapshot) -> bool:
    """Tell whether any standby or warm-up that a group goes on with was reported as behind."""
    return any(True for _ in _behind(snapshot))


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

    Of a copy counts the latest of the earlier snapshots whose report is a minute or more older. There it was assigned,
    or then was: what had just been placed, and was not reported, had everything to restore.

    Args:
        snapshot: the newest.
        earlier: some before it, the latest first.
    """
    before = [(of, _places(of)) for of in earlier]
    courses: dict[tuple[int, int], Course] = {}
    for seat, at, now in _behind(snapshot):
        for of, places in before:
            course = _course(snapshot, at, now, of, places.get(seat))
            if course is not None and course.elapsed_ms >= LONG_ENOUGH_MS:
                if course.stands(snapshot.config.acceptable_recovery_lag):
                    courses[at] = course
                break
    return courses


def _behind(snapshot: Snapshot) -> Iterator[tuple[_Seat, tuple[int, int], int]]:
    """Yield who holds which task, where in the group, and how far behind its reported copy is."""
    group, ready_lag = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    kept = _assigned(snapshot, decided=True)
    for task, copies in enumerate(snapshot.state.copies):
        for copy in copies:
            waits = copy.consumer is not None and not copy.active and (task, copy.instance) in kept
            if waits and copy.lag is not None and copy.lag > ready_lag:
                seat = group.instances[copy.instance].process_id, str(group.tasks[task].task_id)
                yield seat, (task, copy.instance), snapshot.told_lags.get((task, copy.instance), copy.lag)


def _places(snapshot: Snapshot) -> Mapping[_Seat, tuple[int, int]]:
    """Return where in its group the standbys and warm-ups of a snapshot are, those that were then placed too."""
    group = snapshot.state.group
    assigned = _assigned(snapshot, decided=False) | _assigned(snapshot, decided=True)
    return {
        (group.instances[instance].process_id, str(group.tasks[task].task_id)): (task, instance)
        for task, instance in assigned
    }


def _assigned(snapshot: Snapshot, *, decided: bool) -> set[tuple[int, int]]:
    """Return the standbys and warm-ups, by task and instance: as held, or as decided where that is known."""
    decision, of = snapshot.decision, snapshot.state.group.instance_of
    holdings = snapshot.state.holdings
    if decided and decision is not None and decision.consumers is not None:
        holdings = decision.consumers
    return {
        (task, of[consumer])
        for consumer, held in enumerate(holdings)
        for task in (*held.standby, *held.warmup, *held.temporary)
    }


def _course(
    snapshot: Snapshot, at: tuple[int, int], now: int, earlier: Snapshot, place: tuple[int, int] | None
) -> Course | None:
    """Return how a copy went on since an earlier snapshot; ``None`` if nobody knows."""
    first_ms, last_ms = earlier.captured_at_ms, snapshot.captured_at_ms
    if place is None or first_ms is None or last_ms is None:
        return None
    task, instance = place
    copy = next((copy for copy in earlier.state.copies[task] if copy.instance == instance), Copy(instance, None))
    told = earlier.told_lags.get(place, copy.lag)
    before = earlier.state.group.tasks[task].end_offset_sum if told is None else told
    if before < 0 or copy.active:
        return None
    told_ms = first_ms + earlier.reported_ms.get(place, 0)
    return Course(before, now, last_ms + snapshot.reported_ms.get(at, 0) - told_ms)
