"""The page of a plan that was held against a policy: the answer, and each rule with what is planned and allowed."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import CheckedPlan, Finding, Status, Tally
from kstream_plan.policy.rules import Kind
from kstream_plan.render.check.wording import (
    all_figures,
    allowed,
    comparison,
    cure,
    figure_text,
    figures,
    members_text,
    origin,
    place_text,
    sentence,
    undecided_starts,
)
from kstream_plan.render.page import Cell, Column, Fact, Line, Page, Row, Table, Tone, answered, lines_of, text_cell
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, several
from kstream_plan.render.text.would_tell import would_tell

MARKS = {
    Status.ERROR: "✗",
    Status.WARNING: "!",
    Status.WAIVED: "○",
    Status.NOT_APPLICABLE: "–",
    Status.PASSED: "✓",
}
UNKNOWN_MARK = "?"
_TONES: dict[Status, Tone] = {Status.ERROR: "bad", Status.WARNING: "unknown", Status.PASSED: "plain"}
#: Kinds of rules whose figure is a sentence.
_IN_WORDS = (Kind.SWITCH, Kind.GENERATION, Kind.DIGEST, Kind.TAGS)
#: So many rules are named in a sentence.
_MOST_NAMED = 3


def check_page(checked: CheckedPlan, *, verbose: bool = False, warnings_too: bool = False) -> Page:
    """Return the page of one plan.

    Args:
        checked: the plan and its findings.
        verbose: list the rules that are kept as well.
        warnings_too: a warning fails the check.
    """
    names = Names(checked.plan.group)
    answer = checked.answered(warnings_too=warnings_too)
    return Page(
        title=f"{names.escape(checked.application_id)}: {members_text(checked.plan)}",
        tone=answered(answer),
        answer=answer,
        sentences=(_sentence(checked),),
        facts=tuple(_facts(checked)),
        source=f"snapshot: {origin(checked)}" + (f"; {names.escape(checked.source)}" if checked.source else ""),
        tables=tuple(_tables(checked, names, verbose=verbose)),
        lines=_lines(checked, names),
    )


def _sentence(checked: CheckedPlan) -> str:
    """Return which rules are broken or unknown."""
    if any(finding.invariant for finding in checked.findings):
        return "The plan contradicts itself, so nothing that it says counts."
    counted = [*checked.of(Status.ERROR), *checked.of(Status.WARNING)]
    broken = [finding.rule for finding in counted if finding.answer is not Answer.UNKNOWN]
    unknown = [finding.rule for finding in counted if finding.answer is Answer.UNKNOWN]
    rules = len(checked.findings) - len(checked.of(Status.NOT_APPLICABLE))
    waived = len(checked.of(Status.WAIVED))
    parts = []
    if broken:
        parts.append(f"{_of_rules(len(broken), rules)} broken: {several(broken, _MOST_NAMED)}.")
    if unknown:
        parts.append(
            f"It is unknown whether {_of_rules(len(unknown), rules).lower()} kept: {several(unknown, _MOST_NAMED)}."
        )
    undecided = dict.fromkeys(start for finding in counted for start in undecided_starts(finding, checked.plan))
    parts += [f"{options}."] if (options := would_tell(undecided)) else []
    if not broken and not unknown:
        parts.append("The rule is kept." if rules == 1 else f"All {rules - waived:,} rules are kept.")
    parts += [f"{count(waived, 'rule')} waived."] if waived else []
    return " ".join(parts)


def _of_rules(number: int, rules: int) -> str:
    if rules == 1:
        return "The one rule is"
    return f"{number:,} of {count(rules, 'rule')} {'is' if number == 1 else 'are'}"


def _facts(checked: CheckedPlan) -> Iterator[Fact]:
    yield Fact("plan", "Plan", all_figures(checked))
    if checked.baseline is not None:
        yield Fact("before", "Before", figures(checked.baseline))


def _tables(checked: CheckedPlan, names: Names, *, verbose: bool) -> Iterator[Table]:
    shown = [finding for finding in checked.findings if verbose or finding.status is not Status.PASSED]
    passed = len(checked.of(Status.PASSED))
    note = f"{count(passed, 'more rule')} kept" if passed and not verbose and shown else ""
    if not shown:
        return
    cures = any(finding.cure for finding in shown)
    columns = [Column(""), Column("Rule"), Column("Planned", right=True), Column("Limit", right=True), Column("Where")]
    columns += [Column("Would help")] * cures
    yield Table("", tuple(columns), tuple(_row(finding, checked, names, cures=cures) for finding in shown), note)


def _row(finding: Finding, checked: CheckedPlan, names: Names, *, cures: bool) -> Row:
    plan = checked.plan
    tone = "unknown" if mark_of(finding) == UNKNOWN_MARK else _TONES.get(finding.status, "dim")
    cells = [Cell((mark_of(finding),), tone=tone), text_cell(names.escape(finding.rule))]
    if finding.invariant or not finding.applies:
        cells += [text_cell(""), text_cell(""), text_cell(sentence(finding, plan, names))]
    elif finding.kind in _IN_WORDS:
        words = comparison(finding, plan, names) if finding.offences else "kept"
        cells += [text_cell(""), text_cell(allowed(finding.allowed, finding)), text_cell(words)]
    else:
        planned = figure_text(finding, finding.measured, plan)
        limit = allowed(finding.allowed, finding)
        cells += [text_cell(planned), text_cell(limit), text_cell(place_text(finding, plan, names))]
    if cures:
        cells.append(text_cell(cure(finding.cure, finding, plan) if finding.cure else ""))
    return Row(tuple(cells))


def mark_of(finding: Finding) -> str:
    """Return the mark of a finding: ``?`` where the answer is unknown, and no waiver counts."""
    unknown = finding.answer is Answer.UNKNOWN and finding.status is Status.ERROR
    return UNKNOWN_MARK if unknown else MARKS[finding.status]


def _lines(checked: CheckedPlan, names: Names) -> tuple[Line, ...]:
    said = {caveat.code for caveat in checked.caveats}
    warnings = [note for note in checked.warnings if note.code not in said]
    return lines_of("warning", (note._replace(message=names.escape_message(note.message)) for note in warnings))


def tally_text(tally: Tally) -> str:
    """Return how many plans keep to the policy."""
    statuses = [*zip(tally.answers, tally.worst, strict=True)]
    broken, unknown = tally.answers.count(Answer.NO), tally.answers.count(Answer.UNKNOWN)
    warned = statuses.count((Answer.YES, Status.WARNING))
    parts = [f"{len(tally.errors):,} not checked"] if tally.errors else []
    parts += [f"{broken:,} {'breaks' if broken == 1 else 'break'} the policy"] if broken else []
    parts += [f"{unknown:,} unknown"] if unknown else []
    parts += [f"{warned:,} with warnings"] if warned else []
    parts.append(f"{len(statuses) - broken - unknown - warned:,} passed")
    checked = count(len(statuses) + len(tally.errors), "application")
    return f"{tally.answer.word}: {checked}, {', '.join(parts)}"
