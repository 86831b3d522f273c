"""A worker's settings (``--streams-config``), in whatever form, as the settings of a Connect group."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kstream_plan.documents.frameworks import identifies, nothing_counts
from kstream_plan.errors import ConfigError
from kstream_plan.model.connect_group import CONNECT_SETTINGS
from kstream_plan.model.setting_texts import int_from_text
from kstream_plan.snapshots.files.kinds import named_as_it_is

_PROTOCOL = "connect_protocol"
_PROTOCOLS = ("sessioned", "compatible", "eager")
#: So alike is a misspelt name to the right one.
_TYPO_LIKENESS = 0.9
#: Clients of a worker's connectors, whose settings are not the worker's.
_CLIENTS_OF_WORKERS = ("CONSUMER", "CONSUMER_OVERRIDE")
#: What tells that a file is a worker's, though all that rebalances go by may be Kafka's defaults.
_IDENTITY = ("group_id", "config_storage_topic")


@dataclass(frozen=True, slots=True)
class ConnectConfigFile:
    """What a file sets, by the names of the snapshot's ``config``, and a sentence per likely misspelling."""

    settings: Mapping[str, str | int]
    warnings: tuple[str, ...] = ()


def load_connect_config(path: str | Path) -> ConnectConfigFile:
    """Read a worker's ``.properties``, environment or YAML; its other settings are ignored.

    Of one given twice the last counts.

    Raises:
        ConfigError: the file cannot be read, is no worker's, or a value has the wrong type or is out of range.
    """
    # what reads every form of settings takes its time, and most commands are given none
    from kstream_plan.documents.settings_file import SETTINGS_KINDS, SettingsQuery, read_settings  # noqa: PLC0415

    file_name = str(path)
    values: dict[str, str | int] = {}
    file = read_settings(
        path,
        SettingsQuery([*CONNECT_SETTINGS, _PROTOCOL], "config_storage_topic", "--streams-config", _CLIENTS_OF_WORKERS),
    )
    warnings = list(file.warnings)
    for setting in file.settings:
        name, text, location = setting.key, str(setting.value).strip(), f"{file_name}, line {setting.line}"
        if name == _PROTOCOL:
            values[name] = _protocol(text, location)
        elif name in CONNECT_SETTINGS:
            _, _, low, high = CONNECT_SETTINGS[name]
            values[name] = int_from_text(setting.value, setting.name, location, (low, high))
        elif similar_names := difflib.get_close_matches(
            name[:100], [*CONNECT_SETTINGS, _PROTOCOL], n=1, cutoff=_TYPO_LIKENESS
        ):
            warnings.append(f"{location}: {setting.name} is ignored; is it {similar_names[0].replace('_', '.')}?")
    if not values and not any(identifies(setting, _IDENTITY) for setting in file.settings):
        error = ConfigError(
            "holds no setting of a Connect worker", where=file_name, fix="give connect-distributed.properties"
        )
        error = nothing_counts(file.ignored, file_name) if file.ignored else error
        raise named_as_it_is(error, file.kind, *SETTINGS_KINDS)
    return ConnectConfigFile(values, tuple(warnings))


def _protocol(text: str, location: str) -> str:
    if text.lower() not in _PROTOCOLS:
        raise ConfigError(
            f"connect.protocol is {text[:80]!r}", where=location, fix=f"write one of {', '.join(_PROTOCOLS)}"
        )
    return text.lower()
