"""The settings in YAML, flat: an application's own file, or a resource of Kubernetes or Compose that holds them.

Nested mappings are joined with ``.``, and every value keeps its line. Where a resource holds the environment of its
containers, the configuration of Connect or whole files, the names begin there.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress

import yaml

from kstream_plan.documents.java_properties import Setting, parse_properties
from kstream_plan.documents.yaml_node import Loader
from kstream_plan.errors import ConfigError

_MAX_DEPTH = 20
_MAX_SETTINGS = 10_000
#: Under these names stand variables of the environment, as pairs or as a list.
_ENVIRONMENT = ("env", "environment")
_ENDINGS = (".properties", ".yaml", ".yml", ".json", ".conf", ".env")
_NULL = "tag:yaml.org,2002:null"
#: Under these paths a resource of this kind holds settings: Kubernetes' own, and those of Strimzi.
_PATHS_BY_KIND = {
    "ConfigMap": (("data",),),
    "Secret": (("stringData",), ("data",)),
    "KafkaConnect": (("spec", "config"),),
}
#: What an ``envFrom`` refers to, by its key.
_KINDS_OF_REFERENCES = {"configMapRef": "ConfigMap", "secretRef": "Secret"}
PROFILE = re.compile(r"spring\.(?:config\.activate\.|profiles(?:\.|$))")


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
    reader = _Reader(loader, where)
    documents = []
    while loader.check_node():
        node = loader.get_node()
        if node is None or node.tag == _NULL:
            continue
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(
                "the file is YAML but not a mapping of names to values",
                where=f"{where}, line {node.start_mark.line + 1}",
                fix="write one setting a line, as in max.warmup.replicas: 2",
            )
        if _kind(node):
            reader.read(node)
        else:
            documents.append((node.start_mark.line + 1, reader.of_document(node)))
    settings, left_out = without_profiles(documents, where)
    return [*reader.settings, *settings], [*reader.left_out, *reader.elsewhere(), *left_out]


def without_profiles(documents: Sequence[tuple[int, list[Setting]]], where: str) -> tuple[list[Setting], list[str]]:
    """Return the settings of the first document without a profile of Spring's, and a sentence for each other one.

    ``documents`` are those of one file, each with the line where it begins.
    """
    profiles = [next((each for each in document if PROFILE.match(each.name)), None) for _, document in documents]
    chosen = profiles.index(None) if None in profiles else 0
    left_out = []
    for place, ((line, _), profile) in enumerate(zip(documents, profiles, strict=True)):
        if place != chosen:
            name = "" if profile is None else f" ({profile.name}: {profile.value})"
            left_out.append(f"{where}, line {line}: this document{name} is left out: one counts")
    return (documents[chosen][1] if documents else []), left_out


def _kind(root: yaml.MappingNode) -> str:
    """Return the kind of a resource of Kubernetes, ``""`` of anything else."""
    values = _scalars(root)
    return str(values.get("kind", "")) if "apiVersion" in values else ""


def _scalars(node: yaml.MappingNode) -> dict[str, object]:
    """Return the values of a mapping's names that are single ones."""
    return {
        key.value: _value(value)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }


