"""A policy applied to plans: per rule and application whether it is kept, by how much not, and what is to blame."""

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

#: What grows as long as a group probes, though nothing else comes of it.
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

    That the steps are lossless is not among these: whoever makes or reads a plan has seen to it.

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
    findings = [_invariant(application_id, name, offences, was_saved) for name, offences in _broken(plan).items()]
    for name, rule in RULES.items():
        if name in limits:
            found = _find(name, rule, limits[name], subject, None if rule.of_input else earlier)
            findings.append(_with_waiver(found, standard))
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
    ordered = tuple(sorted(plans, key=attrgetter("place")))
    return Check(ordered, now, fail_on_warning, tuple(errors), tuple(warnings))


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
            measured=None,
            at_least=rule.at_least,
            applies=False,
        )
    allowed, measurement = _measure(name, rule, limit, subject)
    before = None if earlier is None else _measure(name, rule, limit, earlier)[1]
    return Finding(
        rule=name,
        kind=rule.kind,
        application_id=application_id,
        limit=limit,
        allowed=allowed,
        measured=measurement.value,
        offences=measurement.offences,
        figures=measurement.figures,
        at_least=rule.at_least,
        worst_of=measurement.worst_of,
        between=measurement.between,
        unknown=measurement.unknown,
        likely=name == "max_duration" and measurement.value is not None and lacks_rate(subject.plan),
        before=None if before is None else before.value,
        kept_before=None if before is None else not before.offences,
    )


def _measure(name: str, rule: Rule, limit: Limit, subject: MeasuredPlan) -> tuple[LimitValue | None, Measurement]:
    allowed = rule.resolved(limit.value, subject.plan)
    if allowed is None:
        return None, Measurement(None, (Offence(None, note="end offsets are not known"),), unknown=True)
    shown = rule.worst(subject, allowed)
    found = shown if subject.draws is None else over_draws(name, rule, shown, subject.draws, allowed)
    found = with_restores(name, rule, found, subject, allowed)
    return allowed, UNKNOWN if not found.offences and _goes_on(name, rule, subject) else found


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
    in_force = longest.until >= standard.now.date()
    return replace(finding, waiver=longest) if in_force else replace(finding, expired=longest)


def _broken(plan: Plan) -> dict[str, list[Offence]]:
    found: dict[str, list[Offence]] = {}
    for broken in broken_invariants(plan, rebuilt=True):
        found.setdefault(broken.invariant, []).append(Offence(None, broken.round_number, note=broken.message))
    return found


def _invariant(application_id: str, name: str, offences: list[Offence], was_saved: bool) -> Finding:
    return Finding(
        rule=name,
        kind=Kind.SWITCH,
        application_id=application_id,
        limit=Limit(True),
        allowed=True,
        measured=0,
        offences=tuple(offences),
        invariant=True,
        was_saved=was_saved,
    )
