"""What a fleet is sorted and picked by: figures of results under short names, the worst end where there are two.

Some of them are only the least: what a plan comes to that was not played to its end, or has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from kstream_plan.plans.result import Result

#: What results are sorted by.
SortKey: TypeAlias = Callable[[Result], tuple[Any, ...]]

#: Short names, beside those of a result's own fields.
SHORT: Mapping[str, str] = MappingProxyType(
    {
        "application": "application_id",
        "joined": "instances_empty",
        "left": "duration_ms_most",
        "moves": "moves_most",
        "cold": "cold_handovers_most",
        "pause": "max_paused_task_ms_most",
        "restored": "restored_records_most",
        "standbys": "standbys_missing",
    }
)
#: From the worst to the best.
OUTCOMES = ("unreadable", "stuck", "cyclic", "unfinished", "moving", "settled")

_LEFT_OUT = frozenset({"format_version", "kind", "plan"})
NAMES = (*SHORT, *(name for name in Result.__dataclass_fields__ if name not in _LEFT_OUT))


def value_of(result: Result, name: str) -> str | int | bool | None:
    """Return a figure; ``None``: it is not known, or the result has none.

    Raises:
        KeyError: ``name`` is none of :data:`NAMES`.
    """
    if name not in NAMES:
        raise KeyError(name)
    value: str | int | bool | None = getattr(result, SHORT.get(name, name))
    return value


#: Figures that grow as long as a plan goes on.
_GROWING = frozenset(SHORT[name] for name in ("left", "moves", "cold", "pause", "restored"))
#: Those of a plan that has no end, though nothing moves any more: copies restore what is written meanwhile.
_OF_STUCK = frozenset(SHORT[name] for name in ("left", "restored"))


def is_least(result: Result, name: str) -> bool:
    """Tell whether a figure is only a lower bound."""
    figure = SHORT.get(name, name)
    if result.outcome in ("cyclic", "unfinished") or may_go_on(result):
        return figure in _GROWING
    if result.outcome == "stuck" and figure in _OF_STUCK:
        return True
    if figure == SHORT["left"]:
        return result.outcome == "moving" and result.duration_is in ("least", "floor")
    return figure == SHORT["pause"] and bool(result.pauses_are_least)


def may_go_on(result: Result) -> bool:
    """Tell whether not every outcome was simulated to its end; rows of earlier releases say whether it settles."""
    if result.more_may_follow is not None:
        return result.more_may_follow
    return result.outcome in ("moving", "settled") and not result.settles_surely


def badness(result: Result) -> tuple[int, float, bool, float, float, str]:
    """Return a key that sorts the worst result first.

    By: how it ends (:data:`OUTCOMES`; what may not settle is before what does), most cold starts, at risk otherwise
    (:func:`risks`), longest, longest pause, application id.
    """
    return (
        2 * OUTCOMES.index(result.outcome) - (result.settles_surely is False),
        -(result.cold_handovers_most or 0),
        not risks(result),
        -(result.duration_ms_most or 0),
        -(result.max_paused_task_ms_most or 0),
        result.application_id or "",
    )


#: Why an application is at risk.
RISKS = (
    "cold starts",
    "tasks that may start cold",
    "unassigned connectors or tasks",
    "missing standbys",
    "tasks that restore before they run",
)


def risks(result: Result) -> tuple[str, ...]:
    """Return which of :data:`RISKS` an application has; one with cold starts is not counted as one that may have some.

    Rows of earlier releases have the most cold starts alone: these count.
    """
    most, likely = result.cold_handovers_most, result.cold_handovers_likely
    cold = most if likely is None else likely
    has_unassigned = (result.design or "").startswith("connect") and bool(result.max_paused_task_ms_most)
    may_start_cold = bool(most) or (may_go_on(result) and bool(result.stateful_tasks))
    risk_flags = (
        bool(cold),
        may_start_cold and not cold,
        has_unassigned,
        bool(result.standbys_missing),
        bool(result.restoring_first),
    )
    return tuple(risk for risk, is_so in zip(RISKS, risk_flags, strict=True) if is_so)


def is_bad(result: Result) -> bool:
    """Return whether it needs action: it does not settle, might not, is at risk, or is unknown."""
    return result.outcome not in ("moving", "settled") or not result.settles_surely or bool(risks(result))


def by_figure(name: str) -> SortKey:
    """Return the key that sorts by a figure.

    The largest first, before that what is not known, or only the least of it; outcomes from the worst, other texts by
    alphabet.
    """
    if name == "outcome":
        return badness

    def key(result: Result) -> tuple[Any, ...]:
        value = value_of(result, name)
        if isinstance(value, str):
            return True, 0, value, badness(result)
        return value is not None and not is_least(result, name), -(value or 0), "", badness(result)

    return key
