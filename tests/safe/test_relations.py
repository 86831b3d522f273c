"""What must hold of random groups: what is worse, or less known, is never answered as safer; and who is cold is cold.

``KSTREAM_PLAN_GROUPS=100000 pytest tests/safe/test_relations.py`` tries more of them than every run does.

Kafka decides by what was reported, so that a group may be safer because Kafka decides otherwise. These exceptions are
in :class:`TestExceptions`, each with a group of its own.
"""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kstream_plan.comparison.alternatives import Change
from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.scenario_file import read_scenario
from kstream_plan.model import UNKNOWN, Snapshot, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Leave, Scenario, Stop
from kstream_plan.planner.unproven_starts import is_little
from kstream_plan.plans import HandOver, Plan, Promote, Round
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, KnownCopies, UnprovenStart
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import CheckedPlan, Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.render.answers import to_json
from kstream_plan.simulation import bounces
from kstream_plan.simulation.alternatives import Variant, alternatives
from kstream_plan.simulation.drain import DrainNow, drain
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby, worsenings
from tests.helpers.random_groups import TAKEN, Given, copied, groups, random_group, randoms
from tests.helpers.warm_by_hand import may_be_within
from tests.helpers.worsenings import WORSENINGS, Worsening

T = TypeVar("T")

#: So many groups in all; each property has its share of them.
GROUPS = int(os.environ.get("KSTREAM_PLAN_GROUPS", "1200"))
#: What Kafka decides by: without it, tasks may be moved in another order, so that one that is moved later starts warm.
_DECIDED_BY = (worsenings.fewer_reports, worsenings.fewer_standbys)
#: The same where no instance leaves: nothing falls behind meanwhile if what is written is unknown, nor is a plan
#: simulated at other rates if none is known.
_WAITED_FOR = (*_DECIDED_BY, worsenings.produce_unknown, worsenings.restore_unknown)
_OF_LATER_COPIES = (Fact.NEW_COPY, Fact.STORES_UNKNOWN)
_POLICY = Standard(Policy({"max_cold_handovers": Limit(0)}), TAKEN)
#: With which a start that is warm by Kafka's rule may restore nothing before its task runs: a copy had longer to, or
#: nothing is known to be written meanwhile.
_RESTORES_LESS = (worsenings.older_reports, worsenings.produce_unknown)
#: What makes a group settle that may not, or stay as it is at both ends of a plan: fewer copies are built; a copy that
#: is made anew begins with nothing, while what an older one has may be unknown; and without a rate nothing counts the
#: probes that a copy takes until it has caught up, while with one a plan is cut off that has more than it may; at a
#: lower rate, as more is written, or under a lower limit, no copy comes close enough, so that it ends.
_SETTLES = (
    worsenings.restore_unknown,
    worsenings.slower_restore,
    worsenings.faster_produce,
    worsenings.lower_limit,
    worsenings.end_offset_unknown,
    worsenings.fewer_standbys_wanted,
    worsenings.fewer_standbys,
)


