"""One real log in random layouts, log stores, orders and cuts: what people may have of it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from kstream_plan.snapshots.leader_log.messages import is_marked
from tests.helpers import log_layouts
from tests.helpers.log_layouts import Logged

GENERATIONS = 3
SCENARIO = "scale-out-traffic"


@cache
def original() -> tuple[Logged, ...]:
    """The messages of the first generations that matter, and one that does not after every fourth."""
    found: list[Logged] = []
    ended = 0
    for record in log_layouts.finished(SCENARIO):
        if ended == GENERATIONS:
            break
        if record.level == "INFO" and is_marked(record.message):
            found.append(record)
            if len(found) % 5 == 4:
                found.append(record._replace(message="started task 0_1: [a, b]", logger="com.example.Orders"))
            ended += "Finished assignment" in record.message
    return tuple(found)


#: How a time is written → how precise it is, in microseconds; ``None``: it has no date.
TIMES: tuple[tuple[Callable[[datetime], str], int | None], ...] = (
    (lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.") + _millis(at) + "Z", 1000),
    (lambda at: "[" + at.strftime("%Y-%m-%d %H:%M:%S,") + _millis(at) + "]", 1000),
    (lambda at: at.strftime("%Y/%m/%d %H:%M:%S.") + _millis(at), 1000),
    (lambda at: at.strftime("%d.%m.%Y %H:%M:%S.") + _millis(at), 1000),
    (lambda at: at.strftime("%d-%b-%Y %H:%M:%S.") + _millis(at), 1000),
    (lambda at: at.strftime("%Y%m%d %H:%M:%S.") + _millis(at), 1000),
    (lambda at: at.strftime("[%d/%b/%Y:%H:%M:%S +0000]"), 1_000_000),
    (lambda at: at.strftime("%b %d, %Y %I:%M:%S %p"), 1_000_000),
    (lambda at: at.strftime("%m/%d/%Y %H:%M:%S.") + _millis(at), 1000),
    (lambda at: at.strftime("%d/%m/%Y %H:%M:%S.") + _millis(at), 1000),
    (lambda at: str(round(at.timestamp() * 1000)), 1000),
    (lambda at: at.strftime("%H:%M:%S.") + _millis(at), None),
)
#: What a layout may put behind a message.
ENDS = (
    "",
    "",
    " ({logger})",
    " ({logger}:639)",
    "   [{logger}]",
    " - {logger} [{thread}]",
    " {{app=orders}} A.java:12",
)
#: How a log is stored; with the names of a record's text, time and host.
_NAMES = (
    ("message", "@timestamp", "host"),
    ("msg", "ts", "pod"),
    ("textPayload", "timestamp", "pod_name"),
    ("log", "time", "hostname"),
    ("line", "Time", "pod"),
    ("Content", "Date", "Host"),
    ("_raw", "_time", "source"),
)


@dataclass(frozen=True)
class Shape:
    """What became of the log: its text, and how precise the times in it are; ``None``: they have no date."""

    content: bytes
    precision_us: int | None
    described: str


def at_of(record: Logged) -> datetime:
    return datetime.fromisoformat(record.at).replace(tzinfo=UTC)


def shape(seed: int) -> Shape:
    """The log as somebody may have it, by a number."""
    rng = random.Random(seed)
    store = rng.choice(_STORES)
    write_time, precision = rng.choice(TIMES)
    end = rng.choice(ENDS)
    records = [_text(record, write_time, end, rng_of=rng.random() < 0.5) for record in original()]
    content, seconds_only, stored_dates = store(records, rng)
    if stored_dates:
        precision = max(stored_dates, precision or 1000) if precision is None else max(precision, seconds_only)
    content, cut = rng.choice(_CUTS)(content, rng)
    if rng.random() < 0.1:
        content = gzip.compress(content, 1)
    return Shape(content, precision, f"{store.__name__}, {write_time(at_of(original()[0]))}, {end!r}, {cut}")


Written = tuple[Logged, list[str]]


def _text(record: Logged, write_time: Callable[[datetime], str], end: str, *, rng_of: bool) -> Written:
    thread = f"[{record.thread}] " if rng_of else ""
    text = f"{write_time(at_of(record))} {record.level} {thread}{record.message}{_end(record, end)}"
    return record, text.split("\n")


def _end(record: Logged, end: str) -> str:
    return end.format(logger=record.logger, thread=record.thread)


def _millis(at: datetime) -> str:
    return f"{at.microsecond // 1000:03}"


Stored = tuple[bytes, int, int | None]


def _plain(records: Sequence[Written], rng: random.Random) -> Stored:
    return _joined([line for _, lines in records for line in lines]), 0, None


def _prefixed(records: Sequence[Written], rng: random.Random) -> Stored:
    prefix = rng.choice(("[pod/{host}/app] ", "{host}   | ", "{host} app "[:0]))
    return _joined([prefix.format(host=record.host) + line for record, lines in records for line in lines]), 0, None


def _syslog(records: Sequence[Written], rng: random.Random) -> Stored:
    lines = []
    joint = rng.choice((None, "#012", "\\n", "\\\\n", " "))
    for record, texts in records:
        head = at_of(record).strftime("%b %d %H:%M:%S ") + f"{record.host} orders[812]: "
        lines += [head + text for text in (texts if joint is None else [joint.join(texts)])]
    return _joined(lines), 0, 1_000_000


def _escaped(records: Sequence[Written], rng: random.Random) -> Stored:
    joint = rng.choice(("#012", "\\n", "\\\\n", " "))
    return _joined([joint.join(lines) for _, lines in records]), 0, None


def _cri(records: Sequence[Written], rng: random.Random) -> Stored:
    size = rng.choice((40, 300, 4000))
    lines = []
    for record, texts in records:
        for text in texts:
            parts = [text[start : start + size] for start in range(0, len(text), size)] or [""]
            flags = ["P"] * (len(parts) - 1) + ["F"]
            lines += [f"{record.at}000Z stdout {flag} {part}" for flag, part in zip(flags, parts, strict=True)]
    return _joined(lines), 0, 1000


def _rows(records: Sequence[Written], rng: random.Random) -> list[dict[str, Any]]:
    text_name, time_name, host_name = rng.choice(_NAMES)
    by_line, as_number, newest_first = rng.random() < 0.3, rng.random() < 0.3, rng.random() < 0.5
    rows = []
    for record, lines in records:
        at: Any = round(at_of(record).timestamp() * 1000) if as_number else f"{record.at}Z"
        texts = lines if by_line else ["\n".join(lines)]
        rows += [{time_name: at, host_name: record.host, text_name: text, "level": record.level} for text in texts]
    return rows[::-1] if newest_first else rows


def _json_lines(records: Sequence[Written], rng: random.Random) -> Stored:
    return _joined([json.dumps(row) for row in _rows(records, rng)]), 0, 1000


def _document(records: Sequence[Written], rng: random.Random) -> Stored:
    rows = _rows(records, rng)
    wrap: Callable[[list[dict[str, Any]]], Any] = rng.choice(
        (
            lambda rows: rows,
            lambda rows: {"events": rows, "searchedLogStreams": []},
            lambda rows: {"took": 3, "hits": {"total": 9, "hits": [{"_id": "x", "_source": row} for row in rows]}},
            lambda rows: {"data": [{"id": "x", "type": "log", "attributes": row} for row in rows], "meta": {}},
            lambda rows: {
                "results": [[{"field": name, "value": str(value)} for name, value in row.items()] for row in rows]
            },
            lambda rows: {
                "tables": [{"columns": [{"name": n} for n in rows[0]], "rows": [[*r.values()] for r in rows]}]
            },
            lambda rows: {"preview": False, "fields": [*rows[0]], "rows": [[*row.values()] for row in rows]},
            lambda rows: {"hits": {"hits": [{"fields": {name: [str(v)] for name, v in row.items()}} for row in rows]}},
        )
    )
    return json.dumps(wrap(rows), indent=rng.choice((None, 2))).encode(), 0, 1000


def _loki(records: Sequence[Written], rng: random.Random) -> Stored:
    by_host: dict[str, list[list[str]]] = {}
    for record, lines in records:
        at = str(round(at_of(record).timestamp() * 1000) * 1_000_000)
        by_host.setdefault(record.host, []).append([at, "\n".join(lines)])
    streams = [{"stream": {"pod": host}, "values": values[::-1]} for host, values in by_host.items()]
    return json.dumps({"status": "success", "data": {"resultType": "streams", "result": streams}}).encode(), 0, 1000


def _csv(records: Sequence[Written], rng: random.Random) -> Stored:
    rows = _rows(records, rng)
    file = io.StringIO()
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.DictWriter(file, [*rows[0]], delimiter=rng.choice(",;\t"), quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode(), 0, 1000


def _batched(records: Sequence[Written], rng: random.Random) -> Stored:
    """Several records in one row, as an agent sends them."""
    size = rng.randrange(2, 9)
    rows = []
    for start in range(0, len(records), size):
        batch = records[start : start + size]
        text = "\n".join(line for _, lines in batch for line in lines)
        rows.append({"timestamp": f"{batch[-1][0].at}Z", "message": text, "logStreamName": "orders/app/1"})
    content = json.dumps({"events": rows}) if rng.random() < 0.5 else "".join(json.dumps(row) + "\n" for row in rows)
    return content.encode(), 0, 1_000_000


def _newest_line_first(records: Sequence[Written], rng: random.Random) -> Stored:
    """As a store prints lines, each with its own time."""
    lines = [f"{record.at}Z {line}" for record, lines in records for line in lines]
    return _joined(lines[::-1]), 0, 1000


def _java_logger(records: Sequence[Written], rng: random.Random) -> Stored:
    """As ``java.util.logging`` writes: time and class on a line of their own."""
    lines = []
    for record, _ in records:
        lines.append(at_of(record).strftime("%b %d, %Y %I:%M:%S %p") + f" {record.logger} assign")
        lines += f"{record.level}: {record.message}".split("\n")
    return _joined(lines), 0, 1_000_000


_STORES: tuple[Callable[[Sequence[Written], random.Random], Stored], ...] = (
    *(
        _plain,
        _plain,
        _prefixed,
        _syslog,
        _escaped,
        _cri,
        _json_lines,
        _document,
        _loki,
        _csv,
        _batched,
        _newest_line_first,
        _java_logger,
    ),
)


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _whole(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    return content, "whole"


def _without_head(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    at = rng.randrange(len(content))
    return content[at:], f"without the first {at} bytes"


def _without_tail(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    at = rng.randrange(len(content))
    return content[:at], f"without what follows {at} bytes"


def _line_cut(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A line that ends too early, with or without its end."""
    at = rng.randrange(len(content))
    end = content.find(b"\n", at)
    keeps_end = rng.random() < 0.5
    rest = content[end + (not keeps_end) :] if end >= 0 else b""
    return content[:at] + rest, f"its line cut at {at}"


def _lines_lost(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    lines = content.splitlines(keepends=True)
    lost = {rng.randrange(len(lines)) for _ in range(rng.randrange(1, 4))}
    return b"".join(line for number, line in enumerate(lines) if number not in lost), f"without lines {sorted(lost)}"


_CUTS = (_whole, _whole, _without_head, _without_tail, _line_cut, _lines_lost)
