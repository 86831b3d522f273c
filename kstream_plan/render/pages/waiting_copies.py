"""The table of copies that a group waits for: how far behind they are, how fast they restore, when they catch up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.plans.why_answers import WaitingCopy, Why
from kstream_plan.render.page import Row, Table, Tone, columns_of, text_cell, text_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration

#: So many copies have a row.
_MOST_ROWS = 40
_KNOWN = {"reported": "reported", "measured": "measured", "at-least": "at least"}


def waiting_table(waiting_copies: Sequence[WaitingCopy], answers: Why, names: Names) -> Iterator[Table]:
    """Yield the table of copies, if there are any."""
    if not waiting_copies:
        return
    columns = columns_of("Task", "Runs on", "Copy on", ">Behind", "Known", ">Records/s", "Caught up", "Starts there")
    rows = tuple(_row(copy, answers, names) for copy in waiting_copies[:_MOST_ROWS])
    limit = f"caught up: at most {answers.plan.config.acceptable_recovery_lag:,} records behind"
    next_ms = answers.probing.next_ms
    needs = any(copy.needed_rate is not None for copy in waiting_copies) and next_ms is not None
    notes = [limit]
    notes += [f"needs: to be caught up at the next probe, in {duration(next_ms)}"] if needs and next_ms else []
    rest_count = len(waiting_copies) - len(rows)
    notes += [f"{count(rest_count, 'more copy', 'more copies')}: --output json lists them"] if rest_count else []
    yield Table("Copies to start on", columns, rows, "; ".join(notes))


def _row(copy: WaitingCopy, answers: Why, names: Names) -> Row:
    ready, tone = _ready(copy, answers)
    standby = "" if copy.to_run else " (standby)"
    return text_row(
        names.task(copy.task_id),
        "" if copy.owner is None else names.instance(copy.owner),
        f"{names.instance(copy.destination)}{standby}",
        "unknown" if copy.lag is None else f"{copy.lag:,}",
        _known_state(copy),
        _rate(copy),
        text_cell(ready, tone),
        _starts(copy),
    )


def _known_state(copy: WaitingCopy) -> str:
    """Return how it is known how far behind a copy is, and how long ago that was."""
    if copy.lag_is == "whole":
        return "not reported yet"
    age = "" if copy.lag_at_ms is None or copy.lag_at_ms > -1_000 else f" {duration(-copy.lag_at_ms)} ago"
    still = "" if copy.no_closer_ms is None else f", no closer for {duration(copy.no_closer_ms)}"
    return f"{_KNOWN[copy.lag_is]}{age}{still}"


def _rate(copy: WaitingCopy) -> str:
    share = f" for {copy.shared_by:,} copies" if copy.shared_by > 1 else ""
    rate = "unknown" if copy.restore_rate is None else f"{_number(copy.restore_rate)}{share}"
    return rate if copy.needed_rate is None else f"{rate}, needs {copy.needed_rate:,}"


def _number(records_per_second: float) -> str:
    return f"{records_per_second:,.0f}" if records_per_second >= 10 else f"{records_per_second:,.2g}"


def _ready(copy: WaitingCopy, answers: Why) -> tuple[str, Tone]:
    limit = answers.plan.config.acceptable_recovery_lag
    if copy.lag_is in ("reported", "measured") and copy.lag is not None and copy.lag <= limit:
        return "now", "good"
    if copy.ready_is == "estimate" and copy.ready_ms is not None:
        if copy.lag_is == "at-least":
            return ("unknown", "unknown") if copy.ready_ms <= 0 else (f"in at least {duration(copy.ready_ms)}", "plain")
        return ("now" if copy.ready_ms <= 0 else f"in {duration(copy.ready_ms)}"), "plain"
    return ("never", "bad") if copy.ready_is == "never" else ("unknown", "unknown")


def _starts(copy: WaitingCopy) -> str:
    """Return when the plan starts the task there; assumed where it is unknown when the copy has caught up."""
    if copy.decided_ms is None:
        return "not in this plan"
    if not copy.to_run:
        return "stays a standby"
    if copy.takes_over_ms is None:
        return "not in this plan"
    assumed = "" if copy.ready_is == "estimate" else " if caught up"
    return f"in {duration(copy.takes_over_ms)}{assumed}" if copy.takes_over_ms else f"now{assumed}"
