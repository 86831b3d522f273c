"""The invariants of who runs and keeps what as they are worded, looked at round by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from kstream_plan.model import Holding
from kstream_plan.plans import Plan, Round, Trigger


def broken_first(plan: Plan) -> dict[str, int]:
    """The number of the first round that breaks each invariant that is broken, of a plan of the classic design."""
    found: dict[str, int] = {}
    before: Sequence[Holding] = tuple(plan.initial)
    for place, rnd in enumerate(plan.rounds):
        for name in _broken(plan, before, rnd):
            found.setdefault(name, rnd.number)
        if place + 1 < len(plan.rounds):
            follows = plan.rounds[place + 1].trigger is Trigger.FOLLOW_UP
            if follows != bool(_withheld(rnd)):
                found.setdefault("withheld-is-followed-up", rnd.number)
        before = tuple(rnd.assigned)
    return found


def _broken(plan: Plan, before: Sequence[Holding], rnd: Round) -> Iterator[str]:
    group, config, tasks = plan.group, plan.config, range(len(plan.group.tasks))
    decided, assigned = tuple(rnd.decided), tuple(rnd.assigned)
    active, standby = (Counter(chain.from_iterable(roles[of] for roles in decided)) for of in (0, 1))
    if any(active[task] != 1 for task in tasks) or max(_owners(assigned).values(), default=0) > 1:
        yield "one-active-per-task"
    for held in (decided, assigned):
        for consumers in group.consumers_of:
            copies = [task for consumer in consumers for role in held[consumer] for task in role]
            if len(copies) > len(set(copies)):
                yield "one-copy-per-instance"
    if any(_gives_up(before, assigned, task) - plan.stopping and _gives_up(assigned, before, task) for task in tasks):
        yield "no-second-owner"
    if any((consumer, task) not in _withheld(rnd) for consumer, held in enumerate(assigned) for task in held.temporary):
        yield "temporary-only-while-withheld"
    if sum(len(held.warmup) for held in decided) > config.max_warmup_replicas:
        yield "warmups-within-budget"
    if any(task in group.stateless for held in assigned for role in held[1:] for task in role):
        yield "stateless-without-copies"
    yield from _short_of_standbys(plan, standby)


def _short_of_standbys(plan: Plan, standby: Counter[int]) -> Iterator[str]:
    group, config = plan.group, plan.config
    short = {name for note in plan.warnings if note.code == "standbys-short" for name in note.subjects}
    for task in group.stateful:
        is_short = standby[task] < config.num_standby_replicas and str(group.tasks[task].task_id) in short
        if standby[task] != config.num_standby_replicas and not is_short:
            yield "standbys-as-wanted"


def _gives_up(before: Sequence[Holding], after: Sequence[Holding], task: int) -> set[int]:
    pairs = enumerate(zip(before, after, strict=True))
    return {consumer for consumer, (old, new) in pairs if task in old.active and task not in new.active}


def _owners(held: Sequence[Holding]) -> Counter[int]:
    return Counter(task for roles in held for task in roles.active)


def _withheld(rnd: Round) -> set[tuple[int, int]]:
    pairs = enumerate(zip(rnd.decided, rnd.assigned, strict=True))
    return {(consumer, task) for consumer, (one, other) in pairs for task in {*one.active} - {*other.active}}
