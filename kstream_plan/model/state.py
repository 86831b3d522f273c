"""A group between two rebalances: who holds what, and what is on disk."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from operator import is_not
from types import MappingProxyType

from kstream_plan.model.copies import LATEST, Copy
from kstream_plan.model.group import Group
from kstream_plan.model.holding import Holding
from kstream_plan.model.shared_sequence import SharedSequence


@dataclass(frozen=True, kw_only=True)
class GroupState:
    """A group between two rebalances: everything the next decision and the next round depend on.

    ``holdings`` is what each consumer holds (owns), by consumer index; ``copies`` what is on disk, by task index,
    each tuple sorted by instance and at most one copy per instance (empty for stateless tasks). ``at_ms`` is the
    time of the last assignment on the plan's clock. ``leader`` is an instance index, ``None`` if not known. ``revoked``
    maps each stateful task that the last assignment withheld to the instance that has given it up for that; once
    members have changed meanwhile, each stateless one as well (``NOBODY``: the instance has gone). ``memory`` is what
    else the group remembers, in whatever way it coordinates: a frozen value that only its design looks into, made of
    what is the same in every run (no sets), or ``None``.
    """

    group: Group
    generation: int
    at_ms: int
    holdings: Sequence[Holding]
    copies: Sequence[tuple[Copy, ...]]
    leader: int | None = None
    revoked: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    memory: object = None

    @cached_property
    def unsettled(self) -> frozenset[int]:
        """The stateful tasks, without those of which the running owner has, and reported, the only copy."""
        owned = ((task, consumer) for consumer, held in enumerate(self.holdings) for task in held.active)
        settled = {task for task, consumer in owned if _is_settled(self.copies[task], consumer)}
        return frozenset(self.group.stateful).difference(settled)

    def __getstate__(self) -> dict[str, object]:
        """Pickle the fields, not what was derived from them or where the state came from."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"revoked": dict(self.revoked)}

    def changed_since(self, before: GroupState) -> Sequence[int]:
        """Return the tasks, sorted, of which ``before`` had other copies; at once if this state followed from it."""
        origin, changed = vars(self).get("_changed_since", (None, ()))
        if origin is not None and origin() is before:
            known: Sequence[int] = changed
            return known
        return list(compress(range(len(self.copies)), map(is_not, before.copies, self.copies)))

    def followed_by(
        self,
        *,
        at_ms: int,
        holdings: Sequence[Holding],
        copies: Mapping[int, tuple[Copy, ...]],
        revoked: Mapping[int, int],
    ) -> GroupState:
        """Return the state one generation later; ``copies`` has every task of which a holder or a copy changed."""
        before = self.copies if isinstance(self.copies, SharedSequence) else SharedSequence(self.copies)
        changed = sorted(task for task, of_task in copies.items() if of_task is not before[task])
        after = replace(
            self,
            generation=self.generation + 1,
            at_ms=at_ms,
            holdings=holdings,
            copies=before.replaced({task: copies[task] for task in changed}) if changed else before,
            revoked=MappingProxyType(dict(revoked)),
        )
        vars(after)["_changed_since"] = (weakref.ref(self), changed)
        # Known without looking at every task again, which would take longer than the decision itself.
        settled = {task for task, of_task in copies.items() if of_task and _is_settled(of_task, of_task[0].consumer)}
        vars(after)["unsettled"] = (self.unsettled | copies.keys()) - settled
        return after


def _is_settled(copies: tuple[Copy, ...], owner: int | None) -> bool:
    if len(copies) != 1:
        return False
    _, lag, reporters, remaining, consumer, active, *_ = copies[0]
    return active and lag == LATEST and not remaining and consumer == owner and reporters == (owner,)
