"""The answer to "may it stop?" as a page: what becomes of each task, and what follows over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import events
from kstream_plan.plans.timeline import Timeline, timeline
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.markup import report_html
from kstream_plan.render.report.page import Block, Labelled, Notes, Section, Table, TableRow, Tone
from kstream_plan.render.report.plain import all_captioned
from kstream_plan.render.report.plan_section import drawings
from kstream_plan.render.report.reports import only, report_of, section_svg
from kstream_plan.render.report.script_data import script_data
from kstream_plan.render.simulation.drain import tell_drain
from kstream_plan.render.simulation.drain_workers import (
    COLUMNS,
    about_ways,
    round_ms,
    way_cells,
    workers_facts,
    workers_title,
)
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration, records, several
from kstream_plan.simulation.drain import Drain, DrainedTask
from kstream_plan.simulation.drain_workers import WorkersDrained

_IF_NOW = "If they stop now"
#: More tasks than this, all of them warm, are listed on demand.
_MANY = 12
#: What is said otherwise of instances, and of workers, that are to stop.
_CAPTIONS = {"PAUSES": "What stands still of what they run"}
_OF_WORKERS = {"RUNS": "What runs there now", "BUSIEST": "What the busiest worker runs"}


def drains_html(sections: Sequence[Section]) -> str:
    """Return the answers for one or several applications as one page."""
    return report_html(report_of(sections, len(sections)))


def drains_svg(sections: Sequence[Section]) -> str:
    """Return what follows if they stop now over time.

    Raises:
        UsageError: there are several applications, or nothing follows.
    """
    return section_svg(only(sections))


def drain_section(answer: Drain | WorkersDrained) -> Section:
    """Return the answer for one application."""
    names, plan = Names(answer.plan.group), answer.plan
    of = timeline(plan)
    if isinstance(answer, Drain):
        story = tell_drain(answer, names)
        title, facts, remarks = (
            story.title,
            list(story.facts),
            list(story.remarks[len(answer.cold_now) :]),
        )  # the table has these
        bad = any(answer.how_many_cold) or answer.follows.others_cold
        tone: Tone = "bad" if bad else "warn" if answer.doubts or plan.verdict.kind != "settled" else "good"
        tables = list(_tasks(answer, names))
        told = tuple(all_captioned(facts, _CAPTIONS))
    else:
        title, facts, remarks = (
            workers_title(answer, names),
            workers_facts(answer, names),
            [names.escape_message(note.message) for note in plan.warnings],
        )
        now = answer.ways[0]
        tone = "bad" if now.runs_after_ms is None else "warn" if now.longest_ms > round_ms(answer) else "good"
        tables = [_ways(answer)]
        told = tuple(all_captioned(facts, _OF_WORKERS))
    noted: list[Block] = [Notes("To look at", tuple(remarks), tone="warn")] if remarks else []
    granted = tuple(names.escape_message(note.message) for note in plan.assumptions)
    taken = [Notes("Taken for granted", granted)] if granted else []
    return Section(
        name=title.label,
        about=f"who is to stop: {several(names.instances(answer.process_ids))}",
        tone=tone,
        answer=Labelled("May it stop?", title.forms[0]),
        facts=told,
        blocks=(*tables, *noted, *_follows(plan, of, names), *taken, *made_from(plan, names)),
        taken=plan.captured_at,
        data=script_data(plan, of, names) if plan.rounds else None,
    )


def _follows(plan: Plan, of: Timeline, names: Names) -> Iterator[Block]:
    found = events(plan)
    if not found:
        return
    cut = plan.verdict.kind == "unfinished"
    note = "what follows if they stop now, as far as it was played: until it shows what becomes of their tasks"
    yield from drawings(plan, found, of, names, note if cut else "what follows if they stop now")


def _tasks(drained: Drain, names: Names) -> Iterator[Table]:
    if drained.now:
        yield _table(_IF_NOW, drained.now, names)
    if drained.later:
        yield _table("If they stop after waiting", drained.later, names)


def _table(title: str, tasks: Sequence[DrainedTask], names: Names) -> Table:
    heads = ("task", "starts on", "copy there", "records to restore", "nobody runs it for")
    rows = tuple(
        TableRow(
            (
                names.task_and_topic(task.task_id),
                names.instance(task.destination),
                ("caught up" if task.caught_up else "COLD") if task.stateful else "no state",
                records(task.restore_records) if task.restore_records != 0 else "",
                f"{'≥ ' if task.pause_is == 'floor' else '~'}{duration(task.pause_ms)}",
            ),
            {"task": names.task(task.task_id), "group": names.escape(task.task_id.group)},
            tone="plain" if task.caught_up else "bad",
        )
        for task in tasks
    )
    folded = len(rows) > _MANY and all(task.caught_up for task in tasks)
    return Table(title, heads, rows, frozenset({3, 4}), folded=folded, tasks=0).unless_blank("records to restore")


def _ways(found: WorkersDrained) -> Table:
    rows = tuple(
        TableRow(way_cells(way), tone="warn" if way.longest_ms > round_ms(found) else "plain") for way in found.ways
    )
    right = frozenset(place for place, column in enumerate(COLUMNS) if column.right)
    return Table("Ways to stop", tuple(column.head for column in COLUMNS), rows, right, note=about_ways(found))
