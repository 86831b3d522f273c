"""The copies that a group waits for, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.plans.why_answers import WaitingCopy, Why
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, records
from kstream_plan.render.text.page import Fact

#: So many copies are told one by one, and so many in full.
_MOST_TOLD = 8
_MOST_IN_FULL = 3


def waits(waiting: Sequence[WaitingCopy], answers: Why, names: Names) -> Iterator[Fact]:
    """Yield a line for each copy, in short where there are many, and how many more there are."""
    told = _copy if len(waiting) <= _MOST_IN_FULL else _copy_in_short
    for of in waiting[:_MOST_TOLD]:
        yield Fact("WAITS", (told(of, answers, names),))
    if len(waiting) > _MOST_TOLD:
        yield Fact("", (f"and {count(len(waiting) - _MOST_TOLD, 'more copy', 'more copies')}: see --output json",))


def _copy(of: WaitingCopy, answers: Why, names: Names) -> str:
    limit = answers.plan.config.acceptable_recovery_lag
    source = "" if of.owner is None else f", which runs on {names.instance(of.owner)} meanwhile"
    purpose = source if of.to_run else ", as a standby"
    since = "" if of.since_ms is None else f", there for {duration(-of.since_ms)}" if of.since_ms < 0 else ", new there"
    where = f"{names.task(of.task_id)} on {names.instance(of.destination)}{purpose}"
    return f"{where}: {_behind(of)} (limit {limit:,}){since}. {_ready(of, answers, names)}"


def _copy_in_short(of: WaitingCopy, answers: Why, names: Names) -> str:
    """Return where a copy is, how far behind, and when it is ready or which rate would do; without what follows."""
    where = f"{names.task(of.task_id)} on {names.instance(of.destination)}"
    if _is_caught_up(of, answers):
        return f"{where}: caught up"
    when = {"estimate": f"ready in {duration(max(of.ready_ms or 0, 0))}", "never": "never ready at its rate"}
    ready = [when.get(of.ready_is, "not known when it is ready")]
    if of.needed_rate is not None:
        ready.append(f"{of.needed_rate:,} records/s would do for the next probe")
    return f"{where}: {_behind(of)}; {'; '.join(ready)}"


def _is_caught_up(of: WaitingCopy, answers: Why) -> bool:
    limit = answers.plan.config.acceptable_recovery_lag
    return of.lag_is in ("reported", "measured") and of.lag is not None and of.lag <= limit


def _behind(of: WaitingCopy) -> str:
    """Return how far a copy is behind, how that is known, and how long ago that was."""
    if of.lag_is == "whole":
        return f"{records(of.lag)} records to restore, nothing reported yet"
    ago = "" if of.lag_at_ms is None or of.lag_at_ms > -1_000 else f" {duration(-of.lag_at_ms)} ago"
    known = {"reported": f"as reported{ago}", "measured": f"as measured{ago}", "at-least": f"at least{ago}"}
    still = "" if of.no_closer_ms is None else f", no less than {duration(of.no_closer_ms)} before"
    return f"{records(of.lag)} records behind, {known[of.lag_is]}{still}"


def _ready(of: WaitingCopy, answers: Why, names: Names) -> str:
    next_ms, shared = answers.probing.next_ms, f", shared by {of.shared_by:,} copies," if of.shared_by > 1 else ""
    there = names.instance(of.destination)
    if _is_caught_up(of, answers):
        return f"It is caught up. {_takes_over(of)}"
    match of.ready_is:
        case "rate-unknown":
            ready = f"How fast {there} restores is not known"
        case "size-unknown":
            ready = f"How much {there} has to restore is not known"
        case _:
            at_that_rate = f"At the {_rate(of.restore_rate or 0)} records/s that {there} restores{shared}"
            when = "never" if of.ready_ms is None else "by now" if of.ready_ms <= 0 else f"in {duration(of.ready_ms)}"
            ready = f"{at_that_rate} it is {f'{when} ready' if when == 'never' else f'ready {when}'}"
    if of.needed_rate is not None and next_ms is not None:
        ready += f"; {of.needed_rate:,} records/s would do for the next probe, in {duration(next_ms)}"
    return f"{ready}. {_takes_over(of)}"


def _rate(records_per_second: float) -> str:
    return f"{records_per_second:,.0f}" if records_per_second >= 10 else f"{records_per_second:,.2g}"


def _takes_over(of: WaitingCopy) -> str:
    if of.decided_ms is None or of.decided_round is None:
        return "This plan does not get there"
    found = f"The rebalance in {duration(of.decided_ms)} finds it ready" if of.decided_ms else "It is found ready now"
    if of.decided_ms and of.ready_is != "estimate":
        found = f"The plan takes it for ready at the rebalance in {duration(of.decided_ms)}"
    if not of.to_run:
        return f"{found}, and it stays as a standby"
    if of.takes_over_ms is None:
        return f"{found}, but the task does not start there within this plan"
    later_ms = of.takes_over_ms - of.decided_ms
    return f"{found}, and the task starts there{f' {duration(later_ms)} later' if later_ms else ''}"
