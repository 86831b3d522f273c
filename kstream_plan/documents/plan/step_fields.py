"""The fields of a plan's JSON that say what happens: every kind of step, its seats and its reason."""

from __future__ import annotations

from typing import Any

from kstream_plan.documents.codec import (
    WHOLE,
    Codec,
    named,
    or_null,
)
from kstream_plan.documents.plan.group_fields import FORM
from kstream_plan.documents.records import Field, interned, tagged
from kstream_plan.plans import (
    Demote,
    Drop,
    HandOver,
    InstanceLeaving,
    InstanceStays,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    NobodyRuns,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Seat,
    Step,
    StopLearned,
    ThreadMove,
    Withhold,
)


def _left_out(description: str) -> Field:
    """Return a field that is there only if there is something to tell."""
    return Field(WHOLE, description, missing=None, left_out=True)


FORM.add(
    Seat, interned(FORM.record(Seat, "One consumer in one role.", ref="seat"), "process_id", "consumer_id", "role")
)
_WHY = {
    ReasonCode.TARGET_CAUGHT_UP: "The balanced target puts the task there and its copy there is caught up.",
    ReasonCode.TARGET_WARMS_UP: "The target puts the task there, but its copy there has to catch up first.",
    ReasonCode.CAUGHT_UP_MEANWHILE: "The target instance is not caught up; this one is, and runs the task meanwhile.",
    ReasonCode.MOST_CAUGHT_UP: "Nobody is caught up; this instance is the most caught-up one.",
    ReasonCode.NO_STATE_ANYWHERE: "Nobody has usable state of the task: it starts where the target puts it.",
    ReasonCode.STANDBY_WANTED: "num.standby.replicas asks for a copy here.",
    ReasonCode.STATELESS_LEAST_LOADED: "Stateless tasks go to the least loaded instance, anew at every rebalance.",
    ReasonCode.STATELESS_EVENED_OUT: "Stateless tasks move only where the balance needs it.",
    ReasonCode.THREADS_EVENED_OUT: "The instance keeps the task; its threads are evened out.",
    ReasonCode.OWNER_MUST_REVOKE: "The present owner has to give the task up first.",
    ReasonCode.MOVES_AWAY: "The task goes elsewhere.",
    ReasonCode.NOT_NEEDED: "The copy is no longer needed.",
    ReasonCode.MEMBERSHIP: "An instance is new in the group, or gone from it.",
    ReasonCode.BROKER_DECIDES: "The broker's assignor puts the task there, whatever state there is.",
    ReasonCode.LEARNS: "The balance, or a leaving owner, needs the task here, where it is learned and then taken over.",
    ReasonCode.LEARNED: "Its learner has caught up, and takes over.",
    ReasonCode.MOVES_AT_ONCE: "It changes hands within one rebalance.",
    ReasonCode.SCALE_DOWN: "The instance is leaving, or has not come back: its tasks are learned elsewhere.",
    ReasonCode.THREAD_STOPPED: "The instance runs on, this thread of it does not.",
    ReasonCode.KEPT_FOR_RETURN: "Who ran it is gone; it is kept for them (scheduled.rebalance.max.delay.ms).",
    ReasonCode.LEADER_LEFT: "The worker led: who leads next remembers nothing, and so keeps nothing for who has gone.",
    ReasonCode.DEALT_OUT_NEXT: "It is dealt out in the rebalance that follows.",
    ReasonCode.LEAST_LOADED: "Who has least of its kind gets it, or one that came back while it was kept.",
    ReasonCode.NOT_CONFIGURED: "It is not configured yet, or any more: nobody is to run it.",
    ReasonCode.STOOD_STILL: "Nobody has run it since before the plan: it counts as paused from 0.",
}
FORM.record(
    Reason,
    "Why, with the numbers that decided.",
    ref="reason",
    code="\n".join(f"{code}: {_WHY[code]}" for code in ReasonCode),
    lag=_left_out("Lag in records of the copy that decided; -2: it is the running active, -3: it is unknown."),
    limit=_left_out("acceptable.recovery.lag."),
    other_lag=_left_out("Lag of the copy it was compared with."),
)

