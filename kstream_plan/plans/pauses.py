"""Pauses of tasks, from what stops each to what starts it again, and their sums over a plan."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple

from kstream_plan.model import Group, Holding, WorkId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.rounds import Round
from kstream_plan.plans.task_pause_rows import PausesTogether
from kstream_plan.plans.task_pauses import Outage, Pause, PausedRounds

#: The code of the warning of who restores what a crash took without the group noticing: no pause counts that.
RESTORES_UNNOTICED = "restores-unnoticed"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Pauses:
    """Every pause that ends within a plan, in the order of their ends; equal to any other that has the same ones.

    By task, ``ms`` is the sum of its pauses and ``times`` their number; ``spans`` has the number of pauses by (from
    ms, to ms). The shortest and the longest one are 0 if there is none. ``most_at_once`` is how many tasks
    are paused at the same time at most, also if that is at the plan's first moment alone. The pauses themselves are
    made when they are read: where consumers give up everything, every task has one in every round.
    """

    rounds: PausedRounds
    ms: Mapping[WorkId, int]
    times: Mapping[WorkId, int]
    spans: Mapping[tuple[int, int], int]
    shortest_ms: int
    longest_ms: int
    most_at_once: int

    def __iter__(self) -> Iterator[Pause]:
        stateless = self.rounds.stateless()
        return merge(self.rounds.single(), self._of_stateless(stateless), key=attrgetter("to_ms"))

    def __len__(self) -> int:
        return sum(self.spans.values())

    def __eq__(self, value: object) -> bool:
        return Counter(self) == Counter(value) if isinstance(value, Pauses) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self), self.shortest_ms, self.longest_ms, self.most_at_once))

    def __repr__(self) -> str:
        return f"Pauses({list(self)})"

    def tasks_between(self, starts_ms: Sequence[int]) -> list[int]:
        """Return how many tasks resume from each of these times until the next one; the first includes what was before.

        There has to be at least one time.
        """

        def place(pauses: PausesTogether) -> int:
            return max(0, bisect_right(starts_ms, pauses.to_ms) - 1)

        numbers_of_tasks = [0] * len(starts_ms)
        in_order = sorted(self.rounds.pauses_from_steps(), key=attrgetter("to_ms"))  # outages end when they do
        for grouped_pauses in (in_order, self.rounds.stateless()):
            for index, of_place in groupby(grouped_pauses, place):
                numbers_of_tasks[index] += len({task for pauses in of_place for task in pauses.places.tolist()})
        return numbers_of_tasks

    def most_together(self) -> tuple[WorkId, ...]:
        """Return the tasks that are paused when most are for the first time, in their order."""
        index = self.rounds.group.task_index
        spans = ((index[task], from_ms, to_ms) for task, from_ms, to_ms in self if from_ms < to_ms)
        edges = sorted(edge for task, from_ms, to_ms in spans for edge in ((from_ms, 1, task), (to_ms, 0, task)))
        paused_tasks, most = set[int](), sorted(self.rounds.idle())
        for _, stops, task in edges:
            (paused_tasks.add if stops else paused_tasks.discard)(task)
            most = sorted(paused_tasks) if len(paused_tasks) > len(most) else most
        return tuple(self.rounds.group.tasks[task].task_id for task in most)

    def unrun_from(self, starts_ms: Sequence[int]) -> list[frozenset[WorkId]]:
        """Return the unassigned work of a Connect group from each of these times, of rounds, until the next one.

        What stops for a round, and runs again right at it, counts to that round's time. There has to be at least one.
        """
        unheard_ms = self.rounds.config.heartbeat_interval_ms
        task_ids_by_place: list[set[WorkId]] = [set() for _ in starts_ms]
        for pause in self.rounds.single():
            first, last = (
                max(0, bisect_right(starts_ms, at_ms) - 1)
                for at_ms in (min(pause.from_ms + unheard_ms, pause.to_ms), pause.to_ms)
            )
            for place in range(first, last + (first == last or starts_ms[last] < pause.to_ms)):
                task_ids_by_place[place].add(pause.task_id)
        return list(map(frozenset, task_ids_by_place))

    def _of_stateless(self, grouped_pauses: Iterable[PausesTogether]) -> Iterator[Pause]:
        group = self.rounds.group
        for places, from_ms, to_ms in grouped_pauses:
            for place, since_ms in zip(places.tolist(), from_ms.tolist(), strict=True):
                yield Pause(group.tasks[group.stateless[place]].task_id, since_ms, to_ms)


def pauses_of(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
    outages: Sequence[Outage] = (),
    *,
    heard_at_once: bool = False,
    from_start: bool = False,
) -> Pauses:
    """Find every pause that ends within the rounds.

    A task that is withheld is paused from the round in which it is revoked until it starts; one whose instance has
    gone, from then on. The consumers in ``stopping`` stop all they run when they hear of a rebalance, by heartbeat,
    whether they get it back or not. Tasks of an instance are paused from the beginning of its outage to its end. A
    round of a Connect group is timed by when all workers have heard of its cause, by heartbeat: a worker that has gone
    had stopped that much before.

    Args:
        group: the group.
        initial: what every consumer holds before the first round.
        rounds: the rounds.
        stopping: consumers that give up everything before they join a rebalance.
        config: its ``heartbeat_interval_ms`` is the typical time that such a consumer waits.
        outages: those that the group does not notice; no round ends during one.
        heard_at_once: leave out the time until all workers have heard that one has gone.
        from_start: count tasks that are unassigned before the first round as paused since 0, the plan's beginning.
    """
    paused_rounds = PausedRounds(
        group, initial, tuple(rounds), frozenset(stopping), config, tuple(outages), heard_at_once, from_start
    )
    sums_of_steps = _Together(group, range(len(group.tasks)), paused_rounds)
    sums_of_steps.add(paused_rounds.pauses_from_steps())
    ms, times, spans = sums_of_steps.added_up()
    if paused_rounds.apart:
        stateless_sums = _Together(group, group.stateless, paused_rounds)
        stateless_sums.add(paused_rounds.stateless())
        stateless_totals = stateless_sums.added_up()
        ms.update(stateless_totals.ms)
        times.update(stateless_totals.times)
        spans.update(stateless_totals.spans)
    lengths = [to_ms - from_ms for from_ms, to_ms in spans]
    return Pauses(
        rounds=paused_rounds,
        ms=ms,
        times=times,
        spans=spans,
        shortest_ms=min(lengths, default=0),
        longest_ms=max(lengths, default=0),
        most_at_once=max(_most_at_once(spans), len(paused_rounds.idle())),
    )


class _AddedUp(NamedTuple):
    """Pauses in milliseconds of the plan's clock: sum and number per task, and how many there are from when to when."""

    ms: Counter[WorkId]
    times: Counter[WorkId]
    spans: Counter[tuple[int, int]]


