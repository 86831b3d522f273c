"""``balanced``: a balanced group is left alone, progress never makes its target flip, and odd groups are served."""

from __future__ import annotations

import importlib
import random
import sys
from dataclasses import replace

import pytest

from kstream_plan.assignors.balanced.active_flow import Placeable, place_evenly
from kstream_plan.assignors.balanced.assign import assign
from kstream_plan.assignors.balanced.standby_flow import place_standbys
from kstream_plan.assignors.balanced.task_costs import Prospect, prospects
from kstream_plan.errors import UsageError
from kstream_plan.model import (
    LATEST,
    Assignment,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Rates,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.starting_state import seated
from tests.assignors.balanced.test_active_flow import least_costs
from tests.helpers import memberships
from tests.helpers.in_play import Rebalanced
from tests.helpers.small_groups import group as small_group
from tests.helpers.small_groups import state as small_state


def _random_group(rng: random.Random, most_tasks: int = 14) -> Group:
    equal = rng.choice([None, 1, 2])
    instances = [
        Instance(
            process_id=f"i{n}",
            consumers=tuple(Consumer(consumer_id=f"i{n}-{t}") for t in range(equal or rng.randint(1, 3))),
            client_tags=(("zone", rng.choice("abc")),),
        )
        for n in range(rng.randint(1, 6))
    ]
    tasks = [
        Task(task_id=TaskId(subtopology, partition), stateful=stateful, end_offset_sum=rng.randint(0, 5000))
        for subtopology in range(rng.randint(1, 3))
        for stateful in [rng.random() < 0.7]
        for partition in range(rng.randint(0, most_tasks // 2))
    ]
    return Group.of("orders", tasks, instances)


def _random_config(rng: random.Random, standbys: int) -> AssignmentConfig:
    return AssignmentConfig(
        acceptable_recovery_lag=100,
        num_standby_replicas=standbys,
        max_warmup_replicas=rng.randint(1, 4),
        balance_factor=rng.randint(1, 3),
        rack_aware_assignment_tags=rng.choice([(), ("zone",)]),
        state_cleanup_delay_ms=2**62,
    )


def balanced_group(rng: random.Random, standbys: int) -> Snapshot:
    """A group whose tasks are somewhere, at random, but balanced."""
    group, config = _random_group(rng), _random_config(rng, standbys)
    instances = range(len(group.instances))

    def placeables(tasks: tuple[int, ...]) -> list[Placeable]:
        return [Placeable(t, {i: (rng.randint(0, 99), 0) for i in instances}, (99, 0)) for t in tasks]

    owner = place_evenly(group, placeables(group.stateful), config.balance_factor).instance_of
    loads = [list(owner.values()).count(i) for i in instances]
    stateless = place_evenly(group, placeables(group.stateless), config.balance_factor, loads).instance_of
    wishes = [Prospect(t, 99, {i: rng.randint(0, 98) for i in instances}, (), False, {}) for t in group.stateful]
    copies, *_ = place_standbys(group, config, wishes, owner)
    held = []
    for i in instances:
        active = tuple(sorted(t for t, item in (owner | stateless).items() if item == i))
        held.append(Holding(active, tuple(t for t, item in copies.items() if i in item)))
    state = GroupState(
        group=group,
        generation=1,
        at_ms=0,
        holdings=tuple(
            held[i] if consumers.start == c else Holding()
            for i, consumers in enumerate(group.consumers_of)
            for c in consumers
        ),
        copies=tuple(
            tuple(
                Copy(i, LATEST if owner[t] == i else rng.randint(0, 100), (group.consumers_of[i].start,))
                for i in sorted((owner[t], *copies[t]))
            )
            if t in owner
            else ()
            for t in range(len(group.tasks))
        ),
    )
    return Snapshot(state=seated(state), config=config)


def _decided(state: GroupState, decision: Assignment) -> bool:
    """Whether every instance is decided what it holds already."""
    return all(
        decided.active == tuple(sorted(t for c in consumers for t in state.holdings[c].active))
        and decided.standby == tuple(sorted(t for c in consumers for t in state.holdings[c].standby))
        and not decided.warmup
        for decided, consumers in zip(decision.instances, state.group.consumers_of, strict=True)
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_balanced_group_is_left_alone(seed: int) -> None:
    rng = random.Random(seed)
    for case in range(100):
        snapshot = balanced_group(rng, rng.choice([0, 0, 1, 2]))
        decision = assign(snapshot.state, snapshot.config)
        assert _decided(snapshot.state, decision), f"case {case}"
        assert not decision.probing_rebalance


@pytest.mark.parametrize("seed", range(10))
def test_no_other_balanced_target_restores_less_or_moves_fewer(seed: int) -> None:
    """From lags to target, on groups of at most 4 instances and 7 tasks: every balanced placement is tried."""
    rng = random.Random(seed)
    for case in range(50):
        state, config = seated(_anywhere(rng)), _random_config(rng, rng.choice([0, 1, 2]))
        group, found = state.group, list(prospects(state, config, state.group.stateful))
        costs = [{i: one.active_cost(i) for i in range(len(group.instances))} for one in found]
        result = assign(state, config)
        owner = {task: i for i, tasks in enumerate(result.target.active) for task in tasks}
        paid = [item[owner[one.task]] for item, one in zip(costs, found, strict=True)]
        every = [Placeable(one.task, item, (0, 0)) for item, one in zip(costs, found, strict=True)]
        total = (sum(records for records, _ in paid), sum(moves for _, moves in paid))
        assert total == (least_costs(group, every, config.balance_factor) or (0, 0)), f"case {case}"
        assert "target-not-proven" not in {note.code for note in result.warnings}


def _anywhere(rng: random.Random) -> GroupState:
    """Stateful tasks that anybody runs, or nobody, with copies of any lag, some of 2^63-1 records."""
    instances = [
        Instance(process_id=f"i{n}", consumers=tuple(Consumer(consumer_id=f"i{n}-{t}") for t in range(threads)))
        for n, threads in enumerate(rng.choice([[1] * 4, [1, 2, 1, 3]])[: rng.randint(1, 4)])
    ]
    most = rng.choice([0, 200, 5000, MAX_LONG])
    names = sorted({TaskId(rng.randint(0, 2), rng.randint(0, 9)) for _ in range(rng.randint(0, 7))}, key=str)
    tasks = [Task(task_id=name, stateful=True, end_offset_sum=rng.randint(0, most)) for name in names]
    group = Group.of("orders", tasks, instances)
    held, copies = [list[int]() for _ in group.consumer_ids], []
    for task in range(len(group.tasks)):
        where = rng.sample(range(len(instances)), rng.randint(0, min(3, len(instances))))
        whole = group.tasks[task].end_offset_sum
        items = [Copy(i, rng.randint(0, whole), (group.consumers_of[i].start,)) for i in where]
        if items and rng.random() < 0.8:
            held[group.consumers_of[items[0].instance].start].append(task)
            items[0] = items[0]._replace(lag=LATEST)
        copies.append(tuple(sorted(items)))
    holdings = tuple(Holding(tuple(item)) for item in held)
    return GroupState(group=group, generation=1, at_ms=0, holdings=holdings, copies=tuple(copies))


@pytest.mark.parametrize("seed", range(8))
def test_progress_never_makes_the_target_flip(seed: int) -> None:
    rng = random.Random(seed)
    for case in range(20):
        before = balanced_group(rng, rng.choice([0, 1]))
        old = list(before.state.group.instances)
        stay = rng.sample(old, rng.randint(1, len(old)))
        new = [
            Instance(process_id=f"n{n}", consumers=(Consumer(consumer_id=f"n{n}-1"),)) for n in range(rng.randint(0, 3))
        ]
        state, config = seated(memberships.with_members(before, [*stay, *new]).state), before.config
        targets = []
        previous: tuple[GroupState, Assignment] | None = None
        for _round in range(40):
            decision = assign(state, config)
            assert decision == assign(state, config, previous), f"case {case}"
            previous = state, decision
            targets.append(decision.target)
            rebalanced = Rebalanced(state, decision, config=config)
            tick = not rebalanced.withheld
            if tick and not decision.probing_rebalance:
                break
            rates = Rates(restore_per_instance=1e-6)
            state = _progress(rng, rebalanced.after(state.at_ms, state.at_ms + 60_000, tick=tick, rates=rates))
        else:
            pytest.fail(f"case {case} does not settle")
        assert set(targets) == {targets[0]}, f"case {case}"


def test_what_the_target_cannot_keep_to_does_not_depend_on_the_copies() -> None:
    """Any two of the three instances share a tag; only 0_1 has a copy at first, soon both tasks have two."""
    plain = small_group(stateful=2, stateless=0)
    keys = ("cluster", "host", "zone")
    instances = tuple(
        replace(instance, client_tags=tuple(zip(keys, values, strict=True)))
        for instance, values in zip(plain.instances, ("xpa", "yqa", "xqb"), strict=True)
    )
    config = AssignmentConfig(acceptable_recovery_lag=100, num_standby_replicas=1, rack_aware_assignment_tags=keys)
    before = seated(small_state(Group(plain.application_id, plain.tasks, instances), {}, {1: (Copy(0, 0, (0,)),)}))
    decision = assign(before, config)
    after = Rebalanced(before, decision, config=config).after(0, 60_000, tick=True)
    carried_on, afresh = assign(after, config, (before, decision)), assign(after, config)
    assert carried_on.target is decision.target
    assert carried_on == afresh
    assert [(note.code, note.subjects) for note in afresh.warnings] == [("tags-short", ("0_0", "0_1"))]


def _progress(rng: random.Random, state: GroupState) -> GroupState:
    """Let every assigned copy restore some of what it lacks, or all, or nothing; none overtakes the one that runs."""

    def further(copy: Copy, at_least: int) -> Copy:
        if copy.consumer is None or copy.lag == LATEST:
            return copy
        left = max(at_least, rng.choice([0, copy.remaining, rng.randint(0, copy.remaining)]))
        lag = LATEST if copy.active and not left else left
        return copy._replace(lag=lag, remaining=left, reporters=(copy.consumer,))

    copies = []
    for item in state.copies:
        running = {copy.instance: further(copy, 0) for copy in item if copy.active}
        behind = max((copy.remaining for copy in running.values()), default=0)
        copies.append(tuple(running.get(copy.instance) or further(copy, min(behind, copy.remaining)) for copy in item))
    return replace(state, copies=tuple(copies))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "kstream_plan.assignors.balanced.min_cost_flow"
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "ortools.graph.python", None)
    with pytest.raises(UsageError, match="need OR-tools") as missing:
        importlib.import_module(module)
    assert missing.value.fix == "pip install 'kstream-plan[balanced]'"
