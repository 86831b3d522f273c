"""Movements towards the target (KIP-441's warm-ups).

Source: page ``rules``, "Movements".

Where the target puts a task on an instance that is not caught up on it while another one is further, the task stays
with the latter for now, and the former may get a copy to warm up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kstream_plan.assignors.high_availability.holdings_draft import Places
from kstream_plan.assignors.java.collections import PriorityQueue
from kstream_plan.assignors.java.constrained_priority_set import PrioritySet
from kstream_plan.assignors.java.priority_queue import Handled
from kstream_plan.assignors.placement import owners_of, standby_instances
from kstream_plan.model import UNKNOWN, Copy, GroupState, Movement, Target
from kstream_plan.model.settings import AssignmentConfig

#: A task whose target instance is not caught up on it while another one is further: (task, that target instance,
#: all instances caught up on the task, in instance order). Plain tuples, for there are thousands.
Pending: TypeAlias = tuple[int, int, list[int]]
#: How an active task moves that runs meanwhile where the target has a standby of it.
SWAPS = ("swap_caught_up", "swap_most_caught_up")


@dataclass(slots=True)
class MovementsDraft:
    """Where the tasks are while movements are handled; private to one decision.

    ``owner`` and ``standbys`` are by task index; ``warmups`` holds the warm-ups placed so far, task → instances;
    ``counts`` and ``loads`` (tasks per stream thread) are by instance, all roles together, and kept up to date for
    movements of active tasks only; ``budget`` is what is left
    of ``max.warmup.replicas`` (it drops below 0); ``several_standbys`` tells whether a task can have more than one;
    ``done`` are the movements so far. ``in_heap_order``: movements are handled as they lie in the array of Kafka's
    queue, not as it gives them out.
    """

    state: GroupState
    limit: int
    owner: list[int]
    standbys: list[tuple[int, ...]]
    counts: list[int]
    loads: list[float]
    capacities: tuple[int, ...]
    budget: int
    several_standbys: bool
    in_heap_order: bool = False
    warmups: dict[int, tuple[int, ...]] = field(default_factory=dict)
    done: list[Movement] = field(default_factory=list)

    @classmethod
    def of(
        cls, state: GroupState, config: AssignmentConfig, target: Target, *, in_heap_order: bool = False
    ) -> MovementsDraft:
        """Start at the target."""
        capacities = state.group.capacities
        counts = [len(active) + len(standby) for active, standby in zip(*target, strict=True)]
        return cls(
            state=state,
            limit=config.acceptable_recovery_lag,
            owner=list(owners_of(state.group, target)),
            standbys=standby_instances(state.group, target),
            counts=counts,
            loads=[count / capacity for count, capacity in zip(counts, capacities, strict=True)],
            capacities=capacities,
            budget=config.max_warmup_replicas,
            several_standbys=config.num_standby_replicas > 1,
            in_heap_order=in_heap_order,
        )

    def shift(self, source: int, destination: int, *, warm_up: bool) -> None:
        """Let the source weigh one task more and, unless it keeps a copy to warm up, the destination one less."""
        self.counts[source] += 1
        self.loads[source] = self.counts[source] / self.capacities[source]
        if not warm_up:
            self.counts[destination] -= 1
            self.loads[destination] = self.counts[destination] / self.capacities[destination]

    def places(self) -> Iterator[tuple[int, Places]]:
        """Yield where each stateful task is, in task order."""
        for task in self.state.group.stateful:
            yield task, Places(self.owner[task], self.standbys[task], self.warmups.get(task, ()))


def move_active(draft: MovementsDraft) -> list[Pending]:
    """Rule 4: keep each active task with a caught-up instance, else the most caught-up one, until its target is ready.

    Returns:
        What was pending, a movement each, as they were handled: by (number of caught-up instances, task).
    """
    found = pending_active(draft.state, draft.owner, draft.limit, draft.state.group.stateful)
    queue = list(_queue(found)) if draft.in_heap_order else in_order(found)
    instances = PrioritySet(draft.state.group, draft.counts)
    standbys, loads, copies = draft.standbys, draft.loads, draft.state.copies
    for pending in queue:
        task, _, caught_up = pending
        held = standbys[task]
        stays = stays_with(pending, held, copies[task])
        if stays is None:
            hot = [i for i in caught_up if i in held]
            source = instances.choose(hot) if hot else min(caught_up, key=loads.__getitem__)
            stays = source, "swap_caught_up" if hot else "move_caught_up"
        (_swap if stays[1] in SWAPS else _hand_back)(draft, pending, *stays)
        # Only a choice between several caught-up standbys needs the queue's history: every other poll follows one
        # that found nobody, and so starts from a queue filled anew.
        if draft.several_standbys:
            hot = [i for i in caught_up if i in held]
            instances.handle(_handled_active(draft.done[-1], hot, caught_up))
    return queue


def move_standbys(draft: MovementsDraft) -> list[tuple[Pending, list[int], Movement | None]]:
    """Rule 5: the same for standbys, warm-ups excepted; the source must have no copy of the task.

    Returns:
        What was pending, who was caught up and had no copy, and the movement, if there is any: as they were handled, by
        (number of caught-up instances, task), equal ones as ``java.util.PriorityQueue`` has it.
    """
    instances = PrioritySet(draft.state.group, draft.counts)
    owner, standbys, warmups, done = draft.owner, draft.standbys, draft.warmups, draft.done
    queue = _pending_standbys(draft)
    # The queue's history is needed only if there is ever a choice; usually all but one who are caught up hold a copy.
    choices = any(len(caught_up) - (owner[task] in caught_up) > 1 for task, _, caught_up in queue)
    handled: list[tuple[Pending, list[int], Movement | None]] = []
    for pending in queue:
        task, destination, caught_up = pending
        held, warming = standbys[task], warmups.get(task, ())
        holders = (owner[task], *held, *warming)
        free = [i for i in caught_up if i not in holders]
        source = instances.choose(free) if len(free) > 1 else standby_source(draft.state, pending, free, holders)
        movement = None
        if source is not None:
            warm_up = draft.budget > 0
            draft.budget -= 1
            standbys[task] = (*[i for i in held if i != destination], source)
            if warm_up:
                warmups[task] = (*warming, destination)
            movement = Movement(task, "standby", how_standby(free), source, destination, warm_up)
            done.append(movement)
        handled.append((pending, free, movement))
        if choices:
            instances.handle(handled_standby(free, source, destination, warm_up=bool(movement and movement.warmup)))
    return handled


def pending_active(state: GroupState, owner: Sequence[int], limit: int, tasks: Sequence[int]) -> list[Pending]:
    """Return those of these stateful tasks that cannot start on their target ``owner`` yet, in the same order."""
    found, sums = [], state.group.end_offset_sums
    for task, copies in zip(tasks, state.copies_of(tasks), strict=True):
        caught_up = caught_up_elsewhere(copies, owner[task], sums[task], limit)
        if caught_up is not None:
            found.append((task, owner[task], caught_up))
    return found


def _pending_standbys(draft: MovementsDraft) -> list[Pending]:
    """Return the standbys that are not caught up where the target has them, in Kafka's order of handling."""
    state, standbys, limit = draft.state, draft.standbys, draft.limit
    found: list[Pending] = []
    one_each, tasks, sums = True, state.group.stateful, state.group.end_offset_sums
    for task, copies in zip(tasks, state.copies_of(tasks), strict=True):
        number = len(found)
        for destination in standbys[task]:
            caught_up = caught_up_elsewhere(copies, destination, sums[task], limit)
            if caught_up is not None:
                found.append((task, destination, caught_up))
        one_each = one_each and len(found) - number <= 1
    if draft.in_heap_order:
        return list(_queue(found))
    if one_each:
        return in_order(found)
    queue = _queue(found)
    return [queue.poll() for _ in found]


