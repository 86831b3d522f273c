"""One round of KIP-441's draft, the incremental-rebalancing algorithm: who runs, learns and copies what.

Tasks and instances are numbers in Kafka's order, so "first" is the least. Loads are exact: all are counted in parts of
the least common multiple of the numbers of threads.

Source: page ``learner-rules``, "What a member reports"; page ``learner-rules``, "One round" with its steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm
from types import MappingProxyType

from kstream_plan.model import NOBODY

#: Records a copy lacks; a fraction, for instances share what they restore evenly.
Lag = Fraction | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the leader remembers of the last round.

    ``leader`` is an instance, ``None`` if there was none; ``last_members`` are those of the last round that were not
    removed in it; ``leaving`` says until when each leaving instance may take (milliseconds).
    """

    leader: int | None
    last_members: frozenset[int]
    leaving: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the members report when they join for a round.

    By task: ``owner`` (:data:`~kstream_plan.model.NOBODY` if none is a member), ``standbys`` and ``learner`` (the
    instance that learns it), both with their lags. ``members`` are all instances that count, ``announced`` those that
    say they leave, ``absent`` the static ones that have not come back. ``threads`` is by instance.
    """

    now_ms: int
    stateful: Sequence[bool]
    threads: Sequence[int]
    owner: Sequence[int]
    standbys: Sequence[Mapping[int, Lag]]
    learner: Sequence[tuple[int, Lag] | None]
    members: frozenset[int]
    announced: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerSettings:
    """What the algorithm goes by; ``max_learners`` is ``None`` for no limit, times are in milliseconds."""

    acceptable_recovery_lag: int = 10_000
    balance_factor: int = 1
    max_learners: int | None = None
    num_standby_replicas: int = 0
    scale_down_timeout_ms: int = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerDecision:
    """What a round comes to.

    By task: ``owner``, ``learner`` (:data:`~kstream_plan.model.NOBODY`: none), ``standbys`` (those kept by lag, then
    the new one) and ``rule``, the letter of the rule that gave it its owner ("" if nobody has it). ``took_over`` are
    the tasks whose learners run them now, ``new_learners`` in the order in which they were made, ``new_standbys`` the
    tasks that got one. ``removed`` are the leaving instances that are gone with this round. ``next_at_once``: standbys
    are still missing, one more round gives the next. ``numerators`` are the loads of the staying instances at the end.
    """

    owner: tuple[int, ...]
    rule: tuple[str, ...]
    learner: tuple[int, ...]
    standbys: tuple[tuple[int, ...], ...]
    took_over: tuple[int, ...]
    new_learners: tuple[int, ...]
    new_standbys: tuple[int, ...]
    removed: tuple[int, ...]
    next_at_once: bool
    numerators: Mapping[int, int]
    memory: Memory


def decide(reported: Reported, memory: Memory, settings: LearnerSettings) -> LearnerDecision:
    """Play one round."""
    known = remembered(reported, memory, settings)
    seen = reported.members if known.leader == memory.leader else reported.members - reported.absent
    gone = {instance for instance, deadline_ms in known.leaving.items() if deadline_ms <= reported.now_ms}
    members = seen - gone
    draft = _Draft.of(reported, members, known, settings, _back(reported, memory))
    draft.keep_or_hand_over()
    draft.keep_learners()
    draft.start_elsewhere()
    draft.move_stateless()
    draft.learn_from_leaving()
    draft.learn_for_balance()
    draft.copy()
    emptied = {instance for instance in known.leaving if instance in members and instance not in draft.owner}
    removed = sorted(gone | emptied)
    return LearnerDecision(
        owner=tuple(draft.owner),
        rule=tuple(draft.rule),
        learner=tuple(draft.learner),
        standbys=tuple(map(tuple, draft.standbys)),
        took_over=tuple(draft.took_over),
        new_learners=tuple(draft.new_learners),
        new_standbys=tuple(draft.new_standbys),
        removed=tuple(removed),
        next_at_once=draft.is_short(),
        numerators={instance: draft.numerator[instance] for instance in draft.staying},
        memory=Memory(
            leader=known.leader,
            last_members=members - emptied,
            leaving=MappingProxyType({i: at_ms for i, at_ms in sorted(known.leaving.items()) if i not in removed}),
        ),
    )


def remembered(reported: Reported, memory: Memory, settings: LearnerSettings) -> Memory:
    """Return what the leader of this round knows before it decides.

    Source: page ``learner-rules``, "What the leader remembers".

    A new leader takes all it sees for members of the last round, and gives who leaves a fresh deadline; who is absent
    was never seen by it, and is gone.
    """
    present = reported.members - reported.absent
    deadline_ms = reported.now_ms + settings.scale_down_timeout_ms
    if memory.leader in present:
        known, leaves = memory, (reported.announced | reported.absent) & reported.members
    else:
        known = Memory(leader=min(present, default=None), last_members=present)
        leaves = reported.announced & present
    leaving = {instance: known.leaving.get(instance, deadline_ms) for instance in sorted(leaves)}
    return replace(known, leaving=MappingProxyType(leaving))


def _back(reported: Reported, memory: Memory) -> frozenset[int]:
    """Return who was leaving or absent and stays after all."""
    return frozenset(memory.leaving) & reported.members - reported.announced - reported.absent


@dataclass(slots=True)
class _Draft:
    """A round under way."""

    reported: Reported
    settings: LearnerSettings
    members: frozenset[int]
    staying: list[int]
    newcomers: frozenset[int]
    before: list[tuple[int, Lag] | None]
    weight: list[int]
    owner: list[int]
    rule: list[str]
    learner: list[int]
    standbys: list[list[int]]
    numerator: list[int]
    took_over: list[int] = field(default_factory=list)
    new_learners: list[int] = field(default_factory=list)
    new_standbys: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        reported: Reported,
        members: frozenset[int],
        memory: Memory,
        settings: LearnerSettings,
        back: Collection[int],
    ) -> _Draft:
        tasks, threads = len(reported.stateful), reported.threads
        staying = sorted(members - memory.leaving.keys())
        common = lcm(*threads) if threads else 1
        return cls(
            reported=reported,
            settings=settings,
            members=members,
            staying=staying,
            newcomers=frozenset(staying) - memory.last_members,
            before=[None if owner in back else of for owner, of in zip(reported.owner, reported.learner, strict=True)],
            weight=[common // of for of in threads],
            owner=[NOBODY] * tasks,
            rule=[""] * tasks,
            learner=[NOBODY] * tasks,
            standbys=[[] for _ in range(tasks)],
            numerator=[0] * len(threads),
        )

    # -- loads ---------------------------------------------------------------------------------------------------

    def _load(self, instance: int, more: int = 0) -> int:
        """Return (numerator + more) / threads, in common parts."""
        return (self.numerator[instance] + more) * self.weight[instance]

    def _least_loaded(self, instances: Iterable[int]) -> int:
        return min(instances, key=lambda instance: (self._load(instance, 1), instance))

    def _below(self, instance: int) -> list[int]:
        """Return the staying instances that lie below one."""
        load, factor = self._load(instance), self.settings.balance_factor
        return [other for other in self.staying if self._load(other, factor) < load]

    def _has_room(self, instance: int) -> bool:
        """Tell whether one task more keeps an instance within its share."""
        threads = self.reported.threads
        share_of = sum(threads[other] for other in self.staying)
        return (self.numerator[instance] + 1) * share_of <= len(self.owner) * threads[instance]

    # -- step 1 and 2 --------------------------------------------------------------------------------------------

    def keep_or_hand_over(self) -> None:
        """Give each stateful task to its ready learner, its owner, or its unready learner (1 a-c)."""
        staying = frozenset(self.staying)
        for task, stateful in enumerate(self.reported.stateful):
            if not stateful:
                continue
            owner, learner = self.reported.owner[task], self.before[task]
            learns = learner is not None and learner[0] in staying
            if learns and learner is not None and learner[1] <= self.settings.acceptable_recovery_lag:
                self._run(task, learner[0], "a")
                self.took_over.append(task)
            elif owner in self.members:
                self._run(task, owner, "b")
            elif learns and learner is not None:
                self._run(task, learner[0], "c")

    def _run(self, task: int, instance: int, rule: str) -> None:
        self.owner[task], self.rule[task] = instance, rule
        self.numerator[instance] += 1

    def keep_learners(self) -> None:
        """Let learners learn on whose tasks went to their previous owners (2)."""
        staying = frozenset(self.staying)
        for task, learner in enumerate(self.before):
            if learner is not None and self.rule[task] == "b" and learner[0] in staying:
                self._learn(task, learner[0])

    def _learn(self, task: int, instance: int) -> None:
        self.learner[task] = instance
        self.numerator[instance] += 1
        self.numerator[self.owner[task]] -= 1

    def start_elsewhere(self) -> None:
        """Start the stateful tasks that are left on a standby, else where the load is least (1 d-e)."""
        for task, owner in enumerate(self.reported.owner):
            if not self.reported.stateful[task] and owner in self.staying:
                self.numerator[owner] += 1  # until its turn comes
        if not self.staying:
            return
        for task, stateful in enumerate(self.reported.stateful):
            if stateful and self.owner[task] == NOBODY:
                standby = self._best_standby(task, self.staying)
                rule = "e" if standby is None else "d"
                self._run(task, self._least_loaded(self.staying) if standby is None else standby, rule)

    def _best_standby(self, task: int, instances: Iterable[int]) -> int | None:
        """Return the one of these with the standby that lags least, then the least loaded, then the first."""
        lags = self.reported.standbys[task]
        with_standby = [instance for instance in instances if instance in lags]
        return min(with_standby, key=lambda of: (lags[of], self._load(of, 1), of), default=None)

    def move_stateless(self) -> None:
        """Keep each stateless task where it is unless somebody lies below its owner (1, last paragraph)."""
        for task, stateful in enumerate(self.reported.stateful):
            if stateful:
                continue
            owner = self.reported.owner[task]
            stays = owner in self.staying
            candidates = self._below(owner) if stays else self.staying
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
        for task, owner in enumerate(self.owner):
            is_left = self.reported.stateful[task] and owner != NOBODY and owner not in self.staying
            if is_left and self.learner[task] == NOBODY and self.staying and self._may_learn():
                self._new_learner(task, self.staying, absent=owner in self.reported.absent)

    def _may_learn(self) -> bool:
        limit = self.settings.max_learners
        return limit is None or sum(instance != NOBODY for instance in self.learner) < limit

    def learn_for_balance(self) -> None:
        """Make learners that take tasks off the most loaded instances, until there is none to make (3, the rest)."""
        own = self._own_tasks()
        while self._may_learn():
            for instance in sorted(self.staying, key=lambda of: (-self._load(of), of)):
                below = self._below(instance) if own[instance] else []
                if below:
                    self._new_learner(own[instance].pop(), below, absent=False)
                    break
            else:
                return

    def _own_tasks(self) -> dict[int, list[int]]:
        """Return the stateful tasks of each staying instance that nobody learns, the first one last."""
        own: dict[int, list[int]] = {instance: [] for instance in self.staying}
        for task in reversed(range(len(self.owner))):
            if self.reported.stateful[task] and self.owner[task] in own and self.learner[task] == NOBODY:
                own[self.owner[task]].append(task)
        return own

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
        lags = self.reported.standbys[task]
        return min(instances, key=lambda of: (self._load(of, 1), of not in lags, lags.get(of, 0), of))

    # -- step 5 --------------------------------------------------------------------------------------------------

    def copy(self) -> None:
        """Keep the standbys that there are, and give each task that lacks one at most one more (5)."""
        wanted = self.settings.num_standby_replicas
        if not wanted:
            return
        for task in self._stateful():
            lags = dict(self.reported.standbys[task])
            dropped = self.reported.learner[task]
            if dropped is not None:
                lags.setdefault(*dropped)
            free = [instance for instance in lags if instance in self.staying and not self._holds(instance, task)]
            self.standbys[task] = sorted(free, key=lambda instance: (lags[instance], instance))[:wanted]
        copies = self._copies()
        for task in self._stateful():
            if not self._lacks(task):
                continue
            free = [instance for instance in self.staying if not self._holds(instance, task)]
            if not free:
                continue
            handed = self.reported.owner[task] if self.rule[task] == "a" else NOBODY
            place = handed if handed in free else min(free, key=lambda of: ((copies[of] + 1) * self.weight[of], of))
            self.standbys[task].append(place)
            copies[place] += 1
            self.new_standbys.append(task)

    def is_short(self) -> bool:
        """Tell whether another round would give a task one more standby."""
        return any(
            self._lacks(task) and any(not self._holds(instance, task) for instance in self.staying)
            for task in self._stateful()
        )

    def _stateful(self) -> Iterable[int]:
        return (task for task, stateful in enumerate(self.reported.stateful) if stateful)

    def _lacks(self, task: int) -> bool:
        wanted = self.settings.num_standby_replicas
        return len(self.standbys[task]) + (self.learner[task] != NOBODY) < wanted

    def _holds(self, instance: int, task: int) -> bool:
        return instance in (self.owner[task], self.learner[task]) or instance in self.standbys[task]

    def _copies(self) -> list[int]:
        """Return how many tasks each instance has in any role."""
        copies = [0] * len(self.weight)
        for task, owner in enumerate(self.owner):
            for instance in (owner, self.learner[task], *self.standbys[task]):
                if instance != NOBODY:
                    copies[instance] += 1
        return copies
