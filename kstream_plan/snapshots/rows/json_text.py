"""JSON text → plain Python values, in which no object has a name twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.rows.fields import Row, kind, printable


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
