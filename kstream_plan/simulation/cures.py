"""What would cure a violation: changed settings, and only such as a plan made with them has shown to help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import TypeAlias, Unpack

from kstream_plan.errors import ConfigError
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.plans import Plan
from kstream_plan.plans.plan import ENDS_NOT_PLAYED
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import CheckedPlan, Cure, Finding, Standard, Status
from kstream_plan.policy.limits import TagCounts
from kstream_plan.simulation.draws import OnDraw
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.simulate import simulate
from kstream_plan.simulation.what_ifs import LEAST_INTERVAL_MS, remedies, starts_empty

#: Settings by name of :class:`AssignmentConfig`.
Settings: TypeAlias = Mapping[str, int | tuple[str, ...]]
_Candidates: TypeAlias = Callable[[Plan, Finding], Iterator[Settings]]

#: At most this many warm-ups at once, and heartbeats as short, are proposed.
_MOST_WARMUPS = 64
_LEAST_HEARTBEAT_MS = 100
#: More warm-ups and probes make a plan no more than so many times as fast as they are more.
_AT_BEST = 2


def cures(
    checked: CheckedPlan,
    snapshot: Snapshot,
    standard: Standard,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    number_of_draws: int | None = None,
    draws_within_ms: int | None = None,
    workers: int = 1,
    on_round: OnRound | None = None,
    on_draw: OnDraw = lambda _number, _total: None,
    **keywords: Unpack[PlanKeywords],
) -> CheckedPlan:
    """Return the findings with a cure for each violation that has one.

    ``checked`` is the plan that was made from ``snapshot`` with these ``options`` (of which ``bounds`` and ``floor`` do
    not matter here), or that of a simulation of ``scenario`` with the arguments of
    :func:`kstream_plan.simulation.simulate.simulate`; ``standard`` is what it was checked against. A cure keeps to the
    violated rule, and to every other one that the checked plan keeps to: in all draws, if it is one of several.

    Raises:
        ScenarioError: the scenario does not fit the group.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    options = replace(replace(options, **keywords), bounds=False, floor=False)
    has_many_draws = checked.draws is not None and checked.draws.number > 1
    glances = (1, number_of_draws) if has_many_draws else (1,)
    # a rule that one outcome breaks is broken, whatever other outcomes are; of other draws less is known without them
    ways = (options,) if has_many_draws else (replace(options, long_ranges=False), options)

    def plan_with(other_snapshot: Snapshot, way: PlanOptions, number: int | None) -> tuple[Plan, OverDraws | None]:
        if scenario is None:
            return plan_checked(other_snapshot, way, on_round=on_round), None
        simulation = simulate(
            other_snapshot,
            scenario,
            way,
            number_of_draws=number,
            draws_within_ms=draws_within_ms,
            workers=workers,
            what_ifs=False,
            on_round=on_round,
            on_draw=on_draw,
        )
        return simulation.plan, simulation.over_draws

    def check_again(other_snapshot: Snapshot) -> Iterator[CheckedPlan]:
        for number, way in product(glances, ways):
            result, draws = plan_with(other_snapshot, way, number)
            yield check_plan(result if way == options else _as_played(result), standard, draws=draws)
            if not has_many_draws and result.tells_ends:
                return

    return with_cures(checked, snapshot, check_again)


def _as_played(plan: Plan) -> Plan:
    """Return a plan as if it had no other outcome."""
    return replace(plan, warnings=tuple(note for note in plan.warnings if note.code != ENDS_NOT_PLAYED))


def with_cures(
    checked_plan: CheckedPlan, snapshot: Snapshot, check_again: Callable[[Snapshot], Iterator[CheckedPlan]]
) -> CheckedPlan:
    """Return the findings with cures as :func:`cures` does, whatever way plans are made and checked again.

    Args:
        checked_plan: the plan that was made from ``snapshot``, and its findings.
        snapshot: what to plan again from, with other settings.
        check_again: plans as the checked plan was made, and checks that; it may begin with a part of the draws, so
            that what does not hold there need not be looked at any further.
    """
    if not any(_curable(finding, checked_plan.plan) for finding in checked_plan.findings):
        return replace(checked_plan, cures_sought=True)
    trials = _Trials(snapshot, check_again)
    findings = tuple(_with_cure(finding, checked_plan, trials) for finding in checked_plan.findings)
    return replace(checked_plan, findings=findings, cures_sought=True)


def _curable(finding: Finding, plan: Plan) -> bool:
    has_candidates = finding.rule in _candidates(plan) and not finding.invariant
    return has_candidates and finding.status in (Status.ERROR, Status.WARNING)


def _candidates(plan: Plan) -> Mapping[str, _Candidates]:
    return _OF_WORKERS if plan.is_of_workers else _CANDIDATES


