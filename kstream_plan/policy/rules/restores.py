"""What a task restores before it runs is a pause, too, by a cold start or within the limit; and then it is not warm."""

from __future__ import annotations

from dataclasses import replace

from kstream_plan.plans import Plan
from kstream_plan.plans.longest_pause import PAUSE_RULES, restored_in_draws, whole
from kstream_plan.policy.limits import LimitValue
from kstream_plan.policy.rules.amounts import cold_handovers
from kstream_plan.policy.rules.measuring import MeasuredPlan, Measurement, Offence, Rule, number

_NOTE = "restores included"
_NOTE_WITHIN_LIMIT = "warm by acceptable.recovery.lag alone: they restore first"
_NOTE_OTHER_OUTCOMES = "other outcomes: tasks restore first ({} would tell)"
_NOTE_UNKNOWN = "how long tasks restore first is unknown"


def with_restores(name: str, rule: Rule, found: Measurement, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add what tasks restore first to what a rule about pauses measures, in every draw; at most it is as much.

    What is not known is too long. ``found`` is what the rule measures without it, over all draws. Of cold starts those
    count as well that are warm by Kafka's rule, and restore for long all the same.
    """
    if name not in (*PAUSE_RULES, "max_cold_handovers") or found.value is None:
        return found
    if name not in PAUSE_RULES:
        return _with_restoring_starts(name, found, subject, limit)
    return _with_pauses(name, rule, found, subject, limit)


def _with_pauses(name: str, rule: Rule, found: Measurement, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add what tasks restore first to a rule about pauses."""
    assert found.value is not None
    draws = subject.draws
    values = (whole(PAUSE_RULES[name], subject.plan, found.value), *restored_in_draws(name, draws))
    value = rule.worst_of(values)
    if value == found.value:
        return found
    if value is None and found.offences:
        return _noted(found, _NOTE_UNKNOWN)
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
        return _noted(found, _NOTE)
    cold = () if name == "max_pause_in_all" else cold_handovers(subject, 0).offences[:1]
    told = tuple(one._replace(measured=value, process_id=None, note=_NOTE) for one in cold)
    return found._replace(offences=told or (Offence(value, note=_NOTE),))


def _noted(found: Measurement, note: str) -> Measurement:
    """Say more of the worst offence."""
    first, *others = found.offences
    return found._replace(offences=(first._replace(note=f"{first.note}, {note}".removeprefix(", ")), *others))


def _with_restoring_starts(name: str, found: Measurement, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
    """Add the starts that count as caught up and restore for long; of the plan that is shown it is known which."""
    starts = [
        Offence(start.records, start.round, start.task_id, start.process_id, _NOTE_WITHIN_LIMIT)
        for start in subject.plan.restoring_starts
    ]
    most = max(len(starts), subject.plan.ends("restoring_first")[1])
    assert found.value is not None
    value = max([found.value + most, *(worst or 0 for worst in restored_in_draws(name, subject.draws))])
    if value == found.value:
        return found
    shown = subject.plan.summary.cold_handovers + len(starts)
    if value <= number(limit):
        return found._replace(value=value, between=None)
    known = () if found.unknown else found.offences
    note = _NOTE_OTHER_OUTCOMES.format(subject.plan.tells_restoring_first)
    offences = (*known, *starts) if shown > number(limit) else found.offences or (Offence(value, note=note),)
    return found._replace(value=value, between=None, offences=offences, unknown=shown <= number(limit))


def _likely(name: str, plan: Plan) -> int:
    """Return how long a rule's tasks are paused by what is likely alone, as far as that is known."""
    alone = replace(plan, summary=replace(plan.summary, ranges=()))
    paused_ms = plan.figure(PAUSE_RULES[name]) or 0
    return whole(PAUSE_RULES[name], alone, paused_ms) or paused_ms
