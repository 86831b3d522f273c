"""The page of a lag history: whether an application falls behind, its instances, and its hottest tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kstream_plan.model.times import format_time
from kstream_plan.render.page import Cell, Fact, Page, Row, Table, Tone, columns_of, remark_lines, text_cell, text_row
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count, duration, is_are, utc_pair
from kstream_plan.snapshots.rows.lag_course import (
    FEW_STEPS,
    NOTABLE,
    InstanceCourse,
    LagCourse,
    Progress,
    Series,
    TaskCourse,
    instance_names,
    lag_remarks,
)

_HEIGHTS = "▁▂▃▄▅▆▇█"
#: Whether it falls behind, in words; None: it may.
_STATUS: dict[bool | None, tuple[str, Tone]] = {
    True: ("falls behind", "bad"),
    None: ("uncertain", "unknown"),
    False: ("keeps up", "good"),
}
_SIGNS = {"·": "· is no lag", "?": "? is a step without a report"}
_INSTANCES = columns_of(
    *("Instance", "Status", ">Copies", ">Lag", ">Written/s", ">Restored/s", "Lag over time"),
    wide={"Lag over time": 105},
)
_TASKS = columns_of("Task", ">Copies", ">Largest lag", ">Written/s")


def history_page(course: LagCourse, top: int) -> Page:
    """Return the page of an application with at most ``top`` instances and tasks."""
    ends = utc_pair(format_time(course.until_ms - course.length_ms), format_time(course.until_ms))
    period = f"from {ends[0]} to {ends[1]} ({duration(course.length_ms)})"
    copies = f"{count(course.copies, 'copy', 'copies')} on {count(len(course.instances), 'instance')}"
    return Page(
        title=f"{printable(course.application_id)}: {copies}, {period}",
        tone=_STATUS[course.falls_behind][1],
        sentences=(" ".join(_sentences(course)),),
        facts=tuple(_facts(course)),
        tables=(_instances_table(course, top), _tasks_table(course, top)),
        lines=remark_lines(lag_remarks(course), printable),
    )


def _sentences(course: LagCourse) -> Iterator[str]:
    """Yield how many instances fall behind, and of how many that is unknown."""
    number = len(course.instances)
    verdicts = [instance.falls_behind for instance in course.instances]
    late_count, unknown = verdicts.count(True), verdicts.count(None)
    if late_count:
        verb = "falls" if late_count == 1 else "fall"
        yield f"{late_count:,} of {count(number, 'instance')} {verb} behind: more is written than restored."
    if unknown:
        uncertain = f"{unknown:,} of {count(number, 'instance')} {is_are(unknown)} uncertain"
        yield f"{uncertain}: the lag of a copy is unknown, or reports stopped."
    if not late_count and not unknown:
        yield f"No instance falls behind: no lag grew by more than {NOTABLE:,} records."
    far = [instance for instance in course.instances if _status(instance)[0] == "catching up"]
    if far:
        times_ms = [instance.progress.catches_up_ms for instance in far]
        known_ms = [time_ms for time_ms in times_ms if time_ms is not None]
        whole = f"about {duration(max(known_ms))} more" if len(known_ms) == len(times_ms) else "an unknown time"
        yield f"{count(len(far), 'instance')} {is_are(len(far))} catching up: that takes {whole} at these rates."


def _facts(course: LagCourse) -> Iterator[Fact]:
    heads = (("lag", "Lag", ""), ("written", "Written", "/s"), ("restored", "Restored", "/s"))
    scope = f", all {course.copies:,} copies together" if course.copies > 1 else ""
    for (key, label, per), text in zip(heads, _texts(course.progress), strict=True):
        unit = "" if text == "unknown" else f" record{'' if text == '1' else 's'}{per}{scope}"
        yield Fact(key, label, f"{text}{unit}")
    if any(lag is not None for lag in course.lags) and course.reported_steps > FEW_STEPS:
        spark = _spark(course.lags[-course.reported_steps :])
        notes = (f"steps of {duration(course.step_ms)}", *(words for sign, words in _SIGNS.items() if sign in spark))
        yield Fact("lags", "Lag over time", f"{spark} ({'; '.join(notes)})")


def _status(instance: InstanceCourse) -> tuple[str, Tone]:
    """Return whether an instance falls behind, keeps up, or is behind though it does neither."""
    progress = instance.progress
    if instance.falls_behind is False and (progress.lag or 0) > NOTABLE:
        return ("catching up", "plain") if (progress.growth or 0) < 0 else ("stays behind", "unknown")
    return _STATUS[instance.falls_behind]


def _instances_table(course: LagCourse, top: int) -> Table:
    names = instance_names(course.instances)
    rows = tuple(_instance_row(instance, names[instance.process_id]) for instance in course.instances[:top])
    note = "Lag: in the first reports → at the end. Written and restored: by all copies together."
    if any(name.endswith("…") for name in names.values()):
        note += " Names are the beginnings of process ids (lag rows have no host; a snapshot has both)."
    note = " ".join(filter(None, (note, _additional(len(course.instances) - top, "instance"))))
    return Table("Instances", _INSTANCES, rows, note)


def _instance_row(instance: InstanceCourse, name: str) -> Row:
    texts = (f"{instance.copies:,}", *_texts(instance.progress))
    return text_row(printable(name), text_cell(*_status(instance)), *map(_figure_cell, texts), _spark(instance.lags))


def _figure_cell(text: str) -> Cell:
    return text_cell(text, "unknown" if text == "unknown" else "plain")


def _tasks_table(course: LagCourse, top: int) -> Table:
    rows = tuple(map(_task_row, course.tasks[:top]))
    note = "Largest lag: of the copy furthest behind at the end. Written: to the task, not to each copy."
    note = " ".join(filter(None, (note, _additional(len(course.tasks) - top, "task"))))
    return Table("Tasks that are written to most", _TASKS, rows, note)


def _task_row(task: TaskCourse) -> Row:
    texts = (f"{task.copies:,}", _number(task.lag, bound="lag" in task.at_least), _number(task.written_per_second))
    return text_row(printable(task.task_id), *map(_figure_cell, texts))


def _additional(number: int, noun: str) -> str:
    return f"{count(number, f'more {noun}')}: --set top=N shows more." if number > 0 else ""


def _texts(progress: Progress) -> tuple[str, str, str]:
    """Return the lag at first and at the end, what is written and what is restored."""
    bounds = progress.at_least
    old_lag, lag = (_number(getattr(progress, name), bound=name in bounds) for name in ("lag_before", "lag"))
    names = ("written_per_second", "restored_per_second")
    writes, restores = (_number(getattr(progress, name), bound=name in bounds) for name in names)
    return lag if old_lag == lag == "unknown" else f"{old_lag} → {lag}", writes, restores


def _number(value: float | None, *, bound: bool = False) -> str:
    """Return a number of records, to a tenth below 10; ``bound``: only the least is known."""
    if value is None:
        return "unknown"
    digits = 0 if value >= 10 or value == round(value) else 1
    if bound:
        return f"at least {math.floor(value * 10**digits) / 10**digits:,.{digits}f}"
    return f"{value:,.{digits}f}"


def _spark(lags: Series) -> str:
    """Return a sparkline: a dot is 0, a question mark unknown."""
    highest = max((lag for lag in lags if lag is not None), default=0)
    return "".join(_sign(lag, highest) for lag in lags)


def _sign(lag: int | None, highest: int) -> str:
    if not lag:
        return "?" if lag is None else "·"
    return _HEIGHTS[min((lag * len(_HEIGHTS) - 1) // highest, len(_HEIGHTS) - 1)]