def _share(percent: int) -> Callable[[Any], Any]:
    """Return the settings of a property: every run tries the same groups, a run that asks for a number others."""
    return settings(
        max_examples=max(1, GROUPS * percent // 100),
        derandomize="KSTREAM_PLAN_GROUPS" not in os.environ,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a command says of a group.

    Attributes:
        whole: whether all is safe.
        tasks: the same of each task that is asked of, by its id.
        starts: where stateful tasks start, one instance after the other, by task id.
        most: how many start cold at most.
        restoring: tasks that are warm by Kafka's rule, and restore all the same: whether a rate alone tells that, for
            it is as little as a copy lacks that follows its changelog, or none by the whole rate; by task id.
        settles: whether the group settles for sure, where that is asked.
        rounds: in which rebalances they start, where nobody leaves, so that Kafka may let them wait.
        opened: in which rebalances they start, and on which consumers.
        at_best: where each drained task starts if all copies of unknown lag have caught up, and whether it is warm.
        may_lose: whether stores are in memory or may be: then a copy is lost that another consumer opens, and by which
            one it is depends on all that is decided.
        within_limit: tasks that may restore first what their copies lack within the limit.
        threads_unknown: tasks of copies in memory, or that may be, where which thread opens one depends on which of
            several copies have caught up.
        moved_on: tasks that are unknown only where they move again, at an end of the plan: onto a copy that is made in
            it, or one that another thread may open. Where fewer standbys are, that end takes another course.
    """

    whole: Answer
    tasks: Mapping[str, Answer]
    starts: Mapping[str, tuple[str, ...]]
    most: int
    restoring: Mapping[str, bool] = field(default_factory=dict)
    settles: bool = True
    rounds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    opened: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    at_best: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    may_lose: bool = False
    within_limit: frozenset[str] = frozenset()
    threads_unknown: frozenset[str] = frozenset()
    moved_on: frozenset[str] = frozenset()


class _AnsweredError(Exception):
    """The answer for now is there: that for later is not asked for."""


def _drained(group: Given, *, leave: bool) -> DrainNow:
    found = list[DrainNow]()

    def on_now(now: DrainNow) -> None:
        found.append(now)
        raise _AnsweredError

    with suppress(_AnsweredError):
        drain(group.snapshot, [group.busiest], group.options, leave=leave, on_now=on_now)
    return found[0]


def _drain(group: Given, *, leave: bool = False) -> Answers:
    now = _drained(group, leave=leave)
    return Answers(
        whole=now.answer,
        tasks={str(task_id): answer for task_id, answer in now.answers.items()},
        starts=_starts(now.plan, _to),
        most=now.how_many_cold[1],
        restoring={**_restoring(now.plan), **_restoring_slowly(now)},
        opened=_opened(now.plan),
        at_best={str(task.task_id): (task.destination, task.caught_up) for task in now.at_best},
        within_limit=_within_limit(now.unproven),
        threads_unknown=frozenset(_threads_unknown(group, now)),
        moved_on=_moved_on(now),
    )


def _moved_on(now: DrainNow) -> frozenset[str]:
    elsewhere = {start for start in now.unproven if start.at_ms and start.evidence.fact in _OF_LATER_COPIES}
    return frozenset(str(start.task_id) for start in elsewhere) - {
        str(start.task_id) for start in now.unproven if start not in elsewhere
    }


def _threads_unknown(group: Given, now: DrainNow) -> Iterator[str]:
    """Yield the tasks whose thread is unknown, also where the plan shows that it is the same."""
    keepers = {
        (consumer["consumer_id"], task_id)
        for instance in group.row["instances"]
        for consumer in instance["consumers"]
        for task_id in consumer["standby"]
    }
    opened = _opened(now.plan)
    for start in now.unproven:
        task_id, words = str(start.task_id), start.evidence.words
        is_same = all((consumer_id, task_id) in keepers for _, consumer_id in opened.get(task_id, ()))
        if "which thread opens one" in words or (is_same and "closed and opened again" in words):
            yield task_id


def _is_little(plan: Plan, task_id: WorkId, records: int | None) -> bool:
    return is_little(plan.group.tasks[plan.group.task_index[task_id]], records or 0)


def _restoring(plan: Plan) -> Mapping[str, bool]:
    """Return the tasks of a plan that are warm by Kafka's rule and restore all the same, as of :class:`Answers`."""
    little = dict[str, bool]()
    for start in plan.restoring_starts:
        name = str(start.task_id)
        little[name] = little.get(name, True) and _is_little(plan, start.task_id, start.records)
    return little


def _restoring_slowly(now: DrainNow) -> Mapping[str, bool]:
    """Return the tasks that restore if one thread restores at its part of the rate, as of :class:`Answers`."""
    return {str(start.task_id): True for start in now.unproven if start.evidence.fact is Fact.RATES}


def _drain_leaving(group: Given) -> Answers:
    return _drain(group, leave=True)


def _bounce(group: Given) -> Answers:
    found = bounces.bounce(group.snapshot, 5_000, group.options, instances=[group.busiest])
    assert found.answer is not None
    assert found.reasons or found.answer is not Answer.UNKNOWN, "what is unknown has a reason"
    return Answers(
        whole=found.answer,
        tasks={},
        starts=_starts(found.as_it_is.plan, _to),
        most=found.as_it_is.most_cold,
        settles=_settles(found.as_it_is.plan),
        restoring=_restoring(found.as_it_is.plan),
        opened=_opened(found.as_it_is.plan),
    )


def _opened(plan: Plan) -> Mapping[str, tuple[tuple[int, str], ...]]:
    return _starts(plan, lambda rnd, step: (rnd.number, step.to.consumer_id))


def _of_plan(plan: Plan, answer: Answer | None = None) -> Answers:
    most = plan.ends("cold_handovers")[1]
    likely = Answer.NO if plan.summary.cold_handovers else Answer.UNKNOWN if most else Answer.YES
    return Answers(
        whole=likely if answer is None else answer,
        tasks={},
        starts=_starts(plan, _to),
        most=most,
        settles=_settles(plan),
        opened=_opened(plan),
        within_limit=_within_limit(plan.unproven_starts),
    )


def _within_limit(starts: Iterable[UnprovenStart]) -> frozenset[str]:
    return frozenset(str(start.task_id) for start in starts if start.evidence.fact is Fact.WITHIN_LIMIT)


def _assign(group: Given) -> Answers:
    result = plan_checked(group.snapshot, group.options)
    rounds = _starts(result, lambda rnd, _step: rnd.number)
    return replace(_of_plan(result), rounds=rounds)


def _settles(plan: Plan) -> bool:
    return all(each.low for each in plan.summary.ranges if each.figure == "settles")


def _leaving(snapshot: Snapshot, group: Given) -> Scenario:
    return Scenario(events=(Leave(at_ms=0, process_ids=(process_id_of(snapshot.state.group, group.busiest),)),))


def _simulate_leave(group: Given) -> Answers:
    snapshot = group.snapshot
    return _of_plan(plan_checked(snapshot, group.options, scenario=_leaving(snapshot, group)))


def _simulate_crash(group: Given) -> Answers:
    snapshot = group.snapshot
    crash = Stop(at_ms=0, process_ids=(process_id_of(snapshot.state.group, group.busiest),), crash=True)
    return _of_plan(plan_checked(snapshot, group.options, scenario=Scenario(events=(crash,))))


def _check(group: Given) -> Answers:
    snapshot = group.snapshot
    result = plan_checked(snapshot, group.options, scenario=_leaving(snapshot, group))
    return replace(_of_plan(result, _checked(result).answer), restoring=_restoring(result))


def _checked(plan: Plan) -> CheckedPlan:
    return check_plan(plan, _POLICY)


_AS_IT_IS = Variant(change=Change("as", "it is"))


def _compare(group: Given) -> Answers:
    snapshot = group.snapshot
    [found] = alternatives(snapshot, [[_AS_IT_IS]], group.options, scenario=_leaving(snapshot, group), standard=_POLICY)
    cold = found.figures.cold_handovers
    may_restore = cold.most or found.plan.ends("restoring_first")[1]
    likely = Answer.NO if cold.median or not found.settles else Answer.UNKNOWN if may_restore else Answer.YES
    assert found.keeps_policy is (likely is Answer.YES)
    return _of_plan(found.plan, likely)


def _to(_rnd: Round, step: HandOver | Promote) -> str:
    return step.to.process_id


def _starts(plan: Plan, tells: Callable[[Round, HandOver | Promote], T]) -> Mapping[str, tuple[T, ...]]:
    starts, tasks = dict[str, tuple[T, ...]](), plan.group.tasks
    for rnd in plan.rounds:
        for step in rnd.single_steps:
            if isinstance(step, HandOver | Promote) and tasks[plan.group.task_index[step.task_id]].stateful:
                starts[str(step.task_id)] = (*starts.get(str(step.task_id), ()), tells(rnd, step))
    return starts


Command = Callable[[Given], Answers]
COMMANDS: Mapping[Command, int] = {
    _drain: 26,
    _drain_leaving: 21,
    _bounce: 2,
    _assign: 8,
    _simulate_leave: 8,
    _simulate_crash: 4,
    _check: 4,
    _compare: 4,
}


def _is_safer(before: Answers, after: Answers, worsening: Worsening, *, counts: bool = True) -> str:
    """Return what is answered YES that was not before, though Kafka sends every task where it did; empty: nothing.

    ``counts``: fewer tasks that start cold at most are safer as well.
    """
    if before.starts != after.starts:
        return ""
    is_same_course = before.opened == after.opened
    waits = not (before.most or is_same_course)  # a task restored first within the limit, for which Kafka now waits
    excused = _excused(before, worsening) | _elsewhere_at_best(before, after)
    if after.whole is Answer.NO:  # for what restores when it moves again, which was unknown before
        excused |= after.restoring.keys()
    if _is_other_course(before, after, worsening):
        stays = worsening is not worsenings.produce_unknown  # then Kafka may find it caught up, and let it wait
        is_same = stays and before.rounds == after.rounds and before.whole is Answer.NO and not (excused or waits)
        return "all" if is_same and after.whole is Answer.YES else ""
    never_catches_up = worsening is worsenings.produce_unknown and not before.most  # nothing tells that any more
    if not before.settles and (worsening in _SETTLES or never_catches_up):
        return ""
    for task_id, answer in after.tasks.items():
        if answer is Answer.YES and before.tasks.get(task_id, answer) is not Answer.YES and task_id not in excused:
            return f"task {task_id}"
    if not (excused or waits) and after.whole is Answer.YES and before.whole is not Answer.YES:
        return "all"
    counts = (
        counts and is_same_course and bool(before.tasks)
    )  # in other ones, as ends of plans are, tasks move more often
    return "most" if counts and after.most < before.most - len(excused & before.tasks.keys()) else ""


def _is_other_course(before: Answers, after: Answers, worsening: Worsening) -> bool:
    """Tell whether a plan takes another course, so that no start is the same as before.

    Where nobody leaves, tasks wait for copies, so that nobody can tell how others wait that are known less of.
    """
    if before.rounds and (worsening in _WAITED_FOR or before.rounds != after.rounds):
        return True
    return before.may_lose and before.opened != after.opened


def _elsewhere_at_best(before: Answers, after: Answers) -> frozenset[str]:
    """Return the tasks of which it was unknown where they start, and that now start elsewhere at best.

    One that was cold at best, its copy in memory lost to another thread, may be on the same instance.
    """
    unknown = {task: before.at_best[task] for task, answer in before.tasks.items() if answer is Answer.UNKNOWN}
    found = set[str]()
    for task, (instance, is_warm) in unknown.items():
        now = after.at_best.get(task)
        if now is None or now[0] != instance or (before.may_lose and not is_warm):
            found.add(task)
    return frozenset(found)


def _excused(before: Answers, worsening: Worsening) -> frozenset[str]:
    """Return the tasks that may be warm though they restored something first before."""
    if worsening in _RESTORES_LESS:
        return frozenset(before.restoring)
    if worsening is worsenings.lower_limit:  # Kafka waits
        return before.within_limit | before.restoring.keys()
    again = {task for task, starts in before.starts.items() if len(starts) > 1}
    if worsening is worsenings.slower_restore:  # it waits for what then is not within the limit
        return frozenset(before.restoring.keys() & again)
    if worsening in (worsenings.fewer_standbys, worsenings.fewer_reports):
        unknown = frozenset(task for task in before.restoring if before.tasks.get(task) is Answer.UNKNOWN)
        decided = before.threads_unknown | before.moved_on if worsening is worsenings.fewer_standbys else frozenset()
        return unknown | decided
    if worsening is worsenings.restore_unknown:  # of what follows, or moves again, a rate alone tells what it lacks
        later = before.within_limit - before.tasks.keys()
        return later | frozenset(task for task, is_little in before.restoring.items() if is_little or task in again)
    # with fewer standbys wanted an end takes another course; later more copies count as caught up together
    elsewhere: dict[Worsening, frozenset[str]] = {
        worsenings.fewer_standbys_wanted: before.moved_on,
        worsenings.asked_later: before.threads_unknown,
    }
    return elsewhere.get(worsening, frozenset())


def _decides_otherwise(group: Given, worse: Given) -> bool:
    """Tell whether a copy is gone that Kafka may prefer to every other one, or left-over state, which then is not.

    It prefers one of unknown offset; a standby that nobody has reported, or not in full, may be one.
    """
    standbys = _standbys(group)
    reported, left = _reported(group), _reported(worse)
    gone = {seat: lag for seat, lag in reported.items() if seat not in left}
    unreported = (standbys - _standbys(worse)) - (reported.keys() - _reported_in_part(group))
    return bool(unreported) or any(lag == UNKNOWN or seat not in standbys for seat, lag in gone.items())


def _standbys(group: Given) -> set[tuple[str, str]]:
    return {
        (instance["process_id"], task_id)
        for instance in group.row["instances"]
        for consumer in instance["consumers"]
        for task_id in consumer["standby"]
    }


def _left_over(group: Given) -> Sequence[Mapping[str, Any]]:
    """Return the reports of left-over state."""
    standbys = _standbys(group)
    return [report for report in group.row["lags"] if (report["process_id"], report["task_id"]) not in standbys]


def _reported(group: Given) -> dict[tuple[str, str], int | None]:
    return {(report["process_id"], report["task_id"]): report.get("lag") for report in group.row["lags"]}


def _reported_in_part(group: Given) -> set[tuple[str, str]]:
    reports = (report for report in group.row["lags"] if report.get("source") == "metrics, at least")
    return {(report["process_id"], report["task_id"]) for report in reports}


def _is_another_question(group: Given, worse: Given, worsening: Worsening) -> bool:
    """Tell whether Kafka decides otherwise, or the question is about another moment."""
    if worsening is worsenings.fewer_standbys_wanted and group.restore is not None:
        return True  # other copies restore faster
    if worsening is worsenings.capture_time_unknown and group.later_ms is None:
        return True  # that of the decision, or some time after all reports
    return _decides_otherwise(group, worse)


def _has_other_ends(group: Given, worse: Given, worsening: Worsening) -> bool:
    """Tell whether what a plan simulates at its ends is not the same group made worse."""
    left_over = _left_over(group)
    if left_over != _left_over(worse) or (worsening is worsenings.asked_later and left_over):
        return True  # it may be deleted before its task starts there, if Kafka prefers it
    if worsening is worsenings.asked_later and group.row.get("stores") != "persistent":
        return True  # by then other copies are unknown: all of them have caught up at one end, none at the other
    if worsening is worsenings.fewer_standbys_wanted and group.row.get("stores") != "persistent":
        return True  # a task may go to another instance, and at the end of stores in memory not to another thread
    if worsening is worsenings.capture_time_unknown and group.later_ms and group.produce:
        return True  # it begins as of the snapshot, before all was written that is by then
    if worsening is worsenings.older_reports and group.restore and group.produce is not None:
        return True  # by known rates a copy that was reported earlier has had longer
    # a lower bound is simulated at one end, a copy that was never reported at both
    return worsening is worsenings.fewer_reports and _reported_in_part(group) != _reported_in_part(worse)


def never_safer(command: Command, worsening: Worsening, group: Given, rng: random.Random) -> None:
    """Check one command on one group made worse in one way."""
    worse = worsening(rng, group)
    if worse is None or _is_another_question(group, worse, worsening):
        return
    other_moment = worsening is worsenings.capture_time_unknown and bool(group.later_ms)  # ``--set now`` has no effect
    before, after = command(group), command(worse)
    if not before.tasks and _has_other_ends(group, worse, worsening):
        return
    if worsening is worsenings.fewer_standbys_wanted and before.opened != after.opened:
        return  # a task moves on later, to a copy that has had longer
    before = replace(before, may_lose=group.row.get("stores") != "persistent")
    if worsening is worsenings.fewer_standbys:  # made anew it begins with nothing, what it had may be unknown
        gone = {task_id for _, task_id in _standbys(group) - _standbys(worse)}
        unknown = {task_id for task_id in gone if before.tasks.get(task_id) is Answer.UNKNOWN}
        before = replace(before, restoring={**before.restoring, **dict.fromkeys(sorted(unknown), False)})
    if worsening is worsenings.fewer_reports and _reported_in_part(group) - _reported_in_part(worse):
        unknown = {task_id for task_id, answer in before.tasks.items() if answer is Answer.UNKNOWN}
        before = replace(before, restoring={**before.restoring, **dict.fromkeys(sorted(unknown), False)})
    safer = _is_safer(before, after, worsening, counts=not other_moment)
    if safer and not group.row.get("stores") and all(command(each).whole is Answer.YES for each in _with_stores(group)):
        return  # a copy that another thread opens is not proven to be there, though it starts warm on either stores
    assert not safer, (worsening.__name__, before, after, worse)


def _with_stores(group: Given) -> Iterable[Given]:
    """Yield a group with persistent stores, and with stores in memory."""
    return (group.with_row(stores=stores) for stores in ("persistent", "in-memory"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__.strip("_"))
def test_what_is_worse_or_less_known_is_never_safer(command: Command) -> None:
    @_share(COMMANDS[command])
    @given(group=groups(), worsening=st.sampled_from(WORSENINGS), rng=randoms())
    def property_of(group: Given, worsening: Worsening, rng: random.Random) -> None:
        never_safer(command, worsening, group, rng)

    property_of()


@pytest.mark.parametrize(
    ("command", "worsening", "seed"),
    [
        # which thread opens a copy is unknown, and its stores may be in memory
        (_drain, worsenings.stores_unknown, 300_000_771),
        (_drain, worsenings.stores_unknown, 300_004_231),
        # at one thread's part of the rate it restores beside a task whose changelog is of unknown length
        (_drain, worsenings.end_offset_unknown, 300_015_015),
        # at one thread's part of the rate it restores first where it moves again, if its stores are in memory
        (_drain, worsenings.stores_unknown, 560_006_891),
        # how long copies have had is unknown, and so is which thread opens one
        (_drain, worsenings.capture_time_unknown, 560_004_692),
        # the same beside a copy whose lag is a lower bound
        (_drain, worsenings.produce_unknown, 300_007_549),
        # at that part of the rate a task moves on earlier, which is another course
        (_drain_leaving, worsenings.faster_produce, 400_007_807),
        # a copy that is behind may catch up before the session of who stops times out, and the task goes to it then
        (_drain, worsenings.fewer_standbys, 811_024_863),
        # left-over state was reported, so that it is on a disk
        (_drain_leaving, worsenings.restore_unknown, 812_011_368),
        (_drain_leaving, worsenings.restore_unknown, 812_014_308),
    ],
)
def test_a_drain_that_is_worse_or_less_known_is_never_safer(command: Command, worsening: Worsening, seed: int) -> None:
    never_safer(command, worsening, random_group(random.Random(seed)), random.Random(seed))


def never_warm_by_mistake(group: Given, *, leave: bool) -> None:
    """Check that each task that is said to start warm has a survivor whose copy may be within the limit by then."""
    now = _drained(group, leave=leave)
    for task in now.now:
        if task.stateful and now.answers[task.task_id] is Answer.YES:
            assert may_be_within(group, str(task.task_id), now.process_ids), (task, group)
    if now.answer is Answer.YES:
        assert now.how_many_cold == (0, 0)
        assert now.plan.summary.cold_handovers == 0


@_share(12)
@given(group=groups(), leave=st.booleans())
def test_a_task_whose_survivors_cannot_have_a_copy_within_the_limit_is_cold(group: Given, leave: bool) -> None:
    never_warm_by_mistake(group, leave=leave)


def as_the_single_command(group: Given) -> None:
    snapshot = group.snapshot
    for scenario in (None, _leaving(snapshot, group)):
        [alone] = alternatives(snapshot, [[_AS_IT_IS]], group.options, scenario=scenario)
        assert alone.plan == plan_checked(snapshot, group.options, scenario=scenario)


@_share(3)
@given(group=groups())
def test_one_alternative_is_the_single_command(group: Given) -> None:
    as_the_single_command(group)


def as_the_saved_plan(group: Given) -> None:
    snapshot = group.snapshot
    result = plan_checked(snapshot, group.options, scenario=_leaving(snapshot, group))
    [saved] = read_saved(plan_json(result).encode(), "x")
    again = check_plan(saved.plan, _POLICY, draws=saved.draws, was_saved=True)
    assert (again.answer, again.findings, again.warnings) == (
        _checked(result).answer,
        _checked(result).findings,
        _checked(result).warnings,
    )


@_share(3)
@given(group=groups())
def test_a_plan_is_checked_as_the_saved_plan_is(group: Given) -> None:
    as_the_saved_plan(group)


@_share(5)
@given(group=groups())
def test_a_plan_of_stores_in_memory_is_checked_as_the_saved_plan_is(group: Given) -> None:
    """Whose tasks start cold on another thread of the instance that has a copy, which is near by Kafka's word."""
    as_the_saved_plan(group.with_row(stores="in-memory"))


def as_a_scale_out(group: Given) -> None:
    snapshot = group.snapshot
    written = read_scenario("events: [{at: 0s, join: 1}]", "s.yaml")
    one, other = (
        plan_json(simulate(snapshot, scenario, group.options, number_of_draws=1, what_ifs=False).plan)
        for scenario in (written, scale_out(snapshot.state.group, add=1))
    )
    assert one == other


@_share(2)
@given(group=groups())
def test_a_scenario_of_one_join_is_a_scale_out(group: Given) -> None:
    as_a_scale_out(group)


def in_any_order(group: Given, rng: random.Random, read: Callable[[dict[str, Any], str], Snapshot]) -> None:
    row = copy.deepcopy(group.row)
    lists = [row["tasks"], row["instances"], row["lags"], row.get("copies_since", [])]
    for instance in row["instances"]:
        lists += [
            instance["consumers"],
            *(held for consumer in instance["consumers"] for held in (consumer["active"], consumer["standby"])),
        ]
    for each in lists:
        rng.shuffle(each)
    first, second = read(group.row, "x"), read(row, "x")
    assert plan_json(plan_checked(first, group.options)) == plan_json(plan_checked(second, group.options))
    one, other = (to_json(drain(snapshot, [group.busiest], group.options, leave=True)) for snapshot in (first, second))
    assert one == other


@_share(3)
@given(group=groups(), rng=randoms())
def test_the_order_of_rows_changes_nothing(group: Given, rng: random.Random) -> None:
    in_any_order(group, rng, snapshot_from_row)


def _two_standbys(first: dict[str, Any], second: dict[str, Any], **fields: Any) -> Snapshot:
    """``i0`` runs 0_0; ``i1`` and ``i2`` have standbys of it that report this."""
    row = one_standby.row(**fields)
    row["instances"][2]["consumers"][0]["standby"] = ["0_0"]
    seats = zip(one_standby.IDS[1:], (first, second), strict=True)
    row["lags"] = [
        {"process_id": process_id, "task_id": "0_0", "reported_at": one_standby.AT, **report}
        for process_id, report in seats
    ]
    row["config"] = {**row["config"], "num_standby_replicas": 2}
    return snapshot_from_row(row, "two-standbys")


def _goes_to(snapshot: Snapshot) -> tuple[str, Answer]:
    """Return where 0_0 starts when ``i0`` leaves, and whether it does so warm."""
    found = drain(snapshot, ["i0"], leave=True)
    [task] = (task for task in found.now if str(task.task_id) == "0_0")
    return f"i{one_standby.IDS.index(task.destination)}", found.answers[task.task_id]


def _drain_without_a_standby(group: Given, instance: int, consumer: int) -> tuple[Answers, Answers]:
    """Return what is answered with a consumer's standby of 0_0, which the first report is about, and without both."""
    before = _drain(group)
    group.row["instances"][instance]["consumers"][consumer]["standby"].remove("0_0")
    del group.row["lags"][0]
    return before, _drain(group)


class TestExceptions:
    """Kafka decides by what was reported: with more of it a task may go to a worse copy."""

    OLD = "2026-11-22T11:00:00.000Z"
    SHORT = tuple({"task_id": f"0_{number}", "stateful": True, "end_offset_sum": 5_000} for number in range(3))

    def test_a_plan_of_a_snapshot_without_its_time_begins_before_all_was_written(self) -> None:
        """0_2 is empty in the snapshot, and 300,000 records long by the time that is asked about."""
        group = random_group(random.Random(411416887))
        undated = worsenings.capture_time_unknown(random.Random(0), group)
        assert undated is not None
        assert [_assign(each).whole for each in (group, undated)] == [Answer.UNKNOWN, Answer.YES]

    def test_an_old_report_counts_for_kafka_as_a_new_one(self) -> None:
        """The first of those that count as caught up is taken, though it may have fallen behind since."""
        assert _goes_to(_two_standbys({"lag": 0, "reported_at": self.OLD}, {"lag": 0})) == ("i1", Answer.UNKNOWN)
        assert _goes_to(_two_standbys({"lag": 20_001}, {"lag": 0})) == ("i2", Answer.YES)

    def test_a_snapshot_without_its_time_is_of_the_moment_of_its_decision(self) -> None:
        """Nothing was written since, unless it is asked about another moment."""
        row = {**one_standby.row(lag=0, reported_at=None, stores="persistent"), "decision": {"at": self.OLD}}
        row["lags"] = [{name: value for name, value in row["lags"][0].items() if value is not None}]
        undated = {name: value for name, value in row.items() if name != "captured_at"}
        assert _drain(Given(row=row, later_ms=None)).whole is Answer.UNKNOWN
        assert _drain(Given(row=undated, later_ms=None)).whole is Answer.YES
        assert _drain(Given(row=undated, later_ms=0)).whole is Answer.UNKNOWN

    def test_an_unknown_offset_comes_first_in_its_list(self) -> None:
        """Of those that are behind, the one with the least lag is taken, and Kafka's marker is below every lag."""
        assert _goes_to(_two_standbys({"lag": 20_001}, {"lag": 30_000})) == ("i1", Answer.NO)
        assert _goes_to(_two_standbys({"lag": 20_001}, {"lag": UNKNOWN}))[0] == "i2"

    def test_a_running_task_moves_at_once_to_a_copy_with_an_unknown_offset(self) -> None:
        """Where nothing is reported of the copy, Kafka waits until it has caught up."""
        row = one_standby.row(lag=UNKNOWN, stores="persistent")
        row["instances"][0]["consumers"][0]["active"] = ["0_0", "0_1"]
        row["instances"][1]["consumers"][0].update(active=[], standby=["0_1"])
        row["lags"][0]["task_id"] = "0_1"
        marked, silent = snapshot_from_row(row, "x"), snapshot_from_row({**row, "lags": []}, "x")
        assert plan_checked(marked).ends("cold_handovers") == (0, 1)
        assert plan_checked(silent).ends("cold_handovers") == (0, 0)

    def test_under_a_higher_limit_tasks_go_to_instances_that_have_nothing(self) -> None:
        """Where all of a changelog is within it, all instances count as caught up, and tasks are dealt in turn."""
        row = one_standby.row(tasks=self.SHORT)
        seats = [instance["consumers"][0] for instance in row["instances"]]
        seats[1]["standby"], seats[2]["standby"] = [], ["0_0"]
        row["lags"][0]["process_id"] = one_standby.IDS[2]
        high = snapshot_from_row(row, "high")
        low = replace(high, config=replace(high.config, acceptable_recovery_lag=0))
        assert _goes_to(high) == ("i1", Answer.NO)
        assert _goes_to(low) == ("i2", Answer.YES)

    def test_copies_restore_faster_where_fewer_are_wanted(self) -> None:
        """An instance shares its rate among its copies: with fewer of them, one falls behind less."""
        many = random_group(random.Random(7003))
        none = many.with_row(config={**many.row["config"], "num_standby_replicas": 0})
        ends = [plan_checked(given.snapshot, given.options).ends("cold_handovers") for given in (many, none)]
        assert ends == [(0, 1), (0, 0)]

    def test_a_task_moves_on_later_where_fewer_copies_are_wanted(self) -> None:
        """0_2 moves on to ``i3`` in a follow-up where two copies are wanted, else at the probe after it."""
        two = random_group(random.Random(8102))
        one = two.with_row(config={**two.row["config"], "num_standby_replicas": 1})
        many, few = _drain(two), _drain(one)
        assert [[number for number, _ in item.opened["0_2"]] for item in (many, few)] == [[1, 3], [1, 4]]
        assert [many.tasks["0_2"], few.tasks["0_2"]] == [Answer.NO, Answer.YES]

    def test_copies_restore_faster_where_another_one_is_gone(self) -> None:
        """Three copies of ``i1`` follow 20 records a second each with 50 in all; without one of them, two may."""
        three = replace(copied(random_group(random.Random(933))), later_ms=300_000)
        assert three.restore == 50.0
        answers = [_drain(three).tasks["0_1"]]
        three.row["instances"][1]["consumers"][1]["standby"].remove("0_3")
        answers.append(_drain(three).tasks["0_1"])
        assert answers == [Answer.NO, Answer.UNKNOWN]

    def test_a_task_without_its_standby_is_moved_later_and_may_then_be_warm(self) -> None:
        """``i2`` has a copy of 0_0 within the limit, so that it gets it at once, and 0_2 goes to ``i0`` cold."""
        group = copied(random_group(random.Random(7203)))
        before = _assign(group)
        group.row["instances"][2]["consumers"][0]["standby"].remove("0_0")
        del group.row["lags"][0]
        after = _assign(group)
        assert before.starts == after.starts
        assert (before.rounds, before.whole) == ({"0_0": (2,), "0_2": (2,)}, Answer.NO)
        assert (after.rounds, after.whole) == ({"0_0": (3,), "0_2": (3,)}, Answer.YES)

    def test_with_fewer_standbys_wanted_a_task_may_start_elsewhere_at_best(self) -> None:
        """If the copies that nobody knows of have caught up, 0_0 goes to ``i2``, which is behind."""
        group = random_group(random.Random(18_936)).with_row(stores="persistent")
        fewer = group.with_row(config={**group.row["config"], "num_standby_replicas": 0})
        before, after = _drain_leaving(group), _drain_leaving(fewer)
        assert before.starts == after.starts
        assert [before.tasks["0_0"], after.tasks["0_0"]] == [Answer.UNKNOWN, Answer.YES]
        hosts = {instance["process_id"]: instance["host"] for instance in group.row["instances"]}
        assert [hosts[item.at_best["0_0"][0]] for item in (before, after)] == ["i2", "i1"]

    def test_with_fewer_standbys_wanted_no_copy_is_made_to_which_a_task_moves_on(self) -> None:
        """Beside other unknown copies 0_3 would move on to ``i0``, onto a standby that the plan makes in memory."""
        group = random_group(random.Random(812_004_724))
        fewer = group.with_row(config={**group.row["config"], "num_standby_replicas": 0})
        before, after = _drain_leaving(group), _drain_leaving(fewer)
        assert before.opened == after.opened
        assert before.moved_on == {"0_3"}
        assert [before.tasks["0_3"], after.tasks["0_3"]] == [Answer.UNKNOWN, Answer.YES]

    def test_with_fewer_standbys_a_task_in_memory_may_move_on_earlier(self) -> None:
        """In memory it moves on two rebalances later; without the standby of 0_2 as early as with persistent stores."""
        group = copied(random_group(random.Random(812_006_483)))
        before = [_drain_leaving(each) for each in (group, *_with_stores(group))]
        group.row["instances"][1]["consumers"][1]["standby"].remove("0_2")
        group.row["lags"] = [lag for lag in group.row["lags"] if lag["task_id"] != "0_2"]
        after = [_drain_leaving(each) for each in (group, *_with_stores(group))]
        assert [item.opened == other.opened for item, other in zip(before, after, strict=True)] == [True, True, False]
        assert before[0].moved_on == {"0_1"}
        assert [item.tasks["0_1"] for item in before] == [Answer.UNKNOWN, Answer.YES, Answer.YES]
        assert [item.tasks["0_1"] for item in after] == [Answer.YES] * 3

    def test_with_fewer_standbys_a_task_may_stay_on_the_thread_that_has_its_copy(self) -> None:
        """If the copy of 0_0 has caught up it stays where it is, and another thread of ``i0`` opens 0_1, in memory."""
        group = copied(random_group(random.Random(1_385_885_103)))
        before, after = _drain_without_a_standby(group, 0, 0)
        assert before.opened == after.opened
        assert [before.tasks["0_1"], after.tasks["0_1"]] == [Answer.UNKNOWN, Answer.YES]
        assert [item.at_best["0_1"][1] for item in (before, after)] == [False, True]

    def test_without_one_of_two_copies_that_may_have_caught_up_it_is_known_which_thread_opens_the_other(self) -> None:
        """Copies of 0_0 and 0_3 on ``i1`` may have caught up; without that of 0_0 either case of 0_3 is simulated."""
        group = copied(random_group(random.Random(300_003_643)))
        before, after = _drain_without_a_standby(group, 1, 2)
        assert before.opened == after.opened
        assert before.threads_unknown == {"0_1"}
        assert [before.tasks["0_1"], after.tasks["0_1"]] == [Answer.UNKNOWN, Answer.YES]

    def test_a_copy_of_the_instance_that_stops_decides_nothing(self) -> None:
        """Those of 0_0 on ``i2`` and of 0_2 on ``i3``, which stops, may have caught up; later the former alone."""
        group = random_group(random.Random(460_007_858))
        answers = [_drain(replace(group, later_ms=ms)) for ms in (0, 59_000)]
        assert [(each.tasks["0_0"], each.threads_unknown) for each in answers] == [(Answer.YES, frozenset())] * 2

    def test_a_copy_that_is_made_anew_begins_with_nothing(self) -> None:
        """What the standby of 0_1 has is unknown, and by when the group settles; of a new one the rate tells.

        Whether it is safe stays unknown: 0_0 may restore first.
        """
        group = copied(random_group(random.Random(1_000_129)))
        assert (_bounce(group).whole, _bounce(group).settles) == (Answer.UNKNOWN, False)
        group.row["instances"][0]["consumers"][0]["standby"].remove("0_1")
        assert (_bounce(group).whole, _bounce(group).settles) == (Answer.UNKNOWN, True)

    def test_with_a_lower_limit_a_task_waits_instead_of_restoring_first(self) -> None:
        """0_0 moves to ``i0`` within a limit of 10,000 and restores there for long; with none it waits until then."""
        group = copied(replace(random_group(random.Random(314_104)), restore=55.0))
        within = _check(group)
        assert (within.whole, within.most, list(within.restoring)) == (Answer.NO, 0, ["0_0"])
        group.row["config"]["acceptable_recovery_lag"] = 0
        waited = _check(group)
        assert waited.starts == within.starts
        assert (waited.whole, dict(waited.restoring)) == (Answer.YES, {})

    def test_a_copy_that_is_made_anew_is_known_better_than_one_reported_in_part(self) -> None:
        """Of the standby of 0_1 on ``i1`` one store is known; made anew, by the rate it is caught up when it starts."""
        group = replace(copied(random_group(random.Random(307_799))), trust_ms=0, restore=10_000.0)
        before = _compare(group)
        group.row["instances"][1]["consumers"][1]["standby"].remove("0_1")
        del group.row["lags"][1]
        after = _compare(group)
        assert before.starts == after.starts
        assert [before.whole, after.whole] == [Answer.UNKNOWN, Answer.YES]

    def test_of_two_copies_of_unknown_offset_none_takes_the_task_from_the_other(self) -> None:
        """Kafka lists the copy on ``i2`` first, and 0_0 moves there at worst; not if that on ``i1`` is unknown, too."""
        group = copied(random_group(random.Random(335_071)))
        before = _compare(group)
        group.row["lags"][1]["lag"] = UNKNOWN
        after = _compare(group)
        assert before.starts == after.starts
        assert [before.whole, after.whole, before.most, after.most] == [Answer.UNKNOWN, Answer.UNKNOWN, 2, 1]

    def test_a_report_that_is_trusted_counts_unless_an_end_offset_refutes_it(self) -> None:
        """It had read all 980,000 records, and 20,000 more have been written: it may have read those since, or not."""
        row = one_standby.row()
        row["lags"][0].update(offset=980_000, end_offset=980_000)
        del row["lags"][0]["lag"]
        assert _goes_to(snapshot_from_row(row, "x")) == ("i1", Answer.UNKNOWN)
        del row["tasks"][0]["end_offset_sum"]
        assert _goes_to(snapshot_from_row(row, "x")) == ("i1", Answer.YES)

    def test_a_copy_that_another_thread_opens_is_warm_on_either_stores_and_not_proven_without_them(self) -> None:
        """0_1 changes its thread if its copy has caught up and that of 0_0 has not; if neither has, both stay."""
        group = random_group(random.Random(2486944))
        unsized = worsenings.only_a_lower_bound(random.Random(0), group)
        assert unsized is not None
        assert [_assign(each).whole for each in (group, unsized)] == [Answer.UNKNOWN, Answer.YES]
        assert [_assign(each).whole for each in _with_stores(group)] == [Answer.YES, Answer.YES]

    def test_what_may_restore_when_it_moves_again_is_unknown_and_what_does_is_no_for_all(self) -> None:
        """At half the rate 0_0 restores for sure when it moves on: it still starts warm at once."""
        group = random_group(random.Random(5125))
        before, after = _drain(group), _drain(replace(group, restore=25.0))
        assert (before.whole, before.tasks) == (Answer.UNKNOWN, {"0_0": Answer.UNKNOWN})
        assert (after.whole, after.tasks, after.restoring) == (Answer.NO, {"0_0": Answer.YES}, {"0_0": False})

    def test_a_plan_that_is_cut_off_may_not_settle(self) -> None:
        """One thread of three would restore for 100 probes: none starts cold, whether they are played or not."""
        slow = random_group(random.Random(17))
        assert slow.restore == 50.0
        answers = {}
        for rate in (slow.restore, 5_000.0, None):
            result = bounces.bounce(replace(slow, restore=rate).snapshot, 5_000, slow.options, instances=[slow.busiest])
            assert (result.as_it_is.most_cold, result.as_it_is.still_at_once.most) == (0, 0)
            answers[rate] = result.answer, result.as_it_is.plan.ends("settles")
        assert answers == {
            50.0: (Answer.UNKNOWN, (0, 1)),
            5_000.0: (Answer.YES, (1, 1)),
            None: (Answer.YES, (1, 1)),
        }

    def test_what_a_copy_lacks_that_follows_is_told_with_a_rate_alone(self) -> None:
        """A copy within the limit is warm by Kafka's rule: by how much it then pauses only a rate tells.

        Where that is a tenth of its changelog or more it has not followed it, and without a rate it is unknown.
        """
        for lag, answer in ((900, Answer.YES), (2_400, Answer.UNKNOWN)):
            unrated = snapshot_from_row(one_standby.row(tasks=self.SHORT, lag=lag), "x")
            rated = replace(unrated, rates=replace(unrated.rates, restore_per_instance=50.0))
            assert _goes_to(rated) == ("i1", Answer.NO)
            assert _goes_to(unrated) == ("i1", answer)

    def test_what_one_thread_would_restore_is_told_with_a_rate_alone(self) -> None:
        """0_0 was caught up a second before, when 1,000 records a second were written."""
        rated = random_group(random.Random(61001848))
        answers = [_drain(each).tasks["0_0"] for each in (rated, replace(rated, restore=None))]
        assert answers == [Answer.UNKNOWN, Answer.YES]

    def test_where_nothing_is_known_to_be_written_a_task_may_be_found_caught_up_and_wait(self) -> None:
        """0_1 moves on in the same follow-up: behind by what was written, or as the copy that it waited for."""
        group = random_group(random.Random(75002329))
        unknown = worsenings.produce_unknown(random.Random(0), group)
        assert unknown is not None
        before, after = _assign(group), _assign(unknown)
        assert (before.whole, after.whole, before.rounds) == (Answer.NO, Answer.YES, after.rounds)

    def test_left_over_state_that_is_far_behind_cannot_be_missed(self) -> None:
        """Kafka does not prefer it, so that no task starts cold where it has been deleted."""
        near = random_group(random.Random(644))
        far = worsenings.more_lag(random.Random(0), near)
        assert far is not None
        assert [_assign(each).whole for each in (near, far)] == [Answer.UNKNOWN, Answer.YES]

    def test_by_known_rates_a_copy_that_was_reported_earlier_has_had_longer(self) -> None:
        """0_0 was 100 records behind, which is the limit: an hour later it is none, and 513 when it starts."""
        group = random_group(random.Random(50000022))
        older = worsenings.older_reports(random.Random(50000022), group)
        assert older is not None
        assert [_assign(each).whole for each in (group, older)] == [Answer.UNKNOWN, Answer.YES]

    def test_in_a_plan_a_lower_bound_is_simulated_at_one_end_and_a_copy_that_was_never_reported_at_both(self) -> None:
        """0_3 is restored beside a copy that is behind by an unknown number of records."""
        bounded = random_group(random.Random(50004801))
        silent = worsenings.fewer_reports(random.Random(50004801), bounded)
        assert silent is not None
        assert [_assign(each).whole for each in (bounded, silent)] == [Answer.UNKNOWN, Answer.YES]

    def test_a_while_later_more_copies_are_unknown_and_count_as_caught_up_together(self) -> None:
        """That of 0_1 may have caught up and 0_0 has not, so that 0_1 moves; later it is unknown of both."""
        group = random_group(random.Random(80004658)).with_row(stores="in-memory")
        answers = [_assign(replace(group, later_ms=later_ms)) for later_ms in (0, 3_600_000)]
        assert [(each.whole, each.starts) for each in answers] == [(Answer.UNKNOWN, {}), (Answer.YES, {})]

    def test_a_while_later_it_may_be_known_which_thread_opens_a_copy(self) -> None:
        """Of 0_0 nothing is written, so that nothing is restored, whichever thread opens it; of 0_1 it is unknown."""
        seed = 811_019_598
        group = random_group(random.Random(seed))
        later = worsenings.asked_later(random.Random(seed), group)
        assert later is not None
        before, after = _drain(group), _drain(later)
        assert before.opened == after.opened
        assert before.threads_unknown == {"0_0"}
        assert [each.tasks for each in (before, after)] == [
            {"0_0": Answer.UNKNOWN, "0_1": Answer.UNKNOWN},
            {"0_0": Answer.YES, "0_1": Answer.UNKNOWN},
        ]

    def test_left_over_state_that_may_have_been_deleted_is_not_preferred_at_that_end(self) -> None:
        """If it is deleted early 0_0 does not go there, so that 0_3 stays on its thread and keeps its own state."""
        group = random_group(random.Random(854))
        older = worsenings.older_reports(random.Random(0), group)
        assert older is not None
        assert [_assign(each).whole for each in (group, older)] == [Answer.UNKNOWN, Answer.YES]
        undeleted = random_group(random.Random(3054136))
        assert _assign(undeleted).whole is Answer.UNKNOWN
        assert _assign(replace(undeleted, later_ms=3_661_000)).whole is Answer.YES

    def test_what_a_task_lacks_that_kafka_moves_again_is_told_with_a_rate_alone(self) -> None:
        """Kafka waits until its copy is within the limit; how much of that it then lacks depends on the rate."""
        group = random_group(random.Random(1040221233))
        unknown = worsenings.restore_unknown(random.Random(0), group)
        assert unknown is not None
        assert [_drain_leaving(each).tasks["0_2"] for each in (group, unknown)] == [Answer.NO, Answer.YES]

    def test_at_a_slower_rate_kafka_waits_for_what_would_be_restored_first_where_it_moves_again(self) -> None:
        """At one thread's part of 5,000/s the copy of 0_0 is within the limit at a probe; at 2,500/s it is not."""
        group = random_group(random.Random(560_000_906))
        slower = worsenings.slower_restore(random.Random(560_000_906), group)
        assert slower is not None
        answers = [_drain(each) for each in (group, slower)]
        assert [each.tasks["0_0"] for each in answers] == [Answer.UNKNOWN, Answer.YES]
        assert [set(each.restoring) for each in answers] == [{"0_0"}, set()]
        assert {len(each.starts["0_0"]) for each in answers} == {2}

    def test_nor_is_what_one_of_others_lacks_that_kafka_moves_later_told_without_a_rate(self) -> None:
        """0_0 moves once its copy is within the limit; beside a copy of unknown size it may lack 10,000 records."""
        group = random_group(random.Random(610_001_208))
        answers = [_drain_leaving(each) for each in (group, replace(group, restore=None))]
        assert [(each.whole, each.within_limit) for each in answers] == [
            (Answer.UNKNOWN, {"0_0"}),
            (Answer.YES, frozenset()),
        ]

    def test_a_copy_that_was_never_reported_is_simulated_at_both_ends_and_a_lower_bound_is_not(self) -> None:
        """Beside a copy that lacks at least 50 records another one restores for an unknown time.

        One that was never reported lacks its whole changelog or nothing, and both are simulated.
        """
        bounded = random_group(random.Random(65039))
        silent = worsenings.fewer_reports(random.Random(65039), bounded)
        assert silent is not None
        assert _reported_in_part(bounded) - _reported_in_part(silent)
        assert [_drain(each).tasks["0_2"] for each in (bounded, silent)] == [Answer.UNKNOWN, Answer.YES]

    def test_under_a_lower_limit_a_plan_may_never_move_what_it_moves_at_one_end_of_its_rates(self) -> None:
        """At the faster end 0_2 moves within a limit of 100, and another thread opens stores in memory; at 0 none."""
        high = random_group(random.Random(321))
        low = high.with_row(config={**high.row["config"], "acceptable_recovery_lag": 0})
        answers = [_assign(each) for each in (high, low)]
        assert [(each.whole, each.settles) for each in answers] == [(Answer.UNKNOWN, False), (Answer.YES, True)]

    @pytest.mark.parametrize(
        ("command", "seed", "worsening"),
        [(_assign, 110003787, worsenings.faster_produce), (_simulate_crash, 111000766, worsenings.slower_restore)],
    )
    def test_at_worse_rates_no_copy_comes_close_enough_so_that_a_plan_ends(
        self, command: Command, seed: int, worsening: Worsening
    ) -> None:
        group = random_group(random.Random(seed))
        worse = worsening(random.Random(seed), group)
        assert worse is not None
        answers = [command(each) for each in (group, worse)]
        assert [(each.whole, each.settles) for each in answers] == [(Answer.UNKNOWN, False), (Answer.YES, True)]

    def test_without_what_is_written_nothing_tells_that_a_copy_may_never_catch_up(self) -> None:
        """One thread of three restores 17 records a second, and 20 are written."""
        group = random_group(random.Random(440_000_169))
        assert (group.restore, group.produce) == (50.0, 20.0)
        answers = [_bounce(each) for each in (group, replace(group, produce=None))]
        assert [(each.whole, each.settles) for each in answers] == [(Answer.UNKNOWN, False), (Answer.YES, True)]

    def test_without_standbys_a_task_may_go_to_another_instance_and_not_to_another_thread(self) -> None:
        """With one, 0_1 may change its thread on ``i0``, and loses its store in memory; with none ``i2`` gets it."""
        one = random_group(random.Random(110000084))
        none = one.with_row(config={**one.row["config"], "num_standby_replicas": 0})
        assert one.row["stores"] == "in-memory"
        assert [_assign(each).whole for each in (one, none)] == [Answer.UNKNOWN, Answer.YES]

    def test_under_a_lower_limit_kafka_waits_for_what_would_be_restored_first(self) -> None:
        """Beside a copy of unknown size another one may lack what the limit allows; at 0 it moves without a gap."""
        high = random_group(random.Random(2209365))
        low = high.with_row(config={**high.row["config"], "acceptable_recovery_lag": 0})
        answers = [_drain_leaving(each) for each in (high, low)]
        assert [each.tasks["0_3"] for each in answers] == [Answer.UNKNOWN, Answer.YES]
        assert [each.within_limit for each in answers] == [{"0_0", "0_2", "0_3"}, set()]

    def test_under_a_lower_limit_kafka_waits_for_what_one_thread_would_restore_first(self) -> None:
        """0_1 moves on within a limit of 10,000 and restores first if one thread does; at 0 it moves without a gap."""
        high = random_group(random.Random(78235252))
        low = worsenings.lower_limit(random.Random(1), high)
        assert low is not None
        answers = [_drain(each) for each in (high, low)]
        assert [each.tasks["0_1"] for each in answers] == [Answer.UNKNOWN, Answer.YES]
        assert [set(each.restoring) for each in answers] == [{"0_1"}, set()]


class TestFoundByGroups:
    """Groups that were answered as safer than they are, each with what was missed."""

    def test_a_task_that_moves_where_no_copy_has_caught_up_was_not_waited_for(self) -> None:
        """Without a rate its copy was assumed to catch up by the follow-up, and the start not to need a proof."""
        unrated = worsenings.restore_unknown(random.Random(0), random_group(random.Random(436873889)))
        assert unrated is not None
        assert _assign(unrated).whole is Answer.UNKNOWN

    def test_nor_was_one_that_moves_there_after_all_who_leave_have_left(self) -> None:
        """0_2 is revoked for another thread, and the follow-up gives it to a standby 19,500 records behind."""
        behind = worsenings.more_lag(random.Random(0), random_group(random.Random(258)))
        assert behind is not None
        assert behind.row["stores"] == "persistent"
        assert _assign(behind).whole is Answer.UNKNOWN

    def test_at_one_threads_rate_a_task_may_go_elsewhere_and_at_a_rate_between_restores_within_the_limit(self) -> None:
        """At 2,500/s i0 gets 0_1 and 0_2 warm, at 833/s another instance does, and at 1,667/s i0 with 7,111 to go."""
        slower = worsenings.slower_restore(random.Random(1), random_group(random.Random(561180799)))
        assert slower is not None
        answers = _drain(slower).tasks
        assert [answers[task] for task in ("0_1", "0_2", "0_3")] == [Answer.UNKNOWN, Answer.UNKNOWN, Answer.YES]

    def test_which_copies_have_caught_up_decides_which_thread_opens_one(self) -> None:
        """If that of 0_2 has and that of 0_3 has not, 0_3 changes threads, and its stores in memory are lost.

        Two plans are simulated: all copies of unknown lag have caught up, and none has.
        """
        behind = worsenings.more_lag(random.Random(50005900), random_group(random.Random(50005900)))
        assert behind is not None
        assert _assign(behind).whole is Answer.UNKNOWN
        assert _assign(behind.with_row(stores="persistent")).whole is Answer.YES

    def test_nor_was_it_asked_at_other_ends_of_a_plan_whose_stores_are_unknown(self) -> None:
        """Where 0_0 and 0_2 have caught up they may change threads at once; in memory, their stores are then lost."""
        known = random_group(random.Random(200006851))
        unknown = worsenings.stores_unknown(random.Random(0), known)
        assert unknown is not None
        answers = [_assign(each) for each in (known, unknown)]
        assert [(each.whole, each.most) for each in answers] == [(Answer.UNKNOWN, 2), (Answer.UNKNOWN, 2)]
        assert _assign(unknown.with_row(stores="persistent")).whole is Answer.YES

    def test_a_copy_that_was_never_reported_did_not_restore_since_another_one_was(self) -> None:
        """0_0 was reported a day before: at 50/s the silent copy of 0_2 would have been restored by now."""
        silent = worsenings.fewer_reports(random.Random(90002921), random_group(random.Random(90002921)))
        assert silent is not None
        assert _assign(silent).whole is Answer.NO

    def test_how_much_a_copy_lacks_is_asked_without_a_rate_too(self) -> None:
        """A copy at least 5,000 records behind was within the limit, and how far it is at most is unknown."""
        unsized = worsenings.end_offset_unknown(random.Random(0), random_group(random.Random(1105)))
        assert unsized is not None
        assert _bounce(unsized).whole is Answer.UNKNOWN

    def test_a_copy_of_unknown_size_may_take_nothing_of_the_rate_that_others_restore_at(self) -> None:
        """At the faster end 0_1 moves after 3 s, to another thread that may lose it; so it does beside an empty 0_2."""
        group = random_group(random.Random(400_001_875))
        unsized = worsenings.end_offset_unknown(random.Random(400_001_875), group)
        assert unsized is not None
        answers = [_assign(each) for each in (group, unsized)]
        assert answers[0].rounds == answers[1].rounds
        assert [(each.whole, each.most) for each in answers] == [(Answer.UNKNOWN, 1), (Answer.UNKNOWN, 1)]


class TestEachCanFail:
    """A planner that is wrong in one way breaks the relation that is about it."""

    @staticmethod
    def _breaks(holds: Callable[[Given, random.Random], None], number: int = 200) -> None:
        def all_hold() -> None:
            for seed in range(number):
                rng = random.Random(seed)
                holds(random_group(rng), rng)

        with pytest.raises(AssertionError):
            all_hold()

    @staticmethod
    def _evidence(monkeypatch: pytest.MonkeyPatch, *facts: Fact) -> None:
        """Have copies of which it is unknown by one of these facts count as caught up."""
        honest = KnownCopies.evidence_of

        def evidence_of(known: KnownCopies, *place: Any, **moment: Any) -> Evidence:
            evidence = honest(known, *place, **moment)
            return replace(evidence, known=Known.CAUGHT_UP) if evidence.fact in facts else evidence

        monkeypatch.setattr(KnownCopies, "evidence_of", evidence_of)

    @pytest.mark.parametrize("command", [_drain_leaving, _simulate_leave])
    @pytest.mark.parametrize(
        ("fact", "worsening"),
        [
            (Fact.UNDATED, worsenings.capture_time_unknown),
            (Fact.OLD_REPORT, worsenings.produce_unknown),
        ],
    )
    def test_what_is_unknown_counts_as_caught_up(
        self, monkeypatch: pytest.MonkeyPatch, command: Command, fact: Fact, worsening: Worsening
    ) -> None:
        self._evidence(monkeypatch, fact)
        self._breaks(lambda group, rng: never_safer(command, worsening, group, rng))

    def test_a_cold_start_counts_as_warm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(DrainNow, "answers", property(lambda now: {task.task_id: Answer.YES for task in now.now}))
        self._breaks(lambda group, rng: never_warm_by_mistake(group, leave=True))

    def test_an_alternative_has_another_setting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        other = Variant(change=Change("as", "it is"), settings=(("num_standby_replicas", 3),))
        monkeypatch.setitem(globals(), "_AS_IT_IS", other)
        self._breaks(lambda group, _rng: as_the_single_command(group), 20)

    def test_a_saved_plan_lacks_something(self, monkeypatch: pytest.MonkeyPatch) -> None:
        honest = plan_json

        def lacking(plan: Plan) -> str:
            return honest(replace(plan, warnings=(), unproven_starts=()))

        monkeypatch.setitem(globals(), "plan_json", lacking)
        self._breaks(lambda group, _rng: as_the_saved_plan(group), 50)

    def test_a_scale_out_has_another_instance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        honest = scale_out

        def with_threads(*place: Any, **how: Any) -> Scenario:
            return honest(*place, **how | {"threads": 5})

        monkeypatch.setitem(globals(), "scale_out", with_threads)
        self._breaks(lambda group, _rng: as_a_scale_out(group), 20)

    def test_the_first_instance_of_a_row_leads(self) -> None:
        def read(row: dict[str, Any], where: str) -> Snapshot:
            found = snapshot_from_row(row, where)
            first = found.state.group.instance_index[row["instances"][0]["process_id"]]
            return replace(found, state=replace(found.state, leader=first))

        self._breaks(lambda group, rng: in_any_order(group, rng, read), 20)
