"""What changed between two generations, what was said beside what happened, two plans beside each other: as pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.said_and_happened import SaidAndHappened
from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.plans import Plan
from kstream_plan.render.diff.happened_story import HEADS, happened_verdict, tell_happened
from kstream_plan.render.diff.story import DiffStory, tell_diff, verdict
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Block, Labelled, Notes, Section, Settings, Table, TableRow, Tone
from kstream_plan.render.report.plain import all_captioned, plain
from kstream_plan.render.report.plan_section import plan_section
from kstream_plan.render.report.reports import MOST_SECTIONS, report_of
from kstream_plan.render.text.escape import TERMINAL

#: Up to so many tasks are told one by one; of more, each class in a row.
_MOST_TASKS = 2_000


def diff_html(found: Sequence[Comparison]) -> str:
    """Return what changed as one page: of several applications an overview first."""
    sections = [_changed(one) for one in found[:MOST_SECTIONS]]
    rows = tuple(TableRow((TERMINAL.name(one.new.group.application_id), verdict(one))) for one in found)
    return _page(sections, rows, "what changed")


def happened_html(found: Sequence[SaidAndHappened]) -> str:
    """Return what plans said beside what happened as one page."""
    sections = [_happened(one) for one in found[:MOST_SECTIONS]]
    rows = tuple(TableRow((TERMINAL.name(one.group.application_id), happened_verdict(one))) for one in found)
    return _page(sections, rows, "what came as said")


def rivals_html(old: Plan, new: Plan) -> str:
    """Return two plans of one snapshot as one page: neither follows the other, so both are told."""
    both = [(name, plan_section(SavedPlan(plan), alone=False)) for name, plan in (("OLD", old), ("NEW", new))]
    rows = tuple(TableRow((name, "" if one.answer is None else ": ".join(one.answer))) for name, one in both)
    overview = Table("Both plans begin with the same snapshot: neither follows the other", ("plan", "what"), rows)
    page = report_of([replace(one, name=f"{name}: {one.name}") for name, one in both], 2, overview)
    return report_html(replace(page, title=f"kstream-plan: {both[0][1].name}"))


def _page(sections: Sequence[Section], rows: tuple[TableRow, ...], what: str) -> str:
    overview = Table("", ("application", what), rows, sortable=True) if len(rows) > 1 else None
    return report_html(report_of(sections, len(rows), overview))


def _changed(found: Comparison) -> Section:
    story = tell_diff(found, verbose=len(found.tasks) <= _MOST_TASKS)
    first, *facts = all_captioned(story.facts)
    bad = found.cold_starts[1] > 0
    blocks: list[Block] = [_tasks(story)] if story.rows else []
    loads = tuple(Labelled(name, numbers) for name, _, numbers in (item.rpartition(" ") for item in story.loads))
    blocks.append(Settings(f"What every instance runs ({story.loads_legend})", loads))
    blocks += [Notes("To look at", tuple(map(plain, story.notes)), tone="warn")] if story.notes else []
    sides = (("old", found.old), ("new", found.new))
    made_from = [Labelled(name, f"generation {side.generation:,}" if side.generation else "") for name, side in sides]
    blocks.append(Settings("Compared", tuple(one for one in made_from if one.text)))
    tone: Tone = "bad" if bad else "plain" if found.empty else "good"
    return Section(story.title.label, story.title.forms[0], tone, first, tuple(facts), tuple(blocks))


def _tasks(story: DiffStory) -> Table:
    folded = any(len(row.ways) > 1 for row in story.rows)
    heads = ("tasks", "what", "from → to", "lag, copies")
    rows = []
    for row in story.rows:
        cold = "COLD" in row.what or row.what.isupper()
        rows.append(TableRow((row.tasks, row.what, ", ".join(row.ways), row.why), tone="bad" if cold else "plain"))
    return Table("Tasks that changed", heads, tuple(rows), note=story.more if folded else "", sortable=not folded)


def _happened(found: SaidAndHappened) -> Section:
    story = tell_happened(found, verbose=True)
    first, *facts = all_captioned(story.facts)
    rows = tuple(TableRow(row, tone="warn" if "otherwise" in row[-1] else "plain") for row in story.rows)
    blocks: list[Block] = [Table("Generation by generation", HEADS, rows)]
    blocks += [Notes("To look at", tuple(map(plain, story.notes)), tone="warn")] if story.notes else []
    tone: Tone = "good" if found.alike else "warn"
    return Section(story.title.label, story.title.forms[0], tone, first, tuple(facts), tuple(blocks))
