"""Tables that Kafka's own tools print of groups, known by their columns wherever they stand in a text.

Formats: ``StreamsGroupCommand`` (4.1 to 4.4), ``ConsumerGroupCommand`` (2.6 to 4.4) and ``ShareGroupCommand`` of Apache
Kafka, with and without ``--verbose``, also as tables of Markdown and CSV. Columns that are not known are passed over:
later releases add some.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.files.content import uncoloured, unescaped
from kstream_plan.snapshots.rows.fields import shown

#: Where a table begins; what stands before it, as a container's name, stands before each of its lines.
_HEADER = re.compile(r"(?P<before>(?:.*[\s|>])?)GROUP\s+(?P<columns>[#A-Z(][A-Z# ()-]*?)\s*")
_LONGEST_HEADER = 2_000
#: What spreadsheets, documents and chats make of spaces.
_SPACES = re.compile("[\t\xa0\u2000-\u200a\u202f\u205f\u3000]")
_FAILED = re.compile(r"^.{0,80}?\bError: (?P<message>.{1,300})", re.MULTILINE)
WHOLE_LINES = "save the tool's text unchanged, with whole lines"

#: Where a table begins: its first column, and what stands between that and the next.
_PLAIN_HEADER = re.compile(r"[\s\"|\u2502*`>]*GROUP[\"*`]*\s*(?P<delimiter>[|\u2502,;])")
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+")
#: What Markdown puts around a cell, before its signs, and between its lines.
_MARKS, _ESCAPED, _BREAK = "*` \t", re.compile(r"\\([\\\[\]_|*#:;<>().-])"), re.compile(r"<br ?/?>")
#: Columns that may be empty.
_EMPTY = ("ASSIGNMENTS", "ASSIGNOR")


class TableKind(Enum):
    """What a table shows: the value names it in a sentence."""

    MEMBERS = "the members of a streams group"
    STATE = "the state of a streams group"
    OFFSETS = "the offsets of a streams group"
    EARLY_MEMBERS = "the members of a streams group as releases before 4.2 print them"
    CUT = "a table of a streams group's members whose lines are cut"
    SHARE = "a table of a share group, which has no tasks"
    CLASSIC = "a group of consumers, not of tasks: kafka-consumer-groups.sh prints it"
    LIST = "a list of groups"
    OTHER = "a table whose columns are not known"


class TableRow(NamedTuple):
    """A line of a table.

    place: the file and the line.
    kind: what the table shows.
    table: the number of its table in the text, from 1.
    cells: column → what stands there.
    """

    place: str
    kind: TableKind
    table: int
    cells: Mapping[str, str]

    def number(self, column: str) -> int | None:
        """Return the whole number in a column, ``None`` where the table has none."""
        text = self.cells.get(column, "-")
        return None if text == "-" else int(text)


#: The columns by which a kind is known: the first kind counts all of whose columns are there.
_KNOWN_BY = (
    (TableKind.MEMBERS, {"MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"}),
    (TableKind.EARLY_MEMBERS, {"MEMBER", "PROCESS", "CLIENT-ID"}),
    (TableKind.CUT, {"MEMBER"}),
    (TableKind.CUT, {"TOPOLOGY-EPOCH"}),
    (TableKind.SHARE, {"START-OFFSET"}),
    (TableKind.SHARE, {"CONSUMER-ID", "MEMBER-EPOCH"}),
    (TableKind.CLASSIC, {"CONSUMER-ID"}),
    (TableKind.CLASSIC, {"ASSIGNMENT-STRATEGY"}),
    (TableKind.CLASSIC, {"TOPIC", "PARTITION", "LAG"}),
    (TableKind.OFFSETS, {"TOPIC", "PARTITION", "OFFSET-LAG"}),
    (TableKind.STATE, {"COORDINATOR (ID)", "STATE"}),
    (TableKind.LIST, {"STATE"}),
    (TableKind.LIST, {"TYPE", "PROTOCOL"}),
)


#: The kinds whose lines are read; of others only the group is.
_READ = (TableKind.MEMBERS, TableKind.STATE, TableKind.OFFSETS)
#: How a share group's tool writes topics and partitions; that of consumers writes ``topic(0,1)``.
_OF_SHARE = re.compile(r"(?:.*\s)?[\w.-]+:\d+(?:,\d+)*(?:;[\w.-]+:\d+(?:,\d+)*)*\s*")
_PROMPT = re.compile(r"\S*[$#%>](?:\s.*)?|\[.*")
_ROLES = r"(?:(?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP):\s+(?:[^\s:;]+:\[[\d,]*\](?:;\s*|\s*$))+)*"


def read_tables(file: str, text: str) -> Iterator[TableRow]:
    """Yield the lines of all tables in a text.

    Raises:
        SnapshotError: a line of a table cannot be read.
    """
    lines = as_printed(_SPACES.sub(" ", unescaped(uncoloured(text.replace("\ufeff", "")))).splitlines())
    headers = {
        number: header
        for number, line in enumerate(lines)
        if len(line) < _LONGEST_HEADER and (header := _HEADER.fullmatch(line)) is not None
    }
    for table, (number, header) in enumerate(headers.items(), start=1):
        end = next((next_number for next_number in headers if next_number > number), len(lines))
        indent = len(header["before"])
        rest = [line[indent:] for line in lines[number + 1 : end]]
        yield from _rows(file, header["columns"], table, number + 1, rest)


def failure_in(text: str) -> str | None:
    """Return what a tool says in a text that it failed by."""
    match = _FAILED.search(text)
    return match["message"].strip() if match is not None else None


def _rows(file: str, header: str, table: int, number: int, lines: Sequence[str]) -> Iterator[TableRow]:
    """Yield the lines of a table; other lines may stand between them."""
    columns = ("GROUP", *(column.replace("_", " ") for column in header.replace("R (ID)", "R_(ID)").split()))
    kind = next((kind for kind, known_by in _KNOWN_BY if known_by <= set(columns)), TableKind.OTHER)
    if kind not in _READ:
        first = next(filter(str.strip, lines), "")
        if kind is TableKind.CLASSIC and columns[-1] == "ASSIGNMENT":
            is_share = "#PARTITIONS" not in columns or any(map(_OF_SHARE.fullmatch, lines))
            kind = TableKind.SHARE if is_share else kind
        if kind is TableKind.EARLY_MEMBERS and not any("-TASKS:" in line for line in lines):
            kind = TableKind.CUT  # releases before 4.2 print tasks on lines of their own
        whole = re.fullmatch("".join(map(_cell, columns)), first.rstrip() + " ")
        first_cells = {} if whole is None else dict(zip(columns, whole.groups(""), strict=True))
        yield TableRow(f"{file}, line {number}", kind, table, {**first_cells, "GROUP": first.partition(" ")[0]})
        return
    pattern, group_ids, is_whole = re.compile("".join(map(_cell, columns))), set[str](), True
    for line_number, line in enumerate(lines, start=number + 1):
        cells = pattern.fullmatch(line.rstrip() + " ")
        first = line.partition(" ")[0]
        if cells is not None and (is_whole or cells[1] in group_ids or cells[len(columns)].endswith((";", "]"))):
            group_ids.add(cells[1])
            values = zip(columns, cells.groups(""), strict=True)
            yield TableRow(
                f"{file}, line {line_number}", kind, table, {column: value.strip() for column, value in values}
            )
        elif first in group_ids or (not group_ids and line.strip() and not _PROMPT.fullmatch(line)):
            problem = f"{shown(line[:80])} cannot be read"
            raise SnapshotError(problem, where=f"{file}, line {line_number}", fix=WHOLE_LINES)
        else:
            is_whole = is_whole and not group_ids


def _cell(column: str) -> str:
    """Return the pattern of what stands in a column, and of the space behind it."""
    if column == "ASSIGNMENTS":
        return rf"({_ROLES})\s*"
    if column == "ASSIGNOR":
        return r"(?:(\S+)\s+)?"
    if column == "COORDINATOR (ID)":
        return r"(\S+\s+\(\S*\))\s+"
    if column.startswith("#") or column.endswith(("EPOCH", "OFFSET", "-LAG", "PARTITION")):
        return r"(-|\d{1,19})\s+"
    return r"(\S+)\s+"


def as_printed(lines: Sequence[str]) -> list[str]:
    """Return the lines of a text, those of tables of other kinds as Kafka's tools would have printed them."""
    printed_lines: list[str] = []
    delimiter, columns = "", list[str]()
    for line in lines:
        header = _PLAIN_HEADER.match(line)
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
