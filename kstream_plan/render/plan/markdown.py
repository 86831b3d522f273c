"""A plan as GitHub-flavoured Markdown: what the table shows, for a pull request or a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.render.pages.steps import NO_STEP, Focus, details, where_it_stands
from kstream_plan.render.plan.story import Story, tell
from kstream_plan.render.text.escape import MARKDOWN, markdown_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.page import Fact

#: So many items of one cell are named; ``verbose`` names all.
_MOST_ITEMS = 12


def markdown(plan: Plan, *, verbose: bool = False, draws: OverDraws | None = None) -> str:
    """Return the plan as Markdown, its lines ended.

    ``verbose`` adds every step with its reason, folded away; ``draws``: the plan is one of these of a simulation.
    """
    names = Names(plan.group, MARKDOWN)
    story = tell(plan, names, draws)
    blocks = [heading(story.title), fact_list(story.facts)]
    if story.lines:
        blocks += [_time_table(story)]
    if story.loads:
        blocks.append(f"**Tasks** ({story.loads_legend}): {', '.join(story.loads)}")
    if story.remarks:
        blocks.append("\n".join(f"- ⚠ {remark}" for remark in story.remarks))
    if story.legend:
        blocks.append(f"<sub>{story.legend}</sub>")
    if verbose:
        blocks += every_step(plan, names)
    return "\n\n".join(blocks) + "\n"


def markdown_excerpt(plan: Plan, focus: Focus) -> str:
    """Return the steps in focus with their reasons, and where what is in focus stands before and after."""
    names = Names(plan.group, MARKDOWN)
    standing = [f"- {text}" for text in where_it_stands(plan, names, focus)]
    blocks = [heading(tell(plan, names).title), *(["\n".join(standing)] if standing else [])]
    return "\n\n".join([*blocks, *(_steps(plan, names, focus) or [NO_STEP])]) + "\n"


def heading(fact: Fact) -> str:
    """Return the first line: a name and what it is about."""
    return f"### {fact.label}: {fact.forms[0]}"


def fact_list(facts: Sequence[Fact]) -> str:
    """Return labelled texts as a list."""
    return "\n".join(f"- {f'**{fact.label}** ' if fact.label else ''}{fact.forms[0]}" for fact in facts)


def _time_table(story: Story) -> str:
    with_stateless = any(line.stateless for line in story.lines)
    why = "why; warm-ups ready" if story.with_state else "why"
    heads = ["at", "gen", why, f"cut over: old stops, {story.pause}, new starts"]
    heads += ["stateless"] if with_stateless else []
    heads += ["warm up: old runs on meanwhile", "records to restore"] if story.with_state else []
    rows = []
    for line in story.lines:
        cells = [
            line.at,
            line.generations,
            f"**{line.why}**" if line.alarm else line.why,
            _listed(line.cut_over, line.cut_over_counts),
        ]
        cells += [line.stateless] if with_stateless else []
        cells += [_listed(line.warm_up, line.warm_up_counts), line.records] if story.with_state else []
        rows.append(cells)
    if story.ending is not None:
        at, what = story.ending
        rows.append([at, "", what, *[""] * (len(heads) - 3)])
    rule = ["--:" if head in ("at", "stateless", "records to restore") else "---" for head in heads]
    return "\n".join(markdown_row(cells) for cells in (heads, rule, *rows))


def _listed(items: Sequence[str], counts: Sequence[str]) -> str:
    items = [item.removesuffix(",") for item in items]
    if len(items) <= _MOST_ITEMS:
        return ", ".join(items)
    if counts and len(items) > 2 * _MOST_ITEMS:
        return " ".join(counts)
    shown = items[: _MOST_ITEMS - 1]
    return ", ".join([*shown, f"+{len(items) - len(shown):,} more"])


def every_step(plan: Plan, names: Names) -> list[str]:
    """Return every step with its reason, folded away."""
    return ["<details><summary>Every step</summary>", *_steps(plan, names, Focus()), "</details>"]


def _steps(plan: Plan, names: Names, focus: Focus) -> list[str]:
    return [
        "\n".join([f"**{detail.heading}**", "", *(f"- {text}" for text in detail.sentences)])
        for detail in details(plan, names, focus)
    ]
