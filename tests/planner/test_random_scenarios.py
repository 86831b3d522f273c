"""Whatever happens to a group, every invariant of its plan holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from kstream_plan.assignors import ASSIGNORS, Assignor
from kstream_plan.designs.classic import design as planner
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Assignment, GroupState, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Outage, Pause, Plan
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.render.answers import to_markdown as markdown
from kstream_plan.render.answers import to_table as table
from tests.helpers.random_scenarios import play, play_varied

#: ``KSTREAM_PLAN_SEQUENCES=10000 pytest`` plays more of them; a sequence has some 30 rebalances: 22,000 in every run.
SEQUENCES = int(os.environ.get("KSTREAM_PLAN_SEQUENCES", "600"))
CHUNK = 100


def _history(plan: Plan) -> str:
    return "\n".join(
        f"{rnd.number} {rnd.at_ms} {rnd.trigger}: {', '.join(step.kind for step in rnd.steps)}" for rnd in plan.rounds
    )


def _chunks(sequences: int, size: int, name: str) -> list[Any]:
    """The first seeds of the chunks, each for whatever worker is free."""
    return [
        pytest.param(first, marks=pytest.mark.xdist_group(f"{name} from {first}"))
        for first in range(0, sequences, size)
    ]


@pytest.fixture(scope="module", params=_chunks(SEQUENCES, CHUNK, "sequences"))
def played(request: pytest.FixtureRequest) -> Mapping[int, Plan]:
    """The plans of so many sequences by their seeds, made once for all that is asked of them."""
    return {seed: play(seed) for seed in range(request.param, min(request.param + CHUNK, SEQUENCES))}


def test_every_sequence_of_events_keeps_every_invariant(played: Mapping[int, Plan]) -> None:
    for seed, result in played.items():
        assert broken_invariants(result) == (), f"seed {seed}\n{_history(result)}"


@pytest.mark.parametrize("first", _chunks(SEQUENCES // 4, 50, "varied sequences"))
def test_every_design_assignor_and_protocol_keeps_every_invariant(first: int) -> None:
    for seed in range(first, first + 50):
        result = play_varied(seed)
        assert broken_invariants(result) == (), f"seed {seed}\n{_history(result)}"


def test_a_target_that_waits_for_its_interval_does_not_make_a_history_endless() -> None:
    """Of a streams group: a target was wanted since before the last one was computed."""
    assert play_varied(5_000_220).verdict.kind == "settled"


def test_every_task_runs_once_all_has_settled(played: Mapping[int, Plan]) -> None:
    settled = [outcome for outcome in played.values() if outcome.verdict.kind == "settled"]
    assert len(settled) > 0.6 * len(played)
    for result in settled:
        assert sorted(task for held in result.final for task in held.active) == list(range(len(result.group.tasks)))


def test_every_output_takes_it(played: Mapping[int, Plan]) -> None:
    for result in list(played.values())[::25]:
        assert table(result, verbose=True)
        assert markdown(result, verbose=True)
        [read] = read_plans(plan_json(result).encode(), "x")
        assert (read.rounds, read.final, read.later_configs) == (result.rounds, result.final, result.later_configs)
        assert (read.outages, read.pauses) == (result.outages, result.pauses)


def test_a_task_stands_still_once_at_a_time_and_in_every_outage_of_who_runs_it(played: Mapping[int, Plan]) -> None:
    seen = 0
    for seed, result in played.items():
        found = result.pauses
        assert sum(pause.length_ms for pause in found) == result.summary.paused_task_ms, f"seed {seed}"
        assert [pause.to_ms for pause in found] == sorted(pause.to_ms for pause in found)
        by_task: dict[TaskId, list[Pause]] = {}
        for pause in sorted(found, key=lambda one: one.from_ms):
            by_task.setdefault(pause.task_id, []).append(pause)
        for own in by_task.values():
            assert all(one.to_ms <= other.from_ms for one, other in pairwise(own)), f"seed {seed}"
        for outage in result.outages:
            assert not any(outage.from_ms < rnd.at_ms < outage.to_ms for rnd in result.rounds), f"seed {seed}"
            for task_id in _run_when(result, outage):
                seen += 1
                covers = [
                    one for one in by_task[task_id] if one.from_ms <= outage.from_ms and outage.to_ms <= one.to_ms
                ]
                assert len(covers) == 1, f"seed {seed}"
    assert seen > 0


def _run_when(plan: Plan, outage: Outage) -> list[TaskId]:
    rounds = [rnd for rnd in plan.rounds if rnd.at_ms <= outage.from_ms]
    held = rounds[-1].assigned if rounds else plan.initial
    consumers = plan.group.consumers_of[plan.group.instance_index[outage.process_id]]
    return [plan.group.tasks[task].task_id for consumer in consumers for task in held[consumer].active]


def _anew(state: GroupState, config: AssignmentConfig, previous: object = None, **law: bool) -> Assignment:
    return ASSIGNORS["high-availability"](state, config)


def test_deciding_anew_in_every_round_gives_the_same(
    played: Mapping[int, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "ASSIGNORS", {"high-availability": Assignor(_anew)})
    for seed, incremental in list(played.items())[::6]:
        assert play(seed) == incremental, f"seed {seed}"
