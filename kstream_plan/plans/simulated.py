"""The result of a scenario: its plan, its random draws, the effects of each event and of other settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from kstream_plan.model.scenario import Event, Scenario, Stop, in_time
from kstream_plan.plans.notebooks import InNotebooks
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.rounds import Phase, Round
from kstream_plan.plans.step_rows import STARTS, Mask, Rows, are
from kstream_plan.plans.summary import DurationIs


class Range(NamedTuple):
    """A figure over all draws: the median of what is likely, and the ends of what may be."""

    median: int
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """How the draws of a scenario come out: their number, the one that is shown, and the range of every figure.

    ``settled``: how many of them settle. ``shown`` is the draw whose figures are nearest to the medians. ``worst``:
    rule of a policy → its value in its worst draw; empty for one draw, whose plan has it.
    ``least_restored_records`` is the least that had to be restored in each; ``None``: not computed, or unknown.
    """

    number: int
    shown: int
    settled: int
    worst: Mapping[str, int | None]
    duration_ms: Range
    probing_rebalances: Range
    rebalances: Range
    moves: Range
    cold_handovers: Range
    restored_records: Range
    max_paused_ms: Range
    least_restored_records: Range | None = None

    @property
    def for_rules(self) -> OverDraws:
        """What the rules of a policy go by, of all draws."""
        return OverDraws(self.number, self.number - self.settled, self.worst)


class Figures(NamedTuple):
    """The figures of draws that are compared."""

    duration_ms: int
    probing_rebalances: int
    rebalances: int
    moves: int
    cold_handovers: int
    restored_records: int
    max_paused_ms: int


#: The figures of all draws, by the figure of a plan.
_OF_DRAWS = {
    "duration_ms": "duration_ms",
    "rebalances": "rebalances",
    "probing_rebalances": "probing_rebalances",
    "moves": "moves",
    "cold_handovers": "cold_handovers",
    "restored_records": "restored_records",
    "max_paused_task_ms": "max_paused_ms",
}
#: The rules of a policy that measure the worst of all draws, by the figure of a plan.
_WORST_OF_DRAWS = {
    "longest_pause_ms": "max_pause_per_handover",
    "paused_tasks_at_once": "max_paused_tasks_at_once",
    "peak_extra_copies": "max_peak_extra_copies",
    "paused_task_ms": "max_pause_in_all",
    "runs_by_ms": "max_duration",
}
#: The figure that plans have under another name.
_IN_PLANS = {"max_paused_ms": "max_paused_task_ms"}


class OverDraws(NamedTuple):
    """How many draws there are, how many of them do not settle, and what rules measure in the worst one.

    ``worst`` is by rule (``None``: unknown in one of the draws). A rule about client tags is there once per tag, as
    ``distinct_tag_values zone``; a rule that has nothing to measure in any draw is not there.
    """

    number: int
    unsettled_draws: int
    worst: Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The same scenario with one other setting (name of ``AssignmentConfig``).

    paused_task_ms: of Connect groups, the sum of the pauses of all connectors and tasks; else ``None``.
    least_duration_ms, most_duration_ms, most_cold_handovers: the ends of what may be; ``None``: unknown.
    may_not_settle: it settles in the likely outcome, and not in another one.
    """

    setting: str
    value: int
    verdict: Literal["settled", "stuck", "cyclic", "unfinished"]
    duration_ms: int
    duration_is: DurationIs
    rebalances: int
    moves: int
    peak_extra_copies: int
    cold_handovers: int
    paused_task_ms: int | None = None
    least_duration_ms: int | None = None
    most_duration_ms: int | None = None
    most_cold_handovers: int | None = None
    may_not_settle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """What follows from one event, until the next one.

    ``warm_ms``: after so long no copy has to be waited for any more (no further probe is asked for);
    ``balanced_ms``: after so long every task is where it stays. ``None``: not before the next event, or never.
    """

    event: Event
    rebalances: int
    hops: int
    cold_handovers: int
    warm_ms: int | None
    balanced_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation(InNotebooks):
    """The result of a scenario. ``draws`` is ``None`` if nothing in it is random; ``scenario`` is as simulated.

    ``cure``: a setting with which a group settles that does not, if one was found. ``record_size``: so many bytes has a
    record, if what is restored is to be told in bytes as well.
    """

    plan: Plan
    scenario: Scenario
    draws: Draws | None
    events: tuple[EventOutcome, ...]
    what_ifs: tuple[WhatIf, ...]
    cure: WhatIf | None = None
    record_size: int | None = None

    tables: ClassVar[tuple[str, ...]] = ("rounds", "steps")

    @property
    def over_draws(self) -> OverDraws | None:
        """What the rules of a policy go by, of all draws; ``None`` if nothing is random."""
        return None if self.draws is None else self.draws.for_rules

    @property
    def silent(self) -> Mapping[str, str]:
        """The process ids that go without a word, and whether they ``crash`` or ``stop``."""
        stops = [outcome.event for outcome in self.events if isinstance(outcome.event, Stop)]
        return {name: "crash" if stop.crash else "stop" for stop in stops for name in stop.process_ids}

    @property
    def settles(self) -> bool:
        """Whether it settles, in every draw and whatever is unknown."""
        return settles_surely(self.plan, self.draws)

    @property
    def most_cold_handovers(self) -> int:
        """The most cold starts: of the plan, where their number is unknown, and of all draws."""
        of_draws = 0 if self.draws is None else self.draws.cold_handovers.most
        return max(self.plan.ends("cold_handovers")[1], of_draws)

    @property
    def duration_ms(self) -> int:
        """How long it takes, in the middle of all draws."""
        return self.plan.summary.duration_ms if self.draws is None else self.draws.duration_ms.median

    @property
    def moves(self) -> int:
        """How many stateful tasks change owner, in the middle of all draws."""
        return self.plan.summary.moves if self.draws is None else self.draws.moves.median


