"""Alternatives beside each other, a line each, as a table for a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from kstream_plan.comparison.alternatives import Alternative, Change, SameOutcome, draw_by_draw, fastest
from kstream_plan.plans.simulated import Range
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview, outcome, overview
from kstream_plan.render.plan.moment import as_of
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape, fenced, printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count, duration
from kstream_plan.render.text.wrapping import paragraph, wrapped

_FASTEST = "*"
#: What of an alternative is no matter of how an application is set up.
_NOTHING_TO_DEPLOY = ("design", "max.learners", "plan", "scenario")
_GAP = 2


class Compared(NamedTuple):
    """A column: its heading, what it means, and its cell of an alternative."""

    column: Column
    meaning: str
    cells: tuple[str, ...]


def compare_table(alike: Sequence[SameOutcome], *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a heading, a line for what comes to the same, what the columns mean and what to deploy, lines ended.

    Columns for which there is no room follow below, again beside the alternatives.
    """
    shown, bad = compared(alike, TERMINAL), [is_bad(of.one) for of in alike]
    names, *figures = (one for one in shown if any(one.cells))
    others = [one for one in figures if len(set(one.cells)) > 1 or len(alike) == 1]
    pages = _pages(names, others, width)
    parts = [
        overview(
            heading,
            [names.column, *(one.column for one in page)],
            list(zip(names.cells, *(one.cells for one in page), strict=True)),
            bad,
            width=width,
            colour=colour,
        )
        for heading, page in zip([compared_heading(alike, TERMINAL), *([""] * len(pages))], pages, strict=False)
    ]
    same = [f"{one.column.head} {one.cells[0]}" for one in figures if one not in others]
    meanings = wrapped([f"in all: {', '.join(same)}"], "", width, "", "  ") if same else []
    meanings += wrapped([f"{one.column.head}: {one.meaning}" for one in figures], "; ", width, "", "  ")
    return "\n".join([*(part.lstrip("\n") for part in parts), "\n".join([*meanings, *_below(alike, width)]) + "\n"])


def compare_markdown(alike: Sequence[SameOutcome]) -> str:
    """Return the same as Markdown, all columns beside each other."""
    shown = [one for one in compared(alike, MARKDOWN) if any(one.cells)]
    rows = list(zip(*(one.cells for one in shown), strict=True))
    meanings = "; ".join(f"{one.column.head}: {one.meaning}" for one in shown[1:])
    parts = [markdown_overview(compared_heading(alike, MARKDOWN), [one.column for one in shown], rows), meanings + "\n"]
    best, conclusion = fastest(alike), conclusion_of(alike)
    if conclusion:
        parts.append(f"{MARKDOWN.sentence(conclusion)}\n")
    if best and to_deploy(best[0]):
        parts.append(f"{fenced(chr(10).join(to_deploy(best[0])))}\n")
    return "\n".join(parts)


def to_deploy(of: SameOutcome) -> list[str]:
    """Return the lines of a settings file that the first of these alternatives needs, and what else it takes.

    Nobody can deploy what no release has.
    """
    if _is_draft(of):
        return []
    return [
        printable(f"{change.name}={change.value}" if "." in change.name else f"# {change.name}: {change.value}")
        for change in of.one.changes
        if change.name not in _NOTHING_TO_DEPLOY
    ]


def _is_draft(of: SameOutcome) -> bool:
    return any(note.code == "never-released" for note in of.one.plan.assumptions)