def _queue(pending: list[Pending]) -> PriorityQueue[Pending]:
    """Return Kafka's queue of what is pending, which is put in instance by instance."""
    queue = PriorityQueue[Pending]((), key=lambda one: (len(one[2]), one[0]))
    for one in sorted(pending, key=lambda one: (one[1], one[0])):
        queue.offer(one)
    return queue


def caught_up_elsewhere(copies: Sequence[Copy], instance: int, end_offset_sum: int, limit: int) -> list[int] | None:
    """Return who is caught up on a task, in instance order, if this instance is not and somebody else is further.

    Args:
        copies: the task's copies, by instance.
        instance: where it is to go.
        end_offset_sum: the task's, in records.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
    """
    lag = None
    for copy in copies:
        if copy[0] == instance:
            lag = copy[1]
            break
    if lag is not None and lag <= limit and lag != UNKNOWN:
        return None
    return further_elsewhere(copies, lag, end_offset_sum, limit)


def stays_with(pending: Pending, standbys: Sequence[int], copies: Sequence[Copy]) -> tuple[int, str] | None:
    """Return who runs an active task meanwhile, and how it moves; ``None`` if that hangs on the loads.

    ``standbys`` are its target's.
    """
    caught_up = pending[2]
    hot = [i for i in caught_up if i in standbys]
    if hot:
        return (hot[0], "swap_caught_up") if len(hot) == 1 else None
    if caught_up:
        return (caught_up[0], "move_caught_up") if len(caught_up) == 1 else None
    source = first_by_lag(copies)
    return source, "swap_most_caught_up" if source in standbys else "move_most_caught_up"


