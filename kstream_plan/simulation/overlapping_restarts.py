"""Restarts that pause tasks of more than one instance at once, and what helps against that."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kstream_plan.model import Note
from kstream_plan.model.scenario import Bounce, Scenario, moment
from kstream_plan.plans import MemberLeft, Plan, RunSoFar

#: The code of the note that tells of one.
OUTAGE = "outage"
#: A pause is found to this many milliseconds, up to so many session time-outs.
_TO_MS = 1_000
_MOST_TIME_OUTS = 4

#: Simulates another scenario on the same group.
PlanWith = Callable[[Scenario], Plan]


def outage_note(plan: Plan, scenario: Scenario, plan_with: PlanWith) -> Note | None:
    """Return how many tasks stand still at once, if those are of several instances, and what helps, as simulated."""
    bounces = [event for event in scenario.events if isinstance(event, Bounce)]
    if not bounces:
        return None
    at_once = standing_still(plan, bounces[0].at_ms)
    if not at_once:
        return None
    remedies = list(_helpful_changes(plan, scenario, plan_with))
    helps = f"not with {', or '.join(remedies)} (simulated)"
    if not remedies:
        helps = "with every simulated alternative too, or tasks may start cold"
    message = f"{at_once:,} of {len(plan.group.tasks):,} tasks pause at the same time during restarts; {helps}"
    return Note(OUTAGE, message)


def standing_still(result: Plan | RunSoFar, from_ms: int) -> int:
    """Return how many tasks stand still at the same time, at worst, of several instances, and that stop from then on.

    What is only handed over, within a heartbeat interval, does not count; what an instance ran that is away always
    does. What nobody runs when the plan begins counts as that of an instance that is not away, another one for each
    instance that is to run it. 0: they are never those of more than one instance.
    """
    away_ms = {outage.from_ms for outage in result.outages} | {
        step.stopped_at_ms
        for rnd in result.rounds
        for step in rnd.single_steps
        if isinstance(step, MemberLeft) and step.stopped_at_ms < rnd.at_ms
    }

    def counts(since_ms: int, to_ms: int) -> bool:
        long = to_ms - since_ms > result.config.heartbeat_interval_ms
        return since_ms >= from_ms and to_ms > since_ms and (long or since_ms in away_ms)

    if not any(counts(*span) for span in result.pauses.spans):
        return 0
    owners = _Owners(result)
    edges = []
    for task_id, since_ms, to_ms in result.pauses:
        if counts(since_ms, to_ms):
            owner = owners.owner_before(since_ms, result.group.task_index[task_id])
            edges += [(to_ms, -1, owner), (since_ms, 1, owner)]
    still: Counter[int] = Counter()
    most = 0
    for _, change, owner in sorted(edges):  # at the same time those first that go on
        still[owner] += change
        if not still[owner]:
            del still[owner]
        if len(still) > 1:
            most = max(most, still.total())
    return most


class _Owners:
    """The owners of tasks, by time."""

    def __init__(self, result: Plan | RunSoFar) -> None:
        self._result = result
        self._ends_ms = [rnd.ends_ms for rnd in result.rounds]
        self._owners_by_rounds: dict[int, dict[int, int]] = {}

    def owner_before(self, at_ms: int, task: int) -> int:
        """Return the instance that ran the task before something stopped it then.

        Below 0: it was unassigned; this stands for the instance that runs it next.
        """
        place = bisect_left(self._ends_ms, at_ms)
        owner = self._owners_after(place).get(task)
        return -1 - self._next(place, task) if owner is None else owner

    def _next(self, rounds: int, task: int) -> int:
        """Return the instance that runs a task first after so many rounds."""
        later = (self._owners_after(number).get(task) for number in range(rounds + 1, len(self._ends_ms) + 1))
        return next((owner for owner in later if owner is not None), 0)

    def _owners_after(self, rounds: int) -> Mapping[int, int]:
        if rounds not in self._owners_by_rounds:
            holdings = self._result.rounds[rounds - 1].assigned if rounds else self._result.initial
            group = self._result.group
            self._owners_by_rounds[rounds] = {
                task: group.instance_of[consumer]
                for consumer, holding in enumerate(holdings)
                for task in holding.active
            }
        return self._owners_by_rounds[rounds]


def _helpful_changes(plan: Plan, scenario: Scenario, plan_with: PlanWith) -> Iterator[str]:
    pause_ms = _least_pause_ms(plan, scenario, plan_with)
    if pause_ms is not None:
        yield f"pause: {moment(pause_ms)}"
    surges = any(isinstance(event, Bounce) and event.surge for event in scenario.events)
    for name, changes in (("static: true", {"static": True}), ("leave: true", {"leaves": True})):
        if surges and "static" in changes:  # new instances replace none
            continue
        if _helps(plan_with(_with_bounces(scenario, **changes)), plan, scenario):
            yield name


def _least_pause_ms(plan: Plan, scenario: Scenario, plan_with: PlanWith) -> int | None:
    """Return the least pause with which there is none; ``None`` if even a long one does not help."""

    def helps(pause_ms: int) -> bool:
        return _helps(plan_with(_with_bounces(scenario, pause_ms=pause_ms)), plan, scenario)

    low = max(event.pause_ms for event in scenario.events if isinstance(event, Bounce))
    high = max(low, plan.config.session_timeout_ms) * _MOST_TIME_OUTS
    if not helps(high):
        return None
    while high - low > _TO_MS:
        middle = (low + high) // 2 // 1_000 * 1_000
        low, high = (low, middle) if helps(middle) else (middle, high)
    return high


def _helps(other_plan: Plan, plan: Plan, scenario: Scenario) -> bool:
    """Tell whether another way has no outage, and does not pay for that with cold starts."""
    likely = other_plan.summary.cold_handovers <= plan.summary.cold_handovers
    return (
        not _is_outage(other_plan, scenario)
        and likely
        and other_plan.ends("cold_handovers")[1] <= plan.ends("cold_handovers")[1]
    )


def _is_outage(plan: Plan, scenario: Scenario) -> bool:
    first = next(event for event in scenario.events if isinstance(event, Bounce))
    return standing_still(plan, first.at_ms) > 0


def _with_bounces(scenario: Scenario, **changes: int) -> Scenario:
    events = (replace(event, **changes) if isinstance(event, Bounce) else event for event in scenario.events)  # type: ignore[arg-type]
    return replace(scenario, events=tuple(events))
