"""What comes of a scenario: its plan, what chance does to it, what each event leads to, what other settings would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kstream_plan.model.scenario import Event, Scenario
from kstream_plan.plans.plan import Plan


class Range(NamedTuple):
    """A figure over all draws."""

    median: int
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """How the draws of a scenario come out: their number, the one that is shown, and the range of every figure.

    ``settled``: how many of them settle. ``shown`` is the draw whose figures are nearest to the medians. ``worst``:
    rule of a policy → what it measures in its worst draw; empty for one draw, its plan tells that.
    ``least_restored_records`` is the least that had to be restored in each; ``None``: nobody asked, or it is not known.
    """

    number: int
    shown: int
    settled: int
    worst: Mapping[str, int | None]
    duration_ms: Range
    probing_rebalances: Range
    rebalances: Range
    moves: Range
    cold_handovers: Range
    restored_records: Range
    max_paused_ms: Range
    least_restored_records: Range | None = None


class OverDraws(NamedTuple):
    """How many draws there are, how many of them do not settle, and what rules measure in the worst one.

    ``worst`` is by rule (``None``: unknown in one of the draws). A rule about client tags is there once per tag, as
    ``distinct_tag_values zone``; a rule that has nothing to measure in any draw is not there.
    """

    number: int
    unsettled: int
    worst: Mapping[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The same scenario with one other setting (name of ``AssignmentConfig``)."""

    setting: str
    value: int
    verdict: Literal["settled", "stuck", "cyclic", "unfinished"]
    duration_ms: int
    duration_is: Literal["floor", "estimate"]
    rebalances: int
    moves: int
    peak_extra_copies: int
    cold_handovers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """What follows from one event, until the next one.

    ``warm_ms``: after so long no copy has to be waited for any more (no further probe is asked for);
    ``balanced_ms``: after so long every task is where it stays. ``None``: not before the next event, or never.
    """

    event: Event
    rebalances: int
    hops: int
    cold_handovers: int
    warm_ms: int | None
    balanced_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What comes of a scenario. ``draws`` is ``None`` if nothing in it is random; ``scenario`` is as it was played.

    ``cure``: a setting with which a group settles that does not, if one was found. ``record_size``: so many bytes has a
    record, if what is restored is to be told in bytes as well.
    """

    plan: Plan
    scenario: Scenario
    draws: Draws | None
    events: tuple[EventOutcome, ...]
    what_ifs: tuple[WhatIf, ...]
    cure: WhatIf | None = None
    record_size: int | None = None

    @property
    def over_draws(self) -> OverDraws | None:
        """What the rules of a policy go by, of all draws; ``None`` if nothing is random."""
        draws = self.draws
        return None if draws is None else OverDraws(draws.number, draws.number - draws.settled, draws.worst)
