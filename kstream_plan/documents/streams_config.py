"""A Kafka Streams configuration file (``--streams-config``) as overrides of :class:`AssignmentConfig`.

The file is the application's own: its other settings are ignored. Names are Kafka's with ``.`` or ``_``, also under the
prefix of a framework (:mod:`kstream_plan.documents.frameworks`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.documents.quantities import parse_duration
from kstream_plan.errors import ConfigError
from kstream_plan.model import Note
from kstream_plan.model.connect_group import CONNECT_SETTINGS
from kstream_plan.model.not_modelled import DECIDING_SETTINGS
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.setting_texts import STORE_SETTINGS, stores_of, value_from_text
from kstream_plan.model.settings import CONFIG_NAMES, CONNECT_GROUP_ONLY, AssignmentConfig, kafka_name
from kstream_plan.model.snapshot import Stores
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.snapshots.files.kinds import named_as_it_is

if TYPE_CHECKING:
    from kstream_plan.documents.java_properties import Setting

#: Prefixes that Kafka Streams gives its consumers' settings; a later one beats an earlier one.
_CONSUMER_PREFIXES = ("", "consumer_", "main_consumer_")
_CONSUMER_SETTINGS = ("heartbeat_interval_ms", "session_timeout_ms")
#: Names that are written with a prefix or as they are → (setting, how strong).
KNOWN_NAMES = {name: (name, 0) for name in CONFIG_NAMES} | {
    prefix + name: (name, strength) for strength, prefix in enumerate(_CONSUMER_PREFIXES) for name in _CONSUMER_SETTINGS
}
#: What tells that a file is an application's settings, though all that the assignor goes by may be Kafka's defaults.
_IDENTITY = ("application_id", "bootstrap_servers", "ksql_service_id", *STORE_SETTINGS, *DECIDING_SETTINGS)
#: All names that mean something here, with ``_`` for ``.``.
_ALL_NAMES = frozenset(
    {*KNOWN_NAMES, *STORE_SETTINGS, *DECIDING_SETTINGS, "num_stream_threads"}
    | {prefix + name for prefix in _CONSUMER_PREFIXES for name in (*GROUP_SETTINGS, *DECIDING_SETTINGS)}
)
#: So alike is a misspelt name to the right one; Kafka's own other names stay below.
_TYPO_LIKENESS = 0.9

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class StreamsConfigFile:
    """What a file sets: overrides by the names of :class:`AssignmentConfig`, and a sentence per likely misspelling.

    ``group`` is what it sets of a streams group (``streams.…``), by the same names. ``threads`` is its
    ``num.stream.threads``, which is no setting of the assignor's: a snapshot tells the threads of each instance.
    ``stores`` is where the stores of the DSL are, if it says. ``deciding`` is what it sets that decides who runs what,
    and is in no plan (:mod:`kstream_plan.model.not_modelled`). ``application_id`` is whose they are, if it says.
    """

    overrides: Mapping[str, SettingValue]
    warnings: tuple[str, ...] = ()
    group: Mapping[str, SettingValue] = field(default_factory=lambda: MappingProxyType({}))
    threads: int | None = None
    stores: Stores | None = None
    deciding: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    application_id: str | None = None


def load_streams_config(path: str | Path) -> StreamsConfigFile:
    """Read ``.properties`` or YAML: by suffix (``.properties``, ``.yaml``, ``.yml``), any other by looking.

    Of a setting given twice the last counts, but ``main.consumer.`` beats ``consumer.`` beats no prefix.

    Raises:
        ConfigError: the file cannot be read or parsed, no setting in it is known, or a value has the wrong type or is
            out of range.
    """
    # what reads every form of settings takes its time, and most commands are given none
    from kstream_plan.documents.frameworks import identifies, nothing_counts  # noqa: PLC0415
    from kstream_plan.documents.mistakes import Mistakes  # noqa: PLC0415
    from kstream_plan.documents.settings_file import SETTINGS_KINDS, SettingsQuery, read_settings  # noqa: PLC0415

    file_name = str(path)
    file = read_settings(path, SettingsQuery(_ALL_NAMES, "application_id", "--streams-config"))
    settings, warnings = file.settings, file.warnings
    typos = tuple(typo for setting in settings for typo in _typo(setting, file_name))
    with Mistakes() as mistakes:
        known_settings = [*filter(None, mistakes.read_each(settings, lambda setting: _read_known(setting, file_name)))]
        if not mistakes.flawless:
            for typo in typos:
                mistakes.note(ConfigError(typo))
    if not known_settings and not any(identifies(setting, _IDENTITY) for setting in settings):
        error = nothing_counts(file.ignored, file_name) if file.ignored else _nothing_known(settings, typos, file_name)
        error.fix = next((text.rpartition(": ")[2] for text in warnings if "kubectl get " in text), error.fix)
        raise named_as_it_is(error, file.kind, *SETTINGS_KINDS)
    known_settings.sort(key=attrgetter("strength"))  # of the strongest, the last in the file beats the others
    overrides = {setting.name: setting.value for setting in known_settings if not setting.of_group}
    group = {setting.name: setting.value for setting in known_settings if setting.of_group}
    texts = _texts(settings)
    deciding = {name: texts[name] for name in DECIDING_SETTINGS if name in texts}
    deciding |= {
        setting.key: str(setting.value).strip() for setting in file.ignored if setting.key in DECIDING_SETTINGS
    }
    ids = {str(setting.value).strip() for setting in settings if identifies(setting, _IDENTITY[:1])}
    named_id = ids.pop() if len(ids) == 1 else ""
    application_id = named_id if named_id and "$" not in named_id else None
    return StreamsConfigFile(
        overrides, (*warnings, *typos), group, _threads(settings), stores_of(texts), deciding, application_id
    )


def of_another_application(file: StreamsConfigFile, application_id: str) -> tuple[Note, ...]:
    """Warn of a file whose ``application.id`` is that of another application."""
    if file.application_id in (None, application_id):
        return ()
    message = (
        f"the settings are of application {file.application_id}, and count for {application_id} here: if they are not "
        "its own, the plan does not hold"
    )
    return (Note("settings-of-another", message, (application_id,)),)


def of_streams_groups_only(of_group: Mapping[str, SettingValue]) -> tuple[Note, ...]:
    """Warn of settings of a streams group's that are given for a group of the classic protocol."""
    if not of_group:
        return ()
    names = tuple(f"streams.{kafka_name(name).removeprefix('streams.')}" for name in of_group)
    plain = ", ".join(name.removeprefix("streams.") for name in names)
    message = (
        f"{', '.join(names)}: set for a streams group, without effect in this one, which goes by {plain}: write that, "
        "if it is the application's setting"
    )
    return (Note("setting-ignored", message, names),)


