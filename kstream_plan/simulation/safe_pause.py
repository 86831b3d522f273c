"""The least pause with which restarts are safe: found by simulating them, never beyond the first unsafe moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.scenario import Scenario
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.plan import check_invariants
from kstream_plan.planner.plan_request import rebalances_until_ms
from kstream_plan.plans import HandOver, Plan, Promote, RunSoFar
from kstream_plan.plans.plan import NOT_PLAYED, RATES_WOULD_TELL
from kstream_plan.plans.simulated import more_may_follow
from kstream_plan.simulation.one_plan import design_of, plan
from kstream_plan.simulation.overlapping_restarts import standing_still
from kstream_plan.simulation.random_ids import is_random, with_random_ids

#: A pause is found to this many milliseconds.
_TO_MS = 1_000
#: So many restarts tell the pause of one restart from the next; what they need is then held against ever more of them.
_FEW, _MORE = 3, 5
#: New instances, whose ids are random, are drawn so often.
DRAWS = 5
#: A pause next to one that is safe, and is not, is left behind so often.
_GAPS = 3
_TOO_LONG = Note("too-many-rebalances", "It takes too many rebalances to simulate the restart")
#: What one search may take: copies, and so many more for whatever a round takes anyway, times the rounds simulated.
_MOST_WORK, _WORK_OF_A_ROUND = 2_000_000, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPause:
    """The result of a search.

    ``outcome``: with ``pause_ms`` all ``restarts`` are safe, and with a second less they are not; or with no pause
    that was tried the first ``restarts`` are; or so many are safe, and to simulate more takes too long.
    ``longer_ms``: a longer pause, with which the first of them are not safe though they are with this one.
    ``reason`` is why they are not safe, or not known to be, where that was looked at last.
    """

    outcome: Literal["safe", "unsafe", "undecided"]
    pause_ms: int
    restarts: int
    longer_ms: int | None = None
    reason: Note | None = None


#: Why restarts are not safe, where that shows before their end.
_Seen = Literal["may-start-cold", "may-pause-together"]


class _TooMuchWorkError(Exception):
    """More rounds would have to be simulated than a search is worth."""


class SafePause:
    """Searches one way of restarting the instances of a group.

    ``scenario_of`` makes the scenario of so many of the ``restarts``, each away for so long, with a pause; with
    ``all_at_once`` they are never simulated in part. Restarts of any of ``lengths_ms`` have to be safe. The work that
    it takes is bounded by the number of rounds, so that no result depends on the machine.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        options: PlanOptions,
        scenario_of: Callable[[int, int, int], Scenario],
        restarts: int,
        lengths_ms: Sequence[int],
        *,
        all_at_once: bool,
    ) -> None:
        self._snapshot, self._options, self._scenario_of = snapshot, options, scenario_of
        self._lengths_ms = lengths_ms
        self._is_single = restarts == 1 and not all_at_once
        under_way = rebalances_until_ms(snapshot, design_of(snapshot, options), options) is not None
        #: Whether a close waits for a rebalance that is under way: it may come before the instance has heard of that.
        self._closes_wait = (options.closes_wait, not options.closes_wait) if under_way else (options.closes_wait,)
        self._levels = [restarts] if all_at_once else list(_levels(restarts))
        config = snapshot.config
        copies = len(snapshot.state.group.stateful) * (1 + config.num_standby_replicas)
        self._rounds_left = _MOST_WORK // (copies + _WORK_OF_A_ROUND)
        self._verdicts: dict[tuple[int, int], bool] = {}
        self._rounds: dict[tuple[int, int], int] = {}
        self._plans: dict[tuple[int, int], Plan] = {}
        self._reason: Note | None = None
        #: The longest pause that is tried: two probes, and what comes before them; after one restart there is none.
        longest_ms = 2 * config.probing_rebalance_interval_ms + 4 * config.session_timeout_ms
        self.longest_ms = 0 if self._is_single else -(-longest_ms // _TO_MS) * _TO_MS

    def find(self) -> FoundPause:
        """Search the least pause that is safe, as those a little longer are: if they are not, search on beyond them."""
        safe_pause, gaps = self._search_from(0), 0
        while safe_pause.outcome == "safe" and (longer_ms := self._unsafe_beside(safe_pause.pause_ms)) is not None:
            longer_pause = self._search_from(longer_ms) if gaps < _GAPS else None
            if longer_pause is None or longer_pause.outcome != "safe":
                return replace(safe_pause, longer_ms=longer_ms)
            safe_pause, gaps = longer_pause, gaps + 1
        return safe_pause

    def simulation_of(self, pause: FoundPause) -> tuple[Scenario, Plan, int]:
        """Return the scenario of a pause that was found, its plan to the end, and how many restarts it has.

        They are all of them unless they are safe with no pause, or not known to be, and it takes too long.
        """
        all_restarts, number = self._levels[-1], pause.restarts
        known_plan = self._plans.get((number, pause.pause_ms))
        if known_plan is not None:
            return self._scenario(number, pause.pause_ms), known_plan, number
        if pause.outcome == "unsafe" and all_restarts > pause.restarts:
            scenario = self._scenario(all_restarts, pause.pause_ms)
            with suppress(_TooMuchWorkError):
                return scenario, self.simulate(scenario, 0, _Watch(self._rounds_left // 2, stops=False)), all_restarts
        number = max(pause.restarts, self._levels[0])
        scenario = self._scenario(number, pause.pause_ms)
        return scenario, self.simulate(scenario, 0), number

    def _search_from(self, low_ms: int) -> FoundPause:
        pause_ms, restarts = low_ms, 0
        try:
            for number in self._levels:
                least_ms = self._least_ms(number, pause_ms)
                if least_ms is None:
                    longest_ms = self.longest_ms
                    return FoundPause(outcome="unsafe", pause_ms=longest_ms, restarts=number, reason=self._reason)
                pause_ms, restarts = least_ms, number
                self._expect(number, least_ms)
        except _TooMuchWorkError:
            return FoundPause(outcome="undecided", pause_ms=pause_ms, restarts=restarts, reason=_TOO_LONG)
        return FoundPause(outcome="safe", pause_ms=pause_ms, restarts=restarts)

    def _expect(self, number: int, pause_ms: int) -> None:
        """Raise if all restarts take more rounds than are left, by those that so many took."""
        all_restarts = self._levels[-1]
        if number < all_restarts and self._rounds[number, pause_ms] * all_restarts // number > self._rounds_left:
            raise _TooMuchWorkError

    def _least_ms(self, number: int, low_ms: int) -> int | None:
        """Return the least pause from ``low_ms`` on with which so many restarts are safe; ``None``: none."""
        if self.is_safe(number, low_ms):
            return low_ms
        high_ms = self.longest_ms
        if low_ms >= high_ms or not self.is_safe(number, high_ms):
            return None
        guesses_ms = iter(self._guesses_ms())
        while high_ms - low_ms > _TO_MS:
            middle_ms = next(
                (guess_ms for guess_ms in guesses_ms if low_ms < guess_ms < high_ms),
                (low_ms + high_ms) // 2 // _TO_MS * _TO_MS,
            )
            if self.is_safe(number, middle_ms):
                high_ms = middle_ms
            else:
                low_ms = middle_ms
        return high_ms

    def _guesses_ms(self) -> tuple[int, int, int]:
        """Return for how long a restart keeps a group busy that has standbys, one that does without, or that probes."""
        config = self._snapshot.config
        noticed_ms = config.session_timeout_ms + 2 * config.heartbeat_interval_ms
        probed_ms = noticed_ms + config.probing_rebalance_interval_ms
        return tuple(-(-busy_ms // _TO_MS) * _TO_MS for busy_ms in (noticed_ms, noticed_ms // 4, probed_ms))  # type: ignore[return-value]

    def _unsafe_beside(self, pause_ms: int) -> int | None:
        """Return a pause a little longer than one that is safe which is not, if there is one; of few restarts."""
        if self._is_single:
            return None
        number = self._levels[0]
        longer_ms = max(pause_ms * 3 // 2 // _TO_MS * _TO_MS, pause_ms + 10 * _TO_MS)
        try:
            return next(
                (tried_ms for tried_ms in (pause_ms + _TO_MS, longer_ms) if not self.is_safe(number, tried_ms)), None
            )
        except _TooMuchWorkError:
            return None

    def is_safe(self, number: int, pause_ms: int) -> bool:
        """Tell whether so many restarts are safe with a pause, simulated with each length and, if all, each draw."""
        if (number, pause_ms) not in self._verdicts:
            rounds_before = self._rounds_left
            self._verdicts[number, pause_ms] = all(
                self._is_safe_once(number, pause_ms, length_ms, draw, closes_wait=closes_wait)
                for draw in range(self._draws(number, pause_ms))
                for length_ms in self._lengths_ms
                for closes_wait in self._closes_wait
            )
            self._rounds[number, pause_ms] = rounds_before - self._rounds_left
        return self._verdicts[number, pause_ms]

    def _is_safe_once(self, number: int, pause_ms: int, length_ms: int, draw: int, *, closes_wait: bool) -> bool:
        watch = _Watch(self._rounds_left)
        scenario = self._scenario_of(number, length_ms, pause_ms)
        try:
            check = number == self._levels[-1]
            restart_plan = self.simulate(scenario, draw, watch, check=check, closes_wait=closes_wait)
        finally:
            self._rounds_left = watch.rounds_left
        safe = is_safe(restart_plan) and not watch.unsafe
        if safe and length_ms == self._lengths_ms[0] and not draw and closes_wait == self._options.closes_wait:
            self._plans[number, pause_ms] = restart_plan
        if not safe:
            condition = self._condition(closes_wait=closes_wait, other_length=length_ms != self._lengths_ms[0])
            self._reason = _reason(restart_plan, condition, watch.reason)
        return safe

    def _condition(self, *, closes_wait: bool, other_length: bool) -> str:
        """Return when it comes to what was simulated."""
        if closes_wait != self._options.closes_wait:
            close_time = "after" if closes_wait else "before it has heard of"
            return f"if the instance closes {close_time} the rebalance that is under way"
        if other_length:
            return "if the restart comes out on the other side of session.timeout.ms, to which it is close"
        return "in the worst case of what is unknown"

    def _draws(self, number: int, pause_ms: int) -> int:
        scenario = self._scenario(number, pause_ms)
        return DRAWS if number == self._levels[-1] and is_random(scenario, self._snapshot.state.group) else 1

    def _scenario(self, number: int, pause_ms: int) -> Scenario:
        return self._scenario_of(number, self._lengths_ms[0], pause_ms)

    def simulate(
        self,
        scenario: Scenario,
        draw: int,
        watch: _Watch | None = None,
        *,
        check: bool = True,
        closes_wait: bool | None = None,
    ) -> Plan:
        """Simulate restarts with the ids of one draw, and both ends of what is unknown."""
        drawn_scenario = with_random_ids(scenario, self._snapshot.state.group, draw)
        options = replace(self._options, bounds=False, floor=False, proofs="none")
        if closes_wait is not None:
            options = replace(options, closes_wait=closes_wait)
        restart_plan = plan(self._snapshot, options, scenario=drawn_scenario, enough=watch)
        return check_invariants(restart_plan) if check and not (watch and watch.unsafe) else restart_plan


class _Watch:
    """Counts rounds, and ends a plan, and simulations beside it, once restarts have turned out to be unsafe."""

    def __init__(self, rounds_left: int, *, stops: bool = True) -> None:
        self.rounds_left, self._stops = rounds_left, stops
        #: Why restarts have turned out to be unsafe; ``None``: they have not.
        self.reason: _Seen | None = None

    @property
    def unsafe(self) -> bool:
        """Whether restarts have turned out to be unsafe."""
        return self.reason is not None

    def __call__(self, number: int, ended: bool, so_far: Callable[[], RunSoFar]) -> bool:
        self.rounds_left -= not ended
        if self.rounds_left < 0:
            raise _TooMuchWorkError
        looks = ended or not number & (number - 1)  # after rounds 1, 2, 4, 8, ...: at all of them every time
        if self._stops and not self.unsafe and looks:
            self.reason = _unsafe_so_far(so_far())
        return self.unsafe


def _unsafe_so_far(so_far: RunSoFar) -> _Seen | None:
    """Return what no round after these makes good: a cold start, or pauses of two instances at once."""
    stateful, index = so_far.group.stateful_flags, so_far.group.task_index
    steps = chain.from_iterable(rnd.single_steps for rnd in so_far.rounds)
    starts = (step for step in steps if isinstance(step, HandOver | Promote))
    if any(stateful[index[step.task_id]] and not step.caught_up for step in starts):
        return "may-start-cold"
    return "may-pause-together" if standing_still(so_far, 0) > 0 else None


def is_safe(restart_plan: Plan) -> bool:
    """Tell whether restarts settle, nothing starts cold, and the tasks of one instance at most stand still at once.

    What restores for long within the limit first is not warm.

    If tasks that started cold before may not run yet, it is unknown how many pause.
    """
    if restart_plan.may_be_restoring or restart_plan.ends("restoring_first")[1]:
        return False
    settles = restart_plan.verdict.kind == "settled" and not more_may_follow(restart_plan, None)
    return (
        settles
        and not most_cold(restart_plan, restart_plan.summary.cold_handovers)
        and not standing_still(restart_plan, 0)
    )


def _reason(restart_plan: Plan, condition: str, early_reason: _Seen | None) -> Note:
    """Return why restarts are not safe in a plan; ``early_reason``: why it was cut off before its end."""
    if early_reason == "may-start-cold" or most_cold(restart_plan, restart_plan.summary.cold_handovers):
        return Note("may-start-cold", f"Tasks start cold {condition}")
    if restart_plan.ends("restoring_first")[1]:
        message = "Tasks count as caught up, because they are within acceptable.recovery.lag, and restore for long"
        return Note("restores-first", f"{message} {condition}")
    if early_reason == "may-pause-together" or standing_still(restart_plan, 0):
        return Note("may-pause-together", f"Tasks of several instances pause at the same time {condition}")
    if restart_plan.may_be_restoring:
        return Note("may-be-restoring", f"Tasks of other instances may still restore {condition}")
    not_simulated = next((note for note in restart_plan.warnings if note.code in NOT_PLAYED), None)
    if (
        not_simulated
        or restart_plan.verdict.kind not in ("settled", "unfinished")
        or restart_plan.ends("settles")[0] == 0
    ):
        reason = restart_plan.unsettled_in_memory or f"Whether the group settles is unknown: {RATES_WOULD_TELL}"
        return not_simulated or Note("may-not-settle", reason)
    return Note("may-be-unsafe", "The simulation stops before the group has settled (--set max.rounds)")


def most_cold(restart_plan: Plan, cold_handovers: int) -> int:
    """Return the most cold starts, which may depend on something unknown."""
    return max(
        [
            cold_handovers,
            *(
                figure_range.high
                for figure_range in restart_plan.summary.ranges
                if figure_range.figure == "cold_handovers"
            ),
        ]
    )


def _levels(restarts: int) -> Iterator[int]:
    """Yield how many restarts are simulated: few, ever more, all."""
    number = _FEW
    while _FEW * number <= restarts:
        yield number
        number *= _MORE
    yield restarts
