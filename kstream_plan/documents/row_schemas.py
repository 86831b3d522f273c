"""The JSON Schemas of snapshot and lag rows, which follow from their types."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from enum import EnumType
from inspect import getdoc
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from kstream_plan.documents.codec import Codec, Json, schema_of
from kstream_plan.model.connect_group import CONNECT_SETTINGS
from kstream_plan.model.not_modelled import DECIDING_SETTINGS
from kstream_plan.model.setting_texts import STORE_SETTINGS
from kstream_plan.model.settings import CONFIG_NAMES, MAX_INT, RACK_STRATEGIES, RANGES, AssignmentConfig, kafka_name
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.snapshots.rows.connect_group import CONNECT_PROTOCOLS
from kstream_plan.snapshots.rows.types import RULES, KeyedBy, LagSnapshot, Says, Settings, Snapshot

#: What settings mean, where Kafka's name does not say all.
_MEANINGS = {
    "acceptable_recovery_lag": "acceptable.recovery.lag, records.",
    "balance_factor": "KIP-441's balance_factor, for the assignor balanced only.",
    "rack_aware_assignment_tags": "rack.aware.assignment.tags: the client tags over which standbys are distributed.",
    "max_poll_interval_ms": (
        "max.poll.interval.ms: of a streams group, else a warning if it is not the default. Default 300000."
    ),
    "topology_optimization": (
        "topology.optimization: all, or reuse.ktable.source.topics: tables are restored from the topics that they read."
    ),
}
_FLAT: Mapping[Any, Mapping[str, Json]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
}


def snapshot_schema() -> dict[str, Json]:
    """Return the JSON Schema of a snapshot row."""
    return _row_schema("snapshot", "kstream-plan assignment snapshot, one row", Snapshot)


def lags_schema() -> dict[str, Json]:
    """Return the JSON Schema of a row of a lag snapshot."""
    return _row_schema("lags", "kstream-plan lag snapshot, one row", LagSnapshot)


def _row_schema(kind: str, title: str, row: type) -> dict[str, Json]:
    defs: dict[str, Json] = {}
    return schema_of(kind, title, Codec(str, None, _object(row, defs), defs))


def _object(record: type, defs: dict[str, Json]) -> dict[str, Json]:
    hints, defaults = record.__annotations__, record._field_defaults  # type: ignore[attr-defined]
    properties: dict[str, Json] = {name: _schema(hint, defs) for name, hint in hints.items()}
    description = " ".join((getdoc(record) or "").split())
    return {
        "description": description,
        "type": "object",
        "properties": properties,
        "required": [name for name in hints if name not in defaults],
        **RULES.get(record, {}),
    }


def _schema(annotation: Any, defs: dict[str, Json]) -> dict[str, Json]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(_schema(arguments[0], defs), annotation.__metadata__)
    if origin in (types.UnionType, Union):
        return _any_of([_schema(option, defs) for option in arguments])
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], defs)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(arguments[1], defs)}
    if origin is Literal or isinstance(annotation, EnumType):
        return {"enum": [str(option) for option in arguments or annotation]}
    return dict(_FLAT[annotation]) if annotation in _FLAT else _reference(annotation, defs)


def _reference(annotation: type, defs: dict[str, Json]) -> dict[str, Json]:
    if annotation is Settings:
        return {"type": "object", "properties": _settings()}
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", annotation.__name__).lower()
    if name not in defs:
        defs[name] = None  # keeps its place before those that it refers to
        defs[name] = _object(annotation, defs)
    return {"$ref": f"#/$defs/{name}"}


def _annotated(schema: dict[str, Json], metadata: tuple[object, ...]) -> dict[str, Json]:
    """Return a schema with its keywords and its description; of several descriptions the outermost counts."""
    for annotation in metadata:
        if isinstance(annotation, Says):
            schema = {**schema, **annotation.keywords}
        elif isinstance(annotation, KeyedBy):
            schema = _by_name_too(schema)
        elif isinstance(annotation, str):
            schema = {
                "description": annotation,
                **{name: part for name, part in schema.items() if name != "description"},
            }
    return schema


def _by_name_too(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a list that may be an object, too."""
    by_name: dict[str, Json] = {"type": "object", "additionalProperties": schema["items"]}
    kinds: list[dict[str, Json]] = [by_name, {**schema, "type": "array"}]
    return _any_of([*kinds, {"type": "null"}] if schema["type"] != "array" else kinds)


def _any_of(schemas: list[dict[str, Json]]) -> dict[str, Json]:
    """Return the schema of values that fit any of these; a null is added to the type, where there is one."""
    *kinds, last = schemas
    if last != {"type": "null"} or len(kinds) > 1:
        return {"anyOf": [*schemas]}
    [only] = kinds
    if "enum" in only:
        return {**only, "enum": [*only["enum"], None]}  # type: ignore[misc]
    if isinstance(only.get("type"), str):
        return {**only, "type": [only["type"], "null"]}
    return {"anyOf": [only, last]}


def _settings() -> dict[str, Json]:
    """Return the schemas of the settings of all kinds of groups."""
    schemas = {name: _setting(name) for name in CONFIG_NAMES}
    for settings, kind_of_group in ((GROUP_SETTINGS, "streams"), (CONNECT_SETTINGS, "Connect")):
        for name, (_, default, low, _most) in settings.items():
            description = f"{kafka_name(name)}, only for a {kind_of_group} group. Default {default}."
            schemas.setdefault(name, _whole(description, min(low, 1), MAX_INT))
    for name in STORE_SETTINGS:
        schemas[name] = {"description": f"{kafka_name(name)}: where stores are.", "type": ["string", "null"]}
    for name in DECIDING_SETTINGS:
        default_description = f"{kafka_name(name)}: no plan goes by it; another than the default is a warning."
        description = _MEANINGS.get(name, default_description)
        schemas[name] = {**schemas.get(name, {}), "description": description, "type": ["string", "integer", "null"]}
    schemas["connect_protocol"] = {
        "description": "connect.protocol, only for a Connect group. Default sessioned.",
        "enum": [*CONNECT_PROTOCOLS, None],
    }
    return cast("dict[str, Json]", schemas)


def _setting(name: str) -> dict[str, Json]:
    default = getattr(AssignmentConfig(), name)
    description = (
        f"{_MEANINGS.get(name, f'{kafka_name(name)}.')} Default {default or 'none' if name not in RANGES else default}."
    )
    if name in RANGES:
        return _whole(description, *RANGES[name])
    if name == "rack_aware_assignment_tags":
        return {"description": description, "type": ["array", "null"], "items": {"type": "string", "minLength": 1}}
    return {"description": description, "enum": [*RACK_STRATEGIES, None]}


def _whole(description: str, low: int, high: int) -> dict[str, Json]:
    return {"description": description, "type": ["integer", "null"], "minimum": low, "maximum": high}
