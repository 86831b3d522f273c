"""What the newest target of a streams group gives everybody, by the indices of the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kstream_plan.designs.streams.coordinator import GroupCoordinator
from kstream_plan.designs.streams.memory import consumer_of
from kstream_plan.designs.streams.pending import as_holding
from kstream_plan.designs.streams.sticky import MemberTarget
from kstream_plan.model import Group, Holding, Holdings, Target
from kstream_plan.model.holding import NOBODY


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetHoldings:
    """A target, by the indices of a group, whose members it was computed for.

    group: the group.
    targets: the target as the broker has it, by member id.
    holdings: what each consumer is to hold.
    """

    group: Group
    targets: Mapping[str, MemberTarget]
    holdings: Sequence[Holding]

    @cached_property
    def owners(self) -> Mapping[int, int]:
        """Who is to run each task, by consumer."""
        return {task: consumer for consumer, holding in enumerate(self.holdings) for task in holding.active}

    @cached_property
    def target(self) -> Target:
        """What each instance is to hold of the stateful tasks."""
        group = self.group
        of_instances = [
            Holding(*(tuple(sorted(sum(r, ()))) for r in zip(*(self.holdings[c] for c in consumers), strict=True)))
            for consumers in group.consumers_of
        ]
        return Target(
            tuple(tuple(task for task in holding.active if group.stateful_flags[task]) for holding in of_instances),
            tuple(holding.standby for holding in of_instances),
        )

    def decided_holdings(self, current_holdings: Holdings) -> Holdings:
        """Return what each consumer is to run, with the current standbys that stay beside it."""
        by_consumer = zip(self._active.stateful, current_holdings.stateful, self._active_of, strict=True)
        stateful = tuple(
            [Holding(target.active, _difference(current.standby, active)) for target, current, active in by_consumer]
        )
        return replace(self._active, stateful=stateful)

    def queued_count(self, current_holdings: Holdings) -> int:
        """Return the number of tasks that do not run yet on their target."""
        owners = self._active.owners
        stateful = zip(self._active.stateful, current_holdings.stateful, strict=True)
        moving = sum(
            len({*target.active}.difference(current.active))
            for target, current in stateful
            if target.active != current.active
        )
        return moving + int(((owners != current_holdings.owners) & (owners != NOBODY)).sum())

    @cached_property
    def _active(self) -> Holdings:
        return Holdings.of(self.group, [Holding(holding.active) for holding in self.holdings])

    @cached_property
    def _active_of(self) -> Sequence[frozenset[int]]:
        """By consumer, what its instance is to run."""
        of_instances = [
            frozenset(task for consumer in consumers for task in self.holdings[consumer].active)
            for consumers in self.group.consumers_of
        ]
        return [of_instances[instance] for instance in self.group.instance_of]


def _difference(tasks: tuple[int, ...], excluded_tasks: frozenset[int]) -> tuple[int, ...]:
    return tasks if excluded_tasks.isdisjoint(tasks) else tuple(task for task in tasks if task not in excluded_tasks)


def target_holdings(group: Group, broker: GroupCoordinator, number: Sequence[int]) -> TargetHoldings:
    """Return the broker's newest target; ``number`` gives the group's number of each of the broker's tasks."""
    holdings = [Holding()] * len(group.consumer_ids)
    for member_id, target in broker.targets.items():
        if member_id in broker.members:
            holdings[consumer_of(group, broker, member_id)] = as_holding(number, target.active, target.standby)
    return TargetHoldings(group=group, targets=broker.targets, holdings=holdings)
