"""A comparison as GitHub-flavoured Markdown, for a pull request or a ticket."""

from __future__ import annotations

from kstream_plan.comparison.changes import Comparison
from kstream_plan.render.diff.story import tell_diff
from kstream_plan.render.plan.markdown import fact_list
from kstream_plan.render.text.escape import MARKDOWN, markdown_row

_MOST_ITEMS = 12


def diff_markdown(found: Comparison, *, verbose: bool = False) -> str:
    """Return the comparison as Markdown, its lines ended; ``verbose`` tells every task apart."""
    story = tell_diff(found, escape=MARKDOWN, verbose=verbose)
    blocks = [f"### {story.title.label}: {story.title.forms[0]}", fact_list(story.facts)]
    if story.rows:
        rows = [[row.tasks, row.what, _listed(row.ways), row.why] for row in story.rows]
        heads = (
            ["items", "what", "from → to", ""] if found.of_workers else ["tasks", "what", "from → to", "lag, copies"]
        )
        blocks.append("\n".join(markdown_row(cells) for cells in (heads, ["---"] * len(heads), *rows)))
    if story.loads:
        blocks.append(f"**Tasks** ({story.loads_legend}): {', '.join(story.loads)}")
    if story.notes:
        blocks.append("\n".join(f"- ⚠ {note}" for note in story.notes))
    return "\n\n".join(blocks) + "\n"


def _listed(items: tuple[str, ...]) -> str:
    shown = ", ".join(items[:_MOST_ITEMS])
    return shown if len(items) <= _MOST_ITEMS else f"{shown} and {len(items) - _MOST_ITEMS:,} more"
