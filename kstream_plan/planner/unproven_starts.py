"""The starts of a plan that count as warm though nothing proves it: their former owner is gone, they cannot wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kstream_plan.engine.codes import POLL_RECORDS
from kstream_plan.model import UNKNOWN, Group, Holding, Snapshot, Task
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.model.ranking import reported_lag
from kstream_plan.model.scenario import Burst, ProduceRate, RestoreRate
from kstream_plan.planner.external_events import ExternalEvents
from kstream_plan.planner.membership_timeline import MembershipTimeline, PaceChange
from kstream_plan.planner.restores import NOTABLE_MS
from kstream_plan.plans import (
    FigureRange,
    MemberJoined,
    MemberLeft,
    ReasonCode,
    Round,
    Summary,
    Trigger,
)
from kstream_plan.plans.caught_up_evidence import (
    AS_READ,
    NOTHING_ASSUMED,
    AssumedFacts,
    Course,
    Evidence,
    Fact,
    Known,
    KnownCopies,
    UnprovenStart,
    options_that_tell,
    written_at,
)
from kstream_plan.plans.design import CopyDoubt, Design
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import (
    ACTIVE,
    CODES,
    DEMOTE,
    DROP,
    HAND_OVER,
    KEEP_TEMPORARY,
    MEMBER_LEFT,
    NO_SEAT,
    NOT_KNOWN,
    PLACE,
    PROMOTE,
    STARTS,
    THREAD_MOVE,
    WITHHOLD,
    are,
    in_batches,
)
from kstream_plan.plans.summary import FIGURES

#: Why a task goes where no copy has caught up, by the number in a row.
_UNAWAITED = tuple(
    map(CODES.index, (ReasonCode.NO_STATE_ANYWHERE, ReasonCode.MOST_CAUGHT_UP, ReasonCode.TARGET_WARMS_UP))
)
_BESIDE_UNSIZED = "beside copies that restore an unknown number of records"
#: What tells how many those are.
_TELLS_SIZE = ("--metrics with end offsets",)
#: What is known of a copy where it is unknown which thread opens it, and its stores are in memory, or may be.
_THREAD_UNKNOWN = Evidence(
    known=Known.UNKNOWN,
    fact=Fact.IN_MEMORY,
    words="which copies have caught up decides which thread opens one, and its stores are in memory",
    settled_by=("--metrics",),
)
_THREAD_AND_STORES_UNKNOWN = replace(
    _THREAD_UNKNOWN,
    fact=Fact.STORES_UNKNOWN,
    words="which copies have caught up decides which thread opens one, and its stores may be in memory",
    settled_by=("--set stores=persistent", "--metrics"),
)
#: What closes a task on one thread, or opens it on another one.
_TO_THREADS = (THREAD_MOVE, KEEP_TEMPORARY, PLACE, DEMOTE, DROP, HAND_OVER, PROMOTE, WITHHOLD)


def unproven_starts(
    snapshot: Snapshot,
    design: Design,
    group: Group,
    initial: Sequence[Holding],
    rounds: Sequence[Round],
    outside: MembershipTimeline,
    *,
    now_ms: int,
    trust_ms: int | None,
    undated: bool = False,
    assumed: AssumedFacts = NOTHING_ASSUMED,
    doubts: Sequence[CopyDoubt] = (),
) -> tuple[UnprovenStart, ...]:
    """Return the starts that count as warm, and are not proven to be, in time.

    Where a design moves tasks only once a copy has reported that it caught up, those do not count whose former owner
    runs them. It does not wait for an owner that is still to restore itself, nor for a copy whose offset is unknown:
    Kafka's marker of that is below every lag. Nothing is proven of a group whose snapshot may be of any time before
    now.

    Args:
        snapshot: what was read.
        design: how the group coordinates.
        group: all members that take part in the rounds.
        initial: what each holds at first.
        rounds: what follows.
        outside: what happens to the group.
        now_ms: when the plan begins, on the snapshot's clock.
        trust_ms: how old a report may be that counts as true, as of :class:`KnownCopies`.
        undated: when the plan begins is not known on that clock, though it is said what time it is.
        assumed: what counts as true in the plan though it is unknown.
        doubts: copies that may or may not have caught up by the first rebalance: it is unknown.
    """
    if not group.stateful or snapshot.group_protocol == "connect":  # connectors and tasks have no state
        return ()
    read_copies = replace(
        known_copies(snapshot, outside.paces, now_ms=now_ms, trust_ms=trust_ms), undated=undated, assumed=assumed
    )
    marked = frozenset(
        (task, copy.instance)
        for task, copies in enumerate(snapshot.state.copies)
        for copy in copies
        if copy.lag == UNKNOWN
    )
    in_doubt = [(group.task_index[doubt.task_id], doubt.process_id) for doubt in doubts]
    if undated:  # how long copies have had is unknown, and the plan begins as if it were no time
        in_doubt = [copy for copy, _ in _incomplete_copies(snapshot, group, initial)]
    threads_unknown = _threads_unknown(snapshot, group, rounds, in_doubt, both_simulated=not undated)
    process_of = [group.instances[instance].process_id for instance in group.instance_of]
    follower = _Follower(read_copies, design, group, process_of, now_ms, marked, threads_unknown)
    follower.follow(initial, rounds)
    follower.restarted_in_place(initial, rounds, outside)
    return tuple(sorted(follower.starts, key=lambda start: (start.at_ms, start.task_id.sort_key)))


def with_unproven(
    ranges: tuple[FigureRange, ...], summary: Summary, unproven: Sequence[UnprovenStart]
) -> tuple[FigureRange, ...]:
    """Return the ranges of a plan, with the cold starts that there are if none of the unproven ones is warm."""
    if not unproven:
        return ranges
    likely_cold, worst = summary.cold_handovers, summary.cold_handovers + len(unproven)
    cold_range = next((figure_range for figure_range in ranges if figure_range.figure == "cold_handovers"), None)
    low, high = (likely_cold, likely_cold) if cold_range is None else cold_range[1:]
    cold = FigureRange("cold_handovers", min(low, likely_cold), max(high, worst))
    other_ranges = [figure_range for figure_range in ranges if figure_range.figure != "cold_handovers"]
    return tuple(sorted([*other_ranges, cold], key=lambda figure_range: FIGURES.index(figure_range.figure)))


def known_copies(snapshot: Snapshot, paces: Sequence[PaceChange], *, now_ms: int, trust_ms: int | None) -> KnownCopies:
    """Return what is known of copies where a scenario says what is written, and how fast all restore."""
    if not paces:
        return KnownCopies(snapshot, now_ms, trust_ms)
    outside = ExternalEvents(snapshot.state.group, snapshot.rates, paces=paces)
    return KnownCopies(
        snapshot,
        now_ms,
        trust_ms,
        records_written=partial(_written_records, snapshot, outside, now_ms),
        bursts=partial(_bursts, snapshot.state.group, paces, now_ms),
        restores_as_given=any(
            isinstance(pace, RestoreRate) and not pace.process_ids and pace.at_ms <= 0 for pace in paces
        ),
        writes_as_given=any(
            isinstance(pace, ProduceRate) and pace.subtopology is None and pace.at_ms <= 0 for pace in paces
        ),
    )


def _written_records(
    snapshot: Snapshot, outside: ExternalEvents, now_ms: int, task: int, from_ms: int, to_ms: int
) -> int | None:
    """Return what is written to a task's changelogs in a time, on the snapshot's clock; ``None``: not known."""
    if to_ms <= now_ms:
        return written_at(snapshot, task, from_ms, to_ms)
    given_from_ms = min(
        (
            pace.at_ms
            for pace in outside.paces
            if isinstance(pace, ProduceRate) and pace.subtopology in (None, outside.group.subtopologies[task])
        ),
        default=None,
    )
    begun_ms = to_ms if given_from_ms is None else min(to_ms, max(from_ms, now_ms + given_from_ms))
    records = written_at(snapshot, task, from_ms, begun_ms)
    if records is None:
        return None
    records += _bursts(outside.group, outside.paces, now_ms, task, from_ms, begun_ms)
    return records + (0 if begun_ms == to_ms else outside.produced(task, begun_ms - now_ms, to_ms - now_ms))


def _bursts(group: Group, paces: Sequence[PaceChange], now_ms: int, task: int, from_ms: int, to_ms: int) -> int:
    """Return what is written to a task's changelogs at once within a time, on the snapshot's clock."""
    return sum(
        pace.records
        for pace in paces
        if isinstance(pace, Burst)
        and from_ms < pace.at_ms + now_ms <= to_ms
        and pace.subtopology in (None, group.subtopologies[task])
    )


@dataclass(slots=True)
class _Follower:
    """Follows a plan's rounds; private to one call.

    Attributes:
        process_of: the process id of each consumer.
        marked: copies, as (task, instance), that reported that they do not know their offset.
        threads_unknown: process ids of instances where it is unknown which thread opens a copy at the first decision.
        orphans: stateful task → when its owner stopped, on the plan's clock; ``None``: it was not running at first.
        ran_until: (task, process id) → until when that instance ran the task, on the plan's clock.
        restarted: process id → since when it is back, on the plan's clock.
        closed_in: (task, process id) → the round in which the instance's copy changed its thread.
        between_threads: tasks that their owner has closed for another of its threads, which has not opened them.
        decided_in: the last round that was no follow-up.
        restoring: task that its owner may still restore, and the plan does not tell for how long → process id.
        records_behind: (task, process id) → how many records its copy lacked at most when it was reported or made.
        unsized: process id → tasks of which it restores, or restored, an unknown number of records.
        warm: what each task restores that counts as warm, by process id and task, of the round that is looked at.
        beside_unsized: (task, process id) of those that were restored before that beside unsized ones.
    """

    known_copies: KnownCopies
    design: Design
    group: Group
    process_of: Sequence[str]
    now_ms: int
    marked: frozenset[tuple[int, int]]
    threads_unknown: frozenset[str]
    orphans: dict[int, int | None] = field(default_factory=dict)
    ran_until: dict[tuple[int, str], int] = field(default_factory=dict)
    restarted: dict[str, int] = field(default_factory=dict)
    closed_in: dict[tuple[int, str], int] = field(default_factory=dict)
    between_threads: set[int] = field(default_factory=set)
    decided_in: int = 0
    restoring: dict[int, str] = field(default_factory=dict)
    records_behind: dict[tuple[int, str], int] = field(default_factory=dict)
    unsized: dict[str, set[int]] = field(default_factory=dict)
    warm: dict[str, dict[int, int]] = field(default_factory=dict)
    beside_unsized: set[tuple[int, str]] = field(default_factory=set)
    starts: list[UnprovenStart] = field(default_factory=list)

    def follow(self, initial: Sequence[Holding], rounds: Sequence[Round]) -> None:
        """Look at the starts of all rounds that may be cold."""
        stateful, holdings = set(self.group.stateful), apart_from_stateless(initial)
        run = {task for holding in holdings for task in holding.active}
        self.orphans = dict.fromkeys(sorted(stateful - run))
        last = _last_to_look_at(rounds)
        on_disk = self.known_copies.snapshot.stores == "persistent"
        has_unsized = self._has_unsized()
        # of them a copy may take an unknown part of the rate that its instance is known to restore at
        any_unsized = (
            has_unsized and self.known_copies.snapshot.rates.any_restore and not self.known_copies.assumed.caught_up
        )
        at_first = list(_incomplete_copies(self.known_copies.snapshot, self.group, holdings)) if any_unsized else []
        for copy, lag in at_first:
            self._lacks(*copy, lag)
        for place, rnd in enumerate(rounds):
            self._members(rnd, holdings)
            waits = on_disk and not (self.orphans or self.restoring or self.marked or self.known_copies.undated)
            if rnd.number > last and waits and not has_unsized and self.design.moves_when_caught_up:
                break
            if rnd.trigger is not Trigger.FOLLOW_UP:
                self.decided_in = place
                self.threads_unknown = self.threads_unknown if rnd is rounds[0] else frozenset()
            unproven = len(self.starts)
            for at_ms, steps in _moments(rnd):
                if not on_disk:
                    self._threads(at_ms, place, steps)
                self._starts(at_ms, steps, holdings)
                if any_unsized:
                    self._note_new_copies(steps)
            self._beside_unknown(rnd.at_ms, self.starts[unproven:])
            while at_first:  # until the first rebalance they take the most that they can
                copy, lag = at_first.pop()
                self._takes_of_rate(*copy, lag)
            holdings = apart_from_stateless(rnd.assigned)

    def _has_unsized(self) -> bool:
        """Tell whether it is unknown how many records a copy has to restore."""
        all_known = all(self.group.tasks[task].end_offset_known for task in self.group.stateful)
        return not all_known or bool(self.known_copies.snapshot.least_lags)

    def _note_new_copies(self, steps: RoundSteps) -> None:
        """Note which copies are made, or begin again, and lack something."""
        in_memory = self.known_copies.snapshot.stores == "in-memory"
        columns = ("kind", "task", "to_consumer", "to_role", "restore_records")
        for kind, task, to_consumer, to_role, restore_records in _columns(steps, (PLACE, THREAD_MOVE), columns):
            records = restore_records if kind == PLACE and restore_records != NOT_KNOWN else None
            begins = kind == PLACE or (in_memory and to_role != ACTIVE)
            if begins and records != 0 and self.group.tasks[task].stateful:
                self._lacks(task, self.process_of[to_consumer], records)
                self._takes_of_rate(task, self.process_of[to_consumer], records)

    def _lacks(self, task: int, process_id: str, records: int | None) -> None:
        """Note how many records a copy lacks; ``None``: at most its whole changelog."""
        self.records_behind[task, process_id] = self.group.tasks[task].end_offset_sum if records is None else records

    def _takes_of_rate(self, task: int, process_id: str, records: int | None) -> None:
        """Note that an instance restores these records of a task; ``None``: at most its whole changelog."""
        is_least = (task, self._instance(process_id)) in self.known_copies.snapshot.least_lags
        if records is None and (is_least or not self.group.tasks[task].end_offset_known):
            self.unsized.setdefault(process_id, set()).add(task)

    def _is_beside_unsized(self, task: int, process_id: str) -> bool:
        """Tell whether a copy shared its instance's restore rate with copies of unknown size; it may be one."""
        return (task, process_id) in self.records_behind and process_id in self.unsized

    def restarted_in_place(
        self, initial: Sequence[Holding], rounds: Sequence[Round], outside: MembershipTimeline
    ) -> None:
        """Look at what static members start again that were away unnoticed."""
        for outage in outside.unnoticed:
            earlier_holdings = [rnd.assigned for rnd in rounds if rnd.at_ms <= outage.from_ms]
            holdings = apart_from_stateless(earlier_holdings[-1] if earlier_holdings else initial)
            instance = self.group.instance_index[outage.process_id]
            course = Course(
                ran_until_ms=outage.from_ms + self.now_ms,
                restarted_ms=outage.to_ms + self.now_ms,
            )
            for consumer in self.group.consumers_of[instance]:
                for task in holdings[consumer].active:
                    self._look(task, outage.process_id, outage.to_ms, outage.from_ms, course)

    def _members(self, rnd: Round, holdings: Sequence[Holding]) -> None:
        """Note the members that left and those that are back."""
        for step in rnd.member_steps:
            instance = self.group.instance_index[step.process_id]
            if isinstance(step, MemberLeft):
                for consumer in self.group.consumers_of[instance]:
                    for task in holdings[consumer].active:
                        self.orphans[task] = step.stopped_at_ms
                        self.ran_until[task, step.process_id] = step.stopped_at_ms
            elif isinstance(step, MemberJoined):
                self.restarted[step.process_id] = rnd.at_ms

    def _threads(self, at_ms: int, place: int, steps: RoundSteps) -> None:
        """Note the copies that change threads, and look at the tasks that do: stores in memory do not move there."""
        in_memory = self.known_copies.snapshot.stores == "in-memory"
        columns = ("kind", "task", "from_consumer", "to_consumer", "to_role")
        for kind, task, from_consumer, to_consumer, to_role in _columns(steps, _TO_THREADS, columns):
            if not self.group.tasks[task].stateful:
                continue
            if kind == DROP:
                self.closed_in[task, self.process_of[from_consumer]] = place
                continue
            process_id = self.process_of[to_consumer]
            moves_in_place = from_consumer != NO_SEAT and self.process_of[from_consumer] == process_id
            if kind == WITHHOLD:
                if moves_in_place:
                    self.between_threads.add(task)
                continue
            if not moves_in_place:
                if kind == PLACE:
                    self.closed_in.pop((task, process_id), None)
            elif not in_memory and (from_consumer != to_consumer or kind == HAND_OVER):
                self.closed_in[task, process_id] = place
            if kind == THREAD_MOVE and to_role == ACTIVE:
                self.between_threads.discard(task)
                self._look(task, process_id, at_ms, at_ms, self._closed_at(at_ms))

    def _closed_at(self, at_ms: int) -> Course:
        """Return the course of a copy that had caught up until another thread opened it, at a time of the plan."""
        return Course(ran_until_ms=at_ms + self.now_ms, closed=True)

    def _starts(self, at_ms: int, steps: RoundSteps, holdings: Sequence[Holding]) -> None:
        """Look at the starts of one moment; ``holdings`` are those before it."""
        columns = ("kind", "task", "from_consumer", "to_consumer", "caught_up", "restore_records", "lag", "reason")
        for kind, task, from_consumer, to_consumer, caught_up, restore_records, lag, code in _columns(
            steps, STARTS, columns
        ):
            if not self.group.tasks[task].stateful:
                continue
            is_orphan = task in self.orphans
            stopped_ms = self.orphans.pop(task, None)
            process_id, is_revoked = self.process_of[to_consumer], kind == HAND_OVER and from_consumer != NO_SEAT
            if is_revoked:
                self.ran_until[task, self.process_of[from_consumer]] = at_ms
            is_doubted, unproven = False, len(self.starts)
            lacks, records = (max(0, lag), 0) if restore_records == NOT_KNOWN else (restore_records, restore_records)
            waits = self.design.moves_when_caught_up and self._waits(
                task, process_id, code, is_run=is_revoked or not is_orphan
            )
            is_beside = self._is_beside_unsized(task, process_id)
            if caught_up and not (waits and (is_beside or restore_records != NOT_KNOWN)):
                course = self._course(task, process_id, holdings)
                is_doubted = self._look(task, process_id, at_ms, stopped_ms, course, lacks)
            elif caught_up and self.closed_in.get((task, process_id), -1) >= self.decided_in:
                self._look(task, process_id, at_ms, stopped_ms, self._closed_at(at_ms), lacks)
            elif caught_up and is_beside:
                most = min(
                    self.known_copies.snapshot.config.acceptable_recovery_lag, self.records_behind[task, process_id]
                )
                records = max(records, most)
                self.beside_unsized.add((task, process_id))
            if caught_up and len(self.starts) == unproven and process_id in self.threads_unknown:
                in_memory = self.known_copies.snapshot.stores == "in-memory"
                self._add(task, process_id, at_ms, _THREAD_UNKNOWN if in_memory else _THREAD_AND_STORES_UNKNOWN)
            if caught_up and not is_doubted and records:
                self.warm.setdefault(process_id, {})[task] = records
            self.records_behind.pop((task, process_id), None)
            self.restoring.pop(task, None)
            self.between_threads.discard(task)
            if (is_doubted or not caught_up) and not self._tells_restores(task, self._instance(process_id)):
                self.restoring[task] = process_id
                self._takes_of_rate(task, process_id, None)

    def _beside_unknown(self, at_ms: int, unproven: Sequence[UnprovenStart]) -> None:
        """Look at what counts as warm and restores beside tasks that restore an unknown number of records.

        All tasks that an instance restores share its rate, so that each takes at most as often as long as they are.
        """
        if not self.warm:
            return
        index = self.group.task_index
        unproven_evidence = {(start.process_id, index[start.task_id]): start.evidence for start in unproven}
        evidence = {
            (process_id, task): unproven_evidence.get((process_id, task)) for task, process_id in self.restoring.items()
        }
        evidence |= unproven_evidence
        for process_id, restoring in self.warm.items():
            rate = self._restore_rate(self._instance(process_id))
            other_evidence = {
                task: task_evidence for (other_id, task), task_evidence in evidence.items() if other_id == process_id
            }
            most = len(other_evidence.keys() | restoring.keys())
            for task, records in restoring.items():
                was_beside = (task, process_id) in self.beside_unsized
                if (
                    task in other_evidence
                    or not (other_evidence or was_beside)
                    or not rate
                    or 1000 * most * records < NOTABLE_MS * rate
                ):
                    continue
                words = f"it restores {records:,} records beside tasks that restore an unknown number of them"
                if was_beside:
                    words = f"it was restored {_BESIDE_UNSIZED}, so that it may lack up to {records:,} records"
                settle = options_that_tell(
                    task_evidence for task_evidence in other_evidence.values() if task_evidence is not None
                )
                settle = tuple(dict.fromkeys((*settle, *(_TELLS_SIZE if was_beside else ()))))
                task_evidence = Evidence(known=Known.UNKNOWN, fact=Fact.WITHIN_LIMIT, words=words, settled_by=settle)
                self._add(task, process_id, at_ms, task_evidence)
        self.warm.clear()
        self.beside_unsized.clear()

    def _waits(self, task: int, process_id: str, code: int, *, is_run: bool) -> bool:
        """Tell whether a design that moves tasks to copies that have caught up waited for this one.

        A task that goes where no copy has caught up does not wait, nor one that does not run meanwhile (``is_run``).
        The state of the group is unknown if the age of the snapshot is. A task between two threads may have nothing
        left to wait with: its stores may be in memory.
        """
        if self.known_copies.undated or task in self.restoring or task in self.between_threads:
            return False
        return is_run and code not in _UNAWAITED and (task, self._instance(process_id)) not in self.marked

    def _look(
        self, task: int, process_id: str, at_ms: int, stopped_ms: int | None, course: Course, lacks: int = 0
    ) -> bool:
        """Write a start down unless it is proven to be warm; tell whether it may restore on any stores.

        ``lacks``: so many records its copy lacks in the plan.
        """
        evidence = self.known_copies.evidence_of(
            task,
            self._instance(process_id),
            at_ms + self.now_ms,
            written_until_ms=None if stopped_ms is None else stopped_ms + self.now_ms,
            course=course,
            likely=True,
        )
        if evidence.fact is Fact.RATES and self._is_beside_unsized(task, process_id):
            evidence = self._without_rates(evidence, task, process_id)
        evidence = self._with_what_it_restores(evidence, task, self._instance(process_id), lacks)
        if evidence.known is not Known.CAUGHT_UP:
            self._add(task, process_id, at_ms, evidence)
        return evidence.known is not Known.CAUGHT_UP and evidence.fact is not Fact.STORES_UNKNOWN

    def _add(self, task: int, process_id: str, at_ms: int, evidence: Evidence) -> None:
        task_id = self.group.tasks[task].task_id
        self.starts.append(UnprovenStart(task_id=task_id, process_id=process_id, at_ms=at_ms, evidence=evidence))

    def _without_rates(self, by_rates: Evidence, task: int, process_id: str) -> Evidence:
        """Return what is known of a copy that was restored by an unknown part of its instance's rate."""
        most, rate = self.records_behind[task, process_id], self._restore_rate(self._instance(process_id)) or 0
        if by_rates.known is not Known.CAUGHT_UP or 1000 * most < NOTABLE_MS * rate:
            return by_rates
        words = f"it is restored {_BESIDE_UNSIZED}, which takes an unknown time"
        unknown = replace(by_rates, known=Known.UNKNOWN, fact=Fact.FORECAST, words=words, at_most=most)
        return replace(unknown, settled_by=_TELLS_SIZE)

    def _with_what_it_restores(self, evidence: Evidence, task: int, instance: int, lacks: int) -> Evidence:
        """Return what is known of a copy: unknown, too, if it has caught up and may restore for long all the same."""
        if evidence.known is not Known.CAUGHT_UP or evidence.fact in (Fact.STATELESS, Fact.RATES):
            return evidence
        rate, most = self._restore_rate(instance), None if evidence.at_most is None else max(evidence.at_most, lacks)
        if evidence.fact is not Fact.IN_MEMORY and self._tells_restores(task, instance):
            return evidence
        read = self.known_copies.snapshot.state.group.tasks[task]  # not the longer changelog of a later moment
        if most is not None and (is_little(read, most) if rate is None else most < rate):
            return evidence
        restores = f"restores {'an unknown number of' if most is None else f'up to {most:,}'} records before it runs"
        words = f"{evidence.words}; it counts as caught up and {restores}, which takes an unknown time"
        settle = ("--restore-rate",) if rate is None else ()
        return replace(evidence, known=Known.UNKNOWN, fact=Fact.WITHIN_LIMIT, words=words, settled_by=settle)

    def _tells_restores(self, task: int, instance: int) -> bool:
        """Tell whether the plan knows how long an instance restores a task to which nothing is written meanwhile."""
        rated = self._restore_rate(instance) is not None and self.group.tasks[task].end_offset_known
        return rated or self.known_copies.restores_as_given

    def _restore_rate(self, instance: int) -> float | None:
        rates = self.known_copies.snapshot.rates
        return rates.restore_per_instance if instance < 0 else rates.restore_rate(instance)

    def _course(self, task: int, process_id: str, holdings: Sequence[Holding]) -> Course:
        """Return what has become of an instance's copy since the snapshot."""
        instance = self._instance(process_id)
        was_held, had_copy = self.known_copies.is_assigned(task, instance), self.known_copies.has_copy(task, instance)
        ran_until_ms, restarted_ms = self.ran_until.get((task, process_id)), self.restarted.get(process_id)
        was_here = was_held or ran_until_ms is not None
        is_held = (was_here or had_copy) and self._is_held(task, process_id, holdings)
        is_new = not was_here and (is_held or not had_copy)
        left_over_ms = self.now_ms + (ran_until_ms or 0) if was_here and not is_held else None
        closed = (task, process_id) in self.closed_in
        if ran_until_ms is None and restarted_ms is None and left_over_ms is None and not is_new and not closed:
            return AS_READ
        return Course(
            ran_until_ms=None if ran_until_ms is None else ran_until_ms + self.now_ms,
            restarted_ms=None if restarted_ms is None else restarted_ms + self.now_ms,
            left_over_ms=left_over_ms,
            is_new=is_new,
            closed=closed,
        )

    def _is_held(self, task: int, process_id: str, holdings: Sequence[Holding]) -> bool:
        consumers = self.group.consumers_of[self.group.instance_index[process_id]]
        return any(task in role for consumer in consumers for role in holdings[consumer])

    def _instance(self, process_id: str) -> int:
        """Return the index of an instance in the snapshot; -1: it is none of those."""
        return self.known_copies.snapshot.state.group.instance_index.get(process_id, -1)


