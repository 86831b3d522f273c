"""Which snapshot rows count, found out in plain Python: for inputs so small that Spark need not be asked that as well.

The rule is that of :mod:`kstream_plan.snapshots.spark.newest_snapshots`, to the last row.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.files.earlier_rows import earlier_rows
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.rows.document_kind import is_written
from kstream_plan.snapshots.rows.times import parse_time_us

_BYTE_ORDER_MARK = "\ufeff"
_INTEGER = re.compile(r"\s*([+-]?\d+)\s*", re.ASCII)
_DECODER = json.JSONDecoder()
_BEFORE_ELEMENT = re.compile(r"\s*", re.ASCII)


class RowText(NamedTuple):
    """One row as JSON text in UTF-8, and the file it is from."""

    file: str
    text: bytes


class Keyed(NamedTuple):
    """A row with what decides whether it counts; ``application_id`` is ``None`` if it cannot be told.

    ``older`` is how many other rows of its application there are that do not count; ``earlier`` are the texts of those
    that it is held against.
    """

    row: RowText
    application_id: str | None
    unreadable: bool
    at_us: int | None
    generation: int | None
    older: int = 0
    earlier: tuple[bytes, ...] = ()

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
    at = _skipped(text, _skipped(text, 0) + 1)
    while text[at : at + 1] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _skipped(text, end)
        if text[at : at + 1] == ",":
            at = _skipped(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ValueError("neither a comma nor the end")
    if text[at + 1 :].strip():
        raise ValueError("it goes on")


def _skipped(text: str, at: int) -> int:
    match = _BEFORE_ELEMENT.match(text, at)
    assert match is not None
    return match.end()


def newest_rows(rows: Iterable[RowText], selection: Selection) -> list[Keyed]:
    """Return the newest row of every selected application; several if they are of the same time and generation.

    Of the rows without a readable application one per file is returned.
    """
    nameless: dict[str, Keyed] = {}
    found: dict[str, list[Keyed]] = defaultdict(list)
    for keyed in map(_keyed, rows):
        if keyed.application_id is None:
            known = nameless.get(keyed.row.file)
            if known is None or (keyed.age, known.row.text) > (known.age, keyed.row.text):
                nameless[keyed.row.file] = keyed
        elif _counts(keyed, selection):
            found[keyed.application_id].append(keyed)
    return [*nameless.values(), *(keyed for of_one in found.values() for keyed in _newest(of_one))]


def _newest(rows: Sequence[Keyed]) -> list[Keyed]:
    age = max(row.age for row in rows)
    newest = sorted((row for row in rows if row.age == age), key=lambda row: row.row.text)
    return [row._replace(older=len(rows) - len(newest), earlier=earlier_rows(row, rows)) for row in newest]


def _counts(keyed: Keyed, selection: Selection) -> bool:
    assert keyed.application_id is not None
    early_enough = selection.as_of_us is None or keyed.at_us is None or keyed.at_us <= selection.as_of_us
    return early_enough and selection.wants(keyed.application_id)


def _keyed(row: RowText) -> Keyed:
    try:
        # what comes after it is told when it is read
        parsed, _ = _DECODER.raw_decode(row.text.decode("utf-8").lstrip())
    except (ValueError, RecursionError):
        parsed = None
    fields = parsed if isinstance(parsed, dict) else {}
    at_us, at_unreadable = _time_us(_as_text(fields.get("captured_at")))
    generation = _generation(_as_text(fields.get("generation")))
    unreadable = at_unreadable or generation is None or is_written(fields)
    return Keyed(row, _as_text(fields.get("application_id")), unreadable, at_us, generation)


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
