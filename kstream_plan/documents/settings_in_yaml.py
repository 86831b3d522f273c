"""The settings in YAML, flat: an application's own file, or a resource of Kubernetes or Compose that holds them.

Nested mappings are joined with ``.``, and every value keeps its line. Where a resource holds the environment of its
containers, the configuration of Connect or whole files, the names begin there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from kstream_plan.documents.java_properties import Setting, parse_properties
from kstream_plan.documents.yaml_node import Loader
from kstream_plan.errors import ConfigError

_MAX_DEPTH = 20
_MAX_SETTINGS = 10_000
#: Under these names stand variables of the environment, as pairs or as a list.
_ENVIRONMENT = ("env", "environment")
_CONTAINERS = (("containers",), ("initContainers",))
#: Under these paths a resource of this kind holds settings: Kubernetes' own, and those of Strimzi.
_PATHS_BY_KIND = {
    "ConfigMap": (("data",),),
    "Secret": (("stringData",),),
    "KafkaConnect": (("spec", "config"),),
}
_PROFILE = re.compile(r"spring\.(?:config\.activate\.|profiles(?:\.|$))")


def parse_yaml(text: str, where: str) -> tuple[list[Setting], list[str]]:
    """Return every setting in file order, and a sentence for each document that is left out.

    Scalars are their texts, sequences of scalars lists of texts. Of several documents all count that are resources of
    Kubernetes, else the first.

    Raises:
        ConfigError: not YAML, a document's top is no mapping, or it is nested without end; ``where`` names the file.
    """
    try:
        return _of_documents(Loader(text), where)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(
            f"not YAML: {error.problem or error.context}", where=f"{where}, line {line}", fix="correct the line"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(
            f"not YAML: {getattr(error, 'reason', error)}", where=where, fix="save the file as UTF-8 text"
        ) from error


def _of_documents(loader: Loader, where: str) -> tuple[list[Setting], list[str]]:
    settings: list[Setting] = []
    left_out: list[str] = []
    while loader.check_node():
        node = loader.get_node()
        assert node is not None  # check_node() says so
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(
                "the file is YAML but not a mapping of names to values",
                where=f"{where}, line {node.start_mark.line + 1}",
                fix="write one setting a line, as in max.warmup.replicas: 2",
            )
        document = _settings_of(loader, node, where)
        if settings and not _kind(node):
            profile = next((f" ({each.name}: {each.value})" for each in document if _PROFILE.match(each.name)), "")
            left_out.append(f"{where}, line {node.start_mark.line + 1}: this document{profile} is left out: one counts")
        else:
            settings += document
    return settings, left_out


def _settings_of(loader: Loader, root: yaml.MappingNode, where: str) -> list[Setting]:
    settings = []
    for setting in _walk(loader, root, (), _PATHS_BY_KIND.get(_kind(root), ()), where):
        settings.append(setting)
        if len(settings) > _MAX_SETTINGS:
            raise ConfigError(f"more than {_MAX_SETTINGS:,} settings", where=where, fix="remove the aliases")
    return settings


def _kind(root: yaml.MappingNode) -> str:
    """Return the kind of a resource of Kubernetes, ``""`` of anything else."""
    values = {key.value: value.value for key, value in root.value if isinstance(value, yaml.ScalarNode)}
    return str(values.get("kind", "")) if "apiVersion" in values else ""


def _walk(
    loader: Loader, node: yaml.Node, path: tuple[str, ...], starts: tuple[tuple[str, ...], ...], where: str
) -> Iterator[Setting]:
    """Yield the settings in a node; names begin anew after the paths of ``starts`` and the names of environments."""
    line = node.start_mark.line + 1
    if len(path) > _MAX_DEPTH:
        raise ConfigError(f"nested deeper than {_MAX_DEPTH} levels", where=f"{where}, line {line}", fix="flatten it")
    if path in starts or (path and path[-1] in _ENVIRONMENT):
        path = ()
        if isinstance(node, yaml.SequenceNode):
            yield from filter(None, map(_variable, node.value))
            return
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)  # resolves the merge key <<
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if not path and _is_file(value):
                yield from _of_file(name, value, where)
            else:
                yield from _walk(loader, value, (*path, name), starts, where)
    elif isinstance(node, yaml.SequenceNode) and path[-1:] in _CONTAINERS:
        for item in node.value:
            yield from _walk(loader, item, (*path, "?"), starts, where)
    else:
        yield Setting(".".join(path), _value(node), line)


def _variable(node: yaml.Node) -> Setting | None:
    """Return a variable of an environment: ``name`` and ``value``, or ``NAME=value``; ``None``: no value is here."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        name, _, value = node.value.partition("=")
        return Setting(name, value, line)
    if not isinstance(node, yaml.MappingNode):
        return None
    fields = {key.value: _value(value) for key, value in node.value if isinstance(value, yaml.ScalarNode)}
    return Setting(str(fields["name"]), fields["value"], line) if {"name", "value"} <= fields.keys() else None


def _is_file(node: yaml.Node) -> bool:
    """Tell whether a value is a whole file: a text of several lines, as in a ConfigMap."""
    return isinstance(node, yaml.ScalarNode) and "\n" in node.value.strip()


def _of_file(name: str, node: yaml.ScalarNode, where: str) -> list[Setting]:
    """Return the settings of a file within a file, by the lines of the outer one."""
    is_yaml = name.endswith((".yaml", ".yml"))
    settings = parse_yaml(node.value, where)[0] if is_yaml else parse_properties(node.value, where)
    before = node.start_mark.line + (1 if node.style in ("|", ">") else 0)
    return [setting._replace(line=setting.line + before) for setting in settings]


def _value(node: yaml.Node) -> object:
    """Return a scalar's own text, so that ``010`` and ``1e3`` mean what they mean to Kafka, and null as ``None``."""
    if isinstance(node, yaml.SequenceNode):
        return [item.value if isinstance(item, yaml.ScalarNode) else None for item in node.value]
    return None if node.tag == "tag:yaml.org,2002:null" else node.value
