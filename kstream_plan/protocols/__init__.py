"""Rebalance protocols: how a group gets from what it holds to what was decided. One line each in ``PROTOCOLS``.

What members then hold: ``engine.decision``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kstream_plan.model import Group
from kstream_plan.model.releases import NO_COPY_NO_TEMPORARY
from kstream_plan.protocols import stopping
from kstream_plan.protocols.transition import Transition

__all__ = ["PROTOCOLS", "Protocol", "Transition", "gives_up"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """Which consumers of a group give up everything before they join a rebalance, so that it has no owner then.

    ``any_temporary``: a task that is withheld is a standby meanwhile, whether there is a copy of it or not.
    """

    gives_up: Callable[[Group], frozenset[int]]
    any_temporary: bool = False

    def of_release(self, release: str | None) -> Protocol:
        """Return the protocol of a release of Kafka; ``None``: it is unknown, and the newest counts."""
        return replace(self, any_temporary=not NO_COPY_NO_TEMPORARY.is_in(release))


#: Every protocol by its name on the command line.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "cooperative": Protocol(stopping.none),
        "eager": Protocol(stopping.all_consumers),
        "mixed": Protocol(stopping.eager_consumers),
    }
)


def gives_up(group: Group, protocol: str) -> frozenset[int]:
    """Return the consumers that give up everything before they join a rebalance.

    Raises:
        KeyError: no such protocol.
    """
    return PROTOCOLS[protocol].gives_up(group)
