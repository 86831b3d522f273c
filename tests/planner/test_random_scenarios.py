"""Whatever happens to a group, every invariant of its plan holds."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from kstream_plan.assignors import ASSIGNORS, Assignor
from kstream_plan.designs.classic import design as planner
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Assignment, GroupState, TaskId
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Outage, Pause, Plan
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.render.plan.markdown import markdown
from kstream_plan.render.plan.table import table
from tests.helpers.random_scenarios import play

#: ``KSTREAM_PLAN_SEQUENCES=10000 pytest`` plays more of them.
SEQUENCES = int(os.environ.get("KSTREAM_PLAN_SEQUENCES", "1000"))
CHUNK = 100


def _history(made: Plan) -> str:
    return "\n".join(
        f"{rnd.number} {rnd.at_ms} {rnd.trigger}: {', '.join(step.kind for step in rnd.steps)}" for rnd in made.rounds
    )


@pytest.mark.parametrize("first", range(0, SEQUENCES, CHUNK))
def test_every_sequence_of_events_keeps_every_invariant(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEQUENCES)):
        made = play(seed)
        assert broken_invariants(made) == (), f"seed {seed}\n{_history(made)}"


def test_every_task_runs_once_all_has_settled() -> None:
    ends = [play(seed) for seed in range(100)]
    settled = [made for made in ends if made.verdict.kind == "settled"]
    assert len(settled) > 60
    for made in settled:
        assert sorted(task for held in made.final for task in held.active) == list(range(len(made.group.tasks)))


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_every_output_takes_it(seed: int) -> None:
    made = play(seed)
    assert table(made, verbose=True)
    assert markdown(made, verbose=True)
    [read] = read_plans(plan_json(made).encode(), "x")
    assert (read.rounds, read.final, read.later_configs) == (made.rounds, made.final, made.later_configs)
    assert (read.outages, read.pauses) == (made.outages, made.pauses)


def test_a_task_stands_still_once_at_a_time_and_in_every_outage_of_who_runs_it() -> None:
    seen = 0
    for seed in range(200):
        made = play(seed)
        found = made.pauses
        assert sum(pause.length_ms for pause in found) == made.summary.paused_task_ms, f"seed {seed}"
        assert [pause.to_ms for pause in found] == sorted(pause.to_ms for pause in found)
        by_task: dict[TaskId, list[Pause]] = {}
        for pause in sorted(found, key=lambda one: one.from_ms):
            by_task.setdefault(pause.task_id, []).append(pause)
        for own in by_task.values():
            assert all(one.to_ms <= other.from_ms for one, other in pairwise(own)), f"seed {seed}"
        for outage in made.outages:
            assert not any(outage.from_ms < rnd.at_ms < outage.to_ms for rnd in made.rounds), f"seed {seed}"
            for task_id in _run_when(made, outage):
                seen += 1
                covers = [
                    one for one in by_task[task_id] if one.from_ms <= outage.from_ms and outage.to_ms <= one.to_ms
                ]
                assert len(covers) == 1, f"seed {seed}"
    assert seen > 0


def _run_when(made: Plan, outage: Outage) -> list[TaskId]:
    rounds = [rnd for rnd in made.rounds if rnd.at_ms <= outage.from_ms]
    held = rounds[-1].assigned if rounds else made.initial
    consumers = made.group.consumers_of[made.group.instance_index[outage.process_id]]
    return [made.group.tasks[task].task_id for consumer in consumers for task in held[consumer].active]


def _anew(state: GroupState, config: AssignmentConfig, previous: object = None) -> Assignment:
    return ASSIGNORS["high-availability"](state, config)


@pytest.mark.parametrize("first", range(0, 300, CHUNK))
def test_deciding_anew_in_every_round_gives_the_same(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(first, first + CHUNK):
        incremental = play(seed, max_rounds=60)
        with monkeypatch.context() as patch:
            patch.setattr(planner, "ASSIGNORS", {"high-availability": Assignor(_anew)})
            assert play(seed, max_rounds=60) == incremental, f"seed {seed}"
