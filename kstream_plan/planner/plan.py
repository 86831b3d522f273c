"""Plan = (assign → advance the group state → repeat until settled), under a clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.model import Assignment, GroupState, Holdings, Note, Snapshot
from kstream_plan.model.scenario import Burst, ProduceRate, Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import newcomers, seated
from kstream_plan.planner.input_digest import input_digest
from kstream_plan.planner.loop import Method, OnRound, Outcome, rehearse
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.planner.outside import OutsideEvents
from kstream_plan.planner.roster import Roster
from kstream_plan.planner.summarize import lower_bounds, summarize
from kstream_plan.planner.timeline import timeline
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.balance import initial_balance
from kstream_plan.plans.cycle_collector import without_cycle_collector
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.protocols import PROTOCOLS, gives_up

__all__ = ["OnRound", "assign_once", "plan"]


@without_cycle_collector()
def plan(
    snapshot: Snapshot,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
    **changed: Unpack[PlanKeywords],
) -> Plan:
    """Say what follows when a rebalance starts now, or of what ``scenario`` does to the group.

    The ``options`` may be given one by one as well: ``plan(snapshot, assignor="balanced")``. With a scenario the plan's
    group is everyone who ever takes part. ``on_round`` is told how many rounds there are, and how many tasks still have
    to move. Deterministic: the same snapshot and options give the same plan.

    Raises:
        KeyError: no such assignor or protocol.
        ScenarioError: the scenario does not fit the group.
    """
    options = replace(options, **changed)
    assignor, protocol = options.assignor, options.protocol
    state = seated(snapshot.state)
    members = state.group.instances
    outside = timeline(members, snapshot.config, scenario.events if scenario else ())
    everyone = Roster(state.group, outside.everyone if scenario else None)
    course = OutsideEvents(state.group, snapshot.rates, outside.changes, outside.outages, outside.paces)
    rehearsal = rehearse(
        state,
        snapshot.config,
        Method(ASSIGNORS[assignor], PROTOCOLS[protocol]),
        course,
        everyone,
        first_trigger=options.trigger or (Trigger.JOIN if newcomers(state) else Trigger.MANUAL),
        max_rounds=4 * (len(state.group.stateful) + 10) * (1 + len(outside.changes))
        if options.max_rounds is None
        else options.max_rounds,
        on_round=on_round or (lambda _rounds, _queued: None),
    )
    group, rounds = everyone.group, tuple(rehearsal.rounds)
    initial = everyone.holdings(state.group, Holdings.of(state.group, state.holdings))
    stopping = gives_up(group, protocol)
    paused = pauses_of(group, initial, rounds, stopping, snapshot.config, outside.unnoticed)
    least = None
    if options.bounds or ASSIGNORS[assignor].optimal:
        least = _least_restored(snapshot.config, state, rehearsal, assignor)
    made_from = snapshot.state, snapshot.config, snapshot.rates
    snapshot_digest = input_digest(*made_from)
    return Plan(
        group=group,
        digest=snapshot_digest if scenario is None else input_digest(*made_from, scenario),
        snapshot_digest=snapshot_digest,
        generation=state.generation,
        captured_at=snapshot.captured_at,
        assignor=assignor,
        protocol=protocol,
        config=snapshot.config,
        assumptions=_assumptions(snapshot, state, rehearsal, protocol, scenario) + rehearsal.notes,
        initial=initial,
        initial_balance=initial_balance(group, initial, rounds),
        stopping=stopping,
        rounds=rounds,
        final=rounds[-1].assigned if rounds else initial,
        members=tuple((instance.process_id, instance.capacity) for instance in rehearsal.group.instances),
        target=everyone.target(rehearsal.group, rehearsal.target),
        pauses=paused,
        summary=summarize(
            group,
            initial,
            rounds,
            lower_bounds(group, initial, rehearsal.group, rehearsal.target, snapshot.config, least),
            paused,
            rate_known=not rehearsal.restored.unrated(group),
            max_cold_restore_ms=rehearsal.restored.max_cold_ms,
        ),
        warnings=snapshot.warnings + rehearsal.warnings,
        verdict=rehearsal.verdict,
        later_configs=rehearsal.settings,
        outages=outside.unnoticed,
    )


def assign_once(snapshot: Snapshot, *, assignor: str = "high-availability") -> Assignment:
    """Return the assignor's decision from the snapshot, without the rounds that follow from it."""
    return ASSIGNORS[assignor](seated(snapshot.state), snapshot.config)


