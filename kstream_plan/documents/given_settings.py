"""What is given by hand: settings, rates and stores, put over what a snapshot holds, and ``learner:max.learners=4``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.designs import DESIGNS
from kstream_plan.documents.own_settings import OWN_SETTINGS
from kstream_plan.documents.quantities import parse_count, parse_duration, parse_truth
from kstream_plan.documents.streams_config import (
    StreamsConfigFile,
    of_another_application,
    of_streams_groups_only,
    setting_from_text,
    with_overrides,
)
from kstream_plan.errors import ConfigError, UsageError
from kstream_plan.model import Note, Snapshot
from kstream_plan.model.not_modelled import warnings_of, with_release_warned_of
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import (
    CONNECT_GROUP_ONLY,
    DEFAULT_SETTINGS,
    SETTINGS_GIVEN,
    SETTINGS_IN_FORCE,
    THREADS_NOT_PLANNED,
    kafka_name,
)
from kstream_plan.model.snapshot import Stores
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.model.times import duration

#: The code of the warning that something in a file of settings does not count, or not as it is written.
SETTING_IGNORED = "setting-ignored"
#: What the clients of a streams group go by themselves.
_OF_CLIENTS = ("state_cleanup_delay_ms",)
#: Those that Connect workers have.
_OF_CONNECT = ("heartbeat_interval_ms", "session_timeout_ms", *CONNECT_GROUP_ONLY)


class GivenSetting(NamedTuple):
    """A setting that is given by hand.

    name: of :class:`AssignmentConfig`, of a streams group's own settings, or of :data:`OWN_SETTINGS`.
    value: what it is set to; of a rate records per second.
    """

    name: str
    value: Any


#: What is about how lags are read → the argument of :func:`kstream_plan.snapshots.read`.
READING = {
    "lags_tolerance": "lags_tolerance_ms",
    "lags_as_reported": "lags_as_reported",
    "rates_over": "rates_over_ms",
}


def parse_setting(text: str) -> GivenSetting:
    """Return what ``NAME=VALUE`` gives.

    Raises:
        ConfigError: the name is no setting, or the value none of it.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    key = name.replace(".", "_")
    if not name or not equals:
        raise ConfigError(f"{text!r} is not NAME=VALUE", fix="write session.timeout.ms=45s")
    try:
        if key in OWN_SETTINGS:
            return GivenSetting(key, OWN_SETTINGS[key].parse(value))
        return GivenSetting(*setting_from_text(name, value, "", other_names=tuple(map(kafka_name, OWN_SETTINGS))))
    except ValueError as error:
        sample = OWN_SETTINGS[key].sample if key in OWN_SETTINGS else "5m"
        raise ConfigError(f"{name}: {error}", fix=f"write {name}={sample}") from None


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """What is given by hand for every application, and beats the settings of its file.

    settings: by name of :class:`AssignmentConfig`, or of :data:`GROUP_SETTINGS` if they are a streams group's own.
    restore_rate: records per second that an instance restores; ``None``: not given.
    produce_rate: records per second that are written to each task; ``None``: not given.
    stores: where they are; ``None``: not given.
    release: of Kafka Streams, or of the Connect workers; ``None``: not given.
    """

    settings: Mapping[str, SettingValue] = field(default_factory=lambda: MappingProxyType({}))
    restore_rate: float | None = None
    produce_rate: float | None = None
    stores: Stores | None = None
    release: str | None = None

    def apply(self, snapshot: Snapshot, file: StreamsConfigFile) -> Snapshot:
        """Return the snapshot with the given settings, also those of the application's ``file``, and a note of changes.

        Raises:
            UsageError: a setting is none of the workers of a Connect group.
        """
        were_read = all(note.code != DEFAULT_SETTINGS for note in snapshot.assumptions)
        released = snapshot if self.release is None else snapshot.of_release(self.release)
        changed_snapshot = _with_changes_noted(self._applied(snapshot, file), snapshot, released, were_read=were_read)
        return with_release_warned_of(changed_snapshot)

    def _applied(self, snapshot: Snapshot, file: StreamsConfigFile) -> Snapshot:
        rates = snapshot.rates
        if self.restore_rate is not None:
            rates = replace(rates, restore_per_instance=self.restore_rate)
        if self.produce_rate is not None:
            rates = replace(rates, produce_per_task=self.produce_rate)
        snapshot = _of_stores(snapshot, self.stores, file.stores)
        if self.release is not None:
            snapshot = snapshot.of_release(self.release)
        ignored = (Note(SETTING_IGNORED, text) for text in file.warnings)
        deciding = (note for note in warnings_of(file.deciding, snapshot) if note not in snapshot.warnings)
        warnings_of_file = (*of_another_application(file, snapshot.state.group.application_id), *deciding, *ignored)
        snapshot = replace(snapshot, warnings=(*snapshot.warnings, *warnings_of_file))
        config_values = {name: value for name, value in self.settings.items() if name not in GROUP_SETTINGS}
        group_values = {
            GROUP_SETTINGS[name][0]: value for name, value in self.settings.items() if name in GROUP_SETTINGS
        }
        values, of_group = {**file.overrides, **config_values}, {**file.group, **group_values}
        if snapshot.group_protocol == "streams":
            return _of_streams_group(replace(snapshot, rates=rates), values, of_group)
        if snapshot.group_protocol == "connect":
            return _of_connect_group(snapshot, {**values, **of_group})
        if names := [kafka_name(name) for name in config_values if name in CONNECT_GROUP_ONLY]:
            message = f"{', '.join(names)} is a setting of Connect workers, and this is no Connect group"
            raise UsageError(message, where=snapshot.state.group.application_id, fix="leave it out")
        config, warnings = with_overrides(snapshot.config, values), _other_threads(snapshot, file.threads)
        warnings = (*warnings, *of_streams_groups_only(of_group))
        assumptions = tuple(note for note in snapshot.assumptions if not values or note.code != DEFAULT_SETTINGS)
        warnings_before = (*snapshot.warnings, *warnings)
        by_default = snapshot.session_by_default and "session_timeout_ms" not in values
        snapshot = replace(snapshot, config=config, session_by_default=by_default)
        return replace(snapshot, rates=rates, warnings=warnings_before, assumptions=assumptions)


