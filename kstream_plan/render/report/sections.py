"""Answers as sections of a report: what their pages say, drawn over time, and what they were made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from kstream_plan.comparison.alternatives import Outcomes, SameOutcome
from kstream_plan.comparison.changes import Comparison
from kstream_plan.model.settings import CONNECT_GROUP_ONLY
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.plans import Plan
from kstream_plan.plans.rebalance_events import RebalanceEvent, events
from kstream_plan.plans.simulated import Simulation
from kstream_plan.plans.timeline import TaskRole, Timeline, timeline
from kstream_plan.render.answers import page_of
from kstream_plan.render.pages.compare import alternative_name, axes_name, compare_page, duration_text
from kstream_plan.render.report.figure import (
    Figure,
    Length,
    a_member,
    bars_figure,
    everyone_figure,
    load_figure,
    timeline_figure,
)
from kstream_plan.render.report.markup import Block, Drawing, Labelled, Lookup, Section
from kstream_plan.render.report.tables import moves_tables, timeline_table
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration
from kstream_plan.simulation.drain import Drain
from kstream_plan.simulation.drain_workers import WorkersDrained

#: Up to this many tasks are listed one by one.
MOST_TASKS = 2_000
#: Of so many outcomes the timelines are part of a report.
_MOST_TIMELINES = 12
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
_LOAD_LEGEND = {"balance": "most minus least", "warms-up": "warm-ups", "restores": "cold starts that restore"}

_OF_MEMBERS = ("heartbeat_interval_ms", "session_timeout_ms")
_OF_PROBES = ("max_warmup_replicas", "acceptable_recovery_lag", "probing_rebalance_interval_ms")

#: Of more stretches than this there are no details on demand: the page has to stay small.
_MOST_STRETCHES = 40_000


def section_of(answer: Any, *, is_single: bool = True) -> Section:
    """Return any answer as a section; ``is_single``: add all details."""
    if isinstance(answer, Outcomes):
        return compare_section(answer)
    if isinstance(answer, Drain | WorkersDrained):
        return drain_section(answer)
    if isinstance(answer, Plan | Simulation):
        return answer_section(answer, answer if isinstance(answer, Plan) else answer.plan, is_single=is_single)
    is_long = isinstance(answer, Comparison) and len(answer.tasks) > MOST_TASKS
    return Section(page_of(answer, verbose=not is_long))


def answer_section(answer: Any, plan: Plan, *, is_single: bool = True, note: str = "") -> Section:
    """Return an answer as a section.

    Args:
        answer: what a page is made of.
        plan: what is drawn of it.
        is_single: add all details.
        note: stands below the timeline.
    """
    names, activities, course = Names(plan.group), events(plan), timeline(plan)
    return Section(
        page_of(answer, verbose=is_single),
        drawings=tuple(_drawings(plan, activities, course, names, note)) if activities else (),
        details=(*moves_tables(plan, activities, course, names), *made_from(plan, names)),
        capture_time=plan.captured_at,
        data=script_data(plan, course, names) if activities and is_single else None,
    )


def drain_section(answer: Drain | WorkersDrained) -> Section:
    """Return the answer to "may it stop?" for one application, with what follows over time."""
    cut = answer.plan.verdict.kind == "unfinished"
    scope = ", as far as it was simulated: until every task of theirs has started"
    return answer_section(answer, answer.plan, note=f"after the stop{scope if cut else ''}")


def compare_section(alike: Sequence[SameOutcome]) -> Section:
    """Return the alternatives of one group: how long each takes, and each over time."""
    plan = alike[0].alternative.plan
    legend = (Labelled("runs", "time until the group settles"), Labelled("still", "the range of what it may be"))
    bars = Drawing(f"Duration by {axes_name(alike)}", bars_figure(list(_lengths(alike))), legend)
    timelines = (*_timelines(alike), *made_from(plan, Names(plan.group)))
    page = compare_page(alike, verbose=True)
    return Section(page, drawings=(bars,), details=timelines, capture_time=plan.captured_at)


def _timeline_drawing(
    plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names, note: str = ""
) -> Drawing:
    """Return the timeline of a plan."""
    figure = timeline_figure(plan, activities, axis, names)
    title = f"Tasks per {'worker' if plan.is_of_workers else 'instance'} over time"
    delay = f"drawn when all workers have heard of it, which may take {duration(plan.config.heartbeat_interval_ms)}"
    common = f"… = {names.escape(names.common)}" if names.common else ""
    notes = (note, _NOT_DRAWN if plan.pauses_are_least else "", delay if plan.is_of_workers else "", common)
    return Drawing(title, figure, _legend(figure, _LEGEND), note="; ".join(filter(None, notes)))


def _drawings(
    plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names, note: str
) -> Iterator[Block]:
    """Yield a plan over time, drawn, and the same as a table."""
    yield _timeline_drawing(plan, activities, axis, names, note)
    all_instances_figure = everyone_figure(axis, names)
    if all_instances_figure is not None:
        yield Drawing("Every instance", all_instances_figure, _legend(all_instances_figure, _LEGEND), on_demand=True)
    figure = load_figure(plan, axis)
    legend = {"band": f"from the least to the most that {a_member(plan)} runs", **_LOAD_LEGEND}
    yield Drawing("Load and balance", figure, _legend(figure, legend))
    yield timeline_table(plan, activities, axis, names)


def _legend(figure: Figure, words: dict[str, str]) -> tuple[Labelled, ...]:
    kinds = {shape.kind for row in figure.rows for shape in row.shapes}
    return tuple(Labelled(kind, text) for kind, text in words.items() if kind in kinds)


def _timelines(alike: Sequence[SameOutcome]) -> Iterator[Block]:
    """Yield what the instances of each alternative run over time."""
    for outcome in alike[:_MOST_TIMELINES]:
        plan = outcome.alternative.plan
        if plan.rounds:
            drawing = _timeline_drawing(plan, events(plan), timeline(plan), Names(plan.group))
            title = f"{axes_name(alike)} = {alternative_name(outcome)}: tasks per instance over time"
            yield replace(drawing, title=title, on_demand=True)


def _lengths(alike: Sequence[SameOutcome]) -> Iterator[Length]:
    """Yield how long each takes; one that does not settle has no bar, which would look short."""
    for outcome in alike:
        ends = outcome.alternative.settles and outcome.alternative.plan.verdict.kind == "settled"
        times = outcome.alternative.figures.balanced_ms if ends else (0, 0, 0)
        yield Length(alternative_name(outcome), duration_text(outcome.alternative), *times)


def made_from(plan: Plan, names: Names) -> Iterator[Lookup]:
    """Yield what a plan was made from and how, and the settings that decide its times."""
    origin = {
        "captured": plan.captured_at or "unknown",
        "generation": f"{plan.generation:,}" if plan.generation else "unknown",
        "input (SHA-256)": plan.digest,
        "snapshot and settings (SHA-256)": plan.snapshot_digest,
        "design": plan.design,
        "assignor": plan.assignor,
        "protocol": plan.protocol,
        "models": plan.models,
    }
    yield Lookup("Made from", tuple(Labelled(label, names.escape(text)) for label, text in origin.items() if text))
    yield Lookup("With these settings", tuple(_settings(plan)))


def _settings(plan: Plan) -> Iterator[Labelled]:
    """Yield those that this kind of group has, by Kafka's names."""
    for name, field in _names(plan):
        value = getattr(plan.config, field)
        if value is not None:
            text = duration(value) if field.endswith("_ms") else f"{value:,}"
            yield Labelled(name.replace("_", "."), text)


