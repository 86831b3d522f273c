"""Every recorded decision of Kafka's own high-availability assignor comes out, to the last tie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kstream_plan.assignors import ASSIGNORS
from tests.helpers import kafka_cases

assign = ASSIGNORS["high-availability"]

#: file, number of its high-availability cases, whether warm-ups, targets and movements are recorded, whether the split
SINGLE = [("single", 348, True, True), ("single-uuid", 500, False, False), ("awkward", 122, True, True)]


def _cases(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    return (row for row in kafka_cases.recorded(name) if row[0]["assignor"] == "high_availability")


@pytest.mark.parametrize(("name", "number", "traced", "split"), SINGLE)
def test_single_decisions_are_those_of_kafka(name: str, number: int, traced: bool, split: bool) -> None:
    compared = 0
    for case, result in _cases(name):
        state, config = kafka_cases.state_of(case), kafka_cases.config_of(case)
        decision = kafka_cases.rendered(state.group, assign(state, config), traced=traced, split=split)
        assert decision == kafka_cases.expected(state.group, result, traced=traced, split=split), case["id"]
        compared += 1
    assert compared == number


def test_every_round_until_it_settles_is_that_of_kafka_with_and_without_the_round_before() -> None:
    histories, rounds = 0, 0
    for first, result in _cases("converge"):
        group, config = kafka_cases.group_of(first), kafka_cases.config_of(first)
        previous = None
        for case, recorded in kafka_cases.rounds_of(first, result):
            state = kafka_cases.state_of(case, group)
            assignment = assign(state, config)
            assert kafka_cases.rendered(group, assignment) == kafka_cases.expected(group, recorded), (
                case["id"],
                recorded["round"],
            )
            assert assign(state, config, previous) == assignment, (case["id"], recorded["round"])
            previous = (state, assignment)
            rounds += 1
        histories += 1
    assert (histories, rounds) == (120, 1206)
