"""Typed access to the nodes of a YAML document, with line and column in every error."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import yaml

from kstream_plan.errors import ConfigError

_Value = TypeVar("_Value")
_NULL = "tag:yaml.org,2002:null"
_MERGE = "tag:yaml.org,2002:merge"


class YamlField:
    """One value of a document, the file it is from, and what it is called there (``defaults.max_moves``).

    Every accessor raises :class:`ConfigError` if the value is of another type.
    """

    __slots__ = ("_file", "_node", "name")

    def __init__(self, node: yaml.Node, file: str, name: str = "") -> None:
        self._node = node
        self._file = file
        self.name = name

    def fail(self, what: str, fix: str) -> ConfigError:
        """Return the error that ``what`` is wrong here."""
        return ConfigError(f"{self.name} {what}" if self.name else what, where=self.where, fix=fix)

    @property
    def where(self) -> str:
        """File, line and column, both from 1."""
        return _place(self._file, self._node.start_mark)

    @property
    def is_mapping(self) -> bool:
        """Whether it has names in it."""
        return isinstance(self._node, yaml.MappingNode)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing after its name."""
        return isinstance(self._node, yaml.ScalarNode) and self._node.tag == _NULL

    def items(self, fix: str) -> Iterator[tuple[str, YamlField]]:
        """Yield a mapping's names with their values, in file order; a name may be there once."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.fail(f"is {self._kind}, not a mapping", fix)
        seen: set[str] = set()
        for key, value in self._node.value:
            at_key = YamlField(key, self._file, self.name)
            if key.tag == _MERGE:
                raise at_key.fail("has a merge key <<", "write the entries out")
            if not isinstance(key, yaml.ScalarNode):
                raise at_key.fail("has a name that is no text", fix)
            if key.value in seen:
                raise at_key.fail(f"has {key.value!r} twice", "keep one of them")
            seen.add(key.value)
            yield key.value, YamlField(value, self._file, f"{self.name}.{key.value}" if self.name else key.value)

    def known_items(self, known: Sequence[str], fix: str) -> Iterator[tuple[str, YamlField]]:
        """Yield a mapping's names with their values; each must be one of ``known``."""
        for key, value in self.items(fix):
            if key not in known:
                at_key = YamlField(self._key(key), self._file, self.name)
                raise at_key.fail(f"has {key!r}, which is not known", f"is it {nearest(key, known)}?")
            yield key, value

    def entries(self, fix: str) -> Iterator[YamlField]:
        """Yield a list's items."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.fail(f"is {self._kind}, not a list", fix)
        for index, item in enumerate(self._node.value):
            yield YamlField(item, self._file, f"{self.name}[{index}]")

    def text(self, fix: str) -> str:
        """Return a scalar as it is written; nothing at all is no text."""
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.fail(f"is {self._kind}", fix)
        if self._node.tag == _NULL or not self._node.value.strip():
            raise self.fail("has no value", fix)
        return str(self._node.value)

    def parsed(self, parse: Callable[[str], _Value], fix: str) -> _Value:
        """Return what ``parse`` makes of the text; its ``ValueError`` becomes the error."""
        text = self.text(fix)
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

    def _key(self, name: str) -> yaml.Node:
        assert isinstance(self._node, yaml.MappingNode)
        found: yaml.Node = next(key for key, _ in self._node.value if key.value == name)
        return found

    @property
    def _kind(self) -> str:
        if isinstance(self._node, yaml.MappingNode):
            return "a mapping"
        return "a list" if isinstance(self._node, yaml.SequenceNode) else "one value"


def read_document(data: bytes, file: str) -> YamlField | None:
    """Return the one document of a YAML file, ``None`` if there is nothing in it.

    Raises:
        ConfigError: not one YAML document.
    """
    try:
        loader = yaml.SafeLoader(data)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        where = file if error.problem_mark is None else _place(file, error.problem_mark)
        raise ConfigError(f"not YAML: {error.problem or error.context}", where=where, fix="correct the line") from None
    except (yaml.YAMLError, ValueError) as error:
        reason = getattr(error, "reason", "not text")
        raise ConfigError(f"not YAML: {reason}", where=file, fix="save the file as UTF-8 text") from None
    except RecursionError:
        raise ConfigError("nested without end", where=file, fix="flatten it") from None
    if root is None or (isinstance(root, yaml.ScalarNode) and root.tag == _NULL):
        return None
    return YamlField(root, file)


def nearest(text: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``text``."""
    return difflib.get_close_matches(text[:100], list(known), n=1, cutoff=0)[0]


def _place(file: str, mark: yaml.Mark) -> str:
    return f"{file}, line {mark.line + 1}, column {mark.column + 1}"
