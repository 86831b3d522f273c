"""A scenario file: YAML with a timed list of events; every error names line and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from kstream_plan.documents.quantities import parse_duration, parse_rate
from kstream_plan.documents.streams_config import setting_value
from kstream_plan.documents.yaml_node import YamlNode, read_document
from kstream_plan.errors import ScenarioError
from kstream_plan.model.scenario import (
    ALL,
    MOST_INSTANCES,
    Bounce,
    Burst,
    ConfigChange,
    Event,
    Join,
    Leave,
    NewInstance,
    ProduceRate,
    RestoreRate,
    Return,
    Scenario,
    SettingValue,
    Stop,
    Threads,
    moment,
)
from kstream_plan.model.settings import MAX_INT, MAX_LONG
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file

#: what an event's value says, when it happens → the event
_Read: TypeAlias = Callable[[YamlNode, int], Event]

#: What every snapshot has and no scenario.
_OF_SNAPSHOTS = {"application_id", "instances"}
_MOST_EVENTS = 10_000


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file (``kstream-plan schema scenario``); names in it are still to be resolved.

    Raises:
        ScenarioError: the file cannot be read, is not YAML, or something in it is not as it has to be.
    """
    where = str(path)
    try:
        text = read_file(path, SETTINGS_BYTES)
    except OSError as error:
        raise ScenarioError(
            f"cannot read the file: {error.strerror or error}", where=where, fix="check the name of the scenario file"
        ) from error
    return read_scenario(text, where)


def read_scenario(text: bytes | str, where: str) -> Scenario:
    """Read the text of a scenario file; ``where`` names it in errors. Raises as :func:`load_scenario`."""
    root = read_document(text, where, "the file", ScenarioError)
    if root is None:
        raise ScenarioError("the file is empty", where=where, fix="write events: and a list of what happens")
    if root.is_mapping and any(name in _OF_SNAPSHOTS for name, _, _ in root.named()):
        fix = "give snapshots first and the scenario last"
        raise ScenarioError("this is a snapshot, not a scenario", where=where, fix=fix)
    fields = root.fields({"version", "events"}, required={"events"})
    if "version" in fields and fields["version"].whole_number(0, MAX_INT) != 1:
        raise fields["version"].fail("is not 1, the only version there is", "write version: 1")
    items = fields["events"].entries("write one item a line, each after a -", "the event")
    if len(items) > _MOST_EVENTS:
        raise fields["events"].fail(f"are more than {_MOST_EVENTS:,}", "leave some out")
    return Scenario(events=tuple(_event(item) for item in items))


def scenario_yaml(scenario: Scenario, comment: str) -> str:
    """Return the text of a scenario file of restarts, to be read again as it is; a ``comment`` comes first.

    Raises:
        TypeError: there is another event in it than bounces, and instances that leave, stop and return.
    """
    document = {"version": 1, "events": [_written(event) for event in scenario.events]}
    text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, allow_unicode=True, width=10_000)
    return f"# {comment}\n{text}"


def _written(event: Event) -> dict[str, Any]:
    match event:
        case Bounce():
            ways = {"leave": event.leaves, "static": event.static, "surge": event.surge}
            what: dict[str, Any] = {"restart": moment(event.restart_ms), "pause": moment(event.pause_ms)}
            if event.process_ids != (ALL,):
                what = {"instances": list(event.process_ids)} | what
            kind: dict[str, Any] = {"bounce": what | {name: value for name, value in ways.items() if value}}
        case Leave() | Return():
            kind = {"leave" if isinstance(event, Leave) else "return": list(event.process_ids)}
        case Stop():
            kind = {"crash" if event.crash else "stop": list(event.process_ids)}
        case _:
            raise TypeError(f"{event} is no part of restarts")
    return {"at": moment(event.at_ms)} | kind


def _event(item: YamlNode) -> Event:
    fields = item.fields({"at", *_KINDS})
    kinds = [name for name in fields if name != "at"]
    if len(kinds) != 1:
        raise item.fail(
            f"has {len(kinds)} things that happen", f"write one of {', '.join(_KINDS)} beside at; more are more events"
        )
    at_ms = fields["at"].parsed(parse_duration) if "at" in fields else 0
    return _KINDS[kinds[0]](fields[kinds[0]], at_ms)


