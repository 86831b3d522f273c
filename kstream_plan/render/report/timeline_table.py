"""The timeline of a plan as a table: what each instance runs after each event, what warms up, restores, pauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kstream_plan.plans import Plan
from kstream_plan.plans.rebalance_events import RebalanceEvent
from kstream_plan.plans.series import level_at
from kstream_plan.plans.timeline import InstanceCourse, Timeline
from kstream_plan.render.page import Column, Table, text_row
from kstream_plan.render.report.axis import head_of
from kstream_plan.render.report.figure import shown_instances
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration, span_to

_LEGEND = {"w": "a copy warms up there and takes no load yet", "r": "a task restores there before it runs"}
_ABSENT = "–"


def timeline_table(plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names) -> Table:
    """Return a column for each event, from its beginning to when its last rebalance is in effect."""
    visible, hidden_count = shown_instances(plan, names)
    in_effect_ms = {rnd.number: at_ms for rnd, at_ms in zip(plan.rounds, plan.in_effect_ms, strict=True)}
    spans = [(event.rounds[0].at_ms, in_effect_ms[event.rounds[-1].number]) for event in activities]
    columns = [Column("probe" if plan.probes else "why")]
    columns += [Column(f"{head_of(event, plan)} {duration(event.rounds[0].at_ms)}", right=True) for event in activities]
    cells = {place: [_cell(axis.instances[place], *span) for span in spans] for place in visible}
    rows = [text_row(names.instance(axis.instances[place].process_id), *texts) for place, texts in cells.items()]
    if hidden_count:
        rest = [course for place, course in enumerate(axis.instances) if place not in visible]
        rows.append(text_row(f"{hidden_count:,} others", *(_span(rest, end_ms) for _, end_ms in spans)))
    if any(level.number for level in axis.still):
        label = "unassigned, most at once" if plan.is_of_workers else "paused for rebalances, most at once"
        rows.append(text_row(label, *_pauses(axis, [begin_ms for begin_ms, _ in spans])))
    signs = {sign for texts in cells.values() for text in texts for sign in text}
    legend = (f"{sign} = {meaning}" for sign, meaning in _LEGEND.items() if sign in signs)
    absent = [f"{_ABSENT} = no member"] if _ABSENT in signs else []
    note = "; ".join([f"N = {_work(plan)} it runs", *legend, *absent])
    return Table("The same as a table", tuple(columns), tuple(rows), note, on_demand=True)


def _work(plan: Plan) -> str:
    if plan.is_of_workers:
        return "connectors and tasks"
    return "stateful tasks" if plan.group.stateful else "stateless tasks"


def _cell(course: InstanceCourse, begin_ms: int, end_ms: int) -> str:
    if not course.is_there(end_ms):
        return _ABSENT
    restores = any(begin_ms <= at_ms <= end_ms for at_ms in course.cold_ms)
    return f"{level_at(course.runs, end_ms):,}{'w' * (level_at(course.warms_up, end_ms) > 0)}{'r' * restores}"


def _span(courses: Sequence[InstanceCourse], at_ms: int) -> str:
    """Return what several instances run, from the least to the most."""
    numbers = [level_at(course.runs, at_ms) for course in courses if course.is_there(at_ms)]
    return span_to(min(numbers), max(numbers)) if numbers else _ABSENT


def _pauses(axis: Timeline, begins_ms: Sequence[int]) -> Iterator[str]:
    """Yield the most that are paused at once from each event to the next."""
    for begin_ms, end_ms in pairwise([*begins_ms, axis.to_ms]):
        later = (level.number for level in axis.still if begin_ms <= level.at_ms < end_ms)
        yield f"{max(level_at(axis.still, begin_ms), *later, 0):,}"
