"""Events from outside in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from kstream_plan.model.scenario import (
    Bounce,
    Burst,
    ConfigChange,
    ConnectorEvent,
    CreateConnectors,
    DeleteConnectors,
    Event,
    Join,
    Leave,
    ProduceRate,
    RescaleConnectors,
    RestoreRate,
    Return,
    Stop,
    TaskCount,
    Threads,
)
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list


def event_text(event: Event, names: Names) -> str:
    """Say what an event is; its new instances have their process ids."""
    match event:
        case Join() | Leave() | Stop() | Return() | Bounce() | Threads():
            return _with_members(event, names)
        case ProduceRate():
            return f"{event.per_second:,g} records/s are written per task{_subtopology(event.subtopology, names)}"
        case RestoreRate():
            subject = _members(event.process_ids, names) if event.process_ids else "every instance"
            does = "restore" if len(event.process_ids) > 1 else "restores"
            return f"{subject} {does} {event.per_second:,g} records/s"
        case Burst():
            return f"{event.records:,} records are written per task{_subtopology(event.subtopology, names)}"
        case ConfigChange():
            return _settings(event, names)
        case CreateConnectors() | RescaleConnectors() | DeleteConnectors():
            return _of_connectors(event, names)
        case _:
            assert_never(event)


def _of_connectors(event: ConnectorEvent, names: Names) -> str:
    if isinstance(event, DeleteConnectors):
        return f"{name_list([names.escape(name) for name in event.connectors])} deleted"
    verb = "created" if isinstance(event, CreateConnectors) else "from now on"
    return f"{_with_tasks(event.task_counts, names)} {verb}"


def _with_tasks(counts: Sequence[TaskCount], names: Names) -> str:
    return name_list(
        [
            f"{names.escape(count_of_tasks.connector)} with {count(count_of_tasks.task_count, 'task')}"
            for count_of_tasks in counts
        ]
    )


def _with_members(event: Join | Leave | Stop | Return | Bounce | Threads, names: Names) -> str:
    match event:
        case Join():
            ids, singular, plural = [instance.process_id or "" for instance in event.instances], "joins", "join"
        case Threads():
            ids, singular, plural = [event.process_id], f"runs {count(event.threads, 'thread')}", ""
        case Stop():
            ids = list(event.process_ids)
            singular, plural = ("crashes", "crash") if event.crash else ("stops", "stop")
        case Return():
            ids, singular, plural = list(event.process_ids), "returns", "return"
            if not event.keeps_disk and names.have_disks:
                singular, plural = "returns without its disk", "return without their disks"
        case Bounce():
            ids = list(event.process_ids)
            singular, plural = _bounce_words(event)
        case Leave():
            ids, singular, plural = list(event.process_ids), "leaves", "leave"
            if event.announced:
                singular, plural = "announces that it leaves", "announce that they leave"
    suffix = _of_bounce(event, names) if isinstance(event, Bounce) else ""
    return f"{_members(ids, names)} {singular if len(ids) == 1 else plural}{suffix}"


def _bounce_words(event: Bounce) -> tuple[str, str]:
    """Return what one instance, and several, do."""
    if event.surge:
        return "gives way to", "give way to"
    return ("leaves and returns", "leave and return") if event.leaves else ("is bounced", "are bounced")


def _of_bounce(event: Bounce, names: Names) -> str:
    new = f", with {_settings(event, names)}" if event.settings else ""
    if not event.surge:
        return f", {duration(event.restart_ms)} each{new}"
    arrivals = _members([instance.process_id or "" for instance in event.new_instances], names)
    return f" {arrivals}, {event.surge:,} at a time, that join {duration(event.restart_ms)} before{new}"


def _settings(event: ConfigChange | Bounce, names: Names) -> str:
    return ", ".join(f"{name.replace('_', '.')}={names.escape(str(value))}" for name, value in event.settings)


def _members(process_ids: Sequence[str], names: Names) -> str:
    return name_list(names.instances(process_ids))


def _subtopology(subtopology: str | None, names: Names) -> str:
    return "" if subtopology is None else f" of subtopology {names.escape(subtopology)}"