def _join(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return Join(at_ms=at_ms, instances=_new(value.whole_number(1, MOST_INSTANCES), {}), where=value.where)
    names = {"count", "threads", "rack", "client_tags", "hosts", "process_ids", "static"}
    fields = value.fields(names)
    hosts = fields["hosts"].names() if "hosts" in fields else ()
    ids = fields["process_ids"].names() if "process_ids" in fields else ()
    number = fields["count"].whole_number(1, MOST_INSTANCES) if "count" in fields else max(len(hosts), len(ids), 1)
    for name, given in (("hosts", hosts), ("process_ids", ids)):
        if given and len(given) != number:
            raise fields[name].fail(f"are {len(given)} for {number} instances", "name every instance, or none")
    return Join(at_ms=at_ms, instances=_new(number, fields, hosts, ids), where=value.where)


def _new(
    number: int, fields: Mapping[str, YamlNode], hosts: tuple[str, ...] = (), ids: tuple[str, ...] = ()
) -> tuple[NewInstance, ...]:
    tags = [(name, tag) for name, _, tag in fields["client_tags"].named()] if "client_tags" in fields else []
    return tuple(
        NewInstance(
            threads=fields["threads"].whole_number(1, MOST_INSTANCES) if "threads" in fields else None,
            rack=fields["rack"].text() if "rack" in fields else None,
            client_tags=tuple(sorted((name, tag.text()) for name, tag in tags)),
            static=fields["static"].boolean() if "static" in fields else False,
            host=hosts[place] if hosts else None,
            process_id=ids[place] if ids else None,
        )
        for place in range(number)
    )


def _leave(value: YamlNode, at_ms: int) -> Event:
    if not value.is_mapping:
        return Leave(at_ms=at_ms, process_ids=value.names(), where=value.where)
    fields = value.fields({"instances", "announced"}, required={"instances"})
    announced = fields["announced"].boolean() if "announced" in fields else False
    return Leave(at_ms=at_ms, process_ids=fields["instances"].names(), announced=announced, where=value.where)


def _stop(value: YamlNode, at_ms: int) -> Event:
    return Stop(at_ms=at_ms, process_ids=value.names(), where=value.where)


def _crash(value: YamlNode, at_ms: int) -> Event:
    return Stop(at_ms=at_ms, process_ids=value.names(), crash=True, where=value.where)


def _return(value: YamlNode, at_ms: int) -> Event:
    if not value.is_mapping:
        return Return(at_ms=at_ms, process_ids=value.names(), where=value.where)
    fields = value.fields({"instances", "disk", "static", "state"}, required={"instances"})
    state, per_second = fields["state"].parsed(_state_left) if "state" in fields else (None, None)
    return Return(
        at_ms=at_ms,
        process_ids=fields["instances"].names(),
        keeps_disk=fields["disk"].boolean() if "disk" in fields else True,
        static=fields["static"].boolean() if "static" in fields else False,
        state=state,
        flushed_per_second=per_second,
        where=value.where,
    )


def _state_left(text: str) -> tuple[Literal["kept", "lost", "flushed"], float | None]:
    match text.split():
        case ["kept"]:
            return "kept", None
        case ["lost"]:
            return "lost", None
        case ["flushed-at", rate]:
            return "flushed", parse_rate(rate)
        case _:
            raise ValueError("is not kept, lost or flushed-at 400/s")


def _bounce(value: YamlNode, at_ms: int) -> Event:
    names = {"instances", "restart", "pause", "leave", "static", "config", "surge"}
    fields = value.fields(names, required={"restart"})
    if "surge" in fields and "static" in fields:
        raise fields["static"].fail("goes with no surge, whose instances are new ones", "leave out one of the two")
    return Bounce(
        at_ms=at_ms,
        process_ids=fields["instances"].names() if "instances" in fields else (ALL,),
        restart_ms=fields["restart"].parsed(parse_duration),
        pause_ms=fields["pause"].parsed(parse_duration) if "pause" in fields else 0,
        leaves=fields["leave"].boolean() if "leave" in fields else False,
        static=fields["static"].boolean() if "static" in fields else False,
        settings=_settings(fields["config"]) if "config" in fields else (),
        surge=fields["surge"].whole_number(1, MOST_INSTANCES) if "surge" in fields else 0,
        where=value.where,
    )


def _threads(value: YamlNode, at_ms: int) -> Event:
    fields = value.fields({"instance", "count"}, required={"instance", "count"})
    threads = fields["count"].whole_number(1, MOST_INSTANCES)
    return Threads(at_ms=at_ms, process_id=fields["instance"].text(), threads=threads, where=value.where)


def _produce_rate(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return ProduceRate(at_ms=at_ms, per_second=value.parsed(parse_rate), where=value.where)
    fields = value.fields({"rate", "subtopology"}, required={"rate"})
    return ProduceRate(
        at_ms=at_ms,
        per_second=fields["rate"].parsed(parse_rate),
        subtopology=fields["subtopology"].text() if "subtopology" in fields else None,
        where=value.where,
    )


def _restore_rate(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return RestoreRate(at_ms=at_ms, per_second=value.parsed(parse_rate), where=value.where)
    fields = value.fields({"rate", "instances"}, required={"rate"})
    return RestoreRate(
        at_ms=at_ms,
        per_second=fields["rate"].parsed(parse_rate),
        process_ids=fields["instances"].names() if "instances" in fields else (),
        where=value.where,
    )


def _burst(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return Burst(at_ms=at_ms, records=value.whole_number(1, MAX_LONG), where=value.where)
    fields = value.fields({"records", "subtopology"}, required={"records"})
    return Burst(
        at_ms=at_ms,
        records=fields["records"].whole_number(1, MAX_LONG),
        subtopology=fields["subtopology"].text() if "subtopology" in fields else None,
        where=value.where,
    )


def _config(value: YamlNode, at_ms: int) -> Event:
    return ConfigChange(at_ms=at_ms, settings=_settings(value), where=value.where)


def _settings(value: YamlNode) -> tuple[tuple[str, SettingValue], ...]:
    settings = {}
    for name, key, node in value.named():
        known, setting = setting_value(node.setting(name), key.where, node.where, of_groups=True)
        settings[known] = setting
    return tuple(sorted(settings.items()))


#: What can happen, by its name in the file.
_KINDS: Mapping[str, _Read] = {
    "join": _join,
    "leave": _leave,
    "stop": _stop,
    "crash": _crash,
    "return": _return,
    "bounce": _bounce,
    "threads": _threads,
    "produce_rate": _produce_rate,
    "restore_rate": _restore_rate,
    "burst": _burst,
    "config": _config,
}
