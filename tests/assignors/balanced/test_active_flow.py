"""Even placements are the cheapest of all balanced ones: brute force on small groups, the flow's dual on large ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from kstream_plan.assignors.balanced import active_flow
from kstream_plan.assignors.balanced import standby_flow as standby_placement
from kstream_plan.assignors.balanced.active_flow import Placeable, place_evenly, shares
from kstream_plan.assignors.balanced.min_cost_flow import Network, Numbers, spread_order
from kstream_plan.assignors.balanced.standby_flow import place_standbys
from kstream_plan.assignors.balanced.task_costs import Prospect
from kstream_plan.model import Consumer, Group, Instance, Task, TaskId
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig


def _group(capacities: Sequence[int], subtopologies: Sequence[int]) -> Group:
    tasks = [Task(task_id=TaskId(s, p), stateful=True) for s, p in zip(subtopologies, range(99999), strict=False)]
    return Group.of(
        "orders",
        tasks,
        [
            Instance(
                process_id=f"i{n:04}", consumers=tuple(Consumer(consumer_id=f"i{n:04}-{t}") for t in range(capacity))
            )
            for n, capacity in enumerate(capacities)
        ],
    )


def _placeables(rng: random.Random, tasks: int, instances: int) -> list[Placeable]:
    """Tasks with a home and copies elsewhere, all alike or all different, some with 2^63-1 records."""
    most = rng.choice([0, 1, 5, 1000, MAX_LONG])
    results = []
    for task in range(tasks):
        cold = rng.randint(0, most) if rng.random() < 0.9 else MAX_LONG
        home = rng.randrange(instances) if rng.random() < 0.8 else None
        special = {
            instance: (rng.randint(0, cold), 1 if home is not None else 0)
            for instance in rng.sample(range(instances), rng.randint(0, min(2, instances)))
        }
        if home is not None:
            special[home] = (0, 0)
        results.append(Placeable(task, special, (cold, int(home is not None))))
    return results


@cache
def _all_placements(tasks: int, instances: int) -> np.ndarray:
    return (
        np.array(np.unravel_index(np.arange(instances**tasks), (instances,) * tasks)).T if tasks else np.zeros((1, 0))
    )


def least_costs(group: Group, tasks: list[Placeable], factor: int) -> tuple[int, int] | None:
    """The costs of the cheapest balanced placement, by trying every one."""
    capacities, every = group.capacities, _all_placements(len(tasks), len(group.instances))
    rows = [
        [t for t, item in enumerate(group.subtopologies) if item == name] for name in sorted(set(group.subtopologies))
    ]
    balanced = np.ones(len(every), dtype=bool)
    for row in [list(range(len(tasks))), *rows]:
        counts = np.array([(every[:, row] == i).sum(axis=1) for i in range(len(capacities))]).T
        bounds = shares(len(row), capacities, factor)
        balanced &= (counts >= bounds.lower).all(axis=1) & (counts <= bounds.upper).all(axis=1)
        if len(set(capacities)) == 1:
            balanced &= counts.max(axis=1) - counts.min(axis=1) <= factor
    costs = [[one.special.get(i, one.cold) for i in range(len(capacities))] for one in tasks]
    found = None
    for placement in every[balanced].tolist():
        chosen = [item[i] for item, i in zip(costs, placement, strict=True)]
        total = (sum(records for records, _ in chosen), sum(moves for _, moves in chosen))
        found = total if found is None or total < found else found
    return found


@pytest.mark.parametrize("seed", range(8))
def test_costs_may_be_cut_into_digits_of_any_width(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    digits = Network._digits
    cases = []
    for _ in range(20):
        group = _group([2] * 3, sorted(rng.choices(range(2), k=6)))
        cases.append((group, _placeables(rng, 6, 3)))
    whole = [place_evenly(group, tasks, 1) for group, tasks in cases]
    width = rng.randint(1, 7)
    monkeypatch.setattr(Network, "_digits", lambda self, costs, *_: digits(self, costs, width, width))
    assert [place_evenly(group, tasks, 1) for group, tasks in cases] == whole


@pytest.mark.parametrize("seed", range(8))
def test_no_balanced_placement_of_a_small_group_is_cheaper(seed: int) -> None:
    rng = random.Random(seed)
    for case in range(100):
        instances, number = rng.randint(1, 4), rng.randint(0, 7)
        capacities = [rng.randint(1, 3)] * instances
        if rng.random() < 0.4:
            capacities = [rng.randint(1, 3) for _ in range(instances)]
        group = _group(capacities, sorted(rng.choices(range(rng.randint(1, 3)), k=number)))
        tasks, factor = _placeables(rng, number, instances), rng.randint(1, 3)
        result = place_evenly(group, tasks, factor)
        assert result.proven
        assert result.costs == (least_costs(group, tasks, factor) or (0, 0)), f"case {case}"
        chosen = [one.special.get(result.instance_of[one.task], one.cold) for one in tasks]
        assert result.costs == (sum(r for r, _ in chosen), sum(m for _, m in chosen))


def test_the_order_of_many_is_that_of_each() -> None:
    """A number for each row, the same whether they are worked out together or one by one, and below 2^18."""
    rng = random.Random(1)
    rows = [[rng.choice([0, 1, rng.randrange(100_000)]) for _ in range(3)] for _ in range(500)]
    together = spread_order(*zip(*rows, strict=True)).tolist()
    assert together == [int(spread_order(*row)[0]) for row in rows]
    assert spread_order(7, np.arange(3), 2).tolist() == [int(spread_order(7, n, 2)[0]) for n in range(3)]
    assert all(0 <= order < 2**18 for order in together)
    assert len(set(together)) >= len({tuple(row) for row in rows}) - 2


@pytest.mark.parametrize("seed", range(3))
def test_a_large_flow_meets_its_dual_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    group = _group([rng.randint(1, 4) for _ in range(40)], sorted(rng.choices(range(50), k=3000)))
    tasks = []
    for task in range(3000):
        cold, home = rng.randint(0, 10**7), rng.randrange(30)
        special = {instance: (rng.randint(0, cold), 1) for instance in rng.sample(range(40), 2)}
        tasks.append(Placeable(task, special | {home: (0, 0)}, (cold, 1)))
    solved = []
    cheapest = Network.cheapest

    def kept(network: Network) -> tuple[Numbers, tuple[int, ...]] | None:
        solved.append((network, cheapest(network)))
        return solved[-1][1]

    monkeypatch.setattr(Network, "cheapest", kept)
    result = place_evenly(group, tasks, 1)
    ((network, found),) = solved
    assert found is not None
    assert (
        _dual_bound(network, found[0].tolist(), objective=1) == found[1][1] == result.costs[0] * 3001 + result.costs[1]
    )


def _dual_bound(network: Network, units: list[int], objective: int) -> int:
    """What every flow costs at least, from the node potentials that belong to this one (weak duality)."""
    columns = (network.tails, network.heads, network.lower, network.upper, network.costs[objective])
    arcs = list(zip(*columns, strict=True))
    residual = [(t, h, c) for (t, h, _, up, c), x in zip(arcs, units, strict=True) if x < up]
    residual += [(h, t, -c) for (t, h, lo, _, c), x in zip(arcs, units, strict=True) if x > lo]
    potential = [0] * len(network.supplies)
    for _ in range(len(potential)):
        changed = False
        for tail, head, cost in residual:
            if potential[tail] + cost < potential[head]:
                potential[head], changed = potential[tail] + cost, True
        if not changed:
            break
    bound = -sum(p * supply for p, supply in zip(potential, network.supplies, strict=True))
    for tail, head, lower, upper, cost in arcs:
        reduced = cost + potential[tail] - potential[head]
        bound += min(reduced * lower, reduced * upper)
    return bound


@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_ends_early_is_balanced_and_says_so(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_flow, "_MOST_ARCS", 0)
    rng = random.Random(seed)
    unproven = 0
    for _ in range(50):
        instances, number = rng.randint(2, 4), rng.randint(1, 7)
        group = _group([2] * instances, sorted(rng.choices(range(2), k=number)))
        tasks, factor = _placeables(rng, number, instances), rng.randint(2, 3)
        result = place_evenly(group, tasks, factor)
        least = least_costs(group, tasks, factor)
        assert least is not None
        assert result.costs >= least
        assert result.costs == least or not result.proven
        unproven += not result.proven
        counts = [list(result.instance_of.values()).count(i) for i in range(instances)]
        assert max(counts) - min(counts) <= factor
    assert unproven


@pytest.mark.parametrize("seed", range(20))
def test_no_other_standbys_of_a_small_group_are_cheaper(seed: int) -> None:
    rng = random.Random(seed)
    for case in range(20):
        instances, number, standbys = rng.randint(2, 4), rng.randint(1, 4), rng.randint(1, 2)
        capacities = [rng.randint(1, 3) for _ in range(instances)]
        group = _group(capacities, [0] * number)
        config = AssignmentConfig(num_standby_replicas=standbys, balance_factor=rng.randint(1, 2))
        owner = {task: rng.randrange(instances) for task in range(number)}
        found = []
        for task in range(number):
            ranks = {i: rng.randint(0, 9) for i in rng.sample(range(instances), rng.randint(0, instances))}
            copies = {i: rng.choice(["standby", ""]) for i in ranks}
            found.append(Prospect(task, 10, ranks, tuple(ranks)[:1], True, copies))
        placed, _, _ = place_standbys(group, config, found, owner)
        each = [
            list(combinations([i for i in range(instances) if i != owner[task]], min(standbys, instances - 1)))
            for task in range(number)
        ]
        costs = {choice: _standby_costs(choice, found, owner, group, config) for choice in product(*each)}
        assert costs[tuple(placed[task] for task in range(number))] == min(costs.values()), f"case {case}"


@pytest.mark.parametrize("zones", [(), ("a", "b", "c")])
def test_shared_arcs_give_every_task_its_standbys(zones: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby_placement, "_MOST_ARCS", 0)
    for seed in range(40):
        rng = random.Random(seed)
        instances, number, standbys = rng.randint(3, 6), rng.randint(1, 12), rng.randint(2, 3)
        group = _group([1] * instances, [0] * number)
        tagged = tuple(
            replace(one, client_tags=(("zone", rng.choice(zones)),) if zones else ()) for one in group.instances
        )
        group = Group(group.application_id, group.tasks, tagged)
        config = AssignmentConfig(num_standby_replicas=standbys, rack_aware_assignment_tags=("zone",))
        owner = {task: rng.randrange(instances) for task in range(number)}
        found = []
        for task in range(number):
            held = rng.sample(range(instances), rng.randint(0, 2))
            found.append(Prospect(task, 10, dict.fromkeys(held, 0), tuple(held), True, dict.fromkeys(held, "standby")))
        placed, _, _ = place_standbys(group, config, found, owner)
        for task, item in placed.items():
            assert len(set(item)) == len(item) == min(standbys, instances - 1), f"seed {seed}"
            assert owner[task] not in item


def _standby_costs(
    choice: tuple[tuple[int, ...], ...],
    found: list[Prospect],
    owner: dict[int, int],
    group: Group,
    config: AssignmentConfig,
) -> tuple[int, int, int]:
    """Copies out of bounds, records to restore, new standbys."""
    holders = [i for task, item in enumerate(choice) for i in (owner[task], *item)]
    bounds = shares(len(holders), group.capacities, config.balance_factor)
    out = 0
    for i, (lower, upper) in enumerate(zip(*bounds, strict=True)):
        standbys, active = sum(i in item for item in choice), list(owner.values()).count(i)
        out += max(0, lower - active - standbys, standbys - max(0, upper - active))
    paid = [one.standby_cost(i) for one, item in zip(found, choice, strict=True) for i in item]
    return out, sum(records for records, _ in paid), sum(moves for _, moves in paid)
