"""What was recorded of other designs comes out, to the last tie: streams groups, Connect, learner groups."""

from __future__ import annotations

import pytest

from tests.benchmarks.replay_vectors import records, replays
from tests.helpers.kafka_cases import VECTORS


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("streams-single", 640),
        ("streams-converge", 200),
        ("connect-decisions", 300),
        ("connect-sequences", 150),
        ("connect-java25", 24),
        ("connect-2.3.1", 340),
        ("connect-2.4.1", 340),
        ("connect-2.5.1", 340),
        ("connect-3.2.3", 340),
        ("connect-3.3.2", 340),
        ("connect-3.5.1", 340),
        ("classic-2.8.2", 340),
        ("classic-3.1.2", 340),
        ("classic-3.2.3", 340),
        ("classic-3.5.2", 340),
        ("learner", 250),
        ("planned-decisions", 1_500),
        ("planned-sequences", 150),
    ],
)
def test_it_comes_out(name: str, number: int) -> None:
    path = VECTORS / f"{name}.jsonl.gz"
    compared = 0
    for record in records(path):
        for release, case_id, difference in replays(record, path):
            assert difference is None, (release, case_id)
            compared += 1
    assert compared == number
