"""Checks plans against a policy: per rule and application whether it is kept, by how much not, what is to blame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from operator import attrgetter

from kstream_plan.model import Note
from kstream_plan.plans import Plan
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.plans.targets import has_target
from kstream_plan.policy.findings import Check, CheckedPlan, Finding, Standard, badness
from kstream_plan.policy.limits import WITH_TARGET, Limit, LimitValue
from kstream_plan.policy.rules import GUARDS, RULES, Kind, MeasuredPlan, Measurement, Offence, Rule
from kstream_plan.policy.rules.measuring import UNKNOWN
from kstream_plan.policy.rules.origins import age
from kstream_plan.policy.rules.over_draws import over_draws
from kstream_plan.policy.rules.restores import with_restores
from kstream_plan.policy.rules.times import lacks_rate

#: Rules whose value grows as long as a group probes, though nothing else changes.
_OF_EVERY_PROBE = ("max_duration", "max_rebalances")


def check_plan(
    plan: Plan,
    standard: Standard,
    *,
    baseline: Plan | None = None,
    source: str = "",
    draws: OverDraws | None = None,
    baseline_draws: OverDraws | None = None,
    was_saved: bool = False,
) -> CheckedPlan:
    """Hold a plan against the policy and the guards, and check its invariants.

    That the steps are lossless is not among these: it is checked where a plan is made or read.

    ``baseline`` is the plan for what was before, of the same application; ``source`` where the plan is kept. With
    ``draws`` the plan is one of several, and of each rule the worst of them counts; ``baseline_draws`` likewise.
    ``was_saved``: the plan was read from a file, where somebody may have edited it.
    """
    application_id = plan.group.application_id
    limits = standard.policy.limits(application_id)
    if has_target(plan):
        limits = {WITH_TARGET: Limit(True), **limits}
    needs_rate = "require_restore_rate" in limits and limits["require_restore_rate"].value is True
    subject = MeasuredPlan(plan, standard.now, draws, needs_rate)
    earlier = None if baseline is None else MeasuredPlan(baseline, standard.now, baseline_draws, needs_rate)
    findings = [
        _invariant(application_id, name, offences, was_saved)
        for name, offences in _offences_of_invariants(plan).items()
    ]
    for name, rule in RULES.items():
        if name in limits:
            finding = _find(name, rule, limits[name], subject, None if rule.of_input else earlier)
            findings.append(_with_waiver(finding, standard))
    for name, value in standard.guards.items():
        findings.append(_find(name, GUARDS[name], Limit(value), subject, None))
    return CheckedPlan(
        plan,
        tuple(sorted(findings, key=badness)),
        age(plan.captured_at, standard.now),
        source=source,
        baseline=baseline,
        draws=draws,
    )


def check_all(
    plans: Iterable[CheckedPlan],
    now: datetime,
    *,
    fail_on_warning: bool = False,
    errors: Iterable[tuple[str | None, str]] = (),
    warnings: Iterable[tuple[str, Note]] = (),
) -> Check:
    """Put checked plans together, whatever order they come in."""
    sorted_plans = tuple(sorted(plans, key=attrgetter("place")))
    return Check(sorted_plans, now, fail_on_warning, tuple(errors), tuple(warnings))


def _find(name: str, rule: Rule, limit: Limit, subject: MeasuredPlan, earlier: MeasuredPlan | None) -> Finding:
    application_id = subject.plan.group.application_id
    if not rule.applies(subject.plan):
        allowed = rule.resolved(limit.value, subject.plan)
        return Finding(
            rule=name,
            kind=rule.kind,
            application_id=application_id,
            limit=limit,
            allowed=allowed,
            value=None,
            at_least=rule.at_least,
            applies=False,
        )
    allowed, measurement = _measure(name, rule, limit, subject)
    baseline_measurement = None if earlier is None else _measure(name, rule, limit, earlier)[1]
    return Finding(
        rule=name,
        kind=rule.kind,
        application_id=application_id,
        limit=limit,
        allowed=allowed,
        value=measurement.value,
        offences=measurement.offences,
        figures=measurement.figures,
        at_least=rule.at_least,
        worst_of=measurement.worst_of,
        value_range=measurement.value_range,
        unknown=measurement.unknown,
        likely=name == "max_duration" and measurement.value is not None and lacks_rate(subject.plan),
        baseline_value=None if baseline_measurement is None else baseline_measurement.value,
        kept_before=None if baseline_measurement is None else not baseline_measurement.offences,
    )


def _measure(name: str, rule: Rule, limit: Limit, subject: MeasuredPlan) -> tuple[LimitValue | None, Measurement]:
    allowed = rule.resolved(limit.value, subject.plan)
    if allowed is None:
        return None, Measurement(None, (Offence(None, note="end offsets are not known"),), unknown=True)
    shown_measurement = rule.worst(subject, allowed)
    measurement = (
        shown_measurement
        if subject.draws is None
        else over_draws(name, rule, shown_measurement, subject.draws, allowed)
    )
    measurement = with_restores(name, rule, measurement, subject, allowed)
    return allowed, UNKNOWN if not measurement.offences and _goes_on(name, rule, subject) else measurement


def _goes_on(name: str, rule: Rule, subject: MeasuredPlan) -> bool:
    """Tell whether what a rule measures goes on after the plan's end, or may be otherwise then."""
    verdict = subject.plan.verdict
    if name not in RULES or rule.of_input or rule.kind is Kind.SWITCH or verdict.is_over:
        return False
    if verdict.kind in ("cyclic", "unfinished"):
        return True
    stuck = verdict.kind == "stuck" or (subject.draws is not None and subject.draws.unsettled_draws > 0)
    return stuck and name in _OF_EVERY_PROBE


def _with_waiver(finding: Finding, standard: Standard) -> Finding:
    waivers = standard.policy.waivers_for(finding.application_id, finding.rule)
    if not finding.offences or not waivers:
        return finding
    longest = waivers[0]
    in_force = longest.last_day >= standard.now.date()
    return replace(finding, waiver=longest) if in_force else replace(finding, expired=longest)


def _offences_of_invariants(plan: Plan) -> dict[str, list[Offence]]:
    offences_by_invariant: dict[str, list[Offence]] = {}
    for violation in broken_invariants(plan, rebuilt=True):
        offences_by_invariant.setdefault(violation.invariant, []).append(
            Offence(None, violation.round_number, note=violation.message)
        )
    return offences_by_invariant


def _invariant(application_id: str, name: str, offences: list[Offence], was_saved: bool) -> Finding:
    return Finding(
        rule=name,
        kind=Kind.SWITCH,
        application_id=application_id,
        limit=Limit(True),
        allowed=True,
        value=0,
        offences=tuple(offences),
        invariant=True,
        was_saved=was_saved,
    )
