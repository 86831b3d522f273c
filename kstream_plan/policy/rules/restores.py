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


def with_restores(
    name: str, rule: Rule, measurement: Measurement, subject: MeasuredPlan, limit: LimitValue
) -> Measurement:
    """Add the restores of tasks before they run to the measurement of a rule about pauses: the most of all draws.

    An unknown time is too long. ``measurement`` is the one without restores, over all draws. Cold starts include starts
    that are warm by Kafka's rule, and restore for long all the same.
    """
    if name not in (*PAUSE_RULES, "max_cold_handovers") or measurement.value is None:
        return measurement
    if name not in PAUSE_RULES:
        return _with_restoring_starts(name, measurement, subject, limit)
    return _with_pauses(name, rule, measurement, subject, limit)


def _with_pauses(
    name: str, rule: Rule, measurement: Measurement, subject: MeasuredPlan, limit: LimitValue
) -> Measurement:
    """Add the restores of tasks before they run to a rule about pauses."""
    assert measurement.value is not None
    draws = subject.draws
    values = (whole(PAUSE_RULES[name], subject.plan, measurement.value), *restored_in_draws(name, draws))
    value = rule.worst_of(values)
    if value == measurement.value:
        return measurement
    if value is None and measurement.offences:
        return _noted(measurement, _NOTE_UNKNOWN)
    if value is None:
        return Measurement(None, (Offence(None, note=_NOTE_UNKNOWN),), unknown=True)
    if draws is not None and value != values[0]:
        measurement = measurement._replace(worst_of=draws.number)
    measurement = measurement._replace(value=value, value_range=None)
    if rule.keeps(value, limit):
        return measurement
    likely = measurement.value if measurement.offences and not measurement.unknown else _likely(name, subject.plan)
    measurement = measurement._replace(unknown=rule.keeps(likely, limit))
    if measurement.offences:
        return _noted(measurement, _NOTE)
    cold = () if name == "max_pause_in_all" else cold_handovers(subject, 0).offences[:1]
    offences = tuple(cold_start._replace(value=value, process_id=None, note=_NOTE) for cold_start in cold)
    return measurement._replace(offences=offences or (Offence(value, note=_NOTE),))


def _noted(measurement: Measurement, note: str) -> Measurement:
    """Add a note to the worst offence."""
    first, *further_offences = measurement.offences
    return measurement._replace(
        offences=(first._replace(note=f"{first.note}, {note}".removeprefix(", ")), *further_offences)
    )


def _with_restoring_starts(
    name: str, measurement: Measurement, subject: MeasuredPlan, limit: LimitValue
) -> Measurement:
    """Add the starts that count as caught up and restore for long; of the plan that is shown it is known which."""
    starts = [
        Offence(start.records, start.round, start.task_id, start.process_id, _NOTE_WITHIN_LIMIT)
        for start in subject.plan.restoring_starts
    ]
    most = max(len(starts), subject.plan.ends("restoring_first")[1])
    assert measurement.value is not None
    value = max([measurement.value + most, *(worst or 0 for worst in restored_in_draws(name, subject.draws))])
    if value == measurement.value:
        return measurement
    shown_starts = subject.plan.summary.cold_handovers + len(starts)
    if value <= number(limit):
        return measurement._replace(value=value, value_range=None)
    proven_offences = () if measurement.unknown else measurement.offences
    note = _NOTE_OTHER_OUTCOMES.format(subject.plan.tells_restoring_first)
    offences = (
        (*proven_offences, *starts)
        if shown_starts > number(limit)
        else measurement.offences or (Offence(value, note=note),)
    )
    return measurement._replace(value=value, value_range=None, offences=offences, unknown=shown_starts <= number(limit))


def _likely(name: str, plan: Plan) -> int:
    """Return how long a rule's tasks are paused by what is likely alone, as far as that is known."""
    likely_plan = replace(plan, summary=replace(plan.summary, ranges=()))
    paused_ms = plan.figure(PAUSE_RULES[name]) or 0
    return whole(PAUSE_RULES[name], likely_plan, paused_ms) or paused_ms
