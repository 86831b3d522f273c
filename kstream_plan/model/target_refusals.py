"""Why a target file does not count, and an application's own assignor decides without it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Refusal(NamedTuple):
    """Why a file does not count, and what mends that."""

    reason: str
    remedy: str = "write it anew with export-target"


#: Why a file does not count, by code, in the order in which the class looks.
REFUSALS: Mapping[str, Refusal] = MappingProxyType(
    {
        "no-file": Refusal("it cannot be read", "put it where kstream.plan.file says"),
        "too-large": Refusal("it is larger than 1 MiB"),
        "not-utf-8": Refusal("it is not UTF-8"),
        "syntax": Refusal("a line is not KEY=VALUE"),
        "duplicate-key": Refusal("a key is there twice"),
        "truncated": Refusal("it was cut off: its last key is not the number of keys before it"),
        "format": Refusal("it is not of format 1"),
        "missing-key": Refusal("a key is missing"),
        "unknown-key": Refusal("it has a key that is not known"),
        "bad-value": Refusal("a value is not what its key takes"),
        "application": Refusal("it is for another application", "export a plan of this application"),
        "expired": Refusal("it has expired", "export a plan of a new snapshot, or give a later --set expires.in"),
        "placed-twice": Refusal("it puts a task on two slots"),
        "tasks": Refusal(
            "it does not place the tasks that the group has: the topology or its partitions have changed",
            "export a plan of a new snapshot",
        ),
        "bad-standby": Refusal("a standby is listed twice, stands beside its active task, or is of a stateless task"),
        "bad-order": Refusal("its order names a task twice, or one that is stateless"),
        "more-members": Refusal(
            "the group has more instances than the file has slots", "export a plan with as many instances"
        ),
    }
)

#: The code of an application without a target file.
NO_FILE = "no-file"
