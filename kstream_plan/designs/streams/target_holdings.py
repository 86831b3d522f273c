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
    wanted: what each consumer is to hold.
    """

    group: Group
    targets: Mapping[str, MemberTarget]
    wanted: Sequence[Holding]

    @cached_property
    def owners(self) -> Mapping[int, int]:
        """Who is to run each task, by consumer."""
        return {task: consumer for consumer, held in enumerate(self.wanted) for task in held.active}

    @cached_property
    def target(self) -> Target:
        """What each instance is to hold of the stateful tasks."""
        group = self.group
        of_instances = [
            Holding(*(tuple(sorted(sum(r, ()))) for r in zip(*(self.wanted[c] for c in consumers), strict=True)))
            for consumers in group.consumers_of
        ]
        return Target(
            tuple(tuple(task for task in held.active if group.stateful_flags[task]) for held in of_instances),
            tuple(held.standby for held in of_instances),
        )

    def decided(self, held: Holdings) -> Holdings:
        """Return what everybody who holds this is to run, with the standbys that go on beside it."""
        by_consumer = zip(self._active.stateful, held.stateful, self._active_of, strict=True)
        stateful = tuple([Holding(wanted.active, _without(now.standby, active)) for wanted, now, active in by_consumer])
        return replace(self._active, stateful=stateful)

    def queued(self, held: Holdings) -> int:
        """Return how many tasks do not run where they are to."""
        owners = self._active.owners
        stateful = zip(self._active.stateful, held.stateful, strict=True)
        moving = sum(
            len({*wanted.active}.difference(now.active)) for wanted, now in stateful if wanted.active != now.active
        )
        return moving + int(((owners != held.owners) & (owners != NOBODY)).sum())

    @cached_property
    def _active(self) -> Holdings:
        return Holdings.of(self.group, [Holding(held.active) for held in self.wanted])

    @cached_property
    def _active_of(self) -> Sequence[frozenset[int]]:
        """By consumer, what its instance is to run."""
        of_instances = [
            frozenset(task for consumer in consumers for task in self.wanted[consumer].active)
            for consumers in self.group.consumers_of
        ]
        return [of_instances[instance] for instance in self.group.instance_of]


def _without(tasks: tuple[int, ...], others: frozenset[int]) -> tuple[int, ...]:
    return tasks if others.isdisjoint(tasks) else tuple(task for task in tasks if task not in others)


def target_holdings(group: Group, broker: GroupCoordinator, number: Sequence[int]) -> TargetHoldings:
    """Return the broker's newest target; ``number`` gives the group's number of each of the broker's tasks."""
    wanted = [Holding()] * len(group.consumer_ids)
    for member_id, target in broker.targets.items():
        if member_id in broker.members:
            wanted[consumer_of(group, broker, member_id)] = as_holding(number, target.active, target.standby)
    return TargetHoldings(group=group, targets=broker.targets, wanted=wanted)
