"""Whether the starts of a saved plan, caught up or cold, agree with the figures that decided them."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model import Task
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.plans import HandOver, Plan, Promote, ReasonCode
from kstream_plan.plans.step_rows import STARTS, are

#: Who starts for these reasons is behind, unless there is nothing to restore.
_BEHIND = (
    ReasonCode.NO_STATE_ANYWHERE,
    ReasonCode.MOST_CAUGHT_UP,
    ReasonCode.TARGET_WARMS_UP,
    ReasonCode.BROKER_DECIDES,
)
#: Who starts for these is not.
_READY = (ReasonCode.TARGET_CAUGHT_UP, ReasonCode.CAUGHT_UP_MEANWHILE)
#: These are reasons for tasks without state only.
_STATELESS = (ReasonCode.STATELESS_LEAST_LOADED, ReasonCode.STATELESS_EVENED_OUT)


def wrong_starts(plan: Plan) -> Iterator[tuple[int, int, str, str]]:
    """Yield the starts that contradict themselves: round and step, from 0, the field, and its problem."""
    tasks, index = plan.group.tasks, plan.group.task_index
    for place, rnd in enumerate(plan.rounds):
        limit = plan.config_of(rnd.number).acceptable_recovery_lag
        starts = are(rnd.steps.rows["kind"], *STARTS)
        for number, step in zip(starts.nonzero()[0].tolist(), rnd.steps.steps_of(starts), strict=True):
            assert isinstance(step, HandOver | Promote)
            wrong = _wrong(step, tasks[index[step.task_id]], limit)
            if wrong is not None:
                yield place, number, *wrong


def _wrong(step: HandOver | Promote, task: Task, limit: int) -> tuple[str, str] | None:
    """Return which field of a start contradicts the others, and how; ``None``: none does."""
    reason, restores = step.reason, step.restore_records
    if not task.stateful:
        return ("restore_records", f"is {restores}, of a task without state") if restores else None
    if reason.code in _STATELESS:
        return "reason", f"is {reason.code.value}, of a task with state"
    if reason.limit is not None and reason.limit != limit:
        return "reason", f"has the limit {reason.limit}, and acceptable.recovery.lag is {limit}"
    ready = _ready(step)
    # another thread finds nothing of a store in memory, however near its copy was
    is_lost = ready and (restores is None or not is_caught_up(restores, limit))
    if ready is not None and ready != step.caught_up and not is_lost:
        lag = "" if reason.lag is None else f", lag {reason.lag}"
        return "caught_up", f"is {str(step.caught_up).lower()}, and the reason is {reason.code.value}{lag}"
    return None


def _ready(step: HandOver | Promote) -> bool | None:
    """Return whether a task starts caught up by its reason; ``None``: the reason does not tell."""
    reason = step.reason
    if step.restore_records == 0:
        return True
    if reason.lag is not None and reason.limit is not None:
        return is_caught_up(reason.lag, reason.limit)
    return {**dict.fromkeys(_BEHIND, False), **dict.fromkeys(_READY, True)}.get(reason.code)
