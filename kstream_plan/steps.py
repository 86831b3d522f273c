"""What happens: the steps of a round, their reasons, rounds and the plan.

A plan is data: every output reads it and none computes anything the plan does not hold. Steps are lossless:
``Plan.initial`` plus the steps of rounds 1 … n gives what the members hold after round n (:func:`apply_step`) and,
together with that round's :class:`Withhold` steps, what was decided in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.model import Group, Holding, Note, Target, TaskId


class Role(StrEnum):
    """What a consumer is to a task (reference section 1)."""

    ACTIVE = "active"
    STANDBY = "standby"
    WARMUP = "warmup"
    TEMPORARY = "temporary"


class Trigger(StrEnum):
    """What started a rebalance."""

    MANUAL = "manual"
    JOIN = "join"
    LEAVE = "leave"
    MEMBER_RESTART = "member-restart"
    PROBING = "probing"
    FOLLOW_UP = "follow-up"
    CONFIG_CHANGE = "config-change"


class Phase(StrEnum):
    """What a round is for; a round can be several at once, in this order."""

    WARM_UP = "warm-up"
    CUT_OVER = "cut-over"
    PROBING = "probing"
    SETTLED = "settled"


class ReasonCode(StrEnum):
    """Why a step happens."""

    #: The balanced target puts the task there and its copy there is caught up.
    TARGET_CAUGHT_UP = "target-caught-up"
    #: The target puts the task there, but its copy there has to catch up first.
    TARGET_WARMS_UP = "target-warms-up"
    #: The target instance is not caught up; this one is, and runs the task meanwhile.
    CAUGHT_UP_MEANWHILE = "caught-up-meanwhile"
    #: Nobody is caught up; this instance is the most caught-up one.
    MOST_CAUGHT_UP = "most-caught-up"
    #: Nobody has usable state of the task: it starts where the target puts it.
    NO_STATE_ANYWHERE = "no-state-anywhere"
    #: ``num.standby.replicas`` asks for a copy here.
    STANDBY_WANTED = "standby-wanted"
    #: Stateless tasks go to the least loaded instance, anew at every rebalance.
    STATELESS_LEAST_LOADED = "stateless-least-loaded"
    #: Stateless tasks move only where the balance needs it.
    STATELESS_EVENED_OUT = "stateless-evened-out"
    #: The instance keeps the task; its threads are evened out.
    THREADS_EVENED_OUT = "threads-evened-out"
    #: The present owner has to give the task up first.
    OWNER_MUST_REVOKE = "owner-must-revoke"
    #: The task goes elsewhere.
    MOVES_AWAY = "moves-away"
    #: The copy is no longer needed.
    NOT_NEEDED = "not-needed"
    #: An instance is new in the group, or gone from it.
    MEMBERSHIP = "membership"
    #: The instance runs on, this thread of it does not.
    THREAD_STOPPED = "thread-stopped"


class Reason(NamedTuple):
    """Why, with the numbers that decided.

    ``lag`` is the deciding copy's lag (Kafka's markers included), ``limit`` is ``acceptable.recovery.lag``,
    ``other_lag`` the lag of the copy it was compared with.
    """

    code: ReasonCode
    lag: int | None = None
    limit: int | None = None
    other_lag: int | None = None


class Seat(NamedTuple):
    """One consumer in one role."""

    process_id: str
    consumer_id: str
    role: Role


@dataclass(frozen=True, slots=True)
class MemberJoined:
    """An instance takes part for the first time. No effect on what is held."""

    process_id: str
    reason: Reason
    kind: Literal["member-joined"] = "member-joined"


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """An instance is gone: everything it held is.

    It has run nothing since ``stopped_at_ms`` on the plan's clock, which the group may have noticed only now.
    """

    process_id: str
    stopped_at_ms: int
    reason: Reason
    kind: Literal["member-left"] = "member-left"


@dataclass(frozen=True, slots=True)
class Place:
    """A standby or warm-up copy is assigned to ``to``; ``from_``: the copy's former seat in the same instance, if any.

    ``restore_records``: what the copy has to restore; ``None`` if the end offset is not known.
    Effect: the role at ``from_`` ends, the role at ``to`` begins.
    """

    task_id: TaskId
    from_: Seat | None
    to: Seat
    restore_records: int | None
    reason: Reason
    kind: Literal["place"] = "place"


@dataclass(frozen=True, slots=True)
class Withhold:
    """The task is decided for ``to`` but kept from it until ``from_`` has revoked it. No effect on what is held.

    In the round's decision, and in no other, the task is active at ``to``.
    """

    task_id: TaskId
    from_: Seat
    to: Seat
    reason: Reason
    kind: Literal["withhold"] = "withhold"


@dataclass(frozen=True, slots=True)
class KeepTemporary:
    """The instance that a task is withheld from holds its copy as a temporary standby meanwhile.

    Effect: the role at ``from_`` (``None`` for left-over state) ends, ``temporary`` at ``to`` begins.
    """

    task_id: TaskId
    from_: Seat | None
    to: Seat
    reason: Reason
    kind: Literal["keep-temporary"] = "keep-temporary"


@dataclass(frozen=True, slots=True)
class Revoke:
    """The owner gives up the active task and keeps no copy assigned (its state stays on disk as left-over).

    Effect: ``active`` at ``from_`` ends.
    """

    task_id: TaskId
    from_: Seat
    reason: Reason
    kind: Literal["revoke"] = "revoke"


@dataclass(frozen=True, slots=True)
class Demote:
    """The owner gives up the active task and keeps a copy: standby, warm-up or (if it is to get it back) temporary.

    Effect: ``active`` at ``from_`` ends, the role at ``to`` (same instance) begins.
    """

    task_id: TaskId
    from_: Seat
    to: Seat
    reason: Reason
    kind: Literal["demote"] = "demote"


@dataclass(frozen=True, slots=True)
class HandOver:
    """The task starts on ``to``; ``from_`` revoked it in the round before (``None``: nobody ran it before).

    A ``from_`` that gives up everything before each rebalance (eager) revoked it just before this one.

    ``caught_up``: the copy it starts from is within ``acceptable.recovery.lag`` (always, for a stateless task).
    ``restore_records``: what is still to be restored before it runs; ``None`` if the end offset is not known.
    Effect: any copy that ``to``'s instance held of the task ends, ``active`` at ``to`` begins.
    """

    task_id: TaskId
    from_: Seat | None
    to: Seat
    caught_up: bool
    restore_records: int | None
    reason: Reason
    kind: Literal["hand-over"] = "hand-over"


@dataclass(frozen=True, slots=True)
class Promote:
    """A copy that the instance holds becomes the active, without an owner that had to revoke first.

    Fields and effect as of :class:`HandOver`; ``from_`` is the seat of the copy.
    """

    task_id: TaskId
    from_: Seat
    to: Seat
    caught_up: bool
    restore_records: int | None
    reason: Reason
    kind: Literal["promote"] = "promote"


@dataclass(frozen=True, slots=True)
class ThreadMove:
    """A task changes the thread inside its instance, in the same role.

    An active one was withheld in the round before and revoked by ``from_`` then. Effect: the role at ``from_``
    ends if it is still there, the role at ``to`` begins; any other copy the instance held of it ends.
    """

    task_id: TaskId
    from_: Seat
    to: Seat
    reason: Reason
    kind: Literal["thread-move"] = "thread-move"


@dataclass(frozen=True, slots=True)
class Drop:
    """A standby, warm-up or temporary copy is no longer assigned. Effect: the role at ``from_`` ends."""

    task_id: TaskId
    from_: Seat
    reason: Reason
    kind: Literal["drop"] = "drop"


Step: TypeAlias = (
    MemberJoined
    | MemberLeft
    | Place
    | Withhold
    | KeepTemporary
    | Revoke
    | Demote
    | HandOver
    | Promote
    | ThreadMove
    | Drop
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One rebalance: one generation of the group.

    ``at_ms`` counts from round 1. ``probing_rebalance``: the decision asks for a probing rebalance (reference section
    4, step 7), also when a follow-up comes first. ``decided`` and ``assigned`` are by consumer index; their
    difference is what the steps withhold.
    """

    number: int
    generation: int
    at_ms: int
    trigger: Trigger
    phases: tuple[Phase, ...]
    probing_rebalance: bool
    steps: tuple[Step, ...]
    balance: Balance
    decided: tuple[Holding, ...]
    assigned: tuple[Holding, ...]


