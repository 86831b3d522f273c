"""May these instances stop? Which of their tasks would start cold, which pause, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, Unpack

from kstream_plan.errors import UsageError
from kstream_plan.model import LATEST, Holding, Note, Snapshot, WorkId
from kstream_plan.model.answer import Answer, worst_of
from kstream_plan.model.not_modelled import LEAVES_ON_CLOSE
from kstream_plan.model.ranking import is_caught_up, reported_lag
from kstream_plan.model.scenario import Leave, Scenario, Stop
from kstream_plan.model.times import format_time
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.planner.plan import OnRound
from kstream_plan.planner.ranges import VariantRun, noticed_otherwise
from kstream_plan.planner.restores import NOTABLE_MS, restores_below_lag
from kstream_plan.plans import HandOver, MemberLeft, Place, Plan, Promote
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart
from kstream_plan.plans.note_codes import LEFT_OVER_CLEANUP
from kstream_plan.plans.plan import INPUT_BEHIND, MAYBE_READY, MAYBE_RESTORING, RESTORES_WITHIN_LIMIT
from kstream_plan.plans.restore_times import cold_restoring_ms
from kstream_plan.simulation.asked_moment import AskedMoment, asked_moment
from kstream_plan.simulation.drain_doubts import doubts_of, heard_at, rests_on
from kstream_plan.simulation.effects_on_others import Aftermath, aftermath, held_before
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import design_of, plan_checked, request_of

#: How many rounds of a plan are simulated at first to see what becomes of the tasks; all if these do not tell.
_SOON = (16, 128)
#: With fewer tasks times instances all rounds are simulated at once.
_SMALL = 2_000
#: Why starts may be warm that are cold at other times of heartbeats, or if left-over state is deleted early.
_AT_OTHER_TIMES = Evidence(
    known=Known.UNKNOWN,
    fact=Fact.HEARTBEATS,
    words="it has caught up by then if heartbeats and the order of members are as assumed, else it may not have",
)
_DELETED = Evidence(
    known=Known.UNKNOWN,
    fact=Fact.LEFT_OVER,
    words="if state.cleanup.delay.ms has deleted left-over state by then, it starts cold or restores first",
)
#: What an instance has of a task: no copy, left-over state, or a copy that it is assigned.
CopyThere: TypeAlias = Literal["none", "left-over", "assigned"]


class DrainedTask(NamedTuple):
    """What becomes of a task that a stopped instance ran.

    ``destination`` is the process id of the instance that starts it first; ``pause_ms`` how long it is paused, with the
    ``restores_ms`` before it runs if known: else ``pause_is`` a floor. ``restore_records`` is ``None`` if the end
    offset is not known; ``restore_is`` is a floor where only a lower bound of
    that copy's lag is. ``copy_there``: what its instance has of it just before: no copy, left-over state, or a copy
    that it was assigned.
    """

    task_id: WorkId
    stateful: bool
    destination: str
    pause_ms: int
    pause_is: Literal["floor", "estimate"]
    caught_up: bool
    restore_records: int | None
    restore_is: Literal["floor", "estimate"] = "estimate"
    copy_there: CopyThere = "none"
    restores_ms: int = 0


#: The codes of a plan's warnings that are about more than the tasks that stop.
_OF_ALL_TASKS = (MAYBE_RESTORING, INPUT_BEHIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainNow:
    """The answer for instances that stop at once.

    ``now`` is in task order. If it is unknown whether copies have caught up by now, ``now`` is if they have not, and
    ``at_best`` if they have. ``plan`` is what follows, until it shows what becomes of the tasks. ``warnings`` are about
    the snapshot and what may not run now, ``doubts`` why ``now`` may be colder than it says: with any, it is not proven
    warm. ``reported_at`` and ``measured_at`` are the first and the last time of the lags of copies that were reported
    at joins, and of those that were measured, where that is known. ``rests_on`` tells what is taken for
    granted of copies that were behind in their last report and count as caught up. ``nothing_reported``: it is a
    streams group, and no member has reported any lag. ``unproven`` are the starts, of others' tasks as well,
    that count as warm at best, and nothing proves that they are; ``not_seen`` are the tasks that ran there and had not
    started anywhere where the plan was cut off. ``heard_at`` tells when copies of ``unproven`` were last reported.
    ``time`` is the moment that is asked of, RFC 3339 (``None``: not known), ``at_ms`` the same on the clock of the
    plan, which simulates what was due before it; ``moment_doubts`` tell why the group may be another one by then.
    """

    plan: Plan
    process_ids: tuple[str, ...]
    now: tuple[DrainedTask, ...]
    at_best: tuple[DrainedTask, ...]
    warnings: tuple[Note, ...]
    doubts: tuple[Note, ...]
    rests_on: tuple[Note, ...] = ()
    reported_at: tuple[str, str] | None = None
    measured_at: tuple[str, str] | None = None
    nothing_reported: bool = False
    time: str | None = None
    at_ms: int = 0
    moment_doubts: tuple[Note, ...] = ()
    unproven: tuple[UnprovenStart, ...] = ()
    not_seen: tuple[WorkId, ...] = ()
    heard_at: Mapping[WorkId, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def answer(self) -> Answer:
        """Whether they may stop now without a cold start: NO if one is proven or likely, YES if none can be."""
        other_answers = [answer_of(start.evidence) for start in self.unproven if start.task_id not in self.answers]
        cold = [Answer.NO] if self.follows.others_cold or self.cold_again or self.restoring_later else []
        unseen = [Answer.UNKNOWN] if self.not_seen or self.moment_doubts else []
        return worst_of([*self.answers.values(), *other_answers, *cold, *unseen])

    @property
    def needs_persistent_stores(self) -> bool:
        """Whether a task starts warm only if its stores are persistent, which is unknown."""
        return any(start.evidence.fact is Fact.STORES_UNKNOWN for start in self.unproven)

    @property
    def cold_again(self) -> tuple[WorkId, ...]:
        """The tasks that ran there, start warm, and start cold where they move again."""
        warm = {task.task_id for task in self.now if task.stateful and task.caught_up}
        starts = (
            step
            for rnd in self.plan.rounds
            if rnd.at_ms >= self.at_ms
            for step in rnd.single_steps
            if isinstance(step, HandOver | Promote) and step.task_id in warm
        )
        return tuple(dict.fromkeys(step.task_id for step in starts if not step.caught_up))

    @property
    def restoring_later(self) -> tuple[str, ...]:
        """The tasks that start warm by Kafka's rule and restore for long before they run: others', or moved again."""
        at_once = {str(task.task_id) for task in self.now if task.restore_records != 0}
        return tuple(name for name in self._restoring if name not in at_once)

    @property
    def _restoring(self) -> tuple[str, ...]:
        notes = (note for note in self.doubts if note.code == RESTORES_WITHIN_LIMIT)
        return tuple(name for note in notes for name in note.subjects)

    @property
    def answers(self) -> Mapping[WorkId, Answer]:
        """Whether each of the tasks that run there starts warm elsewhere."""
        evidence = {start.task_id: start.evidence for start in self.unproven}
        cold_at_best = {task.task_id for task in self.cold_at_best}
        restoring = set(self._restoring).difference(self.restoring_later)
        answers = dict[WorkId, Answer]()
        for task in self.now:
            may_be_cold = task.task_id in cold_at_best
            if (may_be_cold and not task.caught_up) or str(task.task_id) in restoring:
                answers[task.task_id] = Answer.NO
            elif task.task_id in evidence:
                answers[task.task_id] = answer_of(evidence[task.task_id])
            else:
                answers[task.task_id] = Answer.YES if task.caught_up and not may_be_cold else Answer.UNKNOWN
        return answers

    @property
    def unknown(self) -> tuple[UnprovenStart, ...]:
        """The starts that may be warm or cold: that is unknown."""
        return tuple(start for start in self.unproven if start.evidence.known is Known.UNKNOWN)

    @property
    def cold_now(self) -> tuple[DrainedTask, ...]:
        """The tasks that would start cold now."""
        return tuple(task for task in self.now if not task.caught_up)

    @property
    def follows(self) -> Aftermath:
        """What follows for the other tasks, and for the busiest instance, as far as ``plan`` was simulated."""
        return aftermath(self.plan, self.process_ids, self.at_ms)

    @property
    def cold_at_best(self) -> tuple[DrainedTask, ...]:
        """The tasks that would start cold now if every copy whose lag is unknown has caught up."""
        return tuple(task for task in self.at_best if not task.caught_up)

    @property
    def how_many_cold(self) -> tuple[int, int]:
        """How many tasks would start cold now: those that do by all that is known, and those that may."""
        surely = {start.task_id for start in self.unproven if start.evidence.known is Known.BEHIND}
        surely |= {task.task_id for task in self.cold_at_best} & {task.task_id for task in self.cold_now}
        return sum(task.task_id in surely for task in self.now), sum(
            answer is not Answer.YES for answer in self.answers.values()
        )


def answer_of(evidence: Evidence) -> Answer:
    """Return whether a task starts warm from a copy with this evidence."""
    return {Known.CAUGHT_UP: Answer.YES, Known.BEHIND: Answer.NO, Known.UNKNOWN: Answer.UNKNOWN}[evidence.known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain(DrainNow):
    """The answer for instances that stop at once, and for the same after waiting until everything has settled.

    ``waiting_plan`` is what goes on meanwhile, ``wait_ms`` how long that is: ``None`` if nothing is under way (then
    ``later`` is empty, for waiting changes nothing) or if the group does not settle. ``later`` is in task order, and
    ``later_plan`` shows it (``None``: no plan does). ``restoring_after`` are all tasks, others' as well, that
    start cold in it from then on, or restore for long before they run.
    ``announced``: instead, they say now that they leave, and may stop when others have learned their tasks.
    """

    waiting_plan: Plan
    wait_ms: int | None
    later: tuple[DrainedTask, ...]
    later_plan: Plan | None = None
    restoring_after: tuple[WorkId, ...] = ()
    announced: bool = False

    @property
    def answer_later(self) -> Answer | None:
        """Whether they may stop after waiting, if copies have caught up by then; ``None``: waiting changes nothing."""
        if self.later_plan is None or self.wait_ms is None:
            return None
        from_ms = self.at_ms if self.announced else self.at_ms + self.wait_ms
        not_seen = _tasks_run_by(self.later_plan, self.process_ids, from_ms) - {task.task_id for task in self.later}
        return worst_of([Answer.NO] * bool(self.restoring_after) + [Answer.UNKNOWN] * bool(not_seen))

    @property
    def needs_persistent_stores_later(self) -> bool:
        """Whether a task is warm after waiting only if its stores are persistent, which is unknown."""
        starts = _first_unproven(self.later_plan, self.later).values() if self.later_plan else ()
        return any(start.evidence.fact is Fact.STORES_UNKNOWN for start in starts)

    @property
    def needs_left_over_state_later(self) -> bool:
        """Whether what happens after waiting depends on state that is left over, and may be deleted by then."""
        return self.later_plan is not None and _may_be_deleted(self.later_plan)

    @property
    def cold_later(self) -> tuple[DrainedTask, ...]:
        """The tasks that would start cold after waiting."""
        return tuple(task for task in self.later if not task.caught_up)


def drain(
    snapshot: Snapshot,
    names: Sequence[str],
    options: PlanOptions = PlanOptions(),
    *,
    leave: bool = False,
    on_round: OnRound | None = None,
    on_now: Callable[[DrainNow], None] = lambda _now: None,
    **keywords: Unpack[PlanKeywords],
) -> Drain:
    """Simulate that the instances of these names stop (``leave``: leave the group cleanly).

    The ``options`` may be given one by one as well. ``on_round`` gets the progress of each plan that this takes,
    ``on_now`` the answer for now, which comes long before that for later.

    Raises:
        UsageError: it is a Connect group, which :func:`~kstream_plan.simulation.drain_workers.drain_workers` is for.
        ScenarioError: there is no such instance, or none would be left.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    if snapshot.group_protocol == "connect":
        message = "is a Connect group: what its workers run is neither cold nor warm"
        raise UsageError(message, where=snapshot.state.group.application_id, fix="ask drain_workers")
    options = replace(options, **keywords)
    group = snapshot.state.group
    process_ids = tuple(dict.fromkeys(process_id_of(group, name) for name in names))
    if leave:
        warnings = tuple(note for note in snapshot.warnings if note.code != LEAVES_ON_CLOSE)
        snapshot = replace(snapshot, warnings=warnings)
    moment = asked_moment(snapshot, options, process_ids)
    options = replace(moment.options, closes_wait=False)  # it is asked who stops at that very moment

    stop = _Stop(snapshot, options, process_ids, leave, on_round)
    stopped_now = partial(stop.simulate_at, moment.at_ms, ready="none")
    outcome, now = stopped_now()
    unknown = any(note.code == MAYBE_READY for note in outcome.assumptions)
    best, at_best = stopped_now(ready="all") if unknown else (outcome, now)
    at_once = _at_once(snapshot, (outcome, best), process_ids, now, at_best, moment)
    for slower_snapshot in _at_rates_of_one_thread(snapshot):
        at_once = _with_slower(at_once, slower_snapshot, *stopped_now(snapshot=slower_snapshot))
    other_plans = _decided_otherwise(snapshot, replace(options, ready="none"), stop.scenario(moment.at_ms))
    at_once = _with_other_outcomes(at_once, snapshot, other_plans, _AT_OTHER_TIMES)
    if at_once.answer is Answer.YES and _may_be_deleted(outcome):
        at_once = _with_other_outcomes(at_once, snapshot, [stopped_now(cleaning="early")[0]], _DELETED)
    on_now(at_once)
    if design_of(snapshot, options).announces:
        return _announced(at_once, snapshot, options, on_round)
    waiting_plan = plan_checked(snapshot, replace(options, floor=False, ranges=False), on_round=on_round)
    result = Drain(
        **{now_field.name: getattr(at_once, now_field.name) for now_field in fields(DrainNow)},
        waiting_plan=waiting_plan,
        wait_ms=settled_after_ms(waiting_plan, snapshot, moment.at_ms),
        later=(),
    )
    if result.wait_ms is None:
        return result
    later_ms = moment.at_ms + result.wait_ms
    later_plan, later = stop.simulate_at(later_ms, len(waiting_plan.rounds))
    return replace(result, later=later, later_plan=later_plan, restoring_after=_restoring_tasks(later_plan, later_ms))


