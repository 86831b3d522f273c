"""Which files that are there already may be replaced: those that this tool wrote, and of the same sort."""

from __future__ import annotations

import json
import re
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from kstream_plan.errors import KstreamPlanError
from kstream_plan.snapshots.files.content import unpacked

#: How a report or a scenario begins that was written here; of a page only what follows is its own.
_OF_A_REPORT = re.compile(
    r"""<!DOCTYPE\ html>.*<body\ class="kp\b | <svg\b[^>]*\ class="kp" | <!--\ kstream-plan\b
    | format=1\nplan=[0-9a-f]{12} | apiVersion:\ v1\nkind:\ ConfigMap\nmetadata:\n.*\n\ \ target\.properties:
    | ::(?:error|warning|notice)\b | <\?xml[^>]*>\s*<testsuites\ name="kstream-plan\b | \#\ restarts\ of\b""",
    re.DOTALL | re.VERBOSE,
)


def check_replaced(path: Path, place: str, *, snapshots: bool) -> None:
    """Check that a file which is to be written replaces nothing but what this tool wrote.

    Of JSON that is a snapshot where ``snapshots`` are written, else an answer: none of the two is lost to the other.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    text = _text(path)
    if not (_is_json(text, snapshots=snapshots) or (not snapshots and _OF_A_REPORT.match(text))):
        message = (
            f"is there already, and is no {'snapshot' if snapshots else 'answer of this tool'}: it is not replaced"
        )
        raise KstreamPlanError(message, where=place, fix="name another file, or move this one away")


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
