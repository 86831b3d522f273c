"""Alternatives beside each other: the figures of each, equal outcomes, and the fastest one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import ClassVar, NamedTuple

from kstream_plan.model.holding_changes import apart_from_stateless, changed_holdings
from kstream_plan.plans import Plan
from kstream_plan.plans.interruptions import Stops, stops_of
from kstream_plan.plans.loads import relief_ms
from kstream_plan.plans.longest_pause import longest_pause
from kstream_plan.plans.note_codes import NOTE_CODES
from kstream_plan.plans.notebooks import InNotebooks
from kstream_plan.plans.simulated import Draws, Range, range_of, settles_surely, tells_restored
from kstream_plan.plans.steps import HandOver, Place, Promote, restores_anew


class Change(NamedTuple):
    """What differs in an alternative: a setting in Kafka's spelling, ``assignor``, ``scenario`` and the like."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeFigures:
    """The figures of one alternative.

    A range has the figure of the random simulation that is shown, and the least and the most of all random simulations
    and of what is unknown of the one shown. If the others are unknown, all figures are those of the one shown.

    relief_ms: when the busiest instance begins to run fewer tasks than at first, as shown; ``None``: never.
    most_restores_begun: the most copies that begin to restore in one rebalance, as shown.
    most_state_records: records in the copies of the fullest instance, as shown; ``None``: an end offset is unknown.
    pauses: the number of pauses of tasks.
    paused_task_ms: how long they last together.
    paused_connector_ms: the same of the connectors of a Connect group, counted apart; ``None``: another group.
    stopped: connectors and tasks that rebalances stop, each time; ``None``: no Connect group.
    started: connectors and tasks that rebalances start, each time; ``None``: no Connect group.
    """

    settled: int
    balanced_ms: Range
    rebalances: Range
    moves: Range
    max_paused_ms: Range
    cold_handovers: Range
    restored_records: Range | None
    relief_ms: int | None
    least_moves: int
    paused_tasks_at_once: Range
    extra_copies: Range
    most_restores_begun: int
    most_state_records: int | None
    pauses: Range
    paused_task_ms: Range
    paused_connector_ms: Range | None
    stopped: Range | None
    started: Range | None

    @property
    def paused_at_once(self) -> int:
        """The most tasks that are paused at the same time, in any random simulation."""
        return self.paused_tasks_at_once.most

    @property
    def peak_extra_copies(self) -> int:
        """The most copies beyond those that stay, in any random simulation."""
        return self.extra_copies.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One of several alternatives.

    changes: what differs in it.
    draws: the random simulations; ``None``: nothing is random.
    figures: what it comes to.
    drawn_ms: how long each random simulation takes, if the other alternatives have the same ones; else empty.
    keeps_policy: whether it keeps to the policy; ``None``: there is none.
    broken_rules: the rules that it breaks or may break.
    maybe_broken_rules: those of them that it may break.
    """

    changes: tuple[Change, ...]
    plan: Plan
    draws: Draws | None
    figures: AlternativeFigures
    drawn_ms: tuple[int, ...] = ()
    keeps_policy: bool | None = None
    broken_rules: tuple[str, ...] = ()
    maybe_broken_rules: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it is known how long it takes, and not only how long at least."""
        return self.plan.summary.duration_is != "least" and not self.plan.may_be_endless("duration_ms")

    @property
    def is_random(self) -> bool:
        """Whether it has random simulations: the one that is shown ranks it."""
        return self.draws is not None or bool(self.drawn_ms)

    @property
    def is_short(self) -> bool:
        """Whether there are not enough instances for the standbys that it asks for."""
        return any(note.code == "standbys-short" for note in self.plan.warnings)

    @property
    def settles(self) -> bool:
        """Whether it settles in every random simulation and whatever is unknown; all of that has to be simulated."""
        of_all = 1 if self.draws is None else self.draws.number
        return self.figures.settled == of_all and self.plan.tells_ends and settles_surely(self.plan, self.draws)


