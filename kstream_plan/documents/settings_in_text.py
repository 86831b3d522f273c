"""Settings scattered in a text: in Java, Kotlin or Scala, in commands of a shell, in a Dockerfile, in ksqlDB's SET.

A name is known by its quotes, its dots or its capitals, or is a constant of Kafka's (``NUM_STANDBY_REPLICAS_CONFIG``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from operator import itemgetter

from kstream_plan.documents.java_properties import Setting, UnknownValue

_COMMENT = re.compile(r"/\*.*?\*/|<!--.*?-->|(?:^|(?<=\s))//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_KEY = (
    r"(?:(?<!\w)(?P<client>[a-z]\w{0,20})Prefix\(\s*(?:\w{1,60}\.)?)?"
    r"(?P<key>(?P<quote>[\"'])(?P<quoted>[\w.-]{1,200})(?P=quote)"
    r"|(?<![\w.])(?:-D|--)?(?P<bare>[A-Za-z_][\w.-]*))"
)
_VALUE = (
    r"(?:\"(?P<text>[^\"\n]*)\"|'(?P<single>[^'\n]*)'"
    r"|(?:(?:Integer|Long)\.(?:valueOf|toString)\()?"
    r"(?P<product>[\d_]+[lL]?(?:[ \t]*\*[ \t]*[\d_]+[lL]?)*)(?!\)?\s*(?:[+*%?]|-\s))"
    r"(?=\s*(?:[),;\s\\\"'\]}]|: ?(?:java\.lang\.)?[A-Z]|$))"
    r"|(?P<expression>[^\n]+))"
)
_PAIR = re.compile(_KEY + r"\s*+(?:\)\s*+)?(?:,|\]\s*=|=|:|->|=>|\bto\b)[ \t]*+(?:\n[ \t]*+)?" + _VALUE)
_NAME_AND_VALUE = re.compile(
    r"\b(?:name|key)[\"']?\s*[=:]\s*[\"']?(?P<name>[\w.-]+)[\"']?\s*+(?:,\s*+)?[\"']?value[\"']?\s*[=:]\s*[\"']?(?P<value>[^\"'\s,}]*)",
    re.IGNORECASE,
)
#: An element of XML with the value inside.
_ELEMENT = re.compile(
    r"<\w+\s+(?:name|key)\s*=\s*[\"'](?P<name>[\w.-]+)[\"']\s*>\s*(?:<value>)?\s*(?P<value>[^<]*?)\s*</"
)
_CODE = re.compile(r"\b[A-Z][A-Z_]+_CONFIG\b|\.(?:put|setProperty)\(|^(?:import|package) [\w.]+", re.MULTILINE)
_CONSTANT = re.compile(r"(?:\w+\.)?([A-Z][A-Z0-9_]*)_CONFIG")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(r"\d+")
#: What divides the cells of a table's line, of Markdown or a spreadsheet, and what a cell may stand in.
_BETWEEN_CELLS, _AROUND_CELL = re.compile(r"[ \t]*\|[ \t]*|[ ]*\t[ \t]*|[ ]{2,}"), " \t`*\"'"
_NAME_IN_CELL = re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)+|[A-Z]+(?:_[A-Z]+)+")
_NEXT_CELL, _TAG = re.compile(r"</t[dh]>\s*<t[dh]\b[^>]*>"), re.compile(r"</?t(?:able|body|head|r|d|h)\b[^>]*>")
_HEADS_OF_VALUES = ("value", "values", "current", "current value", "setting value")


def looks_like_code(text: str) -> bool:
    """Tell whether a text is of Java, Kotlin or Scala."""
    return _CODE.search(text) is not None


def settings_in_text(text: str) -> list[Setting]:
    """Return the texts that look like settings, in their order."""
    plain = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    matches = [*_NAME_AND_VALUE.finditer(plain), *_ELEMENT.finditer(plain)]
    pairs: list[tuple[int, str, object]] = [(match.start(), match["name"], match["value"]) for match in matches]
    spans = [match.span() for match in matches]
    pairs += (pair for pair in _pairs(plain) if not any(start <= pair[0] < end for start, end in spans))
    rows = [(plain.count("\n", 0, start) + 1, name, value) for start, name, value in pairs]
    return [Setting(name, value, line) for line, name, value in sorted([*rows, *_in_tables(text)], key=itemgetter(0))]


def _in_tables(text: str) -> Iterator[tuple[int, str, object]]:
    """Yield the lines of tables, of Markdown or a spreadsheet, that begin with a name: its value is in the next column.

    Of more columns that one counts whose head says that it has the values.
    """
    text = _TAG.sub("\n", _NEXT_CELL.sub(" | ", text))
    column, values_by_name = 0, dict[str, object]()
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip(_AROUND_CELL) for cell in _BETWEEN_CELLS.split(line.strip("| \t"))]
        if not _NAME_IN_CELL.fullmatch(cells[0]):
            heads = [place for place, cell in enumerate(cells) if place and cell.lower() in _HEADS_OF_VALUES]
            column = heads[0] if len(heads) == 1 else 0 if heads else column
        elif len(cells) > 1:
            place = column if len(cells) > 2 else 1
            value: object = cells[place] if 0 < place < len(cells) else None
            if value is None:
                value = UnknownValue("a table of several columns", "keep those of the names and the values")
            elif values_by_name.setdefault(cells[0], value) != value:
                value = UnknownValue("two tables that differ", "keep the one that counts")
            yield number, cells[0], value


def _pairs(text: str) -> Iterator[tuple[int, str, object]]:
    position = 0
    while (match := _PAIR.search(text, position)) is not None:
        name = _name(match)
        # A value that is an expression may hold other pairs, as does what follows a word that is no name.
        position = match.end() if name and match["expression"] is None else match.end("key")
        if name and (value := _value(match)) is not None:
            yield match.start(), name, value


def _name(match: re.Match[str]) -> str:
    name = str(match["quoted"] or match["bare"])
    constant = _CONSTANT.fullmatch(name)
    if constant is not None:
        name = constant[1].lower().replace("_", ".")
    is_name = constant or "." in name or (name.isupper() and "_" in name)
    client = _HUMP.sub(".", match["client"]).lower() + "." if match["client"] else ""
    return f"{client}{name}" if is_name else ""


def _value(match: re.Match[str]) -> object:
    if (text := match["text"] if match["text"] is not None else match["single"]) is not None:
        return text
    if match["product"]:
        return str(math.prod(int(number) for number in _NUMBER.findall(match["product"].replace("_", ""))))
    expression = match["expression"].strip()
    if match["bare"] is None or _CONSTANT.fullmatch(match["bare"]):
        expression = expression.rstrip("; ,")
        if expression.count(")") > expression.count("("):
            expression = expression.removesuffix(")")
        return UnknownValue(f"what {expression[:80]} is", "write the value itself")
    return expression.split()[0].rstrip(";,\\)\"'") if expression else None
