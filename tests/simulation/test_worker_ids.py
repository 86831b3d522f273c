"""Connect workers that come back are new processes: their ids are drawn, and decide who leads, and so what waits."""

from __future__ import annotations

import json
import random
import uuid
from functools import cache

import pytest

from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import Bounce, Event, Join, Leave, NewInstance, Return, Scenario, Stop
from kstream_plan.plans import Plan
from kstream_plan.plans.interruptions import stops_of
from kstream_plan.render.answers import to_table as simulation_table
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import is_random, with_random_ids
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios
from tests.helpers.connect_rows import even, row, snapshot
from tests.helpers.schemas import validator

ROLLING = Bounce(at_ms=0, process_ids=("all",), restart_ms=20_000, pause_ms=60_000)


def member_id(host: str, seed: int) -> str:
    return f"connect-{host}-{uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)}"


@cache
def workers(number: int = 3, items: int = 2) -> Snapshot:
    """Workers with ids as brokers give them, a connector and so many tasks each."""
    hosts = [f"10.0.0.{place}:8083" for place in range(number)]
    held = {member_id(host, place): {f"c{place}": (-1, *range(items))} for place, host in enumerate(hosts)}
    item = row({f"c{place}": items for place in range(number)}, held)
    for host, worker in zip(hosts, item["instances"], strict=True):
        worker["host"] = host
    return snapshot(item)


def _ids(event: Event) -> tuple[str, ...]:
    if isinstance(event, Return):
        return event.new_process_ids
    assert isinstance(event, Bounce | Join)
    return tuple(
        str(item.process_id) for item in (event.new_instances if isinstance(event, Bounce) else event.instances)
    )


@pytest.mark.parametrize(
    ("happens", "prefixes"),
    [
        (Return(at_ms=9, process_ids=("10.0.0.1:8083",)), ["connect-10.0.0.1:8083-"]),
        (ROLLING, [f"connect-10.0.0.{place}:8083-" for place in (0, 2)]),
        (Join(at_ms=9, instances=(NewInstance(host="h:1"), NewInstance())), ["connect-h:1-", "connect-new-1-"]),
    ],
)
def test_each_draw_has_other_ids_of_the_groups_own_style(happens: Event, prefixes: list[str]) -> None:
    group = workers().state.group
    scenario = Scenario(events=(Leave(at_ms=0, process_ids=("10.0.0.1:8083",)), happens))
    assert is_random(scenario, group)
    one, other = (_ids(with_random_ids(scenario, group, draw).events[1]) for draw in (0, 1))
    for ids in (one, other):
        assert [name[:-36] for name in ids] == prefixes
    assert not {*one} & {*other}
    assert with_random_ids(scenario, group, 1) == with_random_ids(scenario, group, 1)


def test_a_worker_may_be_named_by_its_host_after_it_came_back_under_another_id() -> None:
    host = ("10.0.0.1:8083",)
    events = (
        Stop(at_ms=0, process_ids=host, crash=True),
        Return(at_ms=60_000, process_ids=host),
        Leave(at_ms=400_000, process_ids=host),
    )
    _, back, left = with_random_ids(Scenario(events=events), workers().state.group, 0).events
    assert isinstance(back, Return)
    assert isinstance(left, Leave)
    assert left.process_ids == back.new_process_ids
    result = simulate(workers(), Scenario(events=events), number_of_draws=1).plan
    assert result.verdict.kind == "settled"
    assert len(result.members) == 2


def test_ids_of_other_kinds_of_groups_stay() -> None:
    for group in (snapshot(even(3)).state.group, captured_scenarios.before("scale-out").state.group):
        name = group.instances[0].process_id
        events = (Stop(at_ms=0, process_ids=(name,)), Return(at_ms=9, process_ids=(name,)))
        assert with_random_ids(Scenario(events=events), group, 0).events == events
        assert not is_random(Scenario(events=(ROLLING,)), group)


