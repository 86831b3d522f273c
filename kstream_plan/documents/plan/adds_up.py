"""Whether a saved plan adds up: its figures follow from its rounds, its starts from what decided them.

And its draws are no better than the one shown. What does not was edited, or put together from two plans. It is no guard
against somebody who edits all that hangs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kstream_plan.documents.codec import WrongValueError
from kstream_plan.documents.plan.seal import EDITED
from kstream_plan.model import Group, Target, Task
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.planner.summarize import least_moves, still_configured, summarize
from kstream_plan.plans import Balance, HandOver, Phase, Plan, Promote, ReasonCode, Summary, Trigger
from kstream_plan.plans.balance import balances, initial_balance
from kstream_plan.plans.plan import RESTORES_WITHIN_LIMIT
from kstream_plan.plans.round_order import wrong_order
from kstream_plan.plans.simulated import Draws, Simulation, event_outcomes, figures_of
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


def check_plan(plan: Plan) -> None:
    """Check that rounds follow one another, and that all figures follow from them.

    Raises:
        WrongValueError: one is not.
    """
    _check_order(plan)
    _check_probes(plan)
    for place, number, name, problem in wrong_starts(plan):
        raise _edited(problem, f".{name}", f"[{number}]", ".steps", f"[{place}]", ".rounds")
    _check_balances(plan)
    _check_same(_summary(plan), plan.summary, Summary.__dataclass_fields__, ".summary")
    if not plan.summary.cold_handovers and plan.summary.max_cold_restore_ms != 0:
        problem = f"is {_figure(plan.summary.max_cold_restore_ms)}, and no start is cold"
        raise _edited(problem, ".max_cold_restore_ms", ".summary")
    _check_ends(plan)
    _check_verdict(plan)


def check_simulation(simulation: Simulation) -> None:
    """Check that the outcome of each event is what follows from it in the plan's rounds.

    Raises:
        WrongValueError: it is not.
    """
    computed_outcomes = event_outcomes(simulation.plan, simulation.scenario)
    for place, (outcome, saved_outcome) in enumerate(zip(computed_outcomes, simulation.events, strict=True)):
        names = [name for name in saved_outcome.__dataclass_fields__ if name != "event"]
        _check_same(outcome, saved_outcome, names, f"[{place}]", ".events", ".simulation")


def check_draws(draws: Draws, plan: Plan) -> None:
    """Check that the ranges and the worst of all draws include the plan, which is one of them.

    Raises:
        WrongValueError: they do not.
    """
    keys = (".draws", ".simulation")
    if draws.settled > draws.number:
        raise _edited(f"is {draws.settled}, of {draws.number} random simulations", ".settled", *keys)
    if draws.shown >= draws.number:
        raise _edited(f"is {draws.shown}, of {draws.number} random simulations from 0", ".shown", *keys)
    settles = plan.verdict.kind == "settled"
    if settles != (2 * draws.settled >= draws.number):
        problem = (
            f"is {draws.settled}, of {draws.number} random simulations, and the one that is shown {_settles(settles)}"
        )
        raise _edited(problem, ".settled", *keys)
    for name, plan_figure in figures_of(plan)._asdict().items():
        figure_range = getattr(draws, name)
        if not figure_range.least <= figure_range.median <= figure_range.most:
            raise _edited("is not in order: minimum, median, maximum", f".{name}", *keys)
        if not figure_range.least <= plan_figure <= figure_range.most:
            raise _edited(
                f"does not include {plan_figure}, that of the random simulation that is shown", f".{name}", *keys
            )
        if draws.number == 1 and figure_range.least < figure_range.most:
            raise _edited("is a range, of one random simulation", f".{name}", *keys)
    _check_worst(draws, plan, *keys)


def _settles(settles: bool) -> str:
    return "settles" if settles else "does not settle"


def _check_worst(draws: Draws, plan: Plan, *keys: str) -> None:
    # loads every rule, and most plans have no draws
    from kstream_plan.policy.rules.over_draws import LATER_RULES, measure_rules, no_better  # noqa: PLC0415

    plan_figures = measure_rules(plan) if draws.number > 1 or draws.worst else {}
    for key, value in plan_figures.items():
        if key not in draws.worst and key in LATER_RULES:
            continue
        if key not in draws.worst:
            problem = f"has no {key} of the worst random simulation"
            raise WrongValueError(problem, ".worst", *keys, fix="simulate again with this version")
        if not no_better(key, draws.worst[key], value):
            problem = f"is {_figure(draws.worst[key])}, and {_figure(value)} in the random simulation that is shown"
            raise _edited(problem, f"[{key!r}]", ".worst", *keys)
    for key, name in _IN_BOTH.items():
        most = getattr(draws, name).most
        worst = draws.worst.get(key)
        if worst is not None and worst < most:  # of a range the worse end counts, and that may be worse than any draw
            raise _edited(f"is {worst}, and {name}.most {most}", f"[{key!r}]", ".worst", *keys)
    all_settle = draws.settled == draws.number
    if (draws.worst.get("must_settle", all_settle) or 0) > all_settle:
        problem = f"is {draws.worst['must_settle']}, where {draws.settled} of {draws.number} settle"
        raise _edited(problem, "['must_settle']", ".worst", *keys)


#: Rule → the range that says the same.
_IN_BOTH = {
    "max_duration": "duration_ms",
    "max_rebalances": "rebalances",
    "max_moves": "moves",
    "max_cold_handovers": "cold_handovers",
    "max_restored_records": "restored_records",
    "max_pause_per_task": "max_paused_ms",
}


def _check_order(plan: Plan) -> None:
    for number, message in wrong_order(plan):
        raise _edited(message, f"[{number - 1}]", ".rounds")


def _check_probes(plan: Plan) -> None:
    """Check that no probe comes before the interval is over: every assignment sets the timer anew."""
    for previous_round, rnd in pairwise(plan.rounds):
        own_ms = None if previous_round.follows is None else previous_round.follows.again_ms
        every_ms = plan.config_of(previous_round.number).probing_rebalance_interval_ms if own_ms is None else own_ms
        if rnd.trigger is Trigger.PROBING and rnd.at_ms - previous_round.at_ms < every_ms:
            problem = f"is {rnd.at_ms}, and a probe comes {every_ms} or more after {previous_round.at_ms}"
            raise _edited(problem, ".at_ms", f"[{rnd.number - 1}]", ".rounds")


def _check_verdict(plan: Plan) -> None:
    if plan.verdict.kind == "stuck" and plan.verdict.waits_for_a_member:
        return
    last = plan.rounds[-1] if plan.rounds else None
    goes_on = last is not None and (
        last.probing_rebalance
        or not (plan.probes or Phase.SETTLED in last.phases)
        or any(
            decided_holding.active != assigned_holding.active
            for decided_holding, assigned_holding in zip(last.decided, last.assigned, strict=True)
        )
    )
    if (plan.verdict.kind == "settled") == goes_on:
        problem = f"is {plan.verdict.kind!r}, and after the last round {'something' if goes_on else 'nothing'} follows"
        raise _edited(problem, ".kind", ".verdict")


def _check_balances(plan: Plan) -> None:
    _check_balance(
        initial_balance(plan.group, plan.initial, plan.rounds), plan.initial_balance, plan, ".initial_balance"
    )
    computed_balances = balances(plan.group, plan.rounds, plan.first_members)
    for place, (rnd, balance) in enumerate(zip(plan.rounds, computed_balances, strict=True)):
        if balance != rnd.balance:
            _check_balance(balance, rnd.balance, plan, ".balance", f"[{place}]", ".rounds")


def _check_balance(computed_balance: Balance, saved_balance: Balance, plan: Plan, *keys: str) -> None:
    """Check a balance; the number of threads at that time is unknown if it changed."""
    loads = zip(computed_balance.load_per_thread, saved_balance.load_per_thread, plan.group.capacities, strict=True)
    for instance, (load, saved_load, threads) in enumerate(loads):
        tasks = computed_balance.active[instance] + computed_balance.standby[instance]
        if saved_load != load and saved_load not in [tasks / number for number in range(1, threads)]:
            raise _unlike(saved_load, load, f"[{instance}]", ".load_per_thread", *keys)
    names = [name for name in Balance.__dataclass_fields__ if name != "load_per_thread"]
    _check_same(computed_balance, saved_balance, names, *keys)


def _summary(plan: Plan) -> Summary:
    """Return what the summary has to be; figures that depend on rates or on the design are taken as saved."""
    saved_summary, group = plan.summary, plan.group
    moves = least_moves(group, still_configured(group, plan.initial, plan.rounds), _present(plan), _target(plan))
    computed_summary = summarize(
        group,
        plan.initial,
        plan.rounds,
        replace(saved_summary.lower_bounds, moves=moves),
        plan.pauses,
        duration_ms=max(plan.in_effect_ms, default=0),
        duration_is=saved_summary.duration_is,
        max_cold_restore_ms=saved_summary.max_cold_restore_ms,
        runs_by_ms=saved_summary.runs_by_ms,
    )
    return replace(computed_summary, floor_ms=saved_summary.floor_ms, ranges=saved_summary.ranges)


def _check_ends(plan: Plan) -> None:
    """Check that the least time is no longer than the time, and that every range takes in its figure."""
    summary = plan.summary
    least_ms = summary.floor_ms
    if least_ms is not None and (summary.duration_is != "probes" or least_ms > summary.duration_ms):
        problem = f"is {least_ms}, and the time is {summary.duration_ms}, {summary.duration_is}"
        raise _edited(problem, ".floor_ms", ".summary")
    for figure, low, high in summary.ranges:
        value = plan.figure(figure)
        if value is None or not low <= value <= high:
            raise _edited(f"is {low} to {high}, and the plan has {_figure(value)}", f".{figure}", ".ranges", ".summary")

    _check_names(plan)
    _check_restoring(plan)


def _check_names(plan: Plan) -> None:
    """Check that copies behind, and starts that are not proven to be warm, name what is there; the seal keeps these."""
    instances, tasks = plan.group.instance_index, plan.group.task_index
    starts = [(start.process_id, start.task_id) for start in plan.unproven_starts]
    copies_behind = [(copy.process_id, copy.task_id) for copy in plan.behind]
    for field, names in ((".unproven_starts", starts), (".behind", copies_behind)):
        for place, (process_id, task_id) in enumerate(names):
            if process_id not in instances or task_id not in tasks:
                raise _edited("names something that is not in the plan", f"[{place}]", field)


def _check_restoring(plan: Plan) -> None:
    """Check that the warning names the tasks that restore first, and that each of them starts so; the seal keeps these.

    How long they do is not checked.
    """
    warned_subjects = {
        subject for note in plan.warnings if note.code == RESTORES_WITHIN_LIMIT for subject in note.subjects
    }
    if warned_subjects != set(map(str, plan.restores_first)):
        raise _edited(f"does not fit the warning {RESTORES_WITHIN_LIMIT}", ".restoring_starts")
    start_keys = {
        (step.task_id, step.to.process_id, rnd.number, at_ms, step.restore_records)
        for rnd in (plan.rounds if plan.restoring_starts else ())
        for at_ms, steps in rnd.moments
        for step in steps.starts_behind()
        if step.caught_up
    }
    for place, start in enumerate(plan.restoring_starts):
        if start[:-1] not in start_keys:
            raise _edited("is no start of the plan that counts as caught up", f"[{place}]", ".restoring_starts")


def _present(plan: Plan) -> Group:
    """Return the group at the end: its members with their threads."""
    index = plan.group.instance_index
    instances_and_threads = [(plan.group.instances[index[process_id]], threads) for process_id, threads in plan.members]
    instances = tuple(
        replace(instance, consumers=instance.consumers[:threads]) for instance, threads in instances_and_threads
    )
    return Group(plan.group.application_id, plan.group.tasks, instances)


def _target(plan: Plan) -> Target:
    index = [plan.group.instance_index[process_id] for process_id, _ in plan.members]
    return Target(*(tuple(tasks_by_instance[instance] for instance in index) for tasks_by_instance in plan.target))


def _check_same(computed_value: object, saved_value: object, names: Iterable[str], *keys: str) -> None:
    for name in names:
        computed_field, saved_field = getattr(computed_value, name), getattr(saved_value, name)
        if computed_field == saved_field:
            continue
        if type(computed_field) is type(saved_field) and (field_names := _names(computed_field)):
            _check_same(computed_field, saved_field, field_names, f".{name}", *keys)
        elif (
            isinstance(computed_field, tuple)
            and isinstance(saved_field, tuple)
            and len(computed_field) == len(saved_field)
        ):
            pairs = zip(computed_field, saved_field, strict=True)
            place = next(place for place, pair in enumerate(pairs) if pair[0] != pair[1])
            raise _unlike(saved_field[place], computed_field[place], f"[{place}]", f".{name}", *keys)
        else:
            raise _unlike(saved_field, computed_field, f".{name}", *keys)


def _names(value: object) -> Sequence[str]:
    return getattr(value, "_fields", None) or list(getattr(value, "__dataclass_fields__", ()))


def _unlike(saved_value: object, computed_value: object, *keys: str) -> WrongValueError:
    if _names(saved_value) or _names(computed_value):
        return _edited("is not what the rounds give", *keys)
    return _edited(f"is {_figure(saved_value)}, and the rounds give {_figure(computed_value)}", *keys)


def _figure(value: object) -> str:
    return "null" if value is None else str(value)


def _edited(problem: str, *keys: str) -> WrongValueError:
    return WrongValueError(problem, *keys, fix=EDITED)


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
