"""A plan over time as shapes: rows of instances and of figures over one axis, before anything is marked up.

Across, shapes are in thousandths of the width and begin with the timeline; down, in pixels of their row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity
from kstream_plan.plans.levels import Level, summed
from kstream_plan.plans.timeline import InstanceCourse, LoadAt, Timeline
from kstream_plan.render.report.axis import WIDTH, Mark, Span, Tick, marks_of, ticks_of, x_of
from kstream_plan.render.report.picture import shown_instances
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, span_to

#: Up to so many instances have a row each, from the beginning on.
MOST_ROWS = 24


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
    told: str
    shapes: tuple[Shape, ...]
    place: int | None = None
    height: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Rows over one axis of time, with what happens as marks across them, and what it says in one sentence."""

    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    sentence: str

    @property
    def height(self) -> int:
        """The height of all rows."""
        return sum(row.height for row in self.rows)


def timeline_figure(plan: Plan, found: Sequence[Activity], of: Timeline, names: Names) -> Figure:
    """Return who runs, warms up and restores how much when: each instance, of many the areas and those that change."""
    shown, others = shown_instances(plan, names)
    everyone = range(len(of.instances))
    rows: list[Row] = []
    if len(everyone) <= MOST_ROWS:
        shown = sorted(everyone, key=lambda place: names.reading_order(of.instances[place].process_id))
    else:
        rows += _area_rows(of, names)
    rows += _instance_rows(of, names, shown)
    rows.append(_still_row(plan, of))
    left_out = f"; {count(others, 'other instance')} below" if others and len(everyone) > MOST_ROWS else ""
    members = count(len(everyone), "worker" if plan.is_of_workers else "instance")
    members = count(len(everyone), "worker" if plan.is_of_workers else "instance")
    sentence = (
        f"{members} over {duration(of.ends_ms)}: what each "
        f"runs{'' if plan.is_of_workers else ', warms up and restores'}, and what is paused{left_out}"
    )
    return Figure(
        rows=tuple(rows), ticks=ticks_of(of), marks=tuple(marks_of(plan, found, of, names)), sentence=sentence
    )


def everyone_figure(of: Timeline, names: Names) -> Figure | None:
    """Return a row for each of many instances; ``None`` if :func:`timeline_figure` has them."""
    if len(of.instances) <= MOST_ROWS:
        return None
    places = sorted(range(len(of.instances)), key=lambda place: names.reading_order(of.instances[place].process_id))
    rows = tuple(_instance_rows(of, names, places, height=20))
    return Figure(rows=rows, ticks=ticks_of(of), marks=(), sentence=f"each of {count(len(rows), 'instance')} over time")


def load_figure(plan: Plan, of: Timeline) -> Figure:
    """Return how evenly the load is spread, how much warms up and restores at once, how much is paused."""
    member, part = ("worker", "connector") if plan.is_of_workers else ("instance", "subtopology")
    rows = [_band_row(of, member)]
    balance = [Level(one.at_ms, one.balance_factor) for one in of.loads]
    subtopology = [Level(one.at_ms, one.subtopology_task_spread) for one in of.loads]
    rows.append(_series_row(f"{member} balance", balance, of, "balance", f"most minus least tasks of {a_member(plan)}"))
    rows.append(
        _series_row(
            f"{part} balance", subtopology, of, "balance", f"most minus least tasks of a {part} on {a_member(plan)}"
        )
    )
    copies = _highest(of.warming_up)
    if copies:
        means = "at once, on all instances"
        rows.append(_series_row("copies warming up", of.warming_up, of, "warms-up", means, f"at most {copies:,}"))
    restoring = _highest(of.restoring)
    if restoring:
        means = "paused until they have restored"
        rows.append(_series_row("cold tasks restoring", of.restoring, of, "restores", means, f"at most {restoring:,}"))
    still = _bound(plan, _highest(of.still))
    rows.append(_series_row("tasks paused", of.still, of, "still", "at the same time", still))
    sentence = f"load, balance{', copies' if copies else ''} and pauses over time"
    return Figure(rows=tuple(rows), ticks=ticks_of(of), marks=(), sentence=sentence)


class Length(NamedTuple):
    """How long something takes: in words, and in the middle, at least and at most; zeros if it does not end."""

    name: str
    said: str
    median_ms: int
    least_ms: int
    most_ms: int


