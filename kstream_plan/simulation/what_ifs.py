"""The same again with one other setting: what would be faster, and what would make a group settle that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from kstream_plan.model.connect_group import CONNECT_SETTINGS
from kstream_plan.model.settings import RANGES, AssignmentConfig
from kstream_plan.planner.runner import Runner, sequential
from kstream_plan.plans import CauseCode, Plan, Summary
from kstream_plan.plans.simulated import WhatIf

LEAST_INTERVAL_MS, _ = RANGES["probing_rebalance_interval_ms"]

#: Simulates the same under other settings.
PlanWith: TypeAlias = Callable[[AssignmentConfig], Plan]


@dataclass(frozen=True, slots=True)
class Try:
    """Another value of one setting, to be simulated."""

    config: AssignmentConfig
    setting: str
    value: int
    plan_with: PlanWith

    def __call__(self) -> WhatIf:
        """Simulate it."""
        return what_if(self.config, self.setting, self.value, self.plan_with)


def what_ifs(
    plan: Plan, plan_with: PlanWith, by_chance_ms: int = 0, *, long: bool = False, side_by_side: Runner = sequential
) -> tuple[WhatIf, ...]:
    """Simulate what :func:`tries` says, and return those that are shorter by more than chance alone may make it.

    ``by_chance_ms``: by how much draws differ.
    """
    trials = side_by_side(tries(plan.summary, plan.config, len(plan.group.stateful), plan_with, long=long))
    shorter_ms = plan.summary.duration_ms - by_chance_ms
    return tuple(trial for trial in trials if trial.verdict != "settled" or trial.duration_ms < shorter_ms)


def tries(
    summary: Summary, config: AssignmentConfig, stateful_tasks: int, plan_with: PlanWith, *, long: bool
) -> Sequence[Try]:
    """Return what usually makes a plan shorter: more warm-ups at once, up to all of them, and a shorter interval.

    ``long``: a simulation takes minutes; then only many warm-ups at once are tried, which take much less time to
    simulate: with another interval there are as many rounds again.
    """
    if not summary.warmups:
        return ()
    most_warmups, interval_ms = max(min(summary.hops, stateful_tasks), 1), config.probing_rebalance_interval_ms
    warmups = (
        {10 * config.max_warmup_replicas} if long else {2 * config.max_warmup_replicas, 4 * config.max_warmup_replicas}
    )
    intervals = () if long else (LEAST_INTERVAL_MS, interval_ms // 2)
    fewer = [min(value, most_warmups) for value in warmups]
    return [
        *(
            Try(config, "max_warmup_replicas", value, plan_with)
            for value in sorted({*fewer, most_warmups})
            if value > config.max_warmup_replicas
        ),
        *(
            Try(config, "probing_rebalance_interval_ms", value, plan_with)
            for value in sorted(set(intervals))
            if LEAST_INTERVAL_MS <= value < interval_ms
        ),
    ]


def shorter_delays(plan: Plan, plan_with: PlanWith) -> tuple[WhatIf, ...]:
    """Try a ``scheduled.rebalance.max.delay.ms`` of a minute, and none, in a Connect group; told is what helps."""
    delay_ms = plan.config.scheduled_rebalance_max_delay_ms or 0
    if plan.protocol == "eager" or not plan.summary.paused_task_ms:
        return ()
    trials = [
        what_if(plan.config, "scheduled_rebalance_max_delay_ms", value, plan_with)
        for value in (60_000, 0)
        if value < delay_ms
    ]
    now_ms = plan.summary.paused_task_ms
    return tuple(trial for trial in trials if trial.verdict != "settled" or (trial.paused_task_ms or 0) < now_ms)


def what_if(config: AssignmentConfig, setting: str, value: int, plan_with: PlanWith) -> WhatIf:
    """Simulate one other value of one setting."""
    changes: dict[str, Any] = {setting: value}
    result = plan_with(replace(config, **changes))
    tells_ends = result.tells_ends
    least_ms, most_ms = result.ends("duration_ms")
    endless = result.may_be_endless("duration_ms")
    return WhatIf(
        setting=setting,
        value=value,
        verdict=result.verdict.kind,
        duration_ms=result.summary.duration_ms,
        duration_is=result.summary.duration_is,
        rebalances=result.summary.rebalances,
        moves=result.summary.moves,
        peak_extra_copies=result.summary.peak_extra_copies,
        cold_handovers=result.summary.cold_handovers,
        paused_task_ms=result.summary.paused_task_ms
        if result.is_of_workers and not result.verdict.is_never_over
        else None,
        least_duration_ms=least_ms if tells_ends else None,
        most_duration_ms=most_ms if tells_ends and not endless else None,
        most_cold_handovers=result.ends("cold_handovers")[1] if tells_ends else None,
        may_not_settle=result.verdict.kind == "settled" and not result.ends("settles")[0],
    )


def cure(plan: Plan, plan_with: PlanWith) -> WhatIf | None:
    """Return the first setting that makes a plan settle that does not, as simulated; ``None`` if none does."""
    if plan.verdict.kind == "settled":
        return None
    trials = (what_if(plan.config, setting, value, plan_with) for setting, value in remedies(plan))
    return next((trial for trial in trials if trial.verdict == "settled"), None)


def remedies(plan: Plan) -> Sequence[tuple[str, int]]:
    """Return what may help against the cause why a plan does not settle, what costs least first: (setting, value).

    Fewer copies at once share an instance's restore rate; a higher limit lets a copy start that is behind.
    """
    config, cause = plan.config, plan.verdict.cause
    fewer_warmups = [("max_warmup_replicas", value) for value in _halves(config.max_warmup_replicas)]
    more_warmups = [("max_warmup_replicas", config.max_warmup_replicas * factor) for factor in (2, 4, 16)]
    limits = [("acceptable_recovery_lag", value) for value in _limits(plan)]
    shorter = [("probing_rebalance_interval_ms", LEAST_INTERVAL_MS)]
    sooner = shorter if config.probing_rebalance_interval_ms > LEAST_INTERVAL_MS else []
    match cause.code if cause else None:
        case CauseCode.STANDING_LAG | CauseCode.SILENT_INSTANCE:
            return limits
        case CauseCode.RESTORE_TOO_SLOW:
            return [*fewer_warmups, *limits]
        case CauseCode.LEFT_UNASSIGNED:
            return [("scheduled_rebalance_max_delay_ms", CONNECT_SETTINGS["scheduled_rebalance_max_delay_ms"][1])]
        case CauseCode.SLOW:
            return [*more_warmups, *sooner, *limits]
        case _:
            return [*fewer_warmups, *more_warmups, *limits]


def starts_empty(plan: Plan, setting: str, value: int) -> bool:
    """Tell whether a stateful task may start without any state with that setting, and restore before it runs."""
    least = min((task.end_offset_sum for task in plan.group.tasks if task.stateful), default=0)
    return setting == "acceptable_recovery_lag" and value >= least


def _halves(number: int) -> list[int]:
    return [number >> shift for shift in range(1, number.bit_length())]


def _limits(plan: Plan) -> list[int]:
    """Return higher limits by powers of ten; the last resort is the largest state: with that, an empty disk will do."""
    largest = max((task.end_offset_sum for task in plan.group.tasks if task.end_offset_known), default=0)
    powers = (10**exponent for exponent in range(1, 19))
    steps = [value for value in powers if plan.config.acceptable_recovery_lag < value < largest]
    return [*steps, largest] if largest > plan.config.acceptable_recovery_lag else steps
