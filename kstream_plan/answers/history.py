"""How far behind an application was over time, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from kstream_plan.answers.document import FORM, added, document, field
from kstream_plan.documents.codec import NUMBER, TEXT, Codec, list_of, one_of, or_null, whole
from kstream_plan.documents.records import Field
from kstream_plan.model.note import Command
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows.lag_course import FIGURES, InstanceCourse, LagCourse, TaskCourse, lag_remarks

_RATE = or_null(replace(NUMBER, schema={"type": "number", "minimum": 0}))
_TIME = replace(TEXT, schema={"type": "string", "format": "date-time"})
_AT_LEAST = "Figures that leave out copies whose values are unknown: they are lower bounds."
_LAGS = (
    "Records behind at the end of each step, the oldest first; null: unknown for a copy, or instance, that is known at "
    "other times."
)


def _rate(path: str, description: str) -> Field:
    rate: Callable[[Any], float | None] = attrgetter(path)

    def rounded(course: Any) -> float | None:
        per_second = rate(course)
        return None if per_second is None else round(per_second, 3)

    return field(rounded, description, _RATE)


def _time(path: str, description: str) -> Field:
    time_ms: Callable[[Any], int] = attrgetter(path)
    return field(lambda course: format_time(time_ms(course)), description, _TIME)


_WRITTEN = "Records written to the changelogs of the copies, per second."
_PROGRESS: dict[str, Any] = {
    "copies": whole(1).described("Pairs of instance and task in the rows."),
    "lag": field("progress.lag", "Records behind at the end; null: unknown."),
    "lag_before": field("progress.lag_before", "Records behind at the first report of each copy in this time."),
    "written_per_second": _rate("progress.written_per_second", _WRITTEN),
    "restored_per_second": _rate("progress.restored_per_second", "Records that the copies restored, per second."),
    "at_least": added(list_of(one_of(FIGURES)), _AT_LEAST, get="progress.at_least"),
    "lags": _LAGS,
}
_MOST_BEHIND: Codec[Any] = FORM.view(
    tuple,
    task_id=field(lambda pair: pair[0], codec=TEXT),
    growth=field(lambda pair: pair[1], "In records.", whole(None)),
)
_INSTANCE = FORM.view(
    InstanceCourse,
    process_id="The instance.",
    **_PROGRESS,
    heard_at=_time("heard_ms", "Its newest row."),
    falls_behind="Whether its lag, or that of a copy, grew by more than 10,000 records: more was written than "
    "restored; null: unknown, or it `is_silent`.",
    copies_behind=added("Copies whose lag grew by more than 10,000 records, each by itself."),
    most_behind=added(or_null(_MOST_BEHIND), "The one of these copies whose lag grew most; null: there is none."),
    is_silent=added("Whether it did not report at the end, for longer than ever before in this time: it may be gone."),
)
_TASK = FORM.view(
    TaskCourse,
    task_id="The task.",
    copies=whole(1).described("Instances that have a copy."),
    lag="For the copy that is furthest behind, among those whose lag is known; null: none.",
    written_per_second=_rate("written_per_second", _WRITTEN),
    at_least=added(list_of(one_of(["lag"])), _AT_LEAST),
)
HISTORY = document(
    "history",
    LagCourse,
    "How far behind an application was over time",
    group_at="",
    models_at=None,
    since=_time("since_ms", "Where this time begins."),
    until=_time("until_ms", "The application's newest row."),
    first_at=added(
        or_null(_TIME),
        "Its oldest row in this time.",
        get=lambda course: None if course.first_ms is None else format_time(course.first_ms),
    ),
    step_ms="How long one of the steps is.",
    rows=whole(1).described("Lag rows in this time."),
    **_PROGRESS,
    falls_behind="Whether one of its instances falls behind; null: one may.",
    instances=list_of(_INSTANCE).described(
        "Instances that fall behind first, then those that may, each by how far they fell behind."
    ),
    tasks=list_of(_TASK).described("By the rate of writes, the highest first."),
)


def lag_history_json(course: LagCourse, command: Command = str) -> str:
    """Return an application's lags as one line of JSON, without the line end; every instance and task is in it."""
    return HISTORY.line(course, lag_remarks(course).completed(command))
