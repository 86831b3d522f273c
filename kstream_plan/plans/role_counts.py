"""How many stateful tasks every instance runs, and how many warm up on it, after each round of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model import Group, Holding
from kstream_plan.model.holding_changes import apart_from_stateless, stateful_loads, warmup_counts
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.replay import BEGINS_ALONE
from kstream_plan.plans.row_blocks import Block, blocks, instances_in
from kstream_plan.plans.seats import Role
from kstream_plan.plans.step_rows import NO_SEAT, ROLES, WITHHOLD, Mask, Numbers, are


def running(plan: Plan) -> Iterator[tuple[int, ...]]:
    """Yield after each round how many stateful tasks every instance runs."""
    return _counts(plan, Role.ACTIVE)


def warming(plan: Plan) -> Iterator[tuple[int, ...]]:
    """Yield after each round how many warm-ups every instance has."""
    return _counts(plan, Role.WARMUP)


def _counts(plan: Plan, role: Role) -> Iterator[tuple[int, ...]]:
    held: _Held | None = None
    for block in blocks(plan.rounds):
        if block.group is None:
            held = None
            yield from _counted(plan.group, role, [rnd.assigned for rnd in block.rounds])
            continue
        if held is None:
            before = plan.rounds[block.first - 1].assigned if block.first else plan.initial
            held = _Held(plan.group, role, apart_from_stateless(before))
        yield from held.after(block)


def _counted(group: Group, role: Role, history: Sequence[Sequence[Holding]]) -> Iterator[tuple[int, ...]]:
    return (stateful_loads if role is Role.ACTIVE else warmup_counts)(group, history)


class _Held:
    """Which instances hold which tasks in a role, followed through rows."""

    def __init__(self, group: Group, role: Role, held: Sequence[Holding]) -> None:
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self._group, self._role = group, ROLES.index(role)
        [counts] = _counted(group, role, [held])
        self._counts = np.array(counts)
        #: by task and instance
        self._has = np.zeros(len(group.tasks) * len(group.instances), np.bool_)
        for consumer, of in enumerate(held):
            self._has[self._copies(np.array(of[self._role], np.int64), group.instance_of[consumer])] = True

    def after(self, block: Block) -> Iterator[tuple[int, ...]]:
        """Yield how many tasks every instance holds after each round of a block."""
        import numpy as np  # noqa: PLC0415 - as above

        copy, number, has = self._changes(block)
        size = len(self._counts)
        had, goes_on = self._has[copy], copy[1:] == copy[:-1]
        had[1:][goes_on] = has[:-1][goes_on]
        last = np.append(~goes_on, True)[: len(copy)]
        self._has[copy[last]] = has[last]
        more = has.astype(np.int64) - had
        place = number * size + copy % size
        changes = np.bincount(place, more, len(block.rounds) * size).astype(np.int64).reshape(-1, size)
        counts = self._counts + changes.cumsum(axis=0)
        self._counts = counts[-1]
        return map(tuple, counts.tolist())

    def _changes(self, block: Block) -> tuple[Numbers, Numbers, Mask]:
        """Return by copy, in time: what begins or ends to be held in the role, in which round, and whether it is then.

        Some of it was so before: what begins alone ends whatever the instance has of the task.
        """
        import numpy as np  # noqa: PLC0415 - as above

        assert block.group is not None
        (rows, number), instance_of = block.rows(), instances_in(self._group, block.group)
        (from_, to), alone = (rows["from_consumer"], rows["to_consumer"]), are(rows["kind"], *BEGINS_ALONE)
        in_effect = rows["kind"] != WITHHOLD
        ends = in_effect & ~alone & (from_ != NO_SEAT) & (rows["from_role"] == self._role)
        as_such = rows["to_role"] == self._role
        begins = in_effect & (to != NO_SEAT) & (alone | as_such)
        task = rows["task"].astype(np.int64)
        ended, begun = (
            self._copies(task[which], instance_of[seat[which]]) for which, seat in ((ends, from_), (begins, to))
        )
        copy, order = np.append(ended, begun), np.append(2 * ends.nonzero()[0], 2 * begins.nonzero()[0] + 1)
        has = np.append(np.zeros_like(ended, np.bool_), as_such[begins])
        in_time = np.lexsort((order, copy))
        return copy[in_time], number[order[in_time] // 2], has[in_time]

    def _copies(self, task: Numbers, instance: Numbers | int) -> Numbers:
        copies: Numbers = task * len(self._group.instances) + instance
        return copies