def _threads(settings: Sequence[Setting]) -> int | None:
    """Return ``num.stream.threads``, if it is there and no placeholder."""
    values = [str(setting.value).strip() for setting in settings if setting.key == "num_stream_threads"]
    return int(values[-1]) if values and _WHOLE_NUMBER.fullmatch(values[-1]) else None


def _texts(settings: Sequence[Setting]) -> Mapping[str, str]:
    return {_name_of_group(setting): str(setting.value).strip() for setting in settings}


class _KnownSetting(NamedTuple):
    """A setting by the name of :class:`AssignmentConfig`, the strength of its prefix, whether it is the group's own."""

    name: str
    value: SettingValue
    strength: int = 0
    of_group: bool = False


def _read_known(setting: Setting, file_name: str) -> _KnownSetting | None:
    location = f"{file_name}, line {setting.line}"
    of_group = _name_of_group(setting)
    if of_group in GROUP_SETTINGS:
        field_name, _, low, high = GROUP_SETTINGS[of_group]
        return _KnownSetting(field_name, _value(of_group, setting, location, (low, high)), of_group=True)
    name_and_strength = KNOWN_NAMES.get(setting.key)
    if name_and_strength is None:
        return None
    name, strength = name_and_strength
    return _KnownSetting(name, _value(name, setting, location), strength)


def _name_of_group(setting: Setting) -> str:
    return setting.key.removeprefix("main_").removeprefix("consumer_")


def with_overrides(config: AssignmentConfig, overrides: Mapping[str, SettingValue]) -> AssignmentConfig:
    """Return ``config`` with the settings in ``overrides`` replaced (names of :class:`AssignmentConfig`).

    Raises:
        ConfigError: a name is no setting, or a value is out of its range.
    """
    for name in overrides:
        if name not in CONFIG_NAMES:
            nearest = difflib.get_close_matches(str(name)[:100].replace(".", "_"), CONFIG_NAMES, n=1, cutoff=0)[0]
            raise ConfigError(f"{name!r} is no setting", fix=f"is it {nearest}?")
    return replace(config, **overrides) if overrides else config  # type: ignore[arg-type]


