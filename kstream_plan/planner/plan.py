"""A whole plan: the loop played, and what came out put together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from kstream_plan.model import GroupState, Holdings, Note, Rates, Snapshot
from kstream_plan.model.scenario import Burst, ProduceRate, Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import newcomers
from kstream_plan.planner.loop import OnRound, Outcome, rehearse
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.outside_events import OutsideEvents
from kstream_plan.planner.roster import Roster
from kstream_plan.planner.summarize import least_moves, summarize
from kstream_plan.planner.timeline import timeline
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.balance import initial_balance
from kstream_plan.plans.design import Design, Played
from kstream_plan.plans.garbage_collector import without_cycle_collector
from kstream_plan.plans.known_rates import known_rates
from kstream_plan.plans.pauses import pauses_of

__all__ = ["OnRound", "plan"]


@without_cycle_collector()
def plan(
    snapshot: Snapshot,
    design: Design,
    options: PlanOptions = PlanOptions(),
    *,
    scenario: Scenario | None = None,
    on_round: OnRound | None = None,
) -> Plan:
    """Say what follows in a group that coordinates by ``design``, from now on or of what ``scenario`` does to it.

    Of the ``options`` those count that are about any design. With a scenario the plan's group is everyone who ever
    takes part. ``on_round`` is told how many rounds there are, and how many tasks still have to move. Deterministic:
    the same snapshot, design and options give the same plan.

    Raises:
        ScenarioError: the scenario does not fit the group.
    """
    state, config = design.start(snapshot.state, scenario), snapshot.config
    outside = timeline(state.group.instances, config, scenario.events if scenario else ())
    everyone = Roster(state.group, outside.everyone if scenario else None)
    outcome = rehearse(
        state,
        config,
        design.coordinator(config),
        OutsideEvents(state.group, snapshot.rates, outside.changes, outside.outages, outside.paces),
        everyone,
        first_trigger=options.trigger or (Trigger.JOIN if newcomers(state) else Trigger.MANUAL),
        max_rounds=4 * (len(state.group.stateful) + 10) * (1 + len(outside.changes))
        if options.max_rounds is None
        else options.max_rounds,
        on_round=on_round or (lambda _rounds, _queued: None),
    )
    group, rounds, before = everyone.group, tuple(outcome.rounds), outcome.before
    held = Holdings.of(state.group, state.holdings) if before is None else before.held
    initial = everyone.holdings(state.group, held)
    stopping = design.stopping(group)
    paused = pauses_of(group, initial, rounds, stopping, config, outside.unnoticed)
    played = Played(
        snapshot=snapshot,
        scenario=scenario,
        state=state,
        rounds=rounds,
        group=outcome.group,
        target=outcome.target,
        rates=outcome.rates,
        configs=(config, *(later for _, later in outcome.settings)),
        unrated=outcome.restored.unrated(group),
        goes_on=before is not None,
    )
    moves = least_moves(group, initial, outcome.group, outcome.target)
    snapshot_digest = input_digest(snapshot.state, config, snapshot.rates)
    return Plan(
        group=group,
        digest=snapshot_digest if scenario is None else input_digest(snapshot.state, config, snapshot.rates, scenario),
        snapshot_digest=snapshot_digest,
        generation=state.generation if before is None else before.generation,
        captured_at=snapshot.captured_at,
        design=design.name,
        models=design.models,
        assignor=design.assignor,
        protocol=design.protocol,
        config=config,
        assumptions=design.assumptions(played) + _assumptions(played, outcome) + outcome.notes,
        initial=initial,
        initial_balance=initial_balance(group, initial, rounds),
        stopping=stopping,
        rounds=rounds,
        final=rounds[-1].assigned if rounds else initial,
        members=tuple((instance.process_id, instance.capacity) for instance in outcome.group.instances),
        target=everyone.target(outcome.group, outcome.target),
        pauses=paused,
        summary=summarize(
            group,
            initial,
            rounds,
            design.lower_bounds(moves, played, solve=options.bounds),
            paused,
            rate_known=not played.unrated,
            max_cold_restore_ms=outcome.restored.max_cold_ms,
        ),
        warnings=snapshot.warnings + outcome.warnings,
        verdict=outcome.verdict,
        later_configs=outcome.settings,
        outages=outside.unnoticed,
        rates=known_rates(snapshot.rates, snapshot.state.group),
    )


def _assumptions(played: Played, outcome: Outcome) -> tuple[Note, ...]:
    """Say what is taken for granted whatever the design."""
    snapshot, state, scenario, rounds = played.snapshot, played.state, played.scenario, played.rounds
    notes = []
    written = snapshot.rates.any_produce or (
        scenario is not None and any(isinstance(event, ProduceRate | Burst) for event in scenario.events)
    )
    if rounds and outcome.restored.any and played.rates.any_restore and not written:
        notes.append(Note("no-produce-rate", "No produce rate is known: nothing counts as written meanwhile"))
    notes += snapshot.assumptions
    left_over = {task for task, copies in enumerate(state.copies) if any(copy.consumer is None for copy in copies)}
    if rounds and left_over:
        names = tuple(str(state.group.tasks[task].task_id) for task in sorted(left_over))
        notes.append(Note("left-over-age", "The snapshot's left-over state counts as left over since just now", names))
    new = sorted(set(played.group.instance_index).difference(state.group.instance_index))
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


def input_digest(state: GroupState, config: AssignmentConfig, rates: Rates, scenario: Scenario | None = None) -> str:
    """Return the SHA-256 (hex) of the selected input in canonical form.

    Tasks, members, what they hold, what is on disk, the generation, the rates and the settings the plan is made with
    count, and what happens to the group meanwhile; the time of the capture and the order of anything in the
    input do not.
    """
    group = state.group
    canonical = {
        "application_id": group.application_id,
        "generation": state.generation,
        "leader": state.leader,
        "config": asdict(config),
        "tasks": [
            (
                str(task.task_id),
                task.stateful,
                task.end_offset_sum if task.end_offset_known else None,
                task.source_partitions,
                task.changelog_partitions,
            )
            for task in group.tasks
        ],
        "instances": [asdict(instance) for instance in group.instances],
        "holdings": tuple(state.holdings),
        "copies": [[(copy.instance, copy.lag, copy.reporters) for copy in copies] for copies in state.copies],
        "rates": [
            sorted(rates.restore.items()),
            sorted(rates.produce.items()),
            rates.restore_per_instance,
            rates.produce_per_task,
        ],
    }
    if state.memory is not None:
        canonical["memory"] = repr(state.memory)
    if rates.restore_of or rates.produce_of:
        canonical["rates_of_some"] = [sorted(rates.restore_of.items()), sorted(rates.produce_of.items())]
    if scenario is not None:
        canonical["scenario"] = [(type(event).__name__, asdict(event) | {"where": ""}) for event in scenario.events]
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
