"""The rebalance protocols: what members give up, what the leader makes of it, and that no task has two owners."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.model import LATEST, Copy, Group, Holding, Instance
from kstream_plan.plans import HandOver, Revoke, Trigger
from kstream_plan.plans.invariants import broken_invariants
from kstream_plan.protocols import PROTOCOLS, Protocol, gives_up
from kstream_plan.protocols.interleavings import Action, double_ownership
from kstream_plan.protocols.member import JoinTrigger, before_joining, leader_view, on_assignment
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases
from tests.helpers.in_play import Rebalanced, decision
from tests.helpers.small_groups import group, state

Tasks = frozenset[int]
OWNED = {0: Holding((0,)), 2: Holding((1, 2))}
COPIES = {0: (Copy(0, LATEST, (0,)),), 1: (Copy(1, LATEST, (2,)),)}
MOVED = {2: Holding((2,)), 4: Holding((0, 1))}


HELD = tuple(MOVED.get(c, Holding()) for c in range(6))


def _rebalance(protocol: Protocol, members: Group | None = None) -> Rebalanced:
    return Rebalanced(state(members or group(), OWNED, COPIES), decision(HELD), protocol)


def _listing(members: Group, protocols: dict[int, tuple[str, ...]]) -> Group:
    """The group with other lists of protocols, by instance."""
    instances: list[Instance] = [
        replace(item, consumers=tuple(replace(c, protocols=protocols.get(n, c.protocols)) for c in item.consumers))
        for n, item in enumerate(members.instances)
    ]
    return Group.of(members.application_id, list(members.tasks), instances)


def test_eager_hands_everything_over_at_once() -> None:
    rebalanced = _rebalance(PROTOCOLS["eager"])
    after = rebalanced.decided.transition
    assert tuple(after.holdings) == HELD
    assert (rebalanced.withheld, after.revoking_consumers) == ({}, frozenset())
    starts = [step for step in rebalanced.decided.steps if isinstance(step, HandOver)]
    assert [start.from_ and start.from_.consumer_id for start in starts] == ["i1-1", "i2-1"]
    assert (after.previous_holdings.owners.tolist(), after.holdings.owners.tolist()) == ([2], [2])
    assert not after.follow_up


def test_in_a_mixed_group_only_eager_owners_hand_over_at_once() -> None:
    members = _listing(group(), {0: ("cooperative", "eager")})
    assert gives_up(members, "mixed") == {0, 1}
    rebalanced = _rebalance(PROTOCOLS["mixed"], members)
    assert rebalanced.decided.transition.holdings[4] == Holding((0,))
    assert rebalanced.withheld == {1: 2}
    assert rebalanced.decided.transition.revoking_consumers == {2}


def test_before_3_5_2_what_is_withheld_is_a_standby_meanwhile_even_without_a_copy() -> None:
    before = _rebalance(replace(PROTOCOLS["cooperative"], any_temporary=True))
    since = _rebalance(PROTOCOLS["cooperative"])
    assert before.withheld == since.withheld == {0: 0, 1: 2}
    assert since.decided.transition.holdings[4] == Holding()
    assert before.decided.transition.holdings[4] == Holding(temporary=(0, 1))


def test_without_eager_members_a_mixed_group_is_cooperative() -> None:
    mixed, cooperative = (_rebalance(PROTOCOLS[name]).decided.transition for name in ("mixed", "cooperative"))
    assert tuple(mixed.holdings) == tuple(cooperative.holdings)
    assert (mixed.revoking_consumers, mixed.waiting_consumers) == (
        cooperative.revoking_consumers,
        cooperative.waiting_consumers,
    )


@pytest.mark.parametrize("name", ["scale-out", "crash", "scale-out-standbys"])
def test_an_eager_plan_stops_everything_at_every_rebalance(name: str) -> None:
    snapshot = plan_cases.snapshot(name)
    result = plan(snapshot, protocol="eager")
    assert broken_invariants(result) == ()
    assert result.verdict.kind == "settled"
    assert all(rnd.trigger is not Trigger.FOLLOW_UP for rnd in result.rounds)
    assert len(result.rounds) == result.summary.probing_rebalances + 1
    before = [result.initial, *(rnd.assigned for rnd in result.rounds[:-1])]
    stopped = sum(len(held.active) for holdings in before for held in holdings)
    assert result.summary.paused_task_ms == stopped * result.config.heartbeat_interval_ms
    assert result.pauses.most_at_once == max(sum(len(item.active) for item in held) for held in before)
    moved = [step for rnd in result.rounds for step in rnd.steps if isinstance(step, HandOver) and step.from_]
    revoked = {(step.task_id, step.from_) for rnd in result.rounds for step in rnd.steps if isinstance(step, Revoke)}
    assert moved
    assert {(step.task_id, step.from_) for step in moved} >= revoked
    assert any(note.code == "eager-stops" for note in result.assumptions)


def test_a_mixed_plan_stops_eager_members_in_follow_ups_too() -> None:
    snapshot = plan_cases.snapshot("scale-out")
    members = _listing(snapshot.state.group, {0: ("cooperative", "eager")})
    result = plan(replace(snapshot, state=replace(snapshot.state, group=members)), protocol="mixed")
    cooperative = plan_cases.case("scale-out")
    assert broken_invariants(result) == ()
    ignored = plan(replace(snapshot, state=replace(snapshot.state, group=members)))
    assert ignored.rounds == cooperative.rounds
    notes = [note.message for note in ignored.assumptions if note.code == "protocols-not-used"]
    assert notes == [
        "2 consumers list more than the cooperative protocol, and are assumed to use it; --set protocol=mixed "
        "assumes otherwise"
    ]
    assert any(rnd.trigger is Trigger.FOLLOW_UP for rnd in result.rounds)
    assert result.summary.paused_task_ms > cooperative.summary.paused_task_ms


A, B, C = frozenset({1}), frozenset({2}), frozenset({3})


@pytest.mark.parametrize(
    ("trigger", "owned", "revoked", "lost"),
    [
        (JoinTrigger.SUBSCRIPTION_CHANGED, A, B, frozenset()),
        (JoinTrigger.TOPICS_DELETED, A, frozenset(), B),
        (JoinTrigger.REBALANCE_IN_PROGRESS, A | B, frozenset(), frozenset()),
        (JoinTrigger.UNKNOWN_MEMBER, frozenset(), frozenset(), A | B),
        (JoinTrigger.ILLEGAL_GENERATION, frozenset(), frozenset(), A | B),
        (JoinTrigger.MEMBER_ID_REQUIRED, A | B, frozenset(), frozenset()),
        (JoinTrigger.FOLLOW_UP, A | B, frozenset(), frozenset()),
    ],
)
def test_what_a_member_gives_up_depends_on_why_it_joins(
    trigger: JoinTrigger, owned: Tasks, revoked: Tasks, lost: Tasks
) -> None:
    assert before_joining(trigger, A | B, valid_tasks=A | C) == (owned, revoked, lost)
    eager = before_joining(trigger, A | B, valid_tasks=A | C, eager=True)
    assert eager == (frozenset(), (A | B) - lost, lost)


def test_a_member_starts_what_is_added_and_stops_what_is_revoked() -> None:
    reply = on_assignment(A | B, B | C)
    assert reply._fields == ("added_tasks", "revoked_tasks")  # callbacks in that order
    assert reply == (C, A)


def _dealt(rng: random.Random, tasks: int, members: int, everyone: bool) -> list[Tasks]:
    found: list[set[int]] = [set() for _ in range(members)]
    for task in range(tasks):
        member = rng.randrange(members + (not everyone))
        if member < members:
            found[member].add(task)
    return [frozenset(item) for item in found]


@pytest.mark.parametrize("seed", range(1_000))
def test_the_leaders_three_sets_against_their_definitions(seed: int) -> None:
    rng = random.Random(seed)
    members, tasks = rng.randint(1, 6), rng.randint(0, 12)
    owned, assigned = (_dealt(rng, tasks, members, everyone=False) for _ in range(2))
    view = leader_view(owned, assigned)
    for task in range(tasks):
        owners = [member for member in range(members) if task in owned[member]]
        new = [member for member in range(members) if task in assigned[member]]
        answers = [member for member in range(members) if task in view.assignments[member]]
        assert (task in view.maybe_revoking) == (bool(owners) and bool(new))
        assert (task in view.ready_to_migrate) == (bool(new) and not owners)
        assert (task in view.unknown_but_owned) == (bool(owners) and not new)
        changes = bool(owners) and bool(new) and owners != new
        assert (task in view.withheld_tasks) == changes
        assert answers == ([] if changes else new or owners)
    assert view.rejoin == any(owned[m] & assigned[n] for m in range(members) for n in range(members) if m != n)
    for member, reply in enumerate(view.replies):
        assert reply.added_tasks == {task for task in view.assignments[member] if task not in owned[member]}
        assert reply.revoked_tasks == {task for task in owned[member] if task not in view.assignments[member]}


KINDS = {"cooperative": (False,), "eager": (True,), "mixed": (False, True)}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100)
@given(seed=st.integers(0, 2**32), members=st.integers(1, 4), tasks=st.integers(1, 4))
def test_nobody_owns_a_task_twice_in_any_order_of_steps(kind: str, seed: int, members: int, tasks: int) -> None:
    rng = random.Random(seed)
    owned = _dealt(rng, tasks, members, everyone=False)
    decided = _dealt(rng, tasks, members, everyone=True)
    eager = [rng.choice(KINDS[kind]) for _ in range(members)]
    assert double_ownership(owned, decided, eager) is None


@pytest.mark.parametrize("members", [2, 3, 4])
def test_every_deal_of_two_tasks_is_safe_and_the_one_bounce_upgrade_is_not(members: int) -> None:
    """All ways to own two tasks before and after, the first member cooperative already, the others still eager."""
    found = 0
    for number in range((members + 1) ** 2 * members**2):
        before, after = divmod(number, members**2)
        owned = _by_owner(divmod(before, members + 1), members)
        decided = _by_owner(divmod(after, members), members)
        eager = [False] + [True] * (members - 1)
        assert double_ownership(owned, decided, eager) is None
        events = double_ownership(owned, decided, eager, leader_knows_owned=False)
        assert (events is not None) == bool(owned[0] - decided[0])
        if events is not None:
            found += 1
            assert [event.action for event in events] == [Action.JOINS] * members + [Action.RECEIVES]
            assert events[-1].member != 0
    assert found


def _by_owner(owners: Sequence[int], members: int) -> list[Tasks]:
    return [frozenset(t for t, owner in enumerate(owners) if owner == member) for member in range(members)]
