"""What each instance would have to restore to run a task: the costs of the ``balanced`` target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import GroupState
from kstream_plan.model.ranking import rank
from kstream_plan.model.settings import AssignmentConfig


class Prospect(NamedTuple):
    """One stateful task's copies.

    ``ranks`` is by instance, of the copies that are assigned or ahead of no state at all, most caught-up first (the
    owner first among equals, then assigned copies, then by instance); ``whole`` is the rank of everybody else.
    ``hot`` are the first ``1 + num_standby_replicas`` of them: they run the task and its standbys now, whatever the
    target, so what they lack is restored in any case. ``copies`` tells for each whether it is that of the
    owner (``"active"``; also of who has given the task up for another instance to start it), another assigned copy
    (``"standby"``) or left over (``""``). ``running`` is the instance that runs the task at this moment, if one does.
    """

    task: int
    whole: int
    ranks: Mapping[int, int]
    hot: tuple[int, ...]
    complete: bool
    copies: Mapping[int, str]
    running: int | None = None

    @property
    def home(self) -> int | None:
        """The most caught-up instance: it runs the task until the target can. ``None``: nobody has any state."""
        return self.hot[0] if self.hot else None

    @property
    def cold(self) -> int:
        """What a copy costs where there is none: nothing while there are too few copies anyway."""
        return self.whole if self.complete else 0

    def rank(self, instance: int) -> int:
        """Return the instance's rank (KIP-441)."""
        return self.ranks.get(instance, self.whole)

    def active_cost(self, instance: int) -> tuple[int, int]:
        """Return what it costs to have the task run there in the end: (records to restore, moves)."""
        hot = self.hot
        if instance in hot:
            return (0, 0) if instance == hot[0] else (0, 1)
        return min(self.rank(instance), self.cold), int(bool(hot))

    def standby_cost(self, instance: int) -> tuple[int, int]:
        """Return the same for a standby; that counts as moved unless it is one now."""
        return 0 if instance in self.hot else self.rank(instance), int(self.copies.get(instance) != "standby")


def prospects(state: GroupState, config: AssignmentConfig, tasks: Iterable[int]) -> Iterator[Prospect]:
    """Yield the prospect of each of these stateful tasks."""
    limit, sums = config.acceptable_recovery_lag, state.group.end_offset_sums
    copies_wanted = 1 + min(config.num_standby_replicas, len(state.group.instances) - 1)
    for task in tasks:
        whole = rank(None, sums[task], limit)
        copies, running, revoking_instance = [], None, state.revoked.get(task)
        for copy in state.copies[task]:
            instance, restore = copy.instance, min(whole, rank(copy.lag, sums[task], limit))
            if copy.active:
                running = instance
            if copy.active or revoking_instance == instance:
                copies.append((restore, False, False, instance, "active"))
            elif copy.consumer is not None:
                copies.append((restore, True, False, instance, "standby"))
            elif restore < whole:
                copies.append((restore, True, True, instance, ""))
        copies.sort()
        yield Prospect(
            task=task,
            whole=whole,
            ranks={copy_rank[3]: copy_rank[0] for copy_rank in copies},
            hot=tuple([copy_rank[3] for copy_rank in copies[:copies_wanted]]),
            complete=len(copies) >= copies_wanted,
            copies={copy_rank[3]: copy_rank[4] for copy_rank in copies},
            running=running,
        )


def still_cheapest(previous: Prospect, current: Prospect, owner: int, standbys: Sequence[int]) -> bool:
    """Tell whether what the target pays for a task fell at least as much as what any other choice would.

    Costs of different tasks add up, so if this is true of every task, the target is as cheap as any other still.
    """
    any_other = -1  # stands for every instance without a copy
    instances = {*previous.ranks, *current.ranks, owner, *standbys, any_other}

    def change(cost: Callable[[Prospect, int], tuple[int, int]], instance: int) -> tuple[int, int]:
        cost_before, cost_now = cost(previous, instance), cost(current, instance)
        return cost_now[0] - cost_before[0], cost_now[1] - cost_before[1]

    active = {instance: change(Prospect.active_cost, instance) for instance in instances}
    if active[owner] > min(active.values()):
        return False
    standby = {instance: change(Prospect.standby_cost, instance) for instance in instances if instance != owner}
    dearest = max((standby.pop(instance) for instance in standbys), default=None)
    return dearest is None or dearest <= min(standby.values())
