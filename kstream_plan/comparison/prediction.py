"""A plan beside what the group then did: generation by generation, what came as planned, and what differs first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from kstream_plan.model import Group, KnownDecision, Note, Snapshot, WorkId
from kstream_plan.model.note import Remarks, count
from kstream_plan.plans import Plan, Round


class Likeness(StrEnum):
    """How far a generation came as planned."""

    #: Thread by thread.
    AS_SAID = "as-said"
    #: By instance, and not by thread.
    OTHER_THREADS = "other-threads"
    OTHER = "other"
    #: The group had more of them than the plan.
    NOT_SAID = "not-said"
    #: The plan has more of them than the history.
    NOT_SEEN = "not-seen"

    @property
    def is_as_planned(self) -> bool:
        """Whether it came as planned, by instance."""
        return self in (Likeness.AS_SAID, Likeness.OTHER_THREADS)


class DifferenceCause(StrEnum):
    """The cause of the first difference, as far as the records show."""

    #: Others took part than the plan has, or something happened that the plan does not have.
    ANOTHER_MEMBER = "another-member"
    #: A follow-up came later, or earlier, than planned, so that it found other lags.
    LATE_FOLLOW_UP = "late-follow-up"
    #: A copy was further behind, or less far, than the plan has it.
    RATE = "rate"
    #: Which thread of an instance came first.
    THREAD_RACE = "thread-race"
    #: The class that follows target files had none that counted.
    WITHOUT_FILE = "without-file"
    #: The plan ended before the group did, or goes on where the group had settled.
    LENGTH = "length"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A generation as recorded.

    snapshot: what was reported for it; its ``decision`` is what was decided.
    at_ms: when, since 1970.
    trigger: in the words of :class:`~kstream_plan.plans.Trigger`.
    plan: the id of the plan whose target file was followed; ``None``: none was.
    without_plan: the code of why no target file was followed; ``None`` also if another class decided.
    has_withheld: whether the decision has the new owners of withheld tasks: logs have them, brokers do not.
    """

    snapshot: Snapshot
    at_ms: int
    trigger: str | None = None
    plan: str | None = None
    without_plan: str | None = None
    has_withheld: bool = True

    @classmethod
    def from_holdings(cls, snapshot: Snapshot, at_ms: int, trigger: str | None = None) -> Recorded:
        """Return a generation that is known by its members' holdings, as of Connect and streams groups."""
        decision = KnownDecision(generation=snapshot.state.generation, consumers=tuple(snapshot.state.holdings))
        return cls(replace(snapshot, decision=decision), at_ms, trigger, has_withheld=False)

    @property
    def has_settled(self) -> bool:
        """Whether the leader schedules no probe; a follow-up may still be due."""
        return self.snapshot.decision is not None and self.snapshot.decision.probing_rebalance is False


class TaskHolders(NamedTuple):
    """The process ids of a task's owner and of the instances with its copies, in order."""

    active: str | None
    copies: tuple[str, ...]


class TaskDifference(NamedTuple):
    """A task that was decided otherwise than planned; process ids are the plan's where it has the instance."""

    task_id: WorkId
    said: TaskHolders
    seen: TaskHolders


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationPair:
    """A round of the plan and the generation of the group at the same place, with times on the plan's clock.

    number: the place, from 1.
    planned_round: the plan's round; ``None``: the plan has none.
    recorded_generation: the group's generation; ``None``: the group had none.
    members_said: process ids of the members in the plan alone.
    members_seen: process ids of the members in the group alone.
    """

    number: int
    planned_round: Round | None
    recorded_generation: Recorded | None
    seen_ms: int | None
    likeness: Likeness
    tasks: tuple[TaskDifference, ...] = ()
    members_said: tuple[str, ...] = ()
    members_seen: tuple[str, ...] = ()

    @property
    def late_ms(self) -> int | None:
        """How much later than planned it came."""
        return None if self.planned_round is None or self.seen_ms is None else self.seen_ms - self.planned_round.at_ms


