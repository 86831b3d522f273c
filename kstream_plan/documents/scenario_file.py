"""A scenario file: YAML with a timed list of events; every error names line and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.documents.quantities import parse_duration, parse_rate
from kstream_plan.documents.streams_config import setting_value
from kstream_plan.documents.yaml_node import YamlNode, read_document
from kstream_plan.errors import ScenarioError
from kstream_plan.model.scenario import (
    ALL,
    MOST_INSTANCES,
    MOST_TASKS,
    Bounce,
    Burst,
    ConfigChange,
    CreateConnectors,
    DeleteConnectors,
    Event,
    Join,
    Leave,
    NewInstance,
    ProduceRate,
    RescaleConnectors,
    RestoreRate,
    Return,
    Scenario,
    SettingValue,
    Stop,
    TaskCount,
    Threads,
    moment,
)
from kstream_plan.model.settings import MAX_INT, MAX_LONG
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file, unzipped_text
from kstream_plan.snapshots.files.kinds import SCENARIO, naming_other_kinds

#: what an event's value says, when it happens → the event
_Read: TypeAlias = Callable[[YamlNode, int], Event]

_MOST_EVENTS = 10_000


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file (``kstream-plan schema scenario``); names in it are still to be resolved.

    Raises:
        ScenarioError: the file cannot be read, is not YAML, or something in it is not as it has to be.
    """
    where = str(path)
    try:
        text = unzipped_text(read_file(path, SETTINGS_BYTES))
    except OSError as error:
        raise ScenarioError(
            f"cannot read the file: {error.strerror or error}", where=where, fix="check the name of the scenario file"
        ) from error
    with naming_other_kinds(text, SCENARIO.name, where):
        return read_scenario(text, where)


def read_scenario(text: bytes | str, where: str) -> Scenario:
    """Read the text of a scenario file; ``where`` names it in errors. Raises as :func:`load_scenario`."""
    root = read_document(text, where, "the file", ScenarioError)
    if root is None:
        raise ScenarioError("the file is empty", where=where, fix="write events: and a list of what happens")
    with root.fields({"version", "events"}, required={"events"}) as fields:
        if "version" in fields and fields.nodes["version"].whole_number(0, MAX_INT) != 1:
            raise fields.nodes["version"].fail("is not 1, the only version there is", "write version: 1")
        return Scenario(events=fields.get("events", _events, ()))


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


def _events(value: YamlNode) -> tuple[Event, ...]:
    items = value.entries("write one item a line, each after a -", "the event")
    if len(items) > _MOST_EVENTS:
        raise value.fail(f"are more than {_MOST_EVENTS:,}", "leave some out")
    with Mistakes() as mistakes:
        return tuple(mistakes.each(items, _event))


def _event(item: YamlNode) -> Event:
    with item.fields({"at", *_KINDS}) as fields:
        at_ms = fields.get("at", _duration, 0)
        kinds = [name for name in fields.nodes if name != "at"]
        if not kinds:
            fields.tell()
        if len(kinds) != 1:
            raise item.fail(
                f"has {len(kinds)} things that happen",
                f"write one of {', '.join(_KINDS)} beside at; more are more events",
            )
        return _KINDS[kinds[0]](fields.nodes[kinds[0]], at_ms)


def _duration(value: YamlNode) -> int:
    return value.parsed(parse_duration)


def _rate(value: YamlNode) -> float:
    return value.parsed(parse_rate)


def _instances(value: YamlNode) -> int:
    return value.whole_number(1, MOST_INSTANCES)


