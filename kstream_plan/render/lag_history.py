"""How applications went on over time: each with its instances, those first that fall behind, and its hottest tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len

from kstream_plan.model.times import format_time
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape
from kstream_plan.render.text.numbers import count, duration
from kstream_plan.render.text.page import coloured
from kstream_plan.render.text.wrapping import padded, paragraph, wrapped
from kstream_plan.snapshots.rows.lag_course import (
    FIGURES,
    STEPS,
    InstanceCourse,
    LagCourse,
    Progress,
    Series,
    TaskCourse,
)

_HEIGHTS = "▁▂▃▄▅▆▇█"
_INSTANCES = (
    Column("instance"),
    Column("copies", right=True),
    Column("lag", right=True),
    Column("before", right=True),
    Column("written", right=True),
    Column("restored", right=True),
    Column("lag over time"),
)
_TASKS = (Column("task"), Column("copies", right=True), Column("lag", right=True), Column("written", right=True))
_UNITS = ("", "k", "M", "G", "T", "P", "E")
#: Whether it falls behind.
_MARKS = {True: "!", None: "?", False: " "}
#: Such a part of a process id is enough to tell instances apart, nearly always.
_SHORT = 8
#: A history that fills no more of them is hardly seen.
_FEW_STEPS = 2


def history_table(courses: Sequence[LagCourse], top: int, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return every application with ``top`` instances and tasks at most."""
    blocks = ["\n".join(_block(course, top, width)) for course in courses]
    legend = paragraph(_LEGEND, width, "", "  ")
    text = "\n\n".join([*blocks, "\n".join(legend)]) + "\n"
    return coloured(text) if colour else text


_LEGEND = (
    "records; written and restored: a second, for each copy again; before: when first heard of in this time; !: falls "
    "behind, more is written than restored; ?: not known; ≥: of some copies not known"
)


def history_markdown(courses: Sequence[LagCourse], top: int) -> str:
    """Return the same as Markdown."""
    parts = []
    for course in courses:
        names = _names(course.instances)
        rows = [_markdown_cells(course, one, names) for one in course.instances[:top]]
        columns = (*_INSTANCES, Column("why"))
        parts.append(markdown_overview("\n\n".join(_heading(course, MARKDOWN)), columns, rows))
        parts += (f"{more.strip()}\n" for more in _more(len(course.instances) - top, "instance"))
        tasks = [_task_cells(task, MARKDOWN) for task in course.tasks[:top]]
        parts.append(markdown_overview("Hottest tasks", _TASKS, tasks))
        parts += (f"{more.strip()}\n" for more in _more(len(course.tasks) - top, "task"))
    return "\n".join(parts)


def _markdown_cells(course: LagCourse, of: InstanceCourse, names: Mapping[str, str]) -> tuple[str, ...]:
    name, *figures = _cells(names[of.process_id], of.copies, of.progress, MARKDOWN)
    return (f"{_MARKS[of.falls_behind]} {name}".lstrip(), *figures, _spark(of.lags), _why(course, of, MARKDOWN))


def _why(course: LagCourse, of: InstanceCourse, escape: Escape) -> str:
    """Return which copies fall behind by themselves, and for how long nobody heard of it; empty if neither is so."""
    parts = []
    if of.most_behind is not None:
        task_id, growth = of.most_behind
        fall = "falls" if of.copies_behind == 1 else "fall"
        copies = f"{of.copies_behind:,} of {count(of.copies, 'copy', 'copies')} {fall} behind"
        parts.append(f"{copies}, most {escape.name(task_id)}: by {_number(growth)}")
    if of.is_silent:
        parts.append(f"not heard of for {duration(course.until_ms - of.heard_ms)}: it may be gone")
    return "; ".join(parts)


def _block(course: LagCourse, top: int, width: int) -> Iterator[str]:
    for sentence in _heading(course, TERMINAL):
        yield from paragraph(sentence, width, "", "  ")
    names = _names(course.instances)
    cells = [
        (*_cells(names[one.process_id], one.copies, one.progress, TERMINAL), _spark(one.lags))
        for one in course.instances[:top]
    ]
    marks = [_MARKS[one.falls_behind] for one in course.instances[:top]]
    whys = [_why(course, one, TERMINAL) for one in course.instances[:top]]
    yield ""
    yield from _instance_lines(cells, marks, whys, width)
    yield from _more(len(course.instances) - top, "instance")
    tasks = [_task_cells(task, TERMINAL) for task in course.tasks[:top]]
    yield ""
    yield "  hottest tasks"
    yield from _lines(_TASKS, tasks, [" "] * len(tasks), width)
    yield from _more(len(course.tasks) - top, "task")


