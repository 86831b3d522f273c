"""How the values of options are read; what they do not take is a usage error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import typer

from kstream_plan.documents.quantities import parse_duration, parse_whole_number
from kstream_plan.errors import ConfigError

T = TypeVar("T")


class KeyValue(NamedTuple):
    """The two sides of ``K=V``."""

    key: str
    value: str


class WrongValueError(typer.BadParameter):
    """A value that an option does not take, and how to write it."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def parser(
    parse: Callable[[str], float], low: float = 0, high: float = math.inf, show: Callable[[float], str] = str
) -> Callable[[str], float]:
    """Return ``parse`` with a range, whose ends it says by ``show``; its errors become usage errors."""

    def parse_number(text: str) -> float:
        try:
            value = parse(text)
        except ValueError as error:
            raise WrongValueError(str(error)) from None
        if not low <= value <= high:
            is_small = value < low
            message = f"{text} is {'below' if is_small else 'above'} {show(low if is_small else high)}"
            raise WrongValueError(
                message, fix=f"give {show(low)} or more" if is_small else f"give at most {show(high)}"
            )
        return value

    return parse_number


def fixable(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return ``parse``; its errors become usage errors with their fix."""

    def parse_text(text: str) -> T:
        try:
            return parse(text)
        except ConfigError as error:
            raise WrongValueError(error.what, fix=error.fix) from None

    return parse_text


def number_option(text: str, low: float = 0, high: float = math.inf, *, rare: bool = False) -> Any:
    """Return an option that takes a whole number in a range; ``text`` is its help."""
    return typer.Option(parser=parser(parse_whole_number, low, high), metavar="N", hidden=rare, help=text)


def duration_option(text: str) -> Any:
    """Return an option that takes how long ago something may have been, or how long something may take."""
    return typer.Option(parser=parser(parse_duration), metavar="DURATION", help=text)


def key_value(text: str) -> KeyValue:
    """Return the two sides of ``K=V``; else a usage error."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise WrongValueError(f"{text!r} is not K=V", fix="write a name, = and a value")
    return KeyValue(name, value)


def parse_name(text: str) -> str:
    """Return ``text``; a usage error if it is empty."""
    if not text.strip():
        raise WrongValueError("the value is empty", fix="give a name")
    return text


def one_of(choices: Iterable[str], metavar: str | None = None) -> dict[str, Any]:
    """Return the settings of an option that takes one of ``choices``, shown as ``metavar`` where they are many."""
    names = list(choices)

    def parse(text: str) -> str:
        if text not in names:
            raise WrongValueError(f"{text!r} is not one of {', '.join(names)}")
        return text

    return {"parser": parse, "metavar": metavar or f"[{'|'.join(names)}]", "autocompletion": lambda: names}
