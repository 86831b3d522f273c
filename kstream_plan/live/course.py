"""A plan and how far the group has come: what came as planned, what is due, when it ends.

Where rebalances are not recorded, in streams groups and Connect by its REST interface, that goes by where tasks run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from kstream_plan.comparison.decisions import decision_by_member, differences, names_of_newcomers, recorded_decision
from kstream_plan.comparison.plan_and_history import said_and_happened
from kstream_plan.comparison.prediction import Recorded, SaidAndHappened, TaskDifference
from kstream_plan.documents.prediction import recorded_since
from kstream_plan.live.conditions import Question, copies_to_catch_up, has_settled
from kstream_plan.model import UNKNOWN, Rates, Snapshot, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.ranking import is_caught_up, reported_lag
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan, Trigger
from kstream_plan.simulation.asked_moment import asked_moment
from kstream_plan.simulation.one_plan import plan as plan_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.fields import Row, parse_time

#: What the group does of itself; everything else happens to it.
_OF_ITSELF = (Trigger.PROBING, Trigger.FOLLOW_UP)
#: What is planned to happen to a group whose rebalances are not recorded.
_OUTSIDE = (Trigger.JOIN, Trigger.LEAVE, Trigger.MEMBER_RESTART, Trigger.CONFIG_CHANGE)


class Stage(StrEnum):
    """Where a group stands that is followed."""

    GOES_ON = "goes-on"
    AS_PLANNED = "as-planned"
    OTHERWISE = "otherwise"
    DOES_NOT_SETTLE = "does-not-settle"


class RestoringCopy(NamedTuple):
    """A copy that has not caught up.

    task_id: its task.
    process_id: its instance.
    lag: how many records it was behind when it was last measured or reported; ``None``: unknown.
    most: how many it was behind at most since it is followed.
    """

    task_id: WorkId
    process_id: str
    lag: int | None
    most: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How far a group has come.

    Attributes:
        plan: what was planned.
        at_ms: the moment, in milliseconds since 1970.
        snapshot: the group as it is.
        comparison: what came as planned and what did not; ``None``: nothing has come yet.
        rest: what follows from the newest decision, planned again; ``None``: it has settled.
        next_ms: when the next rebalance is due, since 1970; ``None``: none is, or that is unknown.
        ends_ms: when the group is expected to have settled, since 1970; ``None``: unknown.
        restoring: the copies that have not caught up, in task order.
        stage: where it stands.
        doubts: why it is unknown whether it has settled; none: it is known, or a rebalance is due.
        misplaced_tasks: where no rebalances are recorded, the tasks that run elsewhere than at the plan's end, once
            it has its members.
    """

    plan: Plan
    at_ms: int
    snapshot: Snapshot
    comparison: SaidAndHappened | None
    rest: Plan | None
    next_ms: int | None
    ends_ms: int | None
    restoring: tuple[RestoringCopy, ...]
    stage: Stage
    doubts: tuple[str, ...] = ()
    misplaced_tasks: tuple[TaskDifference, ...] = ()

    @property
    def is_recorded(self) -> bool:
        """Whether rebalances of such a group are recorded, so that each can be compared with the plan."""
        return self.snapshot.group_protocol == "classic"

    @property
    def late_ms(self) -> int | None:
        """How much later than planned the newest rebalance came; below 0: earlier; ``None``: none came."""
        pairs = () if self.comparison is None else self.comparison.recorded_pairs
        return pairs[-1].late_ms if pairs else None

    @property
    def due(self) -> Sequence[int]:
        """The planned rebalances that have not come, by number."""
        last_number = (
            0 if self.comparison is None else max((pair.number for pair in self.comparison.recorded_pairs), default=0)
        )
        return [rnd.number for rnd in self.plan.rounds[last_number:]]


