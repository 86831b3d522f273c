"""Which snapshot rows count: the newest of every selected application, and those before it that it is held against.

Given are all rows, or those that Spark has narrowed them to, which makes no difference: of every application the
:data:`MOST_ROWS` that sort last suffice, the unreadable ones among them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model.note import name_list
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows.fields import parse_time_us, printable, shown, time_asked_for
from kstream_plan.snapshots.rows.json_text import is_written
from kstream_plan.snapshots.rows.stalled_copies import LONG_ENOUGH_MS

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


#: How many rows of an application are compared: the newest, and those before it.
MOST_ROWS = 11

#: How much earlier than the newest a row has to be, in microseconds.
_EARLIER_BY_US = LONG_ENOUGH_MS * 1000

_BYTE_ORDER_MARK = "\ufeff"
_INTEGER = re.compile(r"\s*([+-]?\d+)\s*", re.ASCII)
_DECODER = json.JSONDecoder()
_BEFORE_ELEMENT = re.compile(r"\s*", re.ASCII)


class RowText(NamedTuple):
    """One row as JSON text in UTF-8, and the file it is from.

    ``config_as_text``: the values of ``config`` are text because the file has a map from text to text.
    """

    file: str
    text: bytes
    config_as_text: bool = False


class KeyedRow(NamedTuple):
    """A row with what decides whether it counts; ``application_id`` is ``None`` if it is unknown."""

    row: RowText
    application_id: str | None
    unreadable: bool
    at_us: int | None
    generation: int | None

    @property
    def age(self) -> tuple[bool, bool, int, bool, int]:
        """What sorts the newest row last; what cannot be read might be the newest."""
        return (
            self.unreadable,
            self.at_us is not None,
            self.at_us or 0,
            self.generation is not None,
            self.generation or 0,
        )


class NewestRow(NamedTuple):
    """A row that counts: its file, its application as it was keyed, its JSON text in UTF-8.

    ``older``: how many other rows of the application do not count; ``None``: unknown, counting takes another pass.
    ``earlier``: the texts of those of them with which it is compared, the latest first.
    """

    file: str
    application_id: str | None
    text: bytes
    config_as_text: bool = False
    older: int | None = None
    earlier: tuple[bytes, ...] = ()


def rows_of(document: RowText) -> Iterator[RowText]:
    """Take a whole file apart: the elements of an array, else the file as it stands; so what is no UTF-8."""
    try:
        text = document.text.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        yield document
        return
    try:
        elements = list(_elements(text)) if text.lstrip().startswith("[") else [text]
    except (ValueError, RecursionError):
        elements = [text]
    for element in elements:
        yield document._replace(text=element.encode("utf-8"))


def _elements(text: str) -> Iterator[str]:
    """Yield the elements of an array as they are written.

    Raises:
        ValueError: it is not a whole array.
    """
    index = _skipped(text, _skipped(text, 0) + 1)
    while text[index : index + 1] != "]":
        _, end = _DECODER.raw_decode(text, index)
        yield text[index:end]
        index = _skipped(text, end)
        if text[index : index + 1] == ",":
            index = _skipped(text, index + 1)
        elif text[index : index + 1] != "]":
            raise ValueError("neither a comma nor the end")
    if text[index + 1 :].strip():
        raise ValueError("it goes on")


def _skipped(text: str, index: int) -> int:
    match = _BEFORE_ELEMENT.match(text, index)
    assert match is not None
    return match.end()


def newest_rows(rows: Iterable[KeyedRow], selection: Selection) -> list[NewestRow]:
    """Return the newest row of every selected application; several if they are of the same time and generation.

    A row whose time or generation cannot be read comes before every other: it might be the newest. So does one that is
    no snapshot but a document that this tool has written. Of the rows without a readable application one per file is
    returned.
    """
    nameless: dict[str, KeyedRow] = {}
    rows_by_application: dict[str, list[KeyedRow]] = defaultdict(list)
    for keyed in rows:
        if keyed.application_id is None:
            newest_nameless = nameless.get(keyed.row.file)
            if newest_nameless is None or (keyed.age, newest_nameless.row.text) > (newest_nameless.age, keyed.row.text):
                nameless[keyed.row.file] = keyed
        elif _counts(keyed, selection):
            rows_by_application[keyed.application_id].append(keyed)
    return [
        *(_newest_row(keyed, (), 0) for keyed in nameless.values()),
        *(newest for application_rows in rows_by_application.values() for newest in _newest(application_rows)),
    ]


def _newest(rows: Sequence[KeyedRow]) -> Iterator[NewestRow]:
    latest = sorted(rows, key=lambda row: (row.age, row.row.text), reverse=True)
    number = sum(row.age == latest[0].age for row in latest)
    for row in reversed(latest[:number]):
        yield _newest_row(row, _earlier(row, latest), len(latest) - number)


def _newest_row(keyed: KeyedRow, earlier: tuple[bytes, ...], older: int) -> NewestRow:
    file, text, config_as_text = keyed.row
    return NewestRow(file, keyed.application_id, text, config_as_text, older, earlier)


def _earlier(newest: KeyedRow, latest: Sequence[KeyedRow]) -> tuple[bytes, ...]:
    """Return the texts of the rows to hold the newest one against, the latest first; none if none has a time.

    Of those a minute or more before it the latest, and the latest of a lower generation: members report their offsets
    when they join, so that within a generation rows may repeat the same report.
    """
    if newest.unreadable or newest.at_us is None:
        return ()
    oldest = latest[min(MOST_ROWS, len(latest)) - 1]
    limit_us = newest.at_us - _EARLIER_BY_US
    early = [row for row in latest if row.age >= oldest.age and row.at_us is not None and row.at_us <= limit_us]
    lower_generations = [row for row in early if (row.generation or 0) < (newest.generation or 0)]
    return tuple(dict.fromkeys(row.row.text for row in (*early[:1], *lower_generations[:1])))


def _counts(keyed: KeyedRow, selection: Selection) -> bool:
    assert keyed.application_id is not None
    early_enough = selection.as_of_us is None or keyed.at_us is None or keyed.at_us <= selection.as_of_us
    return early_enough and selection.wants(keyed.application_id)


def keyed_row(row: RowText) -> KeyedRow:
    """Read the fields that decide whether a row counts; text after its JSON is refused when the row is read."""
    try:
        document, _ = _DECODER.raw_decode(row.text.decode("utf-8").lstrip())
    except (ValueError, RecursionError):
        document = None
    fields = document if isinstance(document, dict) else {}
    at_us, is_time_unreadable = _time_us(_as_text(fields.get("captured_at")))
    generation = _generation(_as_text(fields.get("generation")))
    unreadable = is_time_unreadable or generation is None or is_written(fields)
    return KeyedRow(row, _as_text(fields.get("application_id")), unreadable, at_us, generation)


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _time_us(text: str | None) -> tuple[int | None, bool]:
    """Return the time, and whether there is one that cannot be read."""
    if text is None:
        return None, False
    try:
        return parse_time_us(text), False
    except ValueError:
        return None, True


def _generation(text: str | None) -> int | None:
    """Return the generation, 0 without one; ``None`` if it cannot be read."""
    if text is None:
        return 0
    match = _INTEGER.fullmatch(text)
    return int(match[1]) if match and -MAX_LONG - 1 <= int(match[1]) <= MAX_LONG else None
