"""What moves, as tables of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kstream_plan.model import WorkId
from kstream_plan.plans import Plan
from kstream_plan.plans.rebalance_events import Move, RebalanceEvent
from kstream_plan.plans.timeline import Timeline
from kstream_plan.render.page import Row, Table, columns_of, text_row
from kstream_plan.render.report.axis import head_of
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, duration, records

#: Up to this many moves are told one by one; of more, how many there are of what.
_MOST_MOVES = 400
#: Up to this many tasks are listed in one cell.
_MOST_LISTED = 24


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