class Follower:
    """Follows one group; the only thing here that changes.

    Args:
        plan: what was planned; ``None``: what follows from the first snapshot.
        options: how the rest is simulated.
    """

    def __init__(self, plan: Plan | None, options: PlanOptions = PlanOptions()) -> None:
        self._plan = plan
        self._options = options
        self._recorded: list[Recorded] = []
        self._comparison: SaidAndHappened | None = None
        self._rest: Plan | None = None
        self._rest_from_ms = 0
        self._rest_basis: object = None
        self._changed_ms: int | None = None
        self._most: dict[tuple[WorkId, str], int] = {}

    @property
    def since_ms(self) -> int | None:
        """Since when generations are needed, since 1970; ``None``: only the newest."""
        if self._recorded:
            return self._recorded[-1].at_ms
        if self._plan is None or self._plan.captured_at is None:
            return None
        return parse_time(self._plan.captured_at)

    def take(self, snapshot: Snapshot, rows: Sequence[Row], now_ms: int) -> Course:
        """Add a snapshot of the group and the generations since ``since_ms``; return how far it has come.

        Raises:
            SnapshotError: a row breaks the contract.
        """
        if self._plan is None:
            self._plan = plan_checked(snapshot, replace(self._options, now_ms=None))
        new = recorded_since(self._plan, rows, self._recorded[-1].at_ms if self._recorded else None)
        if new:
            self._recorded += new
            self._comparison = said_and_happened(self._plan, self._recorded, whole=True)
        rest_basis = snapshot.decision, snapshot.state.holdings, snapshot.config
        if new or self._rest_basis != rest_basis:
            self._rest_basis = rest_basis
            self._rest, self._rest_from_ms = self._planned_anew(snapshot, now_ms), now_ms
        options, next_ms = replace(self._options, now_ms=now_ms), self._next_ms(snapshot)
        doubts = self._doubts(snapshot, options) if self._rest is None or (next_ms or 0) < now_ms else ()
        is_recorded = snapshot.group_protocol == "classic"
        misplaced_tasks = None if is_recorded else differs_from_end(self._plan, snapshot)
        return Course(
            plan=self._plan,
            at_ms=now_ms,
            snapshot=snapshot,
            comparison=self._comparison,
            rest=self._rest,
            next_ms=next_ms,
            ends_ms=self._ends_ms(),
            restoring=self._restoring(snapshot),
            stage=self._stage(snapshot, doubts)
            if is_recorded
            else self._stage_by_placement(snapshot, misplaced_tasks, options),
            doubts=doubts,
            misplaced_tasks=misplaced_tasks or (),
        )

    def _planned_anew(self, snapshot: Snapshot, now_ms: int) -> Plan | None:
        """Return the plan that follows from the newest decision, at the plan's rates; ``None``: nothing follows."""
        assert self._plan is not None
        snapshot = replace(snapshot, rates=_rates(snapshot.rates, self._plan))
        rest = plan_of(snapshot, replace(self._options, now_ms=now_ms, floor=False, ranges=False))
        is_over = not rest.rounds or (snapshot.decision is not None and rest.rounds[0].trigger is Trigger.MANUAL)
        return None if is_over else rest

    def _doubts(self, snapshot: Snapshot, options: PlanOptions) -> tuple[str, ...]:
        """Return why it is unknown whether the group has settled; none while it waits for what is to happen to it."""
        if self._awaits_event():
            return ()
        return tuple(dict.fromkeys(note.message for note in asked_moment(snapshot, options, ()).doubts))

    def _restoring(self, snapshot: Snapshot) -> tuple[RestoringCopy, ...]:
        group, limit = snapshot.state.group, snapshot.config.acceptable_recovery_lag
        copies = list[RestoringCopy]()
        for task, instance in copies_to_catch_up(snapshot):
            lag = reported_lag(snapshot, task, instance)
            if lag is not None and is_caught_up(lag, limit) and (task, instance) not in snapshot.least_lags:
                continue
            if lag == UNKNOWN or (lag is not None and is_caught_up(lag, limit)):
                lag = None
            seat = group.tasks[task].task_id, group.instances[instance].process_id
            if lag is not None:
                self._most[seat] = max(lag, self._most.get(seat, 0))
            copies.append(RestoringCopy(*seat, lag, self._most.get(seat)))
        restoring_seats = {(copy.task_id, copy.process_id) for copy in copies}
        self._most = {seat: most for seat, most in self._most.items() if seat in restoring_seats}
        return tuple(copies)

    def _next_ms(self, snapshot: Snapshot) -> int | None:
        """Return when the next rebalance is due: as the leader said, else as it follows from here."""
        decision, taken_ms = snapshot.decision, snapshot.captured_at_ms
        if decision is not None and decision.next_ms is not None and taken_ms is not None:
            return taken_ms + decision.next_ms
        return None if self._rest is None else self._rest_from_ms + self._rest.rounds[0].at_ms

    def _ends_ms(self) -> int | None:
        """Return when it ends: by the plan while all comes as planned, else by what follows from here."""
        plan, comparison = self._plan, self._comparison
        if plan is not None and plan.rounds and comparison is not None and comparison.ends_early:
            late_ms = (comparison.recorded_pairs[-1].late_ms or 0) if comparison.recorded_pairs else 0
            return comparison.starts_ms + plan.rounds[-1].ends_ms + late_ms
        if self._rest is not None and self._rest.verdict.kind == "settled":
            return self._rest_from_ms + self._rest.rounds[-1].ends_ms
        return None

    def _stage(self, snapshot: Snapshot, doubts: Sequence[str]) -> Stage:
        """Return where the group stands: it has settled once it is proven that nothing is due of itself."""
        plan, comparison = self._plan, self._comparison
        assert plan is not None
        if self._rest is not None or snapshot.decision is None or doubts:
            is_stuck = self._rest is not None and self._rest.verdict.kind not in ("settled", "unfinished")
            rebalance_count = 0 if comparison is None else len(comparison.recorded_pairs)
            return Stage.DOES_NOT_SETTLE if is_stuck and rebalance_count >= len(plan.rounds) else Stage.GOES_ON
        if self._awaits_event():
            return Stage.GOES_ON
        is_as_planned = not plan.rounds if comparison is None else comparison.alike
        return Stage.AS_PLANNED if is_as_planned else Stage.OTHERWISE

    def _awaits_event(self) -> bool:
        """Return whether the next planned event from outside has not happened yet."""
        plan, comparison = self._plan, self._comparison
        assert plan is not None
        last_number = 0 if comparison is None else max((pair.number for pair in comparison.recorded_pairs), default=0)
        ahead = plan.rounds[last_number:]
        return bool(ahead) and ahead[0].trigger not in _OF_ITSELF

    def _may_await_event(self, snapshot: Snapshot, now_ms: int) -> bool:
        """Tell whether what is planned may not have happened: all of it has so long after the first change."""
        assert self._plan is not None
        planned_ms = [rnd.at_ms for rnd in self._plan.rounds if rnd.trigger in _OUTSIDE]
        if not planned_ms:
            return False
        if self._changed_ms is None and differs_from_beginning(self._plan, snapshot):
            self._changed_ms = now_ms
        return self._changed_ms is None or now_ms < self._changed_ms + planned_ms[-1] - planned_ms[0]

    def _stage_by_placement(
        self, snapshot: Snapshot, misplaced_tasks: Sequence[TaskDifference] | None, options: PlanOptions
    ) -> Stage:
        """Return the stage of a group without recorded rebalances: it has settled once that is proven."""
        awaits_event = self._may_await_event(snapshot, options.now_ms or 0)
        if self._rest is not None and self._rest.verdict.kind not in ("settled", "unfinished"):
            return Stage.DOES_NOT_SETTLE
        question = Question((), 0, options)
        if misplaced_tasks is None or awaits_event or has_settled(snapshot, question).answer is not Answer.YES:
            return Stage.GOES_ON
        return Stage.OTHERWISE if misplaced_tasks else Stage.AS_PLANNED


