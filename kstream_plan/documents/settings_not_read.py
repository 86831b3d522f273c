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
    text: str, known_names: Collection[str], settings: Sequence[Setting], warnings: Sequence[str], file_name: str
) -> Iterator[str]:
    """Yield a warning for each known name in a text that neither settings nor warnings mention.

    Args:
        text: the file.
        known_names: the names that matter, with ``_`` for ``.``.
        settings: all that were read of it, under whatever names.
        warnings: the warnings about it so far.
        file_name: the file.
    """
    plain = [name for name in known_names if not any(name.endswith(f"_{suffix}") for suffix in known_names)]
    patterns = sorted((name.replace("_", "[._-]") for name in plain), key=len, reverse=True)
    name_pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])", re.IGNORECASE)
    mentions = {
        _key(match[0])
        for mention in (*(setting.name for setting in settings), *warnings)
        for match in name_pattern.finditer(mention)
    }
    for number, line in enumerate(text.splitlines(), 1):
        for match in name_pattern.finditer(_COMMENT.sub("", line)):
            if _key(match[0]) not in mentions:
                mentions.add(_key(match[0]))
                yield (
                    f"{file_name}, line {number}: {match[0]} is named, and no value of it is read: write it as "
                    "NAME=VALUE on a line of its own"
                )


def places_of_more(text: str, settings: Sequence[Setting], file_name: str) -> Iterator[str]:
    """Yield a warning for each place that a file takes further settings from, by HOCON's ``include`` or a setting."""
    places = [
        (number, match["file"])
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _INCLUDE.match(line)) is not None
    ]
    places += [
        (setting.line, _text(setting.value))
        for setting in settings
        if _PLACES.fullmatch(setting.name) and setting.value
    ]
    for number, place in places:
        yield (
            f"{file_name}, line {number}: settings are also from {place}, which is not here: give that file, or add "
            "its lines"
        )


def _key(name: str) -> str:
    return re.sub("[.-]", "_", name.lower())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
