"""What stands around a message in a line: shippers' prefixes and JSON, colours, times.

Understood are text of any layout, JSON lines with the message in a field (:mod:`.log_fields`), Docker's ``json-file``,
the containers' own format (CRI), and the prefixes of ``kubectl logs --prefix``, ``stern``, ``docker compose logs``,
syslog and the journal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kstream_plan.snapshots.files.content import uncoloured, unescaped
from kstream_plan.snapshots.leader_log.log_fields import HOST_FIELDS, TEXT_FIELDS, TIME_FIELDS, fields_of, text_of
from kstream_plan.snapshots.leader_log.log_times import LogTimes, Moment

#: What is no UTF-8, as Python keeps it in a text.
_UNDECODED = re.compile("[\udc80-\udcff]+")
_CRI = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?::\S*)? (.*)", re.DOTALL)
_NO_LEVEL = r"(?!(?i:[TDIWEF]|TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|STATUS)\b(?![.-]))"
_HOST_PREFIXES = (
    re.compile(r"\[pod/([^/\]\s]+)/[^\]\s]+\] "),  # kubectl logs --prefix
    re.compile(
        r"\s{0,9}" + _NO_LEVEL + r"(?!\d[\d-]*(?:\.\d+){0,2} *\|)([\w.-]+) *\| ?"
    ),  # docker compose logs, but for a date
    re.compile(_NO_LEVEL + r"([\w.-]+) (?:\u203a )?[\w.-]+ (?=\[?\d{4}-\d\d-\d\d[T ])"),  # stern
)
#: What syslog and the journal put before a line: time, host, and the program with its process id.
_SYSLOG = re.compile(
    r"(?:(?:<\d{1,3}>)?(?P<short>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) (?P<host>[\w.:-]+) "
    r"(?P<program>[\w./@-]+(?:\[\d+\])?): ?"
    r"|(?P<iso>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)) (?P<host2>[\w.:-]+) (?P<program2>[\w./@-]+\[\d+\]): ?"
    r"|<\d{1,3}>1 (?P<new>\S+) (?P<host3>\S+) (?P<program3>\S+ \S+) \S+ (?:-|\[[^\]]*\]) ?)"
)
_SYSLOG_GROUPS = (("short", "iso", "new"), ("host", "host2", "host3"), ("program", "program2", "program3"))
_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE|FINE|FINER|FINEST|CONFIG)\b")
_RECORD_START = re.compile(
    r"\W{0,3}(?:(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE)\b"
    r"|\d{4}[-/.]\d\d[-/.]\d\d[T ]\d|\d\d:\d\d:\d\d|\d{8}[ T]\d\d:?\d\d|\d{13}(?:\d{3}){0,2}[ \]]"
    r"|\d\d?[-/. ](?:\d\d?|[A-Z][a-z]{2,8}\.?)[-/. ]\d{2,4}[ ,:T]{1,2}\d\d?:"
    r"|[A-Z][a-z]{2} [ \d]?\d,? (?:\d{4},? )?(?:@ )?\d\d?:\d\d:)"
)

_DOCKER_FIELDS = {"log", "stream", "time", "attrs"}
_JSON_STARTS = ('{"', '{ "')
_MAX_DEPTH = 4
_LONGEST_LIST = 100
_LONGEST_TIME = 40


class CutLineError(ValueError):
    """A line is a JSON object that ends too early."""


class Envelope(NamedTuple):
    """What a line holds.

    ``text`` is the innermost text, without shippers' prefixes; ``moment`` is the time that the shipper or the JSON
    gives, ``host`` the name that they give. ``stream`` tells the lines of one source from others'; ``goes_on`` says
    that the shipper split the line, and that the next line of the same stream continues it. ``was_json`` says that the
    text was a value in a JSON object.
    """

    text: str
    moment: Moment | None = None
    host: str | None = None
    stream: str = ""
    goes_on: bool = False
    was_json: bool = False


def unwrap(line: bytes, times: LogTimes) -> Envelope:
    """Take a line, or a part of one, out of what shippers put around it.

    What is no UTF-8 is left to :func:`unwrap_json`, as the rest of a character may be in the next part; so is JSON.
    """
    text = uncoloured(line.decode("utf-8", "surrogateescape"))
    host, text = _host_prefix(text)
    if match := _CRI.match(text):
        time_text, stream, flag, inner = match.groups()
        return Envelope(inner, times.in_text(time_text), host, f"{host or ''} {stream}", goes_on=flag == "P")
    if row := _docker_row(text):
        inner, stream = row["log"], f"{host or ''} {row.get('stream')}"
        text, goes_on = inner.removesuffix("\n"), not inner.endswith("\n")
        return Envelope(text, times.in_value(row.get("time")), host, stream, goes_on, was_json=True)
    if host is None and (match := _SYSLOG.match(text)):
        time_text, host, program = (next(filter(None, match.group(*names))) for names in _SYSLOG_GROUPS)
        return Envelope(text[match.end() :], times.in_text(time_text), host, f"{host} {program}")
    return Envelope(text, host=host, stream=host or "")


def of_row(row: Mapping[str, Any], is_marked: Callable[[str], bool], times: LogTimes) -> Envelope | None:
    """Return the record that an object of a log store is; ``None``: it has no message.

    Args:
        row: the object, with its fields under the names of :mod:`.log_fields`.
        is_marked: whether a text is a message that matters; decides which field is meant.
        times: what reads the log's times.
    """
    fields = fields_of(row)
    text = _message(fields, row, is_marked)
    if text is None:
        return None
    host = next((value for name in HOST_FIELDS if isinstance(value := fields.get(name), str) and value), None)
    return Envelope(uncoloured(text.removesuffix("\n")), _time_of(fields, times), host, host or "", was_json=True)


def unwrap_json(envelope: Envelope, is_marked: Callable[[str], bool], times: LogTimes) -> Envelope:
    """Return the message of a whole line that is JSON, or JSON inside JSON; any other line as it is.

    Args:
        envelope: the line.
        is_marked: whether a text is a message that matters; decides which field of a JSON object is meant.
        times: what reads the log's times.

    Raises:
        CutLineError: it is a JSON object that ends too early.
    """
    envelope = envelope._replace(text=unescaped(uncoloured(_decoded(envelope.text))))
    for _ in range(_MAX_DEPTH):
        start = envelope.text.lstrip()
        if not start.startswith(_JSON_STARTS):
            break
        try:
            row = json.loads(start)
        except (ValueError, RecursionError):
            raise CutLineError("a JSON line that is cut or damaged") from None
        inner = of_row(row, is_marked, times) if isinstance(row, Mapping) else None
        if inner is None:
            break
        host = inner.host or envelope.host
        moment, stream = inner.moment or envelope.moment, envelope.stream or inner.stream
        envelope = inner._replace(moment=moment, host=host, stream=stream)
    return envelope


def starts_a_record(text: str) -> bool:
    """Tell whether a line begins like a record of its own: with a time or a level."""
    return _RECORD_START.match(text) is not None


def has_level(text: str) -> bool:
    """Tell whether a level is anywhere in a line."""
    return _LEVEL.search(text) is not None


def is_empty(text: str) -> bool:
    """Tell whether a line has no more than a time in it, as a shipper puts one before every line."""
    return len(text) < _LONGEST_TIME and " " not in text.strip()


def _decoded(text: str) -> str:
    """Decode the bytes that were no UTF-8 in a part, but may be in the whole line."""
    if text.isascii():
        return text
    return _UNDECODED.sub(lambda match: match[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace"), text)


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


def _message(fields: Mapping[str, Any], row: Mapping[str, Any], is_marked: Callable[[str], bool]) -> str | None:
    field_texts = [text for name in TEXT_FIELDS if (text := text_of(fields.get(name))) is not None]
    for text in [*field_texts, *texts_in(row)]:
        if is_marked(text):
            # Graylog's short message is the beginning of its full one
            return max((field_text for field_text in field_texts if field_text.startswith(text)), key=len, default=text)
    return field_texts[0] if field_texts else None


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in a value of JSON, those of its objects and lists too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list) and depth < _MAX_DEPTH:
        for inner in value.values() if isinstance(value, Mapping) else value[:_LONGEST_LIST]:
            yield from texts_in(inner, depth + 1)


def _time_of(fields: Mapping[str, Any], times: LogTimes) -> Moment | None:
    for name in TIME_FIELDS:
        value = fields.get(name)
        if isinstance(value, Mapping) and type(value.get("epochSecond")) is int:  # log4j's JSON template
            nanos = value.get("nanoOfSecond")
            return times.in_value(value["epochSecond"] + (nanos if type(nanos) is int else 0) / 1e9)
        moment = times.in_value(value)
        if moment is not None:
            return moment
    return None