class _Together:
    """Adds up pauses that are numbers; a draft of one plan."""

    def __init__(self, group: Group, tasks: Sequence[int], paused_rounds: PausedRounds) -> None:
        """``tasks`` are those of the group that the pauses have by place."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self._group, self._tasks = group, tasks
        self._ms, self._times = np.zeros(len(tasks), dtype=paused_rounds.times), np.zeros(len(tasks), dtype=np.int64)
        self._spans: Counter[tuple[int, int]] = Counter()

    def add(self, grouped_pauses: Iterable[PausesTogether]) -> None:
        """Add these pauses to the sums."""
        for places, from_ms, to_ms in grouped_pauses:
            self._ms[places] += to_ms - from_ms
            self._times[places] += 1
            first_ms = int(from_ms[0])
            if (from_ms == first_ms).all():  # mostly all of them
                self._spans[first_ms, to_ms] += len(from_ms)
            else:
                self._spans.update(
                    {(since_ms, to_ms): number for since_ms, number in Counter(from_ms.tolist()).items()}
                )

    def added_up(self) -> _AddedUp:
        """Return the sums."""
        paused_places = self._times.nonzero()[0]
        task_ids = [self._group.tasks[self._tasks[place]].task_id for place in paused_places.tolist()]
        return _AddedUp(
            Counter(dict(zip(task_ids, self._ms[paused_places].tolist(), strict=True))),
            Counter(dict(zip(task_ids, self._times[paused_places].tolist(), strict=True))),
            self._spans,
        )


def _most_at_once(spans: Mapping[tuple[int, int], int]) -> int:
    """Return the maximum of pauses at once, given the number of pauses by (from ms, to ms)."""
    changes: Counter[tuple[int, bool]] = Counter()
    for (from_ms, to_ms), times in spans.items():
        changes[to_ms, False] -= times
        changes[from_ms, True] += times
    return max(accumulate((changes[moment] for moment in sorted(changes)), initial=0))
