"""A value in a scenario file with its place, so that every error can name line and column."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Set
from typing import TypeVar

import yaml

from kstream_plan.documents.java_properties import Setting
from kstream_plan.errors import ScenarioError

_Value = TypeVar("_Value")
_WHOLE = re.compile(r"[0-9]{1,19}", re.ASCII)
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def document(node: yaml.Node | None, file: str) -> ScenarioNode:
    """Return the top of a file that holds something.

    Raises:
        ScenarioError: it is empty.
    """
    if node is None:
        raise ScenarioError("the file is empty", where=file, fix="write events: and a list of what happens")
    return ScenarioNode(node, file, "the file")


class ScenarioNode:
    """One value; ``name`` is what errors call it. Every reader raises :class:`ScenarioError`."""

    __slots__ = ("_file", "_name", "_node")

    def __init__(self, node: yaml.Node, file: str, name: str) -> None:
        self._node = node
        self._file = file
        self._name = name

    @property
    def where(self) -> str:
        """File, line and column, both from 1."""
        mark = self._node.start_mark
        return f"{self._file}, line {mark.line + 1}, column {mark.column + 1}"

    @property
    def is_scalar(self) -> bool:
        """Whether it is a single value."""
        return isinstance(self._node, yaml.ScalarNode)

    @property
    def is_mapping(self) -> bool:
        """Whether it maps names to values."""
        return isinstance(self._node, yaml.MappingNode)

    def fail(self, what: str, fix: str = "") -> ScenarioError:
        """Return the error that ``what`` is wrong with this value."""
        return ScenarioError(f"{self._name} {what}", where=self.where, fix=fix)

    def fields(self, known: Set[str], required: Iterable[str] = ()) -> dict[str, ScenarioNode]:
        """Return a mapping's values by name, all of them known."""
        found: dict[str, ScenarioNode] = {}
        for name, key, value in self.named():
            if name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
                fix = f"is it {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
                raise key.fail("is not known here", fix)
            found[name] = value
        for name in required:
            if name not in found:
                raise self.fail(f"has no {name!r}", f"write {name}: …")
        return found

    def items(self) -> list[ScenarioNode]:
        """Return a list's items."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.fail("is no list", "write one item a line, each after a -")
        return [ScenarioNode(item, self._file, "the event") for item in self._node.value]

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self._node, yaml.ScalarNode) or not self._node.value:
            raise self.fail("is no text", "write a name")
        return str(self._node.value)

    def texts(self) -> tuple[str, ...]:
        """Return one text or a list of texts, none of them twice."""
        if isinstance(self._node, yaml.SequenceNode):
            found = tuple(ScenarioNode(item, self._file, self._name).text() for item in self._node.value)
        else:
            found = (self.text(),)
        if not found or len(set(found)) < len(found):
            raise self.fail("names something twice" if found else "names nobody", "name every instance once")
        return found

    def whole_number(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``."""
        value = self._node.value if self.is_scalar else ""
        if not isinstance(value, str) or not _WHOLE.fullmatch(value) or not low <= int(value) <= high:
            raise self.fail(f"is no whole number from {low:,} to {high:,}")
        return int(value)

    def boolean(self) -> bool:
        """Return true or false."""
        value = str(self._node.value).lower() if self.is_scalar else ""
        if value not in _BOOLEANS:
            raise self.fail("is neither true nor false")
        return _BOOLEANS[value]

    def parsed(self, parse: Callable[[str], _Value]) -> _Value:
        """Return what ``parse`` makes of the text; its ``ValueError`` becomes the error."""
        try:
            return parse(self.text())
        except ValueError as error:
            raise self.fail(f"is not right: {error}") from None

    def setting(self, name: str) -> Setting:
        """Return it as a setting of that name."""
        node = self._node
        value: object = node.value
        if isinstance(node, yaml.SequenceNode):
            value = [item.value if isinstance(item, yaml.ScalarNode) else None for item in node.value]
        return Setting(name, value if not self.is_mapping else None, node.start_mark.line + 1)

    def named(self) -> list[tuple[str, ScenarioNode, ScenarioNode]]:
        """Return a mapping's names, none of them twice, where each of them is written, and their values."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.fail("does not map names to values", "write name: value")
        found, names = [], set()
        for key, value in self._node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            at_name = ScenarioNode(key, self._file, name)
            if name in names:
                raise at_name.fail("is there twice", "keep one of them")
            names.add(name)
            found.append((name, at_name, ScenarioNode(value, self._file, name)))
        return found
