"""Many tasks at once as how many of each subtopology, and of each zone they go to: what a list of ids cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kstream_plan.model import WorkId
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, span

#: Of more subtopologies their number is told, and the least and the most tasks of one.
_MOST_NAMED = 6


def counts(places: Sequence[tuple[WorkId, str]], noun: tuple[str, str], names: Names) -> tuple[str, ...]:
    """Return ``463 tasks``, of which subtopologies if of several, and to which zones they go, if there are any.

    ``places`` are the tasks with the process they go to; ``noun``: what one is called, and several are.
    """
    of = Counter(task_id.group for task_id, _ in places)
    to = Counter(area for _, process_id in places if (area := names.area(process_id)) is not None)
    head, each = count(len(places), *noun), [f"{names.escape(group)}_* {number:,}" for group, number in of.items()]
    if len(of) > _MOST_NAMED:
        least, most = min(of.values()), max(of.values())
        return (head, f"of {len(of):,} subtopologies", f"({span(least, most)} each)", *_in_a_row(_to(to)))
    if len(of) > 1:
        return (f"{head}:", *_in_a_row(each), *_in_a_row(_to(to)))
    return (head, *_in_a_row(_to(to)))


def _to(areas: Mapping[tuple[str, str], int]) -> list[str]:
    """Return ``to zone a 153``, then the other zones without that word, in their order."""
    of = [f"{value} {number:,}" for (_, value), number in sorted(areas.items())]
    return [f"to {next(iter(areas))[0]} {of[0]}", *of[1:]] if of else []


def _in_a_row(items: Sequence[str]) -> list[str]:
    return [f"{item}," for item in items[:-1]] + list(items[-1:])
