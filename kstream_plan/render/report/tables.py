"""Tables of a report: what each instance runs after each event, and every move of a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kstream_plan.model import WorkId
from kstream_plan.plans import Plan
from kstream_plan.plans.rebalance_events import Move, RebalanceEvent
from kstream_plan.plans.series import level_at
from kstream_plan.plans.timeline import InstanceCourse, Timeline
from kstream_plan.render.page import Column, Row, Table, columns_of, text_row
from kstream_plan.render.report.axis import head_of
from kstream_plan.render.report.figure import shown_instances
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, duration, records, span_to

_LEGEND = {"w": "a copy warms up there and takes no load yet", "r": "a task restores there before it runs"}
_ABSENT = "–"

#: Up to this many moves are told one by one; of more, how many there are of what.
_MOST_MOVES = 400
#: Up to this many tasks are listed in one cell.
_MOST_LISTED = 24


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
    """Yield the most that are paused at once from each event to the next; before the first one is part of it."""
    for begin_ms, end_ms in pairwise([axis.from_ms, *begins_ms[1:], axis.to_ms]):
        later = (level.number for level in axis.still if begin_ms <= level.at_ms < end_ms)
        yield f"{max(level_at(axis.still, begin_ms), *later, 0):,}"


def moves_tables(plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names) -> Iterator[Table]:
    """Yield what moves: one by one, of many how many there are of what."""
    moves = [(event, move) for event in activities for move in [*event.moves, *event.cold_threads]]
    if not moves:
        return
    if len(moves) > _MOST_MOVES:
        yield _moves_by_group(plan, moves, names)
        return
    pauses = {move.task_id: _pause_text(plan, axis, move.task_id) for _, move in moves}
    columns = columns_of(">at", "why", "task", "from", "to", "copy there", ">records to restore", ">paused in all")
    columns = tuple(column._replace(of_tasks=column.head == "task") for column in columns)
    rows = (_move_row(plan, event, move, names, pauses[move.task_id]) for event, move in moves)
    left_out = ["copy there"] if plan.is_of_workers else []
    if plan.is_of_workers or not any(move.records != 0 for _, move in moves):
        left_out.append("records to restore")
    yield Table("Moves", columns, tuple(rows)).leave_out(*left_out)


def _pause_text(plan: Plan, axis: Timeline, task_id: WorkId) -> str:
    """Return how long a task is paused: what it restores before it runs is no part of its pauses."""
    pause_ms = plan.pauses.ms.get(task_id, 0)
    restores = [start.restores_ms for start in axis.cold_starts if start.task == plan.group.task_index[task_id]]
    if None in restores:
        return f"at least {at_least(pause_ms)}"
    restore = f", then restores for about {duration(sum(filter(None, restores)))}" if restores else ""
    return f"{duration(pause_ms)}{restore}"


def _move_row(plan: Plan, event: RebalanceEvent, move: Move, names: Names, pause: str) -> Row:
    """Return a move; ``pause``: how long its task is paused in all."""
    group = plan.group
    ends = [move.destination] if move.source is None else [move.source, move.destination]
    texts = (
        duration(event.rounds[0].at_ms),
        head_of(event, plan) if event.probe is None else f"probe {event.probe}",
        names.task_and_topic(move.task_id),
        "" if move.source is None else names.instance(move.source),
        names.instance(move.destination),
        "cold start" if move.cold else "caught up",
        records(move.records) if move.records != 0 else "",
        pause,
    )
    attributes = {
        "task": names.task(move.task_id),
        "group": names.escape(move.task_id.group),
        "places": " ".join(str(group.instance_index[process_id]) for process_id in ends),
    }
    return text_row(*texts, tone="bad" if move.cold else "plain")._replace(attributes=attributes)


def _moves_by_group(plan: Plan, moves: Sequence[tuple[RebalanceEvent, Move]], names: Names) -> Table:
    """Return how many moves there are of each subtopology, from which area to which."""
    order = list(dict.fromkeys(task.task_id.group for task in plan.group.tasks))
    counts: Counter[tuple[int, str, str, bool]] = Counter()
    for _, move in moves:
        ends = (move.source, move.destination)
        source, destination = ("–" if end is None else " ".join(names.area(end) or ("all",)) for end in ends)
        counts[order.index(move.task_id.group), source, destination, move.cold] += 1
    rows = []
    for (place, source, destination, cold), number in sorted(counts.items()):
        group, copy = names.escape(order[place]), "cold start" if cold else "caught up"
        row = text_row(group, source, destination, copy, f"{number:,}", tone="bad" if cold else "plain")
        rows.append(row._replace(attributes={"group": group}))
    note = f"{count(len(moves), 'move')}: one by one above, by task or instance"
    columns = columns_of("subtopology", "from", "to", "copy there", ">moves")
    return Table("Moves by subtopology", columns, tuple(rows), note, on_demand=len(rows) > _MOST_LISTED)
