"""The page of a plan that was held against a policy: the answer, and each rule with what is planned and allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kstream_plan.model.answer import Answer
from kstream_plan.model.note import Remarks
from kstream_plan.policy.findings import CheckedPlan, Finding, Status, Tally
from kstream_plan.policy.limits import ALWAYS, WITH_TARGET
from kstream_plan.policy.next_command import next_command
from kstream_plan.render.check import wording
from kstream_plan.render.page import (
    Cell,
    Fact,
    Page,
    Row,
    Table,
    Tone,
    answer_tone,
    columns_of,
    remark_lines,
    text_cell,
    text_row,
)
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, is_are, name_list

_MARKS = {Status.ERROR: "✗", Status.WARNING: "!", Status.WAIVED: "○", Status.NOT_APPLICABLE: "–", Status.PASSED: "✓"}
_TONES: dict[Status, Tone] = {Status.ERROR: "bad", Status.WARNING: "unknown", Status.PASSED: "plain"}
#: Rules about the snapshot and the target file: no setting helps against them.
_OF_INPUT = ("max_snapshot_age", "require_generation", WITH_TARGET)
#: So many rules are named in a sentence.
_MOST_NAMED = 3


def check_page(checkup: CheckedPlan, *, verbose: bool = False, warnings_too: bool = False) -> Page:
    """Return the page of one plan; ``verbose`` lists kept rules as well, ``warnings_too``: warnings fail the check."""
    names = Names(checkup.plan.group)
    answer = checkup.check_answer(warnings_too=warnings_too)
    return Page(
        title=f"{names.escape(checkup.application_id)}: {wording.members_text(checkup.plan)}",
        tone=answer_tone(answer),
        answer=answer,
        sentences=(_sentence(checkup, answer, warnings_too=warnings_too),),
        facts=tuple(_facts(checkup)),
        source="; ".join(["snapshot: " + wording.origin(checkup), *filter(None, [names.escape(checkup.source)])]),
        tables=tuple(_tables(checkup, names, verbose=verbose)),
        lines=remark_lines(_remarks(checkup), names.escape_message),
    )


def _sentence(checkup: CheckedPlan, answer: Answer, *, warnings_too: bool) -> str:
    """Return which rules are broken or unknown: those that count for the answer first."""
    if any(finding.invariant for finding in checkup.findings):
        return "The plan contradicts itself, so nothing that it says counts."
    violations, mild_violations = checkup.findings_of(Status.ERROR), checkup.findings_of(Status.WARNING)
    if warnings_too:
        violations, mild_violations = (*violations, *mild_violations), ()
    rules = len(checkup.findings) - len(checkup.findings_of(Status.NOT_APPLICABLE))
    waivers = len(checkup.findings_of(Status.WAIVED))
    parts = list[str]()
    if not violations:
        parts += _nothing_broken(checkup, mild_violations, rules - waivers, warnings_too=warnings_too)
    parts += _violations(violations, lambda number: _of_rules(number, rules))
    parts += wording.would_tell((*violations, *mild_violations), checkup.plan)
    parts += _violations(mild_violations, lambda number: f"{count(number, 'rule')} of level warning {is_are(number)}")
    if answer is not Answer.NO and any(finding.likely for finding in checkup.findings_of(Status.PASSED)):
        parts.append(
            "max_duration is kept if copies are caught up at the next probe; only --restore-rate would prove that."
        )
    parts += [f"{count(waivers, 'rule')} waived."] if waivers else []
    return " ".join(parts)


def _nothing_broken(
    checkup: CheckedPlan, mild_violations: Sequence[Finding], rules: int, *, warnings_too: bool
) -> Iterator[str]:
    """Yield that no rule that counts is broken, after the plan's own warnings where these count as well."""
    if warnings_too and checkup.warnings:
        yield f"The plan has {count(len(checkup.warnings), 'warning')}, and warnings count (--fail-on-warning)."
    always = _always(checkup)
    if mild_violations:
        yield "No rule of level error is broken."
    elif rules == 1:
        no_others = (
            "" if checkup.findings_of(Status.WAIVED) else ": no policy has a rule for this application (--policy)"
        )
        yield f"Only {ALWAYS} is checked, and kept{no_others}." if always else "The rule is kept."
    else:
        yield f"All {rules:,} rules are kept{always}."


def _always(checkup: CheckedPlan) -> str:
    """Return which of the rules that are kept stands in every policy, written or not."""
    is_kept = any(finding.rule == ALWAYS for finding in checkup.findings_of(Status.PASSED))
    return f" ({ALWAYS} is in every policy)" if is_kept else ""


