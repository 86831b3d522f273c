"""A scenario file: YAML with a timed list of events; every error names line and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kstream_plan.documents.codec import Codec, Json, defs_of, schema_of
from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.documents.scenario_values import (
    INSTANCES,
    NUMBER,
    RECORDS,
    SETTINGS,
    STATE_LEFT,
    TAGS,
    TASK_COUNTS,
    StateLeft,
)
from kstream_plan.documents.yaml_node import Fields, YamlNode, read_document
from kstream_plan.documents.yaml_values import DURATION, NAMES, RATE, SWITCH, TEXT, mapping
from kstream_plan.errors import ScenarioError
from kstream_plan.model.scenario import (
    ALL,
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
    Stop,
    Threads,
    moment,
)
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file, unzipped_text
from kstream_plan.snapshots.files.kinds import SCENARIO, naming_other_kinds

VERSION = "1"
_MOST_EVENTS = 10_000


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file (``kstream-plan schema scenario``); names in it are still to be resolved.

    Raises:
        ScenarioError: the file cannot be read, is not YAML, or something in it is not as it has to be.
    """
    file_name = str(path)
    try:
        text = unzipped_text(read_file(path, SETTINGS_BYTES))
    except OSError as error:
        raise ScenarioError(
            f"cannot read the file: {error.strerror or error}",
            where=file_name,
            fix="check the name of the scenario file",
        ) from error
    with naming_other_kinds(text, SCENARIO.name, file_name):
        return read_scenario(text, file_name)


def read_scenario(text: bytes | str, file_name: str) -> Scenario:
    """Read the text of a scenario file; ``file_name`` names it in errors. Raises as :func:`load_scenario`."""
    root = read_document(text, file_name, "the file", ScenarioError)
    if root is None:
        raise ScenarioError("the file is empty", where=file_name, fix="write events: and a list of what happens")
    with root.fields({"version", "events"}, required={"events"}) as fields:
        if "version" in fields and fields.nodes["version"].text("write version: 1") != VERSION:
            raise fields.nodes["version"].fail("is not 1, the only version there is", "write version: 1")
        return Scenario(events=fields.get("events", _events, ()))


def scenario_yaml(scenario: Scenario, comment: str) -> str:
    """Return the text of a scenario file of restarts, which can be read again; a ``comment`` comes first.

    Raises:
        TypeError: there is another event in it than bounces, and instances that leave, stop and return.
    """
    document = {"version": 1, "events": [_event_yaml(event) for event in scenario.events]}
    text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, allow_unicode=True, width=10_000)
    return f"# {comment}\n{text}"


def _event_yaml(event: Event) -> dict[str, Any]:
    match event:
        case Bounce():
            ways = {"leave": event.leaves, "static": event.static, "surge": event.surge}
            fields: dict[str, Any] = {"restart": moment(event.restart_ms), "pause": moment(event.pause_ms)}
            if event.process_ids != (ALL,):
                fields = {"instances": list(event.process_ids)} | fields
            kind: dict[str, Any] = {"bounce": fields | {name: value for name, value in ways.items() if value}}
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
        return tuple(mistakes.read_each(items, _event))


def _event(item: YamlNode) -> Event:
    with item.fields({"at", *KINDS}) as fields:
        at_ms = fields.get("at", DURATION.read, 0)
        kinds = [name for name in fields.nodes if name != "at"]
        if not kinds:
            fields.raise_all()
        if len(kinds) != 1:
            raise item.fail(
                f"has {len(kinds)} things that happen",
                f"write one of {', '.join(KINDS)} beside at; more are more events",
            )
        return KINDS[kinds[0]].read(fields.nodes[kinds[0]], at_ms)


