"""Evidence about a copy at a moment: it has caught up, it is behind, or neither is known; and the deciding fact.

It decides whether a task would start warm. A copy has caught up for sure if it was measured or reported to
have within ``trust.reports.of`` of the moment, or if it was so far within ``acceptable.recovery.lag`` that nothing
known to be written can have carried it out of that by then. What was true at the last join does not stay true by
itself: unless somebody says otherwise, what a join reported counts for a heartbeat interval, what was measured for a
minute. Nor does what was heard after the moment that counts as now tell anything of that moment: by then the copy had
longer to restore, or was another one. Only clocks differ a little, so that a report up to a minute later, and never
longer than ``trust.reports.of``, counts as one of now, as one up to that much older does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, TypeAlias

from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import LATEST, UNKNOWN, Copy, Rates, Snapshot, WorkId
from kstream_plan.model.ranking import is_caught_up, reported_lag
from kstream_plan.model.scenario import moment
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.times import format_time

#: How old a measurement may be that counts as true at a moment, unless ``trust.reports.of`` says otherwise.
TRUST_MS = 60_000
#: How much later than now a report may be at most that counts as one of now: so far the clocks of two hosts may differ.
_SKEW_MS = 60_000
#: What is written may be so many times as much as was written in the past.
_MORE_THAN_BEFORE = 10

#: task, from, to (milliseconds of the snapshot's clock) → records written to its changelogs; ``None``: not known.
Written: TypeAlias = Callable[[int, int, int], int | None]


class Known(StrEnum):
    """Whether a copy has caught up, as far as that is known."""

    CAUGHT_UP = "proven-caught-up"
    BEHIND = "proven-behind"
    UNKNOWN = "unknown"


class Fact(StrEnum):
    """The fact that decides what is known of a copy."""

    STATELESS = "stateless"
    WITHIN_LIMIT = "changelog-within-limit"
    RAN_THERE = "ran-there"
    MEASURED = "measured"
    REPORTED = "reported"
    SEEN_WRITTEN = "seen-written"
    RATES = "rates"
    FORECAST = "forecast"
    OLD_REPORT = "old-report"
    HEARD_LATER = "heard-later"
    UNDATED = "no-capture-time"
    LEAST_LAG = "least-lag"
    NOT_MEASURED = "measuring-failed"
    NOT_REPORTED = "not-reported"
    NO_CLOSER = "comes-no-closer"
    INPUT_BEHIND = "input-behind"
    LEFT_OVER = "left-over-state"
    NO_COPY = "no-copy"
    NEW_COPY = "new-copy"
    HEARTBEATS = "heartbeats-unknown"
    STORES_UNKNOWN = "stores-unknown"
    IN_MEMORY = "stores-in-memory"


#: By these facts a copy had caught up when somebody said so, or does by rates at which less is written than by then.
_TOLD = (Fact.MEASURED, Fact.REPORTED, Fact.SEEN_WRITTEN, Fact.RATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of one copy at one moment.

    Attributes:
        known: whether it has caught up.
        fact: what decides that, as a code.
        words: the same for people.
        age_ms: how old that fact is at the moment; ``None``: it has no age, or that is not known.
        heard_ms: when the copy was last heard of, in milliseconds after the snapshot was taken; ``None``: not known.
        at_least: it is at least so many records behind.
        at_most: it is at most so many records behind; ``None``: not known.
        settled_by: options that would settle it, where it is unknown.
    """

    known: Known
    fact: Fact
    words: str
    age_ms: int | None = None
    heard_ms: int | None = None
    at_least: int = 0
    at_most: int | None = None
    settled_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenStart:
    """A start of a task whose former owner is gone, from a copy that is not proven to have caught up by then.

    Attributes:
        task_id: the task.
        process_id: the instance that starts it.
        at_ms: when, on the plan's clock.
        evidence: what is known of the copy that it starts from.
    """

    task_id: WorkId
    process_id: str
    at_ms: int
    evidence: Evidence