def figures_of(plan: Plan) -> Figures:
    """Return the figures of one plan that are compared."""
    summary = plan.summary
    return Figures(
        duration_ms=summary.duration_ms,
        probing_rebalances=summary.probing_rebalances,
        rebalances=summary.rebalances,
        moves=summary.moves,
        cold_handovers=summary.cold_handovers,
        restored_records=summary.restored_records or 0,
        max_paused_ms=0 if summary.max_paused_task is None else summary.max_paused_task.ms,
    )


def range_of(plan: Plan, figure: str, draws: Draws | None) -> Range:
    """Return a figure of :data:`~kstream_plan.plans.summary.FIGURES` as a plan has it, and its ends over all draws."""
    over_draws: tuple[int, ...] = ()
    if draws is not None and figure in _OF_DRAWS:
        over_draws = getattr(draws, _OF_DRAWS[figure])
    elif draws is not None and (worst := draws.worst.get(_WORST_OF_DRAWS.get(figure, ""))) is not None:
        over_draws = (worst,)
    return Range(plan.figure(figure) or 0, *plan.ends(figure, *over_draws))


def settles_surely(plan: Plan, draws: Draws | OverDraws | None) -> bool:
    """Tell whether it settles, in every draw and whatever is unknown."""
    if plan.verdict.kind != "settled" or not plan.ends("settles")[0]:
        return False
    if draws is None:
        return True
    of_all = _for_rules(draws)
    return not of_all.unsettled_draws and of_all.worst.get("must_settle", 1) == 1


def more_may_follow(plan: Plan, draws: Draws | OverDraws | None) -> bool:
    """Tell whether there may be more than its figures say: not every outcome was simulated, or not to its end."""
    if plan.verdict.kind == "stuck" and (draws is None or _for_rules(draws).unsettled_draws <= 1):
        return not plan.tells_ends
    return not plan.tells_ends or not settles_surely(plan, draws)


def _for_rules(draws: Draws | OverDraws) -> OverDraws:
    return draws if isinstance(draws, OverDraws) else draws.for_rules


def tells_restored(plan: Plan, draws: Draws | None) -> bool:
    """Tell whether it is known how much is restored, in every draw and whatever else is not known."""
    if plan.may_be_endless("restored_records"):
        return False
    sized = all(plan.group.tasks[task].end_offset_known for task in plan.group.stateful)
    return sized or draws is None or draws.worst.get("max_restored_records", 0) is not None


def ends_of(plan: Plan, figures: Figures) -> tuple[Figures, Figures]:
    """Return the least and the most that the figures of a plan may be, where they depend on unknown facts."""
    ends = [plan.ends(_IN_PLANS.get(name, name), value) for name, value in figures._asdict().items()]
    return Figures(*(low for low, _ in ends)), Figures(*(high for _, high in ends))


def event_outcomes(plan: Plan, scenario: Scenario) -> tuple[EventOutcome, ...]:
    """Return the effects of each event until the next one."""
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    events = in_time(scenario.events)
    outcomes, in_effect_ms = [], plan.in_effect_ms
    stateful = np.array([*plan.group.stateful_flags, False])
    for place, event in enumerate(events):
        end_ms = events[place + 1].at_ms if place + 1 < len(events) else None
        rounds = [rnd for rnd in plan.rounds if event.at_ms <= rnd.at_ms and (end_ms is None or rnd.at_ms < end_ms)]
        starts = [_starts(rnd.steps.rows, stateful) for rnd in rounds]
        outcomes.append(
            EventOutcome(
                event=event,
                rebalances=len(rounds),
                hops=sum(number for number, _ in starts),
                cold_handovers=sum(cold for _, cold in starts),
                warm_ms=_time_until_ms(event, rounds, lambda rnd: not rnd.probing_rebalance),
                balanced_ms=_end(event, rounds, in_effect_ms),
            )
        )
    return tuple(outcomes)


def _starts(rows: Rows, stateful: Mask) -> tuple[int, int]:
    """Return how many stateful tasks start in a round, and how many of them from a copy that is not caught up."""
    starts = are(rows["kind"], *STARTS) & stateful[rows["task"]]
    return int(starts.sum()), int((starts & (rows["caught_up"] == 0)).sum())


def _time_until_ms(event: Event, rounds: Sequence[Round], holds: Callable[[Round], bool]) -> int | None:
    """Return how long after the event something holds for good; ``None`` if it does not hold in the last round."""
    last_without = max((place for place, rnd in enumerate(rounds) if not holds(rnd)), default=-1)
    return rounds[last_without + 1].at_ms - event.at_ms if last_without + 1 < len(rounds) else None


def _end(event: Event, rounds: Sequence[Round], in_effect_ms: Sequence[int]) -> int | None:
    """Return how long after the event nothing follows any more; ``None`` if the last round is not settled.

    ``in_effect_ms``: when each round of the plan has taken effect.
    """
    is_settled = rounds and Phase.SETTLED in rounds[-1].phases
    return in_effect_ms[rounds[-1].number - 1] - event.at_ms if is_settled else None
