"""A classic group in simulation: the engine's columns of it, and values that are made of these when they are read.

Source: page ``rules``, "From one generation to the next".
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from kstream_plan.assignors.laws import Laws
from kstream_plan.assignors.threads import thread_assignment
from kstream_plan.designs.classic.caught_up_estimate import CaughtUpEstimate, to_restore
from kstream_plan.designs.classic.stateless_tasks import StatelessTasks
from kstream_plan.engine.advance import Advance
from kstream_plan.engine.codes import BY_TIME, FAR_MS, READY, UNREADY
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.copies import Copies
from kstream_plan.engine.cycle_detection import CycleDetection, Probes
from kstream_plan.engine.decision import Decision
from kstream_plan.engine.restoring import Restoring
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.engine.step_writer import FIELDS, REASONS, StepWriter
from kstream_plan.engine.task_movement import TaskMovement
from kstream_plan.model import (
    LATEST,
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
    Target,
    no_owners,
)
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Balance
from kstream_plan.plans.balance import RunningBalance
from kstream_plan.plans.design import Interval
from kstream_plan.plans.replay import HoldingsLog, Outcome
from kstream_plan.plans.restoring import Paces
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import CODES, NO_LAG, Rows, StepMaker, row_type
from kstream_plan.plans.steps import ReasonCode
from kstream_plan.protocols import Protocol, Transition

T = TypeVar("T")

#: By the engine's number of a reason that of its code.
_REASONS = np.array([CODES.index(ReasonCode(reason)) for reason in REASONS], np.int8)


class Columns:
    """The parts of the engine that simulate one group; a draft.

    Args:
        group: who takes part.
        target: what its assignor leads to; ``None``: another assignor than the engine's decides.
        config: the application's settings.
        cleaner: what deletes left-over state.
        laws: what the release that runs decides otherwise than the newest.
        protocol: how members rebalance.
        standbys: how many of a task another assignor may place, as warm-ups beside as many.
    """

    def __init__(
        self,
        group: Group,
        target: Target | None,
        config: AssignmentConfig,
        cleaner: StateCleaner,
        laws: Laws,
        protocol: Protocol,
        *,
        standbys: int = 1,
    ) -> None:
        no_tasks = ((),) * len(group.instances)
        self.is_engine, self.standbys = target is not None, standbys
        self.copies = Copies(group, config.acceptable_recovery_lag, cleaner)
        self.decision = Decision(
            self.copies,
            group,
            TaskMovement(
                group,
                target or Target(no_tasks, no_tasks),
                config.acceptable_recovery_lag,
                config.max_warmup_replicas,
                in_heap_order=laws.in_heap_order,
                caught_up_only=laws.caught_up_only,
                standbys=standbys,
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

    def adopt(self, group: Group, assignment: Assignment, owners: Owners) -> None:
        """Take over what another assignor decided, and withhold what its owner has to give up first.

        ``owners`` are those of the stateless tasks until then.
        """
        place_of = {task: place for place, task in enumerate(group.stateful)}
        slots, width = self.standbys + 1, 2 * (self.standbys + 1)
        seats = array("i", [NOBODY]) * max(1, len(place_of) * width)
        for consumer, holding in enumerate(Holdings.of(group, assignment.consumers).stateful):
            for task in holding.active:
                seats[place_of[task] * width] = consumer
            for first, tasks in ((1, holding.standby + holding.temporary), (slots, holding.warmup)):
                for task in tasks:
                    seat = place_of[task] * width + first
                    while seats[seat] >= 0:
                        seat += 1
                    seats[seat] = consumer
        self.decision.adopt(seats, assignment.movements.numbers)
        self.stateless.adopt(assignment)
        self.stateless.withhold(self.decision, owners)


def seats_of(group: Group, assignment: Assignment) -> int:
    """Return how many standbys, or warm-ups, or standbys on their way, an assignor places of a task, at least 1."""
    most = 1
    for roles in ((1, 3), (2,)):
        number = [0] * len(group.tasks)
        for holding in Holdings.of(group, assignment.consumers).stateful:
            for role in roles:
                for task in holding[role]:
                    number[task] += 1
        most = max([most, *number])
    standby_movements = [0] * len(group.tasks)
    for movement in assignment.movements:
        standby_movements[movement.task] += movement.kind == "standby"
    return max([most, *standby_movements])


class DecidedRebalance(NamedTuple):
    """A decision, what members then hold, and the steps to it."""

    assignment: Assignment
    transition: Transition
    steps: RoundSteps | tuple[()]
    queued_tasks: int
    warms_up: bool
    starts_any: bool


class Stage:
    """A decision or a state in columns: holdings, copies and movements are made from these while it lasts.

    It does not refer to the columns, so that values that were never made do not keep them in a cycle.
    """

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = 0

    def ends(self) -> None:
        """Begin with the next one."""
        self._number += 1

    def made_by(self, make: Callable[[], T]) -> Callable[[], T]:
        """Return a function that calls ``make`` while this stage lasts, and fails later."""
        return partial(self._make_if_current, make, self._number)

    def _make_if_current(self, make: Callable[[], T], number: int) -> T:
        if self._number != number:
            raise RuntimeError("the group has gone on since")
        return make()


def _outcome_of(decision: Decision) -> Outcome:
    return Outcome(decision.decided_by(False), decision.held_after())


class SimulatedGroup:
    """A stretch of rounds of one group with the same members and settings; a draft that a coordinator keeps.

    ``state`` is the group as the next decision finds it. Values of a decision can be made of the columns until the next
    one, those of a state until time goes on.
    """

    def __init__(self, columns: Columns, state: GroupState, revoked_by: Mapping[int, int]) -> None:
        """``revoked_by``: which consumer the last assignment made give up each task."""
        self.state, self.columns = state, columns
        columns.copies.load_state(state, revoked_by)
        self._owned = Holdings.of(state.group, state.holdings)
        self._running = RunningBalance(state.group, columns.decision.spread)
        self._balanced_owners = no_owners(state.group)
        self._this_decision, self._this_state = Stage(), Stage()
        self._paces = Paces(state.group, state.group.stateful)
        self._log = self._new_log()

    def _new_log(self) -> HoldingsLog:
        initial = tuple(self._owned.stateful)
        return HoldingsLog(self.state.group, initial, partial(_outcome_of, self.columns.decision))

    def decide(
        self,
        maker: StepMaker,
        at_ms: int,
        *,
        target: Target,
        short_standbys: tuple[tuple[int, int], ...],
        times_alone: bool,
    ) -> DecidedRebalance:
        """Decide by the engine, and withhold what its owner has to give up first.

        ``maker`` has no other limit for reasons than that of the settings. ``times_alone``: no steps are recorded.
        """
        columns = self.columns
        columns.decision.decide()
        columns.stateless.deal(columns.decision)
        columns.stateless.withhold(columns.decision, self._owned.owners)
        self._this_decision.ends()
        movement, shares = columns.decision.movement, columns.stateless.shares
        steps, decided_holdings, next_holdings = self._steps_and_holdings(maker, at_ms, times_alone=times_alone)
        instances = self._lazy_holdings(partial(columns.decision.decided_by, True), len(self.state.group.instances))
        assignment = Assignment(
            instances=self._with_stateless(instances, shares.instances),
            consumers=self._with_stateless(decided_holdings, shares.consumers),
            probing_rebalance=movement.movements > 0,
            target=target,
            movements=Movements(movement.movements, self._this_decision.made_by(movement.movement_numbers)),
            short_standbys=short_standbys,
        )
        return self._decided_rebalance(assignment, steps, decided_holdings, next_holdings)

    def adopt(self, maker: StepMaker, at_ms: int, assignment: Assignment, *, times_alone: bool) -> DecidedRebalance:
        """Take over what another assignor decided; arguments as of :meth:`decide`."""
        self.columns.adopt(self.state.group, assignment, self._owned.owners)
        self._this_decision.ends()
        return self._decided_rebalance(assignment, *self._steps_and_holdings(maker, at_ms, times_alone=times_alone))

    def _steps_and_holdings(
        self, maker: StepMaker, at_ms: int, *, times_alone: bool
    ) -> tuple[RoundSteps | tuple[()], LazyHoldings, LazyHoldings]:
        """Return the steps, and the stateful tasks that each consumer is to hold and then holds."""
        decision, writer = self.columns.decision, self.columns.steps
        if times_alone:
            decided_by_consumer = partial(decision.decided_by, False)
            return (), self._lazy_holdings(decided_by_consumer), self._lazy_holdings(decision.held_after)
        writer.write(self._counted_ms(at_ms))
        steps, warm_ups = RoundSteps(maker, self._rows()), decision.warmup_copies
        decided_holdings, next_holdings = self._log.add(
            steps, warmups=warm_ups, temporary=decision.extra_copies - warm_ups
        )
        if decided_holdings.number == 0:
            self._log.outcome(0)  # what follows is known without replaying a round in which members come and go
        return steps, decided_holdings, next_holdings

    def _decided_rebalance(
        self,
        assignment: Assignment,
        steps: RoundSteps | tuple[()],
        decided_holdings: LazyHoldings,
        next_holdings: LazyHoldings,
    ) -> DecidedRebalance:
        decision, stateless = self.columns.decision, self.columns.stateless
        return DecidedRebalance(
            assignment=assignment,
            transition=Transition(
                previous_holdings=self._owned,
                decided_holdings=self._with_stateless(decided_holdings, stateless.shares.consumers),
                holdings=self._with_stateless(next_holdings, stateless.owners),
                revoking_consumers=frozenset(decision.revoking_consumers()),
                waiting_consumers=frozenset(decision.waiting_consumers()),
            ),
            steps=steps,
            queued_tasks=decision.movement.n_queued,
            warms_up=decision.warmup_copies > 0,
            starts_any=bool(steps) and self.columns.steps.starts_any,
        )

    def _rows(self) -> Rows:
        """Return the steps of the last decision."""
        steps = self.columns.steps.steps()
        rows: Rows = np.zeros(len(steps), row_type())
        for number, name in enumerate(FIELDS):
            rows[name] = steps[:, number]
        rows["reason"] = _REASONS[rows["reason"]]
        rows["limit"] = rows["lag"] != NO_LAG
        return rows

    def balance(self) -> Balance:
        """Count how evenly the last decision spreads the load."""
        instances = self.columns.stateless.shares.instances
        if instances is not self._balanced_owners:
            self._running.deal(self._balanced_owners, instances)
            self._balanced_owners = instances
        return self._running.balance()

    def go_on(
        self, interval: Interval, *, tick: bool, at_probes: bool, readiness: CaughtUpEstimate | None = None
    ) -> GroupState:
        """Let copies catch up and fall behind until the next rebalance; return the group as it finds it.

        Args:
            interval: the time until then; what was decided counts for nothing if it is idle.
            tick: it is long enough for every copy to be caught up if no restore rate says otherwise: the next rebalance
                is a probing one, or comes no earlier than one would. A follow-up never is; unless only those
                ``at_probes`` are told, it finds caught up what was placed two or more generations before, and running
                what is active.
            at_probes: nor does one then find anything restored that was placed in the generation before, at whatever
                rate.
            readiness: it is the first one of a plan; of copies whose restore rate is unknown this tells, instead of the
                length of the time, whether they are caught up at its end. Copies may have been reported within it.
        """
        columns, state, group = self.columns, self.state, self.state.group
        if interval.to_ms - columns.copies.begin_ms >= FAR_MS // 2:
            columns.copies.count_from(interval.from_ms)
        generation, from_ms, to_ms = state.generation + 1, *map(self._counted_ms, (interval.from_ms, interval.to_ms))
        columns.advance.begin(from_ms, to_ms, generation, tick, at_probes, interval.idle)
        later_ms = {} if readiness is None else readiness.reported_in()
        columns.restoring.take(self._paces.stretches(interval.spans, later_ms.values()))
        columns.restoring.press()
        if readiness is not None:
            columns.advance.let_rest()
            self._know(readiness, later_ms)
        columns.advance.advance()
        self._this_state.ends()
        revoking_instance_by_task: dict[int, int] = {}
        if interval.idle:
            generation = state.generation
        else:
            revoking_instance_by_task = {
                task: group.instance_of[owner] for task, owner in columns.decision.withheld_tasks().items()
            }
            extra_copies, owned = columns.decision.extra_copies, self._this_state.made_by(columns.copies.owned)
            owned_stateful = LazyHoldings(len(group.consumer_ids), owned, extra_copies)
            self._owned = self._with_stateless(owned_stateful, columns.stateless.owners)
        self.state = GroupState(
            group=group,
            generation=generation,
            at_ms=interval.from_ms,
            holdings=self._owned,
            copies=LazySequence(len(group.tasks), self._this_state.made_by(columns.copies.as_copies)),
            leader=state.leader,
            revoked=MappingProxyType(revoking_instance_by_task),
            waiting=MappingProxyType(columns.copies.unprocessed_input()),
            memory=state.memory,
        )
        if not columns.is_engine:
            self.state = self.state.with_unsettled(columns.copies.unsettled_tasks())
            tuple(self.state.copies), tuple(self.state.holdings)  # the assignor compares these with what comes next
        if interval.idle:
            self._log = self._new_log()
        return self.state

    def _counted_ms(self, at_ms: int) -> int:
        """Return a time of the plan as the columns count it."""
        return min(at_ms - self.columns.copies.begin_ms, FAR_MS)

    def _know(self, readiness: CaughtUpEstimate, later_ms: Mapping[tuple[int, int], int]) -> None:
        """Tell the engine which copies count as caught up at the first decision, and where time decides."""
        columns, group = self.columns, self.state.group
        copies, room = columns.copies.as_copies(), columns.copies.room
        on_instance = to_restore(copies)
        codes, reported_at_end = zeros("b", columns.copies.tasks * room), zeros("b", columns.copies.tasks * room)
        reported_in = zeros("q", columns.copies.tasks * room)
        did_not_run = {
            (task, copy.instance)
            for task in group.stateful
            for copy in self.state.copies[task]
            if copy.consumer is not None and not copy.active
        }
        for place, task in enumerate(group.stateful):
            for slot, copy in enumerate(copies[task] if not columns.copies.rests[place] else (), place * room):
                reported_in[slot] = later_ms.get((task, copy.instance), 0)
                reported_at_end[slot] = readiness.is_reported_at_the_end(task, copy)
                if copy.consumer is None or copy.lag == LATEST:
                    continue
                if columns.restoring.is_known(slot) and readiness.rate_decides(task, copy):
                    codes[slot] = BY_TIME
                    continue
                promoted = copy.active and (task, copy.instance) in did_not_run
                ready = readiness.counts_as_caught_up(group, task, copy, on_instance, just_promoted=promoted)
                codes[slot] = READY if ready else UNREADY
        columns.advance.know(codes, reported_at_end)
        if later_ms:
            columns.restoring.report_later(reported_in)

    def probe(self, probes: Probes) -> int | None:
        """Return what :meth:`Probes.period` says of the decision."""
        return probes.period(self.columns.cycles, self.columns.stateless.fingerprint())

    def revoked_by(self) -> Mapping[int, int]:
        """Return the consumer that gave up each task for the next decision."""
        return self.columns.copies.revoked_tasks()

    def left_to_chance_now(self) -> tuple[set[int], set[int]]:
        """Return the tasks of the last decision whose threads race, and whose left-over state may be deleted."""
        copies, steps = self.columns.copies, self.columns.steps
        return copies.flagged(steps.races), copies.flagged(steps.deletions)

    def left_to_chance(self) -> tuple[set[int], set[int]]:
        """Return the tasks whose left-over state may be deleted, or whose copies are ready at follow-ups, so far."""
        copies, advance = self.columns.copies, self.columns.advance
        return copies.flagged(advance.deletions), copies.flagged(advance.ready)

    def _with_stateless(self, stateful: Sequence[Holding], owners: Owners) -> Holdings:
        return Holdings(stateful, self.state.group.stateless, owners)

    def _lazy_holdings(self, make: Callable[[], tuple[Holding, ...]], length: int | None = None) -> LazyHoldings:
        length = len(self.state.group.consumer_ids) if length is None else length
        return LazyHoldings(length, self._this_decision.made_by(make), self.columns.decision.extra_copies)