class Course(NamedTuple):
    """The course of a copy since the snapshot, in milliseconds of the snapshot's clock.

    Attributes:
        ran_until_ms: its instance ran the task until then; ``None``: it did not.
        restarted_ms: its process may have been another one until then; ``None``: it is the same.
        left_over_ms: it is not assigned since then; ``None``: as the snapshot says.
        is_new: it was made after the snapshot.
        closed: another thread of its instance opens it since then.
    """

    ran_until_ms: int | None = None
    restarted_ms: int | None = None
    left_over_ms: int | None = None
    is_new: bool = False
    closed: bool = False


#: Nothing has become of it but what the snapshot says.
AS_READ = Course()


class AssumedFacts(NamedTuple):
    """Unknown facts that count as true, as in one of several courses of a plan.

    Attributes:
        caught_up: every copy that is assigned has caught up.
        left_over: left-over state has not been deleted.
    """

    caught_up: bool = False
    left_over: bool = False


#: No unknown fact counts as true.
NOTHING_ASSUMED = AssumedFacts()


class _Report(NamedTuple):
    """A copy was ``lag`` records behind at a time; ``at_most``: or less; ``most``: at most that by the snapshot."""

    lag: int
    at_ms: int
    fact: Fact
    at_most: bool = False
    most: int | None = None

    @property
    def heard_ms(self) -> int | None:
        """When it was reported; ``None``: it was not, it follows from a plan."""
        return None if self.fact is Fact.RAN_THERE else self.at_ms