def setting_value(
    setting: Setting, name_location: str, location: str, *, of_groups: bool = False
) -> tuple[str, SettingValue]:
    """Return the name in :class:`AssignmentConfig` and the value of a setting that has to be one of its.

    Or, if ``of_groups``, of a streams group, whose names are the broker's, or of Connect workers, with ``_``.

    Raises:
        ConfigError: it is none, or its value has the wrong type or is out of range. Its name is at ``name_location``,
            its value at ``location``.
    """
    of_group = setting.key
    if of_groups and of_group in GROUP_SETTINGS:
        _, _, low, high = GROUP_SETTINGS[of_group]
        return of_group, _value(of_group, setting, location, (low, high))
    if of_groups and of_group in CONNECT_GROUP_ONLY:
        _, _, low, high = CONNECT_SETTINGS[of_group]
        return of_group, _value(of_group, setting, location, (low, high))
    name_and_strength = KNOWN_NAMES.get(of_group)
    if of_group == "num_stream_threads":
        fix = "the event 'threads' of a scenario changes how many threads an instance has"
        raise ConfigError(f"{setting.name!r} is no setting that counts here", where=name_location, fix=fix)
    if name_and_strength is None:
        nearest = difflib.get_close_matches(setting.name[:100].replace(".", "_"), CONFIG_NAMES, n=1, cutoff=0)[0]
        raise ConfigError(f"{setting.name!r} is no setting", where=name_location, fix=f"is it {kafka_name(nearest)}?")
    return name_and_strength[0], _value(name_and_strength[0], setting, location)


def setting_from_text(
    name: str, text: str, location: str, *, other_names: Sequence[str] = ()
) -> tuple[str, SettingValue | Stores]:
    """Return a setting that people type, as in a file but that milliseconds may be written ``45s``, and its value.

    Its name is that of :class:`AssignmentConfig`, or of :data:`GROUP_SETTINGS` if it is a streams group's own; where
    stores are is ``stores``. ``other_names`` may be meant by an unknown one, too.

    Raises:
        ConfigError: it is none, or its value has the wrong type or is out of range.
        ValueError: it is a time, and its value is none.
    """
    key = name.replace(".", "_")
    if key in STORE_SETTINGS:
        if (stores := stores_of({key: text})) is None:
            raise ConfigError(f"{name} is {text!r}", where=location, fix=f"write {name}=rocksDB or {name}=in_memory")
        return "stores", stores
    names = {
        kafka_name(config_name): config_name for config_name in (*CONFIG_NAMES, *GROUP_SETTINGS, *CONNECT_GROUP_ONLY)
    }
    if key not in KNOWN_NAMES and key not in names.values() and key != "num_stream_threads":
        similar_names = difflib.get_close_matches(name.lower()[:100], [*names, *other_names], n=3)
        fix = (
            f"write {' or '.join(similar_names)}"
            if similar_names
            else f"write one of {', '.join([*names, *other_names])}"
        )
        raise ConfigError(f"{name!r} is no setting that counts here", where=location, fix=fix)
    from kstream_plan.documents.java_properties import Setting  # noqa: PLC0415 - most commands are given none

    setting = Setting(name, in_milliseconds(name, text), 1)
    return setting_value(setting, location, location, of_groups=True)


def in_milliseconds(name: str, text: str) -> str:
    """Return a time like ``5m`` as Kafka has it; any other value as it is.

    Raises:
        ValueError: it is no time.
    """
    is_time = name.replace("_", ".").endswith(".ms") and not text.isdigit()
    return str(parse_duration(text)) if is_time else text


def _nothing_known(settings: Sequence[Setting], typos: Sequence[str], file_name: str) -> ConfigError:
    if not settings:
        return ConfigError("holds no setting", where=file_name, fix="check --streams-config")
    problem = f"holds no setting of a Kafka Streams application that is known, {settings[0].name!r} first"
    fix = typos[0].removeprefix(f"{file_name}, ") if typos else "give the file with the application.id"
    return ConfigError(problem, where=file_name, fix=fix)


def _typo(setting: Setting, file_name: str) -> list[str]:
    """Return a warning for a name that is almost a known one; every other unknown name is Kafka's business."""
    if setting.key in KNOWN_NAMES or _name_of_group(setting) in GROUP_SETTINGS:
        return []
    setting_name = setting.key[-100:].lower()
    parts = setting_name.split("_")
    ends = ["_".join(parts[start:]) for start in range(len(parts))]  # under a prefix it is the end of a name
    if any(end in _ALL_NAMES for end in ends):
        return []
    matches = (difflib.get_close_matches(end, CONFIG_NAMES, n=1, cutoff=_TYPO_LIKENESS) for end in ends)
    similar_names = next(filter(None, matches), [])
    if similar_names and re.search(rf"{similar_names[0]}_\d", setting_name):  # of a list, which is itself an error
        return []
    return (
        [f"{file_name}, line {setting.line}: {setting.name} is ignored; is it {kafka_name(similar_names[0])}?"]
        if similar_names
        else []
    )


def _value(name: str, setting: Setting, location: str, bounds: tuple[int, int] | None = None) -> SettingValue:
    return value_from_text(name, setting.value, spelling=setting.name, place=location, bounds=bounds)
