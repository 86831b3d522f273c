"""A streams group at its broker: epochs, when a target is computed, and what each member holds.

Source: page ``streams-rules``, "When a target is computed".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.assignors.java.text_maps import MemberTable
from kstream_plan.designs.streams.reconciliation import Holders, Owned, ReconciledMember, reconcile
from kstream_plan.designs.streams.sticky import AssignedMember, MemberTarget, StreamsTasks, assign

_NOTHING = MemberTarget(frozenset(), frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsSettings:
    """What a broker goes by for one group; times in milliseconds.

    ``by_current``: the rules of 4.4, else those of 4.2 and 4.3.
    """

    num_standby_replicas: int = 0
    assignment_interval_ms: int = 1000
    initial_rebalance_delay_ms: int = 3000
    by_current: bool = False


class Answer(NamedTuple):
    """What a heartbeat led to.

    ``by_timer`` is the target that the end of the initial delay had computed before it, ``computed`` the one computed
    in it (member id → target); ``None``: none. ``member`` is the member afterwards, ``tells`` whether the answer
    carries its tasks.
    """

    by_timer: Mapping[str, MemberTarget] | None
    computed: Mapping[str, MemberTarget] | None
    member: ReconciledMember
    tells: bool


class GroupCoordinator:
    """The broker's half of one group, private to its simulation."""

    def __init__(self, tasks: StreamsTasks, settings: StreamsSettings) -> None:
        self.tasks = tasks
        self.settings = settings
        self.members: dict[str, ReconciledMember] = {}
        self.table = MemberTable()
        self.group_epoch = 1
        self.target_epoch = 1
        self.targets: Mapping[str, MemberTarget] = MappingProxyType({})
        self._active: dict[int, str] = {}
        self._standby: dict[int, frozenset[str]] = {}
        self._computed_at_ms: int | None = None
        self._delayed_until_ms: int | None = None

    @classmethod
    def running(
        cls,
        tasks: StreamsTasks,
        settings: StreamsSettings,
        *,
        members: Iterable[ReconciledMember],
        targets: Mapping[str, MemberTarget],
        epochs: tuple[int, int],
        computed_at_ms: int | None,
    ) -> GroupCoordinator:
        """Return a group that is there already.

        ``members`` are in the order of the broker's table, ``epochs`` those of the group and of the target.
        """
        coordinator = cls(tasks, settings)
        ordered_members = list(members)
        coordinator.table = MemberTable(member.member_id for member in ordered_members)
        for member in ordered_members:
            coordinator.members[member.member_id] = member
            coordinator._hold(member)
        coordinator.targets = MappingProxyType(dict(targets))
        coordinator.group_epoch, coordinator.target_epoch = epochs
        coordinator._computed_at_ms = computed_at_ms
        return coordinator

    def copied(self) -> GroupCoordinator:
        """Return an independent copy."""
        coordinator = copy(self)
        coordinator.members, coordinator.table = dict(self.members), self.table.copied()
        coordinator._active, coordinator._standby = dict(self._active), dict(self._standby)
        return coordinator

    def due_at_ms(self) -> int | None:
        """Return from when on a heartbeat computes a target (0: at once), ``None`` if none is wanted.

        While the initial delay lasts that is its end, which needs no heartbeat.
        """
        if self.group_epoch <= self.target_epoch or not self.members:
            return None
        if self._delayed_until_ms is not None:
            return self._delayed_until_ms
        interval_ms = self.settings.assignment_interval_ms
        return 0 if not interval_ms or self._computed_at_ms is None else self._computed_at_ms + interval_ms

    def ask(self) -> None:
        """Raise the group's epoch, so that the next heartbeat that may computes a target."""
        self.group_epoch += 1

    def after_heartbeat(self, member_id: str, owned: Owned | None) -> ReconciledMember:
        """Return the member as a heartbeat would leave it that computes no target; nothing happens."""
        return self._after_reconciliation(self.members[member_id], owned)

    def join(self, at_ms: int, member_id: str, process_id: str, offsets: Mapping[int, int] | None = None) -> Answer:
        """Let a new member join."""
        by_timer = self.end_delay(at_ms)
        if not self.members and self.settings.initial_rebalance_delay_ms:
            self._delayed_until_ms = at_ms + self.settings.initial_rebalance_delay_ms
        self.group_epoch += 1
        new_member = ReconciledMember(
            member_id=member_id, process_id=process_id, offsets=MappingProxyType(dict(offsets or {}))
        )
        computed = self._compute_if_due(at_ms, new_member)
        self._put(new_member)
        member = self._reconciled(new_member, Owned(frozenset(), frozenset()))
        return Answer(by_timer, computed, member, tells=True)

    def heartbeat(
        self, at_ms: int, member_id: str, owned: Owned | None, offsets: Mapping[int, int] | None = None
    ) -> Answer:
        """Take a heartbeat of a member; ``owned`` as in :func:`reconcile`, ``offsets`` if it reports any."""
        by_timer = self.end_delay(at_ms)
        previous_member = self.members[member_id]
        if offsets is not None and offsets != previous_member.offsets:
            self._put(replace(previous_member, offsets=MappingProxyType(dict(offsets))))
        computed = self._compute_if_due(at_ms)
        member = self._reconciled(self.members[member_id], owned)
        return Answer(by_timer, computed, member, tells=member.holds != previous_member.holds)

    def leave(self, at_ms: int, member_id: str) -> Mapping[str, MemberTarget] | None:
        """Take a member out, with all that it holds; return what the end of the initial delay computed before."""
        by_timer = self.end_delay(at_ms)
        self._release(self.members.pop(member_id))
        self.table.remove(member_id)
        self.targets = MappingProxyType(
            {other_id: target for other_id, target in self.targets.items() if other_id != member_id}
        )
        self.group_epoch += 1
        return by_timer

    def end_delay(self, at_ms: int) -> Mapping[str, MemberTarget] | None:
        """Compute the first target if the initial delay has ended by now."""
        if self._delayed_until_ms is None or at_ms < self._delayed_until_ms:
            return None
        ended_at_ms, self._delayed_until_ms = self._delayed_until_ms, None
        return self._compute(ended_at_ms) if self.group_epoch > self.target_epoch and self.members else None

    def _compute_if_due(
        self, at_ms: int, new_member: ReconciledMember | None = None
    ) -> Mapping[str, MemberTarget] | None:
        if self._delayed_until_ms is not None or self.group_epoch <= self.target_epoch:
            return None
        interval_ms = self.settings.assignment_interval_ms
        if interval_ms and self._computed_at_ms is not None and at_ms < self._computed_at_ms + interval_ms:
            return None
        return self._compute(at_ms, new_member)

    def _compute(self, at_ms: int, new_member: ReconciledMember | None = None) -> Mapping[str, MemberTarget]:
        current_members = [self.members[member_id] for member_id in self.table.order()]
        members = [
            self._assigned_member(member)
            for member in (*current_members, *([] if new_member is None else [new_member]))
        ]
        settings = self.settings
        self.targets = MappingProxyType(
            assign(self.tasks, members, settings.num_standby_replicas, by_current=settings.by_current)
        )
        self.target_epoch, self._computed_at_ms = self.group_epoch, at_ms
        return self.targets

    def _assigned_member(self, member: ReconciledMember) -> AssignedMember:
        if self.settings.by_current:
            active, standby = member.holds
            return AssignedMember(
                member_id=member.member_id,
                process_id=member.process_id,
                active=active,
                standby=standby,
                offsets=member.offsets,
            )
        target = self.targets.get(member.member_id, _NOTHING)
        return AssignedMember(
            member_id=member.member_id, process_id=member.process_id, active=target.active, standby=target.standby
        )

    def _reconciled(self, member: ReconciledMember, owned: Owned | None) -> ReconciledMember:
        reconciled_member = self._after_reconciliation(member, owned)
        if reconciled_member is not member:
            self._put(reconciled_member)
        return reconciled_member

    def _after_reconciliation(self, member: ReconciledMember, owned: Owned | None) -> ReconciledMember:
        return reconcile(
            member,
            self.targets.get(member.member_id, _NOTHING),
            self.target_epoch,
            Holders(self._active, self._standby),
            owned,
            by_current=self.settings.by_current,
        )

    def _put(self, member: ReconciledMember) -> None:
        previous_member = self.members.get(member.member_id)
        if previous_member is not None:
            self._release(previous_member)
        self._hold(member)
        self.members[member.member_id] = member
        self.table.put(member.member_id)

    def _hold(self, member: ReconciledMember) -> None:
        for task in (*member.active, *member.revoking_active):
            self._active[task] = member.process_id
        for task in (*member.standby, *member.revoking_standby):
            self._standby[task] = self._standby.get(task, frozenset()) | {member.process_id}

    def _release(self, member: ReconciledMember) -> None:
        """Forget what a member held: no other of its process holds the same, and an active task has one holder."""
        for task in (*member.active, *member.revoking_active):
            del self._active[task]
        for task in (*member.standby, *member.revoking_standby):
            self._standby[task] -= {member.process_id}
