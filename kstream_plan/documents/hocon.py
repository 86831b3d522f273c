"""Settings in HOCON, as Typesafe's library reads it: braces, ``=`` or ``:``, lists, and comments.

What is included or substituted from elsewhere stays as it is written: ``${NAME}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kstream_plan.documents.java_properties import Setting

_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|#[^\n]*)|"""(?P<long>.*?)"""|"(?P<text>(?:\\.|[^"\\\n])*)"|(?P<substitution>\$\{[^}\n]*\})'
    r"|(?P<mark>\+=|[{}\[\],=:\n])|(?P<blank>[ \t\r\f]+)|(?P<bare>(?:(?!//|\$\{|\+=)[^\s{}\[\],=:#\"])+|.)",
    re.DOTALL,
)
_BLOCK = re.compile(r'^[ \t]*(?!\{)[\w."-]+[ \t]*[=:]?[ \t]*\{[ \t]*(?:(?://|#).*)?\r?$', re.MULTILINE)


def looks_like_hocon(text: str) -> bool:
    """Tell whether a text has a line that opens a block, as in ``streams {``."""
    return _BLOCK.search(text) is not None


def parse_hocon(text: str) -> list[Setting]:
    """Return every setting in file order, names joined with ``.``."""
    reader = _Reader()
    settings: list[Setting] = []
    for match in _TOKEN.finditer(f"{text}\n"):
        if match.lastgroup == "mark":
            settings += reader.mark(match["mark"])
        elif match.lastgroup not in ("comment", None):
            reader.word(match[match.lastgroup or 0])
        reader.line += match[0].count("\n")
    return settings


class _Reader:
    """Where a text is being read: in which blocks, and in a name, a value or a list."""

    def __init__(self) -> None:
        self.line = 1
        self._value_line = 1
        self._blocks: list[str] = []
        self._name = ""
        self._value: str | None = None
        self._items: list[str] | None = None

    def word(self, text: str) -> None:
        """Take in a part of a name or of a value."""
        if self._value is None:
            self._name += text
        else:
            self._value += text

    def mark(self, mark: str) -> Iterator[Setting]:
        """Take in a mark, and yield the setting that it ends."""
        if self._items is not None:
            yield from self._in_list(mark)
        elif mark in (",", "}", "\n"):
            yield from self._end()
            if mark == "}" and self._blocks:
                self._blocks.pop()
        elif mark == "{":
            self._blocks.append(self._name.strip())
            self._name, self._value = "", None
        elif self._value is None:
            self._value, self._value_line = "", self.line
        elif mark == "[":
            self._items = []
        else:
            self._value += mark

    def _in_list(self, mark: str) -> Iterator[Setting]:
        if mark not in (",", "\n", "]"):
            self.word(mark)
            return
        item, self._value = (self._value or "").strip(), ""
        self._items = [*(self._items or ()), *([item] if item else ())]
        if mark == "]":
            yield self._setting(self._items)

    def _end(self) -> Iterator[Setting]:
        if self._value is not None and self._name.strip():
            yield self._setting(self._value.strip())
        self._name, self._value = "", None

    def _setting(self, value: object) -> Setting:
        name = ".".join(filter(None, (*self._blocks, self._name.strip())))
        self._name, self._value, self._items = "", None, None
        return Setting(name, value, self._value_line)