def given_settings(settings: Iterable[tuple[str, Any]]) -> GivenSettings:
    """Return the given settings by the names of :class:`GivenSetting`, without those about reading."""
    values = {name: value for name, value in settings if name not in READING}
    other_values = [values.pop(name, None) for name in ("restore_rate", "produce_rate", "stores", "release")]
    return GivenSettings(values, *other_values)


def _with_changes_noted(snapshot: Snapshot, as_read: Snapshot, released: Snapshot, *, were_read: bool) -> Snapshot:
    """Return the snapshot with an assumption that names the settings that are not those of the snapshot as read.

    What ``released``, the snapshot of the given release, has otherwise by default is named apart.
    """
    old, by_default = as_read.config, released.config
    values = {
        field.name: (getattr(snapshot.config, field.name), getattr(old, field.name))
        for field in fields(old)
        if getattr(snapshot.config, field.name) != getattr(old, field.name)
    }
    if not values or not were_read:
        return snapshot
    texts = tuple(f"{kafka_name(name)}={_in_words(name, value)}" for name, (value, _) in values.items())
    own_changes, defaults = list[str](), list[str]()
    for text, (name, (value, old_value)) in zip(texts, values.items(), strict=True):
        is_default = value == getattr(by_default, name)
        (defaults if is_default else own_changes).append(f"{text} instead of {_in_words(name, old_value)}")
    parts = [f"Settings that are given, not the group's own: {', '.join(own_changes)}"] * bool(own_changes)
    parts += [f"Defaults of the given release: {', '.join(defaults)}"] * bool(defaults)
    in_force = "" if snapshot.group_protocol == "streams" else f". {SETTINGS_IN_FORCE}"
    message = f"{'. '.join(parts)}{in_force}"
    note = Note(SETTINGS_GIVEN, message, texts)
    return replace(snapshot, assumptions=(*snapshot.assumptions, note))