def _rates(measured_rates: Rates, plan: Plan) -> Rates:
    """Return the measured rates, completed by those of the plan."""
    restore, produce = plan.rates
    if restore is not None and not measured_rates.any_restore:
        measured_rates = replace(measured_rates, restore_per_instance=restore.median)
    if produce is not None and not measured_rates.any_produce:
        measured_rates = replace(measured_rates, produce_per_task=produce.median)
    return measured_rates


class MovedTask(NamedTuple):
    """A task that runs elsewhere than at the previous poll.

    task_id: the task.
    source: process id of the instance that ran it; ``None``: none did.
    destination: process id of the instance that runs it; ``None``: none does.
    """

    task_id: WorkId
    source: str | None
    destination: str | None


def moved_tasks(previous: Snapshot, snapshot: Snapshot) -> Iterator[MovedTask]:
    """Yield the tasks that run elsewhere than before, in task order."""
    owners, owners_before = _owners(snapshot), _owners(previous)
    for task_id in sorted(owners.keys() | owners_before.keys(), key=lambda work_id: work_id.sort_key):
        if owners.get(task_id) != owners_before.get(task_id):
            yield MovedTask(task_id, owners_before.get(task_id), owners.get(task_id))


def _owners(snapshot: Snapshot) -> dict[WorkId, str]:
    group = snapshot.state.group
    return {
        group.tasks[task].task_id: group.instances[group.instance_of[consumer]].process_id
        for consumer, holding in enumerate(snapshot.state.holdings)
        for task in holding.active
    }


def differs_from_beginning(plan: Plan, snapshot: Snapshot) -> bool:
    """Tell whether anything has happened to a group since its plan was made: its members, tasks or epoch changed."""
    group, holdings = plan.group, plan.initial
    owners = {
        group.tasks[task].task_id: group.instances[group.instance_of[consumer]].process_id
        for consumer, holding in enumerate(holdings)
        for task in holding.active
    }
    is_later = snapshot.group_protocol == "streams" and snapshot.state.generation > plan.generation
    return is_later or {*plan.first_members} != {*snapshot.state.group.instance_index} or owners != _owners(snapshot)


def differs_from_end(plan: Plan, snapshot: Snapshot) -> tuple[TaskDifference, ...] | None:
    """Return the tasks that run elsewhere than at the end of a plan; ``None``: the members differ."""
    recorded = Recorded.from_holdings(snapshot, at_ms=0)
    names = names_of_newcomers(plan, [recorded])
    members = {names.get(process_id, process_id) for process_id in snapshot.state.group.instance_index}
    if members != {name for name, _ in plan.members}:
        return None
    final_decision = decision_by_member(plan.group, plan.final, sorted(members))
    misplaced_tasks = differences(plan.group, final_decision, recorded_decision(recorded, names))
    return tuple(task for task in misplaced_tasks if task.said.active != task.seen.active)
