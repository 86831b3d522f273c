"""A saved plan that somebody edited is told as one, wherever its figures are not what its rounds give."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from kstream_plan.documents.plan.read import SavedPlan, read_saved
from kstream_plan.documents.plan.seal import seal_of
from kstream_plan.documents.plan.simulation import simulation_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import PlanFileError
from kstream_plan.plans.balance import balances
from kstream_plan.simulation.one_plan import plan
from tests.digests.cases import case
from tests.helpers import plan_cases, random_scenarios, simulation_cases, stateless_groups

pytestmark = pytest.mark.xdist_group("simulations")


def _read(document: Any) -> SavedPlan:
    [saved] = read_saved(json.dumps(document).encode(), "f")
    return saved


def _refused(document: Any) -> str:
    with pytest.raises(PlanFileError) as caught:
        _read(document)
    assert caught.value.fix == "the file was edited: save the plan again with --out of the command that made it"
    return caught.value.what


def _edited(text: str, path: tuple[str | int, ...], value: object) -> Any:
    document = part = json.loads(text)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("summary", "moves"), 1, "summary.moves is 1, and the rounds give 20"),
        (("summary", "hops"), 0, "summary.hops is 0, and the rounds give"),
        (("summary", "stateless_hops"), 10**6, "summary.stateless_hops is 1000000, and the rounds give"),
        (("summary", "warmups"), 0, "summary.warmups is 0, and the rounds give 20"),
        (("summary", "cold_handovers"), 1, "summary.cold_handovers is 1, and the rounds give 0"),
        (("summary", "max_cold_restore_ms"), 7, "summary.max_cold_restore_ms is 7, and no start is cold"),
        (("summary", "max_cold_restore_ms"), None, "summary.max_cold_restore_ms is null, and no start is cold"),
        (("summary", "restored_records"), 0, "summary.restored_records is 0, and the rounds give"),
        (("summary", "restored_records"), None, "summary.restored_records is null, and the rounds give"),
        (("summary", "duration_ms"), 1, "summary.duration_ms is 1, and the rounds give"),
        (("summary", "rebalances"), 1, "summary.rebalances is 1, and the rounds give"),
        (("summary", "probing_rebalances"), 1, "summary.probing_rebalances is 1, and the rounds give"),
        (("summary", "paused_task_ms"), 0, "summary.paused_task_ms is 0, and the rounds give"),
        (("summary", "max_paused_task", "ms"), 1, "summary.max_paused_task.ms is 1, and the rounds give 30100"),
        (("summary", "max_paused_task"), None, "summary.max_paused_task is not what the rounds give"),
        (("summary", "peak_extra_copies"), 0, "summary.peak_extra_copies is 0, and the rounds give"),
        (("summary", "lower_bounds", "moves"), 0, "summary.lower_bounds.moves is 0, and the rounds give"),
        (("initial_balance", "active", 0), 7, "initial_balance.active[0] is 7, and the rounds give"),
        (("initial_balance", "instance_spread"), 99, "initial_balance.instance_spread is 99, and the rounds give"),
        (("rounds", 2, "balance", "active", 0), 99, "rounds[2].balance.active[0] is 99, and the rounds give"),
        (("rounds", 2, "balance", "standby", 0), 99, "rounds[2].balance.standby[0] is 99, and the rounds give"),
        (("rounds", 2, "balance", "load_per_thread", 0), 0.25, "rounds[2].balance.load_per_thread[0] is 0.25, and"),
        (("rounds", 2, "balance", "balance_factor"), 0, "rounds[2].balance.balance_factor is 0, and the rounds give"),
        (("rounds", 2, "balance", "subtopology_spread"), 9, "rounds[2].balance.subtopology_spread is 9, and the"),
        (("rounds", 2, "balance", "subtopology_task_spread"), 99, "rounds[2].balance.subtopology_task_spread is 99"),
        (("rounds", 2, "number"), 7, "rounds[2] is numbered 7"),
        (("rounds", 2, "generation"), 7, "rounds[2] is numbered 3, generation 7"),
        (("rounds", 1, "at_ms"), 10**9, "rounds[2] is at"),
        (("rounds", 2, "trigger"), "manual", "summary.probing_rebalances is"),
        (("verdict", "kind"), "stuck", "verdict.kind is 'stuck', and after the last round nothing follows"),
    ],
)
def test_a_figure_is_what_the_rounds_give(path: tuple[str | int, ...], value: object, message: str) -> None:
    assert _refused(_edited(plan_json(plan_cases.case("scale-out")), path, value)).startswith(message)


@pytest.mark.parametrize("path", ["round", "at_ms", "records", "process_id"])
def test_what_restores_first_starts_so_in_the_rounds(path: str) -> None:
    recorded = case(16070)
    text = plan_json(plan(recorded.snapshot, recorded.options, scenario=recorded.scenario))
    value = "x" if path == "process_id" else 7
    assert _refused(_edited(text, ("restoring_starts", 0, path), value)) == (
        "restoring_starts[0] is no start of the plan that counts as caught up"
    )
    document = _edited(text, ("restoring_starts", 0, "restores_ms"), 7)
    assert _refused(document).startswith("seal does not fit")
    document["restoring_starts"][0]["task_id"] = document["tasks"][1]["task_id"]
    assert _refused(document) == "restoring_starts does not fit the warning restores-within-limit"


def test_a_plan_that_goes_on_is_not_settled() -> None:
    document = _edited(plan_json(plan_cases.case("unfinished")), ("verdict", "kind"), "settled")
    assert _refused(document) == "verdict.kind is 'settled', and after the last round something follows"


def test_a_step_that_is_left_out_is_missed() -> None:
    document = json.loads(plan_json(plan_cases.case("scale-out")))
    steps = next(of["steps"] for of in document["rounds"] if of["trigger"] == "follow-up")
    del steps[next(place for place, step in enumerate(steps) if step["kind"] == "hand-over")]
    with pytest.raises(PlanFileError):
        _read(document)


def _draws(change: Callable[[Any], object], name: str = "add-two") -> Any:
    document = json.loads(simulation_json(simulation_cases.case(name)))
    change(document["simulation"]["draws"])
    document["seal"] = seal_of(document)
    return document


def test_the_worst_draw_is_no_better_than_the_one_that_is_shown() -> None:
    draws = json.loads(simulation_json(simulation_cases.case("add-two")))["simulation"]["draws"]
    better = {name: 0 for name, value in draws["worst"].items() if value and name != "must_settle"}
    assert len(better) > 5
    for name, value in better.items():
        what = _refused(_draws(lambda of, name=name, value=value: of["worst"].update({name: value})))
        assert what.startswith(f"simulation.draws.worst[{name!r}] is 0, and ")
    most = draws["duration_ms"]["most"]
    what = _refused(_draws(lambda of: of["duration_ms"].update(most=most + 1)))
    assert what.startswith(f"simulation.draws.worst['max_duration'] is {most}, and duration_ms.most {most + 1}")
    what = _refused(_draws(lambda of: of.update(settled=19)))
    assert what == "simulation.draws.worst['must_settle'] is 1, where 19 of 20 settle"
    unproven = _draws(lambda of: of["worst"].update(must_settle=0))  # whether each one settles is unknown
    _read({**unproven, "seal": seal_of(unproven)})


def test_a_rule_that_is_not_told_of_the_worst_draw_is_missed() -> None:
    with pytest.raises(PlanFileError, match="has no max_moves of the worst random simulation"):
        _read(_draws(lambda of: of["worst"].pop("max_moves")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": 1, "settled": 1, "shown": 0}, "duration_ms is a range, of one random simulation"),
        ({"number": 7}, "settled is 20, of 7 random simulations"),
        ({"shown": 20}, "shown is 20, of 20 random simulations from 0"),
        ({"settled": 3}, "settled is 3, of 20 random simulations, and the one that is shown settles"),
        ({"settled": 19}, "worst['must_settle'] is 1, where 19 of 20 settle"),
        ({"moves": {"median": 0, "least": 0, "most": 0}}, "moves does not include"),
        ({"moves": {"median": 1, "least": 2, "most": 99}}, "moves is not in order: minimum, median, maximum"),
    ],
)
def test_draws_take_in_the_one_that_is_shown(change: dict[str, Any], message: str) -> None:
    # whatever the number of draws of one draw, there is no range
    assert _refused(_draws(lambda of: of.update(change))).startswith(f"simulation.draws.{message}")


def test_what_is_told_of_an_event_follows_from_it() -> None:
    document = json.loads(simulation_json(simulation_cases.case("replace-one")))
    for name in ("rebalances", "hops", "cold_handovers"):
        edited = copy.deepcopy(document)
        edited["simulation"]["events"][0][name] += 1
        assert _refused(edited).startswith(f"simulation.events[0].{name} is ")


def test_the_plan_of_a_simulation_says_that_the_rest_is_missing() -> None:
    simulated = simulation_cases.case("add-two")
    assert not _read(json.loads(simulation_json(simulated))).lacks_simulation
    assert _read(json.loads(plan_json(simulated.plan))).lacks_simulation
    assert not _read(json.loads(plan_json(plan_cases.case("scale-out")))).lacks_simulation


@pytest.mark.parametrize("seed", range(30))
def test_balances_are_those_of_the_planner(seed: int) -> None:
    made = random_scenarios.play(seed, protocol=("cooperative", "eager", "mixed")[seed % 3])
    found = balances(made.group, made.rounds, made.first_members)
    for rnd, balance in zip(made.rounds, found, strict=True):
        for name in ("active", "standby", "instance_spread", "balance_factor"):
            assert getattr(balance, name) == getattr(rnd.balance, name), rnd.number
        for name in ("subtopology_spread", "subtopology_task_spread"):
            assert getattr(balance, name) == getattr(rnd.balance, name), rnd.number
    _read(json.loads(plan_json(made)))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_dealt_anew_every_time_adds_up(seed: int) -> None:
    _read(json.loads(plan_json(plan(stateless_groups.joined(seed), max_rounds=30))))


def _changed(name: str, change: Callable[[Any], object], **summary: object) -> str:
    """What is said of a plan whose starts of tasks with state were changed, and its figures with them."""
    document = json.loads(plan_json(plan_cases.case(name)))
    stateful = {task["task_id"] for task in document["tasks"] if task["stateful"]}
    for step in (step for of in document["rounds"] for step in of["steps"]):
        if step["kind"] in ("hand-over", "promote") and step["task_id"] in stateful:
            change(step)
    document["summary"].update(summary)
    return _refused(document)


def test_a_start_is_as_cold_as_the_lag_that_decided() -> None:
    said = _changed("crash", lambda step: step.update(caught_up=True), cold_handovers=0, max_cold_restore_ms=0)
    assert re.fullmatch(
        r"rounds\[\d+\]\.steps\[\d+\]\.caught_up is true, and the reason is no-state-anywhere, lag \d+", said
    )
    said = _changed("scale-out", lambda step: step.update(caught_up=False), cold_handovers=20, max_cold_restore_ms=None)
    assert re.fullmatch(
        r"rounds\[\d+\]\.steps\[\d+\]\.caught_up is false, and the reason is target-caught-up, lag \d+", said
    )


def test_the_limit_of_a_start_is_that_of_the_settings() -> None:
    def limit(step: Any) -> None:
        step["reason"]["limit"] = 10**9
        step["caught_up"] = True

    said = _changed("crash", limit, cold_handovers=0, max_cold_restore_ms=0)
    assert re.search(r"reason has the limit 1000000000, and acceptable.recovery.lag is \d+$", said)


def test_a_task_with_state_does_not_start_as_one_without() -> None:
    def stateless(step: Any) -> None:
        step.update(caught_up=True, reason={"code": "stateless-least-loaded"})

    said = _changed("crash", stateless, cold_handovers=0, max_cold_restore_ms=0)
    assert said.endswith(".reason is stateless-least-loaded, of a task with state")


def test_no_probe_comes_before_its_interval_is_over() -> None:
    document = json.loads(plan_json(plan_cases.case("scale-out")))
    for place, of in enumerate(document["rounds"]):
        of["at_ms"] = place
    assert _refused(document) == "rounds[2].at_ms is 2, and a probe comes 60000 or more after 1"


@pytest.mark.parametrize("seed", range(2 * len(random_scenarios.WAYS)))
def test_what_was_planned_adds_up_whatever_it_is_of(seed: int) -> None:
    _read(json.loads(plan_json(random_scenarios.play_varied(seed))))
