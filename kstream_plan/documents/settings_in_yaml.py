"""The settings in YAML or JSON, flat: an application's own file, or a resource that holds them.

Nested mappings are joined with ``.``, and every value keeps its line. Where a resource of Kubernetes, Compose, Helm or
ECS holds variables of an environment, the configuration of Connect or whole files, the names begin there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import yaml

from kstream_plan.documents.hocon import parse_hocon
from kstream_plan.documents.java_properties import PROPERTIES_LINE, Setting, parse_properties
from kstream_plan.documents.kubernetes_resources import Resources, kind_of, name_of, scalars_of, value_of
from kstream_plan.documents.spring_profiles import without_profiles
from kstream_plan.documents.yaml_node import Loader
from kstream_plan.errors import ConfigError

_MAX_DEPTH = 20
_MAX_SETTINGS = 10_000
#: Under these names stand variables of the environment, as pairs or as a list.
_ENVIRONMENT = ("env", "environment")
#: Under these names of charts and operators stand settings as they are.
_OVERRIDES = ("configurationOverrides", "configOverrides")
#: Containers that are not the application's.
_NOT_OF_APPLICATION = ("initContainers", "ephemeralContainers")
_ENDINGS = (".properties", ".yaml", ".yml", ".json", ".conf", ".env")
#: A line of a file that is a text under any name, as Helm's values in a resource of Argo CD.
_OF_A_FILE = re.compile(
    r"^[ \t]*[\w.-]*(?:num\.standby\.replicas|max\.warmup\.replicas|acceptable\.recovery\.lag"
    r"|probing\.rebalance\.interval\.ms|scheduled\.rebalance\.max\.delay\.ms)[\"']?\s*[=:]",
    re.MULTILINE,
)
_OPTIONS = re.compile(r"\s*-(?:[DX]|-[a-zA-Z])")
_NULL = "tag:yaml.org,2002:null"
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_][\w.-]*=.*", re.DOTALL)
#: Under these paths a resource of this kind holds settings: Kubernetes' own, and those of Strimzi.
_PATHS_BY_KIND = {
    "ConfigMap": (("data",), ("binaryData",)),
    "Secret": (("stringData",), ("data",)),
    "KafkaConnect": (("spec", "config"),),
    "KafkaMirrorMaker2": (("spec", "target", "config"),),
}
_Paths = tuple[tuple[str, ...], ...]


def parse_yaml(text: str, file_name: str) -> tuple[list[Setting], list[str]]:
    """Return every setting in file order, and a sentence for each document that is left out.

    Scalars are their texts, sequences of scalars lists of texts. Of several documents all count that are resources of
    Kubernetes; of the others, those of :func:`without_profiles`.

    Raises:
        ConfigError: not YAML, a document holds no names and values, or it is nested without end.
    """
    try:
        return _of_documents(Loader(text), file_name)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(
            f"not YAML: {error.problem or error.context}", where=f"{file_name}, line {line}", fix="correct the line"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(
            f"not YAML: {getattr(error, 'reason', error)}", where=file_name, fix="save the file as UTF-8 text"
        ) from error


def _of_documents(loader: Loader, file_name: str) -> tuple[list[Setting], list[str]]:
    roots: list[yaml.MappingNode] = []
    while loader.check_node():
        node = loader.get_node()
        if node is None or node.tag == _NULL:
            continue
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        mappings = [item for item in items if isinstance(item, yaml.MappingNode)]
        if not mappings or len(mappings) < len(items):
            raise ConfigError(
                "the file is YAML but not a mapping of names to values",
                where=f"{file_name}, line {node.start_mark.line + 1}",
                fix="write one setting a line, as in max.warmup.replicas: 2",
            )
        roots += mappings
    resources = Resources(roots, file_name)
    reader = _Reader(loader, file_name, resources)
    # What others refer to is read last: by then it is known where its variables count.
    resource_nodes = sorted(resources.nodes, key=lambda node: kind_of(node) in ("ConfigMap", "Secret"))
    settings = [setting for node in resource_nodes for setting in reader.of_document(node)]
    documents = [(node.start_mark.line + 1, reader.of_document(node)) for node in roots if not kind_of(node)]
    other_settings, left_out = without_profiles(documents, file_name)
    return [*settings, *other_settings], [*reader.left_out, *resources.missing_notes(), *left_out]


class _Reader:
    """Reads documents; private to one file."""

    def __init__(self, loader: Loader, file_name: str, resources: Resources) -> None:
        self.left_out: list[str] = []
        self._loader = loader
        self._file_name = file_name
        self._resources = resources

    def of_document(self, root: yaml.MappingNode) -> list[Setting]:
        """Return a document's settings."""
        settings = []
        part = " ".join(filter(None, (kind_of(root), name_of(root))))
        for setting in self._walk(root, (), _starts(root), part):
            settings.append(setting)
            if len(settings) > _MAX_SETTINGS:
                raise ConfigError(
                    f"more than {_MAX_SETTINGS:,} settings", where=self._file_name, fix="remove the aliases"
                )
        if any(name == "services" for name, _ in _pairs(root)):  # what other services of Compose are made of
            settings = [
                setting for setting in settings if not f"{setting.part}.{setting.name}".startswith(("x-", ".x-"))
            ]
        return _first_of_each(settings) if _sources_of(root) else settings

    def _walk(self, node: yaml.Node, path: tuple[str, ...], starts: _Paths, part: str) -> Iterator[Setting]:
        """Yield the settings in a node; names begin anew after the paths of ``starts`` and of environments."""
        if len(path) > _MAX_DEPTH:
            location = f"{self._file_name}, line {node.start_mark.line + 1}"
            raise ConfigError(f"nested deeper than {_MAX_DEPTH} levels", where=location, fix="flatten it")
        if path[-1:] == ("env_file",):
            self._note_files(node)
        is_scalar = isinstance(node, yaml.ScalarNode)
        if not is_scalar and (path in starts or (path and _begins_names(path[-1]))):
            part, path = _part(part, path[:-1] if path not in starts else ()), ()
        if isinstance(node, yaml.SequenceNode):
            yield from self._of_sequence(node, path, starts, part)
        elif isinstance(node, yaml.MappingNode):
            yield from self._of_mapping(node, path, starts, part)
        else:
            yield Setting(".".join(path), value_of(node), node.start_mark.line + 1, part=part)

    def _of_sequence(
        self, node: yaml.SequenceNode, path: tuple[str, ...], starts: _Paths, part: str
    ) -> Iterator[Setting]:
        if not path or _is_environment(node):
            yield from self._variables(node, _part(part, path))
        else:
            yield Setting(".".join(path), value_of(node), node.start_mark.line + 1, part=part)
            for place, item in enumerate(node.value):
                if isinstance(item, yaml.MappingNode):
                    yield from self._walk(item, (*path, str(place)), starts, part)

    def _of_mapping(
        self, node: yaml.MappingNode, path: tuple[str, ...], starts: _Paths, part: str
    ) -> Iterator[Setting]:
        self._loader.flatten_mapping(node)  # resolves the merge key <<
        pairs = [(name, value) for name, value in _pairs(node) if name not in _NOT_OF_APPLICATION]
        if {name for name, _ in pairs} in ({"value"}, {"value", "origin"}):  # of Spring's actuator
            yield from self._walk(dict(pairs)["value"], path, starts, part)
            return
        for name, value in pairs:
            if name == "envFrom":  # env counts before it, wherever it stands
                yield from self._resources.environment(value, _part(part, path))
        for name, value in pairs:
            if name == "envFrom":
                continue
            if isinstance(value, yaml.ScalarNode) and _is_file(name, value, is_start=not path):
                yield from self._of_file(name, value, part)
            elif path and isinstance(value, yaml.ScalarNode) and _VARIABLE.fullmatch(name):
                yield Setting(name, value_of(value), value.start_mark.line + 1, part=_part(part, path))
            elif path or not self._resources.is_used(part):
                yield from self._walk(value, (*path, name), starts, part)

    def _variables(self, node: yaml.SequenceNode, part: str) -> Iterator[Setting]:
        for item in node.value:
            line = item.start_mark.line + 1
            if isinstance(item, yaml.ScalarNode):
                name, _, value = item.value.partition("=")
                yield Setting(name, value, line, part=part)
            elif isinstance(item, yaml.MappingNode):
                fields = {name.lower(): value for name, value in _pairs(item)}
                if isinstance(name_node := fields.get("name"), yaml.ScalarNode):
                    field = fields.get("value")
                    if isinstance(field, yaml.ScalarNode) and _is_file(name_node.value, field, is_start=False):
                        yield from self._of_file(name_node.value, field, part)
                        continue
                    value = (
                        value_of(field) if field is not None else self._resources.value_from(fields.get("valuefrom"))
                    )
                    yield Setting(name_node.value, value, line, part=part)

    def _of_file(self, name: str, node: yaml.ScalarNode, part: str) -> list[Setting]:
        """Return the settings of a file within a file, by the lines of the outer one."""
        inner = " of ".join(filter(None, (name, part)))
        line_offset = node.start_mark.line + (1 if node.style in ("|", ">") else 0)
        inner_name = f"{self._file_name}, {name}"
        if name.endswith((".yaml", ".yml", ".json")):
            settings, left_out = parse_yaml(node.value, inner_name)
            self.left_out += left_out
        elif name.endswith(".conf"):
            settings = parse_hocon(node.value)
        elif name.endswith(_ENDINGS) or PROPERTIES_LINE.search(node.value):
            settings = parse_properties(node.value, self._file_name)
        else:
            settings = []
            with suppress(ConfigError):  # it may be a text of any kind
                settings = parse_yaml(node.value, inner_name)[0]
        return [setting._replace(line=setting.line + line_offset, part=inner) for setting in settings]

    def _note_files(self, node: yaml.Node) -> None:
        """Tell which files of variables an environment is also from."""
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for item in items:
            path = item if isinstance(item, yaml.ScalarNode) else dict(_pairs(item)).get("path", item)
            self.left_out.append(
                f"{self._file_name}, line {item.start_mark.line + 1}: the environment is also from {path.value}, which "
                "is not here: give that file, or add its lines"
            )


