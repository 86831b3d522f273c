"""Which documents of a file count where Spring divides it by profiles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kstream_plan.documents.java_properties import Setting

#: What makes a document one that counts under a condition only.
CONDITION = re.compile(r"spring\.(?:config\.activate\.on-(?:profile|cloud-platform)|profiles)(?:\[\d+\])?")
_ACTIVE = re.compile(r"spring[._]profiles[._]active(?:\[\d+\])?", re.IGNORECASE)
_PROFILE_OF_NONE = "default"


def without_profiles(documents: Sequence[tuple[int, list[Setting]]], where: str) -> tuple[list[Setting], list[str]]:
    """Return the settings that count of the documents of one file, and a sentence for each document that does not.

    A document under a condition counts if its profile is one of ``spring.profiles.active``. Of the others all count in
    a file of Spring's, a later one before an earlier one; else the first.

    Args:
        documents: each with the line where it begins.
        where: the file.
    """
    conditions = [
        next((each for each in document if CONDITION.fullmatch(each.name)), None) for _, document in documents
    ]
    active = _active([document for (_, document), each in zip(documents, conditions, strict=True) if each is None])
    is_spring = any(setting.name.startswith("spring.") for _, document in documents for setting in document)
    counting: list[int] = []
    for place, condition in enumerate(conditions):
        if (is_spring or not counting) if condition is None else _counts(condition, active):
            counting.append(place)
    counting = counting or [0]
    left_out = []
    for place, ((line, _), condition) in enumerate(zip(documents, conditions, strict=True)):
        if place not in counting:
            name = "" if condition is None else f" ({condition.name}: {_text(condition.value)})"
            reason = "one counts" if condition is None else "spring.profiles.active does not name it"
            left_out.append(f"{where}, line {line}: this document{name} is left out: {reason}")
    return [setting for place in counting if documents for setting in documents[place][1]], left_out


def _active(documents: Sequence[list[Setting]]) -> frozenset[str]:
    values = [_text(each.value) for document in documents for each in document if _ACTIVE.fullmatch(each.name)]
    names = frozenset(name.strip() for value in values for name in value.split(",") if name.strip())
    return names or frozenset({_PROFILE_OF_NONE})


def _counts(condition: Setting, active: frozenset[str]) -> bool:
    """Tell whether one of a condition's profiles is active; expressions of several are none."""
    names = [name.strip() for name in _text(condition.value).split(",")]
    return any(name[1:] not in active if name.startswith("!") else name in active for name in names)


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
