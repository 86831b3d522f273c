"""Why a step happens."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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
