"""Ways from one place to another as rows of a table: those that have enough in common share a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kstream_plan.render.page import Cell, Tone, text_cell
from kstream_plan.render.text.numbers import name_list, sample_text

#: Up to this many rows stand one by one; of more, those of one destination, one source or one kind share a row.
MOST_ROWS = 24
#: So many of a row are named where its list is too long.
_NAMED = 6


class End(NamedTuple):
    """Where something was, or is.

    order: sorts ends as people count.
    name: as the reader sees it.
    change: ``new``, ``gone``, or empty.
    """

    order: tuple[object, ...]
    name: str
    change: str = ""


class Way(NamedTuple):
    """One thing on its way.

    source: where it was.
    destination: where it is.
    kind: what became of it; ways of different kinds never share a row.
    item: what it is called in the list of a row.
    tone: what it means.
    whole: the list of its row is never shortened.
    """

    source: End
    destination: End
    kind: str
    item: str
    tone: Tone = "plain"
    whole: bool = False


def way_rows(
    ways: Sequence[Way], *, whole: bool, member: str, most: int = MOST_ROWS
) -> Iterator[tuple[tuple[Cell, ...], Tone]]:
    """Yield where from, where to, how many, and which; ways that have as much as needed in common share a row."""
    alike: Sequence[Callable[[Way], tuple[object, ...]]] = (
        lambda way: (way.source.order, way.destination.order, way.kind),
        lambda way: (way.destination.order, way.kind),
        lambda way: (way.source.order, way.kind),
        lambda way: (way.kind, way.source.change, way.destination.change),
    )
    groups: dict[tuple[object, ...], list[Way]] = {}
    for key in alike:
        groups = defaultdict(list)
        for way in ways:
            groups[key(way)].append(way)
        if whole or len(groups) <= most:
            break
    for _, group in sorted(groups.items()):
        items = tuple(way.item for way in group)
        is_shortened = len(items) > _NAMED + 1 and not whole and not group[0].whole
        cells = (
            text_cell(_ends([way.source for way in group], member)),
            text_cell(_ends([way.destination for way in group], member)),
            text_cell(f"{len(group):,}"),
            Cell(items, name_list(items, _NAMED) if is_shortened else ""),
        )
        yield cells, group[0].tone


def _ends(ends: Sequence[End], member: str) -> str:
    """Return the one end that ways have in common, or how many there are and the first two."""
    different = sorted(set(ends))
    first = different[0]
    if len(different) == 1:
        return first.name
    is_alike = all(end.change == first.change for end in different)
    return sample_text([end.name for end in different], member, first.change if is_alike else "")
