"""A fleet at a glance: how many applications are how, then each, worst first, with what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from kstream_plan.fleet.figures import OUTCOMES, RISKS, is_bad, is_least, risks
from kstream_plan.plans.result import Result
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape
from kstream_plan.render.text.numbers import count, duration, from_to
from kstream_plan.render.text.page import coloured
from kstream_plan.render.text.wrapping import padded, paragraph, wrapped

COLUMNS = (
    Column("application"),
    Column("instances", right=True),
    Column("tasks", right=True),
    Column("left", right=True),
    Column("cold", right=True),
    Column("pause", right=True),
    Column("restored", right=True),
)
#: That it takes at least less than this says nothing.
_WORTH_A_WORD_MS = 1_000
_UNITS = ("", "k", "M", "G", "T", "P", "E")


def fleet_table(
    all_results: Sequence[Result], shown: Sequence[Result], *, width: int = DEFAULT_WIDTH, colour: bool = False
) -> str:
    """Return how many of all results are how, and the ``shown`` ones, a line each and beneath it why, if they change.

    Where a figure has two ends it is the worse one.
    """
    lines = paragraph(fleet_heading(all_results, shown), width, "", "  ")
    if shown:
        lines += ["", *_lines(shown, width)]
        lines += ["", *(line for text in fleet_legend(shown) for line in paragraph(text, width, "", "  "))]
    text = "\n".join(lines) + "\n"
    return coloured(text) if colour else text


def fleet_markdown(all_results: Sequence[Result], shown: Sequence[Result]) -> str:
    """Return the same as Markdown, why in a column of its own."""
    rows = [(*result_cells(result, MARKDOWN), "; ".join(result_why(result, MARKDOWN))) for result in shown]
    return markdown_overview(fleet_heading(all_results, shown), (*COLUMNS, Column("why")), rows)


def fleet_heading(all_results: Sequence[Result], shown: Sequence[Result]) -> str:
    """Return how many of all applications are how and how many at risk, and how many files tell of none."""
    files = [result for result in all_results if result.application_id is None]
    results = [result for result in all_results if result.application_id is not None]
    found: Counter[str] = Counter(result.outcome for result in results)
    parts = [f"{found[outcome]:,} {outcome}" for outcome in OUTCOMES if found[outcome]]
    unsure = sum(result.outcome == "moving" and not result.settles_surely for result in results)
    parts += [f"{unsure:,} of the moving may not settle"] if unsure else []
    more = f" ({len(shown):,} shown{_out_of_sight(all_results, shown)})" if len(shown) < len(all_results) else ""
    unread = f"; {count(len(files), 'file')} that cannot be read" if files else ""
    return f"{count(len(results), 'application')}: {', '.join(parts)}{_at_risk(results)}{unread}{more}"


def _out_of_sight(all_results: Sequence[Result], shown: Sequence[Result]) -> str:
    """Return how many that cannot be read are not among the shown ones, after a separator; empty if all are."""
    every, here = (sum(one.outcome == "unreadable" for one in of) for of in (all_results, shown))
    return f", without {every - here:,} unreadable" if every > here else ""


def _at_risk(results: Sequence[Result]) -> str:
    """Return how many are at risk, and by what, after a separator; empty if none is."""
    of_each = [risks(result) for result in results]
    found = Counter(risk for of in of_each for risk in of)
    by_what = ", ".join(f"{found[risk]:,} with {risk}" for risk in RISKS if found[risk])
    return f"; {sum(map(bool, of_each)):,} at risk: {by_what}" if by_what else ""


def fleet_legend(shown: Sequence[Result]) -> Iterator[str]:
    """Yield what the figures mean."""
    yield "left, cold, pause, restored: the worse end of what is known; ≥: nobody knows how much more"
    if any(result.duration_is == "probes" for result in shown):
        yield "~ where no restore rate is known: if copies are ready at the next probe"


def _lines(shown: Sequence[Result], width: int) -> Iterator[str]:
    """Yield a line for each, beneath it why; a name that is too long has a line of its own."""
    heads = tuple(column.head for column in COLUMNS)
    rows = [result_cells(result, TERMINAL) for result in shown]
    _, *widths = (max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=True))
    room = max(12, min(max(map(cell_len, (row[0] for row in rows))), width - 2 - sum(widths) - 2 * len(widths)))

    def line(mark: str, cells: Sequence[str], name: str) -> str:
        numbers = "  ".join(padded(cell, of, right=True) for cell, of in zip(cells[1:], widths, strict=True))
        return f"{mark} {padded(name, room)}  {numbers}".rstrip()

    yield line(" ", heads, heads[0])
    for result, cells in zip(shown, rows, strict=True):
        mark, name = "!" if is_bad(result) else " ", cells[0]
        if cell_len(name) > room:
            yield from wrapped([name], "", width, f"{mark} ", "  ")
            mark, name = " ", ""
        yield line(mark, cells, name)
        if why := "; ".join(result_why(result, TERMINAL)):
            yield from paragraph(why, width, "    ", "    ")


def result_cells(result: Result, escape: Escape) -> tuple[str, ...]:
    """Return the cells of a result, its name made harmless by ``escape``."""
    name = "(a file)" if result.application_id is None else escape.name(result.application_id)
    if result.outcome == "unreadable":
        return (name, "", "", "UNREADABLE", "", "", "")
    joining, leaving = result.instances_joining or 0, result.instances_leaving or 0
    instances = f"{result.instances:,}" + (f" +{joining:,}" if joining else "") + (f" -{leaving:,}" if leaving else "")
    if result.outcome == "settled":
        return (name, instances, f"{result.tasks:,}", "settled", "", "", "")
    restored = result.restored_records_most
    cold, pause, much = ("≥ " if is_least(result, name) else "" for name in ("cold", "pause", "restored"))
    return (
        name,
        instances,
        f"{result.tasks:,}",
        _left(result),
        f"{cold}{result.cold_handovers_most:,}",
        pause + duration(result.max_paused_task_ms_most or 0),
        "?" if restored is None else much + _rounded_up(restored),
    )


def _left(result: Result) -> str:
    """Return how long it takes at worst, or how it ends otherwise."""
    kinds = {"stuck": "STUCK", "cyclic": "CYCLES", "unfinished": "STOPPED"}
    if result.outcome in kinds:
        return kinds[result.outcome]
    sign = "≥ " if result.duration_is in ("least", "floor") else "~"
    return f"{sign}{duration(result.duration_ms_most or 0)}{'' if result.settles_surely else ' or not'}"


def _rounded_up(number: int) -> str:
    """Return a number in three digits at most, never less than it is."""
    unit = 0
    while number >= 1_000 and unit < len(_UNITS) - 1:
        number, unit = -(-number // 1_000), unit + 1
    return f"{number:,}{_UNITS[unit]}"


def result_why(result: Result, escape: Escape) -> Iterator[str]:
    """Yield why something follows, what keeps it from settling, and what would cure that."""
    if result.outcome == "unreadable":
        yield escape.sentence(result.error or "")
        return
    if result.outcome != "settled":
        reasons = list(_changes(result))
        yield from reasons
        yield from _moves(result, though="" if reasons else ", though loads are even")
    if result.draws is not None and result.draws_settled is not None and not result.every_draw_settles:
        yield f"does not settle in {result.draws - result.draws_settled:,} of {count(result.draws, 'draw')}"
    if result.standbys_missing:
        yield f"{count(result.standbys_missing, 'standby')} missing"
    if result.cause:
        yield escape.sentence(result.cause)
    if result.cure:
        yield f"cure: {escape.sentence(result.cure)}"


def _changes(result: Result) -> Iterator[str]:
    if result.instances_empty:
        yield f"{count(result.instances_empty, 'instance')} hold{'s' if result.instances_empty == 1 else ''} nothing"
    if result.instances_joining:
        yield f"{result.instances_joining:,} join{'s' if result.instances_joining == 1 else ''}"
    if result.instances_leaving:
        yield f"{result.instances_leaving:,} leave{'s' if result.instances_leaving == 1 else ''}"
    if (result.spread or 0) > 1:
        yield f"loads differ by {count(result.spread or 0, 'task')}"


def _moves(result: Result, *, though: str) -> Iterator[str]:
    """Yield how many tasks move, also where loads are even: decisions do not go by who has what; and the least time."""
    moves = (result.moves_least or 0, result.moves_most or 0)
    if moves[1]:
        yield f"{from_to(*moves)} of {count(result.stateful_tasks or 0, 'task')} to move{though}"
    elif though and not result.standbys_missing:
        number = result.rebalances or 0
        yield f"{count(number, 'rebalance')} follow{'s' if number == 1 else ''}, though no load moves"
    least_ms = result.duration_ms_least or 0
    if result.outcome == "moving" and _WORTH_A_WORD_MS <= least_ms < (result.duration_ms_most or 0):
        yield f"{duration(least_ms)} at least"