class _Stop(NamedTuple):
    """Instances that stop (``leave``: leave the group cleanly), and how that is simulated."""

    snapshot: Snapshot
    options: PlanOptions
    process_ids: tuple[str, ...]
    leave: bool
    on_round: OnRound | None

    def scenario(self, at_ms: int) -> Scenario:
        """Return their stop at a moment."""
        end = Leave if self.leave else Stop
        return Scenario(events=(end(at_ms=at_ms, process_ids=self.process_ids),))

    def simulate_at(
        self, at_ms: int, earlier_rounds: int = 0, *, snapshot: Snapshot | None = None, **keywords: Unpack[PlanKeywords]
    ) -> tuple[Plan, tuple[DrainedTask, ...]]:
        """Simulate the stop, and return the plan with what becomes of each task that they ran.

        ``earlier_rounds`` is the number of rebalances before it. By default the snapshot is the same; of a large group
        no more rebalances are simulated than show what becomes of these tasks.
        """
        snapshot = snapshot or self.snapshot
        group, options = snapshot.state.group, replace(self.options, **keywords)
        most = options.max_rounds
        # what becomes of these tasks shows soon; the whole plan of a large group takes minutes
        first_limits = _SOON if len(group.tasks) * len(group.instances) >= _SMALL else ()
        for limit in [
            earlier_rounds + rounds for rounds in first_limits if most is None or earlier_rounds + rounds < most
        ] + [most]:
            limited_options = replace(options, max_rounds=limit, floor=False, ranges=False)
            result = plan_checked(snapshot, limited_options, scenario=self.scenario(at_ms), on_round=self.on_round)
            drained_tasks = _drained_tasks(result, snapshot, self.process_ids, at_ms)
            reached = bool(result.rounds) and result.rounds[-1].at_ms >= at_ms
            if result.verdict.kind != "unfinished" or (
                reached and len(drained_tasks) == len(_tasks_run_by(result, self.process_ids, at_ms))
            ):
                break
        return result, drained_tasks


