"""Several applications, one line each, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.escape import MARKDOWN, TERMINAL, Escape, markdown_row
from kstream_plan.render.numbers import count, duration, records
from kstream_plan.render.table import coloured
from kstream_plan.render.wrapping import padded, paragraph, wrapped
from kstream_plan.steps import Plan

_HEADS = ("application", "outcome", "moves", "cold", "worst pause", "to restore")
_RIGHT = (False, False, True, True, True, True)


def summary(plans: Sequence[Plan], *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a heading and one line per application, worst first, as lines of text, each ended."""
    ordered = sorted(plans, key=badness)
    rows = [_cells(plan, TERMINAL) for plan in ordered]
    widths = [max(cell_len(row[column]) for row in (_HEADS, *rows)) for column in range(len(_HEADS))]
    widths[0] = max(10, min(widths[0], width - sum(widths[1:]) - 2 * (len(widths) - 1) - 2))
    lines = [*paragraph(_counts(plans), width, "", "  "), ""]
    for plan, row in zip([None, *ordered], [_HEADS, *rows], strict=True):
        mark = "! " if plan is not None and _is_bad(plan) else "  "
        name, *rest = row
        first, *more = wrapped([name], "", widths[0])
        lines.append(mark + _line((first, *rest), widths).rstrip())
        lines += [f"  {part}" for part in more]
    text = "\n".join(lines) + "\n"
    return coloured(text) if colour else text


def markdown_summary(plans: Sequence[Plan]) -> str:
    """Return a heading and one row per application, worst first, as Markdown."""
    rows = [_cells(plan, MARKDOWN) for plan in sorted(plans, key=badness)]
    rule = ["--:" if right else "---" for right in _RIGHT]
    table = [markdown_row(cells) for cells in (_HEADS, rule, *rows)]
    return "\n".join([_counts(plans), "", *table]) + "\n"


def badness(plan: Plan) -> tuple[bool, int, int, int, int, str]:
    """Return a key that sorts the worst plan first.

    By: does not settle, most cold starts, longest, most moves, most rebalances, application id.
    """
    figures = plan.summary
    return (
        plan.verdict.kind == "settled",
        -figures.cold_handovers,
        -figures.duration_ms,
        -figures.moves,
        -figures.rebalances,
        plan.group.application_id,
    )


def _is_bad(plan: Plan) -> bool:
    return plan.verdict.kind != "settled" or plan.summary.cold_handovers > 0


def _counts(plans: Sequence[Plan]) -> str:
    unsettled = sum(plan.verdict.kind != "settled" for plan in plans)
    settled = sum(not plan.rounds for plan in plans)
    cold = sum(plan.summary.cold_handovers > 0 for plan in plans)
    parts = [f"{unsettled:,} {'does' if unsettled == 1 else 'do'} not settle"] if unsettled else []
    parts += [f"{cold:,} with cold starts"] if cold else []
    parts += [f"{len(plans) - settled:,} would change", f"{settled:,} settled already"]
    return f"{count(len(plans), 'application')}: {', '.join(parts)}"


def _cells(plan: Plan, escape: Escape) -> tuple[str, ...]:
    figures, worst = plan.summary, plan.summary.max_paused_task
    name = escape.name(plan.group.application_id)
    if not plan.rounds:
        return (name, "settled already", "0", "0", "", "")
    stateful = sum(task.stateful for task in plan.group.tasks)
    return (
        name,
        _outcome(plan),
        f"{figures.moves:,}/{stateful:,}",
        f"{figures.cold_handovers:,}",
        duration(worst.ms) if worst else "",
        records(figures.restored_records),
    )


def _outcome(plan: Plan) -> str:
    length = duration(plan.summary.duration_ms)
    if plan.verdict.kind != "settled":
        kinds = {"stuck": "STUCK", "cyclic": "CYCLES", "unfinished": "STOPPED"}
        return f"{kinds[plan.verdict.kind]} after {length}"
    if not plan.summary.duration_ms:
        return "settles at once"
    return f"settles {'≥ ' if plan.summary.duration_is == 'floor' else '~'}{length}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(padded(cell, room, right=right) for cell, room, right in zip(cells, widths, _RIGHT, strict=True))
