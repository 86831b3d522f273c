"""What Kafka's tools print of groups is read however it was saved, or named as what it is."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.broker.describe_text import DescribedRow, rows_from_text
from tests.snapshots.broker.test_describe_text import REAL, TOPOLOGY

_WARN = "[2026-11-21 13:10:59,194] WARN [AdminClient clientId=adminclient-1] Node 1 disconnected. (o.a.k.NetworkClient)"
_NONE_ACTIVE = "Warning: Streams group 'old' has no active members."


class Tables(NamedTuple):
    """The tables of one group, line by line."""

    members: Sequence[str]
    state: Sequence[str]
    offsets: Sequence[str]

    @property
    def lines(self) -> list[str]:
        """All, with empty lines between them."""
        return ["", *self.members, "", *self.state, "", *self.offsets, ""]


def _tables() -> Tables:
    tables: list[list[str]] = []
    for line in (REAL / "k43-base.txt").read_text().splitlines():
        if line.startswith("$"):
            tables.append([])
        else:
            tables[-1].append(line)
    return Tables(*tables)


TABLES = _tables()


def _rows(text: str) -> list[DescribedRow]:
    return rows_from_text([("saved", text)], "4.3", lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1})


def _joined(lines: Sequence[str], before: str = "") -> str:
    return "\n".join(before + line for line in lines)


def _cells(line: str) -> list[str]:
    """Return the cells of a line: what members run, and the coordinator's number, have spaces in them."""
    cells = re.split(r" +(?!\(|\d+:\[|TARGET-|STANDBY:|WARMUP:|$)", line.rstrip())
    return [re.sub(" +", " ", cell) for cell in cells]


def _pasted(tables: Tables, write: Callable[[list[str]], str], rule: Callable[[int], str] = lambda _cells: "") -> str:
    lines = []
    for table in (tables.members, tables.state, tables.offsets):
        header, *rows = map(_cells, filter(str.strip, table))
        lines += [write(header), rule(len(header)), *map(write, rows), "", "as pasted", ""]
    return "\n".join(lines)


def _in_csv(cells: list[str], delimiter: str, quoting: Literal[0, 1]) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator="").writerow(cells)
    return file.getvalue()


SAVED: dict[str, Callable[[Tables], str]] = {
    "plain": lambda tables: _joined(tables.lines),
    "windows": lambda tables: "\r\n".join(tables.lines),
    "byte order mark": lambda tables: "\ufeff" + _joined(tables.lines[1:]),
    "tabs": lambda tables: re.sub(" +", "\t", _joined(tables.lines)),
    "spaces of a document": lambda tables: _joined(tables.lines).replace(" ", "\xa0"),
    "spaces of a chat": lambda tables: _joined(tables.lines).replace("  ", "\u3000\u202f"),
    "colours": lambda tables: _joined(["\x1b[1m" + tables.members[0] + "\x1b[0m", *tables.lines[2:]]),
    "compose": lambda tables: _joined(tables.lines, "kafka-1  | "),
    "mail": lambda tables: _joined(tables.lines, "> "),
    "indented": lambda tables: _joined(tables.lines, "    "),
    "times": lambda tables: _joined(tables.lines, "2026-11-21T13:10:59.194Z "),
    "markdown": lambda tables: "```\n" + _joined(tables.lines) + "\n```",
    "warnings before": lambda tables: (
        "SLF4J: Class path\n" + _WARN + "\n" + _NONE_ACTIVE + "\n" + _joined(tables.lines)
    ),
    "prompts": lambda tables: _joined(
        ["root@k:/opt# x", *tables.members, "root@k:/opt# y", *tables.state, "PS C:\\> z", *tables.offsets, "C:\\>"]
    ),
    "twice": lambda tables: _joined([*tables.lines, *tables.lines]),
    "table of markdown": lambda tables: _pasted(
        tables, lambda cells: f"| {' | '.join(cells)} |", lambda number: "|" + " :--- |" * number
    ),
    "bold table of markdown": lambda tables: _pasted(
        tables, lambda cells: " | ".join(f"**`{cell}`**" for cell in cells), lambda number: "|".join(["---"] * number)
    ),
    "escaped table of markdown": lambda tables: _pasted(
        tables, lambda cells: "|" + "|".join(re.sub(r"([\[\]_])", r"\\\1", cell) for cell in cells) + "|"
    ),
    "table of a database": lambda tables: _pasted(
        tables, lambda cells: " \u2502 ".join(["", *cells, ""]), lambda number: "\u251c" + "\u2500" * number
    ),
    "page of HTML": lambda tables: _joined(tables.lines, "&gt;&nbsp;"),
    "csv": lambda tables: _pasted(tables, lambda cells: _in_csv(cells, ",", csv.QUOTE_MINIMAL)),
    "quoted csv": lambda tables: _pasted(tables, lambda cells: _in_csv(cells, ",", csv.QUOTE_ALL)),
    "csv of a spreadsheet": lambda tables: _pasted(tables, lambda cells: _in_csv(cells, ";", csv.QUOTE_MINIMAL)),
    "watch": lambda tables: "Every 2.0s: kafka-streams-groups.sh --describe\n" + _joined(tables.lines),
}