def _at_rates_of_one_thread(snapshot: Snapshot) -> Iterator[Snapshot]:
    """Yield the snapshot with instances that restore at one thread's part of the rates given by hand.

    A copy is on one thread. Where stores may be in memory, yield it with such stores, too; nothing if all is the same.
    """
    rates, instances = snapshot.rates, snapshot.state.group.instances
    thread_rates = {
        index: rate / instance.capacity
        for index, instance in enumerate(instances)
        if (rates.restore_per_instance is not None or index in rates.restore_of)
        and (rate := rates.restore_rate(index)) is not None
        and instance.capacity > 1
    }
    if thread_rates:
        slower = replace(snapshot, rates=replace(rates, restore_of={**rates.restore_of, **thread_rates}))
        yield slower
        if snapshot.stores not in ("persistent", "in-memory"):
            yield replace(slower, stores="in-memory")


def _with_slower(now: DrainNow, slower: Snapshot, plan: Plan, drained_tasks: Sequence[DrainedTask]) -> DrainNow:
    """Return the answer with the starts that restore only where one thread does so at its part of the rate.

    A task that then starts elsewhere is one of them: at a rate between both its copy lacks as much as the limit allows.
    So is one that happens in either plan, and is not proven to be warm at that part alone.
    """
    known_task_ids = {step.task_id for step, _ in _restoring_starts(now.plan, now.at_ms)}
    known_task_ids |= {start.task_id for start in now.unproven}
    words = "at the given restore rate it has caught up by then; at the part of it that one thread gets it has not"
    evidence = Evidence(known=Known.UNKNOWN, fact=Fact.RATES, words=words, settled_by=("--metrics",))
    destinations = {task.task_id: task.destination for task in drained_tasks}
    index, most = slower.state.group.instance_index, slower.config.acceptable_recovery_lag
    slow = [(step.task_id, step.to.process_id, at_ms) for step, at_ms in _restoring_starts(plan, now.at_ms)]
    slow += [
        (task.task_id, task.destination, now.at_ms + task.pause_ms)
        for task in now.now
        if task.stateful and task.caught_up and destinations.get(task.task_id) != task.destination
        if 1000 * most >= NOTABLE_MS * (slower.rates.restore_rate(index[task.destination]) or 0)
    ]
    starts = dict[WorkId, UnprovenStart]()
    for task_id, process_id, at_ms in slow:
        start = UnprovenStart(task_id=task_id, process_id=process_id, at_ms=at_ms, evidence=evidence)
        starts.setdefault(task_id, start)
    happen = {
        (step.task_id, step.to.process_id, at_ms) for step, at_ms in _starts(now.plan, now.at_ms) if step.caught_up
    }
    for start in plan.unproven_starts:
        is_on_disk = slower.stores == "in-memory" and _is_left_over(slower, start)
        if (start.task_id, start.process_id, start.at_ms) in happen and not is_on_disk:
            starts.setdefault(start.task_id, start)
    slow_starts = tuple(start for task_id, start in starts.items() if task_id not in known_task_ids)
    doubts = (*now.doubts, *doubts_of(slower, slow_starts))
    return replace(now, unproven=(*now.unproven, *slow_starts), doubts=doubts)


