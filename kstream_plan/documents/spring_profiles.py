"""Which documents of a file count where Spring divides it by profiles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kstream_plan.documents.java_properties import Setting

#: What makes a document one that counts under a condition only.
CONDITION = re.compile(r"spring\.(?:config\.activate\.on-(?:profile|cloud-platform)|profiles)(?:\[\d+\])?")
_ACTIVE = re.compile(r"spring[._]profiles[._]active(?:\[\d+\])?", re.IGNORECASE)
_PROFILE_OF_NONE = "default"


def without_profiles(documents: Sequence[tuple[int, list[Setting]]], file_name: str) -> tuple[list[Setting], list[str]]:
    """Return the settings that count of the documents of one file, and a sentence for each document that does not.

    A document under a condition counts if its profile is one of ``spring.profiles.active``. Of the others all count in
    a file of Spring's, a later one before an earlier one; else the first.

    Args:
        documents: each with the line where it begins.
        file_name: the file.
    """
    conditions = [
        next((setting for setting in document if CONDITION.fullmatch(setting.name)), None) for _, document in documents
    ]
    active = _active(
        [document for (_, document), condition in zip(documents, conditions, strict=True) if condition is None]
    )
    is_spring = any(setting.name.startswith("spring.") for _, document in documents for setting in document)
    counted_places: list[int] = []
    for place, condition in enumerate(conditions):
        if (is_spring or not counted_places) if condition is None else _counts(condition, active):
            counted_places.append(place)
    counted_places = counted_places or [0]
    left_out = []
    for place, ((line, _), condition) in enumerate(zip(documents, conditions, strict=True)):
        if place not in counted_places:
            name = "" if condition is None else f" ({condition.name}: {_text(condition.value)})"
            reason = "one counts" if condition is None else "spring.profiles.active does not name it"
            left_out.append(f"{file_name}, line {line}: this document{name} is left out: {reason}")
    return [setting for place in counted_places if documents for setting in documents[place][1]], left_out


def _active(documents: Sequence[list[Setting]]) -> frozenset[str]:
    values = [_text(setting.value) for document in documents for setting in document if _ACTIVE.fullmatch(setting.name)]
    names = frozenset(name.strip() for value in values for name in value.split(",") if name.strip())
    return names or frozenset({_PROFILE_OF_NONE})


def _counts(condition: Setting, active: frozenset[str]) -> bool:
    """Tell whether one of a condition's profiles is active; expressions of several are none."""
    names = [name.strip() for name in _text(condition.value).split(",")]
    return any(name[1:] not in active if name.startswith("!") else name in active for name in names)


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
