"""The invariants of a plan: what must hold of every one, whatever design made it, and what a design promises beside.

They read the plan alone and know nothing of the planner. Broken ones are a defect of this tool, never of the input. To
add one is a function and a line here; stateless tasks whose owners are numbers are checked in ``stateless`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.plans import Plan
from kstream_plan.plans.invariants import copies, outcome
from kstream_plan.plans.invariants.changes import CopyChanges
from kstream_plan.plans.invariants.plan_view import PlanView
from kstream_plan.plans.python_gc import without_cycle_collector


class Broken(NamedTuple):
    """One broken invariant: its name, the round (0: before the first; ``None``: of the whole plan), the fault."""

    invariant: str
    round_number: int | None
    message: str


#: A plan, and the changes of some of its rounds → their faults: (round number, message)
OfRounds: TypeAlias = Callable[[PlanView, CopyChanges], Iterator[tuple[int | None, str]]]
#: A plan → its faults: (round number, message)
OfPlan: TypeAlias = Callable[[PlanView], Iterator[tuple[int | None, str]]]

#: Every invariant of owners and copies, by its name.
OF_ROUNDS: Mapping[str, OfRounds] = MappingProxyType(
    {
        "one-active-per-task": copies.one_active_per_task,
        "one-copy-per-instance": copies.one_copy_per_instance,
        "no-second-owner": copies.no_second_owner,
        "temporary-only-while-withheld": copies.temporary_only_while_withheld,
        "warmups-within-budget": copies.warmups_within_budget,
        "one-learner-per-task": copies.one_learner_per_task,
        "standbys-as-wanted": copies.standbys_as_wanted,
        "stateless-without-copies": copies.stateless_without_copies,
        "steps-are-lossless": copies.steps_are_lossless,
    }
)

#: Every other invariant by its name.
OF_PLAN: Mapping[str, OfPlan] = MappingProxyType(
    {
        "withheld-is-followed-up": outcome.withheld_is_followed_up,
        "leaving-is-over-in-time": outcome.leaving_is_over_in_time,
        "rounds-in-order": outcome.rounds_in_order,
        "verdict-fits": outcome.verdict_fits,
        "holders-are-members": outcome.holders_are_members,
        "settles-at-target": outcome.settles_at_target,
        "target-covers-every-task": outcome.target_covers_every_task,
        "summary-adds-up": outcome.summary_adds_up,
    }
)

#: Those that only plans of one design keep: its name → theirs.
OF_DESIGN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "classic": frozenset({"withheld-is-followed-up", "warmups-within-budget", "standbys-as-wanted"}),
        "learner": frozenset({"one-learner-per-task", "leaving-is-over-in-time"}),
    }
)


@without_cycle_collector()
def broken_invariants(plan: Plan, *, rebuilt: bool = False) -> tuple[Broken, ...]:
    """Check every invariant that holds of plans of its design; nothing is returned for a sound plan.

    ``rebuilt``: the rounds' outcomes were made from the steps, so that there is no use in doing that once more.
    """
    left_out = frozenset().union(*(names for design, names in OF_DESIGN.items() if design != plan.design))
    left_out |= {"steps-are-lossless"} if rebuilt else set()
    subject, violations = PlanView.of_plan(plan), list[Broken]()
    try:
        for changes in subject.changes():
            for name, of_rounds in OF_ROUNDS.items():
                if name not in left_out:
                    violations += (Broken(name, *fault) for fault in of_rounds(subject, changes))
    except ValueError as error:
        return (Broken("steps-are-lossless", None, f"a step does not fit: {error}"),)
    if subject.stateless is not None:
        violations += (Broken(name, *fault) for name, faults in subject.stateless.faults.items() for fault in faults)
    for name, of_plan in OF_PLAN.items():
        if name not in left_out:
            violations += (Broken(name, *fault) for fault in of_plan(subject))
    return tuple(violations)