class CopyEvidence(NamedTuple):
    """A copy whose lag the plan has otherwise: as reported (``None``: not reported), beside the limit of then."""

    task_id: WorkId
    process_id: str
    lag: int | None
    limit: int
    said_caught_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """The first generation that did not come as planned by instance, or else by thread, and the cause.

    since_said_ms: the planned time since the generation before.
    since_seen_ms: the same as recorded.
    copy: the copy whose lag is the evidence.
    threads_differ_from: the number of the first generation whose threads differ.
    """

    pair: GenerationPair
    cause: DifferenceCause
    since_said_ms: int | None = None
    since_seen_ms: int | None = None
    copy: CopyEvidence | None = None
    threads_differ_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidAndHappened:
    """A plan beside a history.

    group: the plan's members, and those that only the history has.
    starts_ms: when the plan's clock was 0, since 1970.
    assumed: ``starts_ms`` is assumed, so that the first generations are at the same time.
    misplaced_tasks: the tasks with another owner at the end than planned; ``None``: the history ends before the plan.
    later: the number of generations left out of the history, after both had ended.
    """

    plan: Plan
    group: Group
    starts_ms: int
    assumed: bool
    pairs: tuple[GenerationPair, ...]
    first: FirstDifference | None
    misplaced_tasks: tuple[TaskDifference, ...] | None
    later: int

    @property
    def planned_count(self) -> int:
        """How many generations the plan has."""
        return len(self.plan.rounds)

    @property
    def recorded_pairs(self) -> tuple[GenerationPair, ...]:
        """The generations that the group had."""
        return tuple(pair for pair in self.pairs if pair.recorded_generation is not None)

    @property
    def as_planned_count(self) -> int:
        """How many generations came as planned, by instance."""
        return sum(pair.likeness.is_as_planned for pair in self.pairs)

    @property
    def as_planned_by_thread_count(self) -> int:
        """How many generations came as planned, thread by thread."""
        return sum(pair.likeness is Likeness.AS_SAID for pair in self.pairs)

    @property
    def alike(self) -> bool:
        """Whether every generation came as planned, by instance, and there was no other one."""
        return self.as_planned_count == len(self.pairs)

    @property
    def ends_early(self) -> bool:
        """Whether all came as planned as far as the history goes; it may begin later or end earlier than the plan."""
        rest = (pair.likeness is Likeness.NOT_SEEN for pair in self.pairs if not pair.likeness.is_as_planned)
        return not self.misplaced_tasks and all(rest)

    @property
    def remarks(self) -> Remarks:
        """The remarks beside the figures."""
        notes, assumptions = list[Note](_notes_of_files(self.recorded_pairs)), list[Note]()
        if self.later:
            subject, verb = count(self.later, "later rebalance"), "is" if self.later == 1 else "are"
            message = f"{subject} of the history, started by something else, {verb} left out"
            notes.append(Note("later-generations", f"{message}; --to POINT includes those up to it"))
        if self.assumed:
            first = self.recorded_pairs[0].number
            subject = "The first rebalance" if first == 1 else f"The history begins with rebalance {first:,}, which"
            message = f"{subject} is assumed to come at its planned time"
            assumptions.append(Note("start-assumed", f"{message}; --from TIME says when the event happened"))
        return Remarks(notes=tuple(notes), assumptions=tuple(assumptions))


def _notes_of_files(pairs: Sequence[GenerationPair]) -> Iterator[Note]:
    """Yield notes of decisions that followed no target file, or those of several plans."""
    numbers_by_code, by_plan, by_another = dict[str, list[int]](), dict[str, list[int]](), list[int]()
    for pair in pairs:
        assert pair.recorded_generation is not None
        if pair.recorded_generation.without_plan is not None:
            numbers_by_code.setdefault(pair.recorded_generation.without_plan, []).append(pair.number)
        elif pair.recorded_generation.plan is not None:
            by_plan.setdefault(pair.recorded_generation.plan, []).append(pair.number)
        else:
            by_another.append(pair.number)
    for code, numbers in numbers_by_code.items():
        yield Note("decided-without-file", f"{_rebalances(numbers)} decided without the target file: {code}")
    if by_another and (numbers_by_code or by_plan):
        message = f"{_rebalances(by_another)} decided by a class that follows no target file"
        yield Note("decided-by-another-class", f"{message}: its leader was without task.assignor.class")
    other_plans = sorted(
        {
            pair.recorded_generation.plan
            for pair in pairs
            if pair.recorded_generation and pair.recorded_generation.plan and not _follows_it(pair)
        }
    )
    if other_plans:
        message = (
            f"The group followed the target file of plan {', '.join(other_plans)}, which this plan does not: compare "
            "the plan by that file (--set assignor=planned --set target=FILE)"
        )
        yield Note("decided-by-other-file", message)
    if len(by_plan) > 1:
        parts = [f"{plan} decided {len(numbers):,}" for plan, numbers in by_plan.items()]
        yield Note("decided-by-several-plans", f"Several plans were followed: {', '.join(parts)} rebalances")


def _follows_it(pair: GenerationPair) -> bool:
    """Return whether the planned decision follows the target file of the real one, or equals it anyway."""
    if pair.planned_round is None or pair.recorded_generation is None or pair.likeness is not Likeness.OTHER:
        return True
    return pair.planned_round.follows is not None and pair.planned_round.follows.plan in (
        None,
        pair.recorded_generation.plan,
    )


def _rebalances(numbers: Sequence[int]) -> str:
    """Return a subject and its verb: ``Rebalances 2 to 4 and 7 were``."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    texts = [
        text
        for row in rows
        for text in ([f"{row[0]:,} to {row[-1]:,}"] if len(row) > 2 else [f"{number:,}" for number in row])
    ]
    subject = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
    return f"Rebalance {subject} was" if len(numbers) == 1 else f"Rebalances {subject} were"
