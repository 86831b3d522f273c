"""One application of many in one flat row: the figures of its plan, or simulation, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from kstream_plan.plans.longest_pause import longest_pause, most_restoring_first
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.rebalance_events import membership
from kstream_plan.plans.simulated import Simulation, more_may_follow, range_of, settles_surely, tells_restored

#: What comes of an application: nothing follows, surely; how its plan ends (``moving``: settled); or there is none.
Outcome: TypeAlias = Literal["settled", "moving", "stuck", "cyclic", "unfinished", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one application; of one that is ``unreadable`` only that, its id if it is known, and ``error``.

    Figures that depend on unknown facts, or on chance, have both ends (``…_least``, ``…_most``). ``None``: not known.
    ``settles_surely``: whatever is not known, and in every draw. ``instances`` are those before, among them
    ``instances_empty``, which hold nothing: they have just joined, or there is nothing for them; ``instances_joining``
    and ``instances_leaving`` come and go in the plan. ``spread``: most minus least stateful tasks that an instance runs
    as the first rebalance finds them. ``tasks_per_instance_…``: tasks that an instance runs, from the fewest to the
    most, before and after. ``…_likely``: as the plan itself has it. ``standbys_missing``: so many fewer there are than
    ``num.standby.replicas`` asks for and instances allow. ``plan`` is the saved plan, if it is to be kept.
    ``more_may_follow``: not every outcome was simulated to its end, and figures are lower bounds.
    ``restoring_first`` tasks count as warm, and restore for long before they run, at worst. Pauses include restores.
    ``draws_settled`` of the ``draws`` settle; rows that were saved before do not say how many.
    """

    format_version: str = "1.0"
    kind: Literal["result"] = "result"
    application_id: str | None
    outcome: Outcome
    error: str | None = None
    generation: int | None = None
    captured_at: str | None = None
    design: str | None = None
    assignor: str | None = None
    protocol: str | None = None
    digest: str | None = None
    snapshot_digest: str | None = None
    instances: int | None = None
    instances_empty: int | None = None
    instances_joining: int | None = None
    instances_leaving: int | None = None
    tasks: int | None = None
    stateful_tasks: int | None = None
    spread: int | None = None
    standbys_missing: int | None = None
    settles_surely: bool | None = None
    rebalances: int | None = None
    probing_rebalances: int | None = None
    duration_ms: int | None = None
    duration_ms_least: int | None = None
    duration_ms_most: int | None = None
    duration_is: str | None = None
    moves_least: int | None = None
    moves_most: int | None = None
    cold_handovers_least: int | None = None
    cold_handovers_most: int | None = None
    max_paused_task_ms_least: int | None = None
    max_paused_task_ms_most: int | None = None
    pauses_are_least: bool | None = None
    restored_records_least: int | None = None
    restored_records_most: int | None = None
    peak_extra_copies: int | None = None
    draws: int | None = None
    draws_settled: int | None = None
    cause: str | None = None
    cure: str | None = None
    duration_ms_likely: int | None = None
    moves_likely: int | None = None
    cold_handovers_likely: int | None = None
    max_paused_task_ms_likely: int | None = None
    restored_records_likely: int | None = None
    tasks_per_instance_least: int | None = None
    tasks_per_instance_most: int | None = None
    tasks_per_instance_after_least: int | None = None
    tasks_per_instance_after_most: int | None = None
    more_may_follow: bool | None = None
    restoring_first: int | None = None
    plan: str | None = None

    @property
    def every_draw_settles(self) -> bool:
        """Whether it settles in every draw; of rows that do not say so, whether it does surely."""
        if self.draws is None:
            return True
        return bool(self.settles_surely) if self.draws_settled is None else self.draws_settled == self.draws


#: The figures with both their ends.
_WITH_ENDS = ("duration_ms", "moves", "cold_handovers", "restored_records", "peak_extra_copies")


