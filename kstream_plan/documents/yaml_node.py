"""A value in a YAML document with its place, so that every error names file, line and column."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import TypeVar

import yaml

from kstream_plan.documents.java_properties import Setting
from kstream_plan.errors import ConfigError, KstreamPlanError

_Value = TypeVar("_Value")
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_WHOLE = re.compile(r"[0-9]{1,19}", re.ASCII)
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


#: Nothing that is written by people is nested so deeply; the parser's time grows with the square of the depth.
_MOST_LEVELS = 40


class Loader(yaml.SafeLoader):
    """The parser of all YAML that is read here: nesting has its limit, which is told as any other mistake."""

    _levels = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node, which may not lie too deep."""
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            raise yaml.MarkedYAMLError(
                problem=f"nested deeper than {_MOST_LEVELS} levels",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        node = super().compose_node(parent, index)
        self._levels -= 1
        return node


class YamlNode:
    """One value of a document, the file it is from, and what errors call it.

    ``error`` is what every reader raises if the value is not as it has to be.
    """

    __slots__ = ("_file", "_node", "error", "name")

    def __init__(self, node: yaml.Node, file: str, name: str = "", error: type[KstreamPlanError] = ConfigError) -> None:
        self._node = node
        self._file = file
        self.name = name
        self.error = error

    def _other(self, node: yaml.Node, name: str) -> YamlNode:
        return YamlNode(node, self._file, name, self.error)

    @property
    def where(self) -> str:
        """File, line and column, both from 1."""
        return _place(self._file, self._node.start_mark)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a single value."""
        return isinstance(self._node, yaml.ScalarNode)

    @property
    def is_mapping(self) -> bool:
        """Whether it maps names to values."""
        return isinstance(self._node, yaml.MappingNode)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing after its name."""
        return isinstance(self._node, yaml.ScalarNode) and self._node.tag == _NULL

    def fail(self, what: str, fix: str = "") -> KstreamPlanError:
        """Return the error that ``what`` is wrong here."""
        return self.error(f"{self.name} {what}" if self.name else what, where=self.where, fix=fix)

    # -- mappings ------------------------------------------------------------------------------------------------

    def items(self, fix: str) -> Iterator[tuple[str, YamlNode]]:
        """Yield a mapping's names with their values, called by their paths (``defaults.max_moves``), in file order."""
        for name, _, value in self._pairs(fix):
            yield name, self._other(value, f"{self.name}.{name}" if self.name else name)

    def known_items(self, known: Sequence[str], fix: str) -> Iterator[tuple[str, YamlNode]]:
        """Yield a mapping's names with their values as :meth:`items` does; each must be one of ``known``."""
        for name, key, value in self._pairs(fix):
            if name not in known:
                at_key = self._other(key, self.name)
                raise at_key.fail(f"has {name!r}, which is not known", f"is it {nearest(name, known)}?")
            yield name, self._other(value, f"{self.name}.{name}" if self.name else name)

    def named(self) -> list[tuple[str, YamlNode, YamlNode]]:
        """Return a mapping's names, where each of them is written, and their values, called by their names alone."""
        pairs = self._pairs("write name: value")
        return [(name, self._other(key, name), self._other(value, name)) for name, key, value in pairs]

    def fields(self, known: Set[str], required: Iterable[str] = ()) -> dict[str, YamlNode]:
        """Return a mapping's values by name as :meth:`named` does, all of them known."""
        found: dict[str, YamlNode] = {}
        for name, key, value in self.named():
            if name not in known:
                near = difflib.get_close_matches(name[:100], sorted(known), n=1, cutoff=0.6)
                fix = f"is it {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
                raise key.fail("is not known here", fix)
            found[name] = value
        for name in required:
            if name not in found:
                raise self.fail(f"has no {name!r}", f"write {name}: …")
        return found

    def _pairs(self, fix: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """Yield a mapping's names, where they are written, and their values; a name may be there once."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.fail(f"is {self._kind}, not a mapping", fix)
        seen: set[str] = set()
        for key, value in self._node.value:
            at_key = self._other(key, self.name)
            if key.tag == _MERGE:
                raise at_key.fail("has a merge key <<", "write the entries out")
            if not isinstance(key, yaml.ScalarNode):
                raise at_key.fail("has a name that is no text", fix)
            if key.value in seen:
                raise at_key.fail(f"has {key.value!r} twice", "keep one of them")
            seen.add(key.value)
            yield key.value, key, value

    # -- lists ---------------------------------------------------------------------------------------------------

    def entries(self, fix: str, name: str | None = None) -> list[YamlNode]:
        """Return a list's items, each called ``name``, else by its place (``waivers[0]``)."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.fail(f"is {self._kind}, not a list", fix)
        return [
            self._other(item, f"{self.name}[{index}]" if name is None else name)
            for index, item in enumerate(self._node.value)
        ]

    def names(self) -> tuple[str, ...]:
        """Return one name or a list of names, none of them twice; what YAML takes for something else is none."""
        fix = "write a name"
        is_list = isinstance(self._node, yaml.SequenceNode)
        items = self.entries(fix, self.name) if is_list else [self]
        found = tuple(item.text(fix) for item in items)
        for item, text in zip(items, found, strict=True):
            if item._node.tag != _TEXT:
                raise item.fail(f"is {text}, which YAML takes for no text", f'write "{text}" if it is a name')
        if not found or len(set(found)) < len(found):
            raise self.fail("names something twice" if found else "names nobody", "name every instance once")
        return found

    # -- single values -------------------------------------------------------------------------------------------

    def text(self, fix: str = "write a text") -> str:
        """Return a scalar as it is written; nothing at all is no text."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.fail(f"is {self._kind}", fix)
        if self._node.tag == _NULL or not self._node.value.strip():
            raise self.fail("has no value", fix)
        return str(self._node.value)

    def parsed(self, parse: Callable[[str], _Value], fix: str = "") -> _Value:
        """Return what ``parse`` makes of the text; its ``ValueError`` becomes the error."""
        text = self.text(fix or "write a value")
        try:
            return parse(text)
        except ValueError as error:
            raise self.fail(f"is wrong: {error}", fix) from None

    def one_of(self, options: Sequence[str]) -> str:
        """Return the one of ``options`` that is written here."""
        text = self.text(f"write one of {', '.join(options)}")
        if text not in options:
            raise self.fail(f"is {text!r}, which is not known", f"is it {nearest(text, options)}?")
        return text

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

    def setting(self, name: str) -> Setting:
        """Return it as a setting of that name."""
        node = self._node
        value: object = node.value
        if isinstance(node, yaml.SequenceNode):
            value = [item.value if isinstance(item, yaml.ScalarNode) else None for item in node.value]
        return Setting(name, value if not self.is_mapping else None, node.start_mark.line + 1)

    @property
    def _kind(self) -> str:
        if isinstance(self._node, yaml.MappingNode):
            return "a mapping"
        return "a list" if isinstance(self._node, yaml.SequenceNode) else "one value"


def read_document(
    data: bytes | str, file: str, name: str = "", error: type[KstreamPlanError] = ConfigError
) -> YamlNode | None:
    """Return the one document of a YAML file, called ``name``; ``None`` if there is nothing in it.

    Raises:
        KstreamPlanError: not one YAML document; an ``error``, as all that the nodes raise.
    """
    try:
        root = Loader(data).get_single_node()
    except yaml.MarkedYAMLError as broken:
        where = file if broken.problem_mark is None else _place(file, broken.problem_mark)
        raise error(f"not YAML: {broken.problem or broken.context}", where=where, fix="correct the line") from None
    except (yaml.YAMLError, ValueError) as broken:
        reason = getattr(broken, "reason", "not text")
        raise error(f"not YAML: {reason}", where=file, fix="save the file as UTF-8 text") from None
    if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == _NULL):
        return None
    return YamlNode(root, file, name, error)


def nearest(text: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``text``."""
    return difflib.get_close_matches(text[:100], list(known), n=1, cutoff=0)[0]


def _place(file: str, mark: yaml.Mark) -> str:
    return f"{file}, line {mark.line + 1}, column {mark.column + 1}"
