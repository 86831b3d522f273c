"""A design that is given by hand, with what only it takes: ``learner:max.learners=4``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from kstream_plan.designs import DESIGNS
from kstream_plan.documents.quantities import parse_count, parse_duration, parse_truth
from kstream_plan.errors import ConfigError


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
