"""Files of another kind: what a file is that was passed where another one belongs, and where it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from kstream_plan.errors import KstreamPlanError

_Error = TypeVar("_Error", bound=KstreamPlanError)


class FileKind(NamedTuple):
    """A kind of file.

    name: with its article, as in ``a policy``.
    fix: how a file of this kind is passed.
    """

    name: str
    fix: str


SAVED_PLAN = FileKind("a saved plan", "pass it to kstream-plan show, check, compare or diff")
SNAPSHOT = FileKind("a snapshot", "pass it as the first argument")
POLICY = FileKind("a policy", "pass it with --policy, to check or compare")
SCENARIO = FileKind("a scenario", "pass it with --scenario, or to simulate after a snapshot")

_JSON = re.compile(rb"\s*[\[{]")
_LINES = (
    (rb"^(?:defaults|waivers):", POLICY),
    (rb"^events:", SCENARIO),
    (rb"^ *Sub-topology: ", FileKind("a topology", "pass it with --topology")),
    (rb"^# (?:HELP|TYPE) ", FileKind("a text of metrics", "pass it with --metrics")),
    (
        rb"^(?:application\.id|num\.standby\.replicas|max\.warmup\.replicas) *[=:]",
        FileKind("a file of settings", "pass it with --streams-config"),
    ),
    (
        rb"^.{0,80}?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*\b(?:INFO|WARN|ERROR|DEBUG)\b",
        FileKind("a log", "make a snapshot of it with kstream-plan snapshot --leader-log"),
    ),
)
_PATTERNS = tuple((re.compile(pattern, re.MULTILINE), kind) for pattern, kind in _LINES)
_KIND_OF_PLAN = re.compile(rb'"kind": ?"plan"')


def file_kind(text: bytes) -> FileKind | None:
    """Return the kind of file that begins like this text, ``None`` if it is none that is known."""
    if _JSON.match(text):
        if _KIND_OF_PLAN.search(text):
            return SAVED_PLAN
        return SNAPSHOT if b'"application_id"' in text and b'"instances"' in text else None
    return next((kind for pattern, kind in _PATTERNS if pattern.search(text)), None)


@contextmanager
def naming_other_kinds(text: bytes, wanted: str, where: str) -> Iterator[None]:
    """Let an error say instead that the file is of another kind than ``wanted``, if it is."""
    try:
        yield
    except KstreamPlanError as error:
        kind = file_kind(text)
        if kind is None or kind.name == wanted:
            raise
        raise other_kind(kind, wanted, where, type(error)) from None


def other_kind(kind: FileKind, wanted: str, where: str, error: type[_Error]) -> _Error:
    """Return the error that a file is of this kind, and not of the one that is wanted."""
    return error(f"this is {kind.name}, not {wanted}", where=where, fix=kind.fix)
