"""The ``config`` of a snapshot: Kafka's settings, each by its name with ``_`` for ``.``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from kstream_plan.errors import ConfigError
from kstream_plan.model import Note
from kstream_plan.model.not_modelled import DECIDING_SETTINGS
from kstream_plan.model.setting_texts import STORE_SETTINGS, value_from_text
from kstream_plan.model.settings import CONFIG_NAMES, DEFAULT_SETTINGS, RANGES, AssignmentConfig
from kstream_plan.snapshots.rows.fields import FieldError, Row, checked_list, checked_text, shown, wrong_type

_OF_CONSUMERS = ("session_timeout_ms", "heartbeat_interval_ms")


def with_names(row: Row) -> Row:
    """Return a row whose settings have ``_`` for the ``.`` of Kafka's own names.

    Raises:
        FieldError: a setting is given under both names with unlike values.
    """
    settings = row.get("config")
    if not isinstance(settings, Mapping) or not any("." in key for key in settings):
        return row
    config: dict[str, Any] = {}
    for key, value in settings.items():
        name = key.replace(".", "_")
        if config.setdefault(name, value) != value:
            raise FieldError("config", f"gives {shown(name)} under two names, with unlike values", "keep one of them")
    return {**row, "config": config}


def read_config(settings: Mapping[str, Any], *, as_text: bool = False) -> tuple[AssignmentConfig, list[Note]]:
    """Read ``config``; a setting that it does not give has Kafka's default.

    Args:
        settings: the settings of the snapshot row.
        as_text: the values are text, as in a Parquet map from text to text: ``"10000"``, ``"zone,rack"``.

    Returns:
        The settings, and one warning for every key that is not a setting, naming the nearest one.

    Raises:
        FieldError: a value of the wrong type, or out of its range.
    """
    raw_values = {name: settings[name] for name in CONFIG_NAMES if settings.get(name) is not None}
    values = {
        name: _from_text(name, value) if as_text and isinstance(value, str) else _checked_setting(name, value)
        for name, value in raw_values.items()
    }
    try:
        config = AssignmentConfig(**values)
    except ConfigError as error:
        raise FieldError("config", error.what, error.fix) from None
    unknown_keys = sorted(set(settings).difference(CONFIG_NAMES, STORE_SETTINGS, DECIDING_SETTINGS))
    return config, [unknown_key(key, CONFIG_NAMES) for key in unknown_keys]


def deciding_in(config: Mapping[str, Any]) -> dict[str, str]:
    """Return those settings of ``config`` that decide assignments and are not modelled.

    Raises:
        FieldError: a value is neither a text nor a number.
    """
    deciding_settings = {name: value for name in DECIDING_SETTINGS if (value := config.get(name)) is not None}
    for name, value in deciding_settings.items():
        if not isinstance(value, str | int):
            raise wrong_type(f"config.{name}", value, "a text")
    return {name: str(value) for name, value in deciding_settings.items()}


def no_settings(settings: Mapping[str, Any], config: AssignmentConfig) -> tuple[Note, ...]:
    """Note that Kafka's defaults, those of ``config``, are assumed if an application's row gives no settings."""
    names = {name for name, value in settings.items() if value is not None}
    if names.difference(DECIDING_SETTINGS, _OF_CONSUMERS):
        return ()
    exception = "" if names.isdisjoint(_OF_CONSUMERS) else " but its consumers' time-outs"
    lag, standbys = config.acceptable_recovery_lag, config.num_standby_replicas
    minutes = config.probing_rebalance_interval_ms // 60_000
    message = (
        f"The snapshot holds no settings{exception}: Kafka's defaults are assumed (acceptable.recovery.lag {lag:,}, "
        f"max.warmup.replicas {config.max_warmup_replicas}, num.standby.replicas {standbys}, a probe every "
        f"{minutes}m); --streams-config gives those of the application"
    )
    return (Note(DEFAULT_SETTINGS, message),)


def _checked_setting(name: str, value: Any) -> Any:
    path = f"config.{name}"
    if name in RANGES:
        if type(value) is not int:
            raise wrong_type(path, value, "a whole number")
        low, high = RANGES[name]
        if not low <= value <= high:
            raise FieldError(path, f"is {value}, outside {low} to {high}", "set it to a value Kafka accepts")
        return value
    if name == "rack_aware_assignment_tags":
        tags = checked_list(path, value)
        return tuple(checked_text(f"{path}[{index}]", tag) for index, tag in enumerate(tags))
    return checked_text(path, value)


def _from_text(name: str, text: str) -> Any:
    try:
        return value_from_text(name, text)
    except ConfigError as error:
        raise FieldError(f"config.{name}", error.what.removeprefix(f"{name} "), error.fix) from None


def unknown_key(key: str, names: Iterable[str]) -> Note:
    """Warn of a key that is none of the ``names`` of settings."""
    nearest = difflib.get_close_matches(key[:100].replace(".", "_").lower(), [*names], n=1, cutoff=0)
    return Note("unknown-config-key", f"config has no setting {shown(key)}; the nearest is {nearest[0]}", (key,))
