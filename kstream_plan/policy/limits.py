"""Policies: limits per application, how strict they are, and waivers with their last days."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

_WILDCARD = re.compile(r"\[!?\]?[^\]]*\]|[*?]", re.DOTALL)


class Level(StrEnum):
    """How much a violation counts."""

    ERROR = "error"
    WARNING = "warning"


class Percent(NamedTuple):
    """A part of a whole that only the plan knows, 0 to 100."""

    value: Decimal

    def part_of(self, whole: int) -> int:
        """Return how many of ``whole`` that is, rounded down."""
        return int(self.value * whole / 100)


#: ``distinct_tag_values``: the least number of values by tag, in tag order.
TagCounts: TypeAlias = tuple[tuple[str, int], ...]
#: A number (milliseconds for a duration), a part of a whole, a switch, counts per tag, or texts of which one must fit.
LimitValue: TypeAlias = int | Percent | bool | TagCounts | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """What one rule allows, how much it counts if a plan does not keep to it, and why there is the rule."""

    value: LimitValue
    level: Level = Level.ERROR
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Waiver:
    """Lets the applications of a glob off one rule, up to and including the day ``last_day``."""

    application: str
    rule: str
    last_day: date
    reason: str

    def covers(self, application_id: str, rule: str) -> bool:
        """Tell whether it is about this rule and application, in force or not."""
        return self.rule == rule and fnmatchcase(application_id, self.application)


#: The rule that every policy has, written or not.
ALWAYS = "must_settle"
#: The rule that every plan by a target file is held against, written or not.
WITH_TARGET = "must_follow_target"


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits by rule: for every application, and by glob (``*``, ``?``, ``[…]``; case counts) for some."""

    defaults: Mapping[str, Limit] = field(default_factory=lambda: MappingProxyType({}))
    applications: Mapping[str, Mapping[str, Limit]] = field(default_factory=lambda: MappingProxyType({}))
    waivers: tuple[Waiver, ...] = ()

    def limits(self, application_id: str) -> dict[str, Limit]:
        """Return the limits of one application: of each rule the one from the most specific glob that has it.

        More specific is an id without wildcards, then the glob with more characters that stand for themselves, then
        the one with fewer wildcards. A plan has to settle unless something else is said.
        """
        limits = {ALWAYS: Limit(True), **self.defaults}
        for glob in sorted(self.applications, key=_specificity):
            if fnmatchcase(application_id, glob):
                limits |= self.applications[glob]
        return limits

    def waivers_for(self, application_id: str, rule: str) -> list[Waiver]:
        """Return the waivers of one rule and application, the longest lasting first."""
        waivers = [waiver for waiver in self.waivers if waiver.covers(application_id, rule)]
        return sorted(waivers, key=lambda waiver: (-waiver.last_day.toordinal(), waiver.application, waiver.reason))


def _specificity(glob: str) -> tuple[bool, int, int, str]:
    wildcards = len(_WILDCARD.findall(glob))
    return not wildcards, len(_WILDCARD.sub("", glob)), -wildcards, glob
