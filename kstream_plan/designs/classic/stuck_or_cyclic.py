"""How a plan ends that does not settle: that it is stuck or goes in circles, and why: the copy it waits for."""

from __future__ import annotations

from kstream_plan.engine.codes import POLL_DELAY_MS
from kstream_plan.model import Assignment, Copy, GroupState, Rates
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Cause, CauseCode, Trigger, Verdict


def repeated(state: GroupState, decision: Assignment, trigger: Trigger | None, period: int) -> Verdict:
    """Return the verdict on a rebalance that repeats the one ``period`` probes, or follow-ups, before it."""
    tasks = tuple(state.group.tasks[task].task_id for task in sorted(decision.movements.tasks))
    rebalances = "follow-ups" if trigger is Trigger.FOLLOW_UP else "probes"
    no_progress = "and no copy has less to restore"
    if period == 1:
        return Verdict("stuck", tasks, f"two consecutive {rebalances} decided the same, {no_progress}")
    return Verdict("cyclic", tasks, f"every {period} {rebalances} the group is in the same state, {no_progress}")


def cause(state: GroupState, decision: Assignment, rates: Rates, config: AssignmentConfig) -> Cause | None:
    """Return the cause of the first copy, in task order, that is waited for; ``None`` if none is.

    Left-over state never is one: it delays nothing that is assigned.
    """
    for movement in sorted(decision.movements):
        copy = _copy(state, movement.task, movement.destination)
        if copy is None or copy.consumer is None or (copy.lag is not None and _ready(copy.lag, config)):
            continue
        code, message = _delay_cause(state, movement.task, copy, rates, config)
        instance = state.group.instances[movement.destination]
        return Cause(code, state.group.tasks[movement.task].task_id, instance.process_id, message)
    return None


def _delay_cause(
    state: GroupState, task: int, copy: Copy, rates: Rates, config: AssignmentConfig
) -> tuple[CauseCode, str]:
    restore, produce = rates.restore_rate(copy.instance), rates.produce_rate(task)
    standing_lag = int(produce * POLL_DELAY_MS / 1000)
    if standing_lag > config.acceptable_recovery_lag:
        return CauseCode.STANDING_LAG, (
            f"at {produce:,g} records/s even a copy that has caught up is {standing_lag:,} records behind, more than "
            f"acceptable.recovery.lag={config.acceptable_recovery_lag}"
        )
    if restore == 0 or (copy.lag is None and restore is None):
        return CauseCode.SILENT_INSTANCE, "the instance restores nothing, so its copy never reports progress"
    busy = _produced_on(state, copy.instance, rates)
    if restore is not None and busy >= restore:
        return CauseCode.RESTORE_TOO_SLOW, (
            f"the copies that the instance restores grow by {busy:,g} records/s, and it restores only {restore:,g}"
        )
    return CauseCode.SLOW, f"its copy is still {copy.remaining:,} records behind"


def _produced_on(state: GroupState, instance: int, rates: Rates) -> float:
    return sum(
        rates.produce_rate(task)
        for task in sorted(state.unsettled)
        for copy in state.copies[task]
        if copy.instance == instance and copy.consumer is not None and copy.remaining
    )


def _copy(state: GroupState, task: int, instance: int) -> Copy | None:
    return next((copy for copy in state.copies[task] if copy.instance == instance), None)


def _ready(lag: int, config: AssignmentConfig) -> bool:
    return is_caught_up(lag, config.acceptable_recovery_lag)
