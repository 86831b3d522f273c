"""What a check found, as text for a terminal."""

from __future__ import annotations

from kstream_plan.policy.findings import Check, CheckedPlan, Status
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
    width = max(width, _NARROWEST)
    lines = paragraph(check_counts(check), width, "", "  ") if len(check.plans) != 1 or check.errors else []
    for checked in check.plans:
        lines += _plan(checked, width)
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def check_counts(check: Check) -> str:
    """Return how many plans keep to the policy."""
    errors = sum(checked.worst is Status.ERROR for checked in check.plans)
    warnings = sum(checked.worst is Status.WARNING for checked in check.plans)
    parts = [f"{len(check.errors):,} not checked"] if check.errors else []
    parts += [f"{errors:,} {'breaks' if errors == 1 else 'break'} the policy"] if errors else []
    parts += [f"{warnings:,} with warnings"] if warnings else []
    parts.append(f"{len(check.plans) - errors - warnings:,} passed")
    return f"{count(len(check.plans) + len(check.errors), 'application')}: {', '.join(parts)}"


def _plan(checked: CheckedPlan, width: int) -> list[str]:
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
    return lines + paragraph(" · ".join(ending), width, f"  {mark} ", "    ")