def _incomplete_copies(
    snapshot: Snapshot, group: Group, holdings: Sequence[Holding]
) -> Iterator[tuple[tuple[int, str], int | None]]:
    """Yield the copies, as (task, process id), that may lack something, with how many records."""
    instances = snapshot.state.group.instance_index
    for consumer, holding in enumerate(holdings):
        process_id = group.instances[group.instance_of[consumer]].process_id
        instance = instances.get(process_id, -1)
        for task in (*holding.standby, *holding.warmup, *holding.temporary):
            lag = reported_lag(snapshot, task, instance) if instance >= 0 else None
            if lag == UNKNOWN or (task, instance) in snapshot.least_lags:
                lag = None
            if lag is None or lag > 0:
                yield (task, process_id), lag


def _threads_unknown(
    snapshot: Snapshot,
    group: Group,
    rounds: Sequence[Round],
    in_doubt: Sequence[tuple[int, str]],
    *,
    both_simulated: bool,
) -> frozenset[str]:
    """Return the process ids of instances where it is unknown which thread opens a copy at the first decision.

    They have several threads, and a copy of a task of which it is unknown whether one has caught up by then. A copy of
    an instance that has left by then decides nothing, and of stores on disks it does not matter which thread opens one.

    Args:
        snapshot: what was read.
        group: all members that take part in the rounds.
        rounds: what follows.
        in_doubt: the copies, as (task, process id), of which it is unknown.
        both_simulated: whether both cases of a single one are simulated.
    """
    left_ids = {step.process_id for rnd in rounds[:1] for step in rnd.member_steps if isinstance(step, MemberLeft)}
    tasks = [task for task, process_id in in_doubt if process_id not in left_ids]
    if snapshot.stores == "persistent" or len(tasks) < (2 if both_simulated else 1):
        return frozenset()
    read = snapshot.state.group
    ids = {read.task_index[group.tasks[task].task_id] for task in tasks}
    holders = {read.instances[copy.instance].process_id for task in ids for copy in snapshot.state.copies[task]}
    instances = zip(group.instances, group.consumers_of, strict=True)
    return frozenset(instance.process_id for instance, threads in instances if len(threads) > 1) & holders