def _starts(root: yaml.MappingNode) -> _Paths:
    """Return the paths after which names begin in a resource of this kind."""
    paths = _PATHS_BY_KIND.get(kind_of(root), ())
    if sources := _sources_of(root):
        names = ("properties", "source")
        return tuple(("propertySources", str(place), name) for place in range(len(sources)) for name in names)
    spec = dict(_pairs(root)).get("spec")
    if kind_of(root) != "KafkaMirrorMaker2" or not isinstance(spec, yaml.MappingNode):
        return paths
    clusters = dict(_pairs(spec)).get("clusters")
    connect_cluster = scalars_of(spec).get("connectCluster")
    places = enumerate(clusters.value if isinstance(clusters, yaml.SequenceNode) else ())
    aliases = {place: scalars_of(item).get("alias") for place, item in places if isinstance(item, yaml.MappingNode)}
    return (
        *paths,
        *(("spec", "clusters", str(place), "config") for place, name in aliases.items() if name == connect_cluster),
    )


def _sources_of(root: yaml.MappingNode) -> list[yaml.Node]:
    """Return the sources of properties in an answer of Spring's actuator (``/actuator/env``) or its config server."""
    sources = dict(_pairs(root)).get("propertySources")
    return sources.value if isinstance(sources, yaml.SequenceNode) else []


