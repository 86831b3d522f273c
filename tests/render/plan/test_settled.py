"""The page of a settled group claims only what its plan knows."""

from dataclasses import replace

import pytest

from kstream_plan.plans import Plan
from kstream_plan.render.answers import to_table as table
from tests.helpers import plan_cases


def page(plan: Plan) -> str:
    return " ".join(table(plan, width=200).split())


def test_standbys_are_counted_and_their_lag_is_left_to_the_ranks() -> None:
    shown = page(plan_cases.case("settled-standbys"))
    assert "restores nothing" not in shown
    assert "1 standby each; how far behind: kstream-plan assign SNAPSHOT --show-ranks" in shown


def test_a_loss_without_standbys_restores_at_most_everything() -> None:
    assert "restores up to 16,000 records" in page(plan_cases.case("settled"))


@pytest.mark.parametrize(("standbys", "suggested"), [(0, 1), (1, 2), (2, None), (5, None)])
def test_no_more_standbys_are_suggested_than_there_are_other_instances(standbys: int, suggested: int | None) -> None:
    plan = plan_cases.case("settled-standbys")
    assert len(plan.group.instances) == 3
    shown = page(replace(plan, config=replace(plan.config, num_standby_replicas=standbys)))
    assert ("--num-standby-replicas" in shown) == (suggested is not None)
    assert suggested is None or f"--num-standby-replicas {suggested}" in shown
