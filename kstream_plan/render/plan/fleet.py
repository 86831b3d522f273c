"""Several applications, one line each, worst first."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from rich.cells import cell_len

from kstream_plan.plans import Plan
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.text.escape import Escape, markdown_row
from kstream_plan.render.text.numbers import count, duration, durations, from_to
from kstream_plan.render.text.page import coloured
from kstream_plan.render.text.wrapping import padded, paragraph, wrapped


class Column(NamedTuple):
    """A column's heading, and whether its cells are set to the right."""

    head: str
    right: bool = False


#: What a line of a plan has.
COLUMNS = (
    Column("application"),
    Column("outcome"),
    Column("moves", right=True),
    Column("cold", right=True),
    Column("worst pause", right=True),
    Column("to restore", right=True),
)


class Line(NamedTuple):
    """One application of an overview: its cells, by what it is sorted, worst first, and what it counts for.

    ``surely``: it settles, if it does, whatever nobody knows.
    """

    badness: tuple[bool | int | str, ...]
    cells: tuple[str, ...]
    settles: bool
    starts_cold: bool
    changes: bool = True
    surely: bool = True

    @property
    def is_bad(self) -> bool:
        """Whether it is marked."""
        return not self.settles or not self.surely or self.starts_cold


def plan_line(plan: Plan, escape: Escape) -> Line:
    """Return a plan's line, its name made harmless by ``escape``."""
    settles, cold = plan.verdict.kind == "settled", plan.ends("cold_handovers")[1] > 0
    changes, surely = plan.ends("rebalances")[1] > 0, plan.ends("settles")[0] == 1
    return Line(badness(plan), _cells(plan, escape), settles, cold, changes, surely)


def summary(lines: Sequence[Line], *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a heading and one line per application, worst first, as lines of text, each ended."""
    return worst_first(counts(lines), COLUMNS, lines, width=width, colour=colour)


def markdown_summary(lines: Sequence[Line]) -> str:
    """Return a heading and one row per application, worst first, as Markdown."""
    return markdown_worst_first(counts(lines), COLUMNS, lines)


def worst_first(
    heading: str, columns: Sequence[Column], lines: Sequence[Line], *, width: int = DEFAULT_WIDTH, colour: bool = False
) -> str:
    """Return a heading and the lines, worst first, as lines of text, each ended."""
    ordered = sorted(lines, key=attrgetter("badness"))
    rows, bad = [line.cells for line in ordered], [line.is_bad for line in ordered]
    return overview(heading, columns, rows, bad, width=width, colour=colour)


def markdown_worst_first(heading: str, columns: Sequence[Column], lines: Sequence[Line]) -> str:
    """Return the same as Markdown."""
    return markdown_overview(heading, columns, [line.cells for line in sorted(lines, key=attrgetter("badness"))])


def overview(
    heading: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    marked: Sequence[bool | str],
    *,
    width: int = DEFAULT_WIDTH,
    colour: bool = False,
) -> str:
    """Return a heading and rows under each other, the bad ones ``marked``, or others by another sign.

    The first column takes what room is left.
    """
    heads = [column.head for column in columns]
    widths = [max(map(cell_len, cells)) for cells in zip(heads, *rows, strict=True)]
    widths[0] = max(10, min(widths[0], width - sum(widths[1:]) - 2 * (len(widths) - 1) - 2))
    lines = [*paragraph(heading, width, "", "  "), ""]
    for mark, (name, *rest) in zip([False, *marked], [heads, *rows], strict=True):
        first, *more = wrapped([name], "", widths[0])
        cells = zip((first, *rest), widths, columns, strict=True)
        line = "  ".join(padded(cell, room, right=column.right) for cell, room, column in cells)
        lines.append(f"{'!' if mark is True else mark or ' '} {line.rstrip()}")
        lines += [f"  {part}" for part in more]
    text = "\n".join(lines) + "\n"
    return coloured(text) if colour else text


def markdown_overview(heading: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return the same as Markdown."""
    rule = ["--:" if column.right else "---" for column in columns]
    table = [markdown_row(cells) for cells in ([column.head for column in columns], rule, *rows)]
    return "\n".join([heading, "", *table]) + "\n"


def badness(plan: Plan) -> tuple[bool, int, int, int, int, str]:
    """Return a key that sorts the worst plan first.

    By: does not settle, most cold starts, longest, most moves, most rebalances, application id.
    """
    figures = plan.summary
    return (
        plan.verdict.kind == "settled",
        -plan.ends("cold_handovers")[1],
        -figures.duration_ms,
        -figures.moves,
        -figures.rebalances,
        plan.group.application_id,
    )


def counts(lines: Sequence[Line]) -> str:
    """Return how many plans come to what."""
    unsettled = sum(not line.settles for line in lines)
    settled = sum(not line.changes for line in lines)
    cold = sum(line.starts_cold for line in lines)
    parts = [f"{unsettled:,} {'does' if unsettled == 1 else 'do'} not settle"] if unsettled else []
    parts += not_surely(lines)
    parts += [f"{cold:,} with cold starts"] if cold else []
    parts += [f"{len(lines) - settled:,} would change", f"{settled:,} settled already"]
    return f"{count(len(lines), 'application')}: {', '.join(parts)}"


def not_surely(lines: Sequence[Line]) -> list[str]:
    """Return how many settle, but not whatever nobody knows, if any."""
    unsure = sum(line.settles and not line.surely for line in lines)
    return [f"{unsure:,} may not settle"] if unsure else []


def _cells(plan: Plan, escape: Escape) -> tuple[str, ...]:
    name = escape.name(plan.group.application_id)
    if not plan.ends("rebalances")[1]:
        return (name, "settled already", "0", "0", "", "")
    stateful, paused_ms = len(plan.group.stateful), plan.ends("max_paused_task_ms")
    return (
        name,
        outcome_with_ends(plan, plan.summary.duration_ms),
        f"{from_to(*plan.ends('moves'))}/{stateful:,}",
        from_to(*plan.ends("cold_handovers")),
        ("≥ " if plan.pauses_are_least else "") + durations(*paused_ms) if paused_ms[1] else "",
        "unknown" if plan.may_be_endless("restored_records") else from_to(*plan.ends("restored_records")),
    )


def outcome(plan: Plan, duration_ms: int) -> str:
    """Return how a plan with rounds ends, and after how long."""
    length = duration(duration_ms)
    if plan.verdict.kind != "settled":
        kinds = {"stuck": "STUCK", "cyclic": "CYCLES", "unfinished": "STOPPED"}
        return f"{kinds[plan.verdict.kind]} {'for' if plan.verdict.is_over else 'after'} {length}"
    if plan.summary.duration_is == "least":
        return f"settles ≥ {length}"
    if not duration_ms:
        return "settles at once"
    return f"settles ~{duration(duration_ms)}"


def outcome_with_ends(plan: Plan, duration_ms: int, *of_draws: int) -> str:
    """Return the same with both ends, where nobody knows how long, or whether; without a restore rate the least too.

    ``of_draws`` are the lengths that it may take as well; the least is then that of one of them only, and left out.
    """
    said, between = outcome(plan, duration_ms), durations(*plan.ends("duration_ms", duration_ms, *of_draws))
    said += f" ({between})" if between != duration(duration_ms) else ""
    if plan.verdict.kind == "settled" and not plan.ends("settles")[0]:
        said += " or not"
    floor_ms = None if of_draws or plan.verdict.kind != "settled" else plan.summary.floor_ms
    return said.replace("~", f"≥ {duration(floor_ms)}, ~", 1) if floor_ms else said
