"""A group between two rebalances: who holds what, and what is on disk."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from operator import is_not
from types import MappingProxyType

from kstream_plan.model.copies import LATEST, Copy
from kstream_plan.model.group import Group
from kstream_plan.model.holding import Holding
from kstream_plan.model.shared_sequence import SharedSequence

#: By role of a holding.
_IS_ACTIVE = (True, False, False, False)


@dataclass(frozen=True, kw_only=True)
class GroupState:
    """A group between two rebalances: everything the next decision and the next round depend on.

    ``holdings`` is what each consumer holds (owns), by consumer index; ``copies`` what is on disk, by task index,
    each tuple sorted by instance and at most one copy per instance (empty for stateless tasks). ``at_ms`` is the
    time of the last assignment on the plan's clock. ``leader`` is an instance index, ``None`` if not known. ``revoked``
    maps each stateful task that the last assignment withheld to the instance that has given it up for that; once
    members have changed meanwhile, each stateless one as well (``NOBODY``: the instance has gone). ``waiting`` is the
    unprocessed input of each stateful task, in the records that its changelogs grow by once it is processed. ``memory``
    is what else the group remembers, in whatever way it coordinates: a frozen value that only its design looks into,
    made of what is the same in every run (no sets), or ``None``.
    """

    group: Group
    generation: int
    at_ms: int
    holdings: Sequence[Holding]
    copies: Sequence[tuple[Copy, ...]]
    leader: int | None = None
    revoked: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    waiting: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    memory: object = None

    @cached_property
    def unsettled(self) -> frozenset[int]:
        """The stateful tasks, without those whose copies are all held, whole, and reported by their holders alone."""
        return frozenset(self._unsettled_of(self.group.stateful))

    def _unsettled_of(self, tasks: Collection[int]) -> Iterator[int]:
        holders_by_task: dict[int, dict[int, bool]] = {task: {} for task in tasks}
        for consumer, holding in enumerate(self.holdings):
            for of_role, active in zip(holding, _IS_ACTIVE, strict=True):
                for task in of_role:
                    if task in holders_by_task:
                        holders_by_task[task][consumer] = active
        for task, seats in holders_by_task.items():
            copies = self.copies[task]
            if not is_settled(copies) or {copy.consumer: copy.active for copy in copies} != seats:
                yield task

    def __getstate__(self) -> dict[str, object]:
        """Pickle the fields, not what was derived from them or where the state came from."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"revoked": dict(self.revoked), "waiting": dict(self.waiting)}

    def copies_of(self, tasks: Sequence[int]) -> Sequence[tuple[Copy, ...]]:
        """Return the copies of each of these tasks."""
        copies = self.copies
        return copies.of(tasks) if isinstance(copies, SharedSequence) else list(map(copies.__getitem__, tasks))

    def changed_since(self, earlier_state: GroupState) -> Sequence[int]:
        """Return the tasks, sorted, that had other copies in ``earlier_state``; at once if this state followed from it.

        Soon, too, if this one followed from one that followed from it, as from probe to probe where tasks move.
        """
        origin, changed_tasks = self._followed_from()
        if origin is earlier_state:
            return changed_tasks
        if origin is not None:
            first, changed_first = origin._followed_from()
            if first is earlier_state:
                tasks = sorted({*changed_first, *changed_tasks})
                pairs = zip(tasks, earlier_state.copies_of(tasks), self.copies_of(tasks), strict=True)
                return [task for task, old, new in pairs if old is not new]
        if isinstance(self.copies, SharedSequence) and isinstance(earlier_state.copies, SharedSequence):
            return self.copies.unlike(earlier_state.copies)
        return list(compress(range(len(self.copies)), map(is_not, earlier_state.copies, self.copies)))

    def _followed_from(self) -> tuple[GroupState | None, Sequence[int]]:
        """Return the state that this one followed from, if it is still known, and the tasks of which copies changed."""
        origin, changed_tasks = vars(self).get("_changed_since", (None, ()))
        return (None if origin is None else origin()), changed_tasks

    def reports_changed_since(self, earlier_state: GroupState) -> Mapping[int, frozenset[int]]:
        """Return the tasks, in order, whose reports are others than in ``earlier_state``, each with the instances.

        It is asked for more than once for the same two states, and remembered.
        """
        origin, reports = vars(self).get("_reports_changed_since", (None, {}))
        if origin is not None and origin() is earlier_state:
            remembered: Mapping[int, frozenset[int]] = reports
            return remembered
        instances_by_task = {}
        changed_tasks = self.changed_since(earlier_state)
        for task, old, new in zip(
            changed_tasks, earlier_state.copies_of(changed_tasks), self.copies_of(changed_tasks), strict=True
        ):
            changed_reports = {copy[:3] for copy in old} ^ {copy[:3] for copy in new}
            if changed_reports:
                instances_by_task[task] = frozenset([instance for instance, _, _ in changed_reports])
        vars(self)["_reports_changed_since"] = (weakref.ref(earlier_state), instances_by_task)
        return instances_by_task

    def remembering(self, memory: object) -> GroupState:
        """Return the same group with something else that it remembers, and all that is known of it already."""
        copy_of_state = replace(self, memory=memory)
        vars(copy_of_state).update(
            {name: cached for name, cached in vars(self).items() if name not in self.__dataclass_fields__}
        )
        return copy_of_state

    def with_unsettled(self, tasks: frozenset[int]) -> GroupState:
        """Return the same group, of which it is known already which tasks are unsettled."""
        copy_of_state = replace(self)
        vars(copy_of_state)["unsettled"] = tasks
        return copy_of_state

    def with_copies(self, copies: Mapping[int, tuple[Copy, ...]]) -> GroupState:
        """Return the same group with other copies of some tasks, held by the same consumers."""
        old_copies = self.copies if isinstance(self.copies, SharedSequence) else SharedSequence(self.copies)
        new_state = replace(self, copies=old_copies.replaced(copies))
        vars(new_state)["unsettled"] = self._unsettled_after(copies)
        return new_state

    def regrouped(
        self,
        *,
        group: Group,
        holdings: Sequence[Holding],
        copies: Mapping[int, tuple[Copy, ...]],
        revoked: Mapping[int, int],
        leader: int,
    ) -> GroupState:
        """Return the state for other members; ``copies`` has every task of which a holder or a copy changed."""
        old_copies = self.copies if isinstance(self.copies, SharedSequence) else SharedSequence(self.copies)
        new_state = replace(
            self, group=group, holdings=holdings, copies=old_copies.replaced(copies), revoked=revoked, leader=leader
        )
        cached = vars(self)
        if "unsettled" in cached:
            changed_tasks = {task for task in copies if group.stateful_flags[task]}
            vars(new_state)["unsettled"] = (self.unsettled - changed_tasks).union(
                new_state._unsettled_of(changed_tasks)
            )
        return new_state

    def followed_by(
        self,
        *,
        at_ms: int,
        holdings: Sequence[Holding],
        copies: Mapping[int, tuple[Copy, ...]],
        revoked: Mapping[int, int],
        waiting: Mapping[int, int],
    ) -> GroupState:
        """Return the state one generation later; ``copies`` has every task of which a holder or a copy changed."""
        old_copies = self.copies if isinstance(self.copies, SharedSequence) else SharedSequence(self.copies)
        tasks = sorted(copies)
        changed_tasks = [
            task for task, of_task in zip(tasks, old_copies.of(tasks), strict=True) if copies[task] is not of_task
        ]
        new_state = replace(
            self,
            generation=self.generation + 1,
            at_ms=at_ms,
            holdings=holdings,
            copies=old_copies.replaced({task: copies[task] for task in changed_tasks}) if changed_tasks else old_copies,
            revoked=MappingProxyType(dict(revoked)),
            waiting=MappingProxyType(dict(waiting)),
        )
        vars(new_state)["_changed_since"] = (weakref.ref(self), changed_tasks)
        vars(new_state)["unsettled"] = self._unsettled_after(copies)
        return new_state

    def _unsettled_after(self, copies: Mapping[int, tuple[Copy, ...]]) -> frozenset[int]:
        """Say what is unsettled with these copies in place of others, which their holders know of.

        Looking at every task again would take longer than the decision itself.
        """
        settled_tasks = {task for task, of_task in copies.items() if is_settled(of_task)}
        return (self.unsettled | copies.keys()) - settled_tasks


def is_settled(copies: Sequence[Copy]) -> bool:
    """Tell whether all copies of a task are held, whole, and reported by their holders alone."""
    for _, lag, reporters, remaining, consumer, active, _, _, _ in copies:
        if remaining or lag is None or reporters != (consumer,):
            return False
        if lag != LATEST if active else lag < 0:
            return False
    return bool(copies)
