"""Rules over many draws of one scenario: of a range the worse end counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.policy import LimitValue
from kstream_plan.rules import RULES
from kstream_plan.rules.measuring import Kind, Measurement, Offence, Rule, Subject
from kstream_plan.steps import Plan

_NO_LIMIT = 2**63 - 1


class OverDraws(NamedTuple):
    """How many draws there are, and what rules measure in their worst one (``None``: unknown in one of them)."""

    number: int
    worst: Mapping[str, int | None]


def measured(plan: Plan) -> dict[str, int | None]:
    """Return what every rule measures that is not about the input; client tags are left out.

    Those are counted for the tags that a policy names, and how copies are spread over them does not go by random ids.
    """
    subject = Subject(plan)
    rules = {name: rule for name, rule in RULES.items() if not rule.of_input and rule.kind is not Kind.TAGS}
    return {name: rule.measure(subject, _easiest(rule)).value for name, rule in rules.items()}


def worst(draws: Iterable[Mapping[str, int | None]]) -> dict[str, int | None]:
    """Return the worst of what every rule measures in some draws."""
    together: dict[str, list[int | None]] = {}
    for draw in draws:
        for name, value in draw.items():
            together.setdefault(name, []).append(value)
    return {name: _worst(RULES[name], values) for name, values in together.items()}


def with_worst(rule: Rule, shown: Measurement, value: int | None, limit: LimitValue, number: int) -> Measurement:
    """Return what a rule measures of ``number`` draws whose worst has ``value``; ``shown`` is that of one of them."""
    together = _worst(rule, (shown.value, value))
    if together == shown.value:
        return shown
    offences = shown.offences or (() if _keeps(rule, together, limit) else (Offence(together),))
    return Measurement(together, offences, worst_of=number)


def _easiest(rule: Rule) -> LimitValue:
    if rule.kind is Kind.SWITCH:
        return False
    return 0 if rule.at_least else _NO_LIMIT


def _worst(rule: Rule, values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return min(known) if _more_is_better(rule) else max(known)


def _keeps(rule: Rule, value: int | None, limit: LimitValue) -> bool:
    assert isinstance(limit, int)
    if value is None:
        return False
    return value >= limit if _more_is_better(rule) else value <= limit


def _more_is_better(rule: Rule) -> bool:
    return rule.at_least or rule.kind is Kind.SWITCH
