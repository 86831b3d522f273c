r"""Java's ``.properties`` format, as ``java.util.Properties.load`` reads it.

Comments start with ``#`` or ``!``; a line that ends in an odd number of backslashes goes on in the next one, whose
leading blanks do not count; the name ends at the first ``=``, ``:`` or blank that is not escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.errors import ConfigError

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_NAME = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u.{0,4}|.|$)", re.DOTALL)
#: A line by which properties are known.
PROPERTIES_LINE = re.compile(r"^[ \t]*(?![#!])[^\s:=]+[ \t]*=", re.MULTILINE)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class UnknownValue(NamedTuple):
    """A value that is not in the file: its source, and how to get it."""

    source: str
    fix: str


class Setting(NamedTuple):
    """One name with its value as written (text, or a list of texts in YAML) and the line where it starts (from 1).

    ``value`` may be an :class:`UnknownValue` too.
    ``known_as`` is Kafka's name with ``_``, where a framework writes the setting in another way; ``part`` the service,
    container or inner file that it stands in, where a file has several.
    """

    name: str
    value: object
    line: int
    known_as: str = ""
    part: str = ""

    @property
    def key(self) -> str:
        """Kafka's name, with ``_`` for ``.``."""
        return self.known_as or self.name.replace(".", "_")


def parse_properties(text: str, file_name: str) -> list[Setting]:
    """Return every setting in file order, duplicates included (the last one counts in Java).

    Raises:
        ConfigError: a Unicode escape without four hexadecimal digits.
    """
    with Mistakes() as mistakes:
        return mistakes.read_each(_logical_lines(text), lambda numbered_line: _split(*numbered_line, file_name))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines; yield each with the number of its first line, comments and blank lines left out."""
    logical_line, first_number = "", 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not first_number and (not line or line[0] in "#!"):
            continue
        first_number = first_number or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            logical_line += line[:-1]
            continue
        yield first_number, logical_line + line
        logical_line, first_number = "", 0
    if logical_line:
        yield first_number, logical_line


def _split(number: int, line: str, file_name: str) -> Setting:
    name_end = _match_end(_NAME, line, 0)
    value_start = _match_end(_SEPARATOR, line, name_end)
    location = f"{file_name}, line {number}"
    return Setting(_unescape(line[:name_end], location), _unescape(line[value_start:], location), number)


def _match_end(pattern: re.Pattern[str], line: str, start: int) -> int:
    match = pattern.match(line, start)
    return match.end() if match else start


def _unescape(text: str, location: str) -> str:
    def character(match: re.Match[str]) -> str:
        escape = match[1]
        if not escape.startswith("u"):
            return _CONTROLS.get(escape, escape)
        if not re.fullmatch(r"u[0-9a-fA-F]{4}", escape):
            raise ConfigError(
                f"the escape \\{escape} has no four hexadecimal digits",
                where=location,
                fix="write \\\\u for a backslash before a u",
            )
        return chr(int(escape[1:], 16))

    return _ESCAPE.sub(character, text)
