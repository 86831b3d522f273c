"""One request for a plan: a snapshot, what happens to it, and how it is planned, ready to be simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from kstream_plan.errors import UsageError
from kstream_plan.model import Group, GroupState, Holdings, Rates, Snapshot
from kstream_plan.model.scenario import Bounce, Event, Scenario, Stop
from kstream_plan.model.starting_state import newcomers, state_now
from kstream_plan.planner.external_events import ExternalEvents
from kstream_plan.planner.loop import OnRound, RunResult, run_rounds
from kstream_plan.planner.membership_timeline import MembershipTimeline, timeline
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.roster import Roster
from kstream_plan.plans import Round, RunSoFar, Trigger
from kstream_plan.plans.design import Design, Rebalance
from kstream_plan.plans.pauses import pauses_of

#: Times are shown in whole seconds: now may be the one that is shown of the snapshot.
_SHOWN_MS = 1_000
#: How many rounds were simulated, whether none comes after them, and what they are → whether that is enough.
Enough: TypeAlias = Callable[[int, bool, Callable[[], RunSoFar]], bool]


@dataclass(frozen=True, slots=True, eq=False)
class PlanRequest:
    """One snapshot with what happens to it, to be simulated as it is, and as it might be.

    ``events`` and ``outside`` are what the ``design`` and the group make of the scenario; it begins at ``now_ms`` after
    the snapshot was taken.
    """

    snapshot: Snapshot
    design: Design
    options: PlanOptions
    scenario: Scenario | None
    enough: Enough | None
    events: tuple[Event, ...]
    outside: MembershipTimeline
    now_ms: int

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        design: Design,
        options: PlanOptions,
        scenario: Scenario | None = None,
        enough: Enough | None = None,
    ) -> PlanRequest:
        """Take in what happens to the group.

        Raises:
            ScenarioError: the scenario does not fit the group.
            UsageError: the plan is to begin before the snapshot was taken.
        """
        if options.replay:
            now_ms = options.now_ms if snapshot.decision is None else None  # else it begins when that was made
            snapshot, options = snapshot.before_decision(), replace(options, now_ms=now_ms)
        now_ms = _now_ms(snapshot, options)
        begins_ms = options.now_ms if snapshot.captured_at_ms is None else snapshot.captured_at_ms + now_ms
        design = design.fitted_to(snapshot).beginning_at(begins_ms)
        events = tuple(design.happening(event, snapshot) for event in (scenario.events if scenario else ()))
        outside = timeline(
            snapshot.state.group.instances,
            snapshot.config,
            events,
            lost_in_crash=snapshot.lost_in_crash,
            in_memory=snapshot.stores == "in-memory",
            leader=snapshot.state.leader,
            next_leader=options.next_leader,
            rebalances_until_ms=_close_waits_until_ms(snapshot, design, options, events),
            notice_timing=options.noticed,
        )
        return cls(snapshot, design, options, scenario, enough, events, outside, now_ms)

    def simulate(
        self, rates: Rates | None = None, *, on_round: OnRound | None = None, balances: bool = True
    ) -> tuple[GroupState, Roster, RunResult]:
        """Simulate it, by default with the snapshot's rates; return the group at first, the roster, and what came out.

        ``balances``: count how even the load is after every round.
        """
        snapshot, outside, config = self.snapshot, self.outside, self.snapshot.config
        design = self.design
        known_state = state_now(snapshot, self.now_ms, ready=self.options.ready, cleaning=self.options.cleaning)
        state = design.start(known_state, self.scenario)
        roster = Roster(state.group, outside.all_instances if self.scenario else None)
        rates = snapshot.rates if rates is None else rates
        outcome = run_rounds(
            state,
            config,
            design.coordinator(config),
            ExternalEvents(state.group, rates, outside.changes, outside.outages, outside.paces),
            roster,
            first_trigger=self.options.trigger or (Trigger.JOIN if self._any_joins(state) else Trigger.MANUAL),
            max_rounds=self.most_rounds(state.group),
            on_round=on_round or (lambda _rounds, _tasks, _movements: None),
            enough=partial(self._is_enough, state, roster),
            balances=balances,
        )
        return state, roster, outcome

    def _any_joins(self, state: GroupState) -> bool:
        """Tell whether instances join in the first rebalance: not if a decision tells who took part in it."""
        decision = self.snapshot.decision
        is_told = decision is not None and decision.consumers is not None
        return not is_told and self.design.newcomers_hold_nothing and bool(newcomers(state))

    @property
    def is_undated(self) -> bool:
        """Whether it is said what time it is, and not when the snapshot was taken."""
        return self.options.now_ms is not None and self.snapshot.captured_at is None

    def most_rounds(self, group: Group) -> int:
        """Return with how many rounds a simulation of ``group`` is cut off."""
        most = 4 * (len(group.stateful) + 10) * (1 + len(self.outside.changes))
        if self.options.max_rounds is not None:
            return self.options.max_rounds
        return self.design.rounds_at_most(most, self.snapshot.config)

    def soonest(self) -> PlanRequest:
        """Return the request in which every rebalance is as early as it can be; only times count."""
        config, design = self.snapshot.config, self.design.soonest()
        outside = timeline(
            self.snapshot.state.group.instances,
            config,
            self.events,
            lost_in_crash=self.snapshot.lost_in_crash,
            in_memory=self.snapshot.stores == "in-memory",
            leader=self.snapshot.state.leader,
            rebalances_until_ms=_close_waits_until_ms(self.snapshot, design, self.options, self.events),
            notice_timing="early",
        )
        if self.enough is None:
            design = design.telling_times_alone()
        return replace(self, design=design, outside=outside, options=replace(self.options, ready="all"))

    def _is_enough(
        self,
        state: GroupState,
        roster: Roster,
        previous_rebalance: Rebalance | None,
        rounds: Sequence[Round],
        ended: bool,
    ) -> bool:
        def so_far() -> RunSoFar:
            group, config, outages = roster.group, self.snapshot.config, self.outside.unnoticed
            initial = roster.holdings(state.group, held_at_first(state, previous_rebalance))
            rounds_so_far, stopping = tuple(rounds), self.design.stopping(group)
            pauses = pauses_of(group, initial, rounds, stopping, config, outages, from_start=True)
            return RunSoFar(
                group=group, config=config, initial=initial, rounds=rounds_so_far, pauses=pauses, outages=outages
            )

        return self.enough is not None and self.enough(len(rounds), ended, so_far)


def held_at_first(state: GroupState, previous_rebalance: Rebalance | None) -> Holdings:
    """Return what each member holds before the first round: by the state, or after the ``previous_rebalance``."""
    return Holdings.of(state.group, state.holdings) if previous_rebalance is None else previous_rebalance.held


def rebalances_until_ms(snapshot: Snapshot, design: Design, options: PlanOptions) -> int | None:
    """Return when a rebalance ends that is under way when a plan begins; ``None``: none is that is known."""
    if snapshot.decision is None:
        return None
    return design.rebalances_until_ms(state_now(snapshot, _now_ms(snapshot, options)), snapshot.config)


def _close_waits_until_ms(
    snapshot: Snapshot, design: Design, options: PlanOptions, events: Sequence[Event]
) -> int | None:
    """Return the same if any of the events would wait for its end."""
    any_bounce = any(isinstance(event, Bounce) and not event.leaves for event in events)
    any_stop = any(isinstance(event, Stop) and not event.crash for event in events)
    waits = (any_bounce or any_stop) and options.closes_wait
    return rebalances_until_ms(snapshot, design, options) if waits else None


def _now_ms(snapshot: Snapshot, options: PlanOptions) -> int:
    """Return when the plan begins, counted from when the snapshot was taken."""
    if options.now_ms is None or snapshot.captured_at_ms is None:
        return snapshot.known_until_ms
    now_ms = options.now_ms - snapshot.captured_at_ms
    if -_SHOWN_MS < now_ms < 0:
        return 0
    if now_ms < 0:
        fix = "give a later --set now, or an earlier snapshot: --as-of chooses one of a history"
        raise UsageError(
            f"now is before the snapshot, which is of {snapshot.captured_at}",
            where=f"application {snapshot.state.group.application_id!r}",
            fix=fix,
        )
    return now_ms