def _decided_otherwise(snapshot: Snapshot, options: PlanOptions, scenario: Scenario) -> Sequence[Plan]:
    """Return what follows in a streams group if members speak at other times, or are in another order."""
    if not design_of(snapshot, options).times_vary:
        return ()
    request = request_of(snapshot, options, scenario)
    orders = (
        VariantRun(request, other_design, options.of_one_run())
        for other_design in request.design.other_beginnings(snapshot)
    )
    return [variant.plan() for variant in (*noticed_otherwise(request), *orders)]


def _with_other_outcomes(now: DrainNow, snapshot: Snapshot, plans: Sequence[Plan], evidence: Evidence) -> DrainNow:
    """Return the answer with the starts that are cold, or not proven to be warm, in other plans alone.

    ``evidence`` says of those that are cold why it may not come to that.
    """
    known_task_ids = {task for task, answer in now.answers.items() if answer is not Answer.YES}
    known_task_ids |= {start.task_id for start in now.unproven}
    starts = dict[WorkId, UnprovenStart]()
    for plan in plans:
        cold = (
            UnprovenStart(task_id=step.task_id, process_id=step.to.process_id, at_ms=at_ms, evidence=evidence)
            for step, at_ms in _restoring_starts(plan, now.at_ms)
        )
        # whether it comes to that plan is unknown, whatever its copies are
        may_be = (
            replace(start, evidence=replace(start.evidence, known=Known.UNKNOWN)) for start in plan.unproven_starts
        )
        for start in (*cold, *may_be):
            if start.task_id not in known_task_ids and start.process_id not in now.process_ids:
                starts.setdefault(start.task_id, start)
    unproven = tuple(sorted(starts.values(), key=lambda start: start.task_id.sort_key))
    return replace(now, unproven=(*now.unproven, *unproven), doubts=(*now.doubts, *doubts_of(snapshot, unproven)))


