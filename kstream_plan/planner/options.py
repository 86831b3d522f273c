"""How a group is planned: what no snapshot and no scenario says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from kstream_plan.model.starting_state import Cleaning, Ready
    from kstream_plan.planner.leader_settings import NextLeader
    from kstream_plan.planner.membership_timeline import Noticed
    from kstream_plan.plans import Trigger

#: Which starts are found that count as warm and are not proven to be: all, those alone that may be cold because of
#: where stores are, whatever copies lack, or none.
Proofs: TypeAlias = Literal["all", "stores", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """How a group is planned, whatever happens to it.

    ``design`` is how the group coordinates, by its name in the registry (``None``: as groups of its kind do), as
    are the classic protocol's ``assignor`` and ``protocol``; ``target`` is what is in the file that the assignor
    ``planned`` follows; ``trigger`` is that of round 1 (default: ``join`` if
    an instance holds and reports nothing, else ``manual``); ``max_rounds`` ends a plan that goes on, as
    ``unfinished`` (default: 4 · (stateful tasks + 10), as often as the group changes); with ``bounds`` the summary
    has the least that had to be restored, which takes a solver (an optimal assignor's has it anyway).

    ``now_ms`` is the time that the plan begins at, since 1970 (default: until when the snapshot is known); with
    ``replay`` it begins with the decision that the snapshot knows, which is made from its own input again. ``ready``
    tells which copies have caught up by now of which nobody knows it, by default those that have been assigned for a
    whole probing interval; ``cleaning`` likewise when left-over state is deleted; ``trust_ms`` is how old a report of
    a copy may be that counts as true at a moment (``None``: a minute if it was measured, else a heartbeat interval).
    ``ranges``: find both ends of what hangs on what is unknown; without
    ``long_ranges`` not of a plan that takes long to simulate, which then warns that it does not tell them.
    ``closes_wait``: a default close during a rebalance that is under way as the plan begins waits for its end; else it
    comes before the instance has heard of that, and holds the rebalance up. ``proofs``: which of the starts are
    found that count as warm and are not proven to be.
    ``floor``: where a restore rate is not known, find the least that the plan takes. ``next_leader``: who leads when
    the leader has gone, where restarted members have settings of their own. ``noticed``: when the group notices that
    members have stopped. ``max_learners`` (``None``: no limit) and
    ``scale_down_timeout_ms`` are the learner design's. ``connect_delay_ms`` (``None``: the workers' own),
    ``connect_defer_join``, ``connect_step`` and ``connect_pause_ms`` are those of Connect's Designs II and III.
    """

    design: str | None = None
    assignor: str = "high-availability"
    target: bytes | None = None
    protocol: str = "cooperative"
    trigger: Trigger | None = None
    max_rounds: int | None = None
    bounds: bool = False
    now_ms: int | None = None
    replay: bool = False
    ready: Ready = "likely"
    cleaning: Cleaning = "likely"
    trust_ms: int | None = None
    closes_wait: bool = True
    proofs: Proofs = "all"
    ranges: bool = True
    long_ranges: bool = True
    floor: bool = True
    next_leader: NextLeader = "longest"
    noticed: Noticed = "likely"
    max_learners: int | None = None
    scale_down_timeout_ms: int = 600_000
    connect_delay_ms: int | None = None
    connect_defer_join: bool = False
    connect_step: int = 10
    connect_pause_ms: int = 60_000

    def of_one_run(self) -> PlanOptions:
        """Return the same without further simulations."""
        return replace(self, bounds=False, floor=False, ranges=False)


class PlanKeywords(TypedDict, total=False):
    """The fields of :class:`PlanOptions`, for functions that take them one by one as well."""

    design: str | None
    assignor: str
    target: bytes | None
    protocol: str
    trigger: Trigger | None
    max_rounds: int | None
    bounds: bool
    now_ms: int | None
    replay: bool
    ready: Ready
    cleaning: Cleaning
    trust_ms: int | None
    closes_wait: bool
    proofs: Proofs
    ranges: bool
    long_ranges: bool
    floor: bool
    next_leader: NextLeader
    noticed: Noticed
    max_learners: int | None
    scale_down_timeout_ms: int
    connect_delay_ms: int | None
    connect_defer_join: bool
    connect_step: int
    connect_pause_ms: int
