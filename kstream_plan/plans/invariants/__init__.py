"""The invariants of a plan: what must hold of every one, whatever design made it, and what a design promises beside.

They read the plan alone and know nothing of the planner. Broken ones are a defect of this tool, never of the input. To
add one is a function and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.plans import Plan
from kstream_plan.plans.invariants import copies, outcome
from kstream_plan.plans.invariants.plan_view import PlanView
from kstream_plan.plans.invariants.proofs import proven
from kstream_plan.plans.python_gc import without_cycle_collector


class Broken(NamedTuple):
    """One broken invariant: its name, the round (0: before the first; ``None``: of the whole plan), what is wrong."""

    invariant: str
    round_number: int | None
    message: str


#: A plan → what is wrong with it: (round number, message)
Invariant: TypeAlias = Callable[[PlanView], Iterator[tuple[int | None, str]]]


#: Every invariant by its name.
INVARIANTS: Mapping[str, Invariant] = MappingProxyType(
    {
        "one-active-per-task": copies.one_active_per_task,
        "one-copy-per-instance": copies.one_copy_per_instance,
        "no-second-owner": copies.no_second_owner,
        "withheld-is-followed-up": copies.withheld_is_followed_up,
        "temporary-only-while-withheld": copies.temporary_only_while_withheld,
        "warmups-within-budget": copies.warmups_within_budget,
        "one-learner-per-task": copies.one_learner_per_task,
        "leaving-is-over-in-time": outcome.leaving_is_over_in_time,
        "standbys-as-wanted": copies.standbys_as_wanted,
        "stateless-without-copies": copies.stateless_without_copies,
        "rounds-in-order": outcome.rounds_in_order,
        "steps-are-lossless": outcome.steps_are_lossless,
        "verdict-fits": outcome.verdict_fits,
        "holders-are-members": outcome.holders_are_members,
        "settles-at-target": outcome.settles_at_target,
        "target-covers-every-task": outcome.target_covers_every_task,
        "summary-adds-up": outcome.summary_adds_up,
    }
)

#: Those that rounds keep which are proven sound (:mod:`~kstream_plan.plans.invariants.proofs`).
BY_ROUND = frozenset(
    {
        "one-active-per-task",
        "one-copy-per-instance",
        "no-second-owner",
        "temporary-only-while-withheld",
        "warmups-within-budget",
        "standbys-as-wanted",
        "stateless-without-copies",
        "steps-are-lossless",
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
    names = [name for name in INVARIANTS if name not in left_out and not (rebuilt and name == "steps-are-lossless")]
    subject = PlanView.of(plan)
    known = proven(subject.plan, subject.tasks)
    if known and not any(_broken(names, replace(subject, proven=known))):
        return ()
    return tuple(_broken(names, subject))


def _broken(names: Iterable[str], subject: PlanView) -> Iterator[Broken]:
    """Yield what is broken; if any rounds are proven, not all that is."""
    for name in names:
        for part in subject.parts if name in BY_ROUND else [subject]:
            yield from (Broken(name, number, message) for number, message in INVARIANTS[name](part))
