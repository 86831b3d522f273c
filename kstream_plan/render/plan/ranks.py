"""Who could run each task, most caught up first (``--show-ranks``)."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model import LATEST, UNKNOWN, Snapshot
from kstream_plan.model.ranking import Candidate, ranked_candidates
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.wrapping import wrapped

#: So many instances without any state are named one by one.
_MOST_EMPTY = 3


def ranks(snapshot: Snapshot, *, width: int = DEFAULT_WIDTH) -> str:
    """Return one line per stateful task: its candidates by (rank, instance), those without state last and counted."""
    group, limit = snapshot.state.group, snapshot.config.acceptable_recovery_lag
    names = Names(group)
    lines = [f"ranks: 0 = caught up (lag ≤ {limit:,}), else the lag in records; most caught up first"]
    labels = [names.task_and_topic(group.tasks[task].task_id) for task in group.stateful]
    indent = max(map(len, labels), default=0)
    for label, task in zip(labels, group.stateful, strict=True):
        items = list(_items(ranked_candidates(snapshot.state, task, limit), snapshot, names))
        lines += wrapped(items, "  ", width, f"  {label:<{indent}}  ", " " * (indent + 4))
    if not group.stateful:
        lines.append("  no task has state")
    return "\n".join(lines) + "\n"


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
