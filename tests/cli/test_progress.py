"""Long work says how far it is, where nobody sees a bar, too; short work says nothing."""

from __future__ import annotations

import pytest

from kstream_plan.cli.actions.plan import on_round
from kstream_plan.cli.progress import Lines, progress


def test_long_work_says_how_far_it_is_and_then_ever_more_rarely(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    lines = Lines(lambda: seconds)
    told = on_round("planning orders", lines)
    for number in range(100):
        told(number + 1, 1_000 - 10 * number)
        seconds += 1.0
    assert capsys.readouterr().err.splitlines() == [
        "kstream-plan: planning orders: round 11, 900 tasks to go, about 1m30s to go",
        "kstream-plan: planning orders: round 21, 800 tasks to go, about 1m20s to go",
        "kstream-plan: planning orders: round 41, 600 tasks to go, about 1m00s to go",
        "kstream-plan: planning orders: round 81, 200 tasks to go, about 20.0 s to go",
    ]


def test_reading_does_not_count_and_quiet_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    lines = Lines(lambda: seconds)
    lines("reading")
    seconds = 60.0
    lines("planning", 1, 2)
    with progress(quiet=True) as tell:
        tell("planning", 1, 2)
    assert not capsys.readouterr().err
