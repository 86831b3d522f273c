"""A file of names (``--set names=FILE``): hosts and racks of instances, which logs lack; YAML or JSON.

One entry per instance. Its key is the instance's process id, its ``client.id``, or its host as the log gives it; its
value is the host, or ``{host: …, rack: …}``.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.documents.yaml_node import Loader
from kstream_plan.errors import ConfigError
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file, unzipped_text
from kstream_plan.snapshots.files.kinds import naming_other_kinds

_FIELDS = ("host", "rack")
_FIX = "write one line per instance: ID: {host: orders-0, rack: a}"


def load_instance_names(path: Path) -> dict[str, dict[str, str]]:
    """Return ``host`` and ``rack`` by process id, ``client.id`` or host of the instance.

    Raises:
        ConfigError: the file cannot be read, or holds something else.
    """
    file_name = str(path)
    try:
        data = unzipped_text(read_file(path, SETTINGS_BYTES))
    except OSError as error:
        problem = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(problem, where=file_name, fix="check the path") from error
    with naming_other_kinds(data, "a file of names", file_name):
        return _names(data, file_name)


def _names(data: bytes, file_name: str) -> dict[str, dict[str, str]]:
    try:
        root = yaml.compose(data, Loader=Loader)
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"is neither YAML nor JSON: {_reason(error)}", where=file_name, fix=_FIX) from error
    names: dict[str, dict[str, str]] = {}

    def entry(key: yaml.Node, value: yaml.Node) -> None:
        name = _text(key, file_name)
        if name in names:
            raise ConfigError(f"{name} is there twice", where=_line(key, file_name), fix="keep one of them")
        names[name] = {}
        names[name] = (
            {"host": _text(value, file_name)}
            if isinstance(value, yaml.ScalarNode)
            else _host_and_rack(value, file_name)
        )

    with Mistakes() as mistakes:
        mistakes.read_each(_pairs(root, file_name), lambda pair: entry(*pair))
    return names


def _host_and_rack(node: yaml.Node, file_name: str) -> dict[str, str]:
    with Mistakes() as mistakes:
        return dict(mistakes.read_each(_pairs(node, file_name), lambda pair: _field(*pair, file_name)))


def _field(key: yaml.Node, value: yaml.Node, file_name: str) -> tuple[str, str]:
    name = _text(key, file_name)
    if name not in _FIELDS:
        raise ConfigError(f"{name} is not known", where=_line(key, file_name), fix=f"give {' and '.join(_FIELDS)}")
    return name, _text(value, file_name)


def _pairs(node: yaml.Node | None, file_name: str) -> list[tuple[yaml.Node, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError("does not map ids to names", where=_line(node, file_name) if node else file_name, fix=_FIX)
    return list(node.value)


def _text(node: yaml.Node, file_name: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        raise ConfigError("a name is missing, or is no text", where=_line(node, file_name), fix=_FIX)
    return str(node.value)


def _line(node: yaml.Node, file_name: str) -> str:
    return f"{file_name}, line {node.start_mark.line + 1}"


def _reason(error: Exception) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
    mark = getattr(error, "problem_mark", None)
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)
