"""A plan over time as shapes: rows of instances and of figures over one axis, before anything is marked up.

Across, shapes are in thousandths of the width and begin with the timeline; down, in pixels of their row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from kstream_plan.plans import Plan
from kstream_plan.plans.loads import after_all, at_first
from kstream_plan.plans.rebalance_events import RebalanceEvent
from kstream_plan.plans.series import Level, summed
from kstream_plan.plans.timeline import InstanceCourse, LoadAt, Timeline, summed_course
from kstream_plan.render.report.axis import WIDTH, Mark, Span, marks_of, ticks_of, x_of
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import arrow, count, duration, span_to

#: Up to this many instances have a row each, from the beginning on.
MOST_ROWS = 24
#: Up to this many instances are all shown in a table and beside areas; of more, the ten that change most.
_ALL, _MOST_CHANGED = 12, 10


class Shape(NamedTuple):
    """A path of one kind of thing (the name of its colour), in the units of its row."""

    kind: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its label, what it comes to in a few signs, what it says to whoever points at it, and its shapes.

    ``place``: which instance it is of (``None``: of none).
    """

    label: str
    sums_up: str
    description: str
    shapes: tuple[Shape, ...]
    place: int | None = None
    height: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Rows over one axis of time, with what happens as marks across them, and what it says in one sentence."""

    rows: tuple[Row, ...]
    ticks: tuple[Mark, ...]
    marks: tuple[Mark, ...]
    sentence: str

    @property
    def height(self) -> int:
        """The height of all rows."""
        return sum(row.height for row in self.rows)


def timeline_figure(plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names) -> Figure:
    """Return who runs, warms up and restores how much when: each instance, of many the areas and those that change."""
    instances, others_count = shown_instances(plan, names)
    places = range(len(axis.instances))
    rows: list[Row] = []
    if len(places) <= MOST_ROWS:
        instances = _in_order([course.process_id for course in axis.instances], names)
    else:
        rows += _area_rows(axis, names)
    rows += _instance_rows(axis, names, instances)
    rows.append(_still_row(plan, axis))
    left_out = f"; {count(others_count, 'other instance')} below" if others_count and len(places) > MOST_ROWS else ""
    members = count(len(places), "worker" if plan.is_of_workers else "instance")
    doings = "runs" if plan.is_of_workers else "runs, warms up and restores"
    sentence = f"{members} over {duration(axis.ends_ms)}: what each {doings}, and what is paused{left_out}"
    return Figure(
        rows=tuple(rows), ticks=ticks_of(axis), marks=tuple(marks_of(plan, activities, axis, names)), sentence=sentence
    )


def shown_instances(plan: Plan, names: Names) -> tuple[list[int], int]:
    """Return the instances to show, in the order people count in, and the number of the others."""
    order = _in_order([instance.process_id for instance in plan.group.instances], names)
    if len(order) <= _ALL:
        return order, 0
    first, last = at_first(plan), after_all(plan)
    by_change = sorted(order, key=lambda index: -abs(first[index] - last[index]))
    return [index for index in order if index in by_change[:_MOST_CHANGED]], len(order) - _MOST_CHANGED


def _in_order(process_ids: Sequence[str], names: Names) -> list[int]:
    return sorted(range(len(process_ids)), key=lambda place: names.reading_order(process_ids[place]))


def everyone_figure(axis: Timeline, names: Names) -> Figure | None:
    """Return a row for each of many instances; ``None`` if :func:`timeline_figure` has them."""
    if len(axis.instances) <= MOST_ROWS:
        return None
    places = _in_order([course.process_id for course in axis.instances], names)
    rows = tuple(_instance_rows(axis, names, places, height=20))
    sentence = f"each of {count(len(rows), 'instance')} over time"
    return Figure(rows=rows, ticks=ticks_of(axis), marks=(), sentence=sentence)


def load_figure(plan: Plan, axis: Timeline) -> Figure:
    """Return how evenly the load is spread, and how much warms up and restores at once."""
    member, part = ("worker", "connector") if plan.is_of_workers else ("instance", "subtopology")
    spread = [Level(load.at_ms, load.subtopology_task_spread) for load in axis.loads]
    means = f"most minus least tasks of a {part} on {a_member(plan)}"
    rows = [_band_row(axis, member), _series_row(axis, f"{part} balance", spread, "balance", means)]
    if _highest(axis.warming_up):
        means = "at once, on all instances"
        rows.append(_series_row(axis, "copies warming up", axis.warming_up, "warms-up", means))
    if _highest(axis.restoring):
        means = "paused until they have restored"
        rows.append(_series_row(axis, "cold tasks restoring", axis.restoring, "restores", means))
    return Figure(rows=tuple(rows), ticks=ticks_of(axis), marks=(), sentence="load, balance and copies over time")


class Length(NamedTuple):
    """How long something takes: in words, and in the middle, at least and at most; zeros if it does not end."""

    name: str
    text: str
    median_ms: int
    least_ms: int
    most_ms: int


def bars_figure(lengths: Sequence[Length]) -> Figure:
    """Return how long several things take."""
    longest = max((length.most_ms for length in lengths), default=0)
    axis = Span(0, longest + max(1_000, longest // 25))
    rows = []
    for name, text, median, least, most in lengths:
        shapes = _visible(
            Shape("runs", _spans([(0, median)] if median else [], axis, 6, 14)),
            Shape("still", _spans([(least, most)] if least != most else [], axis, 11, 4)),
        )
        rows.append(Row(label=name, sums_up=text, description=f"{name}: {text}", shapes=shapes, height=26))
    return Figure(rows=tuple(rows), ticks=ticks_of(axis), marks=(), sentence="how long each takes")


def _area_rows(axis: Timeline, names: Names) -> Iterator[Row]:
    """Yield a row for each zone or rack, where these are few; else one for all instances."""
    areas: dict[tuple[str, str], list[InstanceCourse]] = {}
    for course in axis.instances:
        areas.setdefault(names.area(course.process_id) or ("all", "instances"), []).append(course)
    most = _highest(*(summed_course(courses).runs for courses in areas.values()))
    for area in sorted(areas):
        courses = areas[area]
        label = f"{' '.join(area)} ({len(courses):,})"
        yield _course_row(summed_course(courses), label, None, most, axis, height=34)


def _instance_rows(axis: Timeline, names: Names, places: Sequence[int], height: int = 30) -> Iterator[Row]:
    most = _highest(*(axis.instances[place].runs for place in places))
    for place in places:
        course = axis.instances[place]
        yield _course_row(course, names.instance(course.process_id), place, most, axis, height=height)


def _course_row(
    course: InstanceCourse, label: str, place: int | None, most: int, axis: Timeline, *, height: int
) -> Row:
    strip = max(3, height // 6)
    room, base = height - strip - 7, height - strip - 4
    cold = [x_of(at_ms, axis) for at_ms in course.cold_ms]
    shapes = _visible(
        Shape("there", _spans(course.member_spans, axis, base - room, room)),
        Shape("runs", _area(course.runs, axis, base, room, most)),
        Shape("unsure", _area(course.unsure, axis, base, room, most)),
        Shape("restores", _area(course.restores, axis, base, room, most)),
        Shape("warms-up", _strip(course.warms_up, axis, base + 2, strip)),
        Shape("cold", "".join(f"M{x} {base - room}v{room}" for x in dict.fromkeys(cold))),
    )
    first, last = course.runs[0].number, course.runs[-1].number
    is_absent = [all(begin > axis.from_ms for begin, _ in course.member_spans)]
    is_absent.append(all(end < axis.to_ms for _, end in course.member_spans))
    ends = ["–" if absent else f"{number:,}" for absent, number in zip(is_absent, (first, last), strict=True)]
    sums_up = arrow(*ends)
    warmups = _highest(course.warms_up)
    description = f"{label}: runs {sums_up}"
    description += f", warms up {warmups:,} at once at most" if warmups else ""
    description += f", {count(len(course.cold_ms), 'cold start')}" if course.cold_ms else ""
    return Row(label=label, sums_up=sums_up, description=description, shapes=shapes, place=place, height=height)


def _visible(*shapes: Shape) -> tuple[Shape, ...]:
    return tuple(shape for shape in shapes if shape.path)


def _still_row(plan: Plan, axis: Timeline) -> Row:
    """Return the row of what is paused, and on top of it of what restores before it runs."""
    pauses, restoring = summed([axis.still, axis.restoring]), _highest(axis.restoring)
    most, still = _highest(pauses), _highest(axis.still)
    sums_up = _bound(plan, most) if most else "none"
    description = f"paused at once: {sums_up}"
    description += f": at most {still:,} for a rebalance, at most {restoring:,} while they restore" if restoring else ""
    ticks = "".join(
        f"M{x_of(level.at_ms, axis)} 30V{30 - _high(level.number, most, 26)}" for level in axis.still if level.number
    )
    restores = Shape("restores", _area(pauses, axis, 30, 26, most) if restoring else "")
    shapes = _visible(restores, Shape("still", _area(axis.still, axis, 30, 26, most)), Shape("still-tick", ticks))
    return Row(label="paused", sums_up=sums_up, description=description, shapes=shapes, height=34)


def _bound(plan: Plan, peak: int) -> str:
    """Return how many are paused at once, where they are so many in the one way that is drawn of several."""
    least, most = plan.ends("paused_tasks_at_once")
    return f"at least {min(least, peak):,}" if plan.pauses_are_least else f"at most {max(most, peak):,}"


def _highest(*every_series: Sequence[Level]) -> int:
    return max((level.number for series in every_series for level in series), default=0)


def _series_row(axis: Timeline, label: str, series: Sequence[Level], kind: str, means: str) -> Row:
    """Return the row of a series, which its first, highest and last number sum up."""
    highest, first, last = _highest(series), series[0].number, series[-1].number
    sums_up = arrow(first, *[highest] * (highest > max(first, last)), last)
    shapes = _visible(Shape(kind, _area(series, axis, 36, 30, highest)))
    description = f"{label} ({means}): {highest:,} at most"
    return Row(label=label, sums_up=sums_up, description=description, shapes=shapes, height=40)


def a_member(plan: Plan) -> str:
    """Return ``an instance`` or ``a worker``."""
    return "a worker" if plan.is_of_workers else "an instance"


def _band_row(axis: Timeline, member: str) -> Row:
    """Return the row of what the instances run that run least and most."""
    most = max(load.most for load in axis.loads)
    first, last = axis.loads[0], axis.loads[-1]
    least = min(load.least for load in axis.loads)
    is_worse = max(load.balance_factor for load in axis.loads) > max(first.balance_factor, last.balance_factor)
    is_beyond = least < min(first.least, last.least) or most > max(first.most, last.most)
    middle = [span_to(least, most)] * (is_worse or is_beyond)
    description = f"tasks per {member}, least to most: {_ends(first)} at first, "
    description += "".join(f"{span} between, " for span in middle) + f"{_ends(last)} at the end"
    shapes = (Shape("band", _band(axis.loads, axis, 48, 42, most)),) if most else ()
    sums_up = arrow(_ends(first), *middle, _ends(last))
    return Row(label=f"tasks per {member}", sums_up=sums_up, description=description, shapes=shapes, height=52)


def _ends(load: LoadAt) -> str:
    return span_to(load.least, load.most)


def _band(loads: Sequence[LoadAt], axis: Timeline, base: int, room: int, highest: int) -> str:
    def line(numbers: Iterable[int]) -> list[tuple[int, int]]:
        return [
            (x_of(load.at_ms, axis), base - _high(number, highest, room))
            for load, number in zip(loads, numbers, strict=True)
        ]

    upper, lower = line(load.most for load in loads), line(load.least for load in loads)
    steps = "".join(f"H{x}V{y}" for x, y in upper)
    edge, back = WIDTH, ""
    for x, y in reversed(lower):
        back += f"L{edge} {y + 1}H{x}"
        edge = x
    return f"M{upper[0][0]} {upper[0][1]}{steps}H{WIDTH}{back}Z"


def _area(series: Sequence[Level], axis: Timeline, base: int, room: int, highest: int) -> str:
    """Return the outline of a series: as high as its numbers, in steps; empty if there is nothing."""
    if not any(level.number for level in series):
        return ""
    levels = dropwhile(lambda level: not level.number, series)
    numbers = {x_of(level.at_ms, axis): level.number for level in levels}
    steps = "".join(f"H{x}V{base - _high(number, highest, room)}" for x, number in numbers.items())
    return f"M{next(iter(numbers))} {base}{steps}H{WIDTH}V{base}Z"


def _high(number: int, highest: int, room: int) -> int:
    """Return how high a number is; what is not nothing is to be seen."""
    return max(2, round(room * number / highest)) if number else 0


def _strip(series: Sequence[Level], axis: Timeline, top: int, height: int) -> str:
    """Return when there is any, however many."""
    spans: list[tuple[int, int]] = []
    for place, level in enumerate(series):
        end_ms = series[place + 1].at_ms if place + 1 < len(series) else axis.to_ms
        if level.number and spans and spans[-1][1] == level.at_ms:
            spans[-1] = spans[-1][0], end_ms
        elif level.number:
            spans.append((level.at_ms, end_ms))
    return _spans(spans, axis, top, height)


def _spans(spans: Iterable[tuple[int, int]], axis: Timeline | Span, top: int, height: int) -> str:
    return "".join(
        f"M{x_of(begin, axis)} {top}H{max(x_of(end, axis), x_of(begin, axis) + 1)}v{height}H{x_of(begin, axis)}Z"
        for begin, end in spans
    )
