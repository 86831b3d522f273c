"""The rounds of a plan step by step, all of them or those of one round, task or instance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kstream_plan.model import Holding, WorkId
from kstream_plan.plans import Balance, Plan, Role, Round, Step
from kstream_plan.render.page import Section
from kstream_plan.render.pages.step_sentences import sentence
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import duration


@dataclass(frozen=True, slots=True)
class Focus:
    """What to show of a plan: one round's number, one task, one instance's process id; ``None`` stands for all."""

    round_number: int | None = None
    task_id: WorkId | None = None
    process_id: str | None = None


def details(plan: Plan, names: Names, focus: Focus) -> Iterator[Section]:
    """Yield every round that has a step in focus, a sentence for each; if none is left out, how balanced it is."""
    lower_bounds = plan.lower_bound_lags
    for round_ in plan.rounds:
        if focus.round_number not in (None, round_.number):
            continue
        steps = [step for step in round_.steps if _in_focus(step, focus)]
        whole = focus.task_id is None and focus.process_id is None
        if steps or whole:
            balance = (_balance(round_.balance, of_workers=plan.is_of_workers),) if whole else ()
            yield Section(_heading(round_), (*(sentence(step, names, lower_bounds) for step in steps), *balance))


NO_STEP = "No step of this plan is about that"


def where_it_stands(plan: Plan, names: Names, focus: Focus) -> tuple[str, ...]:
    """Return where the task in focus is, and what the instance in focus holds, before the plan and after it."""
    sentences: list[str] = []
    for moment, holdings in (("before", plan.initial), ("after", plan.final)):
        if focus.task_id is not None:
            places = _places(plan, names, holdings, focus.task_id)
            sentences.append(f"{moment}: {names.task(focus.task_id)} is {', '.join(places) or 'nowhere'}")
        if focus.process_id is not None:
            roles = _roles(plan, names, holdings, focus.process_id)
            sentences.append(f"{moment}: {names.instance(focus.process_id)} holds {'; '.join(roles) or 'nothing'}")
    return tuple(sentences)


def _places(plan: Plan, names: Names, holdings: Sequence[Holding], task_id: WorkId) -> list[str]:
    group, task = plan.group, plan.group.task_index[task_id]
    return [
        f"{role} on {names.instance(group.instances[group.instance_of[consumer]].process_id)}"
        for role in Role
        for consumer, roles in enumerate(holdings)
        if task in getattr(roles, role)
    ]


def _roles(plan: Plan, names: Names, holdings: Sequence[Holding], process_id: str) -> list[str]:
    group = plan.group
    consumers = group.consumers_of[group.instance_index[process_id]]
    roles = []
    for role in Role:
        tasks = sorted(task for consumer in consumers for task in getattr(holdings[consumer], role))
        if tasks:
            roles.append(f"{len(tasks):,} {role}: {' '.join(names.task(group.tasks[task].task_id) for task in tasks)}")
    return roles


def _heading(round_: Round) -> str:
    phases = f" ({', '.join(phase.value for phase in round_.phases)})" if round_.phases else ""
    title = f"Rebalance {round_.number:,} at {duration(round_.at_ms)}"
    return f"{title}: {round_.trigger.value}{phases}, generation {round_.generation:,}"


def _balance(balance: Balance, *, of_workers: bool) -> str:
    if of_workers:
        return f"Balance: connectors and tasks per worker differ by {balance.balance_factor:,}"
    tasks = f"within a subtopology by {balance.subtopology_task_spread:,}"
    instances = f"instances per subtopology by {balance.subtopology_spread:,}"
    return f"Balance: tasks per instance differ by {balance.balance_factor:,}, {tasks}; {instances}"


def _in_focus(step: Step, focus: Focus) -> bool:
    """Return whether a step is about the task and the instance in focus."""
    seats = (getattr(step, name, None) for name in ("from_", "to"))
    members = [getattr(step, "process_id", None), *(seat.process_id for seat in seats if seat is not None)]
    is_of_task = focus.task_id in (None, getattr(step, "task_id", None))
    return is_of_task and (focus.process_id is None or focus.process_id in members)
