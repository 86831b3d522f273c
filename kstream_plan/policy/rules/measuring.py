"""Common parts of the rules of a policy: a plan to measure, the measurement, and what is to blame."""

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
    """One violation of a rule: its value (``None``: unknown), and its place, as far as that is known.

    ``note`` adds to the task or round: a tag, a subtopology, a number of pauses.
    """

    value: int | None = None
    round_number: int | None = None
    task_id: WorkId | None = None
    process_id: str | None = None
    note: str = ""


class Measurement(NamedTuple):
    """The value that a rule limits (``None``: unknown), and what breaks the rule (nothing if it is kept).

    ``figures``, by name: what the value was computed from, for rules that limit several figures at once. ``worst_of``:
    the number of draws; the value is that of the worst one, not the plan's own. ``value_range``: it is the worse end of
    this range. ``unknown``: what breaks the rule is neither proven nor likely, only not ruled out.
    """

    value: int | None
    offences: tuple[Offence, ...] = ()
    figures: tuple[tuple[str, int], ...] = ()
    worst_of: int | None = None
    value_range: tuple[int, int] | None = None
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

        Tasks that are given up for the first one, or whose instance is gone, are paused before it. ``None``: there are
        no rounds.
        """
        if not self.plan.rounds:
            return None
        place = bisect_left(self.plan.rounds, at_ms, key=lambda rnd: rnd.at_ms)
        if place < len(self.plan.rounds) and self.plan.rounds[place].at_ms == at_ms:
            return self.plan.rounds[place].number
        return self.plan.rounds[max(place - 1, 0)].number


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
        """Measure a plan; where the value depends on something unknown, the worse end counts.

        Where only one of several outcomes was simulated, a rule is broken if that one breaks it, else unknown.
        """
        plan = subject.plan
        if (
            self.unknown_with
            and limit is not False
            and any(note.code in self.unknown_with for note in (*plan.warnings, *plan.assumptions))
        ):
            return UNKNOWN
        measurement = self.measure(subject, limit)
        unplayed = limit is not False and not plan.tells_ends
        if self.figure and (unplayed or plan.may_be_endless(self.figure)):
            return measurement if measurement.offences else UNKNOWN
        ends = next((figure_range for figure_range in plan.summary.ranges if figure_range.figure == self.figure), None)
        if ends is None or measurement.value is None:
            return measurement
        worse = self.worst_of((measurement.value, ends.low, ends.high))
        if worse is None or worse == measurement.value:
            return measurement
        worst = measurement._replace(value=worse, value_range=(ends.low, ends.high))
        if measurement.offences or self.keeps(worse, limit):
            return worst
        return worst._replace(offences=(Offence(worse),), unknown=True)

    def worst_of(self, values: Sequence[int | None]) -> int | None:
        """Return the worst of several figures; an unknown one is the worst (``None``)."""
        known_values = [value for value in values if value is not None]
        if len(known_values) < len(values):
            return None
        return min(known_values) if self._more_is_better else max(known_values)

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
        return None if whole is None else value.part_of(whole)


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
            key=lambda offence: (
                -(offence.value or 0),
                offence.round_number or 0,
                offence.task_id.sort_key if offence.task_id else (b"", -1, -1),
                offence.process_id or "",
            ),
        )
    )


def count_events(in_all: int, events: Iterable[Offence], limit: LimitValue) -> Measurement:
    """Measure how many events of one kind there are in all; to blame are those beyond the limit, in their order.

    The events are not read where there are no more than the limit.
    """
    return Measurement(in_all, tuple(islice(events, number(limit), None)) if in_all > number(limit) else ())