def _in_words(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return duration(value) if name.endswith("_ms") and isinstance(value, int) else str(value)


def _of_stores(snapshot: Snapshot, stores: Stores | None, of_file: Stores | None) -> Snapshot:
    """Return the snapshot with the stores that are given: by an option, else by a file if it denies none in memory."""
    if stores is not None:
        return replace(snapshot, stores=stores, stores_from="--set stores")
    if of_file is None or (of_file == "persistent" and snapshot.stores in ("in-memory", "mixed")):
        return snapshot
    return replace(snapshot, stores=of_file, stores_from="--streams-config")


def _other_threads(snapshot: Snapshot, threads: int | None) -> tuple[Note, ...]:
    """Warn of instances that have other threads than the settings say: a plan has those that they have now."""
    instances = snapshot.state.group.instances
    differing = tuple(
        instance.process_id for instance in instances if threads is not None and instance.capacity != threads
    )
    if not differing:
        return ()
    message = (
        f"num.stream.threads={threads} is not planned: {len(differing):,} of {len(instances):,} instances have "
        "other threads now, and keep them here; an event 'threads' of a scenario changes those of one"
    )
    return (Note(THREADS_NOT_PLANNED, message, differing),)


def _of_connect_group(snapshot: Snapshot, values: Mapping[str, SettingValue]) -> Snapshot:
    """Put the settings over its own that a worker has as well."""
    unknown_names = [kafka_name(name) for name in values if name not in _OF_CONNECT]
    if unknown_names:
        message = f"{', '.join(unknown_names)} is no setting of Connect workers"
        raise UsageError(
            message, where=snapshot.state.group.application_id, fix="leave it out, or put it in the snapshot"
        )
    return replace(snapshot, config=replace(snapshot.config, **values))  # type: ignore[arg-type]


def _of_streams_group(
    snapshot: Snapshot, values: Mapping[str, SettingValue], of_group: Mapping[str, SettingValue]
) -> Snapshot:
    """Put the settings of a streams group over its own; those of the application have no effect there, but for one."""
    client_settings = {name: value for name, value in values.items() if name in _OF_CLIENTS}
    config = replace(snapshot.config, **client_settings, **of_group)  # type: ignore[arg-type]
    unknown_names = tuple(kafka_name(name) for name in values if name not in _OF_CLIENTS)
    if not unknown_names:
        return replace(snapshot, config=config)
    message = (
        f"{', '.join(unknown_names)}: a setting of the application has no effect in a streams group; the group's own "
        "are given by --set or --streams-config, as streams.num.standby.replicas"
    )
    return replace(
        snapshot,
        config=config,
        warnings=(*snapshot.warnings, Note("no-effect-in-streams-group", message, unknown_names)),
    )


class GivenDesign(NamedTuple):
    """A design, and the fields of :class:`PlanOptions` that it takes, with their values."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()


class DesignOption(NamedTuple):
    """What a design takes: the field of :class:`PlanOptions`, how its text is read, and one that it can be."""

    field: str
    parse: Callable[[str], object]
    sample: str


def _number(text: str) -> int:
    if (number := parse_count(text)) < 1:
        raise ValueError(f"{text} is below 1")
    return number


_DELAY = DesignOption("connect_delay_ms", parse_duration, "5m")
#: What only some designs take, by the design and by how it is written.
DESIGN_OPTIONS: Mapping[str, Mapping[str, DesignOption]] = {
    "learner": {
        "max.learners": DesignOption("max_learners", _number, "4"),
        "scale.down.timeout.ms": DesignOption("scale_down_timeout_ms", parse_duration, "10m"),
    },
    "connect-design-2": {"delay": _DELAY, "defer.join": DesignOption("connect_defer_join", parse_truth, "true")},
    "connect-design-3": {
        "delay": _DELAY,
        "step": DesignOption("connect_step", _number, "10"),
        "pause": DesignOption("connect_pause_ms", parse_duration, "60s"),
    },
}


def parse_design(text: str) -> GivenDesign:
    """Return the design of ``NAME`` or ``NAME:key=value,…``.

    Raises:
        ConfigError: there is no such design, or it takes no such option or value.
    """
    name, colon, words = (part.strip() for part in text.partition(":"))
    if name not in DESIGNS:
        similar_names = get_close_matches(name, DESIGNS, n=1)
        fix = f"write {similar_names[0]}{colon}{words}" if similar_names else "name one of them"
        raise ConfigError(f"{name!r} is not one of {', '.join(DESIGNS)}", fix=fix)
    options: dict[str, object] = {}
    for word in words.split(",") if colon else ():
        field, value = _option(name, word)
        if field in options:
            raise ConfigError(f"{text!r} has {word.partition('=')[0].strip()} twice", fix="give it once")
        options[field] = value
    return GivenDesign(name, tuple(options.items()))


def _option(design: str, word: str) -> tuple[str, object]:
    options = DESIGN_OPTIONS.get(design, {})
    key, equals, value = (part.strip() for part in word.partition("="))
    samples = [f"{design}:{name}={option.sample}" for name, option in options.items()]
    if not options:
        raise ConfigError(f"{design} takes no options, such as {word!r}", fix=f"write {design}")
    if key not in options:
        raise ConfigError(f"{key!r} is no option of {design}", fix=f"write {' or '.join(samples)}")
    if not equals:
        raise ConfigError(f"{word!r} is not NAME=VALUE", fix=f"write {design}:{key}={options[key].sample}")
    try:
        return options[key].field, options[key].parse(value)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}", fix=f"write {design}:{key}={options[key].sample}") from None
