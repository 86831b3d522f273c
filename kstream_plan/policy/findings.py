"""Findings of a check: per rule and plan whether it is kept, by how much not, and what is to blame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from kstream_plan.model import Note, WorkId
from kstream_plan.model.answer import Answer, worst_of
from kstream_plan.model.connect_group import DELAY_UNKNOWN, HELD_BY_SEVERAL, WORKER_SILENT
from kstream_plan.model.note import span_to
from kstream_plan.model.settings import THREADS_NOT_PLANNED
from kstream_plan.model.snapshot import COMES_NO_CLOSER
from kstream_plan.plans import Plan
from kstream_plan.plans.note_codes import COLD_STARTS, NOTE_CODES
from kstream_plan.plans.plan import COPIES_TOGETHER, MAYBE_RESTORING, RESTORES_WITHIN_LIMIT
from kstream_plan.plans.simulated import OverDraws, more_may_follow
from kstream_plan.policy.limits import Limit, LimitValue, Policy, Waiver
from kstream_plan.policy.rules import RULES, Kind, Offence


class Status(StrEnum):
    """The status of one rule, the worst first; ``error`` fails the check."""

    ERROR = "error"
    WARNING = "warning"
    WAIVED = "waived"
    NOT_APPLICABLE = "not-applicable"
    PASSED = "passed"


#: Tasks are unassigned when the plan begins.
PAUSED_BEFORE = "paused-before"


@dataclass(frozen=True, slots=True)
class Cure:
    """Changed settings with which a plan was made that keeps to the rule, and the ``value`` that it then measures.

    ``lasts_ms``: how long it then takes; ``None``: unknown. ``longer_ms``: the same, where that is longer than now.
    ``cold``: how many starts are cold then, at least and at most. ``still_broken``: the other rules that are broken
    then, as they were before.
    """

    settings: tuple[tuple[str, object], ...]
    value: int | None
    longer_ms: int | None = None
    still_broken: tuple[Finding, ...] = ()
    lasts_ms: int | None = None
    cold: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule on one plan.

    ``limit`` is as the policy gives it, ``allowed`` the same with percent resolved (``None``: percent of something
    unknown). ``value`` is the measured one; ``None``: unknown. ``offences`` name what is to blame, worst first, and
    are empty if and only if the rule is kept; ``figures`` as of :class:`~kstream_plan.policy.rules.Measurement`.
    ``waiver`` is in force, ``expired`` would have covered the violation until its day. ``baseline_value`` is the value
    of the baseline, ``kept_before`` whether it keeps to the rule (``None``: there is no baseline). ``unknown``: whether
    the rule is broken is unknown, and the value is the worst that is not ruled out. ``likely``: no restore rate is
    known, so that the value is the likely time alone. ``worst_of``: the number of draws; the value is that of the worst
    one, the plan is a better one. ``value_range``: the value is the worse end of this range. ``invariant`` marks a
    broken invariant of the plan instead of a rule; ``was_saved``: of a plan that was read from a file. ``applies``:
    the rule applies to such a plan; else nothing is measured.
    """

    rule: str
    kind: Kind
    application_id: str
    limit: Limit
    allowed: LimitValue | None
    value: int | None
    offences: tuple[Offence, ...] = ()
    figures: tuple[tuple[str, int], ...] = ()
    at_least: bool = False
    waiver: Waiver | None = None
    expired: Waiver | None = None
    baseline_value: int | None = None
    kept_before: bool | None = None
    cure: Cure | None = None
    worst_of: int | None = None
    value_range: tuple[int, int] | None = None
    unknown: bool = False
    likely: bool = False
    invariant: bool = False
    was_saved: bool = False
    applies: bool = True

    @property
    def status(self) -> Status:
        """Whether the rule is kept, and if not how much that counts."""
        if not self.applies:
            return Status.NOT_APPLICABLE
        if not self.offences:
            return Status.PASSED
        return Status.WAIVED if self.waiver is not None else Status(self.limit.level.value)

    @property
    def answer(self) -> Answer:
        """Whether the plan keeps to the rule, waived or not: NO by what is proven or likely, UNKNOWN at worst."""
        if not self.applies or not self.offences:
            return Answer.YES
        return Answer.UNKNOWN if self.unknown else Answer.NO

    @property
    def worst_tag(self) -> str:
        """The client tag whose values the copies share, and how many values they have: ``zone: 1``; empty if no tag."""
        worst = self.offences[0] if self.kind is Kind.TAGS and self.offences else None
        is_known = worst is not None and worst.note and worst.value is not None
        return f"{worst.note.rpartition(': ')[0]}: {worst.value:,}" if worst and is_known else ""

    @property
    def is_option(self) -> bool:
        """Whether an option asks for it, as ``--max-snapshot-age``: other settings change nothing about it."""
        return self.rule.startswith("--")

    @property
    def round_number(self) -> int | None:
        """The round of the worst offence, if it has one."""
        return self.offences[0].round_number if self.offences else None

    @property
    def tasks(self) -> tuple[WorkId, ...]:
        """The tasks to blame, worst first."""
        return tuple(dict.fromkeys(offence.task_id for offence in self.offences if offence.task_id is not None))

    @property
    def excess(self) -> float:
        """How far beyond the limit, as a ratio; an unknown value is the farthest."""
        if not isinstance(self.allowed, int) or isinstance(self.allowed, bool) or self.value is None:
            return float("inf")
        low, high = sorted((self.allowed, self.value))
        return high / low if low else float(high + 1)