class Outage(NamedTuple):
    """An instance does not run, in milliseconds of the plan's clock, though the group counts it in."""

    process_id: str
    from_ms: int
    to_ms: int


class PausedTask(NamedTuple):
    """The task that stands still longest: its id, for how long in all, and how often."""

    task_id: TaskId
    ms: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBounds:
    """The least any plan could do.

    ``moves``: stateful tasks that must change owner to reach the target's loads; ``probing_rebalances``: the
    ticks that these take at ``max.warmup.replicas`` at a time if every one of them has to warm up (a task may also
    move to a copy that is there, or be promoted in a follow-up); ``restored_records`` is ``None`` unless computed.
    """

    moves: int
    probing_rebalances: int
    restored_records: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The plan in figures (README, "How a plan reads").

    ``duration_is``: ``floor`` without a restore rate (copies may need more than one tick), else ``estimate``.
    ``moves``: stateful tasks whose owning instance differs at the end (one that nobody ran at first has not moved);
    ``hops``: changes of owning instance on the way;
    ``stateless_hops`` those of stateless tasks; ``cold_handovers``: hand-overs of a stateful task to a copy above the
    limit; ``paused_task_ms``: over all tasks, the time that they stand still;
    ``peak_extra_copies``: most warm-up and temporary copies at once.
    """

    rebalances: int
    probing_rebalances: int
    duration_ms: int
    duration_is: Literal["floor", "estimate"]
    moves: int
    hops: int
    warmups: int
    cold_handovers: int
    restored_records: int | None
    paused_task_ms: int
    max_paused_task: PausedTask | None
    peak_extra_copies: int
    stateless_hops: int
    lower_bounds: LowerBounds


class CauseCode(StrEnum):
    """Why a copy that is waited for is not caught up."""

    #: What its instance restores grows at least as fast as it is restored.
    RESTORE_TOO_SLOW = "restore-too-slow"
    #: Even a copy that has caught up is further behind than ``acceptable.recovery.lag``.
    STANDING_LAG = "standing-lag"
    #: The instance restores, and so reports, nothing.
    SILENT_INSTANCE = "silent-instance"
    #: It comes closer, only not fast enough.
    SLOW = "slow"


class Cause(NamedTuple):
    """What keeps a group from settling: the task, the process id of the instance it waits for, and one sentence."""

    code: CauseCode
    task_id: TaskId
    process_id: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the plan ends: ``settled``, ``stuck``, ``cyclic`` or ``unfinished``, the tasks that keep it, and why.

    ``cause`` names the first copy that is waited for, if one is.
    """

    kind: Literal["settled", "stuck", "cyclic", "unfinished"]
    tasks: tuple[TaskId, ...] = ()
    reason: str = ""
    cause: Cause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What follows when a rebalance starts now.

    ``digest`` is the SHA-256 of the canonical input model, ``snapshot_digest`` that of the snapshot and the settings
    alone (the same unless a scenario is played), ``generation`` and ``captured_at`` (RFC 3339 or ``None``) are the
    snapshot's. ``initial`` and ``final`` are by consumer index of ``group``: everyone who ever takes part. ``members``
    are the process ids and numbers of stream threads of those who do at the end. ``config`` counts from the start,
    ``later_configs`` (number of the first round, settings) from then on. ``outages`` are those that the group does not
    notice, in time: restarts of static members within the session time-out, which no round tells of.
    """

    group: Group
    digest: str
    snapshot_digest: str
    generation: int
    captured_at: str | None
    assignor: str
    protocol: str
    config: AssignmentConfig
    assumptions: tuple[Note, ...]
    initial: tuple[Holding, ...]
    rounds: tuple[Round, ...]
    final: tuple[Holding, ...]
    members: tuple[tuple[str, int], ...]
    target: Target
    summary: Summary
    warnings: tuple[Note, ...]
    verdict: Verdict
    later_configs: tuple[tuple[int, AssignmentConfig], ...] = ()
    outages: tuple[Outage, ...] = ()

    @property
    def first_members(self) -> tuple[str, ...]:
        """The process ids of those who take part before the first rebalance, joining in which they do not."""
        last = {process_id for process_id, _ in self.members}
        joins_first: dict[str, bool] = {}
        for rnd in self.rounds:
            for step in rnd.steps:
                if isinstance(step, MemberJoined | MemberLeft):
                    joins_first.setdefault(step.process_id, isinstance(step, MemberJoined))
        ids = (instance.process_id for instance in self.group.instances)
        return tuple(one for one in ids if not joins_first.get(one, one not in last))

    def config_of(self, round_number: int) -> AssignmentConfig:
        """Return the settings that a round was decided with."""
        later = [config for first, config in self.later_configs if first <= round_number]
        return later[-1] if later else self.config