def _first_of_each(settings: Sequence[Setting]) -> list[Setting]:
    """Return settings without those that an earlier one overrides, however its name is written."""
    first: dict[str, Setting] = {}
    for setting in settings:
        first.setdefault(re.sub(r"[^a-z0-9]", "", setting.name.lower()), setting)
    return list(first.values())


def _part(part: str, path: tuple[str, ...]) -> str:
    return " ".join(filter(None, (part, ".".join(path))))


def _begins_names(name: str) -> bool:
    return name.lower() in _ENVIRONMENT or name in _OVERRIDES


def _pairs(node: yaml.Node) -> list[tuple[str, yaml.Node]]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return [(key.value if isinstance(key, yaml.ScalarNode) else "?", value) for key, value in pairs]


def _is_environment(node: yaml.SequenceNode) -> bool:
    """Tell whether a list is of variables: each has a name and a value, or says where that is from."""
    return bool(node.value) and all(
        _ASSIGNMENT.fullmatch(item.value)
        if isinstance(item, yaml.ScalarNode)
        else "name" in (names := {name.lower() for name, _ in _pairs(item)}) and names & {"value", "valuefrom"}
        for item in node.value
    )


def _is_file(name: str, node: yaml.ScalarNode, *, is_start: bool) -> bool:
    """Tell whether a value is a whole file, as in a ConfigMap."""
    has_lines = "\n" in node.value.strip() and not _OPTIONS.match(node.value)
    if is_start:
        return has_lines or name.endswith(_ENDINGS)
    return has_lines and (name.endswith(_ENDINGS) or _OF_A_FILE.search(node.value) is not None)
