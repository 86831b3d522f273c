"""What the rules of a policy have in common: a plan to measure, what was measured, and what is to blame."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import NamedTuple, TypeAlias

from kstream_plan.model import WorkId
from kstream_plan.plans import Plan, Round, Step
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.plans.steps import OfSingleTask
from kstream_plan.plans.targets import has_target
from kstream_plan.policy.limits import LimitValue, Percent


class Kind(StrEnum):
    """What a rule's limit is."""

    DURATION = "duration"
    COUNT = "count"
    RECORDS = "records"
    TAGS = "tags"
    SWITCH = "switch"
    GENERATION = "generation"
    DIGEST = "digest"


class Offence(NamedTuple):
    """One thing that breaks a rule: how far (``None``: unknown), and where as far as that can be said.

    ``note`` is what a task or round alone does not say: a tag, a subtopology, a number of pauses.
    """

    measured: int | None = None
    round_number: int | None = None
    task_id: WorkId | None = None
    process_id: str | None = None
    note: str = ""


class Measurement(NamedTuple):
    """What a plan has of what a rule limits (``None``: unknown), and what breaks the rule (nothing if it is kept).

    ``figures``, by name: what the value was found from, for rules that limit several figures at once. ``worst_of``: the
    value is not the plan's own but that of the worst of so many draws, of which the plan is one. ``between``: it is the
    worse end of this range. ``unknown``: what breaks the rule is neither proven nor likely, only not ruled out.
    """

    value: int | None
    offences: tuple[Offence, ...] = ()
    figures: tuple[tuple[str, int], ...] = ()
    worst_of: int | None = None
    between: tuple[int, int] | None = None
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A plan, the time at which it is checked (with a zone; needed where its age is measured), and the other draws.

    ``draws``: the plan is one of so many; ``None``: nothing in it is random.
    ``needs_rate``: without a restore rate its time is unknown, not likely.
    """

    plan: Plan
    now: datetime | None = None
    draws: OverDraws | None = None
    needs_rate: bool = False

    def round_at(self, at_ms: int) -> int | None:
        """Return the number of the first round at a time of the plan's clock, else of the last one before it.

        What is given up for the first one, or what an instance ran that is gone, stands still before it. ``None``:
        there are no rounds.
        """
        if not self.plan.rounds:
            return None
        found = bisect_left(self.plan.rounds, at_ms, key=lambda rnd: rnd.at_ms)
        if found < len(self.plan.rounds) and self.plan.rounds[found].at_ms == at_ms:
            return self.plan.rounds[found].number
        return self.plan.rounds[max(found - 1, 0)].number


#: Of what is unknown, which keeps to no limit.
UNKNOWN = Measurement(None, (Offence(None),), unknown=True)

Measure: TypeAlias = Callable[[MeasuredPlan, LimitValue], Measurement]


class Rule(NamedTuple):
    """What one rule measures, and how.

    ``description`` is one sentence, as the schema of policies has it. ``whole`` gives what a limit in percent is a part
    of; ``None``: percent has no meaning. ``lowest`` is the least limit that makes sense; ``at_least``: the limit is a
    minimum, not a maximum; ``of_input``: it is about what the plan was made from, so that another plan's figure says
    nothing about it. ``figure``: the one of a plan that it is about, where that may be a range. ``of_state``: it is
    about copies of state, so that it does not apply where no work has any. ``of_workers``: it is about workers of Kafka
    Connect; ``of_target``: about the target file that a plan follows. ``unknown_with``: what a plan may say (codes of
    its warnings and assumptions) that makes it unknown.
    """

    kind: Kind
    description: str
    measure: Measure
    whole: Callable[[Plan], int | None] | None = None
    lowest: int = 0
    at_least: bool = False
    of_input: bool = False
    figure: str = ""
    of_state: bool = False
    of_workers: bool = False
    of_target: bool = False
    unknown_with: tuple[str, ...] = ()

    def applies(self, plan: Plan) -> bool:
        """Tell whether there can be anything in the plan that the rule is about: connectors and tasks have no state."""
        if self.of_target and not has_target(plan):
            return False
        return not (self.of_state if plan.is_of_workers else self.of_workers)

    def worst(self, subject: MeasuredPlan, limit: LimitValue) -> Measurement:
        """Measure a plan; where what is limited hangs on what nobody knows, the worse end counts.

        Nothing is kept for sure where only one play of several was played; what that one breaks is broken.
        """
        plan = subject.plan
        if (
            self.unknown_with
            and limit is not False
            and any(note.code in self.unknown_with for note in (*plan.warnings, *plan.assumptions))
        ):
            return UNKNOWN
        shown = self.measure(subject, limit)
        unplayed = limit is not False and not plan.tells_ends
        if self.figure and (unplayed or plan.may_be_endless(self.figure)):
            return shown if shown.offences else UNKNOWN
        ends = next((one for one in plan.summary.ranges if one.figure == self.figure), None)
        if ends is None or shown.value is None:
            return shown
        worse = self.worst_of((shown.value, ends.low, ends.high))
        if worse is None or worse == shown.value:
            return shown
        worst = shown._replace(value=worse, between=(ends.low, ends.high))
        if shown.offences or self.keeps(worse, limit):
            return worst
        return worst._replace(offences=(Offence(worse),), unknown=True)

    def worst_of(self, values: Sequence[int | None]) -> int | None:
        """Return the worst of several figures; one that is not known is the worst (``None``)."""
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        return min(known) if self._more_is_better else max(known)

    def keeps(self, value: int | None, limit: LimitValue) -> bool:
        """Tell whether a figure keeps to a limit; one that is not known does not."""
        if value is None:
            return False
        return value >= number(limit) if self._more_is_better else value <= number(limit)

    @property
    def _more_is_better(self) -> bool:
        return self.at_least or self.kind is Kind.SWITCH

    def resolved(self, value: LimitValue, plan: Plan) -> LimitValue | None:
        """Return the limit as a number where it is a part of a whole; ``None``: the whole is not known."""
        if not isinstance(value, Percent):
            return value
        whole = self.whole(plan) if self.whole is not None else None
        return None if whole is None else value.of(whole)


def steps(rounds: Iterable[Round], *kinds: type[OfSingleTask]) -> Iterator[tuple[Round, Step]]:
    """Yield every step of these kinds with its round."""
    for rnd in rounds:
        for step in rnd.steps.of_kinds(*kinds):
            yield rnd, step


def number(limit: LimitValue) -> int:
    """Return a limit that is a number."""
    assert isinstance(limit, int)
    return limit


def worst_first(offences: Iterable[Offence]) -> tuple[Offence, ...]:
    """Sort by how far, the farthest first; then by round, task and instance."""
    return tuple(
        sorted(
            offences,
            key=lambda one: (
                -(one.measured or 0),
                one.round_number or 0,
                one.task_id.sort_key if one.task_id else (b"", -1, -1),
                one.process_id or "",
            ),
        )
    )


def counted(in_all: int, events: Iterable[Offence], limit: LimitValue) -> Measurement:
    """Measure how many events of one kind there are in all; to blame are those beyond the limit, in their order.

    Nobody asks for the events where there are no more than the limit.
    """
    return Measurement(in_all, tuple(islice(events, number(limit), None)) if in_all > number(limit) else ())
