"""The leader's view of one cooperative rebalance (KIP-429).

Source: page ``rules``, "One cooperative rebalance".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple

from kstream_plan.protocols.member import Reply, T, on_assignment


class LeaderView(NamedTuple, Generic[T]):
    """The three sets, what each member is told, and who joins again.

    ``maybe_revoking`` are owned and assigned, ``ready_to_migrate`` assigned and owned by nobody, ``unknown_but_owned``
    owned and not assigned. ``withheld`` are those of the first whose owner changes: left out of the new owner's
    assignment. ``told`` is by member; if anything is withheld the whole group is told to join again (``rejoin``).
    """

    maybe_revoking: frozenset[T]
    ready_to_migrate: frozenset[T]
    unknown_but_owned: frozenset[T]
    withheld: frozenset[T]
    told: tuple[frozenset[T], ...]
    replies: tuple[Reply[T], ...]

    @property
    def rejoin(self) -> bool:
        """Whether all members are told to join again at once."""
        return bool(self.withheld)


def leader_view(owned: Sequence[frozenset[T]], assigned: Sequence[frozenset[T]]) -> LeaderView[T]:
    """Return what the leader makes of a decision.

    Args:
        owned: what each member claims to own; an eager one claims nothing.
        assigned: what the assignor decided for each.
    """
    owner = {task: member for member, tasks in enumerate(owned) for task in tasks}
    everything = frozenset(task for tasks in assigned for task in tasks)
    withheld = frozenset(
        task for member, tasks in enumerate(assigned) for task in tasks if owner.get(task, member) != member
    )
    unknown = frozenset(owner) - everything
    told = tuple((tasks - withheld) | (claimed & unknown) for tasks, claimed in zip(assigned, owned, strict=True))
    return LeaderView(
        maybe_revoking=everything & owner.keys(),
        ready_to_migrate=everything - owner.keys(),
        unknown_but_owned=unknown,
        withheld=withheld,
        told=told,
        replies=tuple(map(on_assignment, owned, told)),
    )
