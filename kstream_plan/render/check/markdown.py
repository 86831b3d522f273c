"""What a check found, as the comment on a pull request: it begins with a mark by which it is found and edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, starmap
from typing import NamedTuple

from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import Check, CheckedPlan, Status, Tally
from kstream_plan.render.check.wording import figures, heading, origin, passes, sentence
from kstream_plan.render.plan.markdown import markdown
from kstream_plan.render.text.escape import MARKDOWN
from kstream_plan.render.text.names import Names

#: The first line of every comment.
MARK = "<!-- kstream-plan check -->"
_MARKS = {
    Status.ERROR: "✗",
    Status.WARNING: "⚠",
    Status.WAIVED: "○",
    Status.NOT_APPLICABLE: "n/a",
    Status.PASSED: "✓",
}
#: GitHub takes 65,536 characters a comment; what does not fit is left out as a whole, and said.
_ROOM = 60_000


class PlanComment(NamedTuple):
    """What is said of one plan: a heading with a line per violation, and the rounds, folded."""

    block: str
    rounds: str


def markdown_report(check: Check) -> str:
    """Return the comment: what could not be checked; per plan a heading and a line per violation; its rounds folded."""
    return markdown_of(map(plan_comment, check.plans), check.tally)


def markdown_of(plans: Iterable[PlanComment], tally: Tally) -> str:
    """Return the same of what is said of each plan."""
    plans = list(plans)
    text = f"{MARK}\n"
    left_out = 0
    for block in chain(starmap(_error, tally.errors), (one.block for one in plans)):
        if len(text) + len(block) <= _ROOM:
            text += block
        else:
            left_out += 1
    if left_out:
        text += f"\n✗ {_too_many(left_out)} into a comment: see the output of the check\n"
    for one in plans:
        text += one.rounds if len(text) + len(one.rounds) <= _ROOM else ""
    return text


def plan_comment(checked: CheckedPlan) -> PlanComment:
    """Return what is said of one plan, without what would never fit."""
    block, rounds = _plan(checked), _rounds(checked)
    return PlanComment(block, rounds if len(rounds) <= _ROOM else "")


def _too_many(left_out: int) -> str:
    return f"{left_out:,} more application{' does' if left_out == 1 else 's do'} not fit"


def _error(application_id: str | None, message: str) -> str:
    name = MARKDOWN.name(application_id) if application_id is not None else "an application"
    return f"\n✗ **kstream-plan: {name} could not be checked**: {MARKDOWN.sentence(message)}\n"


def _plan(checked: CheckedPlan) -> str:
    names = Names(checked.plan.group, MARKDOWN)
    word = checked.answer.word
    lines = ["", f"{word}. **kstream-plan: {heading(checked, names)}** (snapshot {origin(checked)})", ""]
    return "\n".join([*lines, *_items(checked, names)]) + "\n"


def _items(checked: CheckedPlan, names: Names) -> Iterator[str]:
    for finding in checked.findings:
        if finding.status is not Status.PASSED:
            rule = MARKDOWN.name(finding.rule)
            unknown = finding.answer is Answer.UNKNOWN and finding.status is Status.ERROR
            yield f"- {'?' if unknown else _MARKS[finding.status]} {rule}: {sentence(finding, checked.plan, names)}"
    ending = [passes(checked)]
    ending += [f"base branch: {figures(checked.baseline)}"] if checked.baseline else []
    ending += [names.escape(checked.source)] if checked.source else []
    mark = f"{_MARKS[Status.PASSED]} " if checked.of(Status.PASSED) else ""
    yield f"- {mark}{' · '.join(ending)}"


def _rounds(checked: CheckedPlan) -> str:
    if not checked.plan.rounds:
        return ""
    name = MARKDOWN.name(checked.application_id)
    return f"\n<details><summary>rounds</summary>\n\n{name}\n\n{markdown(checked.plan)}\n</details>\n"
