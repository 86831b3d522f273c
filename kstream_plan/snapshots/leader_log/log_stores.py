"""Exports of log stores → their records, oldest first: one JSON document, CSV, or lines with the newest first.

Where a record's message, time and pod stand is one table for all stores (:mod:`.log_fields`). A document may be a list
of records (GCP, Grafana, ``az monitor``), have one inside (``aws logs``, Elasticsearch, Datadog, Splunk), be Loki's,
OpenTelemetry's or that of CloudWatch Insights, or several of them one after the other.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.leader_log.envelope import CutLineError, Envelope, of_row, texts_in, unwrap, unwrap_json
from kstream_plan.snapshots.leader_log.lines import LONGEST_LINE_BYTES
from kstream_plan.snapshots.leader_log.log_fields import TEXT_FIELDS, TIME_FIELDS, fields_of, is_named
from kstream_plan.snapshots.leader_log.log_times import LogTimes
from kstream_plan.snapshots.rows.fields import printable

#: So large may a text be that has to be kept whole: a document, or what has to be turned round.
MAX_WHOLE_BYTES = 512 << 20
_SAMPLED_ROWS = 500
_SEEN_BYTES = 64 << 10
_LONGEST_HEADER = 16 << 10
_HEADER_CHARACTERS = 60
_CUT = "the text breaks off in it"
_DELIMITERS = ",;\t|"
_BOM = b"\xef\xbb\xbf"
_BETWEEN = re.compile(r"[\s,]*")


class StoredRecord(NamedTuple):
    """A record of a store: what it holds, and where it is, as line or record.

    ``envelope`` is ``None`` if it cannot be read, for this ``reason``.
    """

    envelope: Envelope | None
    number: int
    unit: str = "record"
    reason: str = ""


class LogStore:
    """Tells what form a log has, and reads the forms that are no lines.

    Args:
        blocks: the log, block by block.
        name: how people know it.
        is_marked: whether a text has the words of a message that matters.
        times: what reads the log's times.
    """

    def __init__(self, blocks: Iterable[bytes], name: str, is_marked: Callable[[str], bool], times: LogTimes) -> None:
        rest = iter(blocks)
        self._head = next(rest, b"").removeprefix(_BOM)
        self._blocks = chain([self._head] if self._head else [], rest)
        self._name = name
        self._is_marked = is_marked
        self._times = times

    def records(self) -> Iterator[StoredRecord] | None:
        """Return the records of a document or of CSV; ``None``: it is lines.

        Raises:
            SnapshotError: it is too large to be kept whole.
        """
        first_line, _, further_lines = self._head.lstrip().partition(b"\n")
        if _is_document(first_line, has_more=bool(further_lines)):
            return self._of_document()
        if len(first_line) > _LONGEST_HEADER:
            return None
        delimiter = _delimiter(first_line.decode("utf-8", "replace").strip())
        return None if delimiter is None else self._of_csv(delimiter)

    def see_dates(self) -> None:
        """Look at the dates at the beginning of the log, which may tell how others are to be read."""
        self._times.see(self._head[:_SEEN_BYTES].decode("utf-8", "replace"))

    def lines(self) -> tuple[Iterable[bytes], bool]:
        """Return the log block by block, the oldest line first, and whether it was turned round for that."""
        lines = self._head[: self._head.rfind(b"\n") + 1].split(b"\n")[:_SAMPLED_ROWS]
        at_us = [line_us for line in lines if (line_us := self._line_time(line)) is not None]
        if not _is_newest_first(at_us, least=1 if lines[0].lstrip().startswith(b"{") else 3):
            return self._blocks, False
        whole = [line if line.endswith(b"\n") else line + b"\n" for line in self._whole("tac FILE").splitlines(True)]
        begins = [self._line_time(line) is not None for line in whole]
        if self._is_turned_by_line(whole, begins):
            return [b"".join(reversed(whole))], True
        groups: list[list[bytes]] = []
        for line, begin in zip(whole, begins, strict=True):
            if not groups or begin:
                groups.append([])
            groups[-1].append(line)
        return [b"".join(line for group in reversed(groups) for line in group)], True

    def _is_turned_by_line(self, lines: Sequence[bytes], begins: Sequence[bool]) -> bool:
        """Tell whether the further lines of messages stand before their first ones, as ``tac`` has them."""
        heads = [line.rstrip().endswith(b":") and self._is_marked(line.decode("utf-8", "replace")) for line in lines]
        heads_first = heads_last = 0
        for number, (begins_record, next_begins_record) in enumerate(pairwise(begins)):
            heads_first += begins_record and not next_begins_record and heads[number]
            heads_last += next_begins_record and not begins_record and heads[number + 1]
        return heads_last > heads_first

    def _line_time(self, line: bytes) -> int | None:
        if not line.strip():
            return None
        try:
            envelope = unwrap_json(unwrap(line, self._times), self._is_marked, self._times)
        except CutLineError:
            return None
        header = envelope.text[:_HEADER_CHARACTERS]
        moment = envelope.moment or self._times.in_text(header) or self._times.in_header(header)
        return None if moment is None else moment.us

    def _whole(self, fix: str) -> bytes:
        pieces, size = [], 0
        for block in self._blocks:
            pieces.append(block)
            size += len(block)
            if size > MAX_WHOLE_BYTES:
                problem = (
                    f"more than {MAX_WHOLE_BYTES >> 20} MiB that have to be read as one, newest first or as a document"
                )
                raise SnapshotError(problem, where=printable(self._name), fix=f"write it line by line first: {fix}")
        return b"".join(pieces)

    def _of_document(self) -> Iterator[StoredRecord]:
        text = self._whole("jq -c '.[]' FILE, with the path of the list of records").decode("utf-8", "replace")
        envelopes, is_cut = list[Envelope](), False
        for value in _values(text):
            if value is None:
                is_cut = True
                break
            rows = _rows(value, _has_text) or _rows(value, lambda row: any(map(self._is_marked, texts_in(row))))
            envelopes += [
                envelope for row in rows if (envelope := of_row(row, self._is_marked, self._times)) is not None
            ]
        if not envelopes and self._is_marked(text):
            reason = _CUT if is_cut else "it is in a JSON document without a list of records that have a message"
            yield StoredRecord(None, 1, reason=reason)
            return
        yield from _oldest_first([StoredRecord(envelope, number) for number, envelope in enumerate(envelopes, 1)])
        if is_cut:
            yield StoredRecord(None, len(envelopes) + 1, reason=_CUT)

    def _of_csv(self, delimiter: str) -> Iterator[StoredRecord]:
        csv.field_size_limit(LONGEST_LINE_BYTES)
        reader = csv.reader(_text_lines(self._blocks), delimiter=delimiter)
        names = next(reader, [])
        rows = self._csv_rows(reader, names)
        first = list(islice(rows, _SAMPLED_ROWS))
        if not first:
            raise self._without_messages(names, has_records=reader.line_num > 1)
        if not _are_newest_first(first):
            yield from chain(first, rows)
            return
        size, records = 0, first
        for row in rows:
            size += 0 if row.envelope is None else len(row.envelope.text)
            if size > MAX_WHOLE_BYTES:
                problem = f"is CSV with the newest record first, and more than {MAX_WHOLE_BYTES >> 20} MiB"
                raise SnapshotError(problem, where=printable(self._name), fix="export it with the oldest record first")
            records.append(row)
        yield from reversed(records)

    def _without_messages(self, names: Sequence[str], *, has_records: bool) -> SnapshotError:
        has = f"without a column of messages: it has {name_list(names)}" if has_records else "of no record"
        fix = "export it again with its messages, for a time with a rebalance"
        return SnapshotError(printable(f"is CSV {has}"), where=printable(self._name), fix=fix)

    def _csv_rows(self, reader: Any, columns: Sequence[str]) -> Iterator[StoredRecord]:
        names = [name if name not in columns[:place] else str(place) for place, name in enumerate(columns)]
        begins = reader.line_num + 1
        while True:
            try:
                values = next(reader, None)
            except csv.Error:
                yield StoredRecord(None, begins, "line", "its line is no CSV")
                begins = reader.line_num + 1
                continue
            if values is None:
                return
            without_name = map(str, range(len(names), len(values)))  # the line of names may be cut
            row = dict(zip([*names, *without_name], values, strict=False))
            envelope = of_row(row, self._is_marked, self._times) if values else None
            if envelope is not None:
                yield StoredRecord(envelope, begins, "line")
            begins = reader.line_num + 1


def _text_lines(blocks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from (f"{line.decode('utf-8', 'replace')}\n" for line in lines)
    if rest:
        yield rest.decode("utf-8", "replace")


def _is_document(first_line: bytes, *, has_more: bool) -> bool:
    """Tell whether a text is JSON that is no object a line."""
    begin = first_line.strip()
    if begin.startswith(b"["):
        return re.match(rb"\[\s*(?:[\[{\]]|\Z)", begin) is not None
    if not begin.startswith(b"{"):
        return False
    try:
        row = json.loads(begin)
    except (ValueError, RecursionError):
        return not has_more or begin.endswith((b"{", b"[", b","))
    fields = fields_of(row)
    return not any(isinstance(fields.get(name), str) for name in TEXT_FIELDS) and any(
        isinstance(value, list) and value and isinstance(value[0], Mapping | list) for value in fields.values()
    )


def _delimiter(header: str) -> str | None:
    """Return what stands between the names of a CSV export's columns; ``None``: it is none."""
    for delimiter in _DELIMITERS:
        try:
            names = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            return None
        has_text, has_time = (any(is_named(name, table) for name in names) for table in (TEXT_FIELDS, TIME_FIELDS))
        if len(names) > 1 and (has_text or has_time) and all(len(name) < 60 for name in names):
            return delimiter
    return "," if header.strip('"').lower() in TEXT_FIELDS else None


