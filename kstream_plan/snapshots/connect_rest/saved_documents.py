"""From a saved text to its documents, JSON or YAML, as a terminal, ``curl``, a page or Python printed them."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml

from kstream_plan.snapshots.files.content import decoded, uncoloured, unescaped
from kstream_plan.snapshots.rows.fields import FieldError

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