@dataclass(frozen=True)
class KnownCopies:
    """Gives evidence about every copy of a snapshot at any moment.

    Attributes:
        snapshot: what was read.
        now_ms: the moment of the question; later reports prove nothing.
        trust_ms: how old a report may be that counts as true at a moment; ``None``: a minute for what was measured, a
            heartbeat interval for what was said at a join.
        records_written: what is written in a time; by default by the snapshot's rates.
        bursts: the same of what is written at once, which no report within ``trust_ms`` can have foreseen.
        restores_as_given: it is given by hand how fast every instance restores, beside the snapshot's rates.
        undated: when the snapshot was taken is unknown, and so is how old its reports are by now.
        writes_as_given: it is given by hand how much is written, beside the snapshot's rates.
        assumed: unknown facts that count as true.
    """

    snapshot: Snapshot
    now_ms: int
    trust_ms: int | None = None
    records_written: Written | None = None
    bursts: Callable[[int, int, int], int] = field(default=lambda _task, _from_ms, _to_ms: 0)
    restores_as_given: bool = False
    writes_as_given: bool = False
    undated: bool = False
    assumed: AssumedFacts = NOTHING_ASSUMED

    def evidence_of(
        self,
        task: int,
        instance: int,
        at_ms: int,
        *,
        written_until_ms: int | None = None,
        course: Course = AS_READ,
        likely: bool | None = None,
    ) -> Evidence:
        """Return the evidence about a copy when its task starts there, on the snapshot's clock.

        Args:
            task: the task's index in the snapshot's group.
            instance: the index of the instance; below 0: it is none of the snapshot's.
            at_ms: when the task starts.
            written_until_ms: when its former owner stopped, so that nothing was written afterwards.
            course: what has become of the copy since the snapshot.
            likely: whether a plan that goes by restore rates given by hand finds it caught up.
        """
        until_ms = at_ms if written_until_ms is None else min(at_ms, written_until_ms)
        common_evidence = self._evidence_of_any_copy(task, until_ms)
        if common_evidence is not None and common_evidence.fact is Fact.STATELESS:
            return common_evidence
        evidence = self._of_copy(task, instance, (at_ms, until_ms), course, likely)
        if common_evidence is None:
            return evidence
        if evidence.known is Known.CAUGHT_UP:
            bounds = [bound for bound in (evidence.at_most, common_evidence.at_most) if bound is not None]
            return replace(evidence, at_most=min(bounds, default=None))  # no copy lacks more than all there is
        words = f"{evidence.words}; {common_evidence.words}"
        if evidence.fact is Fact.IN_MEMORY and course == AS_READ:
            return replace(
                common_evidence, fact=Fact.IN_MEMORY, words=words
            )  # no plan counts that, which begins with reports
        if evidence.known is Known.BEHIND or common_evidence.at_most == 0:
            return common_evidence  # the start itself states how much is restored first
        return replace(evidence, fact=Fact.WITHIN_LIMIT, words=words, at_most=common_evidence.at_most)

    def _of_copy(
        self, task: int, instance: int, times_ms: tuple[int, int], course: Course, likely: bool | None
    ) -> Evidence:
        """Return the evidence about a copy itself; ``times_ms`` as of :meth:`_by_reports`."""
        if self.assumed.caught_up:
            evidence = _by_rates(likely=True, reports=(), until_ms=times_ms[1])
        else:
            evidence = self._while_input_waits(task, self._if_persistent(task, instance, times_ms, course, likely))
        if evidence.known is not Known.CAUGHT_UP or self.snapshot.stores in ("persistent", "in-memory"):
            return evidence
        restarted = self._restarted(task, instance, course)
        if not restarted and not course.closed and course.left_over_ms is None:  # what was reported so, is persistent
            return evidence
        happens = "the process restarts" if restarted else "the task is closed and opened again"
        words = f"{happens}, and whether stores are persistent or in memory is unknown"
        settle = STORES_TELL
        return Evidence(known=Known.UNKNOWN, fact=Fact.STORES_UNKNOWN, words=words, settled_by=settle)

    def _while_input_waits(self, task: int, evidence: Evidence) -> Evidence:
        """Return what is known of a copy by now, if its task writes as fast as it can until its input is processed."""
        backlog = self._unwritten_records.get(task, 0)
        if backlog <= self._limit or evidence.known is not Known.CAUGHT_UP or evidence.fact not in _TOLD:
            return evidence
        words = f"{evidence.words}; its task has a backlog of input, {backlog:,} records, and what it writes is unknown"
        return replace(evidence, known=Known.UNKNOWN, fact=Fact.INPUT_BEHIND, words=words, at_most=None)

    def _if_persistent(
        self, task: int, instance: int, times_ms: tuple[int, int], course: Course, likely: bool | None
    ) -> Evidence:
        """Return what is known of a copy unless its stores are in memory, where it is unknown whether they are."""
        at_ms, until_ms = times_ms
        evidence = self._evidence_if_lost(task, instance, at_ms, course)
        if evidence is None and course.ran_until_ms is None and not course.is_new:
            evidence = self._heard_later(task, instance) or self._never_told(task, instance)
        if evidence is not None:
            return evidence
        reports = self._reports(task, instance, course)
        dated = not self._is_undated(task, instance, course)
        if dated and likely is not None and self._rates_decide(task, instance, reports, until_ms):
            return _by_rates(likely=likely, reports=reports, until_ms=until_ms)
        if not reports and (dated or not self.undated):
            words = "a copy that is made in this plan, and how fast it catches up is unknown"
            settle = tuple(self._rates_to_give(task, instance))
            return Evidence(known=Known.UNKNOWN, fact=Fact.NEW_COPY, words=words, settled_by=settle)
        return self._by_reports(task, instance, reports, times_ms, course)

    def _rates_decide(self, task: int, instance: int, reports: tuple[_Report, ...], until_ms: int) -> bool:
        """Tell whether it is given how fast a copy is restored, and known what is written to its changelogs.

        Nothing is forecast of a task whose end offset is unknown.
        """
        rates = self.snapshot.rates
        if not self.snapshot.state.group.tasks[task].end_offset_known:
            return False
        if rates.restore_per_instance is None and instance not in rates.restore_of and not self.restores_as_given:
            return False
        if _bounds_written(rates, task) or self.writes_as_given:
            return True
        if self._should_be_measured(task, instance):
            return False
        return any(until_ms <= report.at_ms for report in reports if not report.at_most)

    def _rates_to_give(self, task: int, instance: int) -> Iterator[str]:
        """Yield the options that would tell how fast a new copy catches up: those that are not given yet."""
        rates = self.snapshot.rates
        if not self.snapshot.state.group.tasks[task].end_offset_known:
            yield "--metrics with end offsets"
        if rates.restore_per_instance is None and instance not in rates.restore_of:
            yield "--restore-rate"
        if not _bounds_written(rates, task):
            yield "--set produce.rate"

    def is_assigned(self, task: int, instance: int) -> bool:
        """Tell whether a copy is assigned to an instance after the newest decision."""
        return (task, instance) in self._assigned_copies

    def has_copy(self, task: int, instance: int) -> bool:
        """Tell whether the snapshot has a copy of a task on an instance."""
        return instance >= 0 and self._copy(task, instance) is not None

    @property
    def _limit(self) -> int:
        return self.snapshot.config.acceptable_recovery_lag

    def _evidence_of_any_copy(self, task: int, until_ms: int) -> Evidence | None:
        """Return the evidence that holds even of an empty copy; ``None``: there is none."""
        kind = self.snapshot.state.group.tasks[task]
        if not kind.stateful:
            return Evidence(known=Known.CAUGHT_UP, fact=Fact.STATELESS, words="the task has no state", at_most=0)
        if self._limit == MAX_LONG:
            words = "acceptable.recovery.lag has no limit: every copy counts as caught up"
            return Evidence(known=Known.CAUGHT_UP, fact=Fact.WITHIN_LIMIT, words=words)
        if not kind.end_offset_known or (self.undated and self._may_grow(task)):
            return None
        seen_ms = self._end_seen_ms(task)
        written_records = self._written_between(task, seen_ms, until_ms)
        if kind.end_offset_sum:
            is_unknown = written_records is None and until_ms - seen_ms > self._trusted_ms(Fact.REPORTED)
        elif until_ms > seen_ms:
            is_unknown = written_records is None  # a group that has only just begun may write any number
        else:  # as much may have been written at this very moment, once the group runs
            is_unknown = self.snapshot.decision is not None and not _bounds_written(self.snapshot.rates, task)
        if is_unknown:
            return None
        whole = kind.end_offset_sum + (written_records or 0)
        if whole > self._limit:
            return None
        words = f"the whole changelog, {whole:,} records, is within acceptable.recovery.lag"
        return Evidence(known=Known.CAUGHT_UP, fact=Fact.WITHIN_LIMIT, words=words, at_most=whole)

    def _may_grow(self, task: int) -> bool:
        """Tell whether something may be written to a task's changelogs."""
        rates = self.snapshot.rates
        return not _bounds_written(rates, task) or rates.produce_rate(task) > 0

    def _is_undated(self, task: int, instance: int, course: Course) -> bool:
        """Tell whether it is unknown how old the reports of a copy are."""
        snapshot, seat = self.snapshot, (task, instance)
        decision = None if seat in snapshot.reported_ms or snapshot.captured_at is None else snapshot.decision
        by_undated_decision = decision is not None and decision.at_ms is None
        return course.ran_until_ms is None and (self.undated or seat in snapshot.undated_reports or by_undated_decision)

    def _evidence_if_lost(self, task: int, instance: int, at_ms: int, course: Course) -> Evidence | None:
        """Return the evidence if the copy may be gone; ``None``: it is there for sure."""
        copy = self._copy(task, instance)
        whole = self._whole(task)
        if copy is None and course == AS_READ and (task, instance) not in self._assigned_copies:
            return self._empty(Fact.NO_COPY, "there is no copy", whole)
        left_over_ms, closed = self._left_over_ms(task, instance, course), course.closed
        closed = closed or left_over_ms is not None or self._restarted(task, instance, course)
        if closed and self.snapshot.stores == "in-memory":
            return self._empty(Fact.IN_MEMORY, "its stores are in memory: a restart or a move leaves nothing", whole)
        if left_over_ms is None or self.assumed.left_over:
            return None
        if not self._may_be_deleted(task, instance, copy, left_over_ms, at_ms, course):
            return None
        words = "left-over state that state.cleanup.delay.ms may have deleted by then"
        return Evidence(known=Known.UNKNOWN, fact=Fact.LEFT_OVER, words=words, settled_by=())

    def _restarted(self, task: int, instance: int, course: Course) -> bool:
        """Tell whether the process may be another one than that which had the copy when it was heard of."""
        if course.restarted_ms is not None:
            return True
        if instance < 0 or course.ran_until_ms is not None:
            return False
        started_ms = self.snapshot.started_ms.get(self.snapshot.state.group.instances[instance].process_id)
        return started_ms is not None and started_ms > self._reported_at_ms(task, instance)

    def _empty(self, fact: Fact, words: str, whole: int | None) -> Evidence:
        return Evidence(known=Known.BEHIND, fact=fact, words=words, at_least=whole or 0, at_most=whole)

    def _left_over_ms(self, task: int, instance: int, course: Course) -> int | None:
        """Return since when the copy is not assigned; ``None``: it is assigned."""
        if course.left_over_ms is not None:
            return course.left_over_ms
        if course != AS_READ or (task, instance) in self._assigned_copies:
            return None
        copy = self._copy(task, instance)
        return None if copy is None else copy.lost_at_ms or 0

    def _may_be_deleted(
        self, task: int, instance: int, copy: Copy | None, lost_ms: int, at_ms: int, course: Course
    ) -> bool:
        """Tell whether the instance's cleaner may have deleted left-over state by a time."""
        snapshot = self.snapshot
        if copy is None and instance < 0:
            return True
        seen_ms = lost_ms if course.left_over_ms is not None else self._reported_at_ms(task, instance)
        if at_ms <= seen_ms:
            return False  # it was there at that very moment
        in_stores = None if snapshot.streams_version is None else snapshot.offsets_in_stores
        made_ms = None if copy is None else copy.made_at_ms
        if course.left_over_ms is None and (task, instance) not in snapshot.since_ms:
            # left over for as long as can be, and there when it was seen, unless it is deleted in that very millisecond
            lost_ms, in_stores = seen_ms - 1, None
        left_over = Copy(max(instance, 0), 0, lost_at_ms=lost_ms, made_at_ms=made_ms)
        cleaner = StateCleaner(snapshot.config.state_cleanup_delay_ms, snapshot.started_ms, in_stores, "early")
        return cleaner.deletes(snapshot.state.group, left_over, at_ms)

    def _never_told(self, task: int, instance: int) -> Evidence | None:
        """Return why nothing that was reported counts, whenever it was; ``None``: it does."""
        snapshot, seat = self.snapshot, (task, instance)
        lag = reported_lag(snapshot, task, instance)
        if lag is None or lag == UNKNOWN:
            words = "the copy was never reported"
            return Evidence(known=Known.UNKNOWN, fact=Fact.NOT_REPORTED, words=words, settled_by=_TO_MEASURE)
        least = max(lag, 0)
        if seat in snapshot.least_lags:
            words = f"it is at least {least:,} records behind; how far at most is unknown"
            knowledge = Known.BEHIND if least > self._limit else Known.UNKNOWN
            settle = ("--metrics with end offsets",)
            return Evidence(known=knowledge, fact=Fact.LEAST_LAG, words=words, at_least=least, settled_by=settle)
        if is_caught_up(lag, self._limit):
            return None
        if seat in snapshot.no_closer_ms:
            words = f"it is {lag:,} records behind, and its lag did not fall while it was observed"
            return Evidence(known=Known.BEHIND, fact=Fact.NO_CLOSER, words=words, at_least=lag, at_most=lag)
        if self._left_over_ms(task, instance, AS_READ) is not None:
            words = f"left-over state {lag:,} records behind, which is not restored"
            return Evidence(known=Known.BEHIND, fact=Fact.LEFT_OVER, words=words, at_least=lag)
        return None

    def _heard_later(self, task: int, instance: int) -> Evidence | None:
        """Return that a copy was heard of only after now; ``None``: it was not, or clocks may differ by as much."""
        heard_ms, lag = self._reported_at_ms(task, instance), reported_lag(self.snapshot, task, instance)
        skew_ms = _SKEW_MS if self.trust_ms is None else min(self.trust_ms, _SKEW_MS)
        if lag is None or lag == UNKNOWN or heard_ms - self.now_ms <= skew_ms:
            return None
        later_ms = (heard_ms - self.now_ms) // 1000 * 1000
        second_ms = -(-((self.snapshot.captured_at_ms or 0) + heard_ms) // 1000) * 1000
        return Evidence(
            known=Known.UNKNOWN,
            fact=Fact.HEARD_LATER,
            words=f"it was heard of only {moment(later_ms)} after the time that counts as now",
            heard_ms=heard_ms,
            settled_by=(f"{_NOW}={format_time(second_ms)[:19]}Z (in check: --as-of)",),
        )

    def _by_reports(
        self, task: int, instance: int, reports: tuple[_Report, ...], times_ms: tuple[int, int], course: Course
    ) -> Evidence:
        """Return the strongest evidence of the reports of a copy about a moment.

        ``times_ms`` are when the task starts, and until when something was written.
        """
        at_ms, until_ms = times_ms
        if self._is_undated(task, instance, course):
            words = f"{unsaid_of(self.snapshot, undated=self.undated)}, so how old its reports are is unknown"
            return Evidence(known=Known.UNKNOWN, fact=Fact.UNDATED, words=words, settled_by=_TO_MEASURE)
        if course == AS_READ and self._should_be_measured(task, instance):
            return self._unknown(task, instance, reports[0], max(0, until_ms - reports[0].at_ms), None)
        evidence_of_each = [self._by_report(task, instance, report, at_ms, until_ms) for report in reports]
        order = (Known.CAUGHT_UP, Known.BEHIND, Known.UNKNOWN)
        return min(evidence_of_each, key=lambda evidence: order.index(evidence.known))

    def _should_be_measured(self, task: int, instance: int) -> bool:
        """Tell whether measuring was asked for, and failed for a copy that somebody is assigned."""
        snapshot, seat = self.snapshot, (task, instance)
        asked_for = snapshot.measuring_failed or snapshot.coverage is not None
        return asked_for and seat in self._assigned_copies and seat not in snapshot.measured_lags

    def _by_report(self, task: int, instance: int, report: _Report, at_ms: int, until_ms: int) -> Evidence:
        age_ms = max(0, until_ms - report.at_ms)
        burst = self.bursts(task, report.at_ms, until_ms)
        at_most = self._at_most(task, report, until_ms)
        is_refuted = self.trust_ms is None and report.most is not None and report.most > self._limit
        trusted_ms = self._trusted_ms(report.fact)
        if age_ms <= trusted_ms and not is_refuted and is_caught_up(report.lag + burst, self._limit):
            return self._caught_up(report, age_ms, report.lag + burst)
        if report.most is None and at_most is not None and at_most <= self._limit:
            return self._caught_up(report, age_ms, at_most)
        # how fast it restores is unknown: longer than this it may have caught up, however long reports are trusted
        fresh_ms = TRUST_MS if report.fact is Fact.MEASURED else self.snapshot.config.heartbeat_interval_ms
        is_old = at_ms - report.at_ms > min(trusted_ms, fresh_ms)
        may_have_caught_up = report.at_most or is_old or self._is_forecast(instance)
        if report.lag > self._limit and not may_have_caught_up:
            words = f"{_SAID[report.fact]} {report.lag:,} records behind{_age_text(age_ms)}"
            return Evidence(
                known=Known.BEHIND,
                fact=report.fact,
                words=words,
                age_ms=age_ms,
                heard_ms=report.heard_ms,
                at_least=report.lag,
                at_most=at_most,
            )
        return self._unknown(task, instance, report, age_ms, at_most)

    def _at_most(self, task: int, report: _Report, until_ms: int) -> int | None:
        """Return how far a copy is behind at most by a moment; ``None``: not known."""
        lag, since_ms = (report.lag, report.at_ms) if report.most is None else (report.most, self._end_seen_ms(task))
        written_records = self._written_between(task, since_ms, until_ms)
        return None if written_records is None else lag + written_records

    def _trusted_ms(self, fact: Fact) -> int:
        """Return how old a report by that fact may be that counts as true."""
        if self.trust_ms is not None:
            return self.trust_ms
        if fact in (Fact.MEASURED, Fact.SEEN_WRITTEN):
            return TRUST_MS
        return min(TRUST_MS, self.snapshot.config.heartbeat_interval_ms)

    def _is_forecast(self, instance: int) -> bool:
        """Tell whether it was measured how fast an instance restores, so that its copies may have caught up."""
        rates = self.snapshot.rates
        return rates.restore_rate(instance) is not None or instance in rates.restore_at_least

    def _caught_up(self, report: _Report, age_ms: int, at_most: int) -> Evidence:
        words = f"{_SAID[report.fact]} {report.lag:,} records behind{_age_text(age_ms)}, at most {at_most:,} by then"
        return Evidence(
            known=Known.CAUGHT_UP,
            fact=report.fact,
            words=words,
            age_ms=age_ms,
            heard_ms=report.heard_ms,
            at_most=at_most,
        )

    def _unknown(self, task: int, instance: int, report: _Report, age_ms: int, at_most: int | None) -> Evidence:
        rates = self.snapshot.rates
        report_words = f"{_SAID[report.fact]} {report.lag:,} records behind{_age_text(age_ms)}"
        settle: tuple[str, ...]
        if report.lag > self._limit and not report.at_most:
            words = f"{report_words}, and may have caught up since"
            fact = Fact.FORECAST if self._is_forecast(instance) else Fact.OLD_REPORT
            settle = (*_TO_MEASURE, "--restore-rate")
        else:
            words = f"{report_words}, and may have fallen behind since"
            fact, settle = Fact.OLD_REPORT, (*_TO_MEASURE, f"{_TRUST}={at_least_as_long(age_ms)}")
            if not _bounds_written(rates, task):
                settle = (*_TO_MEASURE, "--set produce.rate", settle[-1])
        if self._should_be_measured(task, instance):
            fact, words = Fact.NOT_MEASURED, f"measuring it was asked for and failed; {words}"
        return Evidence(
            known=Known.UNKNOWN,
            fact=fact,
            words=words,
            age_ms=age_ms,
            heard_ms=report.heard_ms,
            at_most=at_most,
            settled_by=settle,
        )

    def _reports(self, task: int, instance: int, course: Course) -> tuple[_Report, ...]:
        """Return the reports of a copy; empty: there are none."""
        if course.ran_until_ms is not None:
            return (_Report(0, course.ran_until_ms, Fact.RAN_THERE),)
        lag = None if instance < 0 or course.is_new else reported_lag(self.snapshot, task, instance)
        if lag is None or lag == UNKNOWN:
            return ()
        seat = (task, instance)
        fact = Fact.MEASURED if seat in self.snapshot.measured_lags else Fact.REPORTED
        if lag == LATEST:
            return (_Report(0, self._reported_at_ms(task, instance), Fact.RAN_THERE),)
        most = self.snapshot.most_lags.get(seat)
        seen_written: tuple[_Report, ...] = ()
        if most is not None:
            seen_written = (_Report(most, self._end_seen_ms(task), Fact.SEEN_WRITTEN, at_most=True),)
            if seat not in self.snapshot.reported_ms:  # an offset of any time before
                return seen_written
        from_ms = self.snapshot.reported_from_ms.get(seat, self._reported_at_ms(task, instance))
        report = _Report(lag, from_ms, fact, most=most)
        return (report, *seen_written)

    def _end_seen_ms(self, task: int) -> int:
        """Return when the end offset of a task was seen, by default when the snapshot was taken."""
        return self.snapshot.ends_seen_ms.get(task, 0)

    def _reported_at_ms(self, task: int, instance: int) -> int:
        """Return when a copy was heard of: by the newest decision, which was made from it, unless it says so itself."""
        reported_ms, decision = self.snapshot.reported_ms.get((task, instance)), self.snapshot.decision
        if reported_ms is not None:
            return reported_ms
        return 0 if decision is None or decision.at_ms is None else min(0, decision.at_ms)

    def _written_between(self, task: int, from_ms: int, to_ms: int) -> int | None:
        """Return the number of records written in a time; ``None``: unknown."""
        if self.records_written is not None:
            return self.records_written(task, from_ms, to_ms)
        return written_at(self.snapshot, task, from_ms, to_ms)

    def _whole(self, task: int) -> int | None:
        kind = self.snapshot.state.group.tasks[task]
        return kind.end_offset_sum if kind.end_offset_known else None

    def _copy(self, task: int, instance: int) -> Copy | None:
        return next((copy for copy in self.snapshot.state.copies[task] if copy.instance == instance), None)

    @cached_property
    def _unwritten_records(self) -> dict[int, int]:
        """The records that changelogs grow by while their tasks work off their input."""
        return self.snapshot.unwritten

    @cached_property
    def _assigned_copies(self) -> frozenset[tuple[int, int]]:
        """The copies, as (task, instance), that somebody is assigned after the newest decision."""
        instance_of = self.snapshot.state.group.instance_of
        return frozenset(
            (task, instance_of[consumer])
            for consumer, holding in enumerate(self.snapshot.assigned)
            for of_role in holding
            for task in of_role
        )


def _by_rates(*, likely: bool, reports: tuple[_Report, ...], until_ms: int) -> Evidence:
    age_ms = min((max(0, until_ms - report.at_ms) for report in reports), default=None)
    knowledge = Known.CAUGHT_UP if likely else Known.BEHIND
    words = f"by the rates that are known it {'has caught up' if likely else 'is behind'} by then"
    return Evidence(known=knowledge, fact=Fact.RATES, words=words, age_ms=age_ms)


def options_that_tell(evidence_of_all: Iterable[Evidence]) -> tuple[str, ...]:
    """Return the options that would settle what is unknown; of one that takes a time that which is enough for all."""
    farthest: dict[str, tuple[int, str]] = {}
    for evidence in evidence_of_all:
        for option in evidence.settled_by:
            name = next((name for name in (_TRUST, _NOW) if option.startswith(name)), option)
            reach_ms = (evidence.heard_ms if name == _NOW else evidence.age_ms) or 0
            if name not in farthest or farthest[name][0] < reach_ms:
                farthest[name] = reach_ms, option
    return tuple(option for _, option in farthest.values())


def unsaid_of(snapshot: Snapshot, *, undated: bool = False) -> str:
    """Return the reason why the age of reports is unknown."""
    if undated or snapshot.captured_at is None:
        return "the snapshot does not say when it was taken"
    if snapshot.undated_reports:
        return "lag rows do not say when they were captured"
    return "the snapshot does not say when its decision was made"


#: The options that say where stores are.
STORES_TELL = ("--set stores=persistent", "--set stores=in-memory")
_TRUST, _NOW = "--set trust.reports.of", "--set now"
_TO_MEASURE = ("--metrics",)
_SAID = {
    Fact.MEASURED: "measured",
    Fact.REPORTED: "reported",
    Fact.RAN_THERE: "ran the task there, so",
    Fact.SEEN_WRITTEN: "it was at most",
}


def written_at(snapshot: Snapshot, task: int, from_ms: int, to_ms: int) -> int | None:
    """Return the most that is written to a task's changelogs in a time, by a snapshot's rates; ``None``: not known."""
    if to_ms <= from_ms:
        return 0
    rates = snapshot.rates
    if not _bounds_written(rates, task):
        return None
    times = 1 if _is_by_hand(rates, task) else _MORE_THAN_BEFORE
    return int(rates.produce_rate(task) * times * (to_ms - from_ms) / 1000)


def _bounds_written(rates: Rates, task: int) -> bool:
    """Tell whether rates say how much is written at most; that nothing was once says nothing of later."""
    return _is_by_hand(rates, task) or (rates.knows_produce(task) and rates.produce_rate(task) > 0)


def _is_by_hand(rates: Rates, task: int) -> bool:
    return rates.produce_per_task is not None or task in rates.produce_of


def at_least_as_long(milliseconds: int) -> str:
    """Return a duration as options take it, rounded up to whole minutes, hours or days."""
    for unit_ms, most_ms, name in ((60_000, 3_600_000, "m"), (3_600_000, 172_800_000, "h")):
        if milliseconds <= most_ms:
            return f"{max(1, -(-milliseconds // unit_ms))}{name}"
    return f"{-(-milliseconds // 86_400_000)}d"


def _age_text(age_ms: int) -> str:
    return f" {moment(age_ms // 1000 * 1000)} before" if age_ms >= 1000 else ""


def settled_by(starts: Iterable[UnprovenStart]) -> list[str]:
    """Return the options that would tell whether these starts are warm."""
    return list(options_that_tell(start.evidence for start in starts))


def would_tell(starts: Iterable[UnprovenStart], first: str = "") -> list[str]:
    """Return the same as a sentence, after an option that comes ``first``; none if no option would."""
    return to_find_out(settled_by(starts), first)


def to_find_out(options: Iterable[str], first: str = "") -> list[str]:
    """Return which of these options would tell as a sentence, after one that comes ``first``; none without any."""
    options = [option for option in options if option != first]
    *options, last = [
        f"{option}{' (to accept reports that old)' * option.startswith(_TRUST)}" for option in options
    ] or [""]
    texts = [first, f"{', '.join(options)}{' or ' * bool(options)}{last}"]
    return [f"To find out, add {', and if that is not enough '.join(filter(None, texts))}."] if any(texts) else []
