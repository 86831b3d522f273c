"""Whatever the group, its plan survives being saved and every form of output takes it."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.documents.plan.read import read_plans, read_saved
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Group, Partition, Rates, Snapshot
from kstream_plan.plans.rebalance_events import events
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import strategies
from tests.helpers.random_scenarios import random_case
from tests.helpers.schemas import validator

SCHEMA = validator("plan")

#: Names as nobody should choose them, lone surrogates included.
NAMES = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    ["[red]", "\x1b[2J", "a|b", "<b>", "`", "@me"]
)


@st.composite
def renamed(draw: st.DrawFn) -> Snapshot:
    """Any group in any state, its application, hosts, racks, tags and topics under names like these."""
    snapshot = draw(strategies.snapshots())
    group = snapshot.state.group
    topics = draw(st.lists(NAMES, min_size=3, max_size=3))
    tasks = [  # a saved plan keeps a task's source topics, not its racks and changelogs
        replace(
            task,
            source_partitions=(Partition(topics[task.task_id.subtopology % 3], task.task_id.partition),),
            changelog_partitions=(),
        )
        for task in group.tasks
    ]
    names = st.none() | NAMES
    instances = [
        replace(instance, host=draw(names), rack=draw(names), client_tags=(("zone", draw(NAMES)),))
        for instance in group.instances
    ]
    state = replace(snapshot.state, group=Group.of(draw(NAMES), tasks, instances))
    rates = Rates(restore_per_instance=draw(st.none() | st.sampled_from([1.0, 50.0, 1e6])))
    captured_at = draw(st.none() | st.just("2026-11-21T12:00:00.000Z"))
    return replace(snapshot, state=state, rates=rates, captured_at=captured_at)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(renamed())
def test_any_plan_is_saved_loaded_validated_and_shown(snapshot: Snapshot) -> None:
    made = plan(snapshot, max_rounds=40)
    text = plan_json(made, full=True)
    assert read_plans(text.encode(), "x") == [made]
    SCHEMA.validate(json.loads(text))
    assert sum(made.pauses.ms.values()) == made.summary.paused_task_ms
    assert sum(len(event.moves) for event in events(made)) == made.summary.hops
    for width in (60, 80, 130):
        page = table(made, width=width, verbose=True)
        assert all(line.isprintable() and cell_len(line) <= width for line in page.split("\n"))
    assert all(line.isprintable() for line in markdown(made, verbose=True).split("\n"))


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 10_000),
    st.integers(1, 3),
    st.sampled_from([0, 3_000, 96_549]),
    st.sampled_from([None, 1.0, 50.0, 2_500.0]),
    st.sampled_from([None, 2.0, 100.0]),
)
def test_any_simulation_that_goes_on_from_an_earlier_decision_is_saved_and_read_back(
    seed: int, rounds: int, since_ms: int, restore: float | None, produce: float | None
) -> None:
    snapshot, scenario = random_case(seed)
    whole = with_random_ids(scenario, snapshot.state.group, 0)
    captured = replace(snapshot, captured_at="2026-11-21T12:00:00.000Z")
    cut = plan(captured, scenario=whole, max_rounds=rounds, ranges=False, floor=False)
    before = snapshot_from_row(end_snapshot(cut), "end.json")
    assert before.captured_at_ms is not None
    rates = Rates(restore_per_instance=restore, produce_per_task=produce)
    joins = scale_out(before.state.group, add=1)
    now_ms = before.captured_at_ms + since_ms
    of = simulate(replace(before, rates=rates), joins, number_of_draws=1, max_rounds=40, now_ms=now_ms, what_ifs=False)
    [saved] = read_saved(simulation_json(of).encode(), "x")
    assert saved.plan == of.plan
    assert saved.draws == of.over_draws
