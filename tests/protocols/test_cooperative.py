"""KIP-429: what is still owned elsewhere is withheld until it has been revoked."""

from __future__ import annotations

from kstream_plan.model import LATEST, Copy, GroupState, Holding, revoked_by
from kstream_plan.protocols import Transition
from tests.helpers.in_play import Rebalanced, decision
from tests.helpers.small_groups import group, state

GROUP = group()
OWNED = {0: Holding((0,)), 2: Holding((1, 2))}
COPIES = {0: (Copy(0, LATEST, (0,), 0, 0, True),), 1: (Copy(1, LATEST, (2,), 0, 2, True),)}


def _rebalance(before: GroupState, decided: dict[int, Holding]) -> tuple[Transition, dict[int, int]]:
    rebalanced = Rebalanced(before, decision([decided.get(c, Holding()) for c in range(6)]))
    return rebalanced.decided.transition, rebalanced.withheld


def test_a_task_owned_elsewhere_is_withheld_and_revoked() -> None:
    after, withheld = _rebalance(state(GROUP, OWNED, COPIES), {0: Holding(), 2: Holding((1, 2)), 4: Holding((0,))})
    assert withheld == {0: 0}
    assert after.holdings[0] == Holding()
    assert after.holdings[4] == Holding()
    assert after.revoking_consumers == {0}
    assert after.disturbed == {0, 4}


def test_the_new_owner_keeps_reported_state_as_a_temporary_standby() -> None:
    copies = {**COPIES, 0: (*COPIES[0], Copy(2, 5, (4,), 5))}
    after, _ = _rebalance(state(GROUP, OWNED, copies), {2: Holding((1, 2)), 4: Holding((0,))})
    assert after.holdings[4] == Holding((), (), (), (0,))


def test_state_that_was_not_reported_is_no_temporary_standby() -> None:
    copies = {**COPIES, 0: (*COPIES[0], Copy(2, None, (), 1000))}
    after, _ = _rebalance(state(GROUP, OWNED, copies), {2: Holding((1, 2)), 4: Holding((0,))})
    assert after.holdings[4] == Holding()


def test_a_move_between_threads_is_withheld_without_a_temporary_standby() -> None:
    after, withheld = _rebalance(state(GROUP, OWNED, COPIES), {1: Holding((0,)), 2: Holding((1, 2))})
    assert withheld == {0: 0}
    assert after.holdings[:2] == (Holding(), Holding())


def test_a_stateless_task_is_withheld_too() -> None:
    after, withheld = _rebalance(state(GROUP, OWNED, COPIES), {0: Holding((0,)), 2: Holding((1,)), 5: Holding((2,))})
    assert tuple(after.holdings) == tuple(Holding(tasks) for tasks in ((0,), (), (1,), (), (), ()))
    assert after.holdings.owners.tolist() == [revoked_by(2)]
    assert (withheld, after.revoking_consumers, after.waiting_consumers) == ({}, {2}, {5})


def test_a_task_that_nobody_owns_is_handed_over_at_once() -> None:
    after, withheld = _rebalance(state(GROUP, {2: Holding((1, 2))}, {}), {0: Holding((0,)), 2: Holding((1, 2))})
    assert withheld == {}
    assert after.holdings[0] == Holding((0,))


def test_copies_are_placed_and_dropped_at_once() -> None:
    owned = {**OWNED, 4: Holding((), (1,))}
    after, withheld = _rebalance(state(GROUP, owned, COPIES), {**OWNED, 4: Holding((), (), (0,))})
    assert withheld == {}
    assert after.holdings[4] == Holding((), (), (0,))
    assert after.revoking_consumers == frozenset()