def _least_restored(config: AssignmentConfig, state: GroupState, rehearsal: Outcome, assignor: str) -> int | None:
    from kstream_plan.assignors.balanced.least_restored import least_restored  # noqa: PLC0415 - loads the solver

    configs = [config, *(later for _, later in rehearsal.settings)]
    most_lenient = max(one.acceptable_recovery_lag for one in configs)
    return least_restored(
        state,
        rehearsal.group,
        rehearsal.target,
        replace(configs[-1], acceptable_recovery_lag=most_lenient),
        subtopologies=ASSIGNORS[assignor].optimal,
    )


def _assumptions(
    snapshot: Snapshot,
    state: GroupState,
    rehearsal: Outcome,
    protocol: str,
    scenario: Scenario | None,
) -> tuple[Note, ...]:
    rounds = rehearsal.rounds
    now = not rounds or rounds[0].trigger is Trigger.MANUAL or scenario is None
    starts = "A rebalance starts now; a probe already scheduled is not counted"
    notes = [
        Note("starts-now", starts if now else "A probe that is scheduled already is not counted"),
        Note("typical-times", "Times are typical, give or take a heartbeat interval per rebalance"),
    ]
    group, stopping = state.group, gives_up(state.group, protocol)
    if rounds and stopping:
        who = "All" if len(stopping) == len(group.consumer_ids) else f"{len(stopping)} of {len(group.consumer_ids)}"
        message = f"{who} consumers stop everything they run at every rebalance, moved or not: the eager protocol"
        notes.append(Note("eager-stops", message))
    listed = gives_up(group, "mixed") - stopping
    if rounds and listed:
        message = (
            f"{len(listed)} consumers do not list cooperative alone, and are taken to; --protocol mixed goes by it"
        )
        notes.append(Note("protocols-not-used", message))
    unrated = rehearsal.restored.unrated(group)
    if rounds and unrated and not rehearsal.rates.any_restore:
        message = "No restore rate is known: every copy counts as caught up at the next probe, so the time is a floor"
        notes.append(Note("no-restore-rate", message))
    elif rounds and unrated:
        message = (
            "Of some copies the restore rate or the end offset is not known: they count as caught up at the next "
            "probe, so it is a floor"
        )
        notes.append(Note("no-restore-rate", message, unrated))
    written = snapshot.rates.any_produce or (
        scenario is not None and any(isinstance(event, ProduceRate | Burst) for event in scenario.events)
    )
    if rounds and rehearsal.restored.any and rehearsal.rates.any_restore and not written:
        notes.append(Note("no-produce-rate", "No produce rate is known: nothing counts as written meanwhile"))
    notes += snapshot.assumptions
    left_over = {task for task, copies in enumerate(state.copies) if any(copy.consumer is None for copy in copies)}
    if rounds and left_over:
        names = tuple(str(state.group.tasks[task].task_id) for task in sorted(left_over))
        notes.append(Note("left-over-age", "The snapshot's left-over state counts as left over since just now", names))
    new = sorted(set(rehearsal.group.instance_index).difference(state.group.instance_index))
    if new and snapshot.rates.restore and snapshot.rates.restore_per_instance is None:
        message = "New instances restore as fast as the others do in the middle: theirs cannot have been measured"
        notes.append(Note("new-instances-restore-rate", message, tuple(new)))
    unmeasured = _unmeasured(snapshot)
    if rounds and unmeasured:
        message = "Instances that were not seen restoring restore as fast as the others do in the middle"
        notes.append(Note("restore-rate-of-others", message, unmeasured))
    if snapshot.captured_at is None:
        notes.append(Note("no-capture-time", "The snapshot does not say when it was taken"))
    return tuple(notes)


def _unmeasured(snapshot: Snapshot) -> tuple[str, ...]:
    """Return who counts as restoring like the others, because only theirs was measured."""
    rates, instances = snapshot.rates, snapshot.state.group.instances
    if not rates.restore or rates.restore_per_instance is not None:
        return ()
    known = rates.restore.keys() | rates.restore_of.keys()
    return tuple(instance.process_id for i, instance in enumerate(instances) if i not in known)
