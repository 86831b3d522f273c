"""A classic group played on arrays by the engine: the same turns as from objects, in a fraction of the time.

It is for what large groups mostly are: some stateful tasks, the assignor high-availability, and rates that stay the
same until the next rebalance. Whatever else comes is left to the objects, which it is held to. What
a turn decides, and who holds what, is made when it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from kstream_plan.assignors.high_availability.stateless import deal_stateless
from kstream_plan.assignors.laws import Laws
from kstream_plan.assignors.threads.consumer_split import thread_assignment
from kstream_plan.assignors.threads.stateless_split import Shares, split_stateless
from kstream_plan.designs.classic.catching_up import POLL_DELAY_MS
from kstream_plan.designs.classic.next_rebalance import Clock
from kstream_plan.engine.advance import Advance
from kstream_plan.engine.copies import Copies
from kstream_plan.engine.cycle_detection import CycleDetection, Fingerprint, Remaining
from kstream_plan.engine.decision import Decision
from kstream_plan.engine.restoring import Restoring
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.engine.step_writer import FIELDS, REASONS, StepWriter
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.model import (
    NOBODY,
    Assignment,
    Group,
    GroupState,
    Holding,
    Holdings,
    LazyHoldings,
    LazySequence,
    Movements,
    Owners,
    Rates,
    Target,
    no_owners,
)
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Balance
from kstream_plan.plans.balance import RunningBalance
from kstream_plan.plans.design import Lapse
from kstream_plan.plans.holdings_log import HoldingsLog
from kstream_plan.plans.reasons import ReasonCode
from kstream_plan.plans.replay import Outcome
from kstream_plan.plans.restoring import Span
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import CODES, NO_LAG, Rows, StepMaker, row_type
from kstream_plan.protocols import Protocol
from kstream_plan.protocols.cooperative import stateless_owners
from kstream_plan.protocols.transition import Transition

T = TypeVar("T")

#: What numbers of 64 bits surely hold: the key of an instance in Kafka's queue, and records.
_MOST = 2**62
#: Intervals, in milliseconds, so long that they may come again and again before the time is beyond ``MOST_MS``.
MOST_OFTEN_MS = 2**40
#: Instead of a rate.
_NOT_KNOWN = -1.0
#: So many probes at most are looked at again to go on from there on arrays.
MOST_PROBES = 8
#: By the engine's number of a reason that of its code.
_REASONS = np.array([CODES.index(ReasonCode(reason)) for reason in REASONS], np.int8)


class Pace(NamedTuple):
    """How fast a group restores and falls behind, in records per second.

    ``restores`` is by instance (below 0: not known), ``writes`` by stateful task; ``most`` is the largest that is
    finite.
    """

    rates: Rates
    restores: tuple[float, ...]
    writes: tuple[float, ...]
    most: float

    @classmethod
    def of(cls, group: Group, rates: Rates) -> Pace:
        """Return the pace of a group at these rates."""
        known = map(rates.restore_rate, range(len(group.instances)))
        restores = tuple([_NOT_KNOWN if rate is None else rate for rate in known])
        writes = tuple(map(rates.produce_rate, group.stateful))
        return cls(rates, restores, writes, max(0.0, *filter(isfinite, chain(restores, writes))))

    def fits(self, spans: Sequence[Span]) -> bool:
        """Tell whether arrays hold what becomes of copies in this time: where any is known, rates stay, and all run."""
        elapsed_ms = max(POLL_DELAY_MS, sum(span.elapsed_ms for span in spans))
        if any(span.burst for span in spans) or self.most * elapsed_ms > 1000 * _MOST:
            return False
        is_rated = any(span.rates.any_restore or span.rates.any_produce for span in spans)
        return not is_rated or (len(spans) == 1 and not spans[0].stopped)


def are_for(group: Group, config: AssignmentConfig) -> bool:
    """Tell whether arrays hold such a group with such settings."""
    return config.probing_rebalance_interval_ms <= MOST_OFTEN_MS and bool(group.stateful)


class StatelessTasks:
    """Who runs the stateless tasks of a group on arrays, decision after decision; a draft."""

    def __init__(self, group: Group, config: AssignmentConfig, laws: Laws, protocol: Protocol) -> None:
        self._group, self._config, self._laws = group, laws.settings(config), laws
        self._stopping = protocol.gives_up(group)
        self._counts: Sequence[int] = ()
        self._before = self.owners = no_owners(group)
        self.shares = Shares(self.owners, self.owners, np.zeros(0, np.int32))

    def decide(self, decision: Decision, before: Owners) -> None:
        """Deal them after the stateful ones; ``before`` says who runs each until then."""
        if not self._group.stateless:
            return
        counts, known, given = decision.spread.stateful_counts(), self.shares if self._counts else None, self.shares[0]
        if counts != self._counts:
            self._counts, given = counts, deal_stateless(self._group, self._config, counts)
        self.shares = split_stateless(self._group, given, decision.loads(), known, self._laws)
        self._before = before
        self.owners, revoking, waiting = stateless_owners(before, self.shares.consumers, self._stopping)
        decision.disturb(revoking, waiting)

    def fingerprint(self) -> bytes:
        """Return what is decided and owned as a value that is the same if that is."""
        owned = self._before.clip(min=NOBODY).tobytes()
        return blake2b(owned + self.shares.consumers.tobytes(), digest_size=16).digest()


class Arrays:
    """The parts of the engine that play one group under one target; a draft."""

    def __init__(
        self,
        group: Group,
        target: Target,
        config: AssignmentConfig,
        cleaner: StateCleaner,
        laws: Laws,
        protocol: Protocol,
    ) -> None:
        self.copies = Copies(group, config.acceptable_recovery_lag, cleaner)
        self.decision = Decision(
            self.copies,
            group,
            TaskMovement(
                group,
                target,
                config.acceptable_recovery_lag,
                config.max_warmup_replicas,
                in_heap_order=laws.in_heap_order,
                caught_up_only=laws.caught_up_only,
            ),
            thread_assignment(group, laws),
            roles_apart=laws.roles_apart,
            stopping=protocol.gives_up(group),
            any_temporary=protocol.any_temporary,
        )
        self.steps = StepWriter(self.decision)
        self.restoring = Restoring(self.copies)
        self.advance = Advance(self.decision, self.restoring)
        self.cycles = CycleDetection(self.decision)
        self.stateless = StatelessTasks(group, config, laws, protocol)

    def decide(self, owners: Owners) -> None:
        """Decide, and withhold what its owner has to give up first; ``owners`` are those of the stateless tasks."""
        self.decision.decide()
        self.stateless.decide(self.decision, owners)

    def fingerprint(self) -> tuple[Fingerprint, bytes]:
        """Return what is decided, owned and reported at a probe, as a value that is the same if all that is."""
        return self.cycles.fingerprint(), self.stateless.fingerprint()


class Decided(NamedTuple):
    """A decision that was made on arrays, and what is told of it."""

    assignment: Assignment
    transition: Transition
    steps: RoundSteps | tuple[()]
    queued: int
    warms_up: bool
    starts_any: bool


class Stage:
    """A decision or a state on arrays: holdings, copies and movements are made from the arrays while it lasts.

    It does not refer to the arrays, so that values that were never made do not keep them in a cycle.
    """

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = 0

    def ends(self) -> None:
        """Begin with the next one."""
        self._number += 1

    def made_by(self, make: Callable[[], T]) -> Callable[[], T]:
        """Return what makes something of the arrays as they are now, and no later."""
        return partial(self._made, make, self._number)

    def _made(self, make: Callable[[], T], number: int) -> T:
        if self._number != number:
            raise RuntimeError("the arrays have gone on since")
        return make()


def _outcome_of(decision: Decision) -> Outcome:
    return Outcome(decision.decided_by(False), decision.held_after())


class OnArrays:
    """A stretch of rounds of one group on arrays; a draft that a coordinator keeps.

    ``state`` is the group as the next decision finds it. What is told of a decision is made of the arrays until the
    next one, what is told of a state until time goes on.
    """

    def __init__(self, arrays: Arrays, state: GroupState, decision: Assignment) -> None:
        """``decision`` is one that was made for the same target."""
        self.state = state
        self._arrays = arrays
        self._target, self._short = decision.target, decision.short_standbys
        self._owned = Holdings.of(state.group, state.holdings)
        self._log = HoldingsLog(state.group, tuple(self._owned.stateful), partial(_outcome_of, arrays.decision))
        self._running = RunningBalance(state.group, arrays.decision.spread)
        self._counted = no_owners(state.group)
        self._pace: Pace | None = None
        self._this_decision, self._this_state = Stage(), Stage()

    def decide(self, maker: StepMaker, at_ms: int, *, times_alone: bool) -> Decided:
        """Decide, withhold what its owner has to give up first, and tell the steps unless ``times_alone`` are told.

        ``maker`` has no other limit for reasons than that of the settings.
        """
        group, decision, writer = self.state.group, self._arrays.decision, self._arrays.steps
        self._arrays.decide(self._owned.owners)
        stateless = self._arrays.stateless
        self._this_decision.ends()
        movement = decision.movement
        steps: RoundSteps | tuple[()] = ()
        if times_alone:
            decided_by_consumer = partial(decision.decided_by, False)
            decided, held = (self._lazy_holdings(make) for make in (decided_by_consumer, decision.held_after))
        else:
            writer.write(at_ms)
            steps = RoundSteps(maker, self._rows())
            decided, held = self._log.add(
                steps, warmups=decision.warmup_copies, temporary=decision.extra_copies - decision.warmup_copies
            )
        instances = self._lazy_holdings(partial(decision.decided_by, True), len(group.instances))
        consumers = self._all(decided, stateless.shares.consumers)
        return Decided(
            assignment=Assignment(
                instances=self._all(instances, stateless.shares.instances),
                consumers=consumers,
                probing_rebalance=movement.movements > 0,
                target=self._target,
                movements=Movements(movement.movements, self._this_decision.made_by(movement.moved)),
                short_standbys=self._short,
            ),
            transition=Transition(
                before=self._owned,
                decided=consumers,
                holdings=self._all(held, stateless.owners),
                revoking=frozenset(decision.revoking_consumers()),
                waiting=frozenset(decision.waiting_consumers()),
            ),
            steps=steps,
            queued=movement.queued,
            warms_up=decision.warmup_copies > 0,
            starts_any=not times_alone and writer.starts_any,
        )

    def _rows(self) -> Rows:
        """Return the steps of the last decision."""
        steps = self._arrays.steps.steps()
        rows: Rows = np.zeros(len(steps), row_type())
        for number, name in enumerate(FIELDS):
            rows[name] = steps[:, number]
        rows["reason"] = _REASONS[rows["reason"]]
        rows["limit"] = rows["lag"] != NO_LAG
        return rows

    def balance(self) -> Balance:
        """Count how evenly the last decision spreads the load."""
        instances = self._arrays.stateless.shares.instances
        if instances is not self._counted:
            self._running.deal(self._counted, instances)
            self._counted = instances
        return self._running.balance()

    def go_on(self, lapse: Lapse, pace: Pace, clock: Clock, *, tick: bool) -> GroupState:
        """Let copies catch up and fall behind until the next rebalance; return the group as it finds it."""
        arrays, state = self._arrays, self.state
        if pace is not self._pace:
            arrays.restoring.pace(pace.restores, pace.writes)
            self._pace = pace
        group, generation = state.group, state.generation + 1
        revoked = {task: group.instance_of[owner] for task, owner in arrays.decision.withheld().items()}
        arrays.advance.advance(lapse.from_ms, lapse.to_ms, generation, tick, clock.at_probes)
        self._this_state.ends()
        self._owned = self._all(
            LazyHoldings(
                len(group.consumer_ids), self._this_state.made_by(arrays.copies.owned), arrays.decision.extra_copies
            ),
            arrays.stateless.owners,
        )
        self.state = GroupState(
            group=group,
            generation=generation,
            at_ms=lapse.from_ms,
            holdings=self._owned,
            copies=LazySequence(len(group.tasks), self._this_state.made_by(arrays.copies.as_copies)),
            leader=state.leader,
            revoked=MappingProxyType(revoked),
            waiting=MappingProxyType(arrays.copies.unprocessed_input()),
            memory=state.memory,
        )
        return self.state

    def probe(self, probes: Probes) -> int | None:
        """Return what :meth:`Probes.period` says of the decision."""
        return probes.period(self._arrays)

    def revoked(self) -> Mapping[int, int]:
        """Return by task the consumer that gave it up for the decision that comes."""
        return self._arrays.copies.revoked()

    def left_to_chance(self) -> tuple[set[int], set[int], set[int]]:
        """Return the tasks of which threads race, left-over state may be deleted, copies are ready at follow-ups."""
        copies, steps, advance = self._arrays.copies, self._arrays.steps, self._arrays.advance
        deletions = copies.flagged(steps.deletions) | copies.flagged(advance.deletions)
        return copies.flagged(steps.races), deletions, copies.flagged(advance.ready)

    def _all(self, stateful: LazyHoldings, owners: Owners) -> Holdings:
        return Holdings(stateful, self.state.group.stateless, owners)

    def _lazy_holdings(self, make: Callable[[], tuple[Holding, ...]], length: int | None = None) -> LazyHoldings:
        length = len(self.state.group.consumer_ids) if length is None else length
        return LazyHoldings(length, self._this_decision.made_by(make), self._arrays.decision.extra_copies)


class Probes:
    """Remembers the probes that were played on arrays, the newest of each kind (``stuck_or_cyclic.Recurrence``)."""

    def __init__(self) -> None:
        self._newest: dict[tuple[Fingerprint, bytes], tuple[int, Remaining]] = {}
        self._number = 0

    def period(self, arrays: Arrays) -> int | None:
        """Add a probe; return how many there are since the same was found and no copy has come closer, if ever."""
        self._number += 1
        found = arrays.fingerprint()
        earlier = self._newest.get(found)
        self._newest[found] = self._number, arrays.cycles.behind()
        if earlier is None or arrays.cycles.is_closer(earlier[1]):
            return None
        return self._number - earlier[0]
