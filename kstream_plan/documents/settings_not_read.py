"""What is missing in a file of settings: the value of a setting that it names, a file that it includes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from kstream_plan.documents.java_properties import Setting

#: ``kubectl set env --list`` comments variables out that are from elsewhere.
_COMMENT = re.compile(
    r"^(?!# \w+ from (?:configmap|secret) )\s*(?:[#;!*]|//|/\*|<!--|@?rem\s).*|\s(?:#|//).*", re.IGNORECASE
)
_INCLUDE = re.compile(r"^\s*include\s+(?:\w+\()*\"(?P<file>[^\"\n]+)\"")
#: In these settings of Spring and Quarkus stand the places of more settings.
_PLACES = re.compile(
    r"(?:spring[._]config[._](?:import|(?:additional[._-])?location)|(?:smallrye|quarkus)[._]config[._]locations)(?:\[\d+\])?",
    re.IGNORECASE,
)


def names_without_value(
    text: str, known: Collection[str], settings: Sequence[Setting], warnings: Sequence[str], where: str
) -> Iterator[str]:
    """Yield a warning for each known name in a text that neither settings nor warnings mention.

    Args:
        text: the file.
        known: the names that matter, with ``_`` for ``.``.
        settings: all that were read of it, under whatever names.
        warnings: the warnings about it so far.
        where: the file.
    """
    plain = [name for name in known if not any(name.endswith(f"_{other}") for other in known)]
    patterns = sorted((name.replace("_", "[._-]") for name in plain), key=len, reverse=True)
    named = re.compile(rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])", re.IGNORECASE)
    mentions = {
        _key(match[0]) for each in (*(each.name for each in settings), *warnings) for match in named.finditer(each)
    }
    for number, line in enumerate(text.splitlines(), 1):
        for match in named.finditer(_COMMENT.sub("", line)):
            if _key(match[0]) not in mentions:
                mentions.add(_key(match[0]))
                yield (
                    f"{where}, line {number}: {match[0]} is named, and no value of it is read: write it as NAME=VALUE "
                    "on a line of its own"
                )


def places_of_more(text: str, settings: Sequence[Setting], where: str) -> Iterator[str]:
    """Yield a warning for each place that a file takes further settings from, by HOCON's ``include`` or a setting."""
    places = [
        (number, match["file"])
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _INCLUDE.match(line)) is not None
    ]
    places += [(each.line, _text(each.value)) for each in settings if _PLACES.fullmatch(each.name) and each.value]
    for number, place in places:
        yield (
            f"{where}, line {number}: settings are also from {place}, which is not here: give that file, or add its "
            "lines"
        )


def _key(name: str) -> str:
    return re.sub("[.-]", "_", name.lower())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