_RESTORE_RECORDS = "Records still to be restored; null if the end offset is not known."
_STEPS: list[Codec[Any]] = [
    FORM.record(
        MemberJoined,
        "An instance takes part for the first time. Effect: none on what is held.",
        process_id="The instance.",
    ),
    FORM.record(
        MemberLeft,
        "An instance is gone. Effect: everything it held ends.",
        process_id="The instance.",
        stopped_at_ms=WHOLE.said("Since when it has run nothing, on the plan's clock."),
    ),
    FORM.record(
        InstanceLeaving,
        "An instance is to be emptied: its tasks are learned elsewhere. Effect: none on what is held.",
        process_id="The instance.",
        until_ms=WHOLE.said("By then it is gone, whatever it still runs, on the plan's clock."),
        absent_since_ms=Field(or_null(WHOLE), "Since when it has not run, though it may come back; null: it runs on."),
    ),
    FORM.record(
        InstanceStays,
        "An instance that was leaving, or absent, is an ordinary member again. Effect: none on what is held.",
        process_id="The instance.",
    ),
    FORM.record(
        StopLearned,
        "The owners of tasks that others learn stop them before they join the rebalance; each runs again with its "
        "answer, at its learner, which a hand-over tells, or where it was. Effect: none on what is held.",
        task_ids="The tasks.",
    ),
    FORM.record(
        NobodyRuns,
        "Nobody runs this work after the decision, which gives it to nobody. Effect: none on what is held.",
        task_ids="What nobody runs.",
        until_ms=Field(or_null(WHOLE), "Not before then, on the plan's clock; null if not known."),
    ),
    FORM.record(
        Place,
        "A standby or warm-up copy is assigned to `to`. Effect: the role at `from`, if any, ends; the role at `to` "
        "begins.",
        from_="The copy's former seat in the same instance; null if it had none.",
        to="Where the copy is held.",
        restore_records=_RESTORE_RECORDS,
    ),
    FORM.record(
        Withhold,
        "The task is decided for `to`, but kept from it until `from` has revoked it. Effect: none on what is held; in "
        "this round's decision, and in no other, the task is active at `to`.",
        from_="The present owner.",
        to="The next owner.",
    ),
    FORM.record(
        KeepTemporary,
        "The instance that a task is withheld from holds its copy as a temporary standby meanwhile. Effect: the role "
        "at `from`, if any, ends; `temporary` at `to` begins.",
        from_="The copy's former seat in the same instance; null for left-over state.",
        to="Where it is held meanwhile.",
    ),
    FORM.record(
        Revoke,
        "The owner gives up the active task and keeps no copy assigned; its state stays on disk as left-over. Effect: "
        "`active` at `from` ends.",
        from_="The owner.",
    ),
    FORM.record(
        Demote,
        "The owner gives up the active task and keeps a copy. Effect: `active` at `from` ends; the role at `to` (same "
        "instance) begins.",
        from_="The owner.",
        to="What it keeps.",
    ),
    FORM.record(
        HandOver,
        "The task starts on `to`; `from` revoked it in the round before. Effect: any copy that `to`'s instance held of "
        "the task ends; `active` at `to` begins.",
        from_="The former owner; null if nobody ran it before.",
        to="The new owner.",
        caught_up="Whether the copy it starts from is within acceptable.recovery.lag; always, for a stateless task.",
        restore_records=_RESTORE_RECORDS,
    ),
    FORM.record(
        Promote,
        "A copy that the instance holds becomes the active, without an owner that had to revoke it first. Effect: any "
        "copy that `to`'s instance held of the task ends; `active` at `to` begins.",
        from_="The copy's seat.",
        to="The new owner.",
        caught_up="As of hand-over.",
        restore_records=_RESTORE_RECORDS,
    ),
    FORM.record(
        ThreadMove,
        "A task changes the thread inside its instance, in the same role; an active one was withheld in the round "
        "before and revoked by `from` then. Effect: the role at `from` ends if it is still there, and so does any "
        "other copy the instance held of it; the role at `to` begins.",
        from_="The former thread.",
        to="The new thread.",
    ),
    FORM.record(
        Drop,
        "A standby, warm-up or temporary copy is no longer assigned. Effect: the role at `from` ends.",
        from_="Where it was held.",
    ),
]
STEP = FORM.add(
    Step,
    named(
        "step",
        tagged(
            "kind",
            "One change for one task or instance; `kind` decides which fields there are and what it does to what is "
            "held.",
            _STEPS,
        ),
    ),
)
