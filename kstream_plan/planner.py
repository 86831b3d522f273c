"""Plan = (assign → advance the group state → repeat until settled), under a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kstream_plan import uncertainty
from kstream_plan.assignment_config import AssignmentConfig
from kstream_plan.assignors import ASSIGNORS, Assignor
from kstream_plan.digest import input_digest
from kstream_plan.figures import InstanceLoad, balance, instance_loads, summarize
from kstream_plan.model import Assignment, GroupState, Holding, Note, Rates, Snapshot
from kstream_plan.progress import AT_ONCE_MS, Interval, advance
from kstream_plan.protocols import PROTOCOLS, Protocol
from kstream_plan.recurrence import Recurrence
from kstream_plan.round_steps import steps_of
from kstream_plan.starting_state import newcomers, seated
from kstream_plan.steps import (
    HandOver,
    MemberJoined,
    Phase,
    Plan,
    Promote,
    Reason,
    ReasonCode,
    Role,
    Round,
    Step,
    ThreadMove,
    Trigger,
    Verdict,
)
from kstream_plan.transition import Transition
from kstream_plan.uncertainty import has_rate, without_rate

#: Called after every round with the number of rounds so far and of movements still queued.
OnRound: TypeAlias = Callable[[int, int], None]


def plan(
    snapshot: Snapshot,
    *,
    assignor: str = "high-availability",
    protocol: str = "cooperative",
    trigger: Trigger | None = None,
    max_rounds: int | None = None,
    bounds: bool = False,
    on_round: OnRound | None = None,
) -> Plan:
    """Say what follows when a rebalance starts now.

    ``assignor`` and ``protocol`` are names in the registries; ``trigger`` is that of round 1 (default: ``join`` if an
    instance holds and reports nothing, else ``manual``); ``max_rounds`` ends a plan that goes on, as ``unfinished``
    (default: 4 · (stateful tasks + 10)); with ``bounds`` the summary has the least that had to be restored, which takes
    a solver (``balanced`` has it anyway). Deterministic: the same snapshot and options give the same plan.

    Raises:
        KeyError: no such assignor or protocol.
    """
    state = seated(snapshot.state)
    rehearsal = _rehearse(
        state,
        snapshot.config,
        _Rules(ASSIGNORS[assignor], PROTOCOLS[protocol], snapshot.rates),
        first_trigger=trigger or (Trigger.JOIN if newcomers(state) else Trigger.MANUAL),
        max_rounds=4 * (len(state.group.stateful) + 10) if max_rounds is None else max_rounds,
        on_round=on_round or (lambda _rounds, _queued: None),
    )
    rounds = rehearsal.rounds
    unrated = without_rate(state, rounds, snapshot.rates)
    rate_known = not unrated and has_rate(snapshot.rates)
    return Plan(
        group=state.group,
        digest=input_digest(snapshot.state, snapshot.config, snapshot.rates),
        generation=state.generation,
        captured_at=snapshot.captured_at,
        assignor=assignor,
        protocol=protocol,
        config=snapshot.config,
        assumptions=_assumptions(snapshot, state, rounds, unrated) + rehearsal.notes,
        initial=state.holdings,
        rounds=tuple(rounds),
        final=rounds[-1].assigned if rounds else state.holdings,
        target=rehearsal.decision.target,
        summary=summarize(
            state,
            rounds,
            rehearsal.decision.target,
            snapshot.config,
            rate_known=rate_known,
            least_restored=_least_restored(snapshot.config, state, rehearsal.decision, assignor)
            if bounds or assignor == "balanced"
            else None,
        ),
        warnings=snapshot.warnings + rehearsal.warnings,
        verdict=rehearsal.verdict,
    )


def assign_once(snapshot: Snapshot, *, assignor: str = "high-availability") -> Assignment:
    """Return the assignor's decision from the snapshot, without the rounds that follow from it."""
    return ASSIGNORS[assignor](seated(snapshot.state), snapshot.config)


def _least_restored(config: AssignmentConfig, state: GroupState, decision: Assignment, assignor: str) -> int | None:
    from kstream_plan.assignors.restore_bound import least_restored  # noqa: PLC0415 - loads the solver

    return least_restored(state, decision.target, config, subtopologies=assignor == "balanced")


@dataclass(frozen=True, slots=True)
class _Rules:
    assign: Assignor
    rebalance: Protocol
    rates: Rates


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    rounds: list[Round]
    decision: Assignment
    verdict: Verdict
    warnings: tuple[Note, ...]
    notes: tuple[Note, ...] = ()