def _violations(findings: Sequence[Finding], subject: Callable[[int], str]) -> Iterator[str]:
    """Yield which rules are broken, and of which that is unknown; ``subject``: so many of them, with the verb."""
    broken_rules = [finding.rule for finding in findings if finding.answer is not Answer.UNKNOWN]
    unknown = [finding.rule for finding in findings if finding.answer is Answer.UNKNOWN]
    if broken_rules:
        yield f"{subject(len(broken_rules))} broken: {name_list(broken_rules, _MOST_NAMED)}."
    if unknown:
        phrase = subject(len(unknown))
        yield f"It is unknown whether {phrase[0].lower()}{phrase[1:]} kept: {name_list(unknown, _MOST_NAMED)}."


def _of_rules(number: int, rules: int) -> str:
    return "The one rule is" if rules == 1 else f"{number:,} of {count(rules, 'rule')} {is_are(number)}"


def _facts(checkup: CheckedPlan) -> Iterator[Fact]:
    yield Fact("plan", "Plan", wording.all_figures(checkup))
    if checkup.baseline is not None:
        yield Fact("before", "Before", wording.figures(checkup.baseline))


def _tables(checkup: CheckedPlan, names: Names, *, verbose: bool) -> Iterator[Table]:
    findings = [finding for finding in checkup.findings if verbose or finding.status is not Status.PASSED]
    passes = len(checkup.findings_of(Status.PASSED))
    rest = [f"{count(passes, 'more rule')} kept{_always(checkup)}"] if passes and not verbose else []
    is_cut = bool(rest) or any(len(finding.tasks) > wording.MOST_NAMED for finding in findings)
    if not findings:
        return
    columns = columns_of("", "Rule", ">Worst", ">Limit", "Where")
    rows = tuple(_row(finding, checkup, names) for finding in findings)
    yield Table("", columns, rows, "; ".join([*rest, *["--output json has all"] * is_cut]))
    broken_rules = [finding for finding in checkup.violations if checkup.cures_sought and _may_have_cure(finding)]
    if broken_rules:
        rules = (text_cell(names.escape(finding.rule)) for finding in broken_rules)
        cures = (Cell(wording.cure(finding, checkup.plan)) for finding in broken_rules)
        rows = tuple(map(Row, zip(rules, cures, strict=True)))
        has_none = any(finding.cure is None for finding in broken_rules)
        note = "no setting: change the scenario, raise the limit, or waive the rule in the policy" * has_none
        yield Table("", columns_of("Rule", "Would help"), rows, note)


def _may_have_cure(finding: Finding) -> bool:
    """Return whether a setting helps, or might: none does against an old snapshot, or to tell what is unknown."""
    is_about_plan = not (finding.invariant or finding.is_option or finding.rule in _OF_INPUT)
    return finding.cure is not None or (is_about_plan and finding.answer is Answer.NO)


def _row(finding: Finding, checkup: CheckedPlan, names: Names) -> Row:
    plan = checkup.plan
    is_unknown = finding.answer is Answer.UNKNOWN and finding.status is Status.ERROR  # and no waiver counts
    mark = "?" if is_unknown else _MARKS[finding.status]
    tone: Tone = "unknown" if is_unknown else _TONES.get(finding.status, "dim")
    if finding.invariant or not finding.applies:
        texts = ["", "", wording.sentence(finding, plan, names)]
    elif finding.kind in wording.IN_WORDS:
        tasks = f": {wording.place_text(finding, plan, names)}" * bool(finding.tasks)
        words = f"{wording.comparison(finding, plan, names)}{tasks}" if finding.offences else "kept"
        texts = [names.escape(finding.worst_tag), wording.allowed(finding.allowed, finding), words]
    else:
        figure = wording.figure_text(finding, finding.value, plan, says_likely=False)  # the panel does
        texts = [figure, wording.allowed(finding.allowed, finding), wording.place_text(finding, plan, names)]
    return text_row(text_cell(mark, tone), names.escape(finding.rule), *texts)


def _remarks(checkup: CheckedPlan) -> Remarks:
    """Return the warnings of the plan that no sentence says already."""
    codes = {caveat.code for caveat in checkup.caveats}
    return Remarks(
        tuple(note for note in checkup.warnings if note.code not in codes), next=tuple(next_command(checkup))
    )


def tally_text(tally: Tally) -> str:
    """Return how many plans keep to the policy."""
    statuses = [*zip(tally.answers, tally.worst, strict=True)]
    violations, unknown = tally.answers.count(Answer.NO), tally.answers.count(Answer.UNKNOWN)
    warnings = statuses.count((Answer.YES, Status.WARNING))
    parts = [f"{len(tally.errors):,} not checked"] if tally.errors else []
    parts += [f"{violations:,} {'breaks' if violations == 1 else 'break'} the policy"] if violations else []
    parts += [f"{unknown:,} unknown"] if unknown else []
    parts += [f"{warnings:,} with warnings"] if warnings else []
    parts.append(f"{len(statuses) - violations - unknown - warnings:,} passed")
    total = count(len(statuses) + len(tally.errors), "application")
    return f"{tally.answer.word}: {total}, {', '.join(parts)}"
