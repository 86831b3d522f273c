"""Settings as texts, as files and logs have them → their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kstream_plan.errors import ConfigError
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import RACK_STRATEGIES, RANGES
from kstream_plan.model.snapshot import Stores

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,30}", re.ASCII)
_PLACEHOLDER = re.compile(r"[$@#]?[{(@].*|\$\w+")

#: The settings that tell where the state of tasks is kept, the stronger one first, with ``_`` for ``.``.
STORE_SETTINGS = ("dsl_store_suppliers_class", "default_dsl_store")


#: Kafka's own values: those of the enumeration, and its classes of suppliers; in small letters.
_STORES: Mapping[str, Stores] = MappingProxyType(
    {
        "rocksdb": "persistent",
        "in_memory": "in-memory",
        "rocksdbdslstoresuppliers": "persistent",
        "inmemorydslstoresuppliers": "in-memory",
    }
)
_BUILT_IN = re.compile(r"org\.apache\.kafka\.streams\.state\.builtindslstoresuppliers[$.]")


def value_from_text(
    name: str, text: object, *, spelling: str = "", place: str = "", bounds: tuple[int, int] | None = None
) -> SettingValue:
    """Return a setting's value.

    Args:
        name: by :class:`AssignmentConfig`, or any other if ``bounds`` are given.
        text: as it is written, or a list of texts.
        spelling: the name as it is written.
        place: its place.
        bounds: the lowest and the highest whole number, if they are not those of the name.

    Raises:
        ConfigError: the text is no value of this setting.
    """
    spelling = spelling or name
    if name == "rack_aware_assignment_tags":
        return _tags(text, spelling, place)
    plain = text.strip() if isinstance(text, str) else text
    if name == "rack_aware_assignment_strategy":
        if plain not in RACK_STRATEGIES:
            raise ConfigError(f"{spelling} is {text!r}", where=place, fix=f"use one of {', '.join(RACK_STRATEGIES)}")
        return str(plain)
    return int_from_text(text, spelling, place, bounds or RANGES[name])


def int_from_text(text: object, spelling: str, place: str, bounds: tuple[int, int]) -> int:
    """Return a whole number within bounds; arguments as of :func:`value_from_text`.

    Raises:
        ConfigError: the text is none.
    """
    low, high = bounds
    plain = text.strip() if isinstance(text, str) else ""
    number = number_from_text(plain)
    if not isinstance(number, int):
        unit = " (milliseconds)" if re.search(r"ms$", spelling, re.IGNORECASE) else ""
        subject = "what it stands for, " if _PLACEHOLDER.fullmatch(plain) else ""
        fix = f"write {subject}a number from {low} to {high}{unit}"
        raise ConfigError(f"{spelling} is {text!r}, not a whole number", where=place, fix=fix)
    if not low <= number <= high:
        message = f"{spelling} is {plain}, outside {low} to {high}"
        raise ConfigError(message, where=place, fix="write a value that Kafka accepts")
    return number


def number_from_text(value: Any) -> Any:
    """Return the whole number in a text, anything else as it is."""
    return int(value) if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()) else value


def _tags(text: object, spelling: str, place: str) -> tuple[str, ...]:
    parts = text if isinstance(text, list) else str(text or "").strip().removeprefix("[").removesuffix("]").split(",")
    if text is None or not all(isinstance(part, str) for part in parts):
        message = f"{spelling} holds something else than names"
        raise ConfigError(message, where=place, fix="write a list of tag names: zone,cluster")
    return tuple(part.strip() for part in parts if part.strip())


def stores_of(settings: Mapping[str, object]) -> Stores | None:
    """Return where stores are by an application's settings; ``None``: they do not say, or an own supplier decides."""
    supplier = next((str(settings[name]).strip().lower() for name in STORE_SETTINGS if settings.get(name)), "")
    return _STORES.get(_BUILT_IN.sub("", supplier))