def _is_left_over(snapshot: Snapshot, start: UnprovenStart) -> bool:
    """Tell whether a task starts on state that no consumer holds, which only disks keep."""
    group = snapshot.state.group
    copies = snapshot.state.copies[group.task_index[start.task_id]]
    return any(
        copy.consumer is None and group.instances[copy.instance].process_id == start.process_id for copy in copies
    )


def _may_be_deleted(plan: Plan) -> bool:
    """Tell whether what a plan says depends on left-over state that may be deleted."""
    return any(note.code == LEFT_OVER_CLEANUP for note in plan.warnings)


def _restoring_tasks(plan: Plan, from_ms: int) -> tuple[WorkId, ...]:
    """Return the tasks that start cold from a moment on, or restore for long before they run, in task order."""
    restoring = {step.task_id for step, _ in _restoring_starts(plan, from_ms)}
    return tuple(sorted(restoring, key=lambda task_id: task_id.sort_key))


def _restoring_starts(plan: Plan, from_ms: int) -> Iterator[tuple[HandOver | Promote, int]]:
    """Yield the starts from a moment on that are cold, or restore for long first, and when each is."""
    restoring = {(start.task_id, start.at_ms) for start in plan.restoring_starts}
    for step, at_ms in _starts(plan, from_ms):
        if not step.caught_up or (step.task_id, at_ms) in restoring:
            yield step, at_ms


