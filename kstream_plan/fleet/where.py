"""Conditions on results, as ``cold > 0 and left > 1h``: an unknown figure counts as the worse one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple, get_args, get_type_hints

from kstream_plan.errors import UsageError
from kstream_plan.fleet.figures import NAMES, OUTCOMES, SHORT, is_least, value_of
from kstream_plan.plans.result import Result

_CONDITION = re.compile(r"\s*(\w+)\s*(>=|<=|!=|=|>|<)\s*(\S+)\s*")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        ">=": operator.ge,
        "<=": operator.le,
        "!=": operator.ne,
        "=": operator.eq,
        ">": operator.gt,
        "<": operator.lt,
    }
)
#: What holds of a figure that is not known, or only the least of it: it may be large.
_OF_THE_UNKNOWN = frozenset({">", ">=", "!="})


class Condition(NamedTuple):
    """One comparison of a figure with a value."""

    name: str
    comparison: str
    value: int | str | bool

    def holds(self, result: Result) -> bool:
        """Tell whether it holds or may hold. An unreadable application is unknown, so that it is always shown."""
        figure = value_of(result, self.name)
        if figure is None and result.outcome == "unreadable":
            return True
        if figure is None or is_least(result, self.name):
            return self.comparison in _OF_THE_UNKNOWN
        return _COMPARISONS[self.comparison](figure, self.value)


def conditions(text: str, duration: Callable[[str], int]) -> tuple[Condition, ...]:
    """Return the conditions of ``text``, joined by ``and``; ``duration`` reads ``1h30m`` as milliseconds.

    Raises:
        UsageError: it is no such text, or there is no such figure.
    """
    return tuple(_condition(part, duration) for part in _AND.split(text.strip()))


def _condition(text: str, duration: Callable[[str], int]) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text.strip()!r} is no condition",
            where="--where",
            fix="write FIGURE > VALUE, as in 'cold > 0 and left > 1h': joined by and alone",
        )
    name, comparison, value = match.groups()
    check_name(name, "--where")
    kind = _kind(name)
    if kind is str:
        return _of_text(name, comparison, value)
    try:
        if kind is bool:
            return Condition(name, comparison, {"true": True, "false": False}[value.lower()])
        return Condition(name, comparison, duration(value) if _is_time(name) else int(value.replace("_", "")))
    except (KeyError, ValueError):
        expected_form = (
            "true or false" if kind is bool else "a duration, as 90s or 1h" if _is_time(name) else "a whole number"
        )
        raise UsageError(
            f"{value!r} is not {expected_form}", where=f"--where {name}", fix=f"give {expected_form}"
        ) from None


def _kind(name: str) -> type:
    arguments = get_args(get_type_hints(Result)[SHORT.get(name, name)])
    return next((kind for kind in (bool, int) if kind in arguments), str)


def _is_time(name: str) -> bool:
    return "_ms" in SHORT.get(name, name)


def _of_text(name: str, comparison: str, value: str) -> Condition:
    if comparison not in ("=", "!="):
        raise UsageError(f"{name} is a text", where="--where", fix=f"write {name} = TEXT, or {name} != TEXT")
    text = value.strip("'\"")
    if name == "outcome" and text not in OUTCOMES:
        raise UsageError(f"{text!r} is no outcome", where="--where", fix=f"give one of {', '.join(OUTCOMES)}")
    return Condition(name, comparison, text)


def check_name(name: str, option: str) -> None:
    """Check that there is such a figure.

    Raises:
        UsageError: there is none.
    """
    if name not in NAMES:
        similar_names = get_close_matches(name, NAMES, 1)
        fix = (
            f"did you mean {similar_names[0]}?"
            if similar_names
            else f"some are {', '.join(NAMES[:8])}; kstream-plan schema results has all"
        )
        raise UsageError(f"there is no figure {name!r}", where=option, fix=fix)
