"""Rules over many draws of one scenario: of a range the worse end counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from kstream_plan.plans import Plan
from kstream_plan.plans.longest_pause import PAUSE_RULES, restored_key, whole
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.plans.targets import has_target
from kstream_plan.policy.limits import LimitValue, TagCounts
from kstream_plan.policy.rules import RULES
from kstream_plan.policy.rules.measuring import UNKNOWN, Kind, MeasuredPlan, Measurement, Offence, Rule

#: Rules that older saved simulations do not have: the values of their other draws are unknown.
LATER_RULES = (
    *("max_pause_in_all", "max_connector_tasks_per_worker", "must_follow_target"),
    *map(restored_key, (*PAUSE_RULES, "max_cold_handovers")),
)
_NO_LIMIT = 2**63 - 1


def measure_rules(plan: Plan) -> dict[str, int | None]:
    """Return the value of every rule that is not about the input, as far as there is anything to measure.

    Where it depends on something unknown, it is the worse end.
    """
    return {key: value for key, value in _rule_values(plan) if value != _NO_LIMIT}


def _rule_values(plan: Plan) -> Iterator[tuple[str, int | None]]:
    subject = MeasuredPlan(plan)
    tags = sorted({tag for instance in plan.group.instances for tag, _ in instance.client_tags})
    for name, rule in RULES.items():
        if rule.kind is Kind.TAGS:
            for tag in tags if plan.group.stateful else ():
                yield _of_tag(name, tag), rule.measure(subject, ((tag, 0),)).value
        elif (
            not rule.of_input
            and (plan.is_of_workers or not rule.of_workers)
            and (has_target(plan) or not rule.of_target)
        ):
            limit: LimitValue = False if rule.kind is Kind.SWITCH else _NO_LIMIT
            value = rule.worst(subject, limit).value
            yield name, value
            first = plan.ends("restoring_first")[1]
            if name == "max_cold_handovers" and first:
                yield restored_key(name), None if value is None else value + first
            elif name in PAUSE_RULES and (first or plan.ends("cold_handovers")[1]):
                yield restored_key(name), None if value is None else whole(PAUSE_RULES[name], plan, value)


def worst(draws: Iterable[Mapping[str, int | None]]) -> dict[str, int | None]:
    """Return the worst value of every rule in some draws."""
    values_by_key: dict[str, list[int | None]] = {}
    for draw in draws:
        for key, value in draw.items():
            values_by_key.setdefault(key, []).append(value)
    return {key: RULES[key.partition(" ")[0]].worst_of(values) for key, values in values_by_key.items()}


def no_better(key: str, worst: int | None, shown_value: int | None) -> bool:
    """Tell whether the value of a rule in its worst draw is no better than in one of the draws."""
    return RULES[key.partition(" ")[0]].worst_of((worst, shown_value)) == worst


def over_draws(name: str, rule: Rule, measurement: Measurement, draws: OverDraws, limit: LimitValue) -> Measurement:
    """Return the measurement of a rule over all draws; ``measurement`` is that of one of them."""
    if measurement == UNKNOWN:
        return measurement
    if rule.kind is Kind.TAGS:
        return _tags_over_draws(name, measurement, draws, cast(TagCounts, limit))
    if name not in draws.worst:
        unknown = name in LATER_RULES and draws.number > 1
        return UNKNOWN if unknown else measurement
    worst_value = rule.worst_of((measurement.value, draws.worst[name]))
    if worst_value == measurement.value:
        return measurement
    if measurement.offences or rule.keeps(worst_value, limit):
        return Measurement(worst_value, measurement.offences, worst_of=draws.number, unknown=measurement.unknown)
    return Measurement(worst_value, (Offence(worst_value),), worst_of=draws.number, unknown=True)


def _tags_over_draws(name: str, measurement: Measurement, draws: OverDraws, limit: TagCounts) -> Measurement:
    least, short = measurement.value, []
    for tag, minimum in limit:
        value = draws.worst.get(_of_tag(name, tag))
        if value is not None:
            least = value if least is None else min(least, value)
            short += [Offence(value, note=f"{tag}: {minimum}")] if value < minimum else []
    if least == measurement.value and bool(short) == bool(measurement.offences):
        return measurement
    offences = measurement.offences or tuple(short)
    return Measurement(least, offences, worst_of=draws.number, unknown=bool(short) and not measurement.offences)


def _of_tag(name: str, tag: str) -> str:
    return f"{name} {tag}"
