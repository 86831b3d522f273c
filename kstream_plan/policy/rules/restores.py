"""What a task restores before it runs is a pause, too, by a cold start or within the limit; and then it is not warm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from kstream_plan.plans import HandOver, Plan, Promote, Round
from kstream_plan.plans.restoring import cold_restoring_ms
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.amounts import cold_handovers
from kstream_plan.policy.rules.measuring import MeasuredPlan, Measurement, Offence, Rule, number, steps

#: The rules that restores count for, and the figure that each is about.
PAUSE_RULES = {
    "max_pause_per_task": "max_paused_task_ms",
    "max_pause_per_handover": "longest_pause_ms",
    "max_pause_in_all": "paused_task_ms",
}
_NOTE = "what tasks restore first included"
_NOTE_WITHIN_LIMIT = "warm by acceptable.recovery.lag alone: they restore first"
_NOTE_UNKNOWN = "how long tasks restore first is not known"


def restored_key(name: str) -> str:
    """Return under which key a simulation says what a rule measures at worst, restores included."""
    return f"{name} restored"


def with_restores(name: str, rule: Rule, found: Measurement, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add what tasks restore first to what a rule about pauses measures, in every draw; at most it is as much.

    What is not known is too long. ``found`` is what the rule measures without it, over all draws. Of cold starts those
    count as well that are warm by Kafka's rule, and restore for long all the same.
    """
    if name not in (*PAUSE_RULES, "max_cold_handovers") or found.value is None:
        return found
    if name not in PAUSE_RULES:
        return _with_restoring_starts(found, subject, limit)
    return _with_pauses(name, rule, found, subject, limit)


def _with_pauses(name: str, rule: Rule, found: Measurement, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add what tasks restore first to a rule about pauses."""
    assert found.value is not None
    values, draws = [whole(name, subject.plan, found.value)], subject.draws
    if draws is not None and draws.worst.get("max_cold_handovers", 0) != 0 and draws.number > 1:
        values.append(draws.worst.get(restored_key(name)))
    value = rule.worst_of(values)
    if value == found.value or (value is None and found.offences):
        return found
    if value is None:
        return Measurement(None, (Offence(None, note=_NOTE_UNKNOWN),), unknown=True)
    if draws is not None and value != values[0]:
        found = found._replace(worst_of=draws.number)
    found = found._replace(value=value, between=None)
    if rule.keeps(value, limit):
        return found
    likely = found.value if found.offences and not found.unknown else _likely(name, subject.plan)
    found = found._replace(unknown=rule.keeps(likely, limit))
    if found.offences:
        first, *others = found.offences
        note = f"{first.note}, {_NOTE}".removeprefix(", ")
        return found._replace(offences=(first._replace(note=note), *others))
    cold = () if name == "max_pause_in_all" else cold_handovers(subject, 0).offences[:1]
    told = tuple(one._replace(measured=value, process_id=None, note=_NOTE) for one in cold)
    return found._replace(offences=told or (Offence(value, note=_NOTE),))


def _with_restoring_starts(found: Measurement, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add the starts that count as caught up and restore for long, which only the plan that is shown tells of."""
    starts = [
        Offence(step.restore_records, rnd.number, step.task_id, step.to.process_id, _NOTE_WITHIN_LIMIT)
        for rnd, step in _restoring_starts(subject.plan)
    ]
    if not starts or found.value is None:
        return found
    value = found.value + len(starts)
    shown = subject.plan.summary.cold_handovers + len(starts)
    if value <= number(limit):
        return found._replace(value=value, between=None)
    known = () if found.unknown else found.offences
    offences = (*known, *starts) if shown > number(limit) else found.offences or (Offence(value),)
    return found._replace(value=value, between=None, offences=offences, unknown=shown <= number(limit))


def _likely(name: str, plan: Plan) -> int:
    """Return how long a rule's tasks are paused by what is likely alone, as far as that is known."""
    alone = replace(plan, summary=replace(plan.summary, ranges=()))
    paused_ms = plan.figure(PAUSE_RULES[name]) or 0
    return whole(name, alone, paused_ms) or paused_ms


def whole(name: str, plan: Plan, paused_ms: int) -> int | None:
    """Return how long a rule's tasks are run by nobody at most, of which ``paused_ms`` before they start.

    ``None``: how long tasks restore first is not known.
    """
    restoring_ms = _restoring_within_limit_ms(plan)
    if restoring_ms is None:
        return None
    paused_ms += sum(restoring_ms) if name == "max_pause_in_all" else max(restoring_ms, default=0)
    return _with_cold_starts(name, plan, paused_ms) if plan.ends("cold_handovers")[1] else paused_ms


def _with_cold_starts(name: str, plan: Plan, paused_ms: int) -> int | None:
    """Return how long tasks are run by nobody at most, with what cold starts restore; ``None``: not known."""
    most = plan.ends("cold_handovers")[1]
    if plan.pauses_are_least or plan.may_be_endless("max_cold_restore_ms"):
        return None
    slowest_ms = plan.ends("max_cold_restore_ms")[1]
    starts = cold_handovers(MeasuredPlan(plan), 0).offences
    if name == "max_pause_in_all":
        return paused_ms + most * slowest_ms
    times = Counter(one.task_id for one in starts if one.task_id is not None)
    at_most_ms = paused_ms + slowest_ms * (1 if name == "max_pause_per_handover" else max(times.values(), default=1))
    if most > len(starts) or paused_ms > (plan.figure(PAUSE_RULES[name]) or 0):  # nobody knows which
        return at_most_ms
    if name == "max_pause_per_task":
        of_cold = (plan.pauses.ms.get(task_id, 0) + number * slowest_ms for task_id, number in times.items())
        return max(paused_ms, *of_cold)
    longest_ms = max((pause.length_ms for pause in plan.pauses if pause.task_id in times), default=0)
    return max(paused_ms, longest_ms + slowest_ms)


def _restoring_within_limit_ms(plan: Plan) -> Sequence[int] | None:
    """Return how long each task restores that counts as caught up and restores all the same; ``None``: not known.

    A plan tells which tasks these are where it is long, or not known; all starts of a task count.
    """
    rates = {} if plan.end is None else {rate.of: rate.per_second for rate in plan.end.restore}
    lasts_ms = Counter[str]()
    for _, of_round in groupby(_restoring_starts(plan), key=lambda start: start[0].number):
        starts = [replace(step, caught_up=False) for _, step in of_round]
        round_ms = cold_restoring_ms(starts, rates.get)
        if len(round_ms) < len({start.task_id for start in starts}):
            return None
        lasts_ms.update({str(task_id): ms for task_id, ms in round_ms.items()})
    return list(lasts_ms.values())


def _restoring_starts(plan: Plan) -> Iterator[tuple[Round, HandOver | Promote]]:
    """Yield the starts of tasks that count as caught up and restore for long all the same."""
    task_ids = frozenset(plan.restores_first)
    for rnd, step in steps(plan.rounds, HandOver, Promote) if task_ids else ():
        assert isinstance(step, HandOver | Promote)
        if step.caught_up and step.restore_records and str(step.task_id) in task_ids:
            yield rnd, step
