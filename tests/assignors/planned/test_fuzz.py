"""Groups that follow target files settle whatever happens to them, and no decision loses, chills or crowds a task."""

from tests.fuzz.planned import play


def test_two_thousand_random_lives():
    assert [(seed, what) for seed in range(2_000) if (what := play(seed)) is not None] == []