def test_who_leads_next_and_so_what_waits_differs_from_draw_to_draw_and_the_worst_is_told() -> None:
    item, scenario = workers(6), Scenario(events=(ROLLING,))
    simulation = simulate(item, scenario, number_of_draws=8)
    assert simulation.draws is not None
    plans = [plan_checked(item, scenario=with_random_ids(scenario, item.state.group, draw)) for draw in range(8)]
    found = {each.summary.paused_task_ms for each in plans}
    assert len(found) > 1
    assert simulation.draws.worst["max_pause_in_all"] == max(found)
    answer = simulation_table(simulation, width=120)
    assert f"{duration(max(found))} over all" in next(line for line in answer.splitlines() if "Unassigned  " in line)
    assert "a typical one of 8 simulations with random process ids, which break ties; ranges are over all" in " ".join(
        answer.replace("│", "").split()
    )
    assert "ids decide which worker leads next, and so whether there is a delay" in " ".join(answer.split())
    document = simulation_json(simulation)
    validator("plan").validate(json.loads(document))
    assert read_plans(document.encode(), "saved") == [simulation.plan]


def test_shorter_delays_are_tried_and_what_nobody_runs_then_is_told() -> None:
    simulation = simulate(snapshot(even(3)), Scenario(events=(Leave(at_ms=0, process_ids=("w1",)),)))
    tried = [(what_if.setting, what_if.value, what_if.paused_task_ms) for what_if in simulation.what_ifs]
    setting = "scheduled_rebalance_max_delay_ms"
    assert tried == [(setting, 60_000, 5 * 63_000), (setting, 0, 5 * 3_000)]
    said = " ".join(simulation_table(simulation, width=120).split())
    assert "scheduled.rebalance.max.delay.ms=1m about 1m03s 2 5m15s 5" in said
    assert "scheduled.rebalance.max.delay.ms=0s about 3s 1 15s 5" in said
    for eager in ({"connect_protocol": "eager"}, {"scheduled_rebalance_max_delay_ms": 0}):
        item = snapshot(even(3, config=eager))
        assert simulate(item, Scenario(events=(Leave(at_ms=0, process_ids=("w1",)),))).what_ifs == ()


def _rolling(design: str, name: str) -> Plan:
    names = [name.format(number + 1) for number in range(10)]
    connectors = {f"connector{number}": 20 for number in range(10)}
    tasks = [(entry, task) for entry, number in connectors.items() for task in range(number)]
    held: dict[str, dict[str, list[int]]] = {name: {entry: [-1]} for name, entry in zip(names, connectors, strict=True)}
    for place, (item, task) in enumerate(tasks):
        held[names[place % 10]].setdefault(item, []).append(task)
    restarts = Bounce(at_ms=0, process_ids=tuple(names), restart_ms=20_000, pause_ms=60_000)
    return plan_checked(snapshot(row(connectors, held)), scenario=Scenario(events=(restarts,)), design=design)


@pytest.mark.parametrize(
    ("design", "name", "tasks", "connectors"),
    [
        ("connect", "connect-{}", 28_920, 1_446),
        ("connect-design-1", "connect-{}", 600, 30),
        ("connect-design-1", "worker{}", 600, 30),
    ],
)
def test_a_rolling_restart_of_ten_workers_with_200_tasks_in_item_seconds(
    design: str, name: str, tasks: int, connectors: int
) -> None:
    result = _rolling(design, name)
    found = stops_of(result)
    assert (found.paused_task_ms, found.paused_connector_ms) == (1_000 * tasks, 1_000 * connectors)
    unheard_ms = result.summary.paused_task_ms - found.paused_task_ms - found.paused_connector_ms
    assert 0 < unheard_ms <= 10 * 21 * 2 * 3_000


def test_how_long_a_rolling_restart_leaves_tasks_standing_still_hangs_on_the_workers_ids() -> None:
    assert len({_rolling("connect", name).summary.paused_task_ms for name in ("connect-{}", "worker{}", "w{:02}")}) == 3
