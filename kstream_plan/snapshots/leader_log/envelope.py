"""What stands around a message in a line: shippers' prefixes and JSON, colours, times.

Understood are text of any layout, JSON lines with the message in a field, Docker's ``json-file``, the containers' own
format (CRI), and the prefixes of ``kubectl logs --prefix``, ``stern`` and ``docker compose logs``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kstream_plan.snapshots.rows.times import parse_time_us

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: What is no UTF-8, as Python keeps it in a text.
_UNDECODED = re.compile("[\udc80-\udcff]+")
_CRI = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?::\S*)? (.*)", re.DOTALL)
_NO_LEVEL = r"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|STATUS)\b)"
_HOST_PREFIXES = (
    re.compile(r"\[pod/([^/\]\s]+)/[^\]\s]+\] "),  # kubectl logs --prefix
    re.compile(_NO_LEVEL + r"([\w.-]+) *\| ?"),  # docker compose logs
    re.compile(_NO_LEVEL + r"([\w.-]+) (?:\u203a )?[\w.-]+ (?=\[?\d{4}-\d\d-\d\d[T ])"),  # stern
)
_TIME = re.compile(
    r"(?<![\d.])(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|[+-]\d\d:?\d\d|UTC|GMT)(?![\w:]))?"
)
_RECORD_START = re.compile(r"\W{0,3}(?:(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b|\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d)")

#: Where JSON layouts have the message, and the time.
TEXT_FIELDS = ("message", "msg", "log", "@message", "short_message", "full_message", "MESSAGE", "textPayload")
TIME_FIELDS = ("@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "datetime", "eventTime")
_HOST_FIELDS = (
    ("kubernetes", "pod_name"),
    ("kubernetes", "pod", "name"),
    ("pod_name",),
    ("pod",),
    ("hostname",),
    ("host", "name"),
    ("host",),
)
_DOCKER_FIELDS = {"log", "stream", "time", "attrs"}
_JSON_STARTS = ('{"', '{ "')
_MAX_DEPTH = 4


class CutLineError(ValueError):
    """A line is a JSON object that ends too early."""


class Moment(NamedTuple):
    """A time, in microseconds since 1970, in UTC if it named no zone."""

    us: int
    zoned: bool


class Envelope(NamedTuple):
    """What a line holds.

    ``text`` is the innermost text, from which shippers' prefixes are gone; ``at`` is the time that the shipper or the
    JSON gives, ``host`` the name that they give. ``stream`` tells the lines of one source from others'; ``goes_on``
    says that the shipper split the line, and that the next line of the same stream continues it. ``was_json`` says that
    the text was a value in a JSON object.
    """

    text: str
    at: Moment | None = None
    host: str | None = None
    stream: str = ""
    goes_on: bool = False
    was_json: bool = False


def unwrap(line: bytes) -> Envelope:
    """Take a line, or a part of one, out of what shippers put around it.

    What is no UTF-8 is left to :func:`opened`, as the rest of a character may be in the next part; so is JSON.
    """
    text = _uncoloured(line.decode("utf-8", "surrogateescape"))
    host, text = _host_prefix(text)
    if match := _CRI.match(text):
        at, stream, flag, inner = match.groups()
        return Envelope(inner, _outermost_time(at), host, f"{host or ''} {stream}", goes_on=flag == "P")
    if row := _docker_row(text):
        inner, stream = row["log"], f"{host or ''} {row.get('stream')}"
        text, goes_on = inner.removesuffix("\n"), not inner.endswith("\n")
        return Envelope(text, _json_time(row), host, stream, goes_on, was_json=True)
    return Envelope(text, host=host, stream=host or "")


def opened(envelope: Envelope, wanted: Callable[[str], bool]) -> Envelope:
    """Return the message of a whole line that is JSON, or JSON inside JSON; any other line as it is.

    Args:
        envelope: the line.
        wanted: whether a text is a message that matters; decides which field of a JSON object is meant.

    Raises:
        CutLineError: it is a JSON object that ends too early.
    """
    envelope = envelope._replace(text=_uncoloured(_decoded(envelope.text)))
    for _ in range(_MAX_DEPTH):
        start = envelope.text.lstrip()
        if not start.startswith(_JSON_STARTS):
            break
        try:
            row = json.loads(start)
        except (ValueError, RecursionError):
            raise CutLineError("a JSON line that is cut or damaged") from None
        inner = _message(row, wanted)
        if inner is None:
            break
        envelope = envelope._replace(
            text=_uncoloured(inner.removesuffix("\n")),
            at=_json_time(row) or envelope.at,
            host=_json_host(row) or envelope.host,
            was_json=True,
        )
    return envelope


def header_time(header: str) -> Moment | None:
    """Return the time in what stands before a message: the last one with a zone, else the last one."""
    found = None
    for match in _TIME.finditer(header):
        moment = _moment(match)
        if moment is not None and (found is None or moment.zoned or not found.zoned):
            found = moment
    return found


def starts_a_record(text: str) -> bool:
    """Tell whether a line begins like a record of its own: with a time or a level."""
    return _RECORD_START.match(text) is not None


def _uncoloured(text: str) -> str:
    return _COLOUR.sub("", text) if "\x1b" in text else text


def _decoded(text: str) -> str:
    """Decode the bytes that were no UTF-8 in a part, but may be in the whole line."""
    if text.isascii():
        return text
    return _UNDECODED.sub(lambda found: found[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace"), text)


def _docker_row(text: str) -> dict[str, Any] | None:
    """Return a row of Docker's own log; other JSON is what the application logged."""
    if '"log"' not in text or '"stream"' not in text or not text.lstrip().startswith(_JSON_STARTS):
        return None
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_docker = isinstance(row, dict) and row.keys() <= _DOCKER_FIELDS and isinstance(row.get("log"), str)
    return row if is_docker else None


