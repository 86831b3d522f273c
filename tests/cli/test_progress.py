"""Long work says how far it is, where nobody sees a bar, too; short work says nothing."""

from __future__ import annotations

import pytest

from kstream_plan.cli.actions.plan import on_long_plan, on_round
from kstream_plan.cli.progress import Lines, show_progress
from kstream_plan.model import Snapshot
from kstream_plan.model.settings import AssignmentConfig
from tests.helpers.small_groups import group, state


def test_long_work_says_how_far_it_is_by_its_movements_and_then_ever_more_rarely(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = 0.0
    lines = Lines(lambda: seconds)
    answer = on_round("planning orders", lines)
    for number in range(100):
        answer(number + 1, min(500, 1_000 - 10 * number), 1_000 - 10 * number)
        seconds += 1.0
    assert capsys.readouterr().err.splitlines() == [
        "kstream-plan: planning orders: round 11, 500 tasks to go, about 1m30s to go",
        "kstream-plan: planning orders: round 21, 500 tasks to go, about 1m20s to go",
        "kstream-plan: planning orders: round 41, 500 tasks to go, about 1m to go",
        "kstream-plan: planning orders: round 81, 200 tasks to go, about 20s to go",
    ]


def test_a_long_plan_says_at_first_about_how_long_it_will_be_and_a_short_one_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = AssignmentConfig(num_standby_replicas=1)
    large, small = (Snapshot(state=state(group(stateful=tasks), {}, {}), config=config) for tasks in (2_971, 20))
    for snapshot in (large, small):
        answer = on_long_plan("planning orders", Lines(lambda: 0.0), snapshot)
        for to_go in (150, 2_971, 2_970):
            answer(1, to_go, 2 * to_go)
    assert capsys.readouterr().err.splitlines() == [
        "kstream-plan: planning orders: 2,971 tasks have still to move, 2 at a time: about 1,486 probes (10d09h).",
    ]


def test_reading_does_not_count_and_quiet_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    lines = Lines(lambda: seconds)
    lines("reading")
    seconds = 60.0
    lines("planning", 1, 2)
    with show_progress(quiet=True) as tell:
        tell("planning", 1, 2)
        tell.announce("a long plan")
    assert not capsys.readouterr().err
