"""What happens: the steps of a round, their reasons, rounds and the plan.

A plan is data: every output reads it and none computes anything the plan does not hold. Steps are lossless:
``Plan.initial`` plus the steps of rounds 1 … n gives what the members hold after round n
(:func:`~kstream_plan.plans.replay.replay`) and, together with that round's :class:`Withhold` steps, what was decided in
it.
"""

from kstream_plan.plans.pauses import Pauses
from kstream_plan.plans.plan import Plan, RunSoFar
from kstream_plan.plans.round_steps import Places, StatelessChanges, StatelessSteps
from kstream_plan.plans.rounds import Balance, MemberUpdate, Phase, Round, Trigger, probes_after_ms
from kstream_plan.plans.steps import (
    Demote,
    Drop,
    HandOver,
    InstanceLeaving,
    InstanceStays,
    KeepTemporary,
    MemberJoined,
    MemberLeft,
    NobodyRuns,
    OfNoSingleTask,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    StopLearned,
    ThreadMove,
    Withhold,
    restores_anew,
)
from kstream_plan.plans.summary import FigureRange, LowerBounds, PausedTask, Summary
from kstream_plan.plans.task_pauses import Outage, Pause
from kstream_plan.plans.verdict import Cause, CauseCode, Verdict

__all__ = [
    "Balance",
    "Cause",
    "CauseCode",
    "Demote",
    "Drop",
    "FigureRange",
    "HandOver",
    "InstanceLeaving",
    "InstanceStays",
    "KeepTemporary",
    "LowerBounds",
    "MemberJoined",
    "MemberLeft",
    "MemberUpdate",
    "NobodyRuns",
    "OfNoSingleTask",
    "Outage",
    "Pause",
    "PausedTask",
    "Pauses",
    "Phase",
    "Place",
    "Places",
    "Plan",
    "Promote",
    "Reason",
    "ReasonCode",
    "Revoke",
    "Role",
    "Round",
    "RunSoFar",
    "Seat",
    "StatelessChanges",
    "StatelessSteps",
    "Step",
    "StopLearned",
    "Summary",
    "ThreadMove",
    "Trigger",
    "Verdict",
    "Withhold",
    "probes_after_ms",
    "restores_anew",
]
