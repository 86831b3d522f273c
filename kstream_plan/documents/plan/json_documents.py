"""The JSON documents of a saved file, one after the other; a broken one does not stop the others."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from kstream_plan.errors import PlanFileError
from kstream_plan.snapshots.files.content import TooLargeError, unpacked
from kstream_plan.snapshots.files.kinds import SAVED_PLAN, SNAPSHOT, file_kind, other_kind
from kstream_plan.snapshots.rows.json_text import object_of

#: Where the next document begins if one is broken: at a line that opens an object (those inside are indented).
_NEXT_DOCUMENT = re.compile(r"\n(?=\{)")


class JsonDocument(NamedTuple):
    """A document and where it begins."""

    value: Any
    location: str


def documents_in(data: bytes, source: str) -> Iterator[JsonDocument | PlanFileError]:
    """Yield the documents, or the error of one; after broken JSON it goes on where the next document begins.

    Args:
        data: UTF-8, plain or gzip; usually one document a line.
        source: the source, to name it with the line.
    """
    try:
        text = _text(data, source)
    except PlanFileError as error:
        yield error
        return
    decoder = json.JSONDecoder(object_pairs_hook=object_of, parse_constant=_refuse_constant)
    line, counted_end = 1, 0
    start = _after_blanks(text, 0)
    while start < len(text):
        line, counted_end = line + text.count("\n", counted_end, start), start
        location = f"{source}, line {line}"
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            kind = file_kind(text.encode("utf-8", "replace")) if start == _after_blanks(text, 0) else None
            if kind not in (None, SNAPSHOT, SAVED_PLAN):
                yield other_kind(kind, "a saved plan", source, PlanFileError)
                return
            fix = "save the plan again with kstream-plan assign --out"
            yield PlanFileError(f"not JSON: {error}", where=location, fix=fix)
            next_document = _NEXT_DOCUMENT.search(text, start)
            start = len(text) if next_document is None else next_document.end()
            continue
        yield JsonDocument(value, location)
        start = _after_blanks(text, end)


def _text(data: bytes, source: str) -> str:
    try:
        return unpacked(data).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PlanFileError("not UTF-8 text", where=source, fix="give a plan saved with --out") from None
    except TooLargeError as error:
        raise PlanFileError(
            f"cannot be read: {error.strerror}", where=source, fix="check the file, or raise --set max.text"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        problem = f"a damaged gzip file ({error})"
        raise PlanFileError(problem, where=source, fix="copy it again, it was probably cut short") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there")


def _after_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    return start
