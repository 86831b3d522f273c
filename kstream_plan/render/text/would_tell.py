"""What would tell whether starts are warm that are not proven to be, in words, for every page that says UNKNOWN."""

from __future__ import annotations

from collections.abc import Iterable

from kstream_plan.plans.caught_up_evidence import UnprovenStart, options_that_tell


def settled_by(starts: Iterable[UnprovenStart]) -> list[str]:
    """Return the options that would tell whether these starts are warm."""
    return list(options_that_tell(start.evidence for start in starts))


def would_tell(starts: Iterable[UnprovenStart]) -> str:
    """Return the same as a sentence without its end; empty if no option would."""
    options = settled_by(starts)
    return f"Options that would tell: {', '.join(options)}" if options else ""