def _pages(names: Compared, others: Sequence[Compared], width: int) -> list[list[Compared]]:
    """Deal the columns to as many tables below each other as the width takes."""
    # a long name is wrapped; it is not what the table is read for
    room = width - 2 - min(max(map(cell_len, (*names.column.head.split(" "), *names.cells))), width // 2)
    pages: list[list[Compared]] = [[]]
    left = room
    for one in others:
        takes = _GAP + max(map(cell_len, (one.column.head, *one.cells)))
        if pages[-1] and takes > left:
            pages.append([])
            left = room
        pages[-1].append(one)
        left -= takes
    return pages


def compared_heading(alike: Sequence[SameOutcome], escape: Escape) -> str:
    """Return whose alternatives these are, and how many."""
    number = sum(len(of.alternatives) for of in alike)
    group = alike[0].one.plan.group.application_id
    draws = {of.draws.number for one in alike for of in one.alternatives if of.draws is not None}
    parts = [f"{escape.name(group)}: {count(number, 'alternative')}"]
    if len(alike) < number:
        parts.append(f"{count(len(alike), 'outcome')}")
    if draws:
        parts.append(f"of {count(max(draws), 'draw')} each, the same ids in all")
    at = as_of(alike[0].one.plan, Names(alike[0].one.plan.group, escape))
    return ", ".join([*parts, *([at] if at else [])])


def compared(alike: Sequence[SameOutcome], escape: Escape) -> list[Compared]:
    """Return the columns, the names of the alternatives first."""
    names = ", ".join(one.name for one in alike[0].one.changes)
    shown = [
        Compared(Column(names), "", tuple(alternative_name(of, escape) for of in alike)),
        Compared(
            Column("balanced"), "time until every task is where it stays", tuple(_balanced(of.one) for of in alike)
        ),
        *(_of_workers(alike) if alike[0].one.plan.is_of_workers else _of_state(alike)),
    ]
    if any(of.one.kept is not None for of in alike):
        kept = tuple("kept" if of.one.kept else f"breaks {', '.join(of.one.broken)}" for of in alike)
        shown.append(Compared(Column("policy"), "rules that are broken", kept))
    return shown


def _of_workers(alike: Sequence[SameOutcome]) -> list[Compared]:
    """Return the figures of Connect groups: what stops and starts, and what nobody runs."""
    columns: Sequence[tuple[str, str, Callable[[Alternative], str]]] = (
        ("rebal.", "rebalances", lambda of: _numbers(of.figures.rebalances)),
        ("stopped", "connectors and tasks that rebalances stop, each time", lambda of: _numbers(of.figures.stopped)),
        ("started", "those that they start", lambda of: _numbers(of.figures.started)),
        (
            "task-s",
            "seconds x tasks that nobody runs, without the time until all have heard of a rebalance",
            lambda of: _so_far(of, _seconds(of.figures.paused_task_ms)),
        ),
        ("conn.-s", "seconds x connectors", lambda of: _so_far(of, _seconds(of.figures.paused_connector_ms))),
        ("pause", "worst standstill of one", lambda of: _so_far(of, _pause(of))),
        ("at once", "most that stand still at the same time", lambda of: _so_far(of, f"{of.figures.paused_at_once:,}")),
        ("moves", "connectors and tasks that change worker, of the least", _moves),
    )
    return [
        Compared(Column(head, right=True), meaning, tuple(cell(of.one) for of in alike))
        for head, meaning, cell in columns
    ]


def _of_state(alike: Sequence[SameOutcome]) -> list[Compared]:
    """Return the figures of groups whose tasks have state."""
    figures = [of.one.figures for of in alike]
    designs = any(one.name == "design" for one in alike[0].one.changes)
    return [
        Compared(
            Column("least", right=True),
            "the same if every copy is restored at once (no rate is known)",
            tuple(
                "" if of.one.plan.summary.floor_ms is None else duration(of.one.plan.summary.floor_ms) for of in alike
            ),
        ),
        Compared(
            Column("relief", right=True),
            "when the busiest instance first runs less",
            tuple("" if of.relief_ms is None else clock(of.relief_ms) for of in figures),
        ),
        Compared(Column("rebal.", right=True), "rebalances", tuple(_numbers(of.rebalances) for of in figures)),
        Compared(
            Column("moves", right=True),
            "stateful tasks that change instance, of the least",
            tuple(_moves(of.one) for of in alike),
        ),
        Compared(
            Column("pause", right=True),
            "worst standstill of a task",
            tuple(_pause(of.one) for of in alike),
        ),
        *(
            [
                Compared(
                    Column("pauses", right=True), "standstills of tasks", tuple(_numbers(of.pauses) for of in figures)
                )
            ]
            if designs
            else []
        ),
        Compared(
            Column("at once", right=True),
            "most tasks still at the same time",
            _counts(of.paused_at_once for of in figures),
        ),
        Compared(Column("cold", right=True), "cold starts", tuple(_numbers(of.cold_handovers) for of in figures)),
        Compared(
            Column("restored", right=True),
            "records",
            tuple("unknown" if of.restored_records is None else _numbers(of.restored_records) for of in figures),
        ),
        Compared(Column("copies", right=True), "most extra copies", _counts(of.peak_extra_copies for of in figures)),
        Compared(
            Column("restores", right=True),
            "most copies that begin to restore in one rebalance",
            _counts(of.most_restores_begun for of in figures),
        ),
        Compared(
            Column("disk", right=True),
            "records in the copies of the fullest instance",
            tuple("unknown" if of.most_state_records is None else f"{of.most_state_records:,}" for of in figures),
        ),
    ]


def alternative_name(of: SameOutcome, escape: Escape) -> str:
    """Return what is otherwise in it, with a mark if none is faster."""
    text = escape.name(folded([one.changes for one in of.alternatives]))
    return f"{text} {escape.sentence(_FASTEST)}" if of.fastest else text


def folded(of: Sequence[Sequence[Change]]) -> str:
    """Tell the values of several alternatives as one: ``8|20, balanced``, or each if they are no grid of values."""
    axes = [dict.fromkeys(one.value for one in changes) for changes in zip(*of, strict=True)]
    cells = 1
    for axis in axes:
        cells *= len(axis)
    if cells == len(of):
        return ", ".join("|".join(axis) for axis in axes)
    return " or ".join(", ".join(one.value for one in changes) for changes in of)


def _balanced(of: Alternative) -> str:
    draws, figures = of.draws, of.figures
    if draws is not None and draws.settled < draws.number:
        return f"{draws.number - draws.settled:,} of {draws.number:,} draws do not settle"
    if not figures.rebalances.most:
        return "nothing follows"
    said, (_, least, most) = outcome(of.plan, figures.balanced_ms.median), figures.balanced_ms
    said += f" ({duration(least)}-{duration(most)})" if duration(least) != duration(most) else ""
    return f"{said} or not" if not of.settles and _may_settle(of) else said


def _may_settle(of: Alternative) -> bool:
    """Tell whether it settles as it is likely to come, in every draw."""
    return of.figures.settled == (1 if of.draws is None else of.draws.number)


def _numbers(of: Range | None) -> str:
    if of is None:
        return ""
    return f"{of.median:,}" if of.least == of.most else f"{of.median:,} ({of.least:,}-{of.most:,})"


def _moves(of: Alternative) -> str:
    return f"{_numbers(of.figures.moves)}/{of.figures.least_moves:,}"


def _seconds(ms: Range | None) -> str:
    return "" if ms is None else _numbers(Range(*(round(one / 1000) for one in ms)))


def _so_far(of: Alternative, text: str) -> str:
    """Return a figure of standstills, as the least where not everything runs again."""
    return text if of.settles or text.startswith("≥") else f"≥ {text}"


def _pause(of: Alternative) -> str:
    median, most = duration(of.figures.max_paused_ms.median), duration(of.figures.max_paused_ms.most)
    if of.plan.pauses_are_least:
        return f"≥ {median}"
    return median if median == most else f"{median} (≤ {most})"


def _counts(values: object) -> tuple[str, ...]:
    return tuple(f"{value:,}" for value in values)  # type: ignore[attr-defined]


def is_bad(of: Alternative) -> bool:
    """Tell whether it is marked: it does not settle, breaks the policy, or starts tasks cold."""
    return not of.settles or of.kept is False or of.figures.cold_handovers.most > 0


def _below(alike: Sequence[SameOutcome], width: int) -> list[str]:
    best, conclusion = fastest(alike), conclusion_of(alike)
    bad = _why_bad(alike)
    marks = ["", *paragraph(f"! {' or '.join(bad)}", width, "", "  ")] if bad else []
    if not conclusion:
        return marks
    lines = to_deploy(best[0]) if best else []
    return [*marks, "", *paragraph(conclusion, width), *(wrap for line in lines for wrap in _setting(line, width))]


def _why_bad(alike: Sequence[SameOutcome]) -> list[str]:
    """Say what some of the alternatives do that are marked as bad."""
    reasons = {
        "does not settle": any(not of.one.settles and not _may_settle(of.one) for of in alike),
        "may not settle": any(not of.one.settles and _may_settle(of.one) for of in alike),
        "breaks the policy": any(of.one.kept is False for of in alike),
        "starts tasks cold, or may": any(of.one.figures.cold_handovers.most for of in alike),
    }
    return [reason for reason, holds in reasons.items() if holds]


def _setting(line: str, width: int) -> list[str]:
    return wrapped([line], "", width, "  ", "    ")


def conclusion_of(alike: Sequence[SameOutcome]) -> str:
    """Say which is the fastest, and whether chance may have decided; nothing if none may be taken."""
    if len(alike) == 1:
        return "all come to the same" if len(alike[0].alternatives) > 1 else ""
    best = fastest(alike)
    if not best:
        known = " is known to settle" if any(_may_settle(of.one) for of in alike) else " settles"
        return f"none of them{known}" + (" and keeps to the policy" if alike[0].one.kept is not None else "")
    word = "least stands still" if best[0].one.plan.is_of_workers else "the fastest"
    draft = ", by a design that no release has" if _is_draft(best[0]) else ""
    told = f"{_FASTEST} {word}{_of_which(best[0].one, alike)}{draft}{_cold(best[0].one)}"
    deploys = bool(to_deploy(best[0]))
    if len(best) == 1:
        return f"{told}{'; to deploy it:' if deploys else ''}"
    if best[0].one.plan.is_of_workers:
        return f"{told}; their figures overlap, so which of them is better may be chance"
    noise = f"{told}; their times overlap, so which of them is faster may be chance"
    compared = _draw_by_draw(best)
    sentence = f"{noise}{': ' if compared else ''}{compared}"
    first = "with the shorter median" if best[0].one.is_random else "that is over first at worst"
    return f"{sentence}; to deploy the one {first}:" if deploys else sentence


def _draw_by_draw(best: Sequence[SameOutcome]) -> str:
    """Say of each of those whose times overlap how it compares with the best in the same draws."""
    first, told = best[0].one, []
    for other in best[1:]:
        beside = draw_by_draw(other.one, first)
        if beside is not None:
            name, draws = _plain(other), len(first.drawn_ms)
            told.append(f"{name} is faster in {beside.faster:,} of {draws:,} draws, slower in {beside.slower:,}")
    return f"beside {_plain(best[0])}, {'; '.join(told)}" if told else ""


def _plain(of: SameOutcome) -> str:
    return printable(folded([one.changes for one in of.alternatives]))


def _cold(best: Alternative) -> str:
    """Say of what is marked how much starts cold all the same."""
    cold = best.figures.cold_handovers
    up_to = "" if cold.least == cold.most else "up to "
    return f", though {up_to}{count(cold.most, 'task')} would start cold" if cold.most else ""


def _of_which(best: Alternative, alike: Sequence[SameOutcome]) -> str:
    policy = " that keeps to the policy" if best.kept else ""
    others = [of.one for of in alike if of.one.settles and of.one.kept is not False]
    colder = any(of.figures.cold_handovers.most > best.figures.cold_handovers.most for of in others)
    return f"{policy}{' and' if policy else ' of those'} with the fewest cold starts" if colder else policy
