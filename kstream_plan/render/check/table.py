"""What a check found, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import Check, CheckedPlan, Finding, Status, Tally
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
UNKNOWN_MARK = "?"
_NARROWEST = 60


def table_report(check: Check, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the violations of every plan, worst first, what is kept in one line; lines of text, each ended."""
    return table_of(
        [plan_lines(checked, width, warnings_too=check.fail_on_warning) for checked in check.plans],
        check.tally,
        width=width,
        colour=colour,
    )


def table_of(plans: Iterable[str], tally: Tally, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the same of the lines of each plan."""
    counts = paragraph(check_counts(tally), max(width, _NARROWEST), "", "  ")
    text = (_text(counts) if len(tally.worst) != 1 or tally.errors else "") + "".join(plans)
    text += "".join(
        _text(_warned(TERMINAL.sentence(message), max(width, _NARROWEST))) for _, (_, message, _) in tally.warnings
    )
    return coloured(text) if colour else text


def check_counts(tally: Tally) -> str:
    """Return how many plans keep to the policy."""
    answered = [*zip(tally.answers, tally.worst, strict=True)]
    broken, unknown = tally.answers.count(Answer.NO), tally.answers.count(Answer.UNKNOWN)
    warned = answered.count((Answer.YES, Status.WARNING))
    parts = [f"{len(tally.errors):,} not checked"] if tally.errors else []
    parts += [f"{broken:,} {'breaks' if broken == 1 else 'break'} the policy"] if broken else []
    parts += [f"{unknown:,} unknown"] if unknown else []
    parts += [f"{warned:,} with warnings"] if warned else []
    parts.append(f"{len(answered) - broken - unknown - warned:,} passed")
    checked = count(len(answered) + len(tally.errors), "application")
    return f"{tally.answer.word}. {checked}: {', '.join(parts)}"


def plan_lines(checked: CheckedPlan, width: int, *, warnings_too: bool = False) -> str:
    """Return what is said of one plan, its lines ended; ``warnings_too``: they fail the check."""
    width = max(width, _NARROWEST)
    names = Names(checked.plan.group, TERMINAL)
    title = f"{heading(checked, names)} ({origin(checked)})"
    lines = paragraph(title, width, f"{checked.answered(warnings_too=warnings_too).word}. ", "  ")
    for finding in checked.findings:
        if finding.status is not Status.PASSED:
            text = f"{finding.rule}: {sentence(finding, checked.plan, names)}"
            lines += paragraph(text, width, f"  {mark_of(finding)} ", "    ")
    ending = [passes(checked)]
    ending += [f"before: {figures(checked.baseline)}"] if checked.baseline else []
    ending += [names.escape(checked.source)] if checked.source else []
    mark = MARKS[Status.PASSED] if checked.of(Status.PASSED) else " "
    lines += paragraph(" · ".join(ending), width, f"  {mark} ", "    ")
    said = {caveat.code for caveat in checked.caveats}
    for note in checked.warnings:
        lines += [] if note.code in said else _warned(names.escape_message(note.message), width)
    return _text(lines)


def mark_of(finding: Finding) -> str:
    """Return the mark of a finding: ``?`` where the answer is unknown and nobody is let off."""
    unknown = finding.answer is Answer.UNKNOWN and finding.status is Status.ERROR
    return UNKNOWN_MARK if unknown else MARKS[finding.status]


def _warned(message: str, width: int) -> list[str]:
    return [*paragraph(f"Warning: {message}", width, "  ", "    ")]


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in lines)