def standby_source(state: GroupState, pending: Pending, free: Sequence[int], holders: Collection[int]) -> int | None:
    """Return who keeps a standby meanwhile, if at most one who is caught up is ``free``, which means no holder."""
    return free[0] if free else _first_free_by_lag(state, pending[0], pending[1], holders)


def how_standby(free: Sequence[int]) -> str:
    """Return how a standby moves if these are caught up and have no copy."""
    return "move_caught_up" if free else "move_most_caught_up"


def handled_standby(free: Sequence[int], source: int | None, destination: int, *, warm_up: bool) -> Handled:
    """Describe to the priority set what was done with a standby that was pending."""
    if source is None:
        return (free,), None, destination, 0, 0
    return (free,), source, destination, 1, 0 if warm_up else 1


def further_elsewhere(copies: Iterable[Copy], lag: int | None, end_offset_sum: int, limit: int) -> list[int] | None:
    """Return who is caught up on a task, if somebody is further than an instance that is not caught up, else ``None``.

    Args:
        copies: the task's copies, by instance.
        lag: what the instance reported (``None``: nothing, so it lags by the whole sum).
        end_offset_sum: the task's, in records.
        limit: ``acceptable.recovery.lag``, below 2^63-1.
    """
    if lag is None:
        if end_offset_sum <= limit:
            return None  # everybody without any state is caught up as well
        lag = end_offset_sum
    elif lag == UNKNOWN:
        return None  # nothing sorts before it
    caught_up = []
    for copy in copies:
        other = copy[1]
        if other is not None and other <= limit and other != UNKNOWN:
            caught_up.append(copy[0])
    if caught_up or any(copy.lag is not None and copy.lag < lag for copy in copies):
        return caught_up
    return None


def in_order(pending: list[Pending]) -> list[Pending]:
    """Sort by (number of caught-up instances, task); they come in task order."""
    return sorted(pending, key=lambda one: len(one[2]))


def _swap(draft: MovementsDraft, pending: Pending, source: int, how: str) -> None:
    """The source's standby becomes the active, the destination keeps a standby; nobody weighs more or less."""
    task, destination, _ = pending
    draft.owner[task] = source
    draft.standbys[task] = tuple(destination if i == source else i for i in draft.standbys[task])
    draft.done.append(Movement(task, "active", how, source, destination, False))


def _hand_back(draft: MovementsDraft, pending: Pending, source: int, how: str) -> None:
    """The source takes the active task; the destination loses it and warms up a copy if the budget allows."""
    task, destination, _ = pending
    warm_up = draft.budget > 0
    draft.budget -= 1
    draft.owner[task] = source
    if warm_up:
        draft.warmups[task] = (destination,)
    draft.shift(source, destination, warm_up=warm_up)
    draft.done.append(Movement(task, "active", how, source, destination, warm_up))


def first_by_lag(copies: Sequence[Copy]) -> int:
    """Return the first instance of Kafka's list by lag; somebody reported less than the whole sum."""
    return min((copy.lag, copy.instance) for copy in copies if copy.lag is not None)[1]


def _first_free_by_lag(state: GroupState, task: int, destination: int, holders: Collection[int]) -> int | None:
    """Return the first instance before the destination in Kafka's list by lag that has no copy of the task."""
    whole = state.group.tasks[task].end_offset_sum
    reported = {copy.instance: copy.lag for copy in state.copies[task] if copy.lag is not None}
    before = (reported.get(destination, whole), destination)
    ahead = [(lag, i) for i, lag in reported.items() if (lag, i) < before and i not in holders]
    if before[0] == whole:
        cold = (i for i in range(destination) if i not in reported and i not in holders)
        ahead += [(whole, i) for i in cold][:1]
    return min(ahead)[1] if ahead else None


def _handled_active(movement: Movement, hot: list[int], caught_up: list[int]) -> Handled:
    """Describe to the priority set what an active movement did."""
    moved = movement.how.startswith("move")
    polls = (hot,) if hot else ((), caught_up)
    loss = 1 if moved and not movement.warmup else 0
    return polls, movement.source, movement.destination, int(moved), loss
