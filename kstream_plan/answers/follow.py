"""What happens to a group that is followed, as JSON: a line for each event."""

from __future__ import annotations

from collections.abc import Callable

from kstream_plan.answers.document import FORM, document, field
from kstream_plan.answers.happened import GENERATION, TASK_DIFFERENCE
from kstream_plan.documents.codec import COUNT, TEXT, list_of, or_null
from kstream_plan.live.course import MovedTask, RestoringCopy
from kstream_plan.live.events import Event
from kstream_plan.model.times import format_time

_TIME = or_null(TEXT)
_COPY = FORM.record(
    RestoringCopy,
    ref="restoring",
    lag=or_null(COUNT).described("Records that it was behind when it was last measured or reported; null: unknown."),
    most=or_null(COUNT).described("The most that it was behind since it is followed; null: unknown."),
)

_MOVED = FORM.record(
    MovedTask, ref="moved", source="The instance that ran it; null: none.", destination="That runs it; null: none."
)


def _time(name: str) -> Callable[[Event], str | None]:
    def get(event: Event) -> str | None:
        at_ms = None if event.course is None else getattr(event.course, name)
        return None if at_ms is None else format_time(at_ms)

    return get


FOLLOW = document(
    "follow",
    Event,
    "What happens to a group that is followed",
    details="It is one line for each event. ",
    group_at="",
    models_at=None,
    words={"message": TEXT.described("The event in one sentence.")},
    event=field(lambda event: event.kind.value, "Stable name of the kind of event.", TEXT),
    at=field(lambda event: format_time(event.at_ms), "When it was seen, RFC 3339 in UTC.", TEXT),
    recorded_at=field(
        lambda event: format_time(event.recorded_ms),
        "When it happened, as far as that is recorded, RFC 3339 in UTC; else when it was seen.",
        TEXT,
    ),
    stage=field(
        lambda event: "unknown" if event.course is None else event.course.stage.value,
        "Where the group stands: goes-on, as-planned, otherwise, does-not-settle; unknown: the source never answered.",
        TEXT,
    ),
    rebalance=field(
        "pair",
        "The rebalance that came, beside the planned one; null: it is about something else.",
        or_null(GENERATION),
    ),
    moved=field(
        "moved_tasks",
        "Tasks that have changed their instance since the previous poll, where rebalances are not recorded.",
        list_of(_MOVED),
    ),
    elsewhere=field(
        lambda event: () if event.course is None else event.course.misplaced_tasks,
        "The same of those that run elsewhere than at the plan's end, once the group has its members.",
        list_of(TASK_DIFFERENCE),
    ),
    caught_up=list_of(_COPY).described("The copies that have caught up since the previous poll."),
    restoring=field(
        lambda event: () if event.course is None else event.course.restoring,
        "The copies that have not caught up, in task order.",
        list_of(_COPY),
    ),
    planned=field(
        lambda event: 0 if event.course is None else len(event.course.plan.rounds), "Rebalances of the plan.", COUNT
    ),
    came=field(
        lambda event: (
            0
            if event.course is None or event.course.comparison is None
            else len(event.course.comparison.recorded_pairs)
        ),
        "Rebalances that came so far.",
        COUNT,
    ),
    next_at=field(
        _time("next_ms"), "When the next rebalance is due, RFC 3339 in UTC; null: none is, or that is unknown.", _TIME
    ),
    ends_at=field(
        _time("ends_ms"), "When the group is expected to have settled, RFC 3339 in UTC; null: unknown.", _TIME
    ),
    doubts=field(
        lambda event: () if event.course is None else event.course.doubts,
        "Why it is unknown whether the group has settled; empty: that is known.",
        list_of(TEXT),
    ),
    problem="Why the source does not answer; empty: it does.",
)
