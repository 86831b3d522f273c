"""Holdings with the stateless tasks as numbers are what a tuple of the same would be."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import NOBODY, Group, Holding, Holdings, revoked_by
from kstream_plan.model.holding_changes import apart_from_stateless, unlike
from kstream_plan.plans.membership import regrouped
from tests.helpers import strategies
from tests.helpers.small_groups import group, state


@st.composite
def held(draw: st.DrawFn, group: Group) -> tuple[Holding, ...]:
    """What every consumer of a group runs; some tasks nobody does."""
    consumers = range(len(group.consumer_ids))
    owner = [draw(st.sampled_from([None, *consumers])) for _ in group.tasks]
    return tuple(Holding(tuple(task for task, by in enumerate(owner) if by == consumer)) for consumer in consumers)


@given(strategies.groups(max_tasks=20), st.data())
def test_they_are_a_sequence_of_holdings(group: Group, data: st.DataObject) -> None:
    item = data.draw(held(group))
    holdings = Holdings.of(group, item)
    assert Holdings.of(group, holdings) is holdings
    assert tuple(holdings) == item
    assert [holdings[index] for index in range(-len(item), len(item))] == [*item, *item]
    assert (holdings[1:], holdings[:-1], len(holdings)) == (item[1:], item[:-1], len(item))
    assert (holdings, hash(holdings), repr(holdings)) == (item, hash(item), repr(item))
    assert pickle.loads(pickle.dumps(holdings)) == holdings
    assert all(group.tasks[task].stateful for one in apart_from_stateless(holdings) for task in one.active)
    other = data.draw(held(group))
    assert (holdings == Holdings.of(group, other)) == (holdings == other) == (item == other)


@given(strategies.groups(max_tasks=20), st.data())
def test_some_can_hold_something_else(group: Group, data: st.DataObject) -> None:
    """They hold what nobody else does, as when one has given it up before."""
    before, after = data.draw(held(group)), data.draw(held(group))
    changed = data.draw(st.sets(st.sampled_from(range(len(before)))))
    kept = {task for index, of in enumerate(before) if index not in changed for task in of.active}
    now = {i: Holding(tuple(task for task in after[i].active if task not in kept)) for i in sorted(changed)}
    item = tuple(now.get(index, of) for index, of in enumerate(before))
    holdings = Holdings.of(group, before)
    assert holdings.with_held(group, now) == Holdings.of(group, item) == item
    assert holdings == before
    assert holdings.with_held(group, {}) is holdings


@given(strategies.groups(max_tasks=20), st.data())
def test_who_holds_something_else_is_told(group: Group, data: st.DataObject) -> None:
    one, other = data.draw(held(group)), data.draw(held(group))
    answer = list(unlike(Holdings.of(group, one), Holdings.of(group, other)))
    assert answer == sorted(set(answer))
    assert {c for c in range(len(one)) if one[c] != other[c]} <= set(answer) <= set(range(len(one)))


@given(strategies.groups(max_tasks=20), st.data())
def test_what_has_just_been_given_up_is_held_by_nobody(group: Group, data: st.DataObject) -> None:
    holdings = Holdings.of(group, data.draw(held(group)))
    given_up = revoked_by(holdings.owners)
    assert (revoked_by(given_up) == holdings.owners).all()
    after = Holdings(holdings.stateful, group.stateless, given_up)
    assert tuple(after) == holdings.stateful
    assert after == Holdings(holdings.stateful, group.stateless, given_up.clip(max=NOBODY).clip(min=NOBODY))


@given(strategies.groups(max_tasks=20), st.data())
def test_members_can_be_numbered_anew(group: Group, data: st.DataObject) -> None:
    item = data.draw(held(group))
    to = data.draw(st.permutations(range(len(item))))
    gone = data.draw(st.sets(st.sampled_from(to)))
    holdings = Holdings.of(group, item)
    stateful = [Holding()] * len(item)
    for old, new in enumerate(to):
        stateful[new] = Holding() if old in gone else holdings.stateful[old]
    indices = [NOBODY if old in gone else new for old, new in enumerate(to)]
    moved = holdings.renumbered(tuple(stateful), group, indices, list(to))
    assert all(moved[new] == (Holding() if old in gone else item[old]) for old, new in enumerate(to))
    revoked = Holdings(holdings.stateful, group.stateless, revoked_by(holdings.owners))
    again = revoked.renumbered(tuple(stateful), group, indices, list(to))
    wanted = [NOBODY if owner == NOBODY else to[owner] for owner in holdings.owners.tolist()]
    assert revoked_by(again.owners).tolist() == wanted


def test_what_has_just_been_given_up_stays_with_the_instance_whose_thread_goes() -> None:
    before = group(stateless=1)
    held = Holdings.of(before, [Holding()] * 6)
    given_up = Holdings(held.stateful, held.stateless, revoked_by(held.owners * 0 + 1))  # by i1's second thread
    thread_gone = [
        replace(instance, consumers=instance.consumers[: 1 + (instance.process_id != "i1")])
        for instance in before.instances
    ]
    after = Group.of("orders", list(before.tasks), thread_gone)
    now = regrouped(replace(state(before, {}, {}), holdings=given_up), after, frozenset(), {}, 0, lambda *_: 0)
    assert (now.revoked, Holdings.of(after, now.holdings).owners.tolist()) == ({2: 0}, [NOBODY])
    gone = regrouped(replace(state(before, {}, {}), holdings=given_up), before, frozenset({"i1"}), {}, 0, lambda *_: 0)
    assert gone.revoked == {2: NOBODY}


def test_holdings_of_other_tasks_are_others() -> None:
    few, many = (Holdings.of(item, [Holding()] * 6) for item in (group(stateless=1), group(stateless=3)))
    assert few == many  # nobody holds anything
    two = group(stateful=0, stateless=2)
    one, other = (Holdings.of(two, [Holding((task,)), *[Holding()] * 5]) for task in (0, 1))
    assert one != other


def test_numbers_are_frozen_wherever_they_come_from() -> None:
    holdings = Holdings.of(group(), [Holding()] * 6)
    for item in (holdings, pickle.loads(pickle.dumps(holdings))):
        with pytest.raises(ValueError, match="read-only"):
            item.owners[0] = 1
