"""The fields of a plan's JSON that say what happens: every kind of step, its seats and its reason."""

from __future__ import annotations

from typing import Any

from kstream_plan.documents.codec import (
    WHOLE,
    Codec,
    or_null,
    with_name,
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
    return Field(WHOLE, description, default=None, left_out=True)


FORM.add(
    Seat, interned(FORM.record(Seat, "One consumer in one role.", ref="seat"), "process_id", "consumer_id", "role")
)
_WHY = {
    ReasonCode.TARGET_CAUGHT_UP: "The balanced target puts the task there and its copy there is caught up.",
    ReasonCode.TARGET_WARMS_UP: "The target puts the task there, but its copy there has to catch up first.",
    ReasonCode.CAUGHT_UP_MEANWHILE: "The target instance is not caught up; this one is, and runs the task meanwhile.",
    ReasonCode.MOST_CAUGHT_UP: "No instance is caught up; this one is the most caught-up one.",
    ReasonCode.NO_STATE_ANYWHERE: "No instance has usable state of the task: it starts where the target puts it.",
    ReasonCode.STANDBY_WANTED: "num.standby.replicas asks for a copy here.",
    ReasonCode.STATELESS_LEAST_LOADED: "Every rebalance reassigns stateless tasks to the least loaded instance.",
    ReasonCode.STATELESS_EVENED_OUT: "Stateless tasks move only where the balance requires it.",
    ReasonCode.THREADS_EVENED_OUT: "The instance keeps the task; the load of its threads is balanced.",
    ReasonCode.OWNER_MUST_REVOKE: "The current owner has to give the task up first.",
    ReasonCode.MOVES_AWAY: "The task moves to another instance.",
    ReasonCode.NOT_NEEDED: "The copy is no longer needed.",
    ReasonCode.MEMBERSHIP: "An instance joins or leaves the group.",
    ReasonCode.BROKER_DECIDES: "The broker's assignor puts the task there, whatever state there is.",
    ReasonCode.LEARNS: (
        "The balance, or an owner that leaves, requires the task here, where a learner restores it and then takes over."
    ),
    ReasonCode.LEARNED: "Its learner has caught up, and takes over.",
    ReasonCode.MOVES_AT_ONCE: "The task cuts over within one rebalance.",
    ReasonCode.SCALE_DOWN: "The instance is leaving, or has not returned: its tasks are learned by others.",
    ReasonCode.THREAD_STOPPED: "The instance keeps running, this thread of it does not.",
    ReasonCode.KEPT_FOR_RETURN: "Its worker is gone; it is kept for that worker (scheduled.rebalance.max.delay.ms).",
    ReasonCode.LEADER_LEFT: "The worker led: the next leader remembers nothing, and so keeps nothing for lost workers.",
    ReasonCode.DEALT_OUT_NEXT: "It is assigned in the rebalance that follows.",
    ReasonCode.LEAST_LOADED: "The worker with the fewest of its kind gets it, or one that returned while it was kept.",
    ReasonCode.NOT_CONFIGURED: "It is not configured yet, or any more: no worker is to run it.",
    ReasonCode.STOOD_STILL: "It was unassigned before the plan begins: it counts as paused from 0.",
}
FORM.record(
    Reason,
    "Why, with the numbers that decided.",
    ref="reason",
    code="\n".join(f"{code}: {_WHY[code]}" for code in ReasonCode),
    lag=_left_out("Lag in records of the copy that decided; -2: it is the running active, -3: unknown."),
    limit=_left_out("acceptable.recovery.lag."),
    other_lag=_left_out("Lag of the copy that it was compared with."),
)

_RESTORE_RECORDS = "Records still to be restored; null if the end offset is unknown."
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
        stopped_at_ms=WHOLE.described("When it stopped running, on the plan's clock."),
    ),
    FORM.record(
        InstanceLeaving,
        "An instance is to be emptied: others learn its tasks. Effect: none on what is held.",
        process_id="The instance.",
        until_ms=WHOLE.described("By then it is gone, whatever it still runs, on the plan's clock."),
        absent_since_ms=Field(or_null(WHOLE), "When it stopped running, though it may return; null: it is running."),
    ),
    FORM.record(
        InstanceStays,
        "An instance that was leaving, or absent, is an ordinary member again. Effect: none on what is held.",
        process_id="The instance.",
    ),
    FORM.record(
        StopLearned,
        "The owners of tasks that others learn stop them before they join the rebalance; each runs again with its "
        "answer, at its learner, which a hand-over states, or where it was. Effect: none on what is held.",
        task_ids="The tasks.",
    ),
    FORM.record(
        NobodyRuns,
        "This work is unassigned after the decision. Effect: none on what is held.",
        task_ids="The unassigned work.",
        until_ms=Field(or_null(WHOLE), "Not before then, on the plan's clock; null if unknown."),
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
        "The task is decided for `to`, but withheld until `from` has revoked it. Effect: none on what is held; in "
        "this round's decision, and in no other, the task is active at `to`.",
        from_="The current owner.",
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
        "The task starts on `to`; `from` revoked it in the round before. Effect: any copy that `to`'s instance held "
        "of the task ends; `active` at `to` begins.",
        from_="The former owner; null if the task was unassigned before.",
        to="The new owner.",
        caught_up="Whether its copy there is within acceptable.recovery.lag; always true for a stateless task.",
        restore_records=_RESTORE_RECORDS,
    ),
    FORM.record(
        Promote,
        "A copy that the instance holds becomes the active, without an owner that had to revoke it first. Effect: any "
        "copy that `to`'s instance held of the task ends; `active` at `to` begins.",
        from_="The copy's seat.",
        to="The new owner.",
        caught_up="As for hand-over.",
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
    with_name(
        "step",
        tagged(
            "kind",
            "One change for one task or instance; `kind` decides which fields there are and what it changes in what "
            "is held.",
            _STEPS,
        ),
    ),
)