def is_little(task: Task, records: int) -> bool:
    """Tell whether a copy lacks no more than one that follows its changelog: a poll, or less than a tenth of it."""
    return records <= POLL_RECORDS or (task.end_offset_known and 10 * records < task.end_offset_sum)


def _last_to_look_at(rounds: Sequence[Round]) -> int:
    """Return the number of the last round in which an instance leaves, or a task starts without awaiting its copy."""
    last, batch_start = -1, 0
    for rows, number, in_batch in in_batches([rnd.steps.rows for rnd in rounds]):
        mask = rows["kind"] == MEMBER_LEFT
        for code in _UNAWAITED:
            mask |= are(rows["kind"], *STARTS) & (rows["reason"] == code)
        if mask.any():
            last = rounds[batch_start + int(number[mask][-1])].number
        batch_start += in_batch
    return last


def _columns(steps: RoundSteps, kinds: Sequence[int], names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the fields of these names of the steps of some kinds, as :func:`~kstream_plan.plans.step_rows.row_type`."""
    mask = are(steps.rows["kind"], *kinds)
    if not mask.any():
        return iter(())
    rows = steps.rows[mask]
    return zip(*(rows[name].tolist() for name in names), strict=True)


def _moments(rnd: Round) -> Iterator[tuple[int, RoundSteps]]:
    """Yield the steps of stateful tasks by the time that they happen at."""
    if not rnd.turns:
        yield rnd.at_ms, rnd.single_steps
        return
    yield from rnd.moments
