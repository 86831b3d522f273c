"""The kinds of step, what each does to what is held, the reasons, and the consumers and roles that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import Group, WorkId
from kstream_plan.model.group import thread_number


class Role(StrEnum):
    """What a consumer is to a task."""

    ACTIVE = "active"
    STANDBY = "standby"
    WARMUP = "warmup"
    TEMPORARY = "temporary"


class Seat(NamedTuple):
    """One consumer in one role."""

    process_id: str
    consumer_id: str
    role: Role

    def is_at(self, seat: Seat) -> bool:
        """Return whether it is the same thread in the same role; a thread that joins again has another consumer id."""
        if self.process_id != seat.process_id or self.role is not seat.role:
            return False
        number = thread_number(self.consumer_id)
        return self.consumer_id == seat.consumer_id or (number != "" and number == thread_number(seat.consumer_id))


class ReasonCode(StrEnum):
    """Why a step happens."""

    #: The balanced target puts the task there and its copy there is caught up.
    TARGET_CAUGHT_UP = "target-caught-up"
    #: The target puts the task there, but its copy there has to catch up first.
    TARGET_WARMS_UP = "target-warms-up"
    #: The target instance is not caught up; this one is, and runs the task meanwhile.
    CAUGHT_UP_MEANWHILE = "caught-up-meanwhile"
    #: No instance is caught up; this one is the most caught-up one.
    MOST_CAUGHT_UP = "most-caught-up"
    #: No instance has usable state of the task: it starts where the target puts it.
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
    #: The broker's assignor puts the task there, whatever state there is.
    BROKER_DECIDES = "broker-decides"
    #: The balance, or a leaving owner, needs the task here: it is learned, and taken over when that is done.
    LEARNS = "learns"
    #: Its learner has caught up, and takes over.
    LEARNED = "learned"
    #: It changes hands within one rebalance.
    MOVES_AT_ONCE = "moves-at-once"
    #: The instance is leaving, or has not come back: its tasks are learned elsewhere.
    SCALE_DOWN = "scale-down"
    #: The instance runs on, this thread of it does not.
    THREAD_STOPPED = "thread-stopped"
    #: Who ran it is gone, and it is kept for them until a delay has passed (scheduled.rebalance.max.delay.ms).
    KEPT_FOR_RETURN = "kept-for-return"
    #: A Connect worker has gone that led: who leads next remembers nothing, and so keeps nothing for who has gone.
    LEADER_LEFT = "leader-left"
    #: It is assigned in the rebalance that follows.
    DEALT_OUT_NEXT = "dealt-out-next"
    #: Who has least of its kind gets it, or one that came back while it was kept.
    LEAST_LOADED = "least-loaded"
    #: Nobody has run it since before the plan: in a Connect group who has least of its kind gets it, or one that came
    #: back meanwhile.
    STOOD_STILL = "stood-still"
    #: It is not configured (yet, or any more), so that it stays unassigned.
    NOT_CONFIGURED = "not-configured"


class Reason(NamedTuple):
    """Why, with the numbers that decided.

    ``lag`` is the deciding copy's lag (Kafka's markers included), ``limit`` is ``acceptable.recovery.lag``,
    ``other_lag`` the lag of the copy it was compared with.
    """

    code: ReasonCode
    lag: int | None = None
    limit: int | None = None
    other_lag: int | None = None


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
class InstanceLeaving:
    """An instance is to be emptied: its tasks are learned elsewhere, until ``until_ms`` at the latest.

    ``absent_since_ms``: it has not run since then, and may come back; ``None``: it runs on. Both on the plan's clock.
    No effect on what is held.
    """

    process_id: str
    until_ms: int
    absent_since_ms: int | None
    reason: Reason
    kind: Literal["instance-leaving"] = "instance-leaving"


@dataclass(frozen=True, slots=True)
class InstanceStays:
    """An instance that was leaving, or absent, is an ordinary member again. No effect on what is held."""

    process_id: str
    reason: Reason
    kind: Literal["instance-stays"] = "instance-stays"


@dataclass(frozen=True, slots=True)
class StopLearned:
    """The owners of these tasks, which others learn, stop them before they join the rebalance.

    Each runs again with its answer: at its learner, which a :class:`HandOver` states, or where it was. No effect on
    what is held.
    """

    task_ids: tuple[WorkId, ...]
    reason: Reason
    kind: Literal["stop-learned"] = "stop-learned"


@dataclass(frozen=True, slots=True)
class NobodyRuns:
    """Work that is unassigned after the decision, until at least ``until_ms`` on the plan's clock (``None``: unknown).

    The round's decision assigns it to no consumer. No effect on what is held.
    """

    task_ids: tuple[WorkId, ...]
    until_ms: int | None
    reason: Reason
    kind: Literal["nobody-runs"] = "nobody-runs"


@dataclass(frozen=True, slots=True)
class Place:
    """A standby or warm-up copy is assigned to ``to``; ``from_``: the copy's former seat in the same instance, if any.

    ``restore_records``: what the copy has to restore; ``None`` if the end offset is not known.
    Effect: the role at ``from_`` ends, the role at ``to`` begins.
    """

    task_id: WorkId
    from_: Seat | None
    to: Seat
    restore_records: int | None
    reason: Reason
    kind: Literal["place"] = "place"


@dataclass(frozen=True, slots=True)
class Withhold:
    """The task is decided for ``to`` but kept from it until ``from_`` has revoked it. No effect on what is held.

    In the round's decision, and in no other, the task is active at ``to``, and at ``from_`` no more.
    """

    task_id: WorkId
    from_: Seat
    to: Seat
    reason: Reason
    kind: Literal["withhold"] = "withhold"


@dataclass(frozen=True, slots=True)
class KeepTemporary:
    """The instance that a task is withheld from holds its copy as a temporary standby meanwhile.

    Effect: the role at ``from_`` (``None`` for left-over state) ends, ``temporary`` at ``to`` begins.
    """

    task_id: WorkId
    from_: Seat | None
    to: Seat
    reason: Reason
    kind: Literal["keep-temporary"] = "keep-temporary"


@dataclass(frozen=True, slots=True)
class Revoke:
    """The owner gives up the active task and keeps no copy assigned (its state stays on disk as left-over).

    Effect: ``active`` at ``from_`` ends.
    """

    task_id: WorkId
    from_: Seat
    reason: Reason
    kind: Literal["revoke"] = "revoke"


@dataclass(frozen=True, slots=True)
class Demote:
    """The owner gives up the active task and keeps a copy: standby, warm-up or (if it is to get it back) temporary.

    Effect: ``active`` at ``from_`` ends, the role at ``to`` (same instance) begins.
    """

    task_id: WorkId
    from_: Seat
    to: Seat
    reason: Reason
    kind: Literal["demote"] = "demote"


@dataclass(frozen=True, slots=True)
class HandOver:
    """The task starts on ``to``; ``from_`` revoked it in the round before (``None``: it was unassigned).

    A ``from_`` that gives up everything before each rebalance (eager) revoked it just before this one, and so did the
    owner of a task that was learned; one of whom it is taken without that (``moves-at-once``) does so in this one.

    ``caught_up``: the copy it starts from is within ``acceptable.recovery.lag`` (always, for a stateless task).
    ``restore_records``: what is still to be restored before it runs; ``None`` if the end offset is not known.
    Effect: any copy that ``to``'s instance held of the task ends, ``active`` at ``to`` begins.
    """

    task_id: WorkId
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

    task_id: WorkId
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

    task_id: WorkId
    from_: Seat
    to: Seat
    reason: Reason
    kind: Literal["thread-move"] = "thread-move"


@dataclass(frozen=True, slots=True)
class Drop:
    """A standby, warm-up or temporary copy is no longer assigned. Effect: the role at ``from_`` ends."""

    task_id: WorkId
    from_: Seat
    reason: Reason
    kind: Literal["drop"] = "drop"


#: The kinds of step that are about a single task.
OfSingleTask: TypeAlias = Place | Withhold | KeepTemporary | Revoke | Demote | HandOver | Promote | ThreadMove | Drop
#: The kinds of step that are about an instance, or several tasks.
OfNoSingleTask: TypeAlias = MemberJoined | MemberLeft | InstanceLeaving | InstanceStays | StopLearned | NobodyRuns

Step: TypeAlias = OfSingleTask | OfNoSingleTask


def restores_anew(step: Place | HandOver | Promote, group: Group) -> bool:
    """Tell whether a step is a new copy, or a start that is cold or has no copy to start from.

    What a copy lacks that is caught up was counted when the copy was placed.
    """
    if isinstance(step, Place):
        return step.from_ is None
    if isinstance(step, HandOver) and step.caught_up:
        whole = group.tasks[group.task_index[step.task_id]].end_offset_sum
        return step.restore_records == whole > 0
    return not step.caught_up
