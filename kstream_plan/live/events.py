"""What has happened between two looks at a group that is followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kstream_plan.comparison.prediction import GenerationPair
from kstream_plan.live.course import Course, MovedTask, RestoringCopy, Stage, moved_tasks
from kstream_plan.model import Snapshot
from kstream_plan.model.ranking import is_caught_up, reported_lag


class EventKind(StrEnum):
    """What an event is about."""

    BEGIN = "begin"
    REBALANCE = "rebalance"
    MOVED = "moved"
    CAUGHT_UP = "caught-up"
    NO_ANSWER = "no-answer"
    ANSWER = "answer"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that has happened to a group that is followed.

    Attributes:
        kind: what it is about.
        at_ms: when it was seen, in milliseconds since 1970.
        application_id: the group.
        course: how far the group had come by then; ``None``: nothing was known.
        pair: the rebalance that came, beside the planned one; ``None``: it is about something else.
        moved_tasks: the tasks that run elsewhere since the previous poll, where rebalances are not recorded.
        caught_up: the copies that have caught up since the previous poll.
        problem: why the source does not answer; empty: it does.
    """

    kind: EventKind
    at_ms: int
    application_id: str
    course: Course | None
    pair: GenerationPair | None = None
    moved_tasks: tuple[MovedTask, ...] = ()
    caught_up: tuple[RestoringCopy, ...] = ()
    problem: str = ""

    @property
    def recorded_ms(self) -> int:
        """When it happened, as far as that is recorded, in milliseconds since 1970; else when it was seen."""
        return (
            self.at_ms
            if self.pair is None or self.pair.recorded_generation is None
            else self.pair.recorded_generation.at_ms
        )


def events(previous_course: Course | None, course: Course) -> Iterator[Event]:
    """Yield what has happened since the previous poll: rebalances first, copies then, and the end."""
    name = course.plan.group.application_id

    def event(kind: EventKind, **fields: object) -> Event:
        return Event(kind=kind, at_ms=course.at_ms, application_id=name, course=course, **fields)  # type: ignore[arg-type]

    if previous_course is None:
        yield event(EventKind.BEGIN)
    last = (
        None
        if previous_course is None or previous_course.comparison is None
        else len(previous_course.comparison.recorded_pairs)
    )
    for pair in () if course.comparison is None else course.comparison.recorded_pairs[last or 0 :]:
        yield event(EventKind.REBALANCE, pair=pair)
    if previous_course is not None and not course.is_recorded:
        tasks = tuple(moved_tasks(previous_course.snapshot, course.snapshot))
        if tasks:
            yield event(EventKind.MOVED, moved_tasks=tasks)
    if previous_course is not None:
        restoring = {(copy.task_id, copy.process_id) for copy in course.restoring}
        caught_up = tuple(
            copy
            for copy in previous_course.restoring
            if (copy.task_id, copy.process_id) not in restoring and _has_caught_up(course.snapshot, copy)
        )
        if caught_up:
            yield event(EventKind.CAUGHT_UP, caught_up=caught_up)
    if course.stage is not Stage.GOES_ON:
        yield event(EventKind.END)


def _has_caught_up(snapshot: Snapshot, copy: RestoringCopy) -> bool:
    """Tell whether a copy is still held and known to be within the limit: it may be gone, or run its task before."""
    group, limit = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    instance, task = group.instance_index.get(copy.process_id), group.task_index.get(copy.task_id)
    if instance is None or task is None:
        return False
    lag = reported_lag(snapshot, task, instance)
    is_held = any(task in role for consumer in group.consumers_of[instance] for role in snapshot.assigned[consumer])
    return is_held and lag is not None and is_caught_up(lag, limit) and (task, instance) not in snapshot.least_lags
