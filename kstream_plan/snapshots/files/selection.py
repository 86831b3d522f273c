"""Which rows of which applications are selected."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model.note import name_list
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows.fields import printable, shown, time_asked_for

#: One piece of a glob: a set of characters, a wildcard, or a character that stands for itself.
_GLOB_PIECE = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


class Selection(NamedTuple):
    """The snapshots to read.

    ``application_ids`` are globs (``*``, ``?``, ``[…]``; case counts), none of them meaning every application.
    ``as_of_us`` is the latest time that counts, in microseconds since 1970, ``None`` for no limit; a row without a
    time always counts.
    """

    application_ids: tuple[str, ...] = ()
    as_of_us: int | None = None

    def wants(self, application_id: str) -> bool:
        """Tell whether an application is selected."""
        return not self.application_ids or any(fnmatchcase(application_id, glob) for glob in self.application_ids)

    def unmatched_globs(self, found_ids: Collection[str]) -> list[str]:
        """Return the globs that match none of these application ids."""
        globs = dict.fromkeys(self.application_ids)
        return [glob for glob in globs if not any(fnmatchcase(application_id, glob) for application_id in found_ids)]

    def nothing_found(
        self, unmatched_globs: Sequence[str], known_ids: Sequence[str], files: Sequence[str]
    ) -> list[SnapshotError]:
        """Return the errors if globs match nothing, or the files hold no snapshot at all.

        Args:
            unmatched_globs: the globs that match nothing, see :meth:`unmatched_globs`.
            known_ids: the first few applications there are.
            files: the names of the files that were read.
        """
        time_limit = "" if self.as_of_us is None else f" at or before {format_time(self.as_of_us // 1000)}"
        if not unmatched_globs:
            fix = "check --as-of" if time_limit else "give a file with at least one snapshot in it"
            file_names = printable(name_list(files))
            return [SnapshotError(f"holds no snapshot{time_limit}", where=file_names or "the input", fix=fix)]
        fix = "check the input, it holds no application"
        if known_ids:
            fix = f"the input holds {', '.join(map(shown, known_ids))}"
        template = "no application matches {}" + (f" with a snapshot{time_limit}" if time_limit else "")
        return [SnapshotError(template.format(shown(glob)), fix=fix, application_id=glob) for glob in unmatched_globs]

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