class _Reader:
    """Reads documents; private to one file."""

    def __init__(self, loader: Loader, where: str) -> None:
        self.settings: list[Setting] = []
        self.left_out: list[str] = []
        self._names: set[str] = set()
        self._referred: list[tuple[int, str, str]] = []
        self._loader = loader
        self._where = where

    def read(self, resource: yaml.MappingNode) -> None:
        """Take in a resource, or all of a list."""
        items = next((value for key, value in resource.value if key.value == "items"), None)
        if _kind(resource) == "List" and isinstance(items, yaml.SequenceNode):
            for item in items.value:
                if isinstance(item, yaml.MappingNode):
                    self.read(item)
            return
        if _kind(resource) == "Secret":
            _decode(resource)
        self._names |= _names_of(resource)
        self.settings += self.of_document(resource)

    def elsewhere(self) -> list[str]:
        """Return a sentence for each resource that the environment is from, and that is not in the file."""
        return [
            f"{self._where}, line {line}: the environment is also from {kind} {name}, which is not here: add what "
            f"kubectl get {kind.lower()} {name} -o yaml prints"
            for line, kind, name in self._referred
            if f"{kind} {name}" not in self._names
        ]

    def of_document(self, root: yaml.MappingNode) -> list[Setting]:
        """Return a document's settings."""
        settings = []
        for setting in self._walk(root, (), _PATHS_BY_KIND.get(_kind(root), ()), ""):
            settings.append(setting)
            if len(settings) > _MAX_SETTINGS:
                raise ConfigError(f"more than {_MAX_SETTINGS:,} settings", where=self._where, fix="remove the aliases")
        return settings

    def _walk(
        self, node: yaml.Node, path: tuple[str, ...], starts: tuple[tuple[str, ...], ...], part: str
    ) -> Iterator[Setting]:
        """Yield the settings in a node; names begin anew after the paths of ``starts`` and of environments."""
        line = node.start_mark.line + 1
        if len(path) > _MAX_DEPTH:
            here = f"{self._where}, line {line}"
            raise ConfigError(f"nested deeper than {_MAX_DEPTH} levels", where=here, fix="flatten it")
        if path[-1:] == ("envFrom",):
            self._referred += _references(node)
            return
        if path in starts or (path and path[-1] in _ENVIRONMENT):
            part, path = ".".join(path[:-1]), ()
        if isinstance(node, yaml.SequenceNode) and (not path or _is_environment(node)):
            yield from (each._replace(part=part) for each in map(_variable, node.value) if each is not None)
        elif isinstance(node, yaml.MappingNode):
            self._loader.flatten_mapping(node)  # resolves the merge key <<
            for key, value in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else "?"
                if not path and _is_file(name, value):
                    yield from self._of_file(name, value)
                else:
                    yield from self._walk(value, (*path, name), starts, part)
        elif isinstance(node, yaml.SequenceNode) and path[-1:] == ("containers",):
            for place, item in enumerate(node.value):
                yield from self._walk(item, (*path, str(place)), starts, part)
        else:
            yield Setting(".".join(path), _value(node), line, part=part)

    def _of_file(self, name: str, node: yaml.ScalarNode) -> list[Setting]:
        """Return the settings of a file within a file, by the lines of the outer one."""
        before = node.start_mark.line + (1 if node.style in ("|", ">") else 0)
        if name.endswith((".yaml", ".yml", ".json")):
            settings, left_out = parse_yaml(node.value, f"{self._where}, {name}")
            self.left_out += left_out
        else:
            settings = parse_properties(node.value, self._where)
        return [setting._replace(line=setting.line + before, part=name) for setting in settings]


def _decode(secret: yaml.MappingNode) -> None:
    """Put the texts of a Secret in the place of their base64; what is none stays as it is."""
    for key, node in secret.value:
        if key.value != "data" or not isinstance(node, yaml.MappingNode):
            continue
        for _, value in node.value:
            with suppress(ValueError):  # of base64, and of UTF-8
                value.value = b64decode("".join(value.value.split()), validate=True).decode("utf-8")


def _names_of(resource: yaml.MappingNode) -> set[str]:
    """Return a resource's kind and name, as in ``ConfigMap orders``."""
    metadata = next((value for key, value in resource.value if key.value == "metadata"), None)
    name = _scalars(metadata).get("name") if isinstance(metadata, yaml.MappingNode) else None
    return {f"{_kind(resource)} {name}"}


def _references(node: yaml.Node) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and name of each resource that an ``envFrom`` refers to."""
    for item in node.value if isinstance(node, yaml.SequenceNode) else ():
        for key, value in item.value if isinstance(item, yaml.MappingNode) else ():
            kind = _KINDS_OF_REFERENCES.get(key.value) if isinstance(key, yaml.ScalarNode) else None
            if kind is not None and isinstance(value, yaml.MappingNode) and "name" in _scalars(value):
                yield value.start_mark.line + 1, kind, str(_scalars(value)["name"])


def _is_environment(node: yaml.SequenceNode) -> bool:
    """Tell whether a list is of variables: each has a name and a value, or says where that is from."""
    return bool(node.value) and all(
        isinstance(item, yaml.MappingNode) and "name" in _names(item) and _names(item) & {"value", "valueFrom"}
        for item in node.value
    )


def _names(node: yaml.MappingNode) -> set[str]:
    return {key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}


def _variable(node: yaml.Node) -> Setting | None:
    """Return a variable of an environment: ``name`` and ``value``, or ``NAME=value``; ``None``: no value is here."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        name, _, value = node.value.partition("=")
        return Setting(name, value, line)
    if not isinstance(node, yaml.MappingNode):
        return None
    fields = _scalars(node)
    return Setting(str(fields["name"]), fields.get("value"), line) if "name" in fields else None


def _is_file(name: str, node: yaml.Node) -> bool:
    """Tell whether a value is a whole file, as in a ConfigMap."""
    if not isinstance(node, yaml.ScalarNode):
        return False
    return "\n" in node.value.strip() or name.endswith(_ENDINGS)


def _value(node: yaml.Node) -> object:
    """Return a scalar's own text, so that ``010`` and ``1e3`` mean what they mean to Kafka, and null as ``None``."""
    if isinstance(node, yaml.SequenceNode):
        return [item.value if isinstance(item, yaml.ScalarNode) else None for item in node.value]
    return None if node.tag == _NULL else node.value
