"""Which rows of which applications are meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model.note import name_list
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.times import time_asked_for

#: One piece of a glob: a set of characters, a wildcard, or a character that stands for itself.
_GLOB_PIECE = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


class Selection(NamedTuple):
    """What is to be read.

    ``application_ids`` are globs (``*``, ``?``, ``[…]``; case counts), none of them meaning every application.
    ``as_of_us`` is the latest time that counts, in microseconds since 1970, ``None`` for no limit; a row without a
    time always counts.
    """

    application_ids: tuple[str, ...] = ()
    as_of_us: int | None = None

    def wants(self, application_id: str) -> bool:
        """Tell whether an application is selected."""
        return not self.application_ids or any(fnmatchcase(application_id, glob) for glob in self.application_ids)

    def missing(self, found: Collection[str]) -> list[str]:
        """Return the globs that match none of the applications that were found."""
        globs = dict.fromkeys(self.application_ids)
        return [glob for glob in globs if not any(fnmatchcase(application_id, glob) for application_id in found)]

    def nothing_found(self, missing: Sequence[str], known: Sequence[str], files: Sequence[str]) -> list[SnapshotError]:
        """Return what to say if globs match nothing, or there is nothing at all.

        Args:
            missing: the globs that match nothing, see :meth:`missing`.
            known: the first few applications there are.
            files: the names of the files that were read.
        """
        at = "" if self.as_of_us is None else f" at or before {format_time(self.as_of_us // 1000)}"
        if not missing:
            fix = "check --as-of" if at else "give a file with at least one snapshot in it"
            where = printable(name_list(files))
            return [SnapshotError(f"holds no snapshot{at}", where=where or "the input", fix=fix)]
        fix = f"the input holds {', '.join(map(shown, known))}" if known else "check the input, it holds no application"
        what = "no application matches {}" if at == "" else f"no application matches {{}} with a snapshot{at}"
        return [SnapshotError(what.format(shown(glob)), fix=fix, application_id=glob) for glob in missing]

    @property
    def pattern(self) -> str | None:
        """A Java regular expression that matches every selected id and few others; ``None`` if all are selected."""
        if not self.application_ids:
            return None
        return "|".join(f"(?s:{_loose_pattern(glob)})" for glob in self.application_ids)


def selection(application_ids: Sequence[str], as_of: str | None) -> Selection:
    """Return what the options say.

    Raises:
        UsageError: ``as_of`` is no time.
    """
    return Selection(tuple(application_ids), None if as_of is None else time_asked_for(as_of, "--as-of"))


def _loose_pattern(glob: str) -> str:
    """Translate a glob; sets, which Java writes differently, become any character."""
    pieces = []
    for piece in _GLOB_PIECE.findall(glob):
        if piece == "*":
            pieces.append(".*")
        elif piece == "?" or len(piece) > 1:
            pieces.append(".")
        else:
            pieces.append(piece if piece.isascii() and piece.isalnum() else f"\\x{{{ord(piece):x}}}")
    return "".join(pieces)