def restoring_first(plan: Plan) -> Iterator[UnprovenStart]:
    """Yield the starts of an outcome that count as warm, and restore for long before their tasks run."""
    words = "it has caught up by then in the likely outcome; in another one it restores first"
    evidence = Evidence(known=Known.UNKNOWN, fact=Fact.RATES, words=words, settled_by=("--metrics",))
    for step, at_ms in _restoring_starts(plan, 0):
        if step.caught_up:
            yield UnprovenStart(task_id=step.task_id, process_id=step.to.process_id, at_ms=at_ms, evidence=evidence)


def _starts(plan: Plan, from_ms: int) -> Iterator[tuple[HandOver | Promote, int]]:
    """Yield the starts from a moment on, and when each is."""
    moments = (moment for rnd in plan.rounds for moment in rnd.moments if moment[0] >= from_ms)
    for at_ms, steps in moments:
        for step in steps.single:
            if isinstance(step, HandOver | Promote):
                yield step, at_ms


def settled_after_ms(waiting_plan: Plan, snapshot: Snapshot, at_ms: int) -> int | None:
    """Return how long after a moment all has settled; ``None``: it has by then, or never does.

    A streams group has once everything runs, others a probing interval after their last rebalance.
    """
    if not waiting_plan.rounds or waiting_plan.verdict.kind != "settled":
        return None
    last = waiting_plan.rounds[-1]
    if snapshot.group_protocol == "streams":
        settled_ms = max(last.ends_ms, waiting_plan.summary.runs_by_ms or 0)
    else:
        settled_ms = last.at_ms + snapshot.config.probing_rebalance_interval_ms
    return settled_ms - at_ms if settled_ms > at_ms else None


def _announced(now: DrainNow, snapshot: Snapshot, options: PlanOptions, on_round: OnRound | None) -> Drain:
    """Return the answer for instances that announce now that they leave: they may stop once they are let go."""
    announced = Leave(at_ms=now.at_ms, process_ids=now.process_ids, announced=True)
    result = plan_checked(snapshot, options, scenario=Scenario(events=(announced,)), on_round=on_round)
    gone_ms = {
        step.process_id: rnd.at_ms for rnd in result.rounds for step in rnd.member_steps if isinstance(step, MemberLeft)
    }
    let_go = gone_ms.keys() >= set(now.process_ids)
    return Drain(
        **{now_field.name: getattr(now, now_field.name) for now_field in fields(DrainNow)},
        waiting_plan=result,
        wait_ms=max(gone_ms.values()) - now.at_ms if let_go else None,
        later=_drained_tasks(result, snapshot, now.process_ids, now.at_ms) if let_go else (),
        later_plan=result if let_go else None,
        restoring_after=_restoring_tasks(result, now.at_ms) if let_go else (),
        announced=True,
    )


