"""Files that cannot be read at all, and files of another kind: what a file is, and where it belongs."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from kstream_plan.errors import KstreamPlanError, SnapshotError
from kstream_plan.snapshots.files.content import GZIP_MAGIC
from kstream_plan.snapshots.rows.fields import printable

#: How many bytes of a file are read to recognize its kind.
HEAD_BYTES = 1 << 20

_Error = TypeVar("_Error", bound=KstreamPlanError)


class BrokenFileError(SnapshotError):
    """A file that cannot be read at all; ``name`` is its name as people know it."""

    def __init__(self, name: str, problem: str, fix: str) -> None:
        super().__init__(problem, where=printable(name), fix=fix)
        self.name = name


class Head(NamedTuple):
    """The beginning of a file, unzipped, and whether it was zipped."""

    content: bytes
    zipped: bool


def unreadable(name: str, error: OSError, fix: str = "check the file") -> BrokenFileError:
    """Return the error for a file, or a folder, that the system does not let us read."""
    return BrokenFileError(name, f"cannot be read: {error.strerror or error}", fix)


def unzipped_head(head: bytes, name: str) -> Head:
    """Unzip the beginning of a file if it is zipped.

    Raises:
        BrokenFileError: it begins like gzip, but is not.
    """
    if not head.startswith(GZIP_MAGIC):
        return Head(head, zipped=False)
    unzipper = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = unzipper.decompress(head, HEAD_BYTES)
    except zlib.error as error:
        raise broken_gzip(name, str(error)) from None
    if len(head) < HEAD_BYTES and not (unzipper.eof or unzipper.unconsumed_tail):
        raise broken_gzip(name, "it ends too early")
    return Head(content, zipped=True)


def broken_gzip(name: str, reason: str) -> BrokenFileError:
    """Return the error for a gzip file that ends too early or holds something else."""
    problem = f"is a damaged gzip file ({printable(reason)})"
    return BrokenFileError(name, problem, "copy it again, it was probably cut short")


class FileKind(NamedTuple):
    """A kind of file.

    name: with its article, as in ``a policy``.
    fix: how a file of this kind is passed.
    """

    name: str
    fix: str


SAVED_PLAN = FileKind("a saved plan", "pass it to kstream-plan show, check, compare or diff")
SNAPSHOT = FileKind("a snapshot", "pass it first, as in kstream-plan assign FILE")
POLICY = FileKind("a policy", "pass it with --policy, to check or compare")
SETTINGS = FileKind("a file of settings", "pass it with --streams-config")
SCENARIO = FileKind("a scenario", "pass it with --scenario, or to simulate after a snapshot")

#: What a snapshot is made of.
STREAMS_TABLE = FileKind("a table of kafka-streams-groups.sh", "make a snapshot of it: kstream-plan snapshot FILE")
CONNECT_STATUS = FileKind("a status of Kafka Connect", "make a snapshot of it: kstream-plan snapshot FILE")

_HELM = "pass what the chart makes of it: helm template CHART -f FILE > settings.yaml"
HELM_TEMPLATE = FileKind("a template of Helm", _HELM)

_AN_UPLOAD = "save the text itself, and pass that"
#: Each kind by how its text begins, or by a line of it; the first that fits counts.
_LINES = (
    (rb"\APK\x03\x04", FileKind("a zip archive", "unpack it, and pass the file that is in it")),
    (
        rb"\A(?:BZh\d|\xfd7zXZ\0|\(\xb5/\xfd|7z\xbc\xaf|Rar!)",
        FileKind("an archive that is not gzip", "unpack it, and pass the file that is in it"),
    ),
    (rb"\A%PDF-", FileKind("a PDF", _AN_UPLOAD)),
    (
        rb"\A\s*<(?i:!doctype html|html|head)\b",
        FileKind("a page of HTML", "fetch it again: curl -f fails where a page of an error or of a login answers"),
    ),
    (rb"\{\{-? *(?:\.Values|include |toYaml |range |if |with )", HELM_TEMPLATE),
    (rb"\A(?!\xff\xfe|\xfe\xff|PAR1)[^\n]{0,1000}\0", FileKind("a binary file", _AN_UPLOAD)),
    (
        rb"^(?:Full thread dump |\"[^\"\n]+\" #\d+ .{0,80}prio=\d)",
        FileKind("a thread dump", "give the instance's log instead: kstream-plan snapshot FILE"),
    ),
    (
        rb"^.{0,80}\bGROUP[\"*`]*[ |,;\t].*\b(?:CONSUMER-ID|ASSIGNMENT-STRATEGY|LAG)\b(?<!OFFSET-LAG)",
        FileKind(
            "a table of kafka-consumer-groups.sh",
            "it has no tasks: make a snapshot of logs (snapshot FILE) or of the brokers (--bootstrap-server, --group)",
        ),
    ),
    (
        rb"^.{0,80}\bGROUP[\"*`]*[ |,;\t].*\b(?:MEMBER|COORDINATOR|OFFSET-LAG)\b",
        STREAMS_TABLE,
    ),
    (
        rb"^.{0,80}?\bTopic: ?\S+\s+(?:TopicId: \S+\s+)?PartitionCount: ?\d",
        FileKind(
            "a description of topics by kafka-topics.sh",
            "it has no group: make a snapshot of logs (snapshot FILE) or of the brokers (--bootstrap-server, --group)",
        ),
    ),
    (
        rb"\A(?:NAMESPACE +)?NAME +(?:READY|STATUS|DATA|TYPE|DESIRED|CLUSTER)\b",
        FileKind(
            "a list of kubectl",
            "save what it lists: kubectl logs POD for a log, kubectl get configmap NAME -o yaml for settings",
        ),
    ),
    (rb"\A[\w.-]+:\d+:\d+\s*$", FileKind("a file of offsets", "pass it with --metrics, beside metrics")),
    (rb"^(?:defaults|waivers):", POLICY),
    (rb"^events:", SCENARIO),
    (rb"^ *Sub-topology: ", FileKind("a topology", "pass it with --topology")),
    (rb"^# (?:HELP|TYPE) ", FileKind("a text of metrics", "pass it with --metrics")),
    (
        rb"^ *(?:[\w.-]{1,100}\.)?(?:application[.-]id|num\.standby\.replicas|max\.warmup\.replicas) *[=:]",
        SETTINGS,
    ),
    (
        rb"^.{0,80}?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*\b(?:INFO|WARN|ERROR|DEBUG)\b",
        FileKind("a log", "make a snapshot of it: kstream-plan snapshot FILE"),
    ),
    (
        rb"\A(?:---\s+)?apiVersion: ",
        FileKind("a resource of Kubernetes", "if it holds the settings, pass it with --streams-config"),
    ),
    (
        rb"^replicaCount: |^image:\s*\n +repository:",
        FileKind("a file of Helm's values", _HELM),
    ),
)
_JSON = re.compile(rb"\s*[\[{]")
_KIND_OF_PLAN = re.compile(rb'"kind": ?"plan"')
RESOURCE = next(kind for _, kind in _LINES if kind.name == "a resource of Kubernetes")
_HEAD_BYTES = 1 << 16


def file_kind(text: bytes) -> FileKind | None:
    """Return the kind of file that begins like this text, ``None``: unknown."""
    if not _JSON.match(text):
        return next((kind for pattern, kind in _LINES if re.search(pattern, text, re.MULTILINE)), None)
    if _KIND_OF_PLAN.search(text):
        return SAVED_PLAN
    if b'"application_id"' in text and b'"instances"' in text:
        return SNAPSHOT
    if b'"worker_id"' in text and b'"tasks"' in text:
        return CONNECT_STATUS
    return RESOURCE if b'"apiVersion"' in text and b'"kind"' in text else None


def named_as_it_is(error: _Error, kind: FileKind | None, *required_kinds: str) -> _Error:
    """Return the error, or one that names the kind of its file if it is none of the required kinds."""
    if kind is None or kind.name in required_kinds:
        return error
    return other_kind(kind, required_kinds[0], error.where.partition(", line ")[0], type(error))


@contextmanager
def naming_other_kinds(text: bytes, required_kind: str, place: str) -> Iterator[None]:
    """Replace an error by one that names the kind of the file, if it is not the required kind."""
    try:
        yield
    except KstreamPlanError as error:
        if (kind := file_kind(text)) is None or kind.name == required_kind:
            raise
        raise other_kind(kind, required_kind, place, type(error)) from None


@contextmanager
def naming_its_file(*required_kinds: str, among: Collection[str] | None = None) -> Iterator[None]:
    """Replace an error by one that names the kind of its file, if it is none of the required kinds.

    Errors about other files than those in ``among`` stay as they are.
    """
    try:
        yield
    except KstreamPlanError as error:
        path = error.where.partition(", line ")[0].removeprefix("--topology ")
        is_meant = (among is None or path in among) and os.path.isfile(path)
        head = _head(path) if is_meant else b""
        kind = file_kind(head)
        may_be_wanted = any(
            kind.name in required_kinds and re.search(pattern, head, re.MULTILINE) for pattern, kind in _LINES
        )
        if kind is None or kind.name in required_kinds or may_be_wanted:
            raise
        raise other_kind(kind, required_kinds[0], path, type(error)) from None


def _head(path: str) -> bytes:
    """Return how a file begins, unzipped; nothing of what cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _HEAD_BYTES)
    except (OSError, zlib.error):
        return b""
    return head


def other_kind(kind: FileKind, required_kind: str, place: str, error: type[_Error]) -> _Error:
    """Return the error about a file of this kind, where another kind is required."""
    return error(f"this is {kind.name}, not {required_kind}", where=place, fix=kind.fix)
