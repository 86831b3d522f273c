"""The page of who could run each task, most caught up first (``--set show.ranks=true``)."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model import LATEST, UNKNOWN, Snapshot
from kstream_plan.model.ranking import Candidate, ranked_candidates
from kstream_plan.render.page import Cell, Page, Table, columns_of, text_row
from kstream_plan.render.text.names import Names

#: So many instances without any state are named one by one.
_MOST_EMPTY = 3


def ranks_page(snapshot: Snapshot) -> Page:
    """Return a row for each stateful task: its candidates by (rank, instance), those without state last and counted."""
    group, limit = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    names = Names(group)
    title = f"{names.escape(group.application_id)}: ranked candidates of each task"
    if not group.stateful:
        return Page(title=title, sentences=("No task has state.",))
    rows = tuple(
        text_row(
            names.task_and_topic(group.tasks[task].task_id),
            Cell(tuple(_items(ranked_candidates(snapshot.state, task, limit), snapshot, names))),
        )
        for task in group.stateful
    )
    note = f"rank 0: caught up (lag at most {limit:,}); any other rank is the lag in records"
    return Page(title=title, tables=(Table("", columns_of("Task", "Candidates, ranked"), rows, note),))


def _items(candidates: tuple[Candidate, ...], snapshot: Snapshot, names: Names) -> Iterator[str]:
    empty = [candidate for candidate in candidates if candidate.lag is None and candidate.rank]
    for candidate in candidates:
        if candidate in empty and len(empty) > _MOST_EMPTY:
            continue
        name = names.instance(snapshot.state.group.instances[candidate.instance].process_id)
        yield f"{name} {candidate.rank:,}{_note(candidate.lag)}"
    if len(empty) > _MOST_EMPTY:
        yield f"{len(empty):,} without state {empty[0].rank:,}"


def _note(lag: int | None) -> str:
    if lag is None:
        return " (no state)"
    if lag == LATEST:
        return " (runs it)"
    return " (unknown)" if lag == UNKNOWN else f" (lag {lag:,})" if lag else ""
