"""How fast state is restored and written, and what that is known from."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.plans import Plan
from kstream_plan.plans.known_rates import GIVEN, KnownRate
from kstream_plan.render.text.numbers import count, rate_text, span_to

_SOURCES = {
    "log": "the leader's log",
    "offsets-topic": "the offsets topic",
    "lags": "lags over time",
    "metrics": "metrics",
    GIVEN: "options",
}


def rates_text(plan: Plan) -> str:
    """Return what is restored and written per second, with its evidence; empty if neither is known."""
    restore, produce = plan.rates
    known_rates = [rate for rate in (restore, produce) if rate is not None]
    sources = [words for source, words in _SOURCES.items() if any(source in rate.sources for rate in known_rates)]
    texts = [*_text(restore, "restored", "instance"), *_text(produce, "written", "task")]
    return "; ".join([*texts, *([f"from {' and '.join(sources)}"] if sources else [])]) if texts else ""


def _text(rate: KnownRate | None, verb: str, noun: str) -> Iterator[str]:
    if rate is not None:
        evidence = f"{rate.measured:,} of {count(rate.among, noun)}"
        bound, places = ("at least ", f"on {evidence}") if rate.at_least else ("", f"per {noun}")
        unit = "record/s" if rate.median == 1 else "records/s"
        yield f"{bound}{rate_text(rate.median)} {unit} {verb} {places}{_sample(rate, evidence)}"


def _sample(rate: KnownRate, evidence: str) -> str:
    """Return `` (381 to 412; 3 of 4 instances, 1 to 3 intervals)``; empty for a rate that is given."""
    if GIVEN in rate.sources:
        return ""
    least, most = rate_text(rate.least), rate_text(rate.most)
    ends = f"{least} to {most}; " if least != most else ""
    intervals = span_to(rate.least_intervals, rate.most_intervals)
    sample = f"{intervals} {'interval' if intervals == '1' else 'intervals'}" if rate.least_intervals else ""
    if not rate.at_least:
        return f" ({ends}{', '.join(filter(None, (evidence, sample)))})"
    remainder = "the others are unknown" if rate.measured < rate.among else "how much more is unknown"
    return f" ({ends}{'; '.join(filter(None, (sample, remainder)))})"