def _values(text: str) -> Iterator[Any]:
    """Yield the values that stand one after the other; of a list that is cut its items, and ``None`` for the rest."""
    decoder = json.JSONDecoder()
    position = _BETWEEN.match(text, 0).end()  # type: ignore[union-attr]
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield from _items_before_the_cut(text, position, decoder)
            yield None
            return
        yield value
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]


def _items_before_the_cut(text: str, position: int, decoder: json.JSONDecoder) -> Iterator[Any]:
    position = text.find("[", position) + 1
    while position:
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield value


def rows_in(text: str) -> list[Mapping[str, Any]]:
    """Return the records of a JSON document: those with messages, else what its first list holds, else itself."""
    values = list(_values(text))
    with_text = [row for value in values for row in _rows(value, _has_text)]
    lists = [inner for value in values if isinstance(value, Mapping) for inner in value.values()]
    inner_rows = [row for inner in lists if isinstance(inner, list) for row in _rows(inner, lambda _row: True)]
    return with_text or inner_rows or [row for value in values for row in _rows(value, lambda _row: True)]


def _rows(value: Any, is_record: Callable[[Mapping[str, Any]], bool]) -> list[Mapping[str, Any]]:
    """Return the records in a value: it is one, or the first list inside that holds some, shipper_moment first."""
    level = [value]
    for _ in range(6):
        for node in level:
            rows = _rows_of(node, is_record)
            if rows:
                return rows
        level = [inner for node in level for inner in _inside(node)]
    return []


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value[:10]


