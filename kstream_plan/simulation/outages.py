"""Restarts that leave more than one instance's tasks standing still at once, and with what they would not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from kstream_plan.model import Note
from kstream_plan.model.scenario import Bounce, Scenario, moment
from kstream_plan.plans import Plan

#: The code of the note that tells of one.
OUTAGE = "outage"
#: A pause is found to this many milliseconds, up to so many session time-outs.
_TO_MS = 5_000
_MOST_TIME_OUTS = 4

#: Plays another scenario on the same group.
Play = Callable[[Scenario], Plan]


def outage_note(made: Plan, scenario: Scenario, play: Play) -> Note | None:
    """Return how many tasks stand still at once, if those are of several instances, and what helps, as simulated."""
    bounces = [event for event in scenario.events if isinstance(event, Bounce)]
    if not bounces:
        return None
    at_once = _stand_still(made, bounces[0].at_ms)
    if at_once <= _most_on_one(made):
        return None
    found = list(_without(made, scenario, play))
    helps = f"not with {', or '.join(found)} (simulated)" if found else "whatever was tried (simulated)"
    message = f"{at_once:,} of {len(made.group.tasks):,} tasks stand still at once during restarts; {helps}"
    return Note(OUTAGE, message)


def _stand_still(made: Plan, from_ms: int) -> int:
    """Return how many tasks stand still at the same time, at worst, of those that stop from then on.

    What is only handed over, within a heartbeat interval, does not count.
    """
    changes: Counter[int] = Counter()
    for (since_ms, to_ms), tasks in made.pauses.spans.items():
        if since_ms >= from_ms and to_ms - since_ms > made.config.heartbeat_interval_ms:
            changes[since_ms] += tasks
            changes[to_ms] -= tasks
    still = most = 0
    for at_ms in sorted(changes):
        still += changes[at_ms]
        most = max(most, still)
    return most


def _most_on_one(made: Plan) -> int:
    """Return how many tasks an instance runs at most, at any time."""
    most = 0
    for held in (made.initial, *(rnd.assigned for rnd in made.rounds)):
        loads: Counter[int] = Counter()
        for consumer, holding in enumerate(held):
            loads[made.group.instance_of[consumer]] += len(holding.active)
        most = max(most, *loads.values())
    return most


def _without(made: Plan, scenario: Scenario, play: Play) -> Iterator[str]:
    pause_ms = _least_pause_ms(made, scenario, play)
    if pause_ms is not None:
        yield f"pause: {moment(pause_ms)}"
    for name, changed in (("static: true", {"static": True}), ("leave: true", {"leaves": True})):
        if not _is_outage(play(_with_bounces(scenario, **changed)), scenario):
            yield name


def _least_pause_ms(made: Plan, scenario: Scenario, play: Play) -> int | None:
    """Return the least pause with which there is none; ``None`` if even a long one does not help."""

    def helps(pause_ms: int) -> bool:
        return not _is_outage(play(_with_bounces(scenario, pause_ms=pause_ms)), scenario)

    low = max(event.pause_ms for event in scenario.events if isinstance(event, Bounce))
    high = max(low, made.config.session_timeout_ms) * _MOST_TIME_OUTS
    if not helps(high):
        return None
    while high - low > _TO_MS:
        middle = (low + high) // 2 // 1_000 * 1_000
        low, high = (low, middle) if helps(middle) else (middle, high)
    return high


def _is_outage(made: Plan, scenario: Scenario) -> bool:
    first = next(event for event in scenario.events if isinstance(event, Bounce))
    return _stand_still(made, first.at_ms) > _most_on_one(made)


def _with_bounces(scenario: Scenario, **changed: int) -> Scenario:
    events = (replace(event, **changed) if isinstance(event, Bounce) else event for event in scenario.events)  # type: ignore[arg-type]
    return replace(scenario, events=tuple(events))
