"""The engine decides as the reference, on random groups and round after round, also from the decision before.

``KSTREAM_PLAN_GROUPS=100000 pytest tests/reference/test_engine.py`` decides for more groups than every run does.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from kstream_plan.assignors import ASSIGNORS
from tests.helpers import kafka_cases
from tests.reference.cases import decide
from tests.reference.random_cases import cases

GROUPS = int(os.environ.get("KSTREAM_PLAN_GROUPS", "300"))
ROUNDS = 3
MAX_ID = 2**128 - 1

assign = ASSIGNORS["high-availability"]


@settings(
    max_examples=GROUPS,
    derandomize="KSTREAM_PLAN_GROUPS" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_the_engine_decides_as_the_reference(case: dict[str, Any]) -> None:
    group, config = kafka_cases.group_of(case), kafka_cases.config_of(case)
    previous = None
    for _ in range(ROUNDS):
        state = kafka_cases.state_of(case, group)
        decision = decide(case)
        assignment = assign(state, config)
        assert kafka_cases.rendered(group, assignment) == kafka_cases.expected(group, decision)
        assert assign(state, config, previous) == assignment
        previous = state, assignment
        case = kafka_cases.next_case(case, decision)


def _decided_by_engine(case: dict[str, Any]) -> dict[str, Any]:
    group = kafka_cases.group_of(case)
    assignment = assign(kafka_cases.state_of(case, group), kafka_cases.config_of(case))
    decision: dict[str, Any] = kafka_cases.rendered(group, assignment)
    return decision


def _opposite_id(text: str) -> str:
    return str(uuid.UUID(int=MAX_ID - uuid.UUID(text).int))


def _ties_by_reversed_id(case: dict[str, Any]) -> dict[str, Any]:
    """Decide for the group whose ids are opposite, and name them back."""
    decision = _decided_by_engine(
        case | {"clients": [row | {"process_id": _opposite_id(row["process_id"])} for row in case["clients"]]}
    )
    for row in decision["clients"]:
        row["process_id"] = _opposite_id(row["process_id"])
    for move in decision["movements"]:
        move |= {end: _opposite_id(move[end]) for end in ("source", "destination")}
    return decision


def _with_settings(**changes: Callable[[int], int]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def decided(case: dict[str, Any]) -> dict[str, Any]:
        config = case["config"]
        return _decided_by_engine(
            case | {"config": config | {name: change(config[name]) for name, change in changes.items()}}
        )

    return decided


@pytest.mark.parametrize(
    "wrong",
    [
        _ties_by_reversed_id,
        _with_settings(acceptable_recovery_lag=lambda limit: max(limit - 1, 0)),
        _with_settings(max_warmup_replicas=lambda number: number + 1),
    ],
    ids=["ties by reversed id", "caught up one record later", "one more warm-up"],
)
def test_an_engine_that_decides_otherwise_is_noticed(wrong: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    def differs(case: dict[str, Any]) -> bool:
        decision, group = wrong(case), kafka_cases.group_of(case)
        rows = sorted(decision["clients"], key=lambda row: group.instance_index[row["process_id"]])
        return bool(decision | {"clients": rows} != kafka_cases.expected(group, decide(case)))

    find(cases(), differs, settings=settings(max_examples=GROUPS, derandomize=True, phases=[Phase.generate]))
