"""What people save of Connect's REST interface, or of Strimzi's resources → statuses by the names of connectors.

Whole is the answer to ``GET /connectors?expand=status&expand=info``; without ``expand=info`` the tasks are those that
have a status. Statuses one by one, and those of ``KafkaConnector`` resources, are read if they are several: one alone
is refused, as a plan needs all connectors of the group.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kstream_plan.model import Note
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.rows.fields import FieldError, shown, wrong_type

#: What is asked for, below the address of the interface.
PATH = "/connectors?expand=status&expand=info"
FIX = f"save the answer to GET {PATH} as it is"

#: Headers that ``curl -i`` writes before an answer.
_HEADERS = re.compile(rb"HTTP/[\d.]+ (?P<code>\d{3})[^\n]*\n(?:[^\s:][^\n]*\n)*\r?\n")
_DECODER = json.JSONDecoder()
_CLUSTER = "strimzi.io/cluster"


class SavedForm(NamedTuple):
    """Statuses (and, where it was asked for, infos) by the names of connectors, and what the form does not tell."""

    connectors: Mapping[str, Any]
    notes: tuple[Note, ...] = ()


def read_saved_form(content: bytes) -> SavedForm:
    """Read what was saved.

    Raises:
        FieldError: it is cut off, or something that a plan cannot be made from; the error names it.
    """
    documents = list(_documents(_without_headers(content)))
    first = documents[0]
    if len(documents) == 1 and isinstance(first, Mapping) and not _is_fragment(first):
        return _whole(first)
    fragments = first if len(documents) == 1 and isinstance(first, list) else documents
    return _of_fragments([fragment for document in fragments for fragment in _items(document)])


def _without_headers(content: bytes) -> bytes:
    while (match := _HEADERS.match(content)) is not None:
        content = content[match.end() :]
        if match["code"][:1] in b"345" and not content.lstrip().startswith(b"{"):
            code = match["code"].decode()
            raise FieldError("", f"is an HTTP answer with code {code}, not a status", "ask again, or another worker")
    return content


def _documents(content: bytes) -> Iterator[Any]:
    """Yield the JSON documents in a text, one after the other."""
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise FieldError("", "is no UTF-8", FIX) from None
    if not text:
        raise FieldError("", "is empty", FIX)
    if text.startswith(("apiVersion:", "---")):
        raise FieldError("", "is YAML of Kubernetes", "save it as JSON: kubectl get kafkaconnectors -o json")
    at = 0
    while at < len(text):
        try:
            document, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise FieldError("", f"is cut off, or no JSON: {where}", FIX) from None
        except (ValueError, RecursionError):
            raise FieldError("", "is cut off, or no JSON: it is too deep", FIX) from None
        yield document
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1


def _is_fragment(document: Any) -> bool:
    """Tell whether this is one status, one info, or a resource of Kubernetes."""
    if not isinstance(document, Mapping):
        return True
    return _is_status(document) or _is_info(document) or ("apiVersion" in document and "kind" in document)


def _is_status(of: Mapping[str, Any]) -> bool:
    return isinstance(of.get("name"), str) and isinstance(of.get("connector"), Mapping) and "tasks" in of


def _is_info(of: Mapping[str, Any]) -> bool:
    return isinstance(of.get("name"), str) and isinstance(of.get("config"), Mapping) and "tasks" in of


def _whole(answer: Mapping[str, Any]) -> SavedForm:
    if "error_code" in answer and "message" in answer:
        raise FieldError("", f"is an error: {shown(answer['message'])}", "ask again")
    if not answer:
        raise FieldError("", "holds no connector", "create one first")
    if all(isinstance(of, Mapping) and "status" in of and "info" not in of for of in answer.values()):
        message = (
            "it was asked for without expand=info: the tasks are those that have a status, and one without, or one "
            "that is no longer configured, counts wrongly"
        )
        return SavedForm(answer, (Note("tasks-by-status", message),))
    if not any(isinstance(of, Mapping) and of.keys() & {"info", "status"} for of in answer.values()):
        names = name_list(sorted(map(shown, answer)), 1)
        raise FieldError("", f"is JSON of something else, not a status: it has {names}", FIX)
    for name, of in answer.items():
        for part in ("info", "status"):
            if not isinstance(of, Mapping) or not isinstance(of.get(part), Mapping):
                raise FieldError(f"{shown(name)}: {part}", f"is missing: it was asked for without expand={part}", FIX)
    return SavedForm(answer)


def _items(document: Any) -> Iterator[Any]:
    """Yield what a list of Kubernetes holds, or the document itself."""
    if isinstance(document, Mapping) and isinstance(document.get("items"), list):
        yield from document["items"]
    else:
        yield document


def _of_fragments(fragments: list[Any]) -> SavedForm:
    if not fragments:
        raise FieldError("", "holds no connector", "create one first")
    for fragment in fragments:
        _refuse_other(fragment)
    clusters = {of["metadata"].get("labels", {}).get(_CLUSTER) for of in fragments if not _is_status(of)}
    if len(clusters) > 1:
        raise FieldError("", "holds connectors of several Connect clusters", f"select one by its label {_CLUSTER}")
    statuses = [of if _is_status(of) else of["status"]["connectorStatus"] for of in fragments]
    connectors = {status["name"]: {"status": status} for status in statuses}
    if len(connectors) < 2:
        what = f"is the status of one connector, {shown(statuses[0]['name'])}: a plan needs all of the group"
        raise FieldError("", what, FIX)
    message = (
        f"these are statuses of {len(connectors)} connectors, taken one by one: others of the group, and tasks without "
        f"a status, are missing in the plan. GET {PATH} has all"
    )
    return SavedForm(connectors, (Note("connectors-by-status", message),))


def _refuse_other(fragment: Any) -> None:
    """Refuse what is no status of a connector, by what it is."""
    if isinstance(fragment, str):
        raise FieldError("", "lists names only: it was asked for without expand=status&expand=info", FIX)
    if not isinstance(fragment, Mapping):
        raise wrong_type("it", fragment, "an object of connectors", FIX)
    kind = fragment.get("kind")
    if _is_status(fragment):
        return
    if _is_info(fragment):
        raise FieldError("", f"is the configuration of {shown(fragment['name'])}, without where it runs", FIX)
    if "id" in fragment and ("config" in fragment or "worker_id" in fragment):
        raise FieldError("", "are the tasks of one connector", FIX)
    if kind != "KafkaConnector":
        raise FieldError("", "holds neither a status of a connector nor a KafkaConnector", FIX)
    status = fragment.get("status")
    connector_status = status.get("connectorStatus") if isinstance(status, Mapping) else None
    if (
        not isinstance(fragment.get("metadata"), Mapping)
        or not isinstance(connector_status, Mapping)
        or not _is_status(connector_status)
    ):
        raise FieldError("", "is a KafkaConnector without status.connectorStatus: it has not been started", FIX)
