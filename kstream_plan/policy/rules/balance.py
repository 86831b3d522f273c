"""The rules about how even a plan leaves the tasks: KIP-441's ``balance_factor``, and connectors on one worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kstream_plan.plans.loads import COUNTS_ONLY, tasks_of_connectors, tells_connectors
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.measuring import UNKNOWN, MeasuredPlan, Measurement, Offence, number


def balance(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure KIP-441's instance and subtopology balance of the active tasks at the end.

    *Instance balance* is how far the instances' tasks are apart, most minus least; *subtopology balance* the same for
    the tasks of one subtopology, of the most uneven one. The limit is for both. The KIP puts the second into words as
    the instances that execute each subtopology, most minus least: that stands beside them (``figures``), but it has no
    limit, for a subtopology of two partitions runs on two instances at most, wherever the others run.

    With unequal capacities most minus least says nothing; then it is 0 if everyone runs its share by capacity to the
    task, 1 within the share rounded down and up, and as many more as an instance is beyond that.

    To blame are the instances with the most and with the least tasks, or the one farthest off its share.
    """
    members = subject.plan.members
    capacities = [threads for _, threads in members]
    loads, by_subtopology = _loads(subject)
    all_tasks = _Spread("", loads, capacities)
    spreads = [_Spread(subtopology, counts, capacities) for subtopology, counts in by_subtopology.items()]
    executing = [len(counts) - counts.count(0) for counts in by_subtopology.values()]
    figures = (
        ("instance_balance", all_tasks.width),
        ("subtopology_balance", max((spread.width for spread in spreads), default=0)),
        ("instances_per_subtopology", max(executing) - min(executing) if executing else 0),
    )
    too_wide = sorted(
        (spread for spread in (all_tasks, *spreads) if spread.width > number(limit)), key=lambda spread: -spread.width
    )
    offences = tuple(
        Offence(spread.width, process_id=members[place][0], note=note)
        for spread in too_wide
        for place, note in spread.to_blame()
    )
    return Measurement(max(width for _, width in figures[:2]), offences, figures)


def connector_tasks(subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Measure the most tasks of one connector that one worker runs at the end.

    Kafka Connect evens out the tasks of all connectors together, so that a worker may get all tasks of one
    (KAFKA-17049). To blame are the workers with more tasks of a connector than the limit. By REST, what is
    broken now is broken, and what is kept is unknown unless no worker can get more.
    """
    counts, totals = tasks_of_connectors(subject.plan), Counter[str]()
    for (connector, _), tasks in counts.items():
        totals[connector] += tasks
    offences = tuple(
        Offence(
            tasks, process_id=worker, note=f"runs {tasks:,} of {totals[connector]:,} tasks of connector {connector}"
        )
        for (connector, worker), tasks in counts.items()
        if tasks > number(limit)
    )
    by_rest = any(note.code == COUNTS_ONLY for note in subject.plan.assumptions)
    is_known = tells_connectors(subject.plan) and (offences or not by_rest)
    if not is_known and max(totals.values(), default=0) > number(limit):
        reason = "REST tells neither whether work waits nor which tasks move"
        return UNKNOWN._replace(offences=(Offence(None, note=reason),))
    return Measurement(max(counts.values(), default=0), offences)


def _loads(subject: MeasuredPlan) -> tuple[list[int], dict[str, list[int]]]:
    """Return how many active tasks each member has at the end: of all, and of each subtopology (in task order)."""
    group = subject.plan.group
    place = {group.instance_index[process_id]: place for place, (process_id, _) in enumerate(subject.plan.members)}
    loads = [0] * len(place)
    by_subtopology: dict[str, list[int]] = {}
    runs = (
        (task, place[group.instance_of[consumer]])
        for consumer, holding in enumerate(subject.plan.final)
        for task in holding.active
    )
    for task, member_place in sorted(runs):
        loads[member_place] += 1
        by_subtopology.setdefault(group.subtopologies[task], [0] * len(place))[member_place] += 1
    return loads, by_subtopology


class _Spread:
    """How uneven the tasks of one subtopology (empty: all tasks) are, by place of a present instance."""

    def __init__(self, subtopology: str, counts: Sequence[int], capacities: Sequence[int]) -> None:
        self._suffix = f" of subtopology {subtopology}" if subtopology else ""
        self._counts, self._capacities = counts, capacities
        self._equal = len(set(capacities)) <= 1
        distances = [0] if self._equal else [self._distance(place) for place in range(len(counts))]
        self.width = max(counts, default=0) - min(counts, default=0) if self._equal else max(distances)
        self._farthest = distances.index(max(distances))

    def to_blame(self) -> Iterator[tuple[int, str]]:
        """Yield the places of the instances to blame, and what they run."""
        if self._equal:
            for most, rank in ((max(self._counts), "the most"), (min(self._counts), "the least")):
                yield self._counts.index(most), f"runs {self._tasks(most)}, {rank}"
        else:
            least, most = self._share(self._farthest)
            yield self._farthest, f"runs {self._tasks(self._counts[self._farthest])}, its share is {least} to {most}"

    def _distance(self, place: int) -> int:
        load, (least, most) = self._counts[place], self._share(place)
        return 0 if least == load == most else 1 + max(0, least - load, load - most)

    def _share(self, place: int) -> tuple[int, int]:
        tasks, whole = sum(self._counts) * self._capacities[place], sum(self._capacities)
        return tasks // whole, -(-tasks // whole)

    def _tasks(self, number: int) -> str:
        return f"{number:,} {'task' if number == 1 else 'tasks'}{self._suffix}"