class _Part(NamedTuple):
    """One value of an event.

    Attributes:
        codec: how it is read, and its schema.
        description: what it means, where its name does not say it.
        into: what the event's class calls it, if not the same.
        required: it has to be there.
        default: what it is if it is not there, where the schema says so.
    """

    codec: Codec[Any]
    description: str = ""
    into: str = ""
    required: bool = False
    default: bool | None = None

    def schema(self) -> dict[str, Json]:
        """Return the JSON Schema."""
        default: dict[str, Json] = {} if self.default is None else {"default": self.default}
        return {**(self.codec.described(self.description) if self.description else self.codec).schema, **default}


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of events: how it is read, and its schema.

    Attributes:
        description: what happens.
        make: what makes the event of its values.
        short_form: the value that may stand there alone; ``None``: none may.
        parts: the values of a mapping, by name; none: it is no mapping of such.
        check: finds what is wrong with values that are right one by one.
        rule: what the schema says of that.
        type_problem: what is wrong, and what to write, where neither a value alone nor a mapping is there.
    """

    description: str
    make: Callable[..., Event]
    short_form: _Part | None = None
    parts: Mapping[str, _Part] = field(default_factory=dict)
    check: Callable[[Fields, Mapping[str, Any]], None] | None = None
    rule: Mapping[str, Json] = field(default_factory=dict)
    type_problem: tuple[str, str] | None = None

    def read(self, value: YamlNode, at_ms: int) -> Event:
        """Return the event at a time that is written there."""
        if self.short_form is not None and not (self.parts and value.is_mapping):
            return self.make(
                at_ms=at_ms, where=value.location, **{self.short_form.into: self.short_form.codec.read(value)}
            )
        if self.type_problem is not None and not value.is_mapping:
            raise value.fail(*self.type_problem)
        required = [name for name, part in self.parts.items() if part.required]
        with value.fields(self.parts.keys(), required) as fields:
            values = {
                self.parts[name].into or name: fields.get(name, self.parts[name].codec.read, None)
                for name in fields.nodes
            }
            if self.check is not None:
                self.check(fields, values)
        return self.make(at_ms=at_ms, where=value.location, **values)

    def schema(self) -> dict[str, Json]:
        """Return the JSON Schema."""
        forms: list[dict[str, Json]] = [] if self.short_form is None else [self.short_form.schema()]
        if self.parts:
            properties: dict[str, Json] = {name: part.schema() for name, part in self.parts.items()}
            required = [name for name, part in self.parts.items() if part.required]
            forms.append(mapping(properties, required, **self.rule))
        only = forms[0] if len(forms) == 1 else {"oneOf": forms}
        return {"description": self.description, **{name: part for name, part in only.items() if name != "description"}}


def _join(
    *,
    at_ms: int,
    where: str,
    count: int | None = None,
    hosts: Sequence[str] = (),
    process_ids: Sequence[str] = (),
    **instance_fields: Any,
) -> Join:
    new, number = NewInstance(**instance_fields), count or max(len(hosts), len(process_ids), 1)
    instances = tuple(
        replace(new, host=hosts[place] if hosts else None, process_id=process_ids[place] if process_ids else None)
        for place in range(number)
    )
    return Join(at_ms=at_ms, instances=instances, where=where)


def _check_join(fields: Fields, values: Mapping[str, Any]) -> None:
    lists = {name: len(values.get(name) or ()) for name in ("hosts", "process_ids")}
    number = values.get("count") or max(*lists.values(), 1)
    for name, length in lists.items():
        if length and length != number:
            problem = f"are {length} for {number} instances"
            raise fields.nodes[name].fail(problem, "name every instance, or none")


def _check_bounce(fields: Fields, _: Mapping[str, Any]) -> None:
    if "surge" in fields and "static" in fields:
        problem = "goes with no surge, whose instances are new ones"
        raise fields.nodes["static"].fail(problem, "leave out one of the two")


def _return(*, state: StateLeft = (None, None), **values: Any) -> Return:
    return Return(state=state[0], flushed_per_second=state[1], **values)


_NAMED = _Part(INSTANCES, into="process_ids")
_SOME = _NAMED._replace(required=True)
_SUBTOPOLOGY = _Part(TEXT, "Only of its tasks.")

#: What can happen, by its name in the file.
KINDS: Mapping[str, _Kind] = {
    "join": _Kind(
        "Instances start with empty disks and join in one rebalance: a number, or their descriptions.",
        _join,
        short_form=_Part(NUMBER, into="count"),
        parts={
            "count": _Part(NUMBER, "How many; not needed beside a name for each."),
            "threads": _Part(NUMBER, "Stream threads of each; as many as most instances have if missing."),
            "rack": _Part(TEXT, "Their client.rack."),
            "client_tags": _Part(TAGS, "Their client tags."),
            "hosts": _Part(NAMES, "The host of each."),
            "process_ids": _Part(NAMES, "Without these ids are random, and many random simulations run."),
            "static": _Part(SWITCH, "They are static members (group.instance.id).", default=False),
        },
        check=_check_join,
    ),
    "leave": _Kind(
        "Instances leave the group cleanly: a rebalance starts at once.",
        Leave,
        short_form=_NAMED,
        parts={
            "instances": _SOME,
            "announced": _Part(
                SWITCH,
                "By the learner design: they announce it, and stay members until others have learned their tasks, or "
                "scale.down.timeout.ms has passed.",
                default=False,
            ),
        },
    ),
    "stop": _Kind(
        "Instances stop by Kafka Streams' default close(), which does not leave the group: the group notices at "
        "session.timeout.ms.",
        Stop,
        short_form=_NAMED,
    ),
    "crash": _Kind(
        "Instances crash; the group notices at session.timeout.ms.", partial(Stop, crash=True), short_form=_NAMED
    ),
    "return": _Kind(
        "Instances that left, stopped or crashed return.",
        _return,
        short_form=_NAMED,
        parts={
            "instances": _SOME,
            "disk": _Part(
                SWITCH,
                "With the state on their disks, and so the same process ids.",
                into="keeps_disk",
                default=True,
            ),
            "static": _Part(
                SWITCH,
                "As static members: if they return within session.timeout.ms, they never left the group.",
                default=False,
            ),
            "state": _Part(
                STATE_LEFT,
                "What is left of their state: kept, lost, or flushed-at 400/s since they had it. By default kept, but "
                "lost after a crash, because since 4.3 offsets are inside the stores (before, up to 10,000 records).",
            ),
        },
    ),
    "bounce": _Kind(
        "Instances are restarted one after the other, with their disks.",
        partial(Bounce, process_ids=(ALL,)),
        parts={
            "instances": _NAMED,
            "restart": _Part(
                DURATION,
                "How long each is down; with surge, how long old and new ones run side by side.",
                into="restart_ms",
                required=True,
            ),
            "pause": _Part(DURATION, "How long until the next one stops.", into="pause_ms"),
            "leave": _Part(SWITCH, "They leave cleanly instead of the default close().", into="leaves", default=False),
            "static": _Part(SWITCH, "As static members; not with surge.", default=False),
            "config": _Part(
                SETTINGS,
                "New settings that they return with, as in config, or release: 3.9.1; they apply from when a restarted "
                "member leads. For Connect workers scheduled.rebalance.max.delay.ms and release.",
                into="settings",
            ),
            "surge": _Part(
                NUMBER,
                "Number of new instances that join at a time; the old ones stop for good `restart` later; not with "
                "static.",
            ),
        },
        check=_check_bounce,
        rule={"not": {"required": ["surge", "static"]}},
        type_problem=("does not say for how long", "write bounce: {instances: NAME, restart: 40s}"),
    ),
    "threads": _Kind(
        "An instance starts or stops stream threads.",
        Threads,
        parts={
            "instance": _Part(TEXT, "Process id, its beginning, or host.", into="process_id", required=True),
            "count": _Part(NUMBER, "How many it has from then on.", into="threads", required=True),
        },
    ),
    "produce_rate": _Kind(
        "Rate at which the changelogs of every task, or of one subtopology's, grow from now on.",
        ProduceRate,
        short_form=_Part(RATE, into="per_second"),
        parts={"rate": _Part(RATE, into="per_second", required=True), "subtopology": _SUBTOPOLOGY},
    ),
    "restore_rate": _Kind(
        "Rate at which every instance, or some, restores from now on.",
        RestoreRate,
        short_form=_Part(RATE, into="per_second"),
        parts={"rate": _Part(RATE, into="per_second", required=True), "instances": _NAMED},
    ),
    "burst": _Kind(
        "Number of records that are written to every task's changelogs at once, or to one subtopology's.",
        Burst,
        short_form=_Part(RECORDS, into="records"),
        parts={"records": _Part(RECORDS, "How many.", required=True), "subtopology": _SUBTOPOLOGY},
    ),
    "config": _Kind(
        "Settings by Kafka's names, with . or _; all members have them at once, and a rebalance starts. For Connect "
        "groups scheduled.rebalance.max.delay.ms, session.timeout.ms, heartbeat.interval.ms.",
        ConfigChange,
        short_form=_Part(SETTINGS, into="settings"),
    ),
    "create": _Kind(
        "Connectors of a Connect group are created: the number of tasks of each.",
        CreateConnectors,
        short_form=_Part(TASK_COUNTS, into="task_counts"),
    ),
    "rescale": _Kind(
        "Number of tasks of connectors from now on; the same number: these are configured anew.",
        RescaleConnectors,
        short_form=_Part(TASK_COUNTS, into="task_counts"),
    ),
    "delete": _Kind(
        "Connectors are deleted: one name, or a list.", DeleteConnectors, short_form=_Part(NAMES, into="connectors")
    ),
}


def schema() -> dict[str, Json]:
    """Return the JSON Schema of a scenario file."""
    time_schema = DURATION.described("When it happens, from the start; 0 if missing.").schema
    kinds: dict[str, Json] = {name: kind.schema() for name, kind in KINDS.items()}
    event = mapping({"at": time_schema, **kinds}, oneOf=[{"required": [name]} for name in KINDS])
    version: dict[str, Json] = {"enum": [1, VERSION], "description": "Version of this format."}
    events: dict[str, Json] = {
        "description": "What happens; the order of equal times counts.",
        "type": "array",
        "maxItems": _MOST_EVENTS,
        "items": event,
    }
    description: Json = "A timed list of what happens to a group."
    document = {"description": description, **mapping({"version": version, "events": events}, ["events"])}
    codec = Codec(str, None, document, defs_of([INSTANCES, DURATION, RATE]))
    return schema_of("scenario", "Scenario of kstream-plan simulate", codec)
