"""The priority set gives out what Kafka's own queue gives out, in order or not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.assignors.java.constrained_priority_set import (
    OutOfPlace,
    PrioritySet,
    filled_to_above_the_end,
)
from kstream_plan.assignors.java.priority_queue import Handled, keys_of, weights_of
from kstream_plan.assignors.java.queue_in_order import History
from kstream_plan.model import Consumer, Group, Instance
from tests.helpers import strategies
from tests.helpers.java_priority_set import JavaPrioritySet


def _follow(group: Group, counts: list[int], rng: random.Random, movements: int, told_again: float = 0) -> int:
    """Handle random movements with both; return how often there was a choice.

    With a likelihood of ``told_again`` ours is told before a movement what has been handled so far, all at once.
    """
    instances = range(len(group.instances))
    theirs = JavaPrioritySet([i.process_id for i in group.instances], counts.copy(), list(group.capacities))
    ours = PrioritySet(group, counts)
    choices, handled = 0, list[Handled]()
    for _ in range(movements):
        if rng.random() < told_again:
            ours = PrioritySet(group, counts, handled.copy(), theirs.counts)
        destination = rng.choice(instances)
        others = [i for i in instances if i != destination]
        accepted = sorted(rng.sample(others, min(len(others), rng.choice([0, 1, 1, 2, 2, 3]))))
        source = theirs.poll_one_of(accepted)
        if len(accepted) > 1:
            choices += 1
            assert ours.choose(accepted) == source
        polls: tuple[list[int], ...] = (accepted,)
        if source is None and rng.random() < 0.5:
            accepted = sorted(rng.sample(others, min(len(others), rng.choice([1, 2]))))
            source = theirs.poll_one_of(accepted)
            polls = ([], accepted)
        if source is None and others and rng.random() < 0.7:
            source = rng.choice(others)
        gain = int(source is not None and rng.random() < 0.9)
        loss = int(gain and theirs.counts[destination] > 0 and rng.random() < 0.9)
        if source is not None:
            theirs.counts[source] += gain
            theirs.counts[destination] -= loss
            theirs.offer(source)
            theirs.offer(destination)
        handled.append((polls, source, destination, gain, loss))
        ours.handle(handled[-1])
    return choices


@given(st.lists(st.integers(1, 3), min_size=2, max_size=20), st.booleans(), st.integers(0, 3), st.integers(0, 2**32))
def test_every_choice_is_kafkas(capacities: list[int], equal: bool, spread: int, seed: int) -> None:
    rng = random.Random(seed)
    group = _group([1] * len(capacities) if equal else capacities, rng)
    _follow(group, [3 * c + rng.randint(0, spread) for c in group.capacities], rng, 60)


@pytest.mark.parametrize("seed", range(20))
def test_a_long_queue_in_disorder_is_followed_all_along(seed: int) -> None:
    rng = random.Random(seed)
    group = _group([1] * 40, rng)
    assert _follow(group, [rng.randint(4, 6) for _ in range(40)], rng, 400) > 100


@given(st.integers(0, 2**32))
def test_every_choice_is_kafkas_after_what_was_handled_before(seed: int) -> None:
    rng = random.Random(seed)
    group = _group([1] * rng.randint(3, 24), rng)
    _follow(group, [20 + rng.randint(0, 1) for _ in group.capacities], rng, 150, told_again=0.1)


@given(st.integers(0, 2**32))
def test_whoever_is_below_a_heavier_one_is_known_to_be_out_of_place(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(3, rng.choice([24, 24, 24, 64]))
    group = _group([1] * size if rng.random() < 0.6 else [rng.randint(1, 3) for _ in range(size)], rng)
    counts = [20 * capacity + rng.randint(0, 1) for capacity in group.capacities]
    theirs = JavaPrioritySet([i.process_id for i in group.instances], counts.copy(), list(group.capacities))
    weights = weights_of(group.capacities)
    known = [OutOfPlace()]
    for number in range(150):
        if number % 30 == 20:
            known.append(OutOfPlace.anybody(keys_of(counts, weights)))
        entry = _nearly_out_of_place(theirs, rng)
        for ours in known:
            ours.handle(entry, keys_of(counts, weights), weights)
        counts = theirs.counts.copy()
        keys = keys_of(counts, weights)
        for instance, above in _out_of_place(theirs):
            assert all(keys[above] < ours.heaviest_above(keys[instance]) for ours in known)


@given(st.integers(0, 2**32))
def test_who_is_out_of_place_comes_out_the_same_one_by_one_and_all_at_once(seed: int) -> None:
    rng = random.Random(seed)
    group = _group([1] * rng.randint(3, 40), rng)
    first = [20 + rng.randint(0, 1) for _ in group.capacities]
    theirs = JavaPrioritySet([i.process_id for i in group.instances], first.copy(), list(group.capacities))
    weights = weights_of(group.capacities)
    entries, one_by_one = list[Handled](), OutOfPlace()
    for _ in range(60):
        keys = keys_of(theirs.counts, weights)
        entries.append(_nearly_out_of_place(theirs, rng))
        one_by_one.handle(entries[-1], keys, weights)
    at_once, followed = OutOfPlace(), keys_of(first, weights)
    at_once.follow(entries, followed, weights)
    keys = keys_of(theirs.counts, weights)
    assert followed == keys
    assert list(map(at_once.heaviest_above, keys)) == list(map(one_by_one.heaviest_above, keys))


@given(st.integers(0, 2**32))
def test_what_surely_leaves_the_queue_in_order_does(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(3, 80)
    group = _group([1] * size if rng.random() < 0.6 else [rng.randint(1, 3) for _ in range(size)], rng)
    first = [20 * capacity + rng.randint(0, 3) for capacity in group.capacities]
    theirs = JavaPrioritySet([i.process_id for i in group.instances], first.copy(), list(group.capacities))
    entries = [_nearly_out_of_place(theirs, rng, at_most=rng.choice([1, 5, 60])) for _ in range(rng.randint(0, 80))]
    history = _put_together(entries, size, rng)
    assert history.entries == entries
    weights, enough = weights_of(group.capacities), filled_to_above_the_end(size)
    begin = rng.randint(0, len(entries) // 2) if rng.random() < 0.3 else 0
    before = keys_of(first, weights)
    OutOfPlace().follow(entries[:begin], before, weights)
    upto, keys = history.until_doubt(begin, len(entries), before, weights, enough)
    whole, rest, followed = OutOfPlace(), OutOfPlace(), keys_of(first, weights)
    OutOfPlace().follow(entries[:begin], followed, weights)
    whole.follow(entries[begin:], followed, weights)
    rest.follow(entries[upto:], keys, weights)
    assert keys == followed == keys_of(theirs.counts, weights)
    assert list(map(rest.heaviest_above, keys)) == list(map(whole.heaviest_above, keys))
    answers = [PrioritySet(group, first, entries, theirs.counts, known) for known in (None, history)]
    for _ in range(10):
        candidates = sorted(rng.sample(range(size), rng.randint(2, 3)))
        assert len({ours.choose(candidates) for ours in answers}) == 1


def test_movements_to_much_lighter_instances_are_not_in_doubt() -> None:
    rng = random.Random(1)
    group = _group([1] * 40, rng)
    weights, history = weights_of(group.capacities), History(40)
    for at in range(100):
        source, destination = rng.randrange(20), rng.randrange(20, 40)
        history.insert(at, (([source],), source, destination, 1, 1))
    keys = keys_of([10] * 20 + [40] * 20, weights)
    assert history.until_doubt(0, 100, keys, weights, filled_to_above_the_end(40))[0] == 100


def _put_together(entries: list[Handled], size: int, rng: random.Random) -> History:
    """Put in what happened in whatever order, and other things that are replaced or taken out again."""
    history = History(size)
    other: Handled = (((0,),), 0, 1, 1, 1)
    places: list[int] = []
    for place in rng.sample(range(len(entries)), len(entries)):
        at = sum(earlier < place for earlier in places)
        places.append(place)
        wrong = rng.random() < 0.2
        history.insert(at, other if wrong else entries[place])
        if wrong:
            history.replace(at, entries[place])
        if rng.random() < 0.2:
            history.insert(at, other)
            history.remove(at)
    return history


def _nearly_out_of_place(theirs: JavaPrioritySet, rng: random.Random, at_most: int = 5) -> Handled:
    """Take a task from an instance for one that is hardly lighter."""
    by_load = sorted(range(len(theirs.counts)), key=theirs.key)
    place = rng.randrange(1, len(by_load))
    source: int | None = by_load[max(0, place - rng.randint(1, at_most))]
    destination = by_load[place]
    accepted = [] if source is None or rng.random() < 0.02 else [source]
    if theirs.poll_one_of(accepted) is None and rng.random() < 0.5:
        source = None
    gain, loss = int(source is not None), int(source is not None and rng.random() < 0.9)
    if source is not None:
        theirs.counts[source] += gain
        theirs.counts[destination] -= loss
        theirs.offer(source)
        theirs.offer(destination)
    return (accepted,), source, destination, gain, loss


def _out_of_place(theirs: JavaPrioritySet) -> list[tuple[int, int]]:
    """Return whoever has a heavier one above it, with the heaviest of these."""
    found = []
    for place, instance in enumerate(theirs.queue):
        above = []
        while place > 0:
            place = (place - 1) // 2  # noqa: PLW2901 - climbs up
            above.append(theirs.queue[place])
        if above and theirs.less(instance, heaviest := max(above, key=theirs.key)):
            found.append((instance, heaviest))
    return found


@given(strategies.groups(min_instances=2))
def test_without_any_movement_the_least_loaded_comes_first_and_ties_by_instance(group: Group) -> None:
    counts = [capacity * 2 for capacity in group.capacities]
    counts[-1] -= 1
    everybody = range(len(counts))
    assert PrioritySet(group, counts).choose(everybody) == everybody[-1]
    assert PrioritySet(group, list(group.capacities)).choose(everybody) == 0


def _group(capacities: list[int], rng: random.Random) -> Group:
    instances = [
        Instance(
            process_id=f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4000-8000-{rng.getrandbits(48):012x}",
            consumers=tuple(Consumer(consumer_id=f"{number}-{thread}") for thread in range(capacity)),
        )
        for number, capacity in enumerate(capacities)
    ]
    return Group.of("orders", [], instances)
