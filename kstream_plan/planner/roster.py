"""All members that ever take part in a plan, so that its rounds have the same indices throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.model import Group, Holding, Holdings, Instance, LazyHoldings, RenumberedHoldings, Target, renumbered
from kstream_plan.plans import Balance


class Roster:
    """The group of all members, present or not, and the translation of a present group's values to it.

    An absent member holds nothing, is the target of nothing and has no load.
    """

    def __init__(self, group: Group, instances: Sequence[Instance] | None = None) -> None:
        """``group`` is that of the start; ``instances`` are all that ever take part (default: its own)."""
        self.group = group if instances is None else Group.of(group.application_id, list(group.tasks), list(instances))
        self._present = group if instances is None else None
        self._instances: list[int] = []
        self._consumers: list[int] = []

    def same_or(self, group: Group) -> Group:
        """Return ``group``, or that of all members if they are equal: then nothing has to be translated."""
        return self.group if group == self.group else group

    def holdings(self, group: Group, holdings: Holdings) -> Sequence[Holding]:
        """Return what members hold, by consumer index of the roster."""
        if group is self.group:
            return holdings if holdings.stateless else holdings.stateful
        self._look_at(group)
        stateful = self._stateful(holdings.stateful)
        if not holdings.stateless:
            return stateful
        return holdings.renumbered(stateful, self.group, self._consumers, self._consumers)

    def _stateful(self, holdings: Sequence[Holding]) -> Sequence[Holding]:
        """Return what the present members hold, by consumer index of the roster; lazy holdings stay lazy."""
        consumers, length = self._consumers, len(self.group.consumer_ids)
        return (
            RenumberedHoldings(holdings, consumers, length)
            if isinstance(holdings, LazyHoldings)
            else renumbered(holdings, consumers, length)
        )

    def target(self, group: Group, target: Target) -> Target:
        """Return a target, by instance index of the roster."""
        if group is self.group:
            return target
        self._look_at(group)
        roles: list[list[tuple[int, ...]]] = [[()] * len(self.group.instances) for _ in target]
        for role, tasks in zip(roles, target, strict=True):
            for instance, instance_tasks in zip(self._instances, tasks, strict=True):
                role[instance] = instance_tasks
        return Target(*map(tuple, roles))

    def balance(self, group: Group, balance: Balance) -> Balance:
        """Return the loads by instance index of the roster; the spreads stay those of the present members."""
        if group is self.group:
            return balance
        self._look_at(group)
        size = len(self.group.instances)
        active, standby, load = [0] * size, [0] * size, [0.0] * size
        for place, instance in enumerate(self._instances):
            active[instance] = balance.active[place]
            standby[instance] = balance.standby[place]
            load[instance] = balance.load_per_thread[place]
        return replace(balance, active=tuple(active), standby=tuple(standby), load_per_thread=tuple(load))

    def _look_at(self, group: Group) -> None:
        if self._present is group:
            return
        self._present = group
        self._instances = [self.group.instance_index[instance.process_id] for instance in group.instances]
        self._consumers = self.group.indices_of(group)
