"""Connectors that come, go, or have other tasks: what that is for the workers, and all that is ever configured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from kstream_plan.errors import ScenarioError
from kstream_plan.model.connect_group import ConnectGroup
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.scenario import (
    ConnectorEvent,
    CreateConnectors,
    DeleteConnectors,
    Event,
    RescaleConnectors,
    in_time,
)


def apply_event(group: ConnectGroup, event: ConnectorEvent) -> ConnectGroup:
    """Return the group with its configuration after an event; no round follows yet."""
    counts, coming = dict(group.task_counts), dict(group.to_configure)
    match event:
        case CreateConnectors():
            counts |= dict.fromkeys((name for name, _ in event.task_counts), 0)
            coming |= dict(event.task_counts)
        case RescaleConnectors():
            for name, number in event.task_counts:
                (coming if name in coming else counts)[name] = number
        case DeleteConnectors():
            for name in event.connectors:
                del counts[name]
                coming.pop(name, None)
    return replace(group, task_counts=_sorted(counts.items()), to_configure=_sorted(coming.items()))


def with_their_tasks(group: ConnectGroup) -> ConnectGroup:
    """Return the group once the connectors that have started since have configured their tasks."""
    started_connectors = _started_connectors(group)
    if not started_connectors:
        return group
    counts = dict(group.task_counts) | dict(started_connectors)
    coming = tuple(connector for connector in group.to_configure if connector not in started_connectors)
    return replace(group, task_counts=_sorted(counts.items()), to_configure=coming)


def rejoining(group: ConnectGroup, at_ms: int) -> ConnectGroup:
    """Return the group after a round: where a connector has started that configures tasks, all join again."""
    if not _started_connectors(group):
        return group
    return replace(group, workers=tuple(replace(worker, joins_at_ms=at_ms) for worker in group.workers))


def ever_configured(
    task_counts: Sequence[tuple[str, int]], events: Iterable[Event]
) -> tuple[tuple[str, int], ...] | None:
    """Return all connectors of a scenario with the maximum of their tasks; ``None``: they do not change.

    Raises:
        ScenarioError: a connector is created that is there, or another one named that is not.
    """
    now, ever = dict(task_counts), dict(task_counts)
    connector_events = [event for event in in_time(list(events)) if isinstance(event, ConnectorEvent)]
    for event in connector_events:
        match event:
            case CreateConnectors() | RescaleConnectors():
                for name, number in event.task_counts:
                    _check(name, now, event)
                    now[name] = number
                    ever[name] = max(number, ever.get(name, 0))
            case DeleteConnectors():
                for name in event.connectors:
                    _check(name, now, event)
                    del now[name]
    return _sorted(ever.items()) if connector_events else None


def _check(name: str, now: dict[str, int], event: ConnectorEvent) -> None:
    if isinstance(event, CreateConnectors):
        if name in now:
            raise ScenarioError(f"the connector {name!r} exists already", where=event.where, fix="rescale it")
    elif name not in now:
        closest = get_close_matches(name, now, 1) or sorted(now, key=java_string_key)[:1]
        fix = f"is it {closest[0]}?" if closest else "create it first"
        raise ScenarioError(f"there is no connector {name!r}", where=event.where, fix=fix)


def _started_connectors(group: ConnectGroup) -> list[tuple[str, int]]:
    if not group.to_configure:
        return []
    run = {name for worker in group.workers for name in worker.held.connectors}
    return [(name, number) for name, number in group.to_configure if name in run]


def _sorted(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts, key=lambda connector: java_string_key(connector[0])))
