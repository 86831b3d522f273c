"""What people save of Connect's REST interface, or of Strimzi's resources → statuses by the names of connectors.

It is JSON or YAML, as a terminal, ``curl``, a page or Python printed it. Whole is the answer to
``GET /connectors?expand=status&expand=info``, also as ``jq`` makes it of that: a list, pairs of
key and value, one document a connector. Without ``expand=info`` the tasks are those that have a status. Statuses one by
one, and those of ``KafkaConnector`` resources, are read if they are several: one alone is refused, as a plan needs all
connectors of the group. A ``KafkaMirrorMaker2`` resource has the statuses of all of its connectors.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import yaml

from kstream_plan.model import Note
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.files.content import decoded, uncoloured, unescaped
from kstream_plan.snapshots.rows.fields import FieldError, shown, wrong_type

#: The path of the request, below the address of the interface.
PATH = "/connectors?expand=status&expand=info"
FIX = f"save the answer to GET {PATH} as it is"

_CLUSTER = "strimzi.io/cluster"
_PARTS = ("status", "info")
#: Under these names others put an answer.
_WRAPPERS = ("connectors", "json", "body", "data", "content", "result", "response", "value")
#: What else is JSON of Connect's: names that it has, and what it then is.
_OTHERS = (
    ({"kafka_cluster_id", "version"}, "is the version of a worker"),
    ({"class", "version"}, "are the plugins of a worker"),
    ({"id", "worker_id", "state"}, "is the status of one task"),
    ({"id", "config"}, "are the tasks of one connector"),
)

_OPENS = r"(?=\{\s*[\"}]|\[\s*[\[{\"\]])"
_FIRST = re.compile(rf"^[ \t]*{_OPENS}", re.MULTILINE)
_NEXT = re.compile(rf"[\s,]*{_OPENS}")
#: What stands between documents is no part of one whose beginning is cut off.
_PART = re.compile(r"^[ \t]*(?:\"[^\"\n]*\"[ \t]*:|[}\]]+,?[ \t]*\r?$)", re.MULTILINE)
_FAILED = re.compile(r"^(?:< )?HTTP/[\d.]+ (?P<code>[345]\d\d)\b", re.MULTILINE)
_YAML = re.compile(r"\s*(?:---|(?:apiVersion|kind):|[\w\"'.-]+:[ \t]*\r?$)", re.MULTILINE)
_OF_HTML, _OF_PYTHON = re.compile(r"[\[{]\s*&(?:quot|#34);"), re.compile(r"[\[{]\s*(?:\{\s*)?'")
_MOST_BYTES_OF_YAML = 1 << 24
_DECODER = json.JSONDecoder()


class SavedForm(NamedTuple):
    """Statuses (and infos, if requested) by the names of connectors, and notes on what the form leaves out."""

    connectors: Mapping[str, Any]
    notes: tuple[Note, ...] = ()


class _Piece(NamedTuple):
    """The status or the info of one connector.

    name: of the connector.
    part: ``status`` or ``info``.
    value: as it was answered.
    is_of_all: whether it is from an answer that has all of the group.
    cluster: the Connect cluster that a resource of Kubernetes is of, ``None``: it does not say.
    """

    name: str
    part: str
    value: Mapping[str, Any]
    is_of_all: bool = False
    cluster: object = None


def read_saved_form(content: bytes) -> SavedForm:
    """Read a saved status.

    Raises:
        FieldError: it is cut off, or no plan can be made from it; the error names what it is.
    """
    documents = documents_of(content, FIX)
    if len(documents) == 1 and documents[0] in ({}, []):
        raise FieldError("", "holds no connector", "create one first")
    by_document = [list(_pieces(document)) for document in documents]
    answers = {frozenset(piece.name for piece in pieces) for pieces in by_document if all(p.is_of_all for p in pieces)}
    if len(answers) > 1 and max(map(len, answers)) > 1:
        raise FieldError("", "has answers of several groups, or of several moments", "save one of them alone")
    pieces = [piece for pieces in by_document for piece in pieces]
    if len({piece.cluster for piece in pieces if piece.part == "status"}) > 1:
        raise FieldError("", "holds connectors of several Connect clusters", f"select one by its label {_CLUSTER}")
    connectors: dict[str, dict[str, Any]] = {}
    for piece in pieces:
        parts = connectors.setdefault(piece.name, {})
        if parts.setdefault(piece.part, piece.value) != piece.value:
            problem = f"has two answers about {shown(piece.name)} that differ: they are of two moments"
            raise FieldError("", problem, "save one of them alone")
    is_of_all = all(piece.is_of_all for piece in pieces)
    _check(connectors, is_of_all=is_of_all)
    return SavedForm(connectors, tuple(_notes(connectors, is_of_all=is_of_all)))


def _check(connectors: Mapping[str, Mapping[str, Any]], *, is_of_all: bool) -> None:
    if not connectors:
        raise FieldError("", "holds no connector", "create one first")
    name = next(iter(connectors))
    if not is_of_all and len(connectors) < 2:
        if "status" in connectors[name]:
            problem = f"is the status of one connector, {shown(name)}: a plan needs all of the group"
        else:
            problem = f"is the configuration of {shown(name)}, without where it runs"
        raise FieldError("", problem, FIX)
    has_info = any("info" in parts for parts in connectors.values())
    for name, parts in connectors.items():
        for part in _PARTS:
            if not isinstance(parts.get(part), Mapping) and (part == "status" or has_info):
                raise FieldError(f"{shown(name)}: {part}", f"is missing: it was asked for without expand={part}", FIX)


def _notes(connectors: Mapping[str, Mapping[str, Any]], *, is_of_all: bool) -> Iterator[Note]:
    has_info = all("info" in parts for parts in connectors.values())
    if is_of_all and not has_info:
        message = (
            "it was asked for without expand=info: the tasks are those that have a status, and one without, or one "
            "that is no longer configured, counts wrongly"
        )
        yield Note("tasks-by-status", message)
    elif not is_of_all:
        tasks = "" if has_info else ", and tasks without a status,"
        message = (
            f"these are statuses of {len(connectors)} connectors, taken one by one: others of the group{tasks} are "
            f"missing in the plan. GET {PATH} has all"
        )
        yield Note("connectors-by-status", message)


def _pieces(document: Any) -> Iterator[_Piece]:
    """Yield the pieces of a document about connectors.

    Raises:
        FieldError: it is something else.
    """
    if isinstance(document, list):
        pieces = [piece for item in document for piece in _pieces(item)]
        is_list_of_answer = all(isinstance(item, Mapping) and item.keys() & {"info", "key"} for item in document)
        yield from (piece._replace(is_of_all=piece.is_of_all or is_list_of_answer) for piece in pieces)
        return
    if isinstance(document, str):
        raise FieldError("", "lists names only: it was asked for without expand=status&expand=info", FIX)
    if not isinstance(document, Mapping):
        raise wrong_type("it", document, "an object of connectors", FIX)
    if "error_code" in document and "message" in document:
        raise FieldError("", f"is an error: {shown(document['message'])}", "ask again")
    if "apiVersion" in document and "kind" in document:
        yield from _of_kubernetes(document)
    elif (piece := _one_piece(document)) is not None:
        yield piece
    elif (pair := _pair(document)) is not None:
        yield from pair
    else:
        yield from _of_names(document)


def _one_piece(document: Mapping[str, Any]) -> _Piece | None:
    """Return a status or an info that stands alone."""
    name = document.get("name")
    if not isinstance(name, str) or "tasks" not in document:
        return None
    if isinstance(document.get("connector"), Mapping):
        return _Piece(name, "status", document)
    return _Piece(name, "info", document) if isinstance(document.get("config"), Mapping) else None


def _pair(document: Mapping[str, Any]) -> list[_Piece] | None:
    """Return status and info of one connector, which tell its name themselves."""
    parts = {part: document[part] for part in _PARTS if isinstance(document.get(part), Mapping)}
    if "key" in document and isinstance(document.get("value"), Mapping):
        return list(_of_names({str(document["key"]): document["value"]}))
    pieces = [_one_piece(value) for value in parts.values()]
    return [piece for piece in pieces if piece is not None] if pieces and None not in pieces else None


def _of_names(document: Mapping[str, Any]) -> Iterator[_Piece]:
    """Yield the pieces of a status, by the names of connectors."""
    for name, value in document.items():
        if isinstance(value, Mapping) and (piece := _one_piece(value)) is not None and piece.name == name:
            yield piece._replace(is_of_all=True)
        elif isinstance(value, Mapping) and value.keys() & set(_PARTS):
            yield from (_Piece(str(name), part, value[part], is_of_all=True) for part in _PARTS if part in value)
        else:
            break
    else:
        return
    wrapped = next((document[name] for name in _WRAPPERS if isinstance(document.get(name), Mapping | list)), None)
    if wrapped:
        yield from _pieces(wrapped)
        return
    for names, problem in _OTHERS:
        if names <= document.keys():
            raise FieldError("", problem, FIX)
    has = name_list(sorted(map(shown, document)), 1)
    raise FieldError("", f"is JSON of something else, not a status: it has {has}", FIX)


def _of_kubernetes(resource: Mapping[str, Any]) -> Iterator[_Piece]:
    """Yield the statuses of ``KafkaConnector`` or ``KafkaMirrorMaker2`` resources."""
    items = resource.get("items")
    resources = items if isinstance(items, list) else [resource]
    if all(isinstance(item, Mapping) and item.get("kind") == "KafkaMirrorMaker2" for item in resources):
        yield from (piece for item in resources for piece in _of_mirror_maker(item))
        return
    for item in resources:
        if not isinstance(item, Mapping) or item.get("kind") != "KafkaConnector":
            kind = shown(item.get("kind")) if isinstance(item, Mapping) else "something else"
            raise FieldError("", f"holds {kind}, neither a status of a connector nor a KafkaConnector", FIX)
    for item in resources:
        status = item.get("status")
        inner = status.get("connectorStatus") if isinstance(status, Mapping) else None
        piece = _one_piece(inner) if isinstance(inner, Mapping) else None
        if piece is None or piece.part != "status":
            raise FieldError("", "is a KafkaConnector without status.connectorStatus: it has not been started", FIX)
        metadata = item.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
        yield piece._replace(cluster=str(labels.get(_CLUSTER)) if isinstance(labels, Mapping) else None)


def _of_mirror_maker(resource: Mapping[str, Any]) -> Iterator[_Piece]:
    """Yield the statuses of all connectors of a ``KafkaMirrorMaker2`` resource, as REST has answered them."""
    status, metadata = resource.get("status"), resource.get("metadata")
    connectors = status.get("connectors") if isinstance(status, Mapping) else None
    pieces = [_one_piece(connector) for connector in connectors or () if isinstance(connector, Mapping)]
    if not pieces or not all(piece is not None and piece.part == "status" for piece in pieces):
        raise FieldError("", "is a KafkaMirrorMaker2 without status.connectors: it has not been started", FIX)
    cluster = str(metadata.get("name")) if isinstance(metadata, Mapping) else None
    yield from (piece._replace(is_of_all=True, cluster=cluster) for piece in pieces if piece is not None)


def documents_of(content: bytes, fix: str) -> list[Any]:
    """Return all documents, one after the other; there is at least one.

    Raises:
        FieldError: a document is cut off, or there is none; ``fix`` is what to save instead.
    """
    try:
        text = _plain(uncoloured(decoded(content)).strip())
    except UnicodeDecodeError:
        raise FieldError("", "is no UTF-8", fix) from None
    if not text:
        raise FieldError("", "is empty", fix)
    documents = _of_yaml(text, fix) if _YAML.match(text) else list(_of_json(text, fix))
    if not documents:
        code = max((match["code"] for match in _FAILED.finditer(text)), default="")
        problem = f"is an HTTP answer with code {code}, not a status" if code else "is cut off, or no JSON"
        raise FieldError("", problem, "ask again, or another worker" if code else fix)
    return documents


def _plain(text: str) -> str:
    """Return a text without the signs of HTML, if all of it has them; what Python printed of a document as JSON."""
    if '"' not in text and _OF_HTML.search(text):
        return unescaped(text)
    if _OF_PYTHON.match(text):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return json.dumps(literal_eval(text))
    return text


def _of_json(text: str, fix: str) -> Iterator[Any]:
    position, match = 0, _FIRST.search(text)
    while match is not None:
        _check_between(text[position : match.start()], fix)
        try:
            document, position = _DECODER.raw_decode(text, match.end())
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise FieldError("", f"is cut off, or no JSON: {place}", fix) from None
        except (ValueError, RecursionError):
            raise FieldError("", "is cut off, or no JSON: it is too deep", fix) from None
        yield document
        match = _NEXT.match(text, position) or _FIRST.search(text, position)
    _check_between(text[position:], fix)


def _check_between(text: str, fix: str) -> None:
    if _PART.search(text):
        raise FieldError("", "is cut off: a document has no beginning", fix)


def _of_yaml(text: str, fix: str) -> list[Any]:
    if len(text) > _MOST_BYTES_OF_YAML:
        raise FieldError("", "is more YAML than is read", "save it as JSON")
    try:
        return [document for document in yaml.safe_load_all(text) if document is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise FieldError("", f"is cut off, or no YAML: line {line}", fix) from None
