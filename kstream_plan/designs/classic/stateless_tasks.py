"""The owners of a classic group's stateless tasks: each decision deals them again, and withholds them like all others.

Source: page ``rules``, "Stateless tasks".
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from kstream_plan.assignors.high_availability.assign import deal_stateless
from kstream_plan.assignors.laws import Laws
from kstream_plan.assignors.threads import Shares, split_stateless
from kstream_plan.engine.decision import Decision
from kstream_plan.model import NOBODY, Assignment, Group, Holdings, Owners, no_owners, revoked_by
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.protocols import Protocol


class StatelessTasks:
    """The owners of the stateless tasks of a group in simulation, decision after decision; a draft."""

    def __init__(self, group: Group, config: AssignmentConfig, laws: Laws, protocol: Protocol) -> None:
        self._group, self._config, self._laws = group, laws.settings(config), laws
        self._stopping = protocol.gives_up(group)
        self._counts: Sequence[int] = ()
        self._previous_owners = self.owners = no_owners(group)
        self.shares = Shares(self.owners, self.owners, np.zeros(0, np.int32))

    def deal(self, decision: Decision) -> None:
        """Deal the stateless tasks after the stateful ones."""
        if not self._group.stateless:
            return
        previous_shares = self.shares if self._counts else None
        counts, instance_owners = decision.spread.stateful_counts(), self.shares.instances
        if counts != self._counts:
            self._counts, instance_owners = counts, deal_stateless(self._group, self._config, counts)
        self.shares = split_stateless(self._group, instance_owners, decision.loads(), previous_shares, self._laws)

    def adopt(self, assignment: Assignment) -> None:
        """Take over the owners that another assignor decided."""
        instances, consumers = (
            Holdings.of(self._group, holdings).owners for holdings in (assignment.instances, assignment.consumers)
        )
        self.shares = Shares(instances, consumers, self.shares.loads)

    def withhold(self, decision: Decision, previous_owners: Owners) -> None:
        """Withhold what its owner has to give up first; ``previous_owners`` are those until then."""
        if not self._group.stateless:
            return
        self._previous_owners = previous_owners
        self.owners, revoking_consumers, waiting_consumers = stateless_owners(
            previous_owners, self.shares.consumers, self._stopping
        )
        decision.disturb(revoking_consumers, waiting_consumers)

    def fingerprint(self) -> bytes:
        """Return what is decided and owned as a value that is the same if that is."""
        if not self._group.stateless:
            return b""
        owned = self._previous_owners.clip(min=NOBODY).tobytes()
        return blake2b(owned + self.shares.consumers.tobytes(), digest_size=16).digest()


def stateless_owners(
    previous_owners: Owners, decided_owners: Owners, stopping: frozenset[int]
) -> tuple[Owners, frozenset[int], frozenset[int]]:
    """Withhold what its owner has to give up first; return the owners then, the revoking and the waiting consumers.

    Args:
        previous_owners: those until now, by place among the stateless tasks.
        decided_owners: those that the assignor decided.
        stopping: the consumers that have given up everything before they joined.
    """
    withheld_tasks = ((previous_owners != decided_owners) & (previous_owners >= 0)).nonzero()[0]
    if stopping:
        withheld_tasks = withheld_tasks[[owner not in stopping for owner in previous_owners[withheld_tasks].tolist()]]
    if not len(withheld_tasks):
        return decided_owners, frozenset(), frozenset()
    owners, losing = decided_owners.copy(), previous_owners[withheld_tasks]
    owners[withheld_tasks] = revoked_by(losing)
    gaining = decided_owners[withheld_tasks]
    return owners, frozenset(losing.tolist()), frozenset(gaining[gaining >= 0].tolist())
