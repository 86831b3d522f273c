"""Comparisons of every kind that an output has to show, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.history_course import history_course
from kstream_plan.comparison.sides import plan_course, plan_side, snapshot_side
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, plan_cases


def _plan(name: str, first: int = 0, last: int | None = None) -> Comparison:
    result = plan_cases.case(name)
    last = len(result.rounds) if last is None else last
    return compare(plan_side(result, first), plan_side(result, last), plan_course(result, first, last))


def _history(scenario: str, first: int, last: int) -> Comparison:
    rows = captured.rows(scenario, "inputs")[first : last + 1]
    sides = [snapshot_side(snapshot_from_row(row, scenario, lags_as_reported=True)) for row in rows]
    return compare(sides[0], sides[-1], history_course(sides))


_CASES: Mapping[str, Callable[[], Comparison]] = MappingProxyType(
    {
        "scale-out": lambda: _plan("scale-out"),
        "scale-out-begins": lambda: _plan("scale-out", 0, 1),
        "crash": lambda: _plan("crash"),
        "many-instances": lambda: _plan("many-instances"),
        "evil-names": lambda: _plan("evil-names", 2, 3),
        "unknown-end-offsets": lambda: _plan("unknown-end-offsets", 1, 2),
        "settled": lambda: _plan("settled"),
        "no-tasks": lambda: _plan("no-tasks"),
        "generations": lambda: _history("scale-out-standbys", 3, 5),
        "member-lost": lambda: _history("scale-out-standbys", 21, 23),
        "two-plans": lambda: compare(
            plan_side(plan_cases.case("scale-out-standbys")), plan_side(plan_cases.case("settled-standbys"))
        ),
    }
)

NAMES = tuple(_CASES)


@cache
def case(name: str) -> Comparison:
    """The comparison of that name; made once."""
    return _CASES[name]()
