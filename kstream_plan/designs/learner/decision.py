"""One round of KIP-441's draft, the incremental-rebalancing algorithm: who runs, learns and copies what.

Tasks and instances are numbers in Kafka's order, so "first" is the least. Loads are exact: all are counted in parts of
the least common multiple of the numbers of threads. Standbys have a module of their own.

Source: page ``learner-rules``, "What a member reports"; page ``learner-rules``, "One round" with its steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kstream_plan.designs.learner.reported import LearnerSettings, Memory, Reported
from kstream_plan.designs.learner.standbys import Copying
from kstream_plan.model import NOBODY

_Flags = npt.NDArray[np.bool_]
_Indices = npt.NDArray[np.int64]
_Letters = npt.NDArray[np.str_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnerDecision:
    """What a round comes to.

    By task: ``owner``, ``learner`` (:data:`~kstream_plan.model.NOBODY`: none), ``standbys`` (those kept by lag, then
    the new one) and ``rule``, the letter of the rule that gave it its owner ("" without an owner). ``took_over`` are
    the tasks whose learners run them now, ``new_learners`` in the order in which they were made, ``new_standbys`` the
    tasks that got one. ``removed`` are the leaving instances that are gone with this round. ``next_at_once``: standbys
    are still missing, one more round gives the next. ``numerators`` are the loads of the staying instances at the end.
    """

    owner: _Indices
    rule: _Letters
    learner: _Indices
    standbys: tuple[tuple[int, ...], ...]
    took_over: tuple[int, ...]
    new_learners: tuple[int, ...]
    new_standbys: tuple[int, ...]
    removed: tuple[int, ...]
    next_at_once: bool
    numerators: Mapping[int, int]
    memory: Memory

    def __post_init__(self) -> None:
        """Freeze the numbers, too."""
        for of_tasks in (self.owner, self.rule, self.learner):
            of_tasks.setflags(write=False)


def decide(reported: Reported, memory: Memory, settings: LearnerSettings) -> LearnerDecision:
    """Decide one round."""
    leader_memory = memory_before_round(reported, memory, settings)
    visible_members = reported.members if leader_memory.leader == memory.leader else reported.members - reported.absent
    expired_members = {
        instance for instance, deadline_ms in leader_memory.leaving_deadlines.items() if deadline_ms <= reported.now_ms
    }
    members = visible_members - expired_members
    draft = _Draft.from_reported(reported, members, leader_memory, settings, _back(reported, memory))
    draft.keep_or_hand_over()
    draft.keep_learners()
    draft.start_elsewhere()
    draft.move_stateless()
    draft.learn_from_leaving()
    draft.learn_for_balance()
    copying = Copying(reported, settings, draft.staying, draft.weight, draft.owner, draft.learner, draft.rule)
    copying.copy()
    emptied = {
        instance
        for instance in leader_memory.leaving_deadlines
        if instance in members and not (draft.owner == instance).any()
    }
    removed = sorted(expired_members | emptied)
    return LearnerDecision(
        owner=draft.owner,
        rule=draft.rule,
        learner=draft.learner,
        standbys=copying.of_tasks(),
        took_over=tuple(draft.took_over),
        new_learners=tuple(draft.new_learners),
        new_standbys=tuple(copying.new),
        removed=tuple(removed),
        next_at_once=copying.is_short(),
        numerators={instance: draft.numerator[instance] for instance in draft.staying},
        memory=Memory(
            leader=leader_memory.leader,
            last_members=members - emptied,
            leaving_deadlines=MappingProxyType(
                {i: at_ms for i, at_ms in sorted(leader_memory.leaving_deadlines.items()) if i not in removed}
            ),
        ),
    )


def memory_before_round(reported: Reported, memory: Memory, settings: LearnerSettings) -> Memory:
    """Return what the leader of this round knows before it decides.

    Source: page ``learner-rules``, "What the leader remembers".

    A new leader takes all it sees for members of the last round, and gives leaving instances a fresh deadline; it never
    saw absent ones, so they are gone.
    """
    present = reported.members - reported.absent
    deadline_ms = reported.now_ms + settings.scale_down_timeout_ms
    if memory.leader in present:
        leader_memory, leaves = memory, (reported.announced | reported.absent) & reported.members
    else:
        leader_memory = Memory(leader=min(present, default=None), last_members=present)
        leaves = reported.announced & present
    deadlines = {instance: leader_memory.leaving_deadlines.get(instance, deadline_ms) for instance in sorted(leaves)}
    return replace(leader_memory, leaving_deadlines=MappingProxyType(deadlines))


def _back(reported: Reported, memory: Memory) -> frozenset[int]:
    """Return the instances that were leaving or absent and stay after all."""
    return frozenset(memory.leaving_deadlines) & reported.members - reported.announced - reported.absent


@dataclass(slots=True)
class _Draft:
    """A round under way.

    ``learned_tasks`` are the tasks learned so far, in order, ``learned_by`` by whom, and ``ready`` which of them are;
    ``learning`` is how many are now.
    """

    reported: Reported
    settings: LearnerSettings
    members: frozenset[int]
    staying: list[int]
    threads_staying: int
    newcomers: frozenset[int]
    learned_tasks: _Indices
    learned_by: _Indices
    ready: _Flags
    stateful: _Flags
    reported_owner: _Indices
    weight: list[int]
    owner: _Indices
    rule: _Letters
    learner: _Indices
    numerator: list[int]
    learning: int = 0
    took_over: list[int] = field(default_factory=list)
    new_learners: list[int] = field(default_factory=list)

    @classmethod
    def from_reported(
        cls,
        reported: Reported,
        members: frozenset[int],
        memory: Memory,
        settings: LearnerSettings,
        back: Collection[int],
    ) -> _Draft:
        tasks, threads = len(reported.stateful), reported.threads
        staying = sorted(members - memory.leaving_deadlines.keys())
        common = lcm(*threads) if threads else 1
        owner = np.asarray(reported.owner, dtype=np.int64)
        learned_tasks = sorted(reported.learner)
        if back:
            learned_tasks = [task for task in learned_tasks if owner[task] not in back]
        learners = [reported.learner[task] for task in learned_tasks]
        return cls(
            reported=reported,
            settings=settings,
            members=members,
            staying=staying,
            threads_staying=sum(threads[instance] for instance in staying),
            newcomers=frozenset(staying) - memory.last_members,
            learned_tasks=np.array(learned_tasks, dtype=np.int64),
            learned_by=np.array([instance for instance, _ in learners], dtype=np.int64),
            ready=np.array([lag <= settings.acceptable_recovery_lag for _, lag in learners], dtype=np.bool_),
            stateful=np.asarray(reported.stateful, dtype=np.bool_),
            reported_owner=owner,
            weight=[common // thread_count for thread_count in threads],
            owner=np.full(tasks, NOBODY, dtype=np.int64),
            rule=np.full(tasks, "", dtype="U1"),
            learner=np.full(tasks, NOBODY, dtype=np.int64),
            numerator=[0] * len(threads),
        )

    # -- loads ---------------------------------------------------------------------------------------------------

    def _load(self, instance: int, extra_tasks: int = 0) -> int:
        """Return (numerator + more) / threads, in common parts."""
        return (self.numerator[instance] + extra_tasks) * self.weight[instance]

    def _least_loaded(self, instances: Iterable[int]) -> int:
        return min(instances, key=lambda instance: (self._load(instance, 1), instance))

    def _less_loaded(self, instance: int) -> list[int]:
        """Return the staying instances with less load than one, by the balance factor."""
        load, factor = self._load(instance), self.settings.balance_factor
        return [candidate for candidate in self.staying if self._load(candidate, factor) < load]

    def _has_room(self, instance: int) -> bool:
        """Tell whether one task more keeps an instance within its share."""
        share = len(self.owner) * self.reported.threads[instance]
        return (self.numerator[instance] + 1) * self.threads_staying <= share

    def _flags(self, instances: Iterable[int]) -> _Flags:
        """Return by instance whether it is one of these; the last flag, of no instance, is false."""
        flags = np.zeros(len(self.numerator) + 1, dtype=np.bool_)
        flags[list(instances)] = True
        return flags

    def _count(self, owners: _Indices, delta: int = 1) -> None:
        """Add the tasks of these owners to their numerators."""
        for instance, tasks in enumerate(np.bincount(owners, minlength=len(self.numerator)).tolist()):
            self.numerator[instance] += delta * tasks

    # -- step 1 and 2 --------------------------------------------------------------------------------------------

    def keep_or_hand_over(self) -> None:
        """Give each stateful task to its ready learner, its owner, or its unready learner (1 a-c)."""
        keeps_owner = self.stateful & self._flags(self.members)[self.reported_owner]
        self.owner[keeps_owner], self.rule[keeps_owner] = self.reported_owner[keeps_owner], "b"
        may = self.stateful[self.learned_tasks] & self._flags(self.staying)[self.learned_by]
        ready, cold = may & self.ready, may & ~self.ready & ~keeps_owner[self.learned_tasks]
        for selection, rule in (ready, "a"), (cold, "c"):
            tasks = self.learned_tasks[selection]
            self.owner[tasks], self.rule[tasks] = self.learned_by[selection], rule
        self.took_over += self.learned_tasks[ready].tolist()
        self._count(self.owner[self.owner != NOBODY])

    def _run(self, task: int, instance: int, rule: str) -> None:
        self.owner[task], self.rule[task] = instance, rule
        self.numerator[instance] += 1

    def keep_learners(self) -> None:
        """Keep the learners whose tasks went to their previous owners (2)."""
        keeps_learner = (self.rule[self.learned_tasks] == "b") & self._flags(self.staying)[self.learned_by]
        tasks, instances = self.learned_tasks[keeps_learner], self.learned_by[keeps_learner]
        self.learner[tasks] = instances
        self.learning += len(tasks)
        self._count(instances)
        self._count(self.reported_owner[tasks], -1)

    def _learn(self, task: int, instance: int) -> None:
        self.learner[task] = instance
        self.learning += 1
        self.numerator[instance] += 1
        self.numerator[int(self.owner[task])] -= 1

    def start_elsewhere(self) -> None:
        """Start the stateful tasks that are left on a standby, else where the load is least (1 d-e)."""
        stay = ~self.stateful & self._flags(self.staying)[self.reported_owner]
        self._count(self.reported_owner[stay])  # until their turn comes
        if not self.staying:
            return
        for task in np.flatnonzero(self.stateful & (self.owner == NOBODY)).tolist():
            standby = self._best_standby(task, self.staying)
            rule = "e" if standby is None else "d"
            self._run(task, self._least_loaded(self.staying) if standby is None else standby, rule)

    def _best_standby(self, task: int, instances: Iterable[int]) -> int | None:
        """Return the one of these with the standby that lags least, then the least loaded, then the first."""
        lags = self.reported.standbys_of(task)
        with_standby = [instance for instance in instances if instance in lags] if lags else []
        return min(with_standby, key=lambda instance: (lags[instance], self._load(instance, 1), instance), default=None)

    def move_stateless(self) -> None:
        """Keep each stateless task where it is unless an instance has less load than its owner (1, last paragraph)."""
        stateless = np.flatnonzero(~self.stateful)
        for task, owner in zip(stateless.tolist(), self.reported_owner[stateless].tolist(), strict=True):
            stays = owner in self.staying
            candidates = self._less_loaded(owner) if stays else self.staying
            if not candidates:
                if owner in self.members:
                    self.owner[task], self.rule[task] = owner, "b"
                continue
            if stays:
                self.numerator[owner] -= 1
            self._run(task, self._least_loaded(candidates), "e")

    # -- step 3 and 4 --------------------------------------------------------------------------------------------

    def learn_from_leaving(self) -> None:
        """Make a learner for each stateful task of a leaving instance (3, first half)."""
        leaves = self._owned & ~self._flags(self.staying)[self.owner]
        for task in np.flatnonzero(leaves).tolist():
            if self.staying and self._may_learn():
                self._new_learner(task, self.staying, absent=int(self.owner[task]) in self.reported.absent)

    @property
    def _owned(self) -> _Flags:
        """Which stateful tasks have an owner and no learner."""
        owned: _Flags = self.stateful & (self.owner != NOBODY) & (self.learner == NOBODY)
        return owned

    def _may_learn(self) -> bool:
        limit = self.settings.max_learners
        return limit is None or self.learning < limit

    def learn_for_balance(self) -> None:
        """Make learners that take tasks off the most loaded instances, until there is none to make (3, the rest)."""
        tasks_by_owner: dict[int, list[int]] = {}
        while self._may_learn():
            least = min((self._load(instance, self.settings.balance_factor) for instance in self.staying), default=0)
            overloaded = [instance for instance in self.staying if self._load(instance) > least]
            for instance in sorted(overloaded, key=lambda instance: (-self._load(instance), instance)):
                if instance not in tasks_by_owner:
                    tasks_by_owner[instance] = np.flatnonzero(self._owned & (self.owner == instance)).tolist()[::-1]
                if tasks_by_owner[instance]:
                    self._new_learner(tasks_by_owner[instance].pop(), self._less_loaded(instance), absent=False)
                    break
            else:
                return

    def _new_learner(self, task: int, instances: Sequence[int], *, absent: bool) -> None:
        self._learn(task, self._learner_of(task, instances, absent=absent))
        self.new_learners.append(task)

    def _learner_of(self, task: int, instances: Sequence[int], *, absent: bool) -> int:
        """Return where a learner goes (4): a newcomer, or a standby, with room; else where the load is least."""
        roomy = [instance for instance in instances if self._has_room(instance)]
        newcomers = [instance for instance in roomy if instance in self.newcomers]
        newcomer = self._least_loaded(newcomers) if newcomers else None
        standby = self._best_standby(task, roomy)
        for choice in (standby, newcomer) if absent else (newcomer, standby):
            if choice is not None:
                return choice
        lags = self.reported.standbys_of(task)
        return min(
            instances,
            key=lambda instance: (self._load(instance, 1), instance not in lags, lags.get(instance, 0), instance),
        )
