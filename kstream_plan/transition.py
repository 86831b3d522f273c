"""What a rebalance protocol makes of a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.model import Assignment, GroupState, Holding

EAGER = "eager"
COOPERATIVE = "cooperative"


class Withheld(NamedTuple):
    """An active task kept from its new owner until the present one has revoked it.

    ``temporary``: the new owner holds its copy as a standby meanwhile.
    """

    task: int
    owner: int
    consumer: int
    temporary: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What the members hold after one rebalance, by consumer index.

    A follow-up rebalance comes at once if and only if something is withheld. ``revoking`` are the consumers that
    give up an active task; together with those that have something withheld they rejoin at once (``disturbed``),
    the others hear of the follow-up by heartbeat. ``given_up`` maps every active task that was given up before the
    rebalance to the consumer that had it. ``changed`` has, in order, every consumer that holds something else than
    before, so that nobody has to look for them among thousands.
    """

    holdings: tuple[Holding, ...]
    changed: tuple[int, ...]
    withheld: tuple[Withheld, ...]
    revoking: frozenset[int]
    given_up: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def disturbed(self) -> frozenset[int]:
        """The consumers with a reason of their own to rejoin at once."""
        return self.revoking | {entry.consumer for entry in self.withheld}


#: state, decision → what the members then hold
Rebalance: TypeAlias = Callable[[GroupState, Assignment], Transition]
