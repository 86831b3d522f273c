"""The rounds of a plan, those whose steps are rows many at a time: to look at the rows of each alone takes longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from kstream_plan.model import Group
from kstream_plan.plans.rounds import Round
from kstream_plan.plans.step_rows import NO_SEAT, Numbers, Rows, StepRows, joined
from kstream_plan.plans.steps import MemberJoined

#: So many rounds are looked at together at most: what is made of their rows is not to fill the memory.
_AT_ONCE = 100


class Block(NamedTuple):
    """Rounds that follow one another, with the index of the ``first`` among all.

    ``group`` is the one whose indices all their rows have, beside which members do no more than join. ``None``: the
    steps are objects, or of those about members some change what is held.
    """

    first: int
    rounds: list[Round]
    group: Group | None

    def rows(self) -> tuple[Rows, Numbers]:
        """Return all rows, and which of the rounds each is of."""
        return joined([of.rows for rnd in self.rounds if isinstance(of := rnd.single_steps, StepRows)])


def blocks(rounds: Sequence[Round]) -> Iterator[Block]:
    """Yield the rounds of a plan in blocks, in time."""
    index = 0
    for _, same in groupby(rounds, lambda rnd: id(_group(rnd))):
        while part := list(islice(same, _AT_ONCE)):
            yield Block(index, part, _group(part[0]))
            index += len(part)


def _group(rnd: Round) -> Group | None:
    steps = rnd.single_steps
    if not isinstance(steps, StepRows) or not all(isinstance(step, MemberJoined) for step in steps.members):
        return None
    return steps.maker.group


def instances_in(everyone: Group, group: Group) -> Numbers:
    """Return the instance that each consumer of ``group`` is on, by the indices of ``everyone``; last that of none."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    to = range(len(everyone.consumer_ids)) if group is everyone else everyone.indices_of(group)
    return np.array([*map(everyone.instance_of.__getitem__, to), NO_SEAT])
