"""Rebalance protocols: how a group gets from what it holds to what was decided. One file each, and one line below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kstream_plan.model import Assignment, Group, GroupState
from kstream_plan.model.releases import NO_COPY_NO_TEMPORARY
from kstream_plan.protocols import cooperative, eager, mixed
from kstream_plan.protocols.transition import Rebalance, Transition, Withheld

__all__ = ["PROTOCOLS", "Protocol", "Rebalance", "Transition", "Withheld", "gives_up"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a rebalance makes of a decision, and which consumers of a group give up everything before they join one.

    ``any_temporary``: a task that is withheld is a standby meanwhile, whether there is a copy of it or not.
    """

    rebalance: Rebalance
    gives_up: Callable[[Group], frozenset[int]]
    any_temporary: bool = False

    def of_release(self, release: str | None) -> Protocol:
        """Return the same as a release of Kafka has it; ``None``: it is unknown, and the newest counts."""
        return replace(self, any_temporary=not NO_COPY_NO_TEMPORARY.is_in(release))

    def __call__(self, state: GroupState, decision: Assignment) -> Transition:
        """Return what the members then hold."""
        return self.rebalance(state, decision, any_temporary=self.any_temporary)


#: Every protocol by its name on the command line.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "cooperative": Protocol(cooperative.rebalance, cooperative.gives_up),
        "eager": Protocol(eager.rebalance, eager.gives_up),
        "mixed": Protocol(mixed.rebalance, mixed.gives_up),
    }
)


def gives_up(group: Group, protocol: str) -> frozenset[int]:
    """Return the consumers that give up everything before they join a rebalance, so that nobody owns it then.

    Raises:
        KeyError: no such protocol.
    """
    return PROTOCOLS[protocol].gives_up(group)
