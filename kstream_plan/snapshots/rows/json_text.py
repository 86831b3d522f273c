"""JSON text → plain Python values, in which no object has a name twice; and whether it is a snapshot row at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.rows.fields import FieldError, Row, kind, printable

_READ_BY = "give its file to kstream-plan show, check or diff; or give the snapshot it was made from"
_READ_BY_NOBODY = "give the snapshot it was made from; kstream-plan schema {0} describes this one"
#: The kind of a written document → what it is, and what to do with it instead.
WRITTEN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "plan": ("a saved plan", _READ_BY),
        "result": ("a row of results", "give its folder to kstream-plan fleet, show, check or diff"),
        "diff": ("a comparison that kstream-plan diff wrote", _READ_BY_NOBODY.format("diff")),
        "upgrade": ("an upgrade that kstream-plan upgrade wrote", _READ_BY_NOBODY.format("upgrade")),
        "check": ("a report of kstream-plan check", _READ_BY_NOBODY.format("check")),
        "drain": ("an answer of kstream-plan drain", _READ_BY_NOBODY.format("drain")),
        "drain-workers": ("an answer of kstream-plan drain", _READ_BY_NOBODY.format("drain")),
    }
)

#: The columns by which a Parquet file of results is known.
COLUMNS_OF_RESULTS = frozenset({"kind", "outcome", "plan"})

_UTF8_MARK = b"\xef\xbb\xbf"
#: A text, with the colon behind it if it names a field; or where an object or a list begins or ends.
_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
#: Fields that stand before ``kind``, by which a document is known whose kind is too far behind to look for.
_FIRST_OF_A_PLAN = {b"assignor", b"assumptions"}
_OF_A_ROW = {b"captured_at", b"generation"}


def parse_json(text: str | bytes) -> Any:
    """Return what JSON stands for, as ``json.loads`` does.

    Raises:
        json.JSONDecodeError: it is not JSON.
        ValueError: a name is twice in one object: which one counts is unknown.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=object_of)


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these names and values.

    Raises:
        ValueError: a name occurs twice.
    """
    json_object = dict(pairs)
    if len(json_object) < len(pairs):
        names: set[str] = set()
        duplicate = next(name for name, _ in pairs if name in names or names.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {duplicate!r} is there twice in one object")
    return json_object


def parse_row(text: bytes, file: str) -> Row:
    """Read the JSON text of one row.

    Args:
        text: the text, in UTF-8.
        file: the file it is from.

    Raises:
        SnapshotError: it is not UTF-8, not JSON, or no object.
    """
    try:
        row = parse_json(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _error(file, f"is not UTF-8: {error.reason} at byte {error.start}", "save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise _not_json(file, error) from None
    except (ValueError, RecursionError) as error:
        raise _error(file, f"cannot be read as JSON: {printable(str(error))}", "give plain snapshot rows") from None
    if not isinstance(row, Mapping):
        raise _error(file, f"holds {kind(row)} where a snapshot row, an object, must be", "give objects")
    return row


def _not_json(file: str, error: json.JSONDecodeError) -> SnapshotError:
    place = (
        f"line {error.lineno} column {error.colno}" if "\n" in error.doc else f"character {error.pos + 1} of its line"
    )
    if error.msg == "Extra data":
        fix = "give one document per file, or JSON Lines: one row per line"
        return _error(file, f"goes on after the end of a JSON document ({place})", fix)
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return _error(file, f"ends in the middle of a row: {error.msg} ({place})", "copy or capture it again")
    return _error(file, f"is not JSON: {error.msg} ({place})", "give JSON, JSON Lines or Parquet")


def _error(file: str, problem: str, fix: str) -> SnapshotError:
    return SnapshotError(problem, where=printable(file), fix=fix)


def kind_of(head: bytes) -> str | None:
    """Return the kind of a JSON text, by its beginning.

    Args:
        head: the beginning, unzipped; of several documents or a list the first one counts.

    Returns:
        One of :data:`WRITTEN`; ``None`` if it is none of these, or unknown by its beginning.
    """
    text = head.removeprefix(_UTF8_MARK).lstrip()
    if text[:1] not in (b"{", b"["):
        return None
    outside = 1 if text.startswith(b"[") else 0
    depth, field, fields = 0, b"", set()
    for token in _TOKEN.finditer(text):
        name, is_field = token[1], token[2] is not None
        if name is None:
            depth += 1 if token[0] in (b"{", b"[") else -1
            if depth <= outside and token[0] == b"}":
                return None
        elif depth == outside + 1 and is_field:
            field = name
            fields.add(name)
            if fields >= _FIRST_OF_A_PLAN:
                return "plan"
            if name in _OF_A_ROW:
                return None
        elif depth == outside + 1 and field == b"kind":
            kind = name.decode("utf-8", "replace")
            return kind if kind in WRITTEN else None
    return None


def is_written(row: Row) -> bool:
    """Tell whether a row is one of the written documents."""
    kind = row.get("kind")
    return isinstance(kind, str) and kind in WRITTEN


def refuse_written(row: Row) -> None:
    """Refuse a row that is a document which this program writes.

    Raises:
        FieldError: it is one.
    """
    if is_written(row):
        description, fix = WRITTEN[row["kind"]]
        raise FieldError("", f"is {description}, not a snapshot", fix)
