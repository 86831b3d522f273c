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
            tuple(tuple(task for task in of.active if group.stateful_flags[task]) for of in of_instances),
            tuple(of.standby for of in of_instances),
        )

    def decided(self, held: Holdings) -> Holdings:
        """Return what everybody who holds this is to run, with the standbys that go on beside it."""
        both = zip(self._active.stateful, held.stateful, self._active_of, strict=True)
        stateful = [
            Holding(
                to.active,
                of.standby if here.isdisjoint(of.standby) else tuple(task for task in of.standby if task not in here),
            )
            for to, of, here in both
        ]
        return replace(self._active, stateful=tuple(stateful))

    def queued(self, held: Holdings) -> int:
        """Return how many tasks do not run where they are to."""
        owners = self._active.owners
        stateful = zip(self._active.stateful, held.stateful, strict=True)
        moving = sum(len({*to.active}.difference(of.active)) for to, of in stateful if to.active != of.active)
        return moving + int(((owners != held.owners) & (owners != NOBODY)).sum())

    @cached_property
    def _active(self) -> Holdings:
        return Holdings.of(self.group, [Holding(held.active) for held in self.wanted])

    @cached_property
    def _active_of(self) -> Sequence[frozenset[int]]:
        """By consumer, what its instance is to run."""
        of_instances = [frozenset(t for c in of for t in self.wanted[c].active) for of in self.group.consumers_of]
        return [of_instances[instance] for instance in self.group.instance_of]


def target_holdings(group: Group, broker: GroupCoordinator, number: Sequence[int]) -> TargetHoldings:
    """Return the broker's newest target; ``number`` gives the group's number of each of the broker's tasks."""
    wanted = [Holding()] * len(group.consumer_ids)
    for member_id, of in broker.targets.items():
        if member_id in broker.members:
            wanted[consumer_of(group, broker, member_id)] = as_holding(number, of.active, of.standby)
    return TargetHoldings(group=group, targets=broker.targets, wanted=wanted)
