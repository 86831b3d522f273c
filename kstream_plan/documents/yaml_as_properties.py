"""A YAML file read as flat settings: nested mappings are joined with ``.``, and every value keeps its line."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from kstream_plan.documents.java_properties import Setting
from kstream_plan.documents.yaml_node import Loader
from kstream_plan.errors import ConfigError

_MAX_DEPTH = 20
_MAX_SETTINGS = 10_000


def parse_yaml(text: str, where: str) -> list[Setting]:
    """Return every setting in file order; scalars as their text, sequences of scalars as lists of texts.

    Raises:
        ConfigError: not one YAML document, its top is no mapping, or it is nested without end; ``where`` names the
            file.
    """
    try:
        loader = Loader(text)
        root = loader.get_single_node()
        if root is None:
            return []
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(
                "the file is YAML but not a mapping of names to values",
                where=f"{where}, line {root.start_mark.line + 1}",
                fix="write one setting a line, as in max.warmup.replicas: 2",
            )
        settings = []
        for setting in _walk(loader, root, (), where):
            settings.append(setting)
            if len(settings) > _MAX_SETTINGS:
                raise ConfigError(f"more than {_MAX_SETTINGS:,} settings", where=where, fix="remove the aliases")
        return settings
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(
            f"not YAML: {error.problem or error.context}", where=f"{where}, line {line}", fix="correct the line"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(
            f"not YAML: {getattr(error, 'reason', error)}", where=where, fix="save the file as UTF-8 text"
        ) from error


def _walk(loader: yaml.SafeLoader, node: yaml.Node, path: tuple[str, ...], where: str) -> Iterator[Setting]:
    line = node.start_mark.line + 1
    if len(path) > _MAX_DEPTH:
        raise ConfigError(f"nested deeper than {_MAX_DEPTH} levels", where=f"{where}, line {line}", fix="flatten it")
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)  # resolves the merge key <<
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            yield from _walk(loader, value, (*path, name), where)
    else:
        yield Setting(".".join(path), _value(node), line)


def _value(node: yaml.Node) -> object:
    """Return a scalar's own text, so that ``010`` and ``1e3`` mean what they mean to Kafka, and null as ``None``."""
    if isinstance(node, yaml.SequenceNode):
        return [item.value if isinstance(item, yaml.ScalarNode) else None for item in node.value]
    return None if node.tag == "tag:yaml.org,2002:null" else node.value