@pytest.mark.parametrize("form", SAVED)
def test_however_it_was_saved_the_rows_are_the_same(form: str) -> None:
    assert _rows(SAVED[form](TABLES)) == _rows(_joined(TABLES.lines))


@given(st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["", _WARN, _NONE_ACTIVE])), max_size=4))
def test_lines_within_a_table_cost_no_member(gaps: list[tuple[int, str]]) -> None:
    lines = list(TABLES.lines)
    for place, line in gaps:
        if lines[place - 1].strip() and not lines[place - 1].startswith("GROUP"):
            lines.insert(place, line)
    assert _rows(_joined(lines)) == _rows(_joined(TABLES.lines))


def test_two_groups_in_one_table_are_two_rows() -> None:
    tables = (TABLES.members, TABLES.state, TABLES.offsets)
    both = [line for table in tables for line in (*table, *(each.replace("S8", "S9") for each in table[1:]), "")]
    assert [row.row["application_id"] for row in _rows(_joined(both))] == ["S8", "S9"]


@pytest.mark.parametrize(
    ("others", "left_out"),
    [
        ("S9 b:9092 (1) Stable 2 2 6", ": S9."),
        ("S9 b:9092 (1) Empty 2 2 0", None),
        ("\nGROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\na b /1 c 2 in(0,1)", ": a."),
    ],
)
def test_groups_whose_members_are_not_there_are_told(others: str, left_out: str | None) -> None:
    (row,) = _rows(_joined([*TABLES.members, "", *TABLES.state, others]))
    messages = [note.message for note in row.notes if note.code == "groups-left-out"]
    assert len(messages) == (left_out is not None)
    assert all(left_out is not None and left_out in message for message in messages)


@given(st.integers(1, 6))
def test_a_line_that_was_lost_is_told(place: int) -> None:
    lines = [line for line in TABLES.lines if line != TABLES.members[place]]
    with pytest.raises(SnapshotError, match="--state says 6 members, and --members has 5"):
        _rows(_joined(lines))


@pytest.mark.parametrize("width", range(60, 300, 20))
def test_lines_that_are_cut_are_never_fewer_tasks(width: int) -> None:
    with pytest.raises(SnapshotError) as error:
        _rows(_joined([*(line[:width] for line in TABLES.members), *TABLES.state]))
    assert "whole lines" in error.value.fix


@given(st.integers(1, 6), st.integers(1, 400))
def test_a_line_that_is_cut_is_never_fewer_tasks(place: int, width: int) -> None:
    members = [line[: width if number == place else None] for number, line in enumerate(TABLES.members)]
    try:
        (cut,) = _rows(_joined(["", *members, *TABLES.state, *TABLES.offsets]))
    except SnapshotError:
        return
    (whole,) = _rows(_joined(TABLES.lines))
    assert cut == whole or [note.code for note in cut.notes] == ["standbys-differ"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "GROUP TOPIC PARTITION START-OFFSET LAG\ns in 0 1 2\n",
            "which has no tasks. Fix: kafka-streams-groups.sh --list",
        ),
        ("GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\ns c /1 d 2 in:0,1;out:2\n", "share group"),
        ("\nGROUP CONSUMER-ID HOST CLIENT-ID ASSIGNMENT\ns c /1 d in:0,1\n", "share group"),
        ("GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS MEMBER-EPOCH ASSIGNMENT\ns c /1 d 1 3 in:0\n", "share group"),
        ("GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\na b /1 c 0 -\na d /1 c 1 in(0)\n", "snapshot FILE"),
        (
            "Error: Consumer group 'orders' does not exist.\n",
            "the tool failed: Consumer group 'orders' does not exist.",
        ),
        ("Error: Executing command failed due to x.GroupIdNotFoundException: S9\n", "GroupIdNotFoundException: S9"),
        ("GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\na b:1 (1) stream Stable 3\n", "snapshot FILE"),
        ("GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\na b:1 (1)  Empty 0\n", "snapshot FILE"),
        ("GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\na b /1 c 2 in(0,1)\n", "snapshot FILE"),
        ("GROUP TYPE PROTOCOL\na Classic consumer\n", "a list of groups. Fix: kafka-streams-groups.sh --list"),
        (
            "| GROUP | TOPIC | PARTITION | LAG | CONSUMER-ID |\n|--|--|--|--|--|\n| a | in | 0 | 1 | c |\n",
            "snapshot FILE",
        ),
        ("GROUP,TOPIC,PARTITION,CURRENT-OFFSET,LOG-END-OFFSET,LAG\na,in,0,1,2,1\n", "snapshot FILE"),
        ("GROUP STATE\na Stable\n", "--group a --members"),
        ("GROUP TOPIC PARTITION CURRENT-OFFSET OFFSET-LAG\na in 0 1 1\n", "--group a --members --verbose"),
        ('{"groups": []}', "holds no table"),
    ],
)
def test_what_has_no_tasks_is_named(text: str, words: str) -> None:
    with pytest.raises(SnapshotError) as error:
        _rows(text)
    assert words in f"{error.value} {error.value.fix}"