def _join(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return Join(at_ms=at_ms, instances=(NewInstance(),) * _instances(value), where=value.where)
    with value.fields({"count", "threads", "rack", "client_tags", "hosts", "process_ids", "static"}) as fields:
        hosts = fields.get("hosts", YamlNode.names, ())
        ids = fields.get("process_ids", YamlNode.names, ())
        number = fields.get("count", _instances, max(len(hosts), len(ids), 1))
        for name, given in (("hosts", hosts), ("process_ids", ids)):
            if given and len(given) != number:
                raise fields.nodes[name].fail(
                    f"are {len(given)} for {number} instances", "name every instance, or none"
                )
        new = NewInstance(
            threads=fields.get("threads", _instances, None),
            rack=fields.get("rack", YamlNode.text, None),
            client_tags=fields.get("client_tags", _tags, ()),
            static=fields.get("static", YamlNode.boolean, False),
        )
        instances = tuple(
            replace(new, host=hosts[place] if hosts else None, process_id=ids[place] if ids else None)
            for place in range(number)
        )
        return Join(at_ms=at_ms, instances=instances, where=value.where)


def _tags(value: YamlNode) -> tuple[tuple[str, str], ...]:
    with Mistakes() as mistakes:
        return tuple(sorted(mistakes.each(value.named(), lambda named: (named[0], named[2].text()))))


def _leave(value: YamlNode, at_ms: int) -> Event:
    if not value.is_mapping:
        return Leave(at_ms=at_ms, process_ids=value.names(), where=value.where)
    with value.fields({"instances", "announced"}, required={"instances"}) as fields:
        return Leave(
            at_ms=at_ms,
            process_ids=fields.get("instances", YamlNode.names, ()),
            announced=fields.get("announced", YamlNode.boolean, False),
            where=value.where,
        )


def _stop(value: YamlNode, at_ms: int) -> Event:
    return Stop(at_ms=at_ms, process_ids=value.names(), where=value.where)


def _crash(value: YamlNode, at_ms: int) -> Event:
    return Stop(at_ms=at_ms, process_ids=value.names(), crash=True, where=value.where)


def _return(value: YamlNode, at_ms: int) -> Event:
    if not value.is_mapping:
        return Return(at_ms=at_ms, process_ids=value.names(), where=value.where)
    with value.fields({"instances", "disk", "static", "state"}, required={"instances"}) as fields:
        state, per_second = fields.get("state", lambda state: state.parsed(_state_left), (None, None))
        return Return(
            at_ms=at_ms,
            process_ids=fields.get("instances", YamlNode.names, ()),
            keeps_disk=fields.get("disk", YamlNode.boolean, True),
            static=fields.get("static", YamlNode.boolean, False),
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
    if not value.is_mapping:
        raise value.fail("does not say for how long", "write bounce: {instances: NAME, restart: 40s}")
    with value.fields(names, required={"restart"}) as fields:
        if "surge" in fields and "static" in fields:
            what = "goes with no surge, whose instances are new ones"
            fields.note(fields.nodes["static"].fail(what, "leave out one of the two"))
        return Bounce(
            at_ms=at_ms,
            process_ids=fields.get("instances", YamlNode.names, (ALL,)),
            restart_ms=fields.get("restart", _duration, 0),
            pause_ms=fields.get("pause", _duration, 0),
            leaves=fields.get("leave", YamlNode.boolean, False),
            static=fields.get("static", YamlNode.boolean, False),
            settings=fields.get("config", _settings, ()),
            surge=fields.get("surge", _instances, 0),
            where=value.where,
        )


def _threads(value: YamlNode, at_ms: int) -> Event:
    with value.fields({"instance", "count"}, required={"instance", "count"}) as fields:
        threads = fields.get("count", _instances, 1)
        process_id = fields.get("instance", YamlNode.text, "")
        return Threads(at_ms=at_ms, process_id=process_id, threads=threads, where=value.where)


def _produce_rate(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return ProduceRate(at_ms=at_ms, per_second=_rate(value), where=value.where)
    with value.fields({"rate", "subtopology"}, required={"rate"}) as fields:
        return ProduceRate(
            at_ms=at_ms,
            per_second=fields.get("rate", _rate, 0.0),
            subtopology=fields.get("subtopology", YamlNode.text, None),
            where=value.where,
        )


def _restore_rate(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return RestoreRate(at_ms=at_ms, per_second=_rate(value), where=value.where)
    with value.fields({"rate", "instances"}, required={"rate"}) as fields:
        return RestoreRate(
            at_ms=at_ms,
            per_second=fields.get("rate", _rate, 0.0),
            process_ids=fields.get("instances", YamlNode.names, ()),
            where=value.where,
        )


def _records(value: YamlNode) -> int:
    return value.whole_number(1, MAX_LONG)


def _burst(value: YamlNode, at_ms: int) -> Event:
    if value.is_scalar:
        return Burst(at_ms=at_ms, records=_records(value), where=value.where)
    with value.fields({"records", "subtopology"}, required={"records"}) as fields:
        return Burst(
            at_ms=at_ms,
            records=fields.get("records", _records, 1),
            subtopology=fields.get("subtopology", YamlNode.text, None),
            where=value.where,
        )


def _config(value: YamlNode, at_ms: int) -> Event:
    return ConfigChange(at_ms=at_ms, settings=_settings(value), where=value.where)


def _create(value: YamlNode, at_ms: int) -> Event:
    return CreateConnectors(at_ms=at_ms, task_counts=_task_counts(value), where=value.where)


def _rescale(value: YamlNode, at_ms: int) -> Event:
    return RescaleConnectors(at_ms=at_ms, task_counts=_task_counts(value), where=value.where)


def _task_counts(value: YamlNode) -> tuple[TaskCount, ...]:
    counts = tuple(TaskCount(name, node.whole_number(0, MOST_TASKS)) for name, _, node in value.named())
    if not counts:
        raise value.fail("names no connector", "write its name and the number of its tasks, as {orders: 4}")
    return counts


def _delete(value: YamlNode, at_ms: int) -> Event:
    return DeleteConnectors(at_ms=at_ms, connectors=value.names(), where=value.where)


def _settings(value: YamlNode) -> tuple[tuple[str, SettingValue], ...]:
    with Mistakes() as mistakes:
        settings = mistakes.each(value.named(), lambda named: _setting(*named))
    return tuple(sorted(dict(settings).items()))


def _setting(name: str, key: YamlNode, value: YamlNode) -> tuple[str, SettingValue]:
    return setting_value(value.setting(name), key.where, value.where, of_groups=True)


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
    "create": _create,
    "rescale": _rescale,
    "delete": _delete,
}
