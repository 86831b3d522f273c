"""What a check found, as the comment on a pull request: it begins with a mark by which it is found and edited."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, starmap
from typing import NamedTuple

from kstream_plan.policy.findings import CheckedPlan, Tally
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.pages.check import check_page
from kstream_plan.render.pages.plan import plan_page
from kstream_plan.render.text.escape import markdown, markdown_sentence

#: The first line of every comment.
MARK = "<!-- kstream-plan check -->"
#: GitHub takes 65,536 characters a comment; what does not fit is left out as a whole, and said.
_ROOM = 60_000


class PlanComment(NamedTuple):
    """What is said of one plan: its page, and its rounds, folded, unless they would never fit."""

    block: str
    rounds: str


def report_of(plans: Iterable[PlanComment], tally: Tally) -> str:
    """Return the comment: what could not be checked; per plan a heading and a line per violation; its rounds folded."""
    plans = list(plans)
    text = f"{MARK}\n"
    left_out = 0
    for block in chain(starmap(_error, tally.errors), (plan.block for plan in plans)):
        if len(text) + len(block) <= _ROOM:
            text += block
        else:
            left_out += 1
    if left_out:
        remainder = f"{left_out:,} more application{' does' if left_out == 1 else 's do'} not fit"
        text += f"\n✗ {remainder} into a comment: see the output of the check\n"
    for plan in plans:
        text += plan.rounds if len(text) + len(plan.rounds) <= _ROOM else ""
    return text


def part_of(checkup: CheckedPlan, warnings_too: bool) -> PlanComment:
    """Return what is said of one plan; ``warnings_too``: they fail the check."""
    rounds = _rounds(checkup)
    return PlanComment(
        f"\n{to_markdown(check_page(checkup, warnings_too=warnings_too))}", rounds if len(rounds) <= _ROOM else ""
    )


def _error(application_id: str | None, message: str) -> str:
    name = markdown(application_id) if application_id is not None else "an application"
    return f"\n✗ **kstream-plan: {name} could not be checked**: {markdown_sentence(message)}\n"


def _rounds(checkup: CheckedPlan) -> str:
    if not checkup.plan.rounds:
        return ""
    name = markdown(checkup.application_id)
    return f"\n<details><summary>rounds</summary>\n\n{name}\n\n{to_markdown(plan_page(checkup.plan))}\n</details>\n"