@dataclass(frozen=True, slots=True)
class _Trials:
    """Plans with other settings, each made once."""

    snapshot: Snapshot
    check_again: Callable[[Snapshot], Iterator[CheckedPlan]]
    _trials: dict[tuple[tuple[str, object], ...], _Trial] = field(default_factory=dict)

    def check(self, settings: Settings) -> Iterator[CheckedPlan]:
        """Plan and check with changed settings, ever more thoroughly; nothing comes if they are out of range."""
        key = tuple(sorted(settings.items()))
        if key not in self._trials:
            try:
                config = replace(self.snapshot.config, **settings)  # type: ignore[arg-type]
            except ConfigError:
                self._trials[key] = _Trial(iter(()))
            else:
                self._trials[key] = _Trial(self.check_again(replace(self.snapshot, config=config)))
        return iter(self._trials[key])


class _Trial:
    """The checked plans of a trial so far, and those still to come."""

    def __init__(self, coming: Iterator[CheckedPlan]) -> None:
        self._checked_plans: list[CheckedPlan] = []
        self._coming = coming

    def __iter__(self) -> Iterator[CheckedPlan]:
        yield from self._checked_plans
        for checked_plan in self._coming:
            self._checked_plans.append(checked_plan)
            yield checked_plan


def _with_cure(finding: Finding, checked_plan: CheckedPlan, trials: _Trials) -> Finding:
    if not _curable(finding, checked_plan.plan):
        return finding
    kept_rules = {rule_finding.rule for rule_finding in checked_plan.findings_of(Status.PASSED)} | {finding.rule}
    candidates = _candidates(checked_plan.plan)[finding.rule](checked_plan.plan, finding)
    for settings in (candidate for candidate in candidates if _can_be_set(checked_plan.plan, candidate)):
        new_finding, longer_ms, still_broken, plans = None, None, tuple[Finding, ...](), list[Plan]()
        for trial in trials.check(settings):
            breaks_rule = any(
                rule_finding.offences and rule_finding.rule in kept_rules
                for rule_finding in trial.findings
                if not rule_finding.is_option
            )
            new_finding = (
                None
                if breaks_rule
                else next(rule_finding for rule_finding in trial.findings if rule_finding.rule == finding.rule)
            )
            if breaks_rule:
                break
            longer_ms = _longer_ms(checked_plan.plan, trial.plan)
            plans.append(trial.plan)
            still_broken = tuple(rule_finding for rule_finding in trial.violations if rule_finding.rule != finding.rule)
        if new_finding is not None:
            ends = [trial.ends("cold_handovers") for trial in plans]
            cure = Cure(
                settings=tuple(sorted(settings.items())),
                value=new_finding.value,
                longer_ms=longer_ms,
                still_broken=still_broken,
                lasts_ms=max(trial.ends("duration_ms")[1] for trial in plans) if _all_settle(plans) else None,
                cold=(min(least for least, _ in ends), max(most for _, most in ends)),
            )
            return replace(finding, cure=cure)
    return finding


def _all_settle(plans: Sequence[Plan]) -> bool:
    return all(plan.verdict.kind == "settled" and plan.rounds for plan in plans)


def _can_be_set(plan: Plan, settings: Settings) -> bool:
    """Tell whether a group can have these settings: a streams group has its own, which its broker limits."""
    if plan.design != "streams":
        return True
    ranges = {name: range(least, most + 1) for name, _, least, most in GROUP_SETTINGS.values()}
    return all(value in ranges.get(name, ()) for name, value in settings.items())


def _longer_ms(plan: Plan, cured_plan: Plan) -> int | None:
    """Return how long a plan with other settings takes, if that is longer than without them."""
    if not plan.verdict.kind == cured_plan.verdict.kind == "settled":
        return None
    cured_ms = cured_plan.ends("duration_ms")[1]
    return cured_ms if cured_ms > plan.ends("duration_ms")[1] else None


def _more_warmups(plan: Plan, _finding: Finding) -> Iterator[Mapping[str, int]]:
    """Twice as many at once, and so on, until every move could warm up at once."""
    warmups = plan.config.max_warmup_replicas
    most = min(_MOST_WARMUPS, max(plan.summary.warmups, plan.summary.hops))
    while warmups < most:
        warmups = min(2 * warmups, most)
        yield {"max_warmup_replicas": warmups}


def _fewer_warmups(plan: Plan, _finding: Finding) -> Iterator[Settings]:
    warmups = plan.config.max_warmup_replicas
    while warmups > 1:
        warmups //= 2
        yield {"max_warmup_replicas": warmups}


