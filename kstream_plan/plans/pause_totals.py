"""How long tasks stand still, added up over a plan."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.model import Group, Holding, Holdings, Owners, WorkId, no_owners
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import MemberLeft, Outage, Places, Plan, Revoke, Round, RoundSteps, stateful_steps
from kstream_plan.plans.pauses import Pause, pauses
from kstream_plan.protocols import gives_up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Standstill(NamedTuple):
    """Pauses in milliseconds of the plan's clock: their sum and number per task, the shortest and the longest one.

    ``most_at_once`` is how many tasks stand still at the same time, at worst.
    """

    ms: Counter[WorkId]
    times: Counter[WorkId]
    shortest_ms: int
    longest_ms: int
    most_at_once: int


def plan_standstill(plan: Plan) -> Standstill:
    """Add up every pause that ends within a plan."""
    stopping = gives_up(plan.group, plan.protocol)
    return standstill(plan.group, plan.initial, plan.rounds, stopping, plan.config, plan.outages)


def standstill(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
    outages: Sequence[Outage] = (),
) -> Standstill:
    """Add up every pause that ends within the rounds; arguments as of :func:`~kstream_plan.plans.pauses.pauses`."""
    found, stateless = pauses_apart(group, initial, rounds, stopping, config, outages)
    parts = [_added_up(found)]
    if isinstance(initial, Holdings):
        parts.append(_stateless_added_up(group, stateless))
    return _together(*parts)


class StatelessPauses(NamedTuple):
    """The pauses of stateless tasks that end in one round: which ones, by place among them, and since when each."""

    places: Places
    from_ms: npt.NDArray[np.int64]
    to_ms: int


def pauses_apart(
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    stopping: Collection[int],
    config: AssignmentConfig,
    outages: Sequence[Outage] = (),
) -> tuple[Iterator[Pause], Iterator[StatelessPauses]]:
    """Return all pauses (:func:`~kstream_plan.plans.pauses.pauses`), those of stateless tasks as numbers if possible.

    It can unless they hang on more than what the rounds withhold. Both are in the order of their ends.
    """
    if stopping or outages or not isinstance(initial, Holdings):
        return pauses(group, initial, rounds, stopping, config, outages), iter(())
    stateful = pauses(group, initial, list(map(_apart_from_stateless, rounds)), stopping, config)
    return stateful, _stateless(group, initial, rounds)


def total(found: Iterable[Pause]) -> Standstill:
    """Add up these pauses."""
    return _together(_added_up(found))


def _apart_from_stateless(rnd: Round) -> Round:
    return replace(rnd, steps=stateful_steps(rnd.steps)) if isinstance(rnd.steps, RoundSteps) else rnd


#: Instead of the time since when a task stands still.
_RUNNING = -(2**63)


class _AddedUp(NamedTuple):
    """Pauses in milliseconds of the plan's clock: sum and number per task, and how many there are from when to when."""

    ms: Counter[WorkId]
    times: Counter[WorkId]
    spans: Counter[tuple[int, int]]


def _added_up(found: Iterable[Pause]) -> _AddedUp:
    spans: Counter[tuple[int, int]] = Counter()
    by_length_ms: defaultdict[int, Counter[WorkId]] = defaultdict(Counter)
    for (from_ms, to_ms), together in groupby(found, key=itemgetter(1, 2)):  # in a round mostly all of them
        task_ids = list(map(itemgetter(0), together))
        spans[from_ms, to_ms] += len(task_ids)
        by_length_ms[to_ms - from_ms].update(task_ids)
    ms: Counter[WorkId] = Counter()
    times: Counter[WorkId] = Counter()
    for length_ms, of in by_length_ms.items():
        times.update(of)
        ms.update({task_id: length_ms * count for task_id, count in of.items()})
    return _AddedUp(ms, times, spans)


def _stateless(group: Group, initial: Holdings, rounds: Sequence[Round]) -> Iterator[StatelessPauses]:
    """Yield the pauses of the stateless tasks, where no consumer gives up everything before it joins.

    Each stands still from the round in which it is revoked, or from when its instance has gone, until it starts.
    """
    owners, since = initial.owners, initial.owners.astype("int64")
    since.fill(_RUNNING)
    for rnd in rounds:
        if isinstance(rnd.steps, RoundSteps):
            for places, stopped_ms in _stopped(group, owners, rnd.steps, rnd.at_ms):
                since[places] = stopped_ms
            started = rnd.steps.started
            started = started[since[started] != _RUNNING]
            if len(started):
                yield StatelessPauses(started, since[started], rnd.at_ms)
                since[started] = _RUNNING
        if isinstance(rnd.assigned, Holdings):
            owners = rnd.assigned.owners


def _stateless_added_up(group: Group, found: Iterable[StatelessPauses]) -> _AddedUp:
    ms = no_owners(group).astype("int64")
    ms.fill(0)
    times, spans = ms.copy(), Counter[tuple[int, int]]()
    for places, from_ms, to_ms in found:
        ms[places] += to_ms - from_ms
        times[places] += 1
        spans.update({(when, to_ms): number for when, number in Counter(from_ms.tolist()).items()})
    task_ids = [group.tasks[task].task_id for task in group.stateless]
    paused = times.nonzero()[0].tolist()
    return _AddedUp(
        Counter({task_ids[place]: int(ms[place]) for place in paused}),
        Counter({task_ids[place]: int(times[place]) for place in paused}),
        spans,
    )


def _stopped(group: Group, owners: Owners, steps: RoundSteps, at_ms: int) -> Iterator[tuple[Places | list[int], int]]:
    """Yield which stateless tasks stop, by place, and when: with their instance, with their thread, or revoked.

    ``owners`` are those before the round.
    """
    gone: set[str] = set()
    for step in steps.members:
        if isinstance(step, MemberLeft) and step.process_id not in gone:
            gone.add(step.process_id)
            consumers = group.consumers_of[group.instance_index[step.process_id]]
            yield ((owners >= consumers.start) & (owners < consumers.stop)).nonzero()[0], step.stopped_at_ms
        elif isinstance(step, Revoke):
            place = bisect_left(group.stateless, task := group.task_index[step.task_id])
            if group.stateless[place : place + 1] == (task,):
                yield [place], at_ms
    yield steps.withheld, at_ms


def _together(*parts: _AddedUp) -> Standstill:
    ms: Counter[WorkId] = Counter()
    times: Counter[WorkId] = Counter()
    spans: Counter[tuple[int, int]] = Counter()
    for part in parts:
        ms.update(part.ms)
        times.update(part.times)
        spans.update(part.spans)
    lengths = [to_ms - from_ms for from_ms, to_ms in spans]
    return Standstill(ms, times, min(lengths, default=0), max(lengths, default=0), _most_at_once(spans))


def _most_at_once(spans: Mapping[tuple[int, int], int]) -> int:
    """Return the most that stand still at once, given how many do from when to when."""
    changes: Counter[tuple[int, bool]] = Counter()
    for (from_ms, to_ms), times in spans.items():
        changes[to_ms, False] -= times
        changes[from_ms, True] += times
    return max(accumulate((changes[moment] for moment in sorted(changes)), initial=0))
