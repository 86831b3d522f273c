"""How fast state is restored and written, and what that rests on, as one of the first lines."""

from __future__ import annotations

from collections.abc import Collection

from kstream_plan.plans import Plan
from kstream_plan.plans.known_rates import GIVEN, KnownRate
from kstream_plan.render.text.numbers import span
from kstream_plan.render.text.page import Fact

_SOURCES = {
    "log": "the leader's log",
    "offsets-topic": "the offsets topic",
    "lags": "lags over time",
    "metrics": "metrics",
    GIVEN: "options",
}


def rates_facts(plan: Plan) -> list[Fact]:
    """Return what is restored and written per second, with its evidence; nothing if neither is known."""
    restore, produce = plan.rates
    known = [
        (of, word, each) for of, word, each in ((restore, "restored", "instance"), (produce, "written", "task")) if of
    ]
    if not known:
        return []
    source = _source([of for of, _, _ in known])
    ranges, figures = (
        ", ".join(f"{word} {_rate(of)} per {each}{_evidence(of, each, ranges=ranges)}" for of, word, each in known)
        for ranges in (True, False)
    )
    return [Fact("RATES", (f"{ranges}{source}", f"{figures}{source}"))]


def _rate(of: KnownRate) -> str:
    return f"{'≥ ' if of.at_least else ''}{_figure(of.median)}/s"


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 or rate == round(rate) else f"{rate:.1f}"


def _evidence(of: KnownRate, each: str, *, ranges: bool) -> str:
    """Return ``(381-412: 3 of 4 instances, 1-3 intervals)``."""
    if GIVEN in of.sources:
        return ""
    least, most = _figure(of.least), _figure(of.most)
    between = f"{least}-{most}: " if ranges and least != most else ""
    noun = each if of.among == 1 else f"{each}s"
    intervals = span(of.least_intervals, of.most_intervals)
    times = f", {intervals} {'interval' if intervals == '1' else 'intervals'}" if of.least_intervals else ""
    return f" ({between}{of.measured:,} of {of.among:,} {noun}{times})"


def _source(known: Collection[KnownRate]) -> str:
    """Return ``; from the leader's log``; empty if nobody knows."""
    sources = [word for source, word in _SOURCES.items() if any(source in of.sources for of in known)]
    return f"; from {' and '.join(sources)}" if sources else ""
