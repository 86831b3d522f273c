"""Resources of Kubernetes in one file, and the variables that they take from one another."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import suppress

import yaml

from kstream_plan.documents.java_properties import Setting, UnknownValue

_NULL = "tag:yaml.org,2002:null"
#: What an ``envFrom`` or a ``valueFrom`` refers to, by its key.
_KINDS_OF_REFERENCES = {
    "configMapRef": "ConfigMap",
    "secretRef": "Secret",
    "configMapKeyRef": "ConfigMap",
    "secretKeyRef": "Secret",
}
#: Under this name a resource of this kind holds texts in base64.
_IN_BASE64 = {"Secret": "data", "ConfigMap": "binaryData"}


class Resources:
    """All resources in the documents of a file, those of a list one by one; private to one file.

    nodes: the resources, in the order of the file.
    """

    def __init__(self, roots: Sequence[yaml.MappingNode], file_name: str) -> None:
        self.nodes = [node for root in roots if kind_of(root) for node in _items(root)]
        self._file_name = file_name
        self._missing_notes: dict[str, str] = {}
        self._used: set[str] = set()
        self._data: dict[str, dict[str, yaml.ScalarNode]] = {}
        for node in self.nodes:
            _decode(node, _IN_BASE64.get(kind_of(node)))
            if kind_of(node) in _KINDS_OF_REFERENCES.values():
                self._data[f"{kind_of(node)} {name_of(node)}"] = dict(_data(node))

    def missing_notes(self) -> list[str]:
        """Return a sentence for each resource that an environment is from, and that is not in the file."""
        return list(self._missing_notes.values())

    def is_used(self, resource: str) -> bool:
        """Tell whether the variables of a resource, as in ``ConfigMap orders``, are those of an environment here."""
        return resource in self._used

    def environment(self, node: yaml.Node, part: str) -> Iterator[Setting]:
        """Yield the variables that an ``envFrom`` takes from other resources."""
        for item in node.value if isinstance(node, yaml.SequenceNode) else ():
            prefix = str(scalars_of(item).get("prefix") or "")
            for resource, _, line in _references(item):
                if resource in self._data:
                    self._used.add(resource)
                    for key, value in self._data[resource].items():
                        yield Setting(prefix + key, value_of(value), value.start_mark.line + 1, part=part)
                else:
                    self._missing_notes[resource] = (
                        f"{self._file_name}, line {line}: the environment is also from {resource}, which is not here: "
                        f"{_get(resource)}"
                    )

    def value_from(self, node: yaml.Node | None) -> object:
        """Return the value that a ``valueFrom`` refers to, unknown where it is not in the file."""
        for resource, key, _ in _references(node):
            value = self._data.get(resource, {}).get(key)
            if value is not None:
                return value_of(value)
            if resource in self._data:
                return UnknownValue(f"key {key} of {resource}, which has none", "write the value that it has")
            return UnknownValue(f"key {key} of {resource}, which is not here", _get(resource))
        return UnknownValue("what Kubernetes fills in", "write the value that it has")


def kind_of(root: yaml.Node) -> str:
    """Return the kind of a resource of Kubernetes, ``""`` of anything else."""
    values = scalars_of(root)
    return str(values.get("kind", "")) if "apiVersion" in values else ""


def name_of(resource: yaml.MappingNode) -> str:
    """Return a resource's name, ``""`` if it has none."""
    metadata = next((value for key, value in resource.value if key.value == "metadata"), None)
    return str(scalars_of(metadata).get("name", ""))


def scalars_of(node: yaml.Node | None) -> dict[str, object]:
    """Return the values of a mapping's names that are single ones."""
    return {
        key.value: value_of(value)
        for key, value in (node.value if isinstance(node, yaml.MappingNode) else ())
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }


def value_of(node: yaml.Node) -> object:
    """Return a scalar's own text, so that ``010`` and ``1e3`` mean what they mean to Kafka, and null as ``None``."""
    if isinstance(node, yaml.SequenceNode):
        return [item.value if isinstance(item, yaml.ScalarNode) else None for item in node.value]
    if node.tag.startswith("!"):  # of CloudFormation, or another tool that fills it in
        return UnknownValue(f"what {node.tag} {node.value} is", "write the value itself")
    return None if node.tag == _NULL else node.value


def _items(resource: yaml.MappingNode) -> Iterator[yaml.MappingNode]:
    """Yield a resource, or all of a list."""
    items = next((value for key, value in resource.value if key.value == "items"), None)
    if not kind_of(resource).endswith("List") or not isinstance(items, yaml.SequenceNode):
        yield resource
        return
    for item in items.value:
        if isinstance(item, yaml.MappingNode):
            yield from _items(item)


def _references(node: yaml.Node | None) -> Iterator[tuple[str, str, int]]:
    """Yield resource, key and line of each reference in an item."""
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        kind = _KINDS_OF_REFERENCES.get(key.value) if isinstance(key, yaml.ScalarNode) else None
        fields = scalars_of(value)
        if kind is not None and "name" in fields:
            yield f"{kind} {fields['name']}", str(fields.get("key")), value.start_mark.line + 1


def _get(resource: str) -> str:
    kind, _, name = resource.partition(" ")
    return f"add what kubectl get {kind.lower()} {name} -o yaml prints"


def _data(resource: yaml.MappingNode) -> Iterator[tuple[str, yaml.ScalarNode]]:
    for key, node in resource.value:
        if key.value in ("data", "stringData") and isinstance(node, yaml.MappingNode):
            yield from ((name.value, value) for name, value in node.value if isinstance(value, yaml.ScalarNode))


def _decode(resource: yaml.MappingNode, name: str | None) -> None:
    """Decode the base64 texts under a name; other texts stay as they are."""
    for key, node in resource.value:
        if key.value != name or not isinstance(node, yaml.MappingNode):
            continue
        for _, value in node.value:
            with suppress(ValueError):  # of base64, and of UTF-8
                value.value = b64decode("".join(value.value.split()), validate=True).decode("utf-8")
