"""How many tasks every instance runs before a plan, after each of its rounds and at its end, and what it restores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from itertools import pairwise
from typing import NamedTuple

from kstream_plan.model.connect_group import is_connector
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans.balance import Load, instance_loads
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.replay import BEGINS_ALONE
from kstream_plan.plans.rounds import Trigger
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

#: The code of the assumption that only numbers of moves are known: a snapshot by REST.
COUNTS_ONLY = "counts-only"


def loads(plan: Plan, *, initial: bool) -> list[Load]:
    """Return every instance's load before the plan or after it."""
    return instance_loads(plan.group, plan.initial if initial else plan.final)


def copies_of_stateful(plan: Plan) -> dict[int, int]:
    """Return how many standbys and warm-ups every stateful task has before the plan."""
    copies = dict.fromkeys(plan.group.stateful, 0)
    for roles in plan.initial:
        for task in roles.standby + roles.warmup:
            copies[task] += 1
    return copies


def worst_loss(plan: Plan, uncopied_tasks: Set[int]) -> tuple[str, int | None]:
    """Return the instance whose loss costs most, and the records to restore then; ``None``: unknown.

    ``uncopied_tasks`` are the tasks that have no other copy.
    """
    group, initial = plan.group, tuple(plan.initial)
    costs: list[tuple[int, int]] = []
    for index, consumers in enumerate(group.consumers_of):
        lost_tasks = {task for consumer in consumers for task in initial[consumer].active} & uncopied_tasks
        costs.append((-sum(group.tasks[task].end_offset_sum for task in lost_tasks), index))
    cost, index = min(costs)
    is_known = all(group.tasks[task].end_offset_known for task in uncopied_tasks)
    return group.instances[index].process_id, -cost if is_known else None


def at_first(plan: Plan) -> list[int]:
    """Return how much every instance runs before the first rebalance."""
    return [load.stateful if plan.group.stateful else load.stateless for load in loads(plan, initial=True)]


def at_the_end(plan: Plan) -> Iterator[tuple[str, int]]:
    """Yield how much every member that is left at the end of a plan runs then, after its process id."""
    members = {process_id for process_id, _ in plan.members}
    for instance, load in zip(plan.group.instances, loads(plan, initial=False), strict=True):
        if instance.process_id in members:
            yield instance.process_id, load.stateful if plan.group.stateful else load.stateless


def after_each_round(plan: Plan) -> Iterator[tuple[int, ...]]:
    """Yield how much every instance runs after each round of the plan."""
    if not plan.group.stateful:
        yield from (rnd.balance.active for rnd in plan.rounds)
        return
    active_tasks = _ActiveTasks(plan)
    for batch in in_batches([rnd.steps.rows for rnd in plan.rounds]):
        yield from active_tasks.counts_by_round(*batch)


def after_all(plan: Plan) -> tuple[int, ...]:
    """Return how much every instance runs after the last round of the plan."""
    if plan.group.stateful:
        return tuple([load.stateful for load in loads(plan, initial=False)])
    return plan.rounds[-1].balance.active


def busiest_first(plan: Plan) -> int:
    """Return how much the busiest instance runs before the first rebalance."""
    return max(at_first(plan), default=0)


def busiest_changes(plan: Plan) -> list[tuple[int, int]]:
    """Return how much the busiest instance runs from when on (milliseconds), change by change.

    What is being handed over has no owner for a moment: a change counts, from the rebalance that begins it, where the
    last of its follow-ups leaves another load. Of a Connect group a change counts when it is one: a worker that is back
    may get its work minutes later.
    """
    return [(max(loads_then, default=0), at_ms) for loads_then, at_ms in _changes(plan)]


def _changes(plan: Plan) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield what every instance runs, from when on, wherever the busiest one runs another load than before."""
    previous_load, folds = busiest_first(plan), not plan.is_of_workers
    times_ms = [rnd.at_ms for rnd in plan.rounds] if folds else plan.in_effect_ms
    for index, loads_then in enumerate(after_each_round(plan)):
        load = max(loads_then, default=0)
        follows = index + 1 < len(plan.rounds) and plan.rounds[index + 1].trigger is Trigger.FOLLOW_UP
        if load != previous_load and not (folds and follows):
            start = index
            while folds and start > 0 and plan.rounds[start].trigger is Trigger.FOLLOW_UP:
                start -= 1
            yield loads_then, times_ms[start]
            previous_load = load


class Busiest(NamedTuple):
    """How much the busiest instance runs: before the plan, at most and from when on (milliseconds), and at its end.

    ``process_ids`` are those that run the most then. A load that comes back later counts when it came first.
    """

    before: int
    most: int
    process_ids: tuple[str, ...]
    from_ms: int
    after: int


def busiest(plan: Plan, since_ms: int = 0) -> Busiest:
    """Return the instances that run the most from a time on, and how much; times count from then."""
    courses = [(tuple(at_first(plan)), 0), *_changes(plan)]
    courses = courses[max(sum(at_ms < since_ms for _, at_ms in courses) - 1, 0) :]
    loads_then, from_ms = max(courses, key=lambda course: max(course[0], default=0))
    most = max(loads_then, default=0)
    process_ids = tuple(
        instance.process_id for instance, load in zip(plan.group.instances, loads_then, strict=True) if load == most
    )
    tasks_before, tasks_after = (max(courses[place][0], default=0) for place in (0, -1))
    return Busiest(tasks_before, most, process_ids, max(from_ms - since_ms, 0), tasks_after)


def relief_ms(plan: Plan) -> int | None:
    """Return when the busiest instance runs less than at first, ``None`` if it never does."""
    first_load = busiest_first(plan)
    return next((at_ms for load, at_ms in busiest_changes(plan) if load < first_load), None)


def without_owner(plan: Plan) -> int:
    """Return how many tasks are unassigned when the plan ends: it ended while they were handed over."""
    absent = len(plan.rounds[-1].not_configured) if plan.rounds else 0
    return len(plan.group.tasks) - absent - len(set().union(*(roles.active for roles in plan.final)))


def lacks_end_offsets(plan: Plan) -> bool:
    """Return whether it is unknown how many records some stateful task has."""
    return not all(plan.group.tasks[task].end_offset_known for task in plan.group.stateful)


def tells_connectors(plan: Plan) -> bool:
    """Tell whether it is known which tasks each worker runs at the end: of a snapshot by REST only if none moves."""
    holdings = zip(plan.initial, plan.final, strict=True)
    unmoved = all(set(initial.active) == set(final.active) for initial, final in holdings)
    return unmoved or all(note.code != COUNTS_ONLY for note in plan.assumptions)


def tasks_of_connectors(plan: Plan) -> dict[tuple[str, str], int]:
    """Return how many tasks of a connector a worker runs at the end, by connector and process id; the most first."""
    group, counts = plan.group, Counter[tuple[str, str]]()
    for consumer, holding in enumerate(plan.final):
        process_id = group.instances[group.instance_of[consumer]].process_id
        items = [str(group.tasks[task].task_id) for task in holding.active]
        counts.update((name.rpartition("-")[0], process_id) for name in items if not is_connector(name))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


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
