"""A release's own assignor decides random cases as ours does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstream_plan.model.releases import RACK_CYCLES, RACKS
from tests.benchmarks.connect_cases import random_decision, random_sequence
from tests.benchmarks.connect_vs_kafka import compared as compared_connect
from tests.benchmarks.differential import compared

_CASES = 1000


@pytest.mark.kafka
def test_random_cases_are_decided_alike(pytestconfig: pytest.Config) -> None:
    version = pytestconfig.getoption("--kafka-version")
    results = list(compared(first_seed=1, number=_CASES, kafka_version=version))
    otherwise = RACKS.is_in(version) and not RACK_CYCLES.is_in(version)  # racks in 3.6 alone, which plans warn of
    assert len(results) > _CASES // 2 if otherwise else len(results) == _CASES
    assert [case_id for case_id, same in results if not same and not (otherwise and "racks" in case_id)] == []


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("mode", "make", "cases"), [("assign", random_decision, 300), ("sequence", random_sequence, 20)]
)
def test_random_cases_of_connect_groups_are_decided_alike(
    mode: str, make: Callable[[int], dict[str, Any]], cases: int, pytestconfig: pytest.Config
) -> None:
    version = pytestconfig.getoption("--kafka-version")
    found = list(compared_connect(mode, make, range(cases), version))
    assert len(found) == cases
    assert [one for one in found if one[1] is not None] == []
