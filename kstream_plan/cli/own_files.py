"""Which files that are there already may be replaced: those that this tool wrote, and of the same sort."""

from __future__ import annotations

import json
import re
import sys
import zlib
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from kstream_plan.errors import KstreamPlanError
from kstream_plan.snapshots.files.content import unpacked

#: How a target file begins, or a ConfigMap with one: groups may follow it.
_OF_A_TARGET = re.compile(
    r"format=1\nplan=[0-9a-f]{12} | apiVersion:\ v1\nkind:\ ConfigMap\nmetadata:\n.*\n\ \ target\.properties:",
    re.DOTALL | re.VERBOSE,
)
#: How a report or a scenario begins that was written here; of a page only what follows is its own.
_OF_A_REPORT = re.compile(
    r"""<!DOCTYPE\ html>.*<body\ class="kp\b | <svg\b[^>]*\ class="kp" | <!--\ kstream-plan\b
    | ::(?:error|warning|notice)\b | <\?xml[^>]*>\s*<testsuites\ name="kstream-plan\b | \#\ restarts\ of\b""",
    re.DOTALL | re.VERBOSE,
)


class Sort(StrEnum):
    """What is written: files of one sort replace no others."""

    SNAPSHOT = "snapshot"
    ANSWER = "answer of this tool"
    TARGET = "target file"


def check_replaced(path: Path, place: str, sort: Sort) -> None:
    """Check that a file which is to be written replaces nothing but what this tool wrote, of the same sort."""
    if not path.is_file() or not path.stat().st_size:
        return
    if not any(_is_of(sort, read(path)) for read in (_first_line, _text)):
        message = f"is there already, and is no {sort}: it is not replaced"
        raise KstreamPlanError(message, where=place, fix="name another file, or move this one away")


def _is_of(sort: Sort, text: str) -> bool:
    if sort is Sort.TARGET:
        return _OF_A_TARGET.match(text) is not None
    is_snapshot = sort is Sort.SNAPSHOT
    return _is_json(text, snapshots=is_snapshot) or (not is_snapshot and _OF_A_REPORT.match(text) is not None)


def _first_line(path: Path) -> str:
    """Return the first line of a file: of many plans it is one, and all of them are much; empty if it is no text."""
    with suppress(OSError, UnicodeDecodeError), path.open("rb") as file:
        return file.readline().decode("utf-8-sig").lstrip()
    return ""


def _text(path: Path) -> str:
    """Return the text of a file, unzipped; empty if it is none."""
    with suppress(OSError, EOFError, zlib.error, UnicodeDecodeError):
        return unpacked(path.read_bytes(), sys.maxsize).decode("utf-8-sig").lstrip()
    return ""


def _is_json(text: str, *, snapshots: bool) -> bool:
    first = _first(text)
    kind = first.get("kind")
    if snapshots:
        return kind is None and "application_id" in first and "instances" in first
    return isinstance(kind, str) and "format_version" in first


def _first(text: str) -> dict[str, Any]:
    """Return the first document of a JSON text; empty if it has none."""
    with suppress(ValueError, RecursionError):
        value, _ = json.JSONDecoder().raw_decode(text)
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, dict) else {}
    return {}