def _rehearse(
    state: GroupState,
    config: AssignmentConfig,
    rules: _Rules,
    *,
    first_trigger: Trigger,
    max_rounds: int,
    on_round: OnRound,
) -> _Rehearsal:
    rounds: list[Round] = []
    recurrence = Recurrence(config)
    trigger, at_ms = first_trigger, 0
    previous: tuple[GroupState, Assignment] | None = None
    loads: tuple[InstanceLoad, ...] | None = None
    revoked_by: Mapping[int, int] = {}
    races: set[int] = set()
    deletions: set[int] = set()
    notes: tuple[Note, ...] = ()
    while True:
        decision = rules.assign(state, config, previous)
        notes = notes if rounds else decision.notes
        transition = rules.rebalance(state, decision)
        if not rounds and _nothing_to_do(state, decision):
            return _Rehearsal(
                rounds, decision, Verdict("settled", (), "nothing would change"), _shortages(state, decision)
            )
        loads = instance_loads(state.group, decision.consumers, loads)
        steps = steps_of(state, decision, transition, config, revoked_by)
        if rounds:
            races |= uncertainty.taken_back(state, steps)
        elif trigger is Trigger.JOIN:
            steps = _joined(state) + steps
        settled = not transition.withheld and not decision.probing_rebalance
        rounds.append(
            Round(
                number=len(rounds) + 1,
                generation=state.generation + 1,
                at_ms=at_ms,
                trigger=trigger,
                phases=_phases(decision, transition, steps, settled=settled),
                probing_rebalance=decision.probing_rebalance,
                steps=steps,
                balance=balance(state.group, loads),
                decided=decision.consumers,
                assigned=transition.holdings,
            )
        )
        on_round(len(rounds), len(decision.movements))
        verdict = _verdict(state, decision, recurrence, trigger, settled=settled, left=max_rounds - len(rounds))
        if verdict is not None:
            warnings = _shortages(state, decision) + uncertainty.notes(state, races, deletions)
            return _Rehearsal(rounds, decision, verdict, warnings, notes)
        interval = _until_next(at_ms, transition, config)
        previous = (state, decision)
        revoked_by = {entry.task: entry.owner for entry in transition.withheld}
        state = advance(state, transition, interval, config, rules.rates)
        deletions |= uncertainty.cleaned_up(previous[0], state, decision, config)
        at_ms, trigger = interval.to_ms, Trigger.PROBING if interval.tick else Trigger.FOLLOW_UP


def _nothing_to_do(state: GroupState, decision: Assignment) -> bool:
    """What is assigned is what is decided, standbys, warm-ups and temporary standbys counted alike."""

    def flat(held: Holding) -> tuple[tuple[int, ...], list[int]]:
        return held.active, sorted(held.standby + held.warmup + held.temporary)

    return not decision.probing_rebalance and all(
        held == decided or flat(held) == flat(decided)
        for held, decided in zip(state.holdings, decision.consumers, strict=True)
    )


def _joined(state: GroupState) -> tuple[Step, ...]:
    reason = Reason(ReasonCode.MEMBERSHIP)
    return tuple(MemberJoined(state.group.instances[instance].process_id, reason) for instance in newcomers(state))


def _phases(
    decision: Assignment, transition: Transition, steps: tuple[Step, ...], *, settled: bool
) -> tuple[Phase, ...]:
    warming_up = any(held.warmup for held in decision.consumers)
    cutting_over = bool(transition.withheld) or any(_starts(step) for step in steps)
    phases = [phase for phase, holds in ((Phase.WARM_UP, warming_up), (Phase.CUT_OVER, cutting_over)) if holds]
    if settled:
        phases.append(Phase.SETTLED)
    elif decision.probing_rebalance and (not steps or not phases):
        phases.append(Phase.PROBING)
    return tuple(phases)


def _starts(step: Step) -> bool:
    return isinstance(step, HandOver | Promote) or (isinstance(step, ThreadMove) and step.to.role is Role.ACTIVE)


def _until_next(at_ms: int, transition: Transition, config: AssignmentConfig) -> Interval:
    """The typical time to the next rebalance (reference, "What a real group does", 5; README, clock)."""
    if not transition.withheld:
        return Interval(at_ms, at_ms + config.probing_rebalance_interval_ms + config.heartbeat_interval_ms, tick=True)
    everyone_at_once = len(transition.disturbed) == len(transition.holdings)
    delay_ms = AT_ONCE_MS if everyone_at_once else config.heartbeat_interval_ms
    return Interval(at_ms, at_ms + delay_ms, tick=False)


def _verdict(
    state: GroupState, decision: Assignment, recurrence: Recurrence, trigger: Trigger, *, settled: bool, left: int
) -> Verdict | None:
    if settled:
        return Verdict("settled", (), "what was decided is what everyone holds")
    if trigger is not Trigger.FOLLOW_UP:
        verdict = recurrence.verdict(state, decision)
        if verdict is not None:
            return verdict
    if left <= 0:
        waiting = tuple(state.group.tasks[task].task_id for task in sorted({m.task for m in decision.movements}))
        return Verdict("unfinished", waiting, "the limit of rounds was reached")
    return None


def _shortages(state: GroupState, decision: Assignment) -> tuple[Note, ...]:
    if not decision.short_standbys:
        return decision.warnings
    tasks = tuple(str(state.group.tasks[task].task_id) for task, _ in decision.short_standbys)
    return (
        Note(
            "standbys-short",
            f"{len(tasks)} tasks get fewer than num.standby.replicas standbys: there are not enough instances for them",
            tasks,
        ),
        *decision.warnings,
    )


def _assumptions(
    snapshot: Snapshot, state: GroupState, rounds: Sequence[Round], unrated: tuple[str, ...]
) -> tuple[Note, ...]:
    notes = [
        Note("starts-now", "A rebalance starts now; a probe already scheduled is not counted"),
        Note("typical-times", "Times are typical, give or take a heartbeat interval per rebalance"),
    ]
    if rounds and not has_rate(snapshot.rates):
        message = "No restore rate is known: every copy counts as caught up at the next probe, so the time is a floor"
        notes.append(Note("no-restore-rate", message))
    elif unrated:
        message = (
            "Of some copies the restore rate is not known: they count as caught up at the next probe, so it is a floor"
        )
        notes.append(Note("no-restore-rate", message, unrated))
    left_over = {task for task, copies in enumerate(state.copies) if any(copy.consumer is None for copy in copies)}
    if rounds and left_over:
        names = tuple(str(state.group.tasks[task].task_id) for task in sorted(left_over))
        notes.append(Note("left-over-age", "The snapshot's left-over state counts as left over since just now", names))
    if snapshot.captured_at is None:
        notes.append(Note("no-capture-time", "The snapshot does not say when it was taken"))
    return tuple(notes)