def _instance_lines(
    cells: Sequence[Sequence[str]], marks: Sequence[str], whys: Sequence[str], width: int
) -> Iterator[str]:
    """Yield them without the lag over time where there is no room for it."""
    lines = list(_lines(_INSTANCES, cells, marks, width, whys))
    if max(map(cell_len, lines)) <= width:
        return iter(lines)
    return _lines(_INSTANCES[:-1], [row[:-1] for row in cells], marks, width, whys)


def _heading(course: LagCourse, escape: Escape) -> Iterator[str]:
    over = duration(course.until_ms - course.since_ms)
    what = f"{count(course.copies, 'copy', 'copies')} on {count(len(course.instances), 'instance')}"
    yield f"{escape.name(course.application_id)}: {what}, {over} until {format_time(course.until_ms)}"
    falls = [one.falls_behind for one in course.instances]
    behind, unknown = falls.count(True), falls.count(None)
    how = f", {count(behind, 'instance')} {'falls' if behind == 1 else 'fall'} behind" if behind else ""
    how += f", {count(unknown, 'instance')} may fall behind" if unknown else ""
    lag, before, written, restored = _numbers(course.progress)
    yield f"lag {lag}, before {before}: {written} written and {restored} restored a second{how}"
    if any(lag is not None for lag in course.lags):
        yield f"{_spark(course.lags)} (steps of {duration(course.step_ms)}{_nearer(course)})"


def _nearer(course: LagCourse) -> str:
    """Say how to see more of a history that is so short that it fills hardly a step."""
    heard = [step for one in course.instances for step, lag in enumerate(one.lags) if lag is not None]
    steps = STEPS - min(heard)
    return "" if steps > _FEW_STEPS else f"; more with --over {math.ceil(steps * course.step_ms / 60_000)}m"


def _cells(name: str, copies: int, progress: Progress, escape: Escape) -> tuple[str, ...]:
    return (escape.name(name), f"{copies:,}", *_numbers(progress))


def _numbers(progress: Progress) -> list[str]:
    return [_number(getattr(progress, name), least=name in progress.at_least) for name in FIGURES]


def _task_cells(task: TaskCourse, escape: Escape) -> tuple[str, ...]:
    lag = _number(task.lag, least="lag" in task.at_least)
    return escape.name(task.task_id), f"{task.copies:,}", lag, _number(task.written_per_second)


def _number(value: float | None, *, least: bool = False) -> str:
    """Return a number in six columns at most, besides the sign of the least."""
    if value is None:
        return "?"
    if least:
        return f"≥ {_number(value)}"
    shown, unit = float(round(value)), 0
    if shown < 100_000:
        return f"{shown:,.0f}"
    while shown >= 999.95 and unit < len(_UNITS) - 1:
        shown, unit = shown / 1000, unit + 1
    return f"{shown:.1f}{_UNITS[unit]}"


def _spark(lags: Series) -> str:
    """Return a sparkline; a dot is 0, a blank that nobody said."""
    highest = max((lag for lag in lags if lag is not None), default=0)
    signs = []
    for lag in lags:
        if not lag:
            signs.append(" " if lag is None else "·")
        else:
            signs.append(_HEIGHTS[min((lag * len(_HEIGHTS) - 1) // highest, len(_HEIGHTS) - 1)])
    return "".join(signs)


def _names(instances: Sequence[InstanceCourse]) -> dict[str, str]:
    """Return short forms of process ids that tell them apart."""
    ids = [one.process_id for one in instances]
    short = {name: f"{name[:_SHORT]}…" if len(name) > _SHORT + 1 else name for name in ids}
    return short if len(set(short.values())) == len(ids) else {name: name for name in ids}


def _lines(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    marks: Sequence[str],
    width: int,
    whys: Sequence[str] = (),
) -> Iterator[str]:
    """Yield a line for each, beneath it why it is marked; a name that is too long has a line of its own."""
    heads = tuple(column.head for column in columns)
    widths = [max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=True)]
    room = max(min(widths[0], width - 2 - sum(widths[1:]) - 2 * len(widths[1:])), len(heads[0]))

    def line(mark: str, name: str, cells: Sequence[str]) -> str:
        others = "  ".join(
            padded(cell, of, right=column.right)
            for cell, of, column in zip(cells, widths[1:], columns[1:], strict=True)
        )
        return f"{mark} {padded(name, room)}  {others}".rstrip()

    yield line(" ", heads[0], heads[1:])
    for mark, (name, *cells), why in zip(marks, rows, whys or [""] * len(rows), strict=True):
        if cell_len(name) > room:
            yield from wrapped([name], "", width, f"{mark} ", "  ")
            mark, name = " ", ""  # noqa: PLW2901 - its line is out
        yield line(mark, name, cells)
        if why:
            yield from paragraph(why, width, "    ", "    ")


def _more(number: int, what: str) -> Iterator[str]:
    if number > 0:
        yield f"  and {count(number, f'more {what}')} (--top)"