def _faster(plan: Plan, finding: Finding) -> Iterator[Settings]:
    candidates = [*_more_warmups(plan, finding)]
    if plan.config.probing_rebalance_interval_ms > LEAST_INTERVAL_MS:
        candidates += [
            {**settings, "probing_rebalance_interval_ms": LEAST_INTERVAL_MS} for settings in ({}, *candidates)
        ]
    yield from (settings for settings in candidates if _within_reach(plan, "duration_ms", settings, finding))


def _fewer_rebalances(plan: Plan, finding: Finding) -> Iterator[Settings]:
    candidates = _more_warmups(plan, finding)
    yield from (settings for settings in candidates if _within_reach(plan, "rebalances", settings, finding))


def _within_reach(plan: Plan, figure: str, settings: Mapping[str, int], finding: Finding) -> bool:
    """Tell whether a figure may fall to its limit; else it is not simulated, for a long plan takes minutes."""
    limit, config = finding.allowed, plan.config
    if not isinstance(limit, int) or plan.verdict.kind != "settled":
        return True
    warmups = settings.get("max_warmup_replicas", config.max_warmup_replicas)
    interval_ms = settings.get("probing_rebalance_interval_ms", config.probing_rebalance_interval_ms)
    slower = warmups * config.probing_rebalance_interval_ms
    return plan.ends(figure)[0] * config.max_warmup_replicas * interval_ms <= limit * _AT_BEST * slower


def _shorter_pauses(plan: Plan, finding: Finding) -> Iterator[Settings]:
    """A task waits for its next owner until a heartbeat has told everyone to rejoin."""
    limit = finding.allowed
    heartbeat_ms = plan.config.heartbeat_interval_ms
    if isinstance(limit, int) and _LEAST_HEARTBEAT_MS <= limit < heartbeat_ms:
        yield {"heartbeat_interval_ms": limit}


def _less_paused(plan: Plan, finding: Finding) -> Iterator[Settings]:
    """Fewer rebalances pause a task less often, faster heartbeats less long."""
    yield from _more_warmups(plan, finding)
    heartbeat_ms = plan.config.heartbeat_interval_ms
    while heartbeat_ms > 10 * _LEAST_HEARTBEAT_MS:
        heartbeat_ms = max(heartbeat_ms // 2, 10 * _LEAST_HEARTBEAT_MS)
        yield {"heartbeat_interval_ms": heartbeat_ms}


def _more_standbys(_plan: Plan, finding: Finding) -> Iterator[Settings]:
    if isinstance(finding.allowed, int):
        yield {"num_standby_replicas": finding.allowed}


def _spread_over_tags(plan: Plan, finding: Finding) -> Iterator[Settings]:
    tag_counts: TagCounts = finding.allowed  # type: ignore[assignment]
    tags = plan.config.rack_aware_assignment_tags
    tags += tuple(tag for tag, _ in tag_counts if tag not in tags)
    standbys = max(plan.config.num_standby_replicas, *(count - 1 for _, count in tag_counts))
    yield {"rack_aware_assignment_tags": tags}
    yield {"rack_aware_assignment_tags": tags, "num_standby_replicas": standbys}


def _against_the_cause(plan: Plan, _finding: Finding) -> Iterator[Settings]:
    """What may help against what keeps the plan from settling, as for simulations, but no start without a copy."""
    yield from ({setting: value} for setting, value in remedies(plan) if not starts_empty(plan, setting, value))


def _shorter_delay(plan: Plan, _finding: Finding) -> Iterator[Settings]:
    """What a worker ran waits for it no longer than that; the eager protocol does not wait."""
    for delay_ms in (60_000, 0):
        if delay_ms < (plan.config.scheduled_rebalance_max_delay_ms or 0) and plan.protocol != "eager":
            yield {"scheduled_rebalance_max_delay_ms": delay_ms}


_CANDIDATES: Mapping[str, _Candidates] = MappingProxyType(
    {
        "must_settle": _against_the_cause,
        "max_duration": _faster,
        "max_rebalances": _fewer_rebalances,
        "max_pause_per_task": _less_paused,
        "max_pause_per_handover": _shorter_pauses,
        "max_paused_tasks_at_once": _fewer_warmups,
        "max_peak_extra_copies": _fewer_warmups,
        "min_standbys": _more_standbys,
        "distinct_tag_values": _spread_over_tags,
    }
)
#: Those of Connect groups.
_OF_WORKERS: Mapping[str, _Candidates] = MappingProxyType(
    dict.fromkeys(
        (
            "max_duration",
            "max_pause_per_task",
            "max_pause_per_handover",
            "max_pause_in_all",
            "max_paused_tasks_at_once",
        ),
        _shorter_delay,
    )
)
