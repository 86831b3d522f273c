"""The set gives out what Kafka's own queue gives out, in order or not, compiled and as plain Python."""

from __future__ import annotations

import random
import uuid
from array import array
from typing import Any

import pytest

from kstream_plan.model.java_hash import uuid_hash
from tests.helpers.engine_modes import both_modes, engine_module
from tests.helpers.java_priority_set import JavaPrioritySet


class _Both:
    """Kafka's set as the reference has it, and the engine's."""

    def __init__(self, capacities: list[int], counts: list[int], rng: random.Random, mode: str) -> None:
        self.process_ids = ids = sorted(str(uuid.UUID(int=rng.getrandbits(128))) for _ in capacities)
        self.theirs = JavaPrioritySet(ids, counts.copy(), capacities)
        set_of = engine_module("constrained_priority_set", mode).ConstrainedPrioritySet
        self.ours: Any = set_of(capacities, [uuid_hash(process_id) for process_id in ids])
        self.ours.begin(array("q", counts), True)

    def poll(self, candidates: list[int]) -> int | None:
        source = self.theirs.poll_one_of(candidates)
        if len(candidates) > 1:
            assert self.ours.choose(array("i", candidates), len(candidates)) == source
        return None if source is None else int(source)

    def move(self, polls: list[list[int]], source: int | None, destination: int, gain: int, loss: int) -> None:
        if source is not None:
            self.theirs.counts[source] += gain
            self.theirs.counts[destination] -= loss
            self.theirs.offer(source)
            self.theirs.offer(destination)
        refills = sum(source not in candidates for candidates in polls)
        moved = -1 if source is None else source
        self.ours.handle(moved, destination, gain, loss, refills, source in polls[-1])


def _move_at_random(both: _Both, rng: random.Random, movements: int) -> int:
    """Move tasks at random; return how often there was a choice."""
    instances, choices = range(len(both.theirs.counts)), 0
    for _ in range(movements):
        destination = rng.choice(instances)
        rest = [i for i in instances if i != destination]
        candidates = sorted(rng.sample(rest, min(len(rest), rng.choice([0, 1, 1, 2, 2, 3]))))
        polls, source = [candidates], both.poll(candidates)
        choices += len(candidates) > 1
        if source is None and rng.random() < 0.5:
            # after a poll that accepts none only the least loaded one can come out
            polls.append(sorted(rng.sample(rest, min(len(rest), rng.choice([1, 2])))))
            source = both.theirs.poll_one_of(polls[-1])
        if source is None and rng.random() < 0.7:
            source = rng.choice(rest)
        gain = int(source is not None and rng.random() < 0.9)
        loss = int(gain and both.theirs.counts[destination] > 0 and rng.random() < 0.9)
        both.move(polls, source, destination, gain, loss)
    return choices


@both_modes
@pytest.mark.parametrize("seed", range(150))
def test_every_choice_is_kafkas(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    widest = rng.choice([1, 1, 3, 3, 40, 5_000])  # so many threads that the least common multiple is beyond 64 bits
    capacities = [rng.randint(1, widest) for _ in range(rng.randint(2, 20))]
    spread = rng.randint(0, 3)
    both = _Both(capacities, [3 * c + rng.randint(0, spread) for c in capacities], rng, mode)
    _move_at_random(both, rng, 60)


@both_modes
@pytest.mark.parametrize("seed", range(20))
def test_a_long_queue_in_disorder_is_followed_all_along(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    both = _Both([1] * 40, [rng.randint(4, 6) for _ in range(40)], rng, mode)
    assert _move_at_random(both, rng, 400) > 100


@both_modes
@pytest.mark.parametrize("seed", range(60))
def test_who_is_hardly_lighter_may_get_out_of_place(seed: int, mode: str) -> None:
    rng = random.Random(seed)
    size = rng.randint(3, rng.choice([24, 24, 24, 64]))
    capacities = [1] * size if rng.random() < 0.6 else [rng.randint(1, 3) for _ in range(size)]
    both = _Both(capacities, [20 * capacity + rng.randint(0, 1) for capacity in capacities], rng, mode)
    theirs = both.theirs
    for _ in range(150):
        by_load = sorted(range(size), key=theirs.key)
        place = rng.randrange(1, size)
        source, destination = by_load[max(0, place - rng.randint(1, 5))], by_load[place]
        if rng.random() < 0.3:
            candidates = sorted(rng.sample(range(size), 2))
            choice = both.poll(candidates)
            assert choice is not None
            both.move([candidates], choice, next(i for i in by_load if i != choice), 1, 0)
            continue
        candidates = [] if rng.random() < 0.02 else [source]
        both.poll(candidates)
        both.move([candidates], source, destination, 1, int(rng.random() < 0.9))


@both_modes
def test_begun_anew_nothing_is_left_of_what_was_before(mode: str) -> None:
    for seed in range(20):
        capacities = [1, 2, 1, 1, 3, 1, 1]
        both = _Both(capacities, [5] * 7, random.Random(seed), mode)
        _move_at_random(both, random.Random(seed), 30)
        counts = [4, 9, 4, 5, 12, 4, 5]
        both.theirs = JavaPrioritySet(both.process_ids, counts.copy(), capacities)
        both.ours.begin(array("q", counts), True)
        _move_at_random(both, random.Random(seed + 1), 60)
