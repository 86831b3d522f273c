"""Plans put together of rounds that were written down, to be checked: who holds what comes first, figures follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kstream_plan.model import Group, Holding, Target
from kstream_plan.model.holding_changes import extra_copies, moved
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import LowerBounds, Phase, Plan, Round, Step, Summary, Trigger, Verdict
from kstream_plan.plans.balance import balance_of, initial_balance
from kstream_plan.plans.pauses import pauses_of
from tests.helpers.in_rows import round_steps


def round_of(
    group: Group, number: int, steps: Sequence[Step], decided: Sequence[Holding], assigned: Sequence[Holding]
) -> Round:
    """A round 3 s after the one before, which it follows up."""
    return Round(
        number=number,
        generation=7 + number,
        at_ms=3000 * (number - 1),
        trigger=Trigger.FOLLOW_UP if number > 1 else Trigger.MANUAL,
        phases=(Phase.CUT_OVER,),
        probing_rebalance=False,
        steps=round_steps(group, steps),
        balance=balance_of(group, decided),
        decided=decided,
        assigned=assigned,
    )


def plan_of(group: Group, initial: Sequence[Holding], rounds: Sequence[Round], **changes: object) -> Plan:
    """A plan that settles after these rounds, which is its target, and whose figures add up."""
    final = rounds[-1].assigned if rounds else initial
    active = tuple(
        tuple(sorted(t for c in consumers for t in final[c].active if group.tasks[t].stateful))
        for consumers in group.consumers_of
    )
    plan = Plan(
        group=group,
        digest="",
        snapshot_digest="",
        generation=7,
        captured_at=None,
        assignor="high-availability",
        protocol="cooperative",
        config=AssignmentConfig(),
        assumptions=(),
        initial=initial,
        initial_balance=initial_balance(group, initial, rounds),
        stopping=frozenset(),
        rounds=tuple(rounds),
        final=final,
        members=tuple((instance.process_id, instance.capacity) for instance in group.instances),
        target=Target(active, ((),) * len(group.instances)),
        pauses=pauses_of(group, initial, rounds, (), AssignmentConfig()),
        summary=Summary(
            rebalances=len(rounds),
            probing_rebalances=0,
            duration_ms=rounds[-1].at_ms if rounds else 0,
            duration_is="floor",
            moves=len(moved(group, initial, final)),
            hops=0,
            warmups=0,
            cold_handovers=0,
            max_cold_restore_ms=0,
            restored_records=0,
            paused_task_ms=0,
            max_paused_task=None,
            peak_extra_copies=max(extra_copies([rnd.assigned for rnd in rounds]), default=0),
            stateless_hops=0,
            lower_bounds=LowerBounds(moves=0, probing_rebalances=0),
        ),
        warnings=(),
        verdict=Verdict("settled"),
    )
    return replace(plan, **changes)