class DrawByDraw(NamedTuple):
    """In how many of the same random simulations an alternative is faster than another, and in how many slower."""

    faster: int
    slower: int


class SameOutcome(NamedTuple):
    """Alternatives with equal outcomes, in the order given; ``fastest``: none is faster beyond chance."""

    alternatives: tuple[Alternative, ...]
    fastest: bool

    @property
    def alternative(self) -> Alternative:
        """The first alternative, for the figures that all of them share."""
        return self.alternatives[0]


class Outcomes(tuple[SameOutcome, ...], InNotebooks):
    """Alternatives beside each other, grouped by equal outcomes."""

    __slots__ = ()

    tables: ClassVar[tuple[str, ...]] = ("alternatives",)

    @property
    def first(self) -> Plan:
        """The plan of the first alternative."""
        return self[0].alternative.plan


def alternative_figures(plan: Plan, draws: Draws | None, stops: Sequence[Stops] = ()) -> AlternativeFigures:
    """Return the figures of a plan and its random simulations; ``stops`` are those of every simulation, if known."""
    columns = zip(stops_of(plan), *stops, strict=True)
    pauses, task_ms, connector_ms, stop_count, start_count = (
        Range(column[0], min(column), max(column)) for column in columns
    )
    figure = partial(range_of, plan, draws=draws)
    workers = plan.is_of_workers
    return AlternativeFigures(
        settled=int(plan.verdict.kind == "settled") if draws is None else draws.settled,
        balanced_ms=figure("duration_ms"),
        rebalances=figure("rebalances"),
        moves=figure("moves"),
        max_paused_ms=figure("max_paused_task_ms"),
        cold_handovers=figure("cold_handovers"),
        restored_records=figure("restored_records") if tells_restored(plan, draws) else None,
        relief_ms=relief_ms(plan),
        least_moves=plan.summary.lower_bounds.moves,
        paused_tasks_at_once=figure("paused_tasks_at_once"),
        extra_copies=figure("peak_extra_copies"),
        most_restores_begun=_most_restores_begun(plan),
        most_state_records=_most_state_records(plan),
        pauses=pauses,
        paused_task_ms=task_ms if workers else Range(task_ms.median, *plan.ends("paused_task_ms", *task_ms)),
        paused_connector_ms=connector_ms if workers else None,
        stopped=stop_count if workers else None,
        started=start_count if workers else None,
    )


def beside_each_other(alternatives: Sequence[Alternative]) -> Outcomes:
    """Group alternatives with equal outcomes, those that keep to the policy first; mark the fastest acceptable ones.

    Outcomes with other warnings, or with another longest pause, are not equal.

    An acceptable alternative settles in every random simulation whatever is unknown, has more than a lower bound of its
    time, keeps to the policy if there is one, and has instances for all its standbys. The best one has the fewest cold
    starts in its worst random simulation; of these it is balanced first in the one that is shown. For a single plan
    whose time depends on something unknown, the worse end counts. Others are marked with it if they have as few cold
    starts and their times overlap with those of the best, unless they are slower in each of the same random
    simulations: the difference may be chance. For Connect groups the time of unassigned tasks counts instead. If all
    outcomes are equal, none is marked.
    """
    alternatives_by_outcome: dict[tuple[object, ...], list[Alternative]] = {}
    for alternative in alternatives:
        key = (
            alternative.figures,
            longest_pause(alternative.plan, alternative.draws),
            _warnings(alternative.plan),
            alternative.plan.verdict.kind,
            alternative.settles,
            alternative.is_known,
            alternative.keeps_policy,
            alternative.broken_rules,
            alternative.maybe_broken_rules,
        )
        alternatives_by_outcome.setdefault(key, []).append(alternative)
    groups = sorted(alternatives_by_outcome.values(), key=lambda group: group[0].keeps_policy is False)
    may_be = (group[0] for group in groups if group[0].settles and group[0].is_known and not group[0].is_short)
    allowed = [alternative for alternative in may_be if alternative.keeps_policy is not False]
    best = min(allowed, key=_speed, default=None) if len(groups) > 1 else None
    return Outcomes(SameOutcome(tuple(group), group[0] in allowed and _is_as_fast(group[0], best)) for group in groups)


