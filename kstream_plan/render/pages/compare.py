"""The page of alternatives beside each other: a column for each, what they have in common, and what each one costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kstream_plan.comparison.alternative_remarks import compare_remarks, outcome_name, settings_text
from kstream_plan.comparison.alternatives import Alternative, Change, DrawByDraw, SameOutcome, draw_by_draw, fastest
from kstream_plan.plans.longest_pause import longest_pause
from kstream_plan.plans.note_codes import EXPERT_CODES
from kstream_plan.plans.simulated import Range
from kstream_plan.render.page import Cell, Column, Fact, Page, Table, Tone, remark_lines, text_cell, text_row
from kstream_plan.render.pages.plan import plan_title, source_text
from kstream_plan.render.pages.plan_facts import if_caught_up
from kstream_plan.render.pages.plan_rounds import PlanView
from kstream_plan.render.pages.plan_sentences import rates_text
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, count_range, duration, duration_range, pause_text, span_to

#: So many alternatives have a column each in one table at most.
_MOST_COLUMNS = 5
_RELIEF, _EXTRA = "First relief of the busiest instance", "Most extra copies at once"
#: What rows mean, below the table.
_LEGEND = {
    _RELIEF: "First relief: when every instance runs fewer tasks than the busiest did at first.",
    _EXTRA: "Extra copies: warm-ups, and copies that wait to be cut over.",
}


class Figure(NamedTuple):
    """A row of the comparison: its name, its text of an alternative, and the number that tells which is less."""

    name: str
    text: Callable[[Alternative], str]
    cost: Callable[[Alternative], int | None] | None = None


def compare_page(alike: Sequence[SameOutcome], *, verbose: bool = False) -> Page:
    """Return the page of the alternatives of one group; ``verbose`` adds what only experts ask."""
    plan = alike[0].alternative.plan
    view = PlanView(plan, Names(plan.group))
    figures = [figure for figure in figures_of(alike) if any(figure.text(outcome.alternative) for outcome in alike)]
    different = [figure for figure in figures if len({figure.text(outcome.alternative) for outcome in alike}) > 1]
    columns, with_policy = (
        figures if verbose or len(alike) == 1 else different,
        alike[0].alternative.keeps_policy is not None,
    )
    return Page(
        title=_title(alike, view),
        tone=_tone(alike),
        sentences=tuple(filter(None, (conclusion(alike), _same(alike, figures, different)))),
        facts=(Fact("rates", "Rates", rates),) if (rates := _rates(alike)) else (),
        source=source_text(plan, view.names) + "; plans begin then" * (with_policy and plan.begins_late_at is None),
        tables=tuple(_tables(alike, columns)),
        lines=remark_lines(compare_remarks(alike), left_out=() if verbose or plan.is_of_workers else EXPERT_CODES),
    )


def alternative_name(outcome: SameOutcome) -> str:
    """Return the values of the alternatives that come to the same: ``8 or 20, balanced``."""
    return printable(settings_text([alternative.changes for alternative in outcome.alternatives], with_names=False))


def axes_name(alike: Sequence[SameOutcome]) -> str:
    """Return what the alternatives differ in: ``max.warmup.replicas, assignor``."""
    return ", ".join(change.name for change in alike[0].alternative.changes)


def is_bad(alternative: Alternative) -> bool:
    """Return whether an alternative does not settle, breaks the policy, or starts tasks cold."""
    return not alternative.settles or alternative.keeps_policy is False or alternative.figures.cold_handovers.most > 0


def figures_of(alike: Sequence[SameOutcome]) -> list[Figure]:
    """Return the rows of a comparison, for workers of Connect or for groups whose tasks have state."""
    with_policy = any(outcome.alternative.keeps_policy is not None for outcome in alike)
    rows = _OF_WORKERS if alike[0].alternative.plan.is_of_workers else _OF_STATE
    return [Figure("Duration", duration_text, _balanced_ms), *rows, *([Figure("Policy", _policy)] * with_policy)]


def duration_text(alternative: Alternative) -> str:
    """Return how long an alternative takes until the group settles."""
    draws, figures = alternative.draws, alternative.figures
    if draws is not None and draws.settled < draws.number:
        return f"{draws.number - draws.settled:,} of {draws.number:,} do not settle"
    if alternative.plan.verdict.kind != "settled":
        return "does not settle"
    if not figures.rebalances.most:
        return "no rebalance"
    if alternative.plan.summary.duration_is == "least":
        return f"at least {at_least(figures.balanced_ms.median)}"
    text = duration_range(*figures.balanced_ms)
    return text if alternative.settles else f"{text}, or does not settle"


def _balanced_ms(alternative: Alternative) -> int | None:
    return alternative.figures.balanced_ms.most if alternative.settles else None


def _shortest(alternative: Alternative) -> str:
    floor_ms = alternative.plan.summary.floor_ms
    return "" if floor_ms is None else at_least(floor_ms)


def _relief(alternative: Alternative) -> str:
    relief_ms = alternative.figures.relief_ms
    return "never" if relief_ms is None else duration(relief_ms)


def _count(alternative: Alternative, figure: Range) -> str:
    """Return a number; of what does not settle, only a lower bound is known."""
    return count_range(*figure, is_open=not alternative.settles)


def _lasted(alternative: Alternative, figure: Range) -> str:
    """Return a duration; of what does not settle, only a lower bound is known."""
    return pause_text(*figure, is_open=not alternative.settles)


def _pause(alternative: Alternative) -> str:
    """Return how long a task pauses at most, with what it restores before it runs."""
    pause = longest_pause(alternative.plan, alternative.draws)
    is_open = pause.most_ms is None or not alternative.settles
    return pause_text(pause.ms, pause.least_ms, pause.most_ms or pause.ms, is_open=is_open)


def _figure(name: str, field: str, show: Callable[[Alternative, Range], str] = _count) -> Figure:
    """Return the row of a figure of alternatives, which may be a range, a number, or unknown."""

    def text(alternative: Alternative) -> str:
        figure: Range | int | None = getattr(alternative.figures, field)
        if figure is None:
            return "unknown"
        return show(alternative, figure if isinstance(figure, Range) else Range(*[figure] * 3))

    def most(alternative: Alternative) -> int | None:
        figure: Range | int | None = getattr(alternative.figures, field)
        return figure.most if isinstance(figure, Range) else figure

    return Figure(name, text, most)


def _policy(alternative: Alternative) -> str:
    broken_rules = [rule for rule in alternative.broken_rules if rule not in alternative.maybe_broken_rules]
    kinds = (("breaks ", broken_rules), ("unknown: ", alternative.maybe_broken_rules))
    return "; ".join(f"{words}{', '.join(rules)}" for words, rules in kinds if rules) or "kept"


_OF_STATE = (
    Figure("Duration without restores", _shortest),
    Figure(_RELIEF, _relief),
    _figure("Rebalances", "rebalances"),
    _figure("Stateful moves", "moves"),
    Figure("Longest pause of a task, summed", _pause, lambda way: longest_pause(way.plan, way.draws).most_ms),
    _figure("Most tasks paused at once", "paused_tasks_at_once"),
    _figure("Cold starts", "cold_handovers"),
    _figure("Records to restore", "restored_records"),
    _figure(_EXTRA, "extra_copies"),
    _figure("Restores begun at once", "most_restores_begun"),
    _figure("Records on the fullest instance", "most_state_records"),
)
_OF_WORKERS = (
    _figure("Rebalances", "rebalances"),
    _figure("Moves", "moves"),
    _figure("Unassigned time, all tasks", "paused_task_ms", _lasted),
    _figure("Unassigned time, all connectors", "paused_connector_ms", _lasted),
    _figure("Longest pause", "max_paused_ms", _lasted),
    _figure("Unassigned at once", "paused_tasks_at_once"),
    _figure("Stops", "stopped"),
    _figure("Starts", "started"),
)


def _rates(alike: Sequence[SameOutcome]) -> str:
    """Return what is restored and written per second; of each alternative where saved plans have other rates."""
    names: dict[str, list[str]] = {}
    for outcome in alike:
        for alternative in outcome.alternatives:
            names.setdefault(rates_text(alternative.plan), []).append(settings_text([alternative.changes]))
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{printable(' and '.join(group))}: {text or 'unknown'}" for text, group in names.items())


def _title(alike: Sequence[SameOutcome], view: PlanView) -> str:
    number = sum(len(outcome.alternatives) for outcome in alike)
    return f"{plan_title(view)}: {count(number, 'alternative')} of {printable(axes_name(alike))}"


def _tone(alike: Sequence[SameOutcome]) -> Tone:
    return "bad" if all(is_bad(outcome.alternative) for outcome in alike) else "plain"


def conclusion(alike: Sequence[SameOutcome]) -> str:
    """Return which alternative settles first, what it costs, and whether chance may have decided."""
    if len(alike) == 1:
        return "All alternatives come to the same." if len(alike[0].alternatives) > 1 else ""
    best = fastest(alike)
    if not best:
        policy = " and to keep to the policy" if alike[0].alternative.keeps_policy is not None else ""
        return f"No alternative is known to settle{policy}."
    first = best[0]
    pauses = first.alternative.plan.is_of_workers
    if len({_first_figure(outcome.alternative) for outcome in alike}) == 1 and all(
        outcome.alternative.settles for outcome in alike
    ):
        equality = "have the same unassigned time" if pauses else "settle at the same time"
        return f"All alternatives {equality}: {_first_figure(first.alternative)}."
    is_alike = (
        len({outcome.alternative.figures.balanced_ms.median for outcome in alike if outcome.alternative.settles}) == 1
    )
    advantage = "has the shortest unassigned time" if pauses else f"settles first{' at worst' * is_alike}"
    policy = (
        " of those that keep to the policy"
        if first.alternative.keeps_policy and any(o.alternative.keeps_policy is False for o in alike)
        else ""
    )
    parts = [f"{outcome_name(first)} {advantage}{policy}: {_first_figure(first.alternative)}."]
    rivals = _names(best[1:])
    overlap = f"Its range of times overlaps with that of {rivals}: the random ids may decide which is faster."
    overlap = overlap if first.alternative.is_random else f"{rivals} may be as fast."
    parts += [overlap] if len(best) > 1 else []
    parts += _in_the_same_draws(best)
    parts += _costs(first, alike)
    return " ".join(parts)


def _first_figure(alternative: Alternative) -> str:
    if alternative.plan.is_of_workers:
        return f"{_lasted(alternative, alternative.figures.paused_task_ms)} over all tasks"
    is_assumed = alternative.settles and alternative.plan.summary.duration_is in ("probes", "floor")
    condition = f" {if_caught_up(alternative.plan)}" if is_assumed else ""
    return f"{'about ' * is_assumed}{duration_text(alternative)}{condition}"


def _names(outcomes: Sequence[SameOutcome]) -> str:
    return " and ".join(map(outcome_name, outcomes))


def _in_the_same_draws(best: Sequence[SameOutcome]) -> Iterator[str]:
    """Yield how those whose times overlap compare with the first one in the same random simulations."""
    first = best[0].alternative
    for rival in best[1:]:
        draw_figures: DrawByDraw | None = draw_by_draw(rival.alternative, first)
        if draw_figures is not None:
            times = f"in {draw_figures.faster:,} of {len(first.drawn_ms):,} random simulations"
            yield f"{outcome_name(rival)} is faster than it {times} and slower in {draw_figures.slower:,}."


def _costs(best: SameOutcome, alike: Sequence[SameOutcome]) -> Iterator[str]:
    """Yield what the first alternative has more of than the first one of the others: nothing is gained for free."""
    rival = next(outcome for outcome in alike if outcome is not best)
    worse = [
        f"{figure.name.lower()} {figure.text(best.alternative)}, not {figure.text(rival.alternative)}"
        for figure in figures_of(alike)
        if figure.cost is not None and _rank(figure.cost(best.alternative)) > _rank(figure.cost(rival.alternative))
    ]
    if worse:
        yield f"Its price, against {outcome_name(rival)}: {'; '.join(worse)}."


def _rank(number: int | None) -> float:
    return float("inf") if number is None else number


def _same(alike: Sequence[SameOutcome], figures: Sequence[Figure], different: Sequence[Figure]) -> str:
    """Return the figures that are the same in all alternatives, and how many random simulations there are."""
    numbers = [
        1 if alternative.draws is None else alternative.draws.number
        for outcome in alike
        for alternative in outcome.alternatives
    ]
    draws = any(alternative.draws is not None for outcome in alike for alternative in outcome.alternatives)
    least, most = min(numbers), max(numbers)
    noun = "random set" if most == 1 else "random sets"
    sets = f"{'the same ' * (least == most)}{span_to(least, most)} {noun} of them"
    parts = (
        [f"Ids of new processes are random and break ties between instances: each is simulated with {sets}."]
        if draws
        else []
    )
    same = [
        f"{figure.name.lower()} {figure.text(alike[0].alternative)}" for figure in figures if figure not in different
    ]
    if same and len(alike) > 1:
        parts.append(f"The same in all: {'; '.join(same)}.")
    return " ".join(parts)


def _tables(alike: Sequence[SameOutcome], figures: Sequence[Figure]) -> Iterator[Table]:
    """Yield tables with a column for each value of one axis: a table for each choice of the others."""
    axis = _longest_axis(alike)
    columns_by_choice: dict[tuple[Change, ...], dict[int, list[str]]] = {}
    for place, outcome in enumerate(alike):
        for alternative in outcome.alternatives:
            choice = (*alternative.changes[:axis], *alternative.changes[axis + 1 :])
            values = columns_by_choice.setdefault(choice, {}).setdefault(place, [])
            values.append(alternative.changes[axis].value)
    for choice, heads in columns_by_choice.items():
        title = f"Alternatives with {settings_text([choice])}" if choice else "Alternatives"
        for start, end in pairwise(_even_parts(len(heads))):
            head_column = Column(printable(alike[0].alternative.changes[axis].name), heads_columns=True)
            part = list(heads.items())[start:end]
            names = [printable(" or ".join(values)) for _, values in part]
            columns = (Column(name, right=True) for name in names)
            outcomes = [alike[place].alternative for place, _ in part]
            rows = (text_row(figure.name, *(_cell(figure, outcome) for outcome in outcomes)) for figure in figures)
            rows_there = {figure.name for figure in figures}
            note = " ".join(text for name, text in _LEGEND.items() if name in rows_there) * (end == len(heads))
            yield Table("" if start else printable(title), (head_column, *columns), tuple(rows), note)


def _longest_axis(alike: Sequence[SameOutcome]) -> int:
    """Return the place of the axis that has the most values, of several the first."""
    changes = [alternative.changes for outcome in alike for alternative in outcome.alternatives]
    sizes = [len({change.value for change in axis}) for axis in zip(*changes, strict=True)]
    return sizes.index(max(sizes))


def _even_parts(number: int) -> list[int]:
    """Return where tables of at most so many columns begin and end, each as long as the others."""
    parts = -(-number // _MOST_COLUMNS)
    return [number * part // parts for part in range(parts + 1)]


def _cell(figure: Figure, alternative: Alternative) -> Cell:
    text = figure.text(alternative)
    bad = (
        (figure.name == "Cold starts" and alternative.figures.cold_handovers.most > 0)
        or (figure.name == "Policy" and alternative.keeps_policy is False)
        or (figure.name == "Duration" and not alternative.settles)
    )
    return text_cell(text, "bad" if bad else "plain")