def _at_once(
    snapshot: Snapshot,
    plans: tuple[Plan, Plan],
    process_ids: tuple[str, ...],
    now: tuple[DrainedTask, ...],
    at_best: tuple[DrainedTask, ...],
    moment: AskedMoment,
) -> DrainNow:
    """Return the answer for now, with what it rests on; ``plans`` are those at worst and at best."""
    result, best = plans
    unproven = _first_unproven(result, now) | _first_unproven(best, at_best)
    looked_at = snapshot.measured_lags | snapshot.least_lags
    seats = {
        (task, copy.instance)
        for task, copies in enumerate(snapshot.state.copies)
        for copy in copies
        if copy.lag not in (None, LATEST)
    }
    all_measured = snapshot.coverage is not None and not snapshot.coverage.joined
    seen_task_ids = {task.task_id for task in now}
    timed = {(start.task_id, start.at_ms) for start in result.restoring_starts if start.restores_ms is not None}
    of_starts = doubts_of(
        snapshot,
        [
            start
            for start in unproven.values()
            if start.evidence.fact is not Fact.WITHIN_LIMIT or (start.task_id, start.at_ms) not in timed
        ],
    )
    codes = {doubt.code for doubt in of_starts}
    of_moment = (note for note in moment.doubts if note.code not in codes)
    return DrainNow(
        plan=result,
        process_ids=process_ids,
        now=now,
        at_best=at_best,
        warnings=(
            *snapshot.warnings,
            *(note for note in result.warnings if note.code in _OF_ALL_TASKS),
        ),
        doubts=(*of_moment, *of_starts, *restores_below_lag(result.restoring_starts, in_pauses=True)),
        rests_on=rests_on(snapshot, [seat for seat in _warm_seats(snapshot, now) if _was_behind(snapshot, *seat)]),
        reported_at=None if all_measured else _span(snapshot, seats - looked_at),
        measured_at=_span(snapshot, seats & looked_at),
        nothing_reported=snapshot.group_protocol == "streams" and not _any_reported(snapshot),
        unproven=tuple(unproven.values()),
        heard_at=MappingProxyType(
            {
                task: heard_time
                for task, start in unproven.items()
                if (heard_time := heard_at(snapshot, start)) is not None
            }
        ),
        not_seen=tuple(
            sorted(
                _tasks_run_by(result, process_ids, moment.at_ms) - seen_task_ids, key=lambda task_id: task_id.sort_key
            )
        ),
        time=moment.time,
        at_ms=moment.at_ms,
        moment_doubts=moment.doubts,
    )


def _first_unproven(plan: Plan, drained_tasks: Iterable[DrainedTask]) -> dict[WorkId, UnprovenStart]:
    """Return the first unproven start of each task; none of those that start cold, and move again afterwards."""
    cold = {task.task_id for task in drained_tasks if not task.caught_up}
    first = dict[WorkId, UnprovenStart]()
    for start in plan.unproven_starts:
        if start.task_id not in cold:
            first.setdefault(start.task_id, start)
    return first


def _was_behind(snapshot: Snapshot, task: int, instance: int) -> bool:
    """Tell whether a copy was behind in its last report."""
    lag = reported_lag(snapshot, task, instance)
    return lag is not None and not is_caught_up(lag, snapshot.config.acceptable_recovery_lag)


def _any_reported(snapshot: Snapshot) -> bool:
    group = snapshot.state.group
    return any(
        reported_lag(snapshot, task, instance) not in (None, LATEST)
        for task in group.stateful
        for instance in range(len(group.instances))
    )


def _span(snapshot: Snapshot, seats: Set[tuple[int, int]]) -> tuple[str, str] | None:
    """Return the first and the last time that is known of the lags of copies."""
    times = [snapshot.reported_ms[seat] for seat in seats if seat in snapshot.reported_ms]
    if not times or snapshot.captured_at_ms is None:
        return None
    return format_time(snapshot.captured_at_ms + min(times)), format_time(snapshot.captured_at_ms + max(times))


def _warm_seats(snapshot: Snapshot, now: Sequence[DrainedTask]) -> list[tuple[int, int]]:
    """Return where stateful tasks start warm, as (task, instance)."""
    group = snapshot.state.group
    return [
        (group.task_index[start.task_id], group.instance_index[start.destination])
        for start in now
        if start.stateful and start.caught_up
    ]


