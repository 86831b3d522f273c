"""The first lines say what is counted, and count what they say."""

from dataclasses import replace

import plan_cases

from kstream_plan.planner import plan
from kstream_plan.render.table import table
from kstream_plan.steps import Plan


def page(made: Plan) -> str:
    return " ".join(table(made, width=200).split())


def test_warm_ups_at_a_time_and_new_standbys_are_told_apart() -> None:
    snapshot = plan_cases.snapshot("scale-out")
    assert "RESTORE 58,000 records, ≤ 2 warm-ups at a time. " in page(plan_cases.case("scale-out"))
    with_standbys = plan(replace(snapshot, config=replace(snapshot.config, num_standby_replicas=1)))
    new = sum(
        step.kind == "place" and step.from_ is None and step.to.role == "standby" and step.restore_records != 0
        for round_ in with_standbys.rounds
        for step in round_.steps
    )
    assert new >= len(snapshot.state.group.stateful)
    assert f"≤ 2 warm-ups at a time, {new} new standbys. " in page(with_standbys)


def test_the_ready_copies_of_a_probe_are_warm_ups() -> None:
    assert "why; warm-ups" in table(plan_cases.case("scale-out"))