def _names(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting, and of the field that has it."""
    if plan.design == "streams":
        yield from ((name, field) for name, (field, *_) in GROUP_SETTINGS.items())
        return
    other_settings = CONNECT_GROUP_ONLY if plan.is_of_workers else ("num_standby_replicas", *_OF_PROBES * plan.probes)
    yield from ((name, name) for name in (*other_settings, *_OF_MEMBERS))


def script_data(plan: Plan, axis: Timeline, names: Names) -> dict[str, object]:
    """Return names, and numbers in one list each: (task, instance, what, from, to) and (task, from, to).

    Tasks and instances are indices, as what is done and times are in the lists of these.
    """
    group, roles, still = plan.group, list(TaskRole), axis.standstills or ()
    stretches, tasks = (axis.stretches, group.stateful) if len(axis.stretches) <= _MOST_STRETCHES else ((), ())
    spans = [*((span.from_ms, span.to_ms) for span in axis.stretches), *((span.from_ms, span.to_ms) for span in still)]
    times_ms = sorted({*chain.from_iterable(spans)})
    places = {at_ms: place for place, at_ms in enumerate(times_ms)}
    activity = (
        (span.task, span.instance, roles.index(span.role), places[span.from_ms], places[span.to_ms])
        for span in stretches
    )
    pauses = ((span.task, places[span.from_ms], places[span.to_ms]) for span in still)
    return {
        "from_ms": axis.from_ms,
        "to_ms": axis.to_ms,
        "instances": [names.instance(instance.process_id) for instance in group.instances],
        "tasks": {
            str(task): [names.task(group.tasks[task].task_id), names.escape(group.subtopologies[task])]
            for task in tasks
        },
        "member": "Worker" if plan.is_of_workers else "Instance",
        "group": "Connector" if plan.is_of_workers else "Subtopology",
        "doing": [state.value for state in roles],
        "times_ms": times_ms,
        "stretches": list(chain.from_iterable(activity)),
        "standstills": list(chain.from_iterable(pauses)),
    }
