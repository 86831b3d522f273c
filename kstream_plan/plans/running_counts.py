"""How many stateful tasks every instance runs after each round of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.replay import BEGINS_ALONE
from kstream_plan.plans.step_rows import (
    ACTIVE,
    MEMBER_LEFT,
    NO_SEAT,
    WITHHOLD,
    Mask,
    Numbers,
    Rows,
    are,
    in_batches,
)


def running(plan: Plan) -> Iterator[tuple[int, ...]]:
    """Yield after each round how many stateful tasks every instance runs."""
    active_tasks = _ActiveTasks(plan)
    for batch in in_batches([rnd.steps.rows for rnd in plan.rounds]):
        yield from active_tasks.counts_by_round(*batch)


class _ActiveTasks:
    """Tracks through rows which instances run which stateful tasks."""

    def __init__(self, plan: Plan) -> None:
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        tasks, self._instances = len(plan.group.tasks), len(plan.group.instances)
        self._stateful = np.array([*plan.group.stateful_flags, False])
        self._instance_of = np.array([*plan.group.instance_of, NO_SEAT])
        self._has = np.zeros((tasks, self._instances), np.bool_)
        for instance, consumers in enumerate(plan.group.consumers_of):
            for holding in apart_from_stateless(plan.initial)[consumers.start : consumers.stop]:
                self._has[[*holding.active], instance] = True
        self._has &= self._stateful[:-1, None]

    def counts_by_round(self, rows: Rows, number: Numbers, rounds: int) -> Iterator[tuple[int, ...]]:
        """Yield how many tasks every instance has after each of these rounds; ``number`` has the round of each row."""
        import numpy as np  # noqa: PLC0415 - as above

        counts, changes = self._has.sum(axis=0), np.zeros((rounds, self._instances), np.int64)
        leave_rows = (rows["kind"] == MEMBER_LEFT).nonzero()[0].tolist()
        for start, end in pairwise([-1, *leave_rows, len(rows)]):
            if start >= 0:
                instance = self._instance_of[rows["from_consumer"][start]]
                changes[number[start], instance] -= self._has[:, instance].sum()
                self._has[:, instance] = False
            self._add(rows[start + 1 : end], number[start + 1 : end], changes)
        return map(tuple, (counts + changes.cumsum(axis=0)).tolist())

    def _add(self, rows: Rows, number: Numbers, changes: Numbers) -> None:
        """Follow rows between which no instance leaves, and count them among the changes by round and instance."""
        import numpy as np  # noqa: PLC0415 - as above

        place, number, has = self._changes(rows, number)
        all_places = self._has.reshape(-1)
        had_before, goes_on = all_places[place], place[1:] == place[:-1]
        had_before[1:][goes_on] = has[:-1][goes_on]
        last = np.append(~goes_on, True)[: len(place)]
        all_places[place[last]] = has[last]
        np.add.at(changes, (number, place % self._instances), has.astype(np.int64) - had_before)

    def _changes(self, rows: Rows, number: Numbers) -> tuple[Numbers, Numbers, Mask]:
        """Return changes of active tasks, in time: place (by task and instance), round, and whether it runs then.

        Some change nothing: a row of ``BEGINS_ALONE`` ends whatever the instance has of the task.
        """
        import numpy as np  # noqa: PLC0415 - as above

        (from_consumer, to_consumer), begins_alone = (
            (rows["from_consumer"], rows["to_consumer"]),
            are(rows["kind"], *BEGINS_ALONE),
        )
        in_effect = ~are(rows["kind"], WITHHOLD, MEMBER_LEFT) & self._stateful[rows["task"]]
        ends = in_effect & ~begins_alone & (from_consumer != NO_SEAT) & (rows["from_role"] == ACTIVE)
        as_such = rows["to_role"] == ACTIVE
        begins = in_effect & (to_consumer != NO_SEAT) & (begins_alone | as_such)
        task = rows["task"].astype(np.int64)
        ended_places, begun_places = (
            task[mask] * self._instances + self._instance_of[seat[mask]]
            for mask, seat in ((ends, from_consumer), (begins, to_consumer))
        )
        place, order = (
            np.append(ended_places, begun_places),
            np.append(2 * ends.nonzero()[0], 2 * begins.nonzero()[0] + 1),
        )
        has = np.append(np.zeros_like(ended_places, np.bool_), as_such[begins])
        in_time = np.lexsort((order, place))
        return place[in_time], number[order[in_time] // 2], has[in_time]
