"""The leader's view of one cooperative rebalance (KIP-429).

Source: page ``rules``, "One cooperative rebalance".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple

from kstream_plan.protocols.member import Reply, T, on_assignment


class LeaderView(NamedTuple, Generic[T]):
    """The three sets, each member's assignment, and its callbacks.

    ``maybe_revoking`` are owned and assigned, ``ready_to_migrate`` assigned and without owner, ``unknown_but_owned``
    owned and not assigned. ``withheld_tasks`` are those of the first whose owner changes: left out of the new owner's
    assignment. ``assignments`` are by member; if any task is withheld, the whole group joins again (``rejoin``).
    """

    maybe_revoking: frozenset[T]
    ready_to_migrate: frozenset[T]
    unknown_but_owned: frozenset[T]
    withheld_tasks: frozenset[T]
    assignments: tuple[frozenset[T], ...]
    replies: tuple[Reply[T], ...]

    @property
    def rejoin(self) -> bool:
        """Whether all members are told to join again at once."""
        return bool(self.withheld_tasks)


def leader_view(owned: Sequence[frozenset[T]], decided_tasks: Sequence[frozenset[T]]) -> LeaderView[T]:
    """Return the leader's view of a decision.

    Args:
        owned: what each member claims to own; an eager one claims nothing.
        decided_tasks: what the assignor decided for each.
    """
    owner = {task: member for member, tasks in enumerate(owned) for task in tasks}
    assigned_tasks = frozenset(task for tasks in decided_tasks for task in tasks)
    withheld_tasks = frozenset(
        task for member, tasks in enumerate(decided_tasks) for task in tasks if owner.get(task, member) != member
    )
    unknown = frozenset(owner) - assigned_tasks
    assignments = tuple(
        (tasks - withheld_tasks) | (claimed & unknown) for tasks, claimed in zip(decided_tasks, owned, strict=True)
    )
    return LeaderView(
        maybe_revoking=assigned_tasks & owner.keys(),
        ready_to_migrate=assigned_tasks - owner.keys(),
        unknown_but_owned=unknown,
        withheld_tasks=withheld_tasks,
        assignments=assignments,
        replies=tuple(map(on_assignment, owned, assignments)),
    )