def result_of(plan: Plan, simulated: Simulation | None = None) -> Result:
    """Return the row of a plan, or of the simulation that it is of."""
    joined_ids, left_ids = membership(plan)
    first_members = set(plan.first_members)
    draws = None if simulated is None else simulated.draws
    duration, moves, cold, restored_records, extra = (range_of(plan, figure, draws) for figure in _WITH_ENDS)
    pause = longest_pause(plan, draws)
    cure = None if simulated is None else simulated.cure
    is_restored_known = tells_restored(plan, draws)
    first_load_range, last_load_range = plan.initial_balance.ends, plan.balance_after.ends
    floor_ms = plan.summary.floor_ms if draws is None and plan.verdict.kind == "settled" else None
    return Result(
        application_id=plan.group.application_id,
        outcome=_outcome(plan),
        generation=plan.generation,
        captured_at=plan.captured_at,
        design=plan.design,
        assignor=plan.assignor,
        protocol=plan.protocol,
        digest=plan.digest,
        snapshot_digest=plan.snapshot_digest,
        instances=len(first_members),
        instances_empty=_empty(plan, first_members),
        instances_joining=len(joined_ids),
        instances_leaving=len(left_ids),
        tasks=len(plan.group.tasks),
        stateful_tasks=len(plan.group.stateful),
        spread=plan.initial_balance.instance_spread,
        standbys_missing=_standbys_missing(plan, len(first_members)),
        settles_surely=plan.tells_ends and settles_surely(plan, draws),
        rebalances=plan.summary.rebalances,
        probing_rebalances=plan.summary.probing_rebalances,
        duration_ms=plan.summary.duration_ms if simulated is None else simulated.duration_ms,
        duration_ms_least=duration.least if floor_ms is None else min(floor_ms, duration.least),
        duration_ms_most=duration.most,
        duration_is=plan.summary.duration_is,
        moves_least=moves.least,
        moves_most=moves.most,
        cold_handovers_least=cold.least,
        cold_handovers_most=cold.most,
        more_may_follow=more_may_follow(plan, draws),
        restoring_first=most_restoring_first(plan, draws),
        max_paused_task_ms_least=pause.least_ms,
        max_paused_task_ms_most=pause.most_ms or max(range_of(plan, "max_paused_task_ms", draws).most, pause.ms),
        pauses_are_least=plan.pauses_are_least or pause.most_ms is None or plan.may_be_endless("max_paused_task_ms"),
        restored_records_least=restored_records.least if is_restored_known else None,
        restored_records_most=restored_records.most if is_restored_known else None,
        peak_extra_copies=extra.most,
        draws=None if draws is None else draws.number,
        draws_settled=None if draws is None else draws.settled,
        cause=_cause(plan),
        cure=None if cure is None or cure.may_not_settle else f"{cure.setting}={cure.value}",
        duration_ms_likely=plan.summary.duration_ms,
        moves_likely=plan.summary.moves,
        cold_handovers_likely=plan.summary.cold_handovers,
        max_paused_task_ms_likely=pause.ms,
        restored_records_likely=plan.summary.restored_records if is_restored_known else None,
        tasks_per_instance_least=first_load_range[0],
        tasks_per_instance_most=first_load_range[1],
        tasks_per_instance_after_least=last_load_range[0],
        tasks_per_instance_after_most=last_load_range[1],
    )


def _outcome(plan: Plan) -> Outcome:
    if plan.verdict.kind != "settled":
        return plan.verdict.kind
    return "moving" if plan.ends("rebalances")[1] else "settled"


def _empty(plan: Plan, first_members: set[str]) -> int:
    group = plan.group
    return sum(
        not any(any(plan.initial[consumer]) for consumer in consumers)
        for instance, consumers in zip(group.instances, group.consumers_of, strict=True)
        if instance.process_id in first_members
    )


def _standbys_missing(plan: Plan, instances: int) -> int:
    wanted_standbys = min(plan.config.num_standby_replicas, max(0, instances - 1)) * len(plan.group.stateful)
    return max(0, wanted_standbys - sum(len(holding.standby) for holding in plan.initial))


def _cause(plan: Plan) -> str | None:
    verdict = plan.verdict
    if verdict.kind == "settled":
        return None
    if verdict.cause is None:
        return verdict.reason
    task_id, process_id = verdict.cause.task_id, verdict.cause.process_id
    instance = plan.group.instances[plan.group.instance_index[process_id]]
    return f"{task_id} waits for {instance.host or process_id}: {verdict.cause.message}"