def _drained_tasks(
    plan: Plan, snapshot: Snapshot, stopped_ids: Sequence[str], stopped_at_ms: int
) -> tuple[DrainedTask, ...]:
    """Return what becomes of the tasks that the instances in ``stopped_ids`` ran when they stopped."""
    task_ids = _tasks_run_by(plan, stopped_ids, stopped_at_ms)
    starts = {
        step.task_id: (step, at_ms, rnd.at_ms)
        for rnd in reversed(plan.rounds)
        for at_ms, steps in reversed(rnd.moments)
        if at_ms >= stopped_at_ms
        for step in steps
        if isinstance(step, HandOver | Promote) and step.task_id in task_ids and step.to.process_id not in stopped_ids
    }
    index, first_ms = snapshot.state.group.instance_index, _first_copies(plan, task_ids)
    cold_ms = cold_restoring_ms(
        [start for start, _, _ in starts.values()], lambda process_id: snapshot.rates.restore_rate(index[process_id])
    )
    warm_ms = {(start.task_id, start.at_ms): start.restores_ms for start in plan.restoring_starts}
    restoring_ms = {
        task_id: warm_ms.get((task_id, at_ms), 0) if start.caught_up else cold_ms.get(task_id)
        for task_id, (start, at_ms, _) in starts.items()
    }
    return tuple(
        DrainedTask(
            task_id=task_id,
            stateful=plan.group.tasks[plan.group.task_index[task_id]].stateful,
            destination=start.to.process_id,
            pause_ms=at_ms - stopped_at_ms + (restoring_ms[task_id] or 0),
            pause_is="floor" if restoring_ms[task_id] is None else "estimate",
            caught_up=start.caught_up,
            restore_records=start.restore_records,
            restore_is="floor" if _restores_more(snapshot, start) else "estimate",
            copy_there=_copy_there(plan, snapshot, start, round_ms, first_ms.get((task_id, start.to.process_id))),
            restores_ms=restoring_ms[task_id] or 0,
        )
        for task_id, (start, at_ms, round_ms) in sorted(starts.items(), key=lambda item: item[0].sort_key)
    )


def _first_copies(plan: Plan, task_ids: Set[WorkId]) -> Mapping[tuple[WorkId, str], int]:
    """Return when each instance first had each of these tasks after the beginning of the plan."""
    first = dict[tuple[WorkId, str], int]()
    for rnd in plan.rounds:
        for step in rnd.single_steps:
            if isinstance(step, Place | HandOver | Promote) and step.task_id in task_ids:
                first.setdefault((step.task_id, step.to.process_id), rnd.at_ms)
    return first


def _copy_there(
    plan: Plan, snapshot: Snapshot, start: HandOver | Promote, at_ms: int, first_ms: int | None
) -> CopyThere:
    """Return what the instance that starts a task has of it just before the rebalance at ``at_ms``."""
    group = plan.group
    task, instance = group.task_index[start.task_id], group.instance_index[start.to.process_id]

    def is_assigned(holdings: Sequence[Holding]) -> bool:
        own_holdings = (holdings[consumer] for consumer in group.consumers_of[instance])
        return any(task in (*holding.active, *holding.standby, *holding.warmup) for holding in own_holdings)

    if is_assigned(held_before(plan, at_ms)):
        return "assigned"
    on_disk = any(copy.instance == instance and copy.lag is not None for copy in snapshot.state.copies[task])
    had_copy = on_disk or is_assigned(plan.initial) or (first_ms is not None and first_ms < at_ms)
    return "left-over" if had_copy else "none"


def _restores_more(snapshot: Snapshot, start: HandOver | Promote) -> bool:
    """Tell whether a start may restore more than is known: only a lower bound of its copy's lag is."""
    group, records = snapshot.state.group, start.restore_records
    task = group.task_index[start.task_id]
    is_bound = (task, group.instance_index[start.to.process_id]) in snapshot.least_lags
    return is_bound and records is not None and records < group.tasks[task].end_offset_sum


def _tasks_run_by(plan: Plan, stopped_ids: Sequence[str], stopped_at_ms: int) -> set[WorkId]:
    """Return the tasks that these instances ran just before they stopped: a rebalance at that time does not count."""
    group, holdings = plan.group, held_before(plan, stopped_at_ms)
    consumers = (consumer for name in stopped_ids for consumer in group.consumers_of[group.instance_index[name]])
    return {group.tasks[task].task_id for consumer in consumers for task in holdings[consumer].active}
