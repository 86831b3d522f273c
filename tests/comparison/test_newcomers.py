"""Members that came under other ids than a plan made up are still the ones that it means."""

from __future__ import annotations

import gzip
import random
import uuid
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.comparison.plan_and_history import said_and_happened
from kstream_plan.comparison.prediction import Recorded
from kstream_plan.documents.history import entries_of, outcome_of
from kstream_plan.documents.plan import adds_up
from kstream_plan.documents.plan.read import read_plans
from kstream_plan.model import Group, GroupState, Holding, Instance, Snapshot
from kstream_plan.model.decision import KnownDecision
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.instance_ids import renamed
from kstream_plan.plans import MemberJoined, MemberLeft, Plan
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.captured import REAL
from tests.helpers.random_scenarios import play

TAGGED = REAL / "tagged"


def newcomers(plan: Plan) -> set[str]:
    return {step.process_id for rnd in plan.rounds for step in rnd.member_steps if isinstance(step, MemberJoined)}


def as_recorded(plan: Plan, came: dict[str, Instance], rng: random.Random) -> list[Recorded]:
    """The plan's own rounds as a history of a group in which some instances are others."""
    members, generations = set(plan.first_members), []
    for rnd in plan.rounds:
        for step in rnd.member_steps:
            (members.discard if isinstance(step, MemberLeft) else members.add)(step.process_id)
        instances = [
            came.get(instance.process_id, instance)
            for instance in plan.group.instances
            if instance.process_id in members
        ]
        rng.shuffle(instances)
        group = Group.of(plan.group.application_id, list(plan.group.tasks), instances)
        generations.append(recorded(group, decided_in(plan, rnd.decided, came), rnd.at_ms, rnd.probing_rebalance))
    return generations


def decided_in(plan: Plan, decided: Sequence[Holding], came: dict[str, Instance]) -> dict[str, Holding]:
    """What each consumer was given, by the id that it has in the history."""
    given = {}
    for mine, consumers in zip(plan.group.instances, plan.group.consumers_of, strict=True):
        theirs = came.get(mine.process_id, mine)
        for at, consumer in zip(consumers, theirs.consumers, strict=True):
            holding = decided[at]
            given[consumer.consumer_id] = Holding(holding.active, (*holding.standby, *holding.warmup))
    return given


def recorded(group: Group, given: dict[str, Holding], at_ms: int, probing: bool) -> Recorded:
    state = GroupState(
        group=group,
        generation=0,
        at_ms=0,
        holdings=(Holding(),) * len(group.consumer_ids),
        copies=((),) * len(group.tasks),
    )
    decision = KnownDecision(
        generation=1, consumers=tuple(given[name] for name in group.consumer_ids), probing_rebalance=probing
    )
    return Recorded(snapshot=Snapshot(state=state, config=AssignmentConfig(), decision=decision), at_ms=at_ms)


def other_id(instance: Instance, rng: random.Random) -> Instance:
    """The same instance under another process id, threads in the same order."""
    return renamed(instance, str(uuid.UUID(int=rng.getrandbits(128), version=4)))


@given(seed=st.integers(min_value=0, max_value=20_000))
def test_a_history_of_the_plan_itself_came_as_said_whatever_the_newcomers_are_called(seed: int) -> None:
    plan, rng = play(seed, max_rounds=20), random.Random(f"{seed}, other ids than those of the plan")
    came = {
        name: replace(other_id(plan.group.instances[plan.group.instance_index[name]], rng), host=None, client_tags=())
        for name in newcomers(plan)
    }
    history = as_recorded(plan, came, rng)
    if history:
        held = said_and_happened(plan, history, whole=True)
        assert held.alike, [pair.tasks for pair in held.pairs if not pair.likeness.is_as_planned]


def test_newcomers_with_the_tags_of_others_are_who_the_tags_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real group of 5 with a tag for each pod: all 17 generations came as the plan says."""
    # it was decided in another way than assignors here do, with probes every 8 s, and saved before plans had a seal
    monkeypatch.setattr(adds_up, "check_plan", lambda plan: None)
    monkeypatch.setattr("kstream_plan.documents.plan.read.with_known_ends", lambda plan, *_: plan)
    (plan,) = read_plans(gzip.decompress((TAGGED / "plan.json.gz").read_bytes()), "plan.json.gz")
    history = []
    for entry in entries_of(str(TAGGED / "history.jsonl.gz"))["K1c"][1:]:
        decision = outcome_of(entry)
        assert decision is not None
        snapshot = snapshot_from_row(entry.row, "history", lags_as_reported=True)
        history.append(Recorded(snapshot=snapshot, at_ms=parse_time(decision["at"]), trigger=decision["trigger"]))
    held = said_and_happened(plan, history)
    assert [pair.likeness.is_as_planned for pair in held.pairs] == [True] * 17
    assert held.misplaced_tasks == ()


@pytest.mark.parametrize("text", ["static", "tags", "host"])
def test_what_newcomers_are_called_counts_before_what_they_were_given(text: str) -> None:
    plan = next(item for item in map(play, range(500)) if item.rounds and len(newcomers(item)) == 2)
    first, second = sorted(newcomers(plan))
    rng = random.Random(1)

    def named(name: str, alike: str) -> Instance:
        mine = plan.group.instances[plan.group.instance_index[name]]
        consumers = mine.consumers
        if text == "static":
            consumers = tuple(
                replace(item, group_instance_id=f"{alike}-{at}") for at, item in enumerate(mine.consumers)
            )
        tags = (("cluster", "a"), ("pod", alike)) if text == "tags" else (("cluster", "a"),)
        host = alike if text == "host" else "127.0.0.1"
        return replace(mine, consumers=consumers, client_tags=tags, host=host)

    instances = [
        named(instance.process_id, instance.process_id) if instance.process_id in (first, second) else instance
        for instance in plan.group.instances
    ]
    plan = replace(plan, group=Group.of(plan.group.application_id, list(plan.group.tasks), instances))
    swapped = {first: other_id(named(first, second), rng), second: other_id(named(second, first), rng)}
    right = {first: other_id(named(first, first), rng), second: other_id(named(second, second), rng)}
    assert said_and_happened(plan, as_recorded(plan, right, rng), whole=True).alike
    assert not said_and_happened(plan, as_recorded(plan, swapped, rng), whole=True).alike
