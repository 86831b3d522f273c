"""What can go wrong with a document, a text or bytes; each change keeps most of it, so that readers get far."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
from collections.abc import Callable
from typing import Any

#: Names that break what does not escape them: markup, control bytes, a lone surrogate, another direction of writing.
EVIL = [
    "[red]x[/red]",
    "\x1b[31m",
    "\ud800",
    "\u202e",
    "a\nb",
    "<b>&|`",
    "\x00",
    "é" * 50,
    " ",
    "",
    "x" * 3_000,
    "..",
    "-",
]
NUMBERS = [0, 1, -1, 2, 3, 7, 100, 10**6, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30]
VALUES: list[Any] = [
    *NUMBERS,
    *EVIL,
    *[None, True, False, [], {}, [[]], {"": None}],
    *[0.5, 1.0, -0.0, 1e5, 1e308, float("nan"), float("inf")],
    *["0_0", "1_0", "9_99", "-1_0", "0_0_0", "a__0_0", "00_1", "2147483648_0"],
    *[
        "active",
        "standby",
        "settled",
        "classic",
        "streams",
        "eager",
        "2026-11-21T12:00:00Z",
        "9999-12-31T23:59:59.999Z",
    ],
]
_INSERTED = [
    b"\xff\xfe",
    b"\x00",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"=",
    b'"',
    b"\\u",
    b"\\",
    b"\n",
    b"\r",
    b"\t",
    b"#",
]
_INSERTED += [
    b"9" * 30,
    b"-",
    b"1e999",
    b"NaN",
    b"0_0",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"&a ",
    b"*a",
    b"!!",
    b"- ",
    b"<<: ",
]
_NUMBER = re.compile(rb"-?\d+")


def value(chance: random.Random) -> Any:
    """Return a value that a field hardly expects."""
    if chance.random() < 0.02:
        deep: Any = 0
        for _ in range(chance.choice((3, 10, 150))):
            deep = [deep] if chance.random() < 0.5 else {"a": deep}
        return deep
    return copy.deepcopy(chance.choice(VALUES))


def changed(document: Any, chance: random.Random, times: int | None = None) -> Any:
    """Return a copy of a JSON document in which one thing is another, or a few are."""
    found = json.loads(json.dumps(document))
    for _ in range(times or chance.choice((1, 1, 1, 2, 3, 5))):
        if not isinstance(found, dict | list) or not found:
            return value(chance)
        holder, key = _place(found, chance)
        chance.choice(_CHANGES)(holder, key, chance, found)
    return found


def _place(document: Any, chance: random.Random) -> tuple[Any, Any]:
    """A place in a document, the deeper the more there are."""
    holder = document
    while True:
        key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.15:
            return holder, key
        holder = inner


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: what holds it, and its name or number there."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, inner in items:
            found.append((holder, key))
            if isinstance(inner, dict | list) and len(found) < 20_000:
                waiting.append(inner)
    return found


def _replace(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    holder[key] = value(chance)


def _delete(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    del holder[key]


def _nudge(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    """A value that is nearly right: a number beside, a text with more, one of its kind."""
    inner = holder[key]
    if isinstance(inner, bool) or inner is None:
        holder[key] = not inner
    elif isinstance(inner, int):
        holder[key] = inner + chance.choice((-1, 1, -inner, inner, 10**12, -(10**6)))
    elif isinstance(inner, float):
        holder[key] = chance.choice((-inner, inner * 2, inner / 3))
    elif isinstance(inner, str):
        holder[key] = chance.choice((inner + " ", inner.upper(), inner[:-1], inner + chance.choice(EVIL), inner * 2))
    elif isinstance(inner, list):
        chance.shuffle(inner)
    else:
        inner[chance.choice(("x", "", "kind", "version", "config", "at"))] = value(chance)


def _rename(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    name = chance.choice((f"{key}s", str(key).upper(), str(key)[:-1], chance.choice(EVIL)))
    if isinstance(holder, dict):
        holder[name] = holder.pop(key)
    else:
        holder.insert(key, copy.deepcopy(holder[key]))


def _exchange(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    """What stands at two places, the one at the other; never one inside the other."""
    other, name = _place(whole, chance)
    try:
        holder[key], other[name] = copy.deepcopy(other[name]), copy.deepcopy(holder[key])
    except (KeyError, IndexError):
        return


def _as_elsewhere(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    """A value that another field of the same name has: ids that are there already."""
    alike = [
        item[name] for item, name in _places(whole) if name == key and item is not holder and isinstance(name, str)
    ]
    if alike:
        holder[key] = copy.deepcopy(chance.choice(alike))


def _repeat(holder: Any, key: Any, chance: random.Random, whole: Any) -> None:
    if isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key]) for _ in range(chance.choice((1, 2, 30)))]


_CHANGES = [_replace, _replace, _delete, _nudge, _nudge, _rename, _exchange, _as_elsewhere, _as_elsewhere, _repeat]


def json_bytes(document: Any, chance: random.Random) -> bytes:
    """Return a document as somebody may write it, sometimes with a name twice."""
    indent = chance.choice((None, None, None, 1))
    text = json.dumps(document, indent=indent, ensure_ascii=chance.random() < 0.7, sort_keys=chance.random() < 0.2)
    if chance.random() < 0.05 and "{" in text:
        place = chance.choice([match.end() for match in re.finditer(r"\{", text)][:200])
        text = f'{text[:place]}"a": 1, "a": 2{"" if text[place : place + 1] == "}" else ","}{text[place:]}'
    return text.encode("utf-8", "surrogatepass")


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _cut_out(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.randint(1, 200) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data or b" ")
    for _ in range(chance.randint(1, 4)):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_INSERTED) * chance.choice((1, 1, 1, 1, 2, 300, 20_000)) + data[at:]


def _other_number(data: bytes, chance: random.Random) -> bytes:
    found = list(_NUMBER.finditer(data, chance.randrange(len(data) + 1)))[:50]
    if not found:
        return data
    match = chance.choice(found)
    return data[: match.start()] + str(chance.choice(NUMBERS)).encode() + data[match.end() :]


def _lines_in_other_order(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines.insert(to, lines.pop(at))
    return b"".join(lines)


def _line_twice(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], *[lines[at]] * chance.choice((2, 3, 40)), *lines[at + 1 :]])


def _line_gone(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], *lines[at + 1 :]])


def _indented(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    lines[at] = chance.choice((b"  " + lines[at], lines[at].lstrip(), b"\t" + lines[at], b"- " + lines[at].lstrip()))
    return b"".join(lines)


def _run_of_something(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    piece = data[at : at + chance.randint(1, 40)]
    return data[:at] + piece * chance.choice((2, 50, 500)) + data[at:]


def _other_line_ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\x0b\n", b"\xe2\x80\xa8")))


_OF_TEXT: list[Callable[[bytes, random.Random], bytes]] = [
    *[_cut, _cut_out, _flip, _insert, _insert, _other_number, _other_number],
    *[_lines_in_other_order, _line_twice, _line_gone, _indented, _run_of_something, _other_line_ends],
]
_OF_BYTES = [_cut, _cut_out, _flip, _flip, _insert]


def text(data: bytes, chance: random.Random) -> bytes:
    """Return a text to which one thing or a few have happened."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        data = chance.choice(_OF_TEXT)(data, chance)
    return data[:400_000]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return bytes to which one thing or a few have happened."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(_OF_BYTES)(data, chance)
    return data


def packed(data: bytes, chance: random.Random) -> bytes:
    """Return data as they are, or as a shipper, an editor or a broken copy may leave them."""
    how = chance.random()
    if how < 0.90:
        return data
    if how < 0.95:
        return gzip.compress(data, 1)
    if how < 0.97:
        return damaged(gzip.compress(data, 1), chance)
    return b"\xef\xbb\xbf" + data if how < 0.985 else damaged(data, chance)


def document(seeds: list[Any], chance: random.Random) -> bytes:
    """Return JSON that is nearly one of these documents."""
    return packed(json_bytes(changed(chance.choice(seeds), chance), chance), chance)
