"""Whether a file that was taken for a snapshot is plainly a log."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kstream_plan.snapshots.files.sources import OF_A_WORKER
from kstream_plan.snapshots.leader_log.envelope import starts_a_record
from kstream_plan.snapshots.leader_log.log_fields import TEXT_FIELDS, TIME_FIELDS
from kstream_plan.snapshots.leader_log.messages import is_marked

_LINES = 5


def is_a_log(head: bytes) -> bool:
    """Tell from the beginning of a file: it has a message of an assignor, or its first lines are records of a log."""
    text = head.decode("utf-8", "replace")
    if is_marked(text) or OF_A_WORKER in head:
        return True
    return any(_is_record(line) for line in text[:4096].splitlines()[:_LINES])


def _is_record(line: str) -> bool:
    if not line.startswith("{"):
        return starts_a_record(line)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    names = {name.lower() for name in row} if isinstance(row, Mapping) else set()
    return not names.isdisjoint(TEXT_FIELDS) and not names.isdisjoint(TIME_FIELDS)
