"""What ``compare`` varies: the values of ``--vary`` and the scenarios, as axes of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kstream_plan.assignors import ASSIGNORS, with_needs
from kstream_plan.comparison.alternatives import Change
from kstream_plan.designs import DESIGNS
from kstream_plan.documents.java_properties import Setting
from kstream_plan.documents.own_settings import parse_release
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.documents.streams_config import in_milliseconds, setting_value
from kstream_plan.errors import ConfigError, UsageError
from kstream_plan.model.connect_group import CONNECT_SETTINGS
from kstream_plan.model.settings import kafka_name
from kstream_plan.protocols import PROTOCOLS
from kstream_plan.simulation.alternatives import Variant

_MOST_ALTERNATIVES = 1_000
#: What varies beside settings, and its values with what they need: names of the options of a plan.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "assignor": {name: with_needs(name) for name in sorted(ASSIGNORS)},
    "design": {name: name for name in sorted(DESIGNS)},
    "protocol": {name: name for name in sorted(PROTOCOLS)},
}
_MAX_LEARNERS = "max.learners"
#: What only Connect workers have.
CONNECT_DELAY = "scheduled.rebalance.max.delay.ms"
#: What can be varied of a Connect group: connectors and tasks have no state, which all else is about.
OF_CONNECT = frozenset({"design", "release", "scenario", CONNECT_DELAY, "heartbeat.interval.ms", "session.timeout.ms"})


def axes_of(values: Sequence[str], scenarios: Sequence[Path] = ()) -> list[list[Variant]]:
    """Return the axes: one per ``NAME=VALUE,…`` in the order given, then the scenarios, if there are several."""
    axes = [_axis(text) for text in values]
    names = [axis[0].change.name for axis in axes]
    duplicate = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if duplicate is not None:
        raise UsageError(
            f"{duplicate} is varied twice", where="--vary", fix=f"write --vary {duplicate}=VALUE,VALUE once"
        )
    if len(scenarios) > 1:
        axes.append([Variant(change=Change("scenario", str(path)), scenario=load_scenario(path)) for path in scenarios])
    number = 1
    for axis in axes:
        number *= len(axis)
    if number > _MOST_ALTERNATIVES:
        message = f"{number:,} alternatives are more than {_MOST_ALTERNATIVES:,}"
        raise UsageError(message, where="--vary", fix="vary fewer values at a time")
    return axes


def _axis(text: str) -> list[Variant]:
    name, equals, value_list = text.partition("=")
    values = [value.strip() for value in value_list.split(",")]
    if not name.strip() or not equals or not all(values):
        message = f"{text!r} is not NAME=VALUE,VALUE"
        raise UsageError(message, where="--vary", fix="write --vary max.warmup.replicas=2,4,8")
    axis = [_variant(name.strip(), value) for value in values]
    changes = [item.change for item in axis]
    duplicate = next((change for place, change in enumerate(changes) if change in changes[:place]), None)
    if duplicate is not None:
        raise UsageError(f"{duplicate.name} has {duplicate.value} twice", where="--vary", fix="give every value once")
    return axis


def _variant(name: str, value: str) -> Variant:
    if name in _OPTIONS:
        if value not in _OPTIONS[name]:
            message = f"{value!r} is no {name}"
            raise UsageError(message, where="--vary", fix=f"use one of {', '.join(_OPTIONS[name].values())}")
        return Variant(change=Change(name, value), options=((name, value),))
    if name == "release":
        try:
            return Variant(change=Change(name, value), release=parse_release(value))
        except ValueError as error:
            raise UsageError(str(error), where="--vary", fix="write --vary release=3.4,4.3") from None
    if name == _MAX_LEARNERS:
        if not value.isdecimal() or not int(value):
            raise UsageError(f"{value!r} is not a number from 1", where="--vary", fix=f"write --vary {name}=1,2,4")
        return Variant(change=Change(name, str(int(value))), options=(("max_learners", int(value)),))
    place = f"--vary {name}"
    try:
        if name.replace("_", ".") == CONNECT_DELAY:
            return _delay(in_milliseconds(name, value))
        setting, value_of_setting = setting_value(Setting(name, in_milliseconds(name, value), 1), "--vary", place)
    except ValueError as error:
        raise UsageError(f"{name} is {value!r}: {error}", where=place, fix="write 300000 or 5m") from None
    except ConfigError as error:
        raise UsageError(error.what, where=error.where, fix=error.fix) from None
    text_of_value = ",".join(value_of_setting) if isinstance(value_of_setting, tuple) else str(value_of_setting)
    return Variant(change=Change(kafka_name(setting), text_of_value), settings=((setting, value_of_setting),))


def _delay(value: str) -> Variant:
    """Return the delay of Connect's workers as what varies.

    Raises:
        ValueError: they take no such value.
    """
    field, _, low, high = CONNECT_SETTINGS[CONNECT_DELAY.replace(".", "_")]
    if not value.isdecimal() or not low <= int(value) <= high:
        raise ValueError(f"not a whole number from {low} to {high}")
    return Variant(change=Change(CONNECT_DELAY, str(int(value))), settings=((field, int(value)),))
