"""The lines of a text saved from a terminal, a log or a page, without prompts, prefixes and marks around them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from kstream_plan.snapshots.files.content import uncoloured, unescaped
from kstream_plan.snapshots.leader_log.log_fields import TEXT_FIELDS, fields_of

#: What editors make of ``-->`` and ``<--``.
_ARROW_ON = re.compile("(?:\u2192|\u27f6|[\u2013\u2014]>)(?= )")
_ARROW_BACK = re.compile("(?:\u2190|\u27f5|<[\u2013\u2014])(?= )")
_SPACES = re.compile("[\xa0\u2000-\u200a\u202f\u205f\u3000]")
_PAGE = re.compile(r"<(?:pre|br|code|span|div|p|td)\b", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>")
#: A line's number, or the sign of a line that was added.
_NUMBERED = re.compile(
    r"^(?:[ \t]{0,8}\d{1,6}(?:[:\t]| {1,2})|\+)"
    r"(?=[ \t]*(?:Topologies:|Sub-topolog|Source:|Processor:|Sink:|-->|<--|\r?$))",
    re.MULTILINE,
)


def saved_lines(text: str) -> list[str]:
    """Return the lines of a text: ends of lines that are escaped count, and so do signs of HTML."""
    text = _of_records(_SPACES.sub(" ", uncoloured(text)))
    if text.count("\\n") > text.count("\n"):
        text = text.replace("\\n", "\n").replace("\\t", "\t").rstrip("\"'}], \n")
    if text.count("#012") > text.count("\n"):
        text = text.replace("#012", "\n").replace("#011", "\t")
    if _PAGE.search(text):
        text = _TAG.sub("", text)
    text = _ARROW_BACK.sub("<--", _ARROW_ON.sub("-->", unescaped(text)))
    return _NUMBERED.sub("", text).splitlines()


def _of_records(text: str) -> str:
    """Return what records of a log in JSON say, if each line is one."""
    lines = text.splitlines()
    if not any(line.startswith("{") for line in lines[:1]) or len(lines) < 2:
        return text
    messages = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return text
        fields = fields_of(row) if isinstance(row, Mapping) else {}
        message = next((fields[name] for name in TEXT_FIELDS if isinstance(fields.get(name), str)), None)
        messages += [] if message is None else [message.removesuffix("\n")]
    return "\n".join(messages) if messages else text
