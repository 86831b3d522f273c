"""How evenly the tasks are spread over the instances: loads, and KIP-441's two figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.engine import load as engine
from kstream_plan.model import Group, Holding, Holdings, Owners, no_owners
from kstream_plan.model.holding_changes import changed_holdings, difference, unlike
from kstream_plan.plans import Balance, MemberJoined, Round

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Load(NamedTuple):
    """Numbers of tasks on one instance: stateful and stateless active ones, standby and warm-up copies."""

    stateful: int
    stateless: int
    copies: int

    @property
    def tasks(self) -> int:
        """How many run there."""
        return self.stateful + self.stateless


def instance_loads(group: Group, holdings: Sequence[Holding]) -> list[Load]:
    """Count the tasks of every instance, given what each consumer holds."""
    loads, holdings = [], tuple(holdings)
    for consumers in group.consumers_of:
        instance_holdings = holdings[consumers.start : consumers.stop]
        active = [group.stateful_flags[task] for roles in instance_holdings for task in roles.active]
        copies = sum(len(roles.standby) + len(roles.warmup) for roles in instance_holdings)
        loads.append(Load(sum(active), len(active) - sum(active), copies))
    return loads


def balance_of(group: Group, holdings: Sequence[Holding], absent: Collection[str] = ()) -> Balance:
    """Return how evenly these holdings spread the load; the spreads leave out the instances that are ``absent``."""
    running = RunningBalance(group)
    if absent:
        running.present([index for index, instance in enumerate(group.instances) if instance.process_id not in absent])
    for consumer, holding in enumerate(holdings):
        running.change(group.instance_of[consumer], Holding(), holding)
    return running.balance()


def initial_balance(group: Group, initial: Sequence[Holding], rounds: Sequence[Round]) -> Balance:
    """Return how evenly the load is spread as the first rebalance finds it.

    Instances that join in it count as empty; those that join in a later one do not count yet.
    """
    return balance_of(group, initial, _joining_later(rounds))


def balances(group: Group, rounds: Sequence[Round], first_members: Iterable[str]) -> Iterator[Balance]:
    """Yield the balance after each round, counting only what changed; the spreads are over who takes part then.

    ``load_per_thread`` is by all threads that an instance ever has. ``first_members`` take part before the first round.
    """
    running, present = RunningBalance(group), set(first_members)
    running.present([group.instance_index[process_id] for process_id in present])
    for rnd, (_, changes) in zip(rounds, changed_holdings([rnd.decided for rnd in rounds]), strict=True):
        came_and_went = rnd.member_steps
        for step in came_and_went:
            (present.add if isinstance(step, MemberJoined) else present.discard)(step.process_id)
        if came_and_went:
            running.present([group.instance_index[process_id] for process_id in present])
        for consumer, old, new in changes:
            running.change(group.instance_of[consumer], old, new)
        yield running.balance()


class RunningBalance:
    """How evenly what was decided last is spread, counting only what changes (KIP-441's two figures included).

    The spreads are over the instances that are present, at first all.
    """

    def __init__(self, group: Group, load: engine.Load | None = None) -> None:
        """``load``: what was counted before."""
        self._group, self._load = group, engine.Load(group) if load is None else load
        self._decision: Holdings | None = None

    def balance_after(self, decision: Holdings) -> Balance:
        """Return the balance of a decision, by instance, and count on from there."""
        previous_decision, self._decision = self._decision, decision
        if previous_decision is None:
            previous_decision = Holdings((Holding(),) * len(decision), self._group.stateless, no_owners(self._group))
        for instance in unlike(previous_decision.stateful, decision.stateful):
            self.change(instance, previous_decision.stateful[instance], decision.stateful[instance])
        if previous_decision.owners is not decision.owners:
            self.deal(previous_decision.owners, decision.owners)
        return self.balance()

    def present(self, instances: Sequence[int]) -> None:
        """Set the instances that take part from now on."""
        self._load.present(instances)

    def change(self, instance: int, old: Holding, new: Holding) -> None:
        """Count the new holding of a consumer instead of its old one."""
        if old.active is not new.active:
            for change, tasks in zip((-1, 1), difference(old.active, new.active), strict=True):
                for task in tasks:
                    self._load.count(task, True, instance, change)
        copies = len(new.standby) + len(new.warmup) - len(old.standby) - len(old.warmup)
        self._load.add_copies(instance, copies)

    def deal(self, old: Owners, new: Owners) -> None:
        """Count the stateless tasks at their new owners: mostly an instance gets as many as it gives up."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        moved_places, instances = (old != new).nonzero()[0], len(self._group.instances)
        lost_places, subtopology_of = moved_places[old[moved_places] >= 0], self._subtopology_of_stateless
        cells = len(self._load.subtopologies) * instances
        gains = np.bincount(subtopology_of[moved_places] * instances + new[moved_places], minlength=cells)
        changes = gains - np.bincount(subtopology_of[lost_places] * instances + old[lost_places], minlength=cells)
        for cell in changes.nonzero()[0].tolist():
            number, instance = divmod(cell, instances)
            self._load.add(number, instance, int(changes[cell]))

    @cached_property
    def _subtopology_of_stateless(self) -> npt.NDArray[np.int64]:
        """The place of the subtopology of each stateless task, by the place of the task."""
        import numpy as np  # noqa: PLC0415 - as above

        place = {name: place for place, name in enumerate(self._load.subtopologies)}
        names = [self._group.subtopologies[task] for task in self._group.stateless]
        return np.array([place[name] for name in names], dtype=np.int64)

    def balance(self) -> Balance:
        """Return how even it is now."""
        return Balance(**self._load.figures())


def _joining_later(rounds: Sequence[Round]) -> set[str]:
    """Return the instances that join after the first round."""
    joins_later: dict[str, bool] = {}
    for place, rnd in enumerate(rounds):
        for step in rnd.member_steps:
            joins_later.setdefault(step.process_id, place > 0 and isinstance(step, MemberJoined))
    return {process_id for process_id, is_later in joins_later.items() if is_later}
