"""Expected errors: what went wrong, where, and how to fix it, with the exit code of the command line.

A bug is anything else and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

#: A longer text is not read; a value of a damaged file may have megabytes.
_MOST_CHARACTERS = 1_000


def _in_short(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    half = _MOST_CHARACTERS // 2
    return f"{text[:half]} […] {text[-half:]}"


class KstreamPlanError(Exception):
    """An expected error; the command line prints it in one piece on stderr and exits with ``exit_code``.

    Args:
        what: what is wrong, one sentence without a full stop.
        where: the place (file, application, field, line), or empty if there is none.
        fix: what the reader can do about it, or empty if ``what`` says it already.
        application_id: the application it is about, ``None`` if that is unknown or it is about no single one.

    Of a file with several mistakes it is the first, and ``also`` are the others (:func:`merge_errors`).
    """

    exit_code = 1
    also: tuple[KstreamPlanError, ...] = ()

    def __init__(self, what: str, *, where: str = "", fix: str = "", application_id: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix
        self.application_id = application_id

    def __str__(self) -> str:
        text = _in_short(self.what)
        head = f"{self.where}: {text}" if self.where else text
        return f"{head}. Fix: {self.fix}" if self.fix else head

    def came_up_in(self, application_id: str) -> None:
        """Keep the application that was worked on, and name it in the place unless the error does already."""
        if self.application_id is not None:
            return
        self.application_id = application_id
        if repr(application_id) not in f"{self.where} {self.what}":
            application = f"application {application_id!r}"
            self.where = f"{application}, {self.where}" if self.where else application


def merge_errors(errors: Sequence[KstreamPlanError]) -> KstreamPlanError:
    """Return the first of these errors, with all the others, and those in their ``also``, in its ``also``."""
    first, *other_errors = chain.from_iterable((error, *error.also) for error in errors)
    for other_error in other_errors:
        other_error.also = ()
    first.also = tuple(other_errors)
    return first


class SnapshotError(KstreamPlanError):
    """A snapshot or a lag row cannot be read or contradicts itself (page ``snapshots``)."""


class ConfigError(KstreamPlanError):
    """A configuration value is missing, of the wrong type or out of range."""


class ScenarioError(KstreamPlanError):
    """A scenario cannot be read, or an event in it does not fit what is there then."""


class NoSuchInstanceError(ScenarioError):
    """No instance of the group has that name."""


class PlanFileError(KstreamPlanError):
    """A saved plan cannot be read, or is of another major version."""


class SparkError(KstreamPlanError):
    """Spark or its Java runtime cannot be started or gave up."""


class UsageError(KstreamPlanError):
    """Options that contradict each other."""

    exit_code = 2


class PlanInvariantError(KstreamPlanError):
    """A plan broke one of its own invariants: a defect of this tool, never of the input."""


class ClusterError(KstreamPlanError):
    """A Kafka cluster cannot be reached, or does not allow or cannot answer a request."""
