"""What a check found, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from kstream_plan.policy.findings import Check, CheckedPlan, Status, Tally
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.check.wording import figures, heading, origin, passes, sentence
from kstream_plan.render.text.escape import TERMINAL
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count
from kstream_plan.render.text.page import coloured
from kstream_plan.render.text.wrapping import paragraph

MARKS = {
    Status.ERROR: "✗",
    Status.WARNING: "!",
    Status.WAIVED: "○",
    Status.NOT_APPLICABLE: "-",
    Status.PASSED: "✓",
}
_NARROWEST = 60


def table_report(check: Check, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the violations of every plan, worst first, what is kept in one line; lines of text, each ended."""
    return table_of([plan_lines(checked, width) for checked in check.plans], check.tally, width=width, colour=colour)


def table_of(plans: Iterable[str], tally: Tally, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the same of the lines of each plan."""
    counts = paragraph(check_counts(tally), max(width, _NARROWEST), "", "  ")
    text = (_text(counts) if len(tally.worst) != 1 or tally.errors else "") + "".join(plans)
    return coloured(text) if colour else text


def check_counts(tally: Tally) -> str:
    """Return how many plans keep to the policy."""
    errors, warnings = tally.worst.count(Status.ERROR), tally.worst.count(Status.WARNING)
    parts = [f"{len(tally.errors):,} not checked"] if tally.errors else []
    parts += [f"{errors:,} {'breaks' if errors == 1 else 'break'} the policy"] if errors else []
    parts += [f"{warnings:,} with warnings"] if warnings else []
    parts.append(f"{len(tally.worst) - errors - warnings:,} passed")
    return f"{count(len(tally.worst) + len(tally.errors), 'application')}: {', '.join(parts)}"


def plan_lines(checked: CheckedPlan, width: int) -> str:
    """Return what is said of one plan, its lines ended."""
    width = max(width, _NARROWEST)
    names = Names(checked.plan.group, TERMINAL)
    title = f"{heading(checked, names)} ({origin(checked)})"
    lines = paragraph(title, width, f"{MARKS[checked.worst]} ", "  ")
    for finding in checked.findings:
        if finding.status is not Status.PASSED:
            text = f"{finding.rule}: {sentence(finding, checked.plan, names)}"
            lines += paragraph(text, width, f"  {MARKS[finding.status]} ", "    ")
    ending = [passes(checked)]
    ending += [f"before: {figures(checked.baseline)}"] if checked.baseline else []
    ending += [names.escape(checked.source)] if checked.source else []
    mark = MARKS[Status.PASSED] if checked.of(Status.PASSED) else " "
    return _text(lines + paragraph(" · ".join(ending), width, f"  {mark} ", "    "))


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines)
