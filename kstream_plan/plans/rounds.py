"""One rebalance: what started it, what it is for, its steps, and how even the load is after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from kstream_plan.model import FollowedTarget, Holding, WorkId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.round_steps import RoundSteps, StatelessChanges
from kstream_plan.plans.steps import MemberJoined, MemberLeft, NobodyRuns, ReasonCode


class Trigger(StrEnum):
    """What started a rebalance."""

    MANUAL = "manual"
    JOIN = "join"
    LEAVE = "leave"
    MEMBER_RESTART = "member-restart"
    PROBING = "probing"
    FOLLOW_UP = "follow-up"
    LEARNER_READY = "learner-ready"
    DEADLINE = "deadline"
    CONFIG_CHANGE = "config-change"


class Phase(StrEnum):
    """What a round is for; a round can be several at once, in this order."""

    WARM_UP = "warm-up"
    CUT_OVER = "cut-over"
    PROBING = "probing"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """How evenly a decision spreads the load.

    Per instance (in the group's order) the number of active and standby tasks (warm-ups included in the latter) and
    the load per thread; ``instance_spread``: most minus least active stateful tasks of an instance;
    KIP-441's instance balance ``balance_factor`` (most minus least active tasks of an instance) and its subtopology
    balance, twice: ``subtopology_task_spread`` (most minus least active tasks of one subtopology on an instance, of the
    most uneven subtopology), which can be evened out, and ``subtopology_spread`` as the KIP words it (instances that
    execute each subtopology: most minus least), which cannot where subtopologies have few partitions.
    """

    active: tuple[int, ...]
    standby: tuple[int, ...]
    load_per_thread: tuple[float, ...]
    instance_spread: int
    balance_factor: int
    subtopology_spread: int
    subtopology_task_spread: int

    @property
    def ends(self) -> tuple[int, int]:
        """The fewest and the most tasks that a member runs; other instances do not count."""
        most = max(self.active, default=0)
        return most - self.balance_factor, most


#: For rounds whose balance is not needed.
NOT_COUNTED = Balance(
    active=(),
    standby=(),
    load_per_thread=(),
    instance_spread=0,
    balance_factor=0,
    subtopology_spread=0,
    subtopology_task_spread=0,
)


class MemberUpdate(NamedTuple):
    """The update of one member within a round, at a time of its own: its steps begin at the place ``first``."""

    at_ms: int
    process_id: str
    consumer_id: str
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One rebalance: one generation of the group.

    ``at_ms`` counts from round 1. ``probing_rebalance``: the decision asks for a probing rebalance (Kafka's
    ``probingRebalanceNeeded``), also when a follow-up comes first. ``decided`` and ``assigned`` are by consumer index;
    their difference is what the steps withhold. ``turns``, in time, are those of members that do later, one by one,
    what the round decided: it ends with them, and ``assigned`` is what is held then. ``follows`` is what the decision
    followed of a target file, if its assignor goes by one.
    """

    number: int
    generation: int
    at_ms: int
    trigger: Trigger
    phases: tuple[Phase, ...]
    probing_rebalance: bool
    steps: RoundSteps
    balance: Balance
    decided: Sequence[Holding]
    assigned: Sequence[Holding]
    turns: tuple[MemberUpdate, ...] = ()
    follows: FollowedTarget | None = None

    @property
    def moments(self) -> list[tuple[int, RoundSteps]]:
        """The steps by the time that they happen at, on the plan's clock: those of the round, then update by update."""
        if not self.turns:
            return [(self.at_ms, self.steps)]
        firsts = [0, *(turn.first for turn in self.turns), len(self.steps)]
        times = [self.at_ms, *(turn.at_ms for turn in self.turns)]
        parts = zip(times, pairwise(firsts), strict=True)
        return [(at_ms, self.steps.part(first, end)) for at_ms, (first, end) in parts]

    @property
    def ends_ms(self) -> int:
        """When the last of its steps happens."""
        return self.turns[-1].at_ms if self.turns else self.at_ms

    @property
    def stateless(self) -> StatelessChanges | None:
        """The changes of stateless tasks, as numbers; ``None``: none, or the steps state them one by one."""
        return self.steps.stateless

    @property
    def single_steps(self) -> RoundSteps:
        """The steps without those of the tasks in ``stateless``, which are the many and made when they are read."""
        return self.steps.single

    @property
    def not_configured(self) -> frozenset[WorkId]:
        """The connectors and tasks that stay unassigned because they are not configured yet, or any more."""
        return frozenset(
            task_id
            for step in self.steps.events
            if isinstance(step, NobodyRuns) and step.reason.code is ReasonCode.NOT_CONFIGURED
            for task_id in step.task_ids
        )

    @property
    def member_steps(self) -> list[MemberJoined | MemberLeft]:
        """The steps of joins and leaves."""
        return self.steps.of_members


def probes_after_ms(rounds: Iterable[Round], configs: Iterable[AssignmentConfig]) -> list[int]:
    """Return the intervals of probes: by target files, else by settings."""
    followed = {rnd.follows.probe_ms for rnd in rounds if rnd.follows is not None}
    return sorted(followed) or [config.probing_rebalance_interval_ms for config in configs]


def in_effect_ms(
    rounds: Sequence[Round], config: AssignmentConfig, later_configs: Sequence[tuple[int, AssignmentConfig]]
) -> list[int]:
    """Return when each round has taken effect: when it ends; of a Connect group so much later as it may take.

    Such a round has the time of what it comes from, of which workers hear by heartbeat; those that follow from it, and
    the delay that it begins, are so much later with it. A worker that joins again by a delay that ran already knows it.
    """
    if config.scheduled_rebalance_max_delay_ms is None:
        return [rnd.ends_ms for rnd in rounds]
    unheard_ms, times_ms = 0, []
    for rnd in rounds:
        if rnd.trigger not in (Trigger.DEADLINE, Trigger.FOLLOW_UP):
            config_then = [config, *(later_config for first, later_config in later_configs if first <= rnd.number)][-1]
            unheard_ms = max(unheard_ms, config_then.heartbeat_interval_ms)
        times_ms.append(rnd.ends_ms + unheard_ms)
    return times_ms
