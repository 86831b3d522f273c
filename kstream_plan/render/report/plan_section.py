"""A plan, or a simulation, as a section of a report: what its table says, drawn over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, events
from kstream_plan.plans.timeline import Timeline, timeline
from kstream_plan.render.answers import page_of
from kstream_plan.render.page import Column, Table, text_row
from kstream_plan.render.report.figure import Figure, a_member, everyone_figure, load_figure, timeline_figure
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.move_tables import moves_tables
from kstream_plan.render.report.page import Block, Drawing, Labelled, Section
from kstream_plan.render.report.picture import picture, still_rows
from kstream_plan.render.report.script_data import script_data
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration

_LEGEND = {
    "runs": "runs, the higher the more tasks",
    "warms-up": "a copy warms up there",
    "restores": "restores tasks before it runs them: they are paused",
    "unsure": "started cold: unknown when it runs",
    "cold": "a task starts cold",
    "still": "paused",
    "there": "is a member",
}
_NOT_DRAWN = "unknown and not drawn: how long a cold start restores before it runs"
_LOAD_LEGEND = {
    "balance": "most minus least",
    "warms-up": "warm-ups",
    "restores": "cold starts that restore",
    "still": "paused",
}


def plan_section(entry: SavedPlan, *, is_single: bool = True) -> Section:
    """Return a plan, or the simulation that it is of, as a section; ``is_single``: with all details."""
    plan = entry.plan
    names, activities, course = Names(plan.group), events(plan), timeline(plan)
    return Section(
        page_of(entry.simulation or plan, verbose=is_single),
        drawings=tuple(drawings(plan, activities, course, names)) if activities else (),
        details=(*moves_tables(plan, activities, course, names), *made_from(plan, names)),
        capture_time=plan.captured_at,
        data=script_data(plan, course, names) if activities and is_single else None,
    )


def timeline_drawing(
    plan: Plan, activities: Sequence[Activity], axis: Timeline, names: Names, note: str = ""
) -> Drawing:
    """Return the timeline of a plan."""
    figure = timeline_figure(plan, activities, axis, names)
    title = f"Tasks per {'worker' if plan.is_of_workers else 'instance'} over time"
    notes = [note] if note else []
    notes += [_NOT_DRAWN] if plan.pauses_are_least else []
    note = f"drawn when all workers have heard of it, which may take {duration(plan.config.heartbeat_interval_ms)}"
    notes += [note] if plan.is_of_workers else []
    notes += [f"… = {names.escape(names.common)}"] if names.common else []
    return Drawing(title, figure, _legend(figure, _LEGEND), note="; ".join(notes))


def drawings(
    plan: Plan, activities: Sequence[Activity], axis: Timeline, names: Names, ends: str = ""
) -> Iterator[Block]:
    """Yield a plan over time, drawn, and the same as a table."""
    yield timeline_drawing(plan, activities, axis, names, ends)
    all_instances_figure = everyone_figure(axis, names)
    if all_instances_figure is not None:
        yield Drawing("Every instance", all_instances_figure, _legend(all_instances_figure, _LEGEND), on_demand=True)
    figure = load_figure(plan, axis)
    legend = {"band": f"from the least to the most that {a_member(plan)} runs", **_LOAD_LEGEND}
    yield Drawing("Load and balance", figure, _legend(figure, legend))
    if activities:
        yield _picture_table(plan, activities, names)


def _picture_table(plan: Plan, activities: Sequence[Activity], names: Names) -> Table:
    columns = picture(plan, activities, names)
    heads = (Column(columns.heads), *(Column(f"{column.head} {column.time}", right=True) for column in columns.columns))
    rows = [
        text_row(label, *(column.cells[place] for column in columns.columns))
        for place, label in enumerate(columns.instances)
    ]
    for label, *cells in still_rows(columns, columns.columns):
        interval = "tasks paused between then and the next, not all at once"
        rows.append(text_row(label if plan.is_of_workers else interval, *cells))
    return Table("The same as a table", heads, tuple(rows), note=columns.legend, on_demand=True)


def _legend(figure: Figure, words: dict[str, str]) -> tuple[Labelled, ...]:
    kinds = {shape.kind for row in figure.rows for shape in row.shapes}
    return tuple(Labelled(kind, text) for kind, text in words.items() if kind in kinds)