def _host_prefix(text: str) -> tuple[str | None, str]:
    for prefix in _HOST_PREFIXES:
        if match := prefix.match(text):
            return match[1], text[match.end() :]
    return None, text


def _message(row: Any, wanted: Callable[[str], bool]) -> str | None:
    if not isinstance(row, Mapping):
        return None
    named = [row[name] for name in TEXT_FIELDS if isinstance(row.get(name), str)]
    for text in [*named, *_texts(row, 0)]:
        if wanted(text):
            return str(text)
    return str(named[0]) if named else None


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for inner in value.values():
            yield from _texts(inner, depth + 1)


def _json_time(row: Mapping[str, Any]) -> Moment | None:
    for name in TIME_FIELDS:
        value = row.get(name)
        if isinstance(value, Mapping) and type(value.get("epochSecond")) is int:  # log4j's JSON template
            nanos = value.get("nanoOfSecond")
            return _epoch(value["epochSecond"] + (nanos if type(nanos) is int else 0) / 1e9)
        if isinstance(value, str) and (moment := _outermost_time(value)):
            return moment
        if isinstance(value, int | float) and not isinstance(value, bool) and (moment := _epoch(value)):
            return moment
    return None


def _epoch(value: float) -> Moment | None:
    """Read a number of seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by its size."""
    for limit, factor in ((1e11, 1e6), (1e14, 1e3), (1e17, 1), (1e20, 1e-3)):
        if 0 <= value < limit:
            return Moment(round(value * factor), zoned=True)
    return None


def _outermost_time(text: str) -> Moment | None:
    match = _TIME.search(text)
    return _moment(match) if match else None


def _moment(match: re.Match[str]) -> Moment | None:
    day, time, fraction, zone = match.groups()
    offset = "" if zone is None else "Z" if not zone.startswith(("+", "-")) else f"{zone[:3]}:{zone[-2:]}"
    try:
        return Moment(parse_time_us(f"{day}T{time}.{fraction or 0}{offset}"), zoned=zone is not None)
    except ValueError:
        return None


def _json_host(row: Mapping[str, Any]) -> str | None:
    for path in _HOST_FIELDS:
        value: Any = row
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, str) and value:
            return value
    return None
