"""Why a group does what it does: as text for a terminal, and as Markdown."""

from __future__ import annotations

from kstream_plan.plans.why_answers import Why
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.markdown import fact_list, heading
from kstream_plan.render.text.escape import MARKDOWN
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.page import coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import paragraph
from kstream_plan.render.why.story import tell_why

_NARROWEST = 60


def why_table(answers: Why, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the answers as lines of text, each ended; ``width`` in columns, ``colour`` for a terminal."""
    story, width = tell_why(answers, Names(answers.plan.group)), max(width, _NARROWEST)
    lines = [*title_lines(story.title, width), *(text for fact in story.facts for text in fact_lines(fact, width))]
    lines += [text for remark in story.remarks for text in paragraph(remark, width, " ! ", "   ")]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def why_markdown(answers: Why) -> str:
    """Return the answers as Markdown, its lines ended."""
    story = tell_why(answers, Names(answers.plan.group, MARKDOWN))
    told = "\n".join([fact_list(story.facts), *(f"- ⚠ {remark}" for remark in story.remarks)])
    return f"{heading(story.title)}\n\n{told}\n"