def bars_figure(lengths: Sequence[Length]) -> Figure:
    """Return how long several things take."""
    longest = max((of.most_ms for of in lengths), default=0)
    axis = Span(0, longest + max(1_000, longest // 25))
    rows = []
    for name, said, median, least, most in lengths:
        shapes = [Shape("runs", _spans([(0, median)], axis, 6, 14) if median else "")]
        shapes += [Shape("still", _spans([(least, most)], axis, 11, 4))] if least != most else []
        kept = tuple(shape for shape in shapes if shape.path)
        rows.append(Row(label=name, sums_up=said, told=f"{name}: {said}", shapes=kept, height=26))
    return Figure(rows=tuple(rows), ticks=ticks_of(axis), marks=(), sentence="how long each takes")


def _area_rows(of: Timeline, names: Names) -> Iterator[Row]:
    """Yield a row for each zone or rack, where these are few; else one for all instances."""
    areas: dict[tuple[str, str], list[InstanceCourse]] = {}
    for one in of.instances:
        areas.setdefault(names.area(one.process_id) or ("all", "instances"), []).append(one)
    sums = {area: summed([one.runs for one in courses]) for area, courses in areas.items()}
    most = max((level.number for series in sums.values() for level in series), default=0)
    for area in sorted(areas):
        courses = areas[area]
        warming, restoring, unsure = (
            summed([getattr(one, name) for one in courses]) for name in ("warms_up", "restores", "unsure")
        )
        cold_ms = tuple(sorted(at_ms for one in courses for at_ms in one.cold_ms))
        there = tuple(span for one in courses for span in one.there)
        together = InstanceCourse(
            process_id="",
            there=there,
            runs=sums[area],
            warms_up=warming,
            restores=restoring,
            unsure=unsure,
            cold_ms=cold_ms,
        )
        label = " ".join(area)
        yield _course_row(together, f"{label} ({len(courses):,})", None, most, of, height=34)


def _instance_rows(of: Timeline, names: Names, places: Sequence[int], height: int = 30) -> Iterator[Row]:
    most = max((level.number for place in places for level in of.instances[place].runs), default=0)
    for place in places:
        course = of.instances[place]
        yield _course_row(course, names.instance(course.process_id), place, most, of, height=height)


def _course_row(course: InstanceCourse, label: str, place: int | None, most: int, of: Timeline, *, height: int) -> Row:
    strip = max(3, height // 6)
    room, base = height - strip - 7, height - strip - 4
    shapes = [
        Shape("there", _spans(course.there, of, base - room, room)),
        Shape("runs", _area(course.runs, of, base, room, most)),
        Shape("unsure", _area(course.unsure, of, base, room, most)),
        Shape("restores", _area(course.restores, of, base, room, most)),
        Shape("warms-up", _strip(course.warms_up, of, base + 2, strip)),
        Shape("cold", _lines(course.cold_ms, of, base - room, room)),
    ]
    before, after = course.runs[0].number, course.runs[-1].number
    gone = [not course.there or all(begin > of.from_ms for begin, _ in course.there)]
    gone.append(not course.there or all(end < of.to_ms for _, end in course.there))
    ends = ["–" if absent else f"{number:,}" for absent, number in zip(gone, (before, after), strict=True)]
    sums_up = ends[0] if ends[0] == ends[1] else f"{ends[0]} → {ends[1]}"
    warming = max((level.number for level in course.warms_up), default=0)
    told = f"{label}: runs {sums_up}"
    told += f", warms up {warming:,} at once at most" if warming else ""
    told += f", {count(len(course.cold_ms), 'cold start')}" if course.cold_ms else ""
    kept = tuple(shape for shape in shapes if shape.path)
    return Row(label=label, sums_up=sums_up, told=told, shapes=kept, place=place, height=height)


def _still_row(plan: Plan, of: Timeline) -> Row:
    """Return the row of what is paused, and on top of it of what restores before it runs."""
    nobody, restoring = summed([of.still, of.restoring]), _highest(of.restoring)
    most, still = _highest(nobody), _highest(of.still)
    sums_up = _bound(plan, most) if most else "none"
    told = f"paused at once: {sums_up}"
    told += f": at most {still:,} for a rebalance, at most {restoring:,} while they restore" if restoring else ""
    above = [Shape("restores", _area(nobody, of, 30, 26, most))] if restoring else []
    shapes = (*above, *_still_shapes(of.still, of, 30, most))
    return Row(label="paused", sums_up=sums_up, told=told, shapes=shapes, height=34)


def _bound(plan: Plan, drawn: int) -> str:
    """Return how many are paused at once, where they are so many in the one way that is drawn of several."""
    least, most = plan.ends("paused_tasks_at_once")
    return f"at least {min(least, drawn):,}" if plan.pauses_are_least else f"at most {max(most, drawn):,}"


def _highest(series: Sequence[Level]) -> int:
    return max(level.number for level in series)


def _still_shapes(series: Sequence[Level], of: Timeline, height: int, most: int) -> tuple[Shape, ...]:
    if not any(level.number for level in series):
        return ()
    ticks = "".join(
        f"M{x_of(level.at_ms, of)} {height}V{height - _high(level.number, most, height - 4)}"
        for level in series
        if level.number
    )
    return (Shape("still", _area(series, of, height, height - 4, most)), Shape("still-tick", ticks))


def _series_row(label: str, series: Sequence[Level], of: Timeline, kind: str, means: str, bound: str = "") -> Row:
    """Return the row of a series, which its ``bound`` sums up, else first, highest and last."""
    highest = _highest(series)
    first, last = series[0].number, series[-1].number
    sums_up = bound or _course([first, *[highest] * (highest > max(first, last)), last])
    shapes = (
        _still_shapes(series, of, 36, highest)
        if kind == "still"
        else tuple(shape for shape in [Shape(kind, _area(series, of, 36, 30, highest))] if shape.path)
    )
    told = f"{label} ({means}): {highest:,} at most"
    return Row(label=label, sums_up=sums_up, told=told, shapes=shapes, height=40)


def a_member(plan: Plan) -> str:
    """Return ``an instance`` or ``a worker``."""
    return "a worker" if plan.is_of_workers else "an instance"


def _band_row(of: Timeline, member: str) -> Row:
    """Return the row of what the instances run that run least and most."""
    most = max(one.most for one in of.loads)
    first, last = of.loads[0], of.loads[-1]
    least = min(one.least for one in of.loads)
    is_worse = max(one.balance_factor for one in of.loads) > max(first.balance_factor, last.balance_factor)
    is_beyond = least < min(first.least, last.least) or most > max(first.most, last.most)
    between = [span_to(least, most)] * (is_worse or is_beyond)
    told = f"tasks per {member}, least to most: {_ends(first)} at first, "
    told += "".join(f"{one} between, " for one in between) + f"{_ends(last)} at the end"
    path = _band(of.loads, of, 48, 42, most) if most else ""
    shapes = tuple(shape for shape in [Shape("band", path)] if shape.path)
    sums_up = _course([_ends(first), *between, _ends(last)])
    return Row(label=f"tasks per {member}", sums_up=sums_up, told=told, shapes=shapes, height=52)


def _course(numbers: Iterable[int | str]) -> str:
    """Return ``10 → 0``, or ``0 → 5 → 0``; of what stays the same that."""
    texts = [text if isinstance(text, str) else f"{text:,}" for text in numbers]
    return " → ".join(text for place, text in enumerate(texts) if place == 0 or text != texts[place - 1])


def _ends(of: LoadAt) -> str:
    return span_to(of.least, of.most)


def _band(loads: Sequence[LoadAt], of: Timeline, base: int, room: int, highest: int) -> str:
    def line(numbers: Iterable[int]) -> list[tuple[int, int]]:
        return [
            (x_of(one.at_ms, of), base - _high(number, highest, room))
            for one, number in zip(loads, numbers, strict=True)
        ]

    upper, lower = line(one.most for one in loads), line(one.least for one in loads)
    there = "".join(f"H{x}V{y}" for x, y in upper)
    edge, back = WIDTH, ""
    for x, y in reversed(lower):
        back += f"L{edge} {y + 1}H{x}"
        edge = x
    return f"M{upper[0][0]} {upper[0][1]}{there}H{WIDTH}{back}Z"


def _area(series: Sequence[Level], of: Timeline, base: int, room: int, highest: int) -> str:
    """Return the outline of a series: as high as its numbers, in steps; empty if there is nothing."""
    if not any(level.number for level in series):
        return ""
    shown = dropwhile(lambda level: not level.number, series)
    seen = {x_of(level.at_ms, of): level.number for level in shown}
    steps = "".join(f"H{x}V{base - _high(number, highest, room)}" for x, number in seen.items())
    return f"M{next(iter(seen))} {base}{steps}H{WIDTH}V{base}Z"


def _high(number: int, highest: int, room: int) -> int:
    """Return how high a number is; what is not nothing is to be seen."""
    return max(2, round(room * number / highest)) if number else 0


def _strip(series: Sequence[Level], of: Timeline, top: int, height: int) -> str:
    """Return when there is any, however many."""
    spans: list[tuple[int, int]] = []
    for place, level in enumerate(series):
        end_ms = series[place + 1].at_ms if place + 1 < len(series) else of.to_ms
        if level.number and spans and spans[-1][1] == level.at_ms:
            spans[-1] = spans[-1][0], end_ms
        elif level.number:
            spans.append((level.at_ms, end_ms))
    return _spans(spans, of, top, height)


def _spans(spans: Iterable[tuple[int, int]], of: Timeline | Span, top: int, height: int) -> str:
    return "".join(
        f"M{x_of(begin, of)} {top}H{max(x_of(end, of), x_of(begin, of) + 1)}v{height}H{x_of(begin, of)}Z"
        for begin, end in spans
    )


def _lines(times_ms: Iterable[int], of: Timeline, top: int, height: int) -> str:
    return "".join(f"M{x} {top}v{height}" for x in dict.fromkeys(x_of(at_ms, of) for at_ms in times_ms))
