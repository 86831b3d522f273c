"""A value in a YAML document with its place, so that every error names file, line and column."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import TypeAlias, TypeVar

import yaml

from kstream_plan.documents.java_properties import Setting
from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.errors import ConfigError, KstreamPlanError

_Value = TypeVar("_Value")
_Other = TypeVar("_Other")
#: A name, where it is written, and its value.
_Pair: TypeAlias = tuple[str, yaml.Node, yaml.Node]
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_FIX_MAPPING = "write name: value"
_WHOLE = re.compile(r"[0-9]{1,19}", re.ASCII)
#: How truth values are written, in small letters or capitals.
BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


#: Nothing that is written by people is nested so deeply; the parser's time grows with the square of the depth.
_MOST_LEVELS = 40


class Loader(yaml.SafeLoader):
    """The parser of all YAML that is read here; it limits the depth of nesting."""

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

    def _node_at(self, node: yaml.Node, name: str) -> YamlNode:
        return YamlNode(node, self._file, name, self.error)

    @property
    def location(self) -> str:
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

    def fail(self, problem: str, fix: str = "") -> KstreamPlanError:
        """Return the error for a problem of this value."""
        return self.error(f"{self.name} {problem}" if self.name else problem, where=self.location, fix=fix)

    # -- mappings ------------------------------------------------------------------------------------------------

    def mapped(
        self, read: Callable[[str, YamlNode], _Value], fix: str, known_names: Collection[str] | None = None
    ) -> dict[str, _Value]:
        """Return a mapping's values by name, each as ``read`` reads it; other names than ``known_names`` are mistakes.

        They are called by their paths (``defaults.max_moves``). All mistakes are raised at once.
        """
        with Mistakes() as mistakes:
            pairs = self._pairs(fix, mistakes)
            if known_names is not None:
                pairs = [pair for pair in pairs if self._is_known(pair, known_names, mistakes)]
            named_values = mistakes.read_each(
                pairs, lambda pair: (pair[0], read(pair[0], self._at_path(pair[0], pair[2])))
            )
        return dict(named_values)

    def parts(
        self, known_names: Sequence[str], fix: str, required: Iterable[str] = (), required_fix: str = ""
    ) -> Fields:
        """Return a mapping's values, called by their paths; ``required_fix``: if a required one is missing."""
        fields = Fields()
        for pair in self._pairs(fix, fields):
            if self._is_known(pair, known_names, fields):
                fields.nodes[pair[0]] = self._at_path(pair[0], pair[2])
        if fields.flawless:
            for name in required:
                if name not in fields.nodes:
                    fields.note(self.fail(f"has no {name}", required_fix))
        return fields

    def fields(self, known_names: Set[str], required: Iterable[str] = ()) -> Fields:
        """Return a mapping's values, called by their names alone, all of them known and those ``required`` there."""
        fields = Fields()
        for name, key, value in self._pairs(_FIX_MAPPING, fields):
            if name in known_names:
                fields.nodes[name] = self._node_at(value, name)
                continue
            similar_names = difflib.get_close_matches(name[:100], sorted(known_names), n=1, cutoff=0.6)
            fix = f"is it {similar_names[0]}?" if similar_names else f"known are {', '.join(sorted(known_names))}"
            fields.note(self._node_at(key, name).fail("is not known here", fix))
        if fields.flawless:
            for name in required:
                if name not in fields.nodes:
                    fields.note(self.fail(f"has no {name!r}", f"write {name}: …"))
        return fields

    def named_nodes(self) -> list[tuple[str, YamlNode, YamlNode]]:
        """Return a mapping's names, where each of them is written, and their values, called by their names alone."""
        with Mistakes() as mistakes:
            pairs = self._pairs(_FIX_MAPPING, mistakes)
        return [(name, self._node_at(key, name), self._node_at(value, name)) for name, key, value in pairs]

    def _at_path(self, name: str, value: yaml.Node) -> YamlNode:
        return self._node_at(value, f"{self.name}.{name}" if self.name else name)

    def _is_known(self, pair: _Pair, known_names: Collection[str], mistakes: Mistakes) -> bool:
        name, key, _ = pair
        if name not in known_names:
            at_key = self._node_at(key, self.name)
            mistakes.note(at_key.fail(f"has {name!r}, which is not known", f"is it {nearest(name, known_names)}?"))
        return name in known_names

    def _pairs(self, fix: str, mistakes: Mistakes) -> list[_Pair]:
        """Return a mapping's names, where they are written, and their values; a name may be there once."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.fail(f"is {self._kind}, not a mapping", fix)
        pairs_by_name: dict[str, _Pair] = {}
        for key, value in self._node.value:
            at_key = self._node_at(key, self.name)
            if key.tag == _MERGE:
                mistakes.note(at_key.fail("has a merge key <<", "write the entries out"))
            elif not isinstance(key, yaml.ScalarNode):
                mistakes.note(at_key.fail("has a name that is no text", fix))
            elif key.value in pairs_by_name:
                mistakes.note(at_key.fail(f"has {key.value!r} twice", "keep one of them"))
            else:
                pairs_by_name[key.value] = key.value, key, value
        return list(pairs_by_name.values())

    # -- lists ---------------------------------------------------------------------------------------------------

    def entries(self, fix: str, name: str | None = None) -> list[YamlNode]:
        """Return a list's items, each called ``name``, else by its place (``waivers[0]``)."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.fail(f"is {self._kind}, not a list", fix)
        return [
            self._node_at(item, f"{self.name}[{index}]" if name is None else name)
            for index, item in enumerate(self._node.value)
        ]

    def read_each(self, read: Callable[[YamlNode], _Value], fix: str, name: str | None = None) -> list[_Value]:
        """Return the items of :meth:`entries` as ``read`` reads them; all mistakes are raised at once."""
        with Mistakes() as mistakes:
            return mistakes.read_each(self.entries(fix, name), read)

    def names(self) -> tuple[str, ...]:
        """Return one name or a list of different names; other types of YAML are no names."""
        fix = "write a name"
        is_list = isinstance(self._node, yaml.SequenceNode)
        items = self.entries(fix, self.name) if is_list else [self]
        with Mistakes() as mistakes:
            names = tuple(mistakes.read_each(items, YamlNode._name))
        if not names or len(set(names)) < len(names):
            raise self.fail("has a duplicate" if names else "has no name", "name every instance once")
        return names

    def _name(self) -> str:
        text = self.text("write a name")
        if self._node.tag != _TEXT:
            raise self.fail(f"is {text}, which YAML takes for no text", f'write "{text}" if it is a name')
        return text

    # -- single values -------------------------------------------------------------------------------------------

    def text(self, fix: str = "write a text") -> str:
        """Return a scalar as it is written; nothing at all is no text."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.fail(f"is {self._kind}", fix)
        if self._node.tag == _NULL or not self._node.value.strip():
            raise self.fail("has no value", fix)
        return str(self._node.value)

    def parse_text(self, parse: Callable[[str], _Value], fix: str = "") -> _Value:
        """Return the text as ``parse`` reads it; its ``ValueError`` becomes the error."""
        text = self.text(fix or "write a value")
        try:
            return parse(text)
        except ValueError as error:
            raise self.fail(f"is wrong: {error}", fix) from None

    def one_of(self, options: Sequence[str]) -> str:
        """Return the text, which is one of ``options``."""
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
        if value not in BOOLEANS:
            raise self.fail("is neither true nor false")
        return BOOLEANS[value]

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


class Fields(Mistakes):
    """A mapping's values by name, each read within the ``with`` block, which ends with all mistakes as one error."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, YamlNode] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    def get(self, name: str, read: Callable[[YamlNode], _Value], default: _Other) -> _Value | _Other:
        """Return a value as ``read`` reads it; ``default`` if it is missing."""
        node = self.nodes.get(name)
        return default if node is None else self.read(lambda: read(node), default)


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
        location = file if broken.problem_mark is None else _place(file, broken.problem_mark)
        raise error(f"not YAML: {broken.problem or broken.context}", where=location, fix="correct the line") from None
    except (yaml.YAMLError, ValueError) as broken:
        reason = getattr(broken, "reason", "not text")
        raise error(f"not YAML: {reason}", where=file, fix="save the file as UTF-8 text") from None
    if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == _NULL):
        return None
    return YamlNode(root, file, name, error)


def nearest(text: str, known_names: Iterable[str]) -> str:
    """Return the known name that is most like ``text``."""
    return difflib.get_close_matches(text[:100], list(known_names), n=1, cutoff=0)[0]


def _place(file: str, mark: yaml.Mark) -> str:
    return f"{file}, line {mark.line + 1}, column {mark.column + 1}"