def _rows_of(value: Any, is_record: Callable[[Mapping[str, Any]], bool]) -> list[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("resourceLogs"), list):
            return list(_of_opentelemetry(value))
        columns = value.get("columns", value.get("fields"))  # Azure's tables, Splunk's
        if isinstance(columns, list) and isinstance(value.get("rows"), list):
            names = [column.get("name") if isinstance(column, Mapping) else column for column in columns]
            return [dict(zip(map(str, names), row, strict=False)) for row in value["rows"] if isinstance(row, list)]
        return [value] if is_record(value) else []
    if not isinstance(value, list):
        return []
    rows = [row for item in value for row in _rows_of_item(item)]
    return rows if any(map(is_record, rows)) else []


def _of_opentelemetry(batch: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of OpenTelemetry's JSON, with the attributes of the resource that they are from."""
    for resource in _mappings(batch, "resourceLogs"):
        attributes = _attributes(resource.get("resource"), "attributes")
        for scope in _mappings(resource, "scopeLogs"):
            for record in _mappings(scope, "logRecords"):
                body = _plain_value(record.get("body"))
                times = (record.get(name) for name in ("timeUnixNano", "observedTimeUnixNano"))
                logged_time = next((time for time in times if time not in (None, 0, "0")), None)
                message = body if isinstance(body, Mapping) else {"message": body}
                yield {"timestamp": logged_time, **message, **attributes, **_attributes(record, "attributes")}


def _attributes(node: Any, name: str) -> dict[str, Any]:
    pairs = _mappings(node, name) if isinstance(node, Mapping) else []
    return {str(pair.get("key")): _plain_value(pair.get("value")) for pair in pairs}


def _plain_value(value: Any) -> Any:
    """Return what one of OpenTelemetry's values is: a text, or names with values."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("kvlistValue")
    return value.get("stringValue") if inner is None else _attributes(inner, "values")


def _mappings(node: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = node.get(name)
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _rows_of_item(item: Any) -> list[Mapping[str, Any]]:
    if isinstance(item, list):  # CloudWatch Insights: a list of fields
        return [{"fields": item}]
    if not isinstance(item, Mapping):
        return []
    if isinstance(item.get("values"), list) and isinstance(item.get("stream"), Mapping):  # Loki
        pairs = [pair for pair in item["values"] if isinstance(pair, list) and len(pair) > 1]
        return [{"ts": pair[0], "line": pair[1], "labels": item["stream"]} for pair in pairs]
    return [item]


def _has_text(row: Mapping[str, Any]) -> bool:
    fields = fields_of(row)
    return any(isinstance(fields.get(name), str) for name in TEXT_FIELDS)


def _oldest_first(records: Sequence[StoredRecord]) -> Sequence[StoredRecord]:
    return records[::-1] if _are_newest_first(records) else records


def _are_newest_first(records: Iterable[StoredRecord]) -> bool:
    """Return True if times go back among the records of each source; sources may stand one after the other."""
    at_us: dict[str, list[int]] = {}
    for record in records:
        if record.envelope is not None and record.envelope.moment is not None:
            at_us.setdefault(record.envelope.stream, []).append(record.envelope.moment.us)
    all_us = [time for times in at_us.values() for time in times]
    pairs = [pair for times in at_us.values() for pair in pairwise(times)] or [*pairwise(all_us)]
    earlier = sum(next_us < first_us for first_us, next_us in pairs)
    later = sum(next_us > first_us for first_us, next_us in pairs)
    return earlier >= 1 and earlier > 4 * later


def _is_newest_first(at_us: Sequence[int], least: int = 1) -> bool:
    """Return True if times go back, but for a few."""
    earlier = sum(next_us < first_us for first_us, next_us in pairwise(at_us))
    later = sum(next_us > first_us for first_us, next_us in pairwise(at_us))
    return earlier >= least and earlier > 4 * later
