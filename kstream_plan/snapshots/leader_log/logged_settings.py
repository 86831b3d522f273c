"""Settings as instances log them when they start: ``StreamsConfig values``, ``ConsumerConfig values``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from kstream_plan.errors import ConfigError
from kstream_plan.model import Note
from kstream_plan.model.not_modelled import DECIDING_SETTINGS
from kstream_plan.model.setting_texts import STORE_SETTINGS, stores_of, value_from_text
from kstream_plan.model.settings import CONFIG_NAMES
from kstream_plan.model.times import format_time, utc
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.message_values import LogPlace, Settings
from kstream_plan.snapshots.leader_log.records import Record

#: What the stream threads' own consumers are set to, which their application's settings do not tell.
_OF_CONSUMERS = ("session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "group_instance_id")
#: What each instance has a value of its own of.
_OF_ONE_INSTANCE = ("group_instance_id",)
_UNSET = ("", "null", "none")
#: A consumer's id is its client id, a dash and a random UUID.
_RANDOM_ID = 37
_MAIN_CONSUMER = re.compile(r".+-StreamThread-\d+-consumer")


class LoggedValues(NamedTuple):
    """What an instance said that it is set to, by the names of a snapshot's ``config``; when and where it said so.

    ``deciding`` are settings that decide who runs what and are in no plan, as texts. ``client`` is the client id of the
    consumer that said so, empty of an application.
    """

    at_us: int
    place: LogPlace
    source: tuple[str, str]
    config: Mapping[str, Any]
    deciding: Mapping[str, str]
    client: str = ""


class GroupSettings(NamedTuple):
    """What counts for a generation, and a note of each setting that instances say unlike things of."""

    config: Mapping[str, Any]
    deciding: Mapping[str, str]
    notes: tuple[Note, ...] = ()


#: The log with the source in it, and the process id of the instance that spoke: empty where the log does not tell.
_Speaker: TypeAlias = tuple[tuple[str, str], str]
#: By application id.
LoggedSettings = Mapping[str, Sequence[LoggedValues]]


def settings_of(records: Iterable[Record]) -> LoggedSettings:
    """Return what the records say that applications, and their main consumers, are set to, in order of time."""
    values_by_id: dict[str, list[LoggedValues]] = {}
    last: dict[str, int] = {}
    for record in records:
        at_us = last[record.place.file] = record.logged_at.us if record.logged_at else last.get(record.place.file, -1)
        if isinstance(record.message, Settings):
            application_id, values = _application(record.message)
            if application_id:
                client = record.message.values.get("client.id", "").strip() if record.message.kind == "consumer" else ""
                statement = LoggedValues(at_us, record.place, record.source, *values, client)
                values_by_id.setdefault(application_id, []).append(statement)
    return {
        name: sorted(statements, key=lambda statement: statement.at_us) for name, statements in values_by_id.items()
    }


def settings_for(generation: LoggedGeneration, statements: Sequence[LoggedValues]) -> GroupSettings:
    """Return what the leader was set to, as far as its log says; else what was said last.

    Args:
        generation: what the leader decided.
        statements: what was said of its application.
    """
    earlier = [
        values for values in statements if generation.decided_at is None or values.at_us <= generation.decided_at.us
    ]
    config: dict[str, Any] = {}
    deciding: dict[str, str] = {}
    processes = _processes(generation)
    speakers = [((values.source, processes.get(values.client, "")), values) for values in earlier or statements]
    leader = processes.get(f"{generation.thread}-consumer")

    def rank(statement: tuple[_Speaker, LoggedValues]) -> tuple[bool, bool, int]:
        (source, member), values = statement
        return source == generation.source, member == leader, values.at_us

    for _, values in sorted(speakers, key=rank):
        config |= values.config
        deciding |= values.deciding
    notes = tuple(_differences(_apart(speakers), config, deciding))
    in_force = {name: text for name, text in deciding.items() if text not in _UNSET}
    return GroupSettings({name: value for name, value in config.items() if value is not None}, in_force, notes)


def _processes(generation: LoggedGeneration) -> Mapping[str, str]:
    """Return the process that each consumer belongs to, by client id: empty where several have consumers of it."""
    processes: dict[str, str] = {}
    for process_id, members in generation.consumers.items():
        for member in members:
            client = member[:-_RANDOM_ID]
            processes[client] = "" if client in processes else process_id
    return processes


def _apart(speakers: Sequence[tuple[_Speaker, LoggedValues]]) -> list[tuple[_Speaker, LoggedValues]]:
    """Tell instances apart where one source has several members of the generation; else it is of one instance.

    A consumer of none of these members, one of before a restart, is left out then: whose it was is unknown.
    """
    members: dict[tuple[str, str], set[str]] = {}
    for (source, member), _ in speakers:
        members.setdefault(source, set()).update({member} - {""})
    return [
        ((source, member if len(members[source]) > 1 else ""), values)
        for (source, member), values in speakers
        if len(members[source]) < 2 or member or not values.client
    ]


def _differences(
    speakers: Sequence[tuple[_Speaker, LoggedValues]], config: Mapping[str, Any], deciding: Mapping[str, str]
) -> Iterator[Note]:
    """Yield a note of each setting that instances say unlike things of, or that one had another value of before."""
    in_force: dict[str, Any] = {**deciding, **config}
    for name, value in in_force.items():
        if name in _OF_ONE_INSTANCE:
            continue
        statements_by_speaker: dict[_Speaker, list[tuple[str, LoggedValues]]] = {}
        for speaker, values in speakers:
            logged_values = {**values.deciding, **values.config}
            if name in logged_values:
                statements_by_speaker.setdefault(speaker, []).append((_text(logged_values[name]), values))
        newest = {
            text: values.place for text, values in (statements[-1] for statements in statements_by_speaker.values())
        }
        key, shown_value = name.replace("_", "."), _text(value)
        if len(newest) > 1:
            pairs = ", ".join(f"{text} ({place})" for text, place in newest.items())
            message = (
                f"instances log different values of {key}: {pairs}; {shown_value} is used, the leader's as far as its "
                "log tells"
            )
            yield Note("settings-differ", message, tuple(map(str, newest.values())))
            continue
        changes = [change for statements in statements_by_speaker.values() for change in _changes(statements)]
        if changes:
            (old, previous), (_, newer) = max(changes, key=lambda change: change[1][1].at_us)
            since_text = (
                f"since {utc(format_time(newer.at_us // 1000))} ({newer.place})"
                if newer.at_us > 0
                else f"at {newer.place}"
            )
            condition = "" if newer.source[1] else ", if this log is of one instance"
            message = (
                f"{key} is {shown_value}, logged {since_text}, and was {old} before ({previous.place}){condition}: "
                f"{shown_value} is used"
            )
            yield Note("settings-differ", message, (str(previous.place), str(newer.place)))


def _changes(
    statements: Sequence[tuple[str, LoggedValues]],
) -> list[tuple[tuple[str, LoggedValues], tuple[str, LoggedValues]]]:
    """Return the last restart of an instance with another value: what it said last before, and first since."""
    pairs = [(earlier, later) for earlier, later in pairwise(statements) if earlier[0] != later[0]]
    return pairs[-1:]


def _text(value: Any) -> str:
    return ",".join(value) or "none" if isinstance(value, list) else "none" if value in (None, *_UNSET) else str(value)


def _application(message: Settings) -> tuple[str, tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Return whose settings they are, those that count, and those that decide and are in no plan."""
    values = {name.replace(".", "_"): value.strip() for name, value in message.values.items()}
    if message.kind == "streams":
        return values.get("application_id", ""), (
            {**_config(values, CONFIG_NAMES), **_stores(values)},
            _deciding(values, DECIDING_SETTINGS),
        )
    client = values.get("client_id", "")
    if _MAIN_CONSUMER.fullmatch(client) is None:
        return "", ({}, {})
    names = [name for name in _OF_CONSUMERS if name in CONFIG_NAMES]
    deciding = _deciding(values, [name for name in _OF_CONSUMERS if name in DECIDING_SETTINGS])
    return values.get("group_id", ""), (_config(values, names), deciding)


def _config(values: Mapping[str, str], names: Iterable[str]) -> dict[str, Any]:
    pairs = ((name, _value(name, values[name])) for name in names if name in values)
    return {name: value for name, value in pairs if value is not None}


def _stores(values: Mapping[str, str]) -> dict[str, str | None]:
    """Return that stores are in memory, if that is set; Kafka's default says nothing of those that name their own."""
    supplier, store = (values.get(name, "").removeprefix("class ") for name in STORE_SETTINGS)
    by_supplier, by_store = stores_of({STORE_SETTINGS[0]: supplier}), stores_of({STORE_SETTINGS[1]: store})
    is_custom = by_supplier is None and supplier not in ("", "null")
    is_in_memory = by_supplier == "in-memory" or (by_store == "in-memory" and not is_custom)
    return {STORE_SETTINGS[1]: "in_memory" if is_in_memory else None}


def _value(name: str, text: str) -> Any:
    """Return a value as a snapshot has it; ``None``: it is none that counts."""
    try:
        value = value_from_text(name, text)
    except (ConfigError, KeyError):
        return None
    return list(value) if isinstance(value, tuple) else value


def _deciding(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: values[name] for name in names if name in values}
