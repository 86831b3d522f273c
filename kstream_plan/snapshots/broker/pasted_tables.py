"""Tables of Markdown, spreadsheets and databases → lines with spaces between their columns, as Kafka's tools print."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

#: Where a table begins: its first column, and what stands between that and the next.
_HEADER = re.compile(r"[\s\"|\u2502*`>]*GROUP[\"*`]*\s*(?P<delimiter>[|\u2502,;])")
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+")
#: What Markdown puts around a cell, before its signs, and between its lines.
_MARKS, _ESCAPED, _BREAK = "*` \t", re.compile(r"\\([\\\[\]_|*#:;<>().-])"), re.compile(r"<br ?/?>")
#: Columns that may be empty.
_EMPTY = ("ASSIGNMENTS", "ASSIGNOR")


def as_printed(lines: Sequence[str]) -> list[str]:
    """Return the lines of a text, those of tables of other kinds as Kafka's tools would have printed them."""
    printed_lines: list[str] = []
    delimiter, columns = "", list[str]()
    for line in lines:
        header = _HEADER.match(line)
        if header is not None:
            delimiter = header["delimiter"]
            columns = _cells(line, delimiter)
        elif not delimiter or delimiter not in line:
            delimiter = "" if line.strip() and not _RULE.fullmatch(line) else delimiter
            printed_lines.append("" if delimiter else line)
            continue
        if _RULE.fullmatch(line):
            printed_lines.append("")
            continue
        cells = _cells(line, delimiter)
        names = [*columns, *[""] * (len(cells) - len(columns))]
        printed_lines.append(
            " ".join(cell or ("" if name in _EMPTY else "-") for cell, name in zip(cells, names, strict=False))
        )
    return printed_lines


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter in ",;":
        try:
            return [cell.strip() for cell in next(csv.reader([line.strip()], delimiter=delimiter), [])]
        except csv.Error:
            return [line]
    inner = line.strip(" \t>").removeprefix(delimiter).removesuffix(delimiter)
    cells = re.split(rf"(?<!\\){re.escape(delimiter)}", inner)
    return [_ESCAPED.sub(r"\1", _BREAK.sub(" ", cell)).strip(_MARKS) for cell in cells]
