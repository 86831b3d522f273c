"""Values of YAML files that people write: how each is read, and its JSON Schema.

What YAML may take for a number or a truth value is a text to the readers, so the schemas allow both.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from kstream_plan.documents.codec import Codec, Json, with_name
from kstream_plan.documents.quantities import DURATION_TEXT, RATE_TEXT, parse_duration, parse_rate
from kstream_plan.documents.yaml_node import BOOLEANS, YamlNode
from kstream_plan.model.settings import MAX_LONG


def fitting(pattern: str) -> str:
    """Return the pattern of a whole text, blanks around it or not."""
    return rf"^\s*(?:{pattern})\s*$"


def number(kind: str, pattern: str, description: str = "", **bounds: Json) -> dict[str, Json]:
    """Return the schema of an ``integer`` or ``number``, or of a text that the pattern fits."""
    description_keyword: dict[str, Json] = {"description": description} if description else {}
    return {**description_keyword, "type": [kind, "string"], "pattern": fitting(pattern), "minimum": 0, **bounds}


def whole(low: int, high: int) -> Codec[int]:
    """Return the codec of whole numbers from ``low`` to ``high``."""
    schema: dict[str, Json] = {"type": ["integer", "string"], "pattern": "^[0-9]{1,19}$", "maximum": high}
    return Codec(lambda node: node.whole_number(low, high), None, at_least(low, schema))


def at_least(lowest: int, schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of numbers that are not below ``lowest``; of texts only 0 is excluded."""
    zero: Json = {"type": "string", "pattern": r"^\s*[0_]+\s*$"}
    return {**schema, "minimum": lowest, **({"not": zero} if lowest > 0 else {})}


def _any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


TEXT: Codec[str] = Codec(YamlNode.text, None, {"type": ["string", "number", "boolean"], "pattern": r"\S"})
NAMES: Codec[tuple[str, ...]] = Codec(
    YamlNode.names,
    None,
    {
        "type": ["string", "array"],
        "pattern": r"\S",
        "items": {"type": "string", "pattern": r"\S"},
        "minItems": 1,
        "uniqueItems": True,
    },
)
SWITCH: Codec[bool] = Codec(
    YamlNode.boolean,
    None,
    {"type": ["boolean", "string"], "pattern": f"^(?:{'|'.join(map(_any_case, BOOLEANS))})$"},
)
DURATION_SCHEMA = number(
    "integer", DURATION_TEXT, "A duration: 90s, 10m, 1.5h; a bare number is milliseconds.", maximum=MAX_LONG
)
DURATION: Codec[int] = with_name(
    "duration", Codec(partial(YamlNode.parse_text, parse=parse_duration), None, DURATION_SCHEMA)
)
RATE: Codec[float] = with_name(
    "rate",
    Codec(
        partial(YamlNode.parse_text, parse=parse_rate),
        None,
        number("number", RATE_TEXT, "Records per second: 5000/s, 300000/m; a bare number is per second."),
    ),
)


def mapping(properties: dict[str, Json], required: Iterable[str] = (), **keywords: Any) -> dict[str, Json]:
    """Return the schema of a mapping that has no other names."""
    names: list[Json] = list(required)
    required_keyword: dict[str, Json] = {"required": names} if names else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **required_keyword, **keywords}
