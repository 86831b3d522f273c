"""The rounds of a plan step by step, each step as a sentence: all of them or those of one round, task or instance."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from kstream_plan.model import LATEST, UNKNOWN, Holding, WorkId
from kstream_plan.plans import Balance, Plan, Reason, ReasonCode, Role, Round, Step
from kstream_plan.plans import steps as kinds
from kstream_plan.render.page import Section
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration, is_are, name_list, records

#: So many tasks of one step are named.
_MOST_NAMED = 6

_ROLE_WORDS = {
    Role.ACTIVE: "active",
    Role.STANDBY: "standby",
    Role.WARMUP: "warm-up",
    Role.TEMPORARY: "temporary standby",
}


def sentence(step: Step, names: Names, lower_bounds: Collection[str] = ()) -> str:
    """Return what the step does and why: ``0_0 starts on i5/1, from i3/2: …``.

    ``lower_bounds`` are the tasks of whose copies only the least that they lack is known.
    """
    return f"{_sentence(step, names, lower_bounds)}: {because(step.reason)}"


def _sentence(  # noqa: C901, PLR0911, PLR0912 - one case per kind of step
    step: Step, names: Names, lower_bounds: Collection[str]
) -> str:
    match step:
        case kinds.MemberJoined():
            return f"{names.instance(step.process_id)} joins"
        case kinds.MemberLeft():
            return f"{names.instance(step.process_id)} leaves"
        case kinds.InstanceLeaving():
            absence = "is leaving" if step.absent_since_ms is None else "has not come back"
            deadline = duration(step.until_ms)
            return f"{names.instance(step.process_id)} {absence}, and is gone at {deadline} at the latest"
        case kinds.InstanceStays():
            return f"{names.instance(step.process_id)} stays after all"
        case kinds.StopLearned():
            verb = "pauses" if len(step.task_ids) == 1 else "pause"
            return f"{_task_list(step.task_ids, names)} {verb} for the rebalance"
        case kinds.NobodyRuns():
            period = "" if step.until_ms is None else f" until {duration(step.until_ms)}"
            return f"{_task_list(step.task_ids, names)} {is_are(len(step.task_ids))} unassigned{period}"
        case kinds.Place():
            return f"{names.task(step.task_id)} {_placed(step, names, lower_bounds)}"
        case kinds.Withhold():
            return f"{names.task(step.task_id)} waits for {names.seat(step.from_)} to stop, then {names.seat(step.to)}"
        case kinds.KeepTemporary():
            return f"{names.task(step.task_id)} is a temporary standby on {names.seat(step.to)} meanwhile"
        case kinds.Revoke():
            return f"{names.task(step.task_id)} stops on {names.seat(step.from_)}"
        case kinds.Demote():
            kept_role = _ROLE_WORDS[step.to.role]
            return f"{names.task(step.task_id)} stops on {names.seat(step.from_)} and keeps its state as a {kept_role}"
        case kinds.HandOver():
            source = f", from {names.seat(step.from_)}" if step.from_ else ""
            return f"{names.task(step.task_id)} starts on {names.seat(step.to)}{source}{_cold(step, lower_bounds)}"
        case kinds.Promote():
            cold = _cold(step, lower_bounds)
            return f"{names.task(step.task_id)} starts on {names.seat(step.to)}, which had a copy{cold}"
        case kinds.ThreadMove():
            noun = "" if step.to.role is Role.ACTIVE else "the copy of "
            return f"{noun}{names.task(step.task_id)} moves from {names.seat(step.from_)} to {names.seat(step.to)}"
        case kinds.Drop():
            return f"the copy of {names.task(step.task_id)} on {names.seat(step.from_)} ends"
        case _:
            assert_never(step)


def _task_list(task_ids: Sequence[WorkId], names: Names) -> str:
    return name_list(list(map(names.task, task_ids)), _MOST_NAMED)


def _placed(step: kinds.Place, names: Names, lower_bounds: Collection[str]) -> str:
    target = names.seat(step.to)
    if step.from_ is not None:
        return f"keeps its copy on {target}, as a {_ROLE_WORDS[step.to.role]}"
    does = "warms up on" if step.to.role is Role.WARMUP else f"gets a {_ROLE_WORDS[step.to.role]} on"
    return f"{does} {target} ({_records(step, lower_bounds)} records to restore)"


def _cold(step: kinds.HandOver | kinds.Promote, lower_bounds: Collection[str]) -> str:
    return "" if step.caught_up else f", cold: {_records(step, lower_bounds)} records to restore first"


def _records(step: kinds.Place | kinds.HandOver | kinds.Promote, lower_bounds: Collection[str]) -> str:
    bound = "at least " if step.restore_records and str(step.task_id) in lower_bounds else ""
    return f"{bound}{records(step.restore_records)}"


#: Why, by code; ``{lag}`` and ``{other}`` stand for the numbers that decided.
_REASONS = {
    ReasonCode.TARGET_CAUGHT_UP: "its place in the target, and caught up there{lag}",
    ReasonCode.TARGET_WARMS_UP: "its place in the target, but it has to catch up first{lag}",
    ReasonCode.CAUGHT_UP_MEANWHILE: "caught up here{lag}, while the target instance is not ({other})",
    ReasonCode.MOST_CAUGHT_UP: "no copy has caught up, and this one is the closest{lag}",
    ReasonCode.NO_STATE_ANYWHERE: "no instance has usable state, so it starts on its target{lag}",
    ReasonCode.STANDBY_WANTED: "num.standby.replicas asks for it{lag}",
    ReasonCode.STATELESS_LEAST_LOADED: "stateless: every decision assigns it to the least loaded instance",
    ReasonCode.STATELESS_EVENED_OUT: "stateless, and moved here for balance",
    ReasonCode.THREADS_EVENED_OUT: "the instance balances its threads",
    ReasonCode.OWNER_MUST_REVOKE: "its owner must revoke it first",
    ReasonCode.MOVES_AWAY: "it moves to another instance{lag}",
    ReasonCode.NOT_NEEDED: "no longer needed",
    ReasonCode.BROKER_DECIDES: "the broker's assignor decides, whatever state is there{lag}",
    ReasonCode.LEARNS: "a learner, which takes it over once it has caught up{lag}",
    ReasonCode.LEARNED: "its learner has caught up{lag}",
    ReasonCode.MOVES_AT_ONCE: "it changes its owner within one rebalance",
    ReasonCode.SCALE_DOWN: "its tasks are learned on other instances first",
    ReasonCode.THREAD_STOPPED: "this thread stops",
    ReasonCode.MEMBERSHIP: "the membership changes",
    ReasonCode.KEPT_FOR_RETURN: "kept for the worker that ran it until the delay has passed",
    ReasonCode.LEADER_LEFT: "not kept: the worker led the group, and the next leader does not know of its work",
    ReasonCode.DEALT_OUT_NEXT: "assigned in the next rebalance",
    ReasonCode.LEAST_LOADED: "assigned to the least loaded worker, or to one that came back",
    ReasonCode.NOT_CONFIGURED: "it is not configured",
    ReasonCode.STOOD_STILL: "unassigned since before the plan",
}


def because(reason: Reason) -> str:
    """Return the reason in words, with its numbers."""
    lag = "" if reason.lag is None else f" ({_lag_words(reason.lag, reason.limit)})"
    return _REASONS[reason.code].format(lag=lag, other=_lag_words(reason.other_lag))


def _lag_words(lag: int | None, limit: int | None = None) -> str:
    """Return a lag beside the limit it was compared with: ``lag 40, within the limit of 100``; markers in words."""
    if lag is None:
        return "no lag reported"
    comparison = "" if limit is None else f", {'within' if lag <= limit else 'above'} the limit of {limit:,}"
    return {LATEST: "it runs there", UNKNOWN: "lag unknown"}.get(lag, f"lag {lag:,}{comparison}")


@dataclass(frozen=True, slots=True)
class Focus:
    """What to show of a plan: one round's number, one task, one instance's process id; ``None`` stands for all."""

    round_number: int | None = None
    task_id: WorkId | None = None
    process_id: str | None = None


def details(plan: Plan, names: Names, focus: Focus) -> Iterator[Section]:
    """Yield every round that has a step in focus, a sentence for each; if none is left out, how balanced it is."""
    lower_bounds = plan.lower_bound_lags
    for round_ in plan.rounds:
        if focus.round_number not in (None, round_.number):
            continue
        steps = [step for step in round_.steps if _in_focus(step, focus)]
        whole = focus.task_id is None and focus.process_id is None
        if steps or whole:
            balance = (_balance(round_.balance, of_workers=plan.is_of_workers),) if whole else ()
            yield Section(_heading(round_), (*(sentence(step, names, lower_bounds) for step in steps), *balance))


NO_STEP = "No step of this plan is about that"


def where_it_stands(plan: Plan, names: Names, focus: Focus) -> tuple[str, ...]:
    """Return where the task in focus is, and what the instance in focus holds, before the plan and after it."""
    sentences: list[str] = []
    for moment, holdings in (("before", plan.initial), ("after", plan.final)):
        if focus.task_id is not None:
            places = _places(plan, names, holdings, focus.task_id)
            sentences.append(f"{moment}: {names.task(focus.task_id)} is {', '.join(places) or 'nowhere'}")
        if focus.process_id is not None:
            roles = _roles(plan, names, holdings, focus.process_id)
            sentences.append(f"{moment}: {names.instance(focus.process_id)} holds {'; '.join(roles) or 'nothing'}")
    return tuple(sentences)


def _places(plan: Plan, names: Names, holdings: Sequence[Holding], task_id: WorkId) -> list[str]:
    group, task = plan.group, plan.group.task_index[task_id]
    return [
        f"{role} on {names.instance(group.instances[group.instance_of[consumer]].process_id)}"
        for role in Role
        for consumer, roles in enumerate(holdings)
        if task in getattr(roles, role)
    ]


def _roles(plan: Plan, names: Names, holdings: Sequence[Holding], process_id: str) -> list[str]:
    group = plan.group
    consumers = group.consumers_of[group.instance_index[process_id]]
    roles = []
    for role in Role:
        tasks = sorted(task for consumer in consumers for task in getattr(holdings[consumer], role))
        if tasks:
            roles.append(f"{len(tasks):,} {role}: {' '.join(names.task(group.tasks[task].task_id) for task in tasks)}")
    return roles


def _heading(round_: Round) -> str:
    phases = f" ({', '.join(phase.value for phase in round_.phases)})" if round_.phases else ""
    title = f"Rebalance {round_.number:,} at {duration(round_.at_ms)}"
    return f"{title}: {round_.trigger.value}{phases}, generation {round_.generation:,}"


def _balance(balance: Balance, *, of_workers: bool) -> str:
    if of_workers:
        return f"Balance: connectors and tasks per worker differ by {balance.balance_factor:,}"
    tasks = f"within a subtopology by {balance.subtopology_task_spread:,}"
    instances = f"instances per subtopology by {balance.subtopology_spread:,}"
    return f"Balance: tasks per instance differ by {balance.balance_factor:,}, {tasks}; {instances}"


def _in_focus(step: Step, focus: Focus) -> bool:
    """Return whether a step is about the task and the instance in focus."""
    seats = (getattr(step, name, None) for name in ("from_", "to"))
    members = [getattr(step, "process_id", None), *(seat.process_id for seat in seats if seat is not None)]
    is_of_task = focus.task_id in (None, getattr(step, "task_id", None))
    return is_of_task and (focus.process_id is None or focus.process_id in members)
