"""A release's own assignor decides random cases as ours does."""

from __future__ import annotations

import pytest

from tests.benchmarks.differential import compared

_CASES = 1000


@pytest.mark.kafka
def test_random_cases_are_decided_alike(pytestconfig: pytest.Config) -> None:
    results = list(compared(first_seed=1, number=_CASES, kafka_version=pytestconfig.getoption("--kafka-version")))
    assert len(results) == _CASES
    assert [case_id for case_id, same in results if not same] == []