def _warnings(plan: Plan) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Return the codes of a plan's warnings with their tasks and instances; mere notes are left out."""
    return frozenset((note.code, note.subjects) for note in plan.warnings if note.code not in NOTE_CODES)


def fastest(outcomes: Sequence[SameOutcome]) -> list[SameOutcome]:
    """Return the outcomes that are marked as fastest, the best first."""
    return sorted((outcome for outcome in outcomes if outcome.fastest), key=lambda outcome: _speed(outcome.alternative))


def _speed(alternative: Alternative) -> tuple[int, ...]:
    if alternative.plan.is_of_workers:  # where nothing starts cold, and minutes pass in which nothing runs
        return (
            alternative.figures.paused_task_ms.most,
            alternative.figures.paused_task_ms.median,
            alternative.figures.balanced_ms.most,
        )
    likely_ms = (
        alternative.figures.balanced_ms.median if alternative.is_random else alternative.figures.balanced_ms.most
    )
    return alternative.figures.cold_handovers.most, likely_ms, alternative.figures.balanced_ms.most


def draw_by_draw(alternative: Alternative, rival: Alternative) -> DrawByDraw | None:
    """Compare two alternatives in the same random simulations; ``None``: there are none, or more is unknown."""
    if (
        not alternative.drawn_ms
        or len(alternative.drawn_ms) != len(rival.drawn_ms)
        or not (_is_drawn(alternative) and _is_drawn(rival))
    ):
        return None
    pairs = list(zip(alternative.drawn_ms, rival.drawn_ms, strict=True))
    return DrawByDraw(
        sum(duration_ms < rival_ms for duration_ms, rival_ms in pairs),
        sum(duration_ms > rival_ms for duration_ms, rival_ms in pairs),
    )


def _is_drawn(alternative: Alternative) -> bool:
    return (alternative.figures.balanced_ms.least, alternative.figures.balanced_ms.most) == (
        min(alternative.drawn_ms),
        max(alternative.drawn_ms),
    )


def _is_as_fast(alternative: Alternative, best: Alternative | None) -> bool:
    if best is not None and alternative.plan.is_of_workers:
        return alternative.figures.paused_task_ms.least <= best.figures.paused_task_ms.most
    if best is None or alternative.figures.cold_handovers.most != best.figures.cold_handovers.most:
        return False
    comparison = draw_by_draw(alternative, best)
    always_slower = comparison is not None and comparison.slower == len(alternative.drawn_ms)
    return alternative.figures.balanced_ms.least <= best.figures.balanced_ms.most and not always_slower


def _most_restores_begun(plan: Plan) -> int:
    return max((_restores_begun(plan, place) for place in range(len(plan.rounds))), default=0)


def _restores_begun(plan: Plan, place: int) -> int:
    steps = plan.rounds[place].single_steps
    return sum(
        restores_anew(step, plan.group) and step.restore_records != 0
        for step in steps
        if isinstance(step, Place | HandOver | Promote)
    )


def _most_state_records(plan: Plan) -> int | None:
    group = plan.group
    sizes = [task.end_offset_sum if task.stateful else 0 for task in group.tasks]
    if not all(task.end_offset_known for task in group.tasks if task.stateful):
        return None
    return max(chain.from_iterable(_state_records(plan, sizes)), default=0)


def _state_records(plan: Plan, sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield for each state the records in the copies of every instance; only changed holdings are counted again."""
    records = [0] * len(plan.group.instances)
    history = [plan.initial, *(rnd.assigned for rnd in plan.rounds)]
    for _, changes in changed_holdings(list(map(apart_from_stateless, history))):
        for consumer, old, new in changes:
            sums = (sum(sizes[task] for role in holding for task in role) for holding in (new, old))
            records[plan.group.instance_of[consumer]] += next(sums) - next(sums)
        yield list(records)
