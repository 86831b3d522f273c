"""Why a target file does not count, and an application's own assignor decides without it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Why a file does not count, by code, in the order in which the class looks.
REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "no-file": "it cannot be read",
        "too-large": "it is larger than 1 MiB",
        "not-utf-8": "it is not UTF-8",
        "syntax": "a line is not KEY=VALUE",
        "duplicate-key": "a key is there twice",
        "truncated": "it was cut off: its last key is not the number of keys before it",
        "format": "it is not of format 1",
        "missing-key": "a key is missing",
        "unknown-key": "it has a key that is not known",
        "bad-value": "a value is not what its key takes",
        "application": "it is for another application",
        "expired": "it has expired",
        "placed-twice": "it puts a task on two slots",
        "tasks": "it does not place the tasks that the group has: the topology or its partitions have changed",
        "bad-standby": "a standby is listed twice, stands beside its active task, or is of a stateless task",
        "bad-order": "its order names a task twice, or one that is stateless",
        "more-members": "the group has more instances than the file has slots",
    }
)

#: The code of an application without a target file.
NO_FILE = "no-file"
