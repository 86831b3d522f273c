"""How evenly something is spread is what counting says, counted anew or on from what was decided before."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from kstream_plan.model import Group, Holding, Holdings
from kstream_plan.plans import Balance
from kstream_plan.plans.balance import RunningBalance, balance_of
from tests.helpers.small_groups import group

GROUP = group(stateful=9, stateless=5)


def _held(rng: random.Random) -> list[Holding]:
    held: list[tuple[list[int], list[int], list[int]]] = [([], [], []) for _ in GROUP.consumer_ids]
    for task in range(len(GROUP.tasks)):
        stateful = GROUP.tasks[task].stateful
        for role in range(3) if stateful else range(1):
            if not stateful or rng.random() < 0.8:
                rng.choice(held)[role].append(task)
    return [Holding(*map(tuple, roles)) for roles in held]


def _counted(group: Group, held: Sequence[Holding], absent: Sequence[str] = ()) -> Balance:
    of_each = [[held[consumer] for consumer in consumers] for consumers in group.consumers_of]
    active = [[task for roles in of for task in roles.active] for of in of_each]
    copies = [sum(len(roles.standby) + len(roles.warmup) for roles in of) for of in of_each]
    there = [place for place, of in enumerate(group.instances) if of.process_id not in absent]
    names = set(group.subtopologies)
    by_name = {name: [sum(group.subtopologies[t] == name for t in active[i]) for i in there] for name in names}
    executed = [counts for counts in by_name.values() if any(counts)]
    return Balance(
        active=tuple(map(len, active)),
        standby=tuple(copies),
        load_per_thread=tuple(
            (len(tasks) + number) / of.capacity
            for tasks, number, of in zip(active, copies, group.instances, strict=True)
        ),
        instance_spread=_spread([sum(group.stateful_flags[task] for task in active[place]) for place in there]),
        balance_factor=_spread([len(active[place]) for place in there]),
        subtopology_spread=_spread([sum(count > 0 for count in counts) for counts in executed]),
        subtopology_task_spread=max((_spread(counts) for counts in executed), default=0),
    )


def _spread(counts: Sequence[int]) -> int:
    return max(counts) - min(counts) if counts else 0


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_counting_says_whoever_is_absent(seed: int) -> None:
    held = _held(random.Random(seed))
    for absent in ((), ("i1",), ("i2", "i3")):
        assert balance_of(GROUP, held, absent) == _counted(GROUP, held, absent)


@pytest.mark.parametrize("seed", range(20))
def test_counted_on_from_one_decision_to_the_next_it_is_the_same(seed: int) -> None:
    rng = random.Random(seed)
    running = RunningBalance(GROUP)
    for _ in range(5):
        held = _held(rng)
        of_instances = [
            Holding(*(tuple(sorted(sum(roles, ()))) for roles in zip(*(held[c] for c in consumers), strict=True)))
            for consumers in GROUP.consumers_of
        ]
        assert running.balance_after(Holdings.of(GROUP, of_instances)) == _counted(GROUP, held)