def _paused_before(plan: Plan) -> Iterator[Note]:
    """Yield that tasks are unassigned when a plan begins, if any are."""
    if idle := plan.pauses.rounds.idle():
        task_ids = tuple(str(plan.group.tasks[task].task_id) for task in sorted(idle))
        verb = "task pauses" if len(idle) == 1 else "tasks pause"
        message = (
            f"{len(idle):,} {verb} when the plan begins, since when is unknown: limits of pauses count from then on"
        )
        yield Note(PAUSED_BEFORE, message, task_ids)


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """One plan with its findings, worst first, then those that do not apply and that passed, in the order of the rules.

    ``age_ms`` is that of the snapshot (``None``: not known); ``source`` says where the plan is kept, empty if nowhere.
    ``draws``: the plan is one of these, and its findings are of them all. ``cures_sought``: what has no cure has none
    among the settings that were tried.
    """

    plan: Plan
    findings: tuple[Finding, ...]
    age_ms: int | None
    source: str = ""
    baseline: Plan | None = None
    draws: OverDraws | None = None
    cures_sought: bool = False

    @property
    def application_id(self) -> str:
        """Which application it is."""
        return self.plan.group.application_id

    def findings_of(self, status: Status) -> tuple[Finding, ...]:
        """Return the findings of one status."""
        return tuple(finding for finding in self.findings if finding.status is status)

    @property
    def violations(self) -> tuple[Finding, ...]:
        """The findings that count against it: those of level error first."""
        return (*self.findings_of(Status.ERROR), *self.findings_of(Status.WARNING))

    @property
    def caveats(self) -> tuple[Note, ...]:
        """Caveats beside rules that are kept: what the snapshot does not say, or what is wrong in it already."""
        notes = {note.code: note for note in (*self.plan.warnings, *self.plan.assumptions)}
        caveats = list[Note]()
        if WORKER_SILENT in notes:
            caveats.append(Note(WORKER_SILENT, "a worker does not answer: it may have gone"))
        if DELAY_UNKNOWN in notes:
            caveats.append(Note(DELAY_UNKNOWN, "a delay may run that is not known of"))
        elif "counts-only" in notes:
            caveats.append(Note("counts-only", "unless a worker has crashed: REST does not tell"))
        if THREADS_NOT_PLANNED in notes:
            message = "num.stream.threads is not planned: instances have other threads now"
            caveats.append(Note(THREADS_NOT_PLANNED, message, notes[THREADS_NOT_PLANNED].subjects))
        if RESTORES_WITHIN_LIMIT in notes:
            tasks = len(notes[RESTORES_WITHIN_LIMIT].subjects)
            verbs = ("task counts", "restores") if tasks == 1 else ("tasks count", "restore")
            message = f"{tasks:,} {verbs[0]} as caught up and {verbs[1]} all the same"
            caveats.append(Note(RESTORES_WITHIN_LIMIT, message, notes[RESTORES_WITHIN_LIMIT].subjects))
        if MAYBE_RESTORING in notes:
            how_many = len(notes[MAYBE_RESTORING].subjects)
            message = f"{how_many:,} {'task' if how_many == 1 else 'tasks'}, started cold before, may not run yet"
            caveats.append(Note(MAYBE_RESTORING, message, notes[MAYBE_RESTORING].subjects))
        stalled_copies = tuple(
            subject for note in self.plan.warnings if note.code == COMES_NO_CLOSER for subject in note.subjects
        )
        if stalled_copies:
            of_how_many = f"{len(stalled_copies):,} {'copy' if len(stalled_copies) == 1 else 'copies'}"
            message = f"of {of_how_many} the lag did not fall while it was observed"
            caveats.append(Note(COMES_NO_CLOSER, message, stalled_copies))
        if COPIES_TOGETHER in notes:
            message = "rack.aware.assignment.tags does not keep all copies apart"
            caveats.append(Note(COPIES_TOGETHER, message, notes[COPIES_TOGETHER].subjects))
        caveats += _paused_before(self.plan)
        if HELD_BY_SEVERAL in notes:
            shared_work = notes[HELD_BY_SEVERAL].subjects
            total = f"{len(self.plan.group.tasks):,} connectors and tasks"
            message = f"several workers run the same now: {len(shared_work):,} of {total}"
            caveats.append(Note(HELD_BY_SEVERAL, message, shared_work))
        return tuple(caveats)

    @property
    def worst(self) -> Status:
        """The worst status of its findings that counts; a waived one does not."""
        return next((status for status in (Status.ERROR, Status.WARNING) if self.findings_of(status)), Status.PASSED)

    @property
    def answer(self) -> Answer:
        """Whether it keeps to the policy; what only warns does not count, nor what is waived."""
        return worst_of([finding.answer for finding in self.findings_of(Status.ERROR)])

    def check_answer(self, *, warnings_too: bool) -> Answer:
        """Return the answer of a check, in which warnings may count as well: those of rules, and the plan's own."""
        if not warnings_too:
            return self.answer
        of_rules = [finding.answer for finding in self.findings_of(Status.WARNING)]
        return worst_of([self.answer, *of_rules, *([Answer.UNKNOWN] if self.warnings else [])])

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What the plan warns of beside its rules, caveats included."""
        worst = None if self.draws is None else self.draws.worst.get("max_cold_handovers")
        least, most = self.plan.ends("cold_handovers", *([] if worst is None else [worst]))
        number = span_to(least, most, is_open=more_may_follow(self.plan, self.draws))
        message = f"{number[0].upper()}{number[1:]} {'start is' if most == 1 else 'starts are'} cold"
        starts = (Note(COLD_STARTS, message),) if self.plan.summary.cold_handovers else ()
        codes = {note.code for note in self.plan.warnings} | NOTE_CODES
        of_plan = tuple(note for note in self.plan.warnings if note.code not in NOTE_CODES)
        return (*starts, *of_plan, *(caveat for caveat in self.caveats if caveat.code not in codes))

    def fails(self, *, warnings_too: bool) -> bool:
        """Tell whether a check of it fails."""
        return self.check_answer(warnings_too=warnings_too) is not Answer.YES

    @property
    def place(self) -> tuple[int | str, ...]:
        """A key that sorts the worst plan first, then by application."""
        counts = (-len(self.findings_of(status)) for status in (Status.ERROR, Status.WARNING, Status.WAIVED))
        return *counts, self.application_id, self.plan.digest, self.source


@dataclass(frozen=True, slots=True)
class Tally:
    """What one call has checked, without the plans: the worst status of each, in their order, and the rest as a whole.

    ``answers``: whether each keeps to the policy, in the same order.
    ``violated``: the check fails.
    ``errors``, ``warnings``: as of :class:`Check`.
    """

    worst: tuple[Status, ...]
    answers: tuple[Answer, ...]
    now: datetime
    fail_on_warning: bool
    violated: bool
    errors: tuple[tuple[str | None, str], ...]
    warnings: tuple[tuple[str, Note], ...] = ()

    @property
    def answer(self) -> Answer:
        """Whether all is as it has to be; UNKNOWN, too, where something was not checked."""
        amiss = not self.answers or bool(self.errors) or (self.fail_on_warning and bool(self.warnings))
        return check_answer(self.answers, amiss=amiss)


@dataclass(frozen=True, slots=True)
class Check:
    """Everything one call has checked, and the errors of applications that could not be.

    Plans are sorted: the worst first, then by application. ``warnings`` are those of no plan, with the application.
    """

    plans: tuple[CheckedPlan, ...]
    now: datetime
    fail_on_warning: bool = False
    errors: tuple[tuple[str | None, str], ...] = ()
    warnings: tuple[tuple[str, Note], ...] = ()

    @property
    def answer(self) -> Answer:
        """As of :class:`Tally`."""
        return self.tally.answer

    @property
    def violated(self) -> bool:
        """Whether the policy or a guard is violated so that the check fails."""
        fails = any(checkup.fails(warnings_too=self.fail_on_warning) for checkup in self.plans)
        return fails or (self.fail_on_warning and bool(self.warnings))

    @property
    def tally(self) -> Tally:
        """All but the plans."""
        worst = tuple(checkup.worst for checkup in self.plans)
        answers = tuple(checkup.check_answer(warnings_too=self.fail_on_warning) for checkup in self.plans)
        return Tally(worst, answers, self.now, self.fail_on_warning, self.violated, self.errors, self.warnings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every plan's findings, worst first."""
        return tuple(sorted((finding for checkup in self.plans for finding in checkup.findings), key=badness))


@dataclass(frozen=True, slots=True)
class Standard:
    """The standard that plans are checked against: the policy, the guards of this call, and the time (with a zone)."""

    policy: Policy
    now: datetime
    guards: Mapping[str, LimitValue] = field(default_factory=lambda: MappingProxyType({}))


def check_answer(answers: Iterable[Answer], *, amiss: bool) -> Answer:
    """Return the answer to a whole check; what is ``amiss`` leaves it unknown."""
    return worst_of([*answers, *([Answer.UNKNOWN] if amiss else [])])


def badness(finding: Finding) -> tuple[int, bool, float, str, int]:
    """Return a key that sorts the worst finding first: status, broken invariant, excess, application, rule."""
    status = finding.status
    excess = 0.0 if status is Status.PASSED else -finding.excess
    order = list(RULES).index(finding.rule) if finding.rule in RULES else len(RULES)
    return list(Status).index(status), not finding.invariant, excess, finding.application_id, order
