"""The invariants of a plan: what must hold of every one, whatever assignor and protocol made it.

They read the plan alone and know nothing of the planner. Broken ones are a defect of this tool, never of the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kstream_plan.histories import MANY, Alike, Change, changed_holdings, difference, extra_copies, times_in, unlike
from kstream_plan.model import Holding
from kstream_plan.protocols import gives_up
from kstream_plan.replay import replay
from kstream_plan.steps import MemberLeft, Plan, ReasonCode, Revoke, Round, Trigger


class Broken(NamedTuple):
    """One broken invariant: its name, the round (0: before the first; ``None``: of the whole plan), what is wrong."""

    invariant: str
    round_number: int | None
    message: str


#: A plan → what is wrong with it: (round number, message)
Invariant: TypeAlias = Callable[[Plan], Iterator[tuple[int | None, str]]]


def broken_invariants(plan: Plan, *, rebuilt: bool = False) -> tuple[Broken, ...]:
    """Check every invariant; nothing is returned for a sound plan.

    ``rebuilt``: the rounds' outcomes were made from the steps, so that there is no use in doing that once more.
    """
    return tuple(
        Broken(name, number, message)
        for name, check in INVARIANTS.items()
        if not (rebuilt and check is steps_are_lossless)
        for number, message in check(plan)
    )


def one_active_per_task(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """Every task is decided active exactly once in every round, and never held active twice."""
    decided = [rnd.decided for rnd in plan.rounds]
    for index, task, count in _counts(plan, decided, lambda held: held.active):
        if count != 1:
            yield index + 1, f"{_name(plan, task)} is decided active {count} times"
    held = [plan.initial, *(rnd.assigned for rnd in plan.rounds)]
    for index, task, count in _counts(plan, held, lambda held: held.active):
        if count > 1:
            yield index, f"{_name(plan, task)} is held active {count} times"


def one_copy_per_instance(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """No instance is decided, or holds, a task twice, in whatever roles."""
    for word, history in (
        ("is decided", [rnd.decided for rnd in plan.rounds]),
        ("holds", [rnd.assigned for rnd in plan.rounds]),
    ):
        for index, changes in changed_holdings(history):
            for instance, tasks in sorted(_gained(plan, changes).items()):
                roles = [role for consumer in plan.group.consumers_of[instance] for role in history[index][consumer]]
                if len(tasks) > MANY and len(set().union(*roles)) == sum(map(len, roles)):
                    continue
                twice = [_name(plan, task) for task in sorted(tasks) if sum(times_in(role, task) for role in roles) > 1]
                if twice:
                    yield index + 1, f"{_process(plan, instance)} {word} more than one copy of {', '.join(twice)}"


def no_second_owner(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """Nobody starts an active task that another consumer held until then: it is revoked one round earlier.

    Unless the other one is gone. Only who gives up everything before a rebalance
    (:func:`~kstream_plan.protocols.gives_up`) has revoked it in time.
    """
    stopping = gives_up(plan.group, plan.protocol)
    for rnd, changes in changed_holdings([plan.initial, *(rnd.assigned for rnd in plan.rounds)]):
        if rnd:
            freed = stopping | _gone(plan, plan.rounds[rnd - 1])
            lost: set[int] = set()
            gained: set[int] = set()
            for consumer, old, new in changes:
                if old.active is not new.active:
                    before, after = difference(old.active, new.active)
                    lost.update(() if consumer in freed else before)
                    gained.update(after)
            yield from (
                (rnd, f"{_name(plan, t)} starts before its owner has revoked it") for t in sorted(lost & gained)
            )


def withheld_is_followed_up(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """A follow-up comes next if and only if something is withheld."""
    for rnd, after in pairwise(plan.rounds):
        if bool(_withheld(rnd)) != (after.trigger is Trigger.FOLLOW_UP):
            yield rnd.number, f"{len(_withheld(rnd))} tasks are withheld and the next trigger is {after.trigger}"


def temporary_only_while_withheld(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """A temporary standby is a task withheld from that very consumer in that very round."""
    for rnd in plan.rounds:
        withheld = _withheld(rnd)
        for consumer in compress(range(len(rnd.assigned)), map(attrgetter("temporary"), rnd.assigned)):
            for task in rnd.assigned[consumer].temporary:
                if (consumer, task) not in withheld:
                    yield rnd.number, f"{_name(plan, task)} is held as a temporary standby but not withheld"


def warmups_within_budget(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """At most ``max_warmup_replicas`` warm-ups are decided at once."""
    for rnd in plan.rounds:
        most = plan.config_of(rnd.number).max_warmup_replicas
        warmups = sum(map(len, map(attrgetter("warmup"), rnd.decided)))
        if warmups > most:
            yield rnd.number, f"{warmups} warm-ups, max_warmup_replicas is {most}"


def standbys_as_wanted(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """A stateful task is decided ``num_standby_replicas`` standbys; fewer only if the plan warns of it."""
    short = {subject for note in plan.warnings if note.code == "standbys-short" for subject in note.subjects}
    for index, task, count in _counts(plan, [rnd.decided for rnd in plan.rounds], lambda held: held.standby):
        wanted = plan.config_of(index + 1).num_standby_replicas
        if count == wanted or not plan.group.stateful_flags[task]:
            continue
        name = _name(plan, task)
        if count > wanted or name not in short:
            yield index + 1, f"{name} is decided {count} standbys, num_standby_replicas is {wanted}"


def stateless_without_copies(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """A stateless task is active or nothing."""
    for rnd, changes in changed_holdings([rnd.assigned for rnd in plan.rounds]):
        for _, _, held in changes:
            for task in (*held.standby, *held.warmup, *held.temporary):
                if not plan.group.tasks[task].stateful:
                    yield rnd + 1, f"stateless {_name(plan, task)} has a copy"


def rounds_in_order(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """Rounds are numbered from 1, generations follow the snapshot's, and time never goes back.

    It starts at 0, or with what comes from outside.
    """
    at_ms = 0
    for index, rnd in enumerate(plan.rounds):
        if (rnd.number, rnd.generation) != (index + 1, plan.generation + index + 1):
            yield index + 1, f"is numbered {rnd.number}, generation {rnd.generation}"
        if rnd.at_ms < at_ms or (index == 0 and rnd.at_ms and rnd.trigger in _FROM_THE_GROUP):
            yield index + 1, f"is at {rnd.at_ms} ms, after {at_ms} ms"
        at_ms = rnd.at_ms


def steps_are_lossless(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """``initial`` and the steps give every round's ``decided`` and ``assigned``, and ``final``."""
    replayed = replay(plan.group, plan.initial, (rnd.steps for rnd in plan.rounds))
    decided, assigned = Alike(), Alike()
    try:
        for rnd, outcome in zip(plan.rounds, replayed, strict=True):
            if not decided.next(outcome.decided, rnd.decided):
                yield rnd.number, "the steps do not give what was decided"
            if not assigned.next(outcome.assigned, rnd.assigned):
                yield rnd.number, "the steps do not give what is assigned"
    except ValueError as error:
        yield None, f"a step does not fit: {error}"
    if plan.final != (plan.rounds[-1].assigned if plan.rounds else plan.initial):
        yield None, "final is not what the last round assigned"


def verdict_fits(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """Settled means: nothing withheld and no probing wanted at the end; any other verdict means the opposite."""
    going_on = bool(plan.rounds) and (plan.rounds[-1].probing_rebalance or bool(_withheld(plan.rounds[-1])))
    if (plan.verdict.kind == "settled") == going_on:
        yield None, f"the verdict is {plan.verdict.kind} but the last round {'goes on' if going_on else 'does not'}"


def settles_at_target(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """Once settled after at least one round, every stateful task is active on its target instance."""
    if plan.verdict.kind != "settled" or not plan.rounds:
        return
    for instance, consumers in enumerate(plan.group.consumers_of):
        active = sorted(t for c in consumers for t in plan.final[c].active if plan.group.tasks[t].stateful)
        if active != sorted(plan.target.active[instance]):
            yield None, f"{_process(plan, instance)} does not run what the target gives it"


def target_covers_every_task(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """The target runs every stateful task exactly once."""
    counts = Counter(task for tasks in plan.target.active for task in tasks)
    for task in plan.group.stateful:
        if counts[task] != 1:
            yield None, f"the target runs {_name(plan, task)} {counts[task]} times"


def summary_adds_up(plan: Plan) -> Iterator[tuple[int | None, str]]:
    """The summary's rebalances, probes, duration, moves and peak of extra copies are those of the rounds."""
    summary = plan.summary
    figures = {
        "rebalances": len(plan.rounds),
        "probing_rebalances": sum(rnd.trigger is Trigger.PROBING for rnd in plan.rounds),
        "duration_ms": plan.rounds[-1].at_ms if plan.rounds else 0,
        "moves": _moves(plan),
        "peak_extra_copies": max(extra_copies([rnd.assigned for rnd in plan.rounds]), default=0),
    }
    for name, counted in figures.items():
        if getattr(summary, name) != counted:
            yield None, f"the summary says {name} {getattr(summary, name)}, the rounds give {counted}"


def _moves(plan: Plan) -> int:
    """Stateful tasks that somebody ran at first and whose owning instance differs at the end."""
    owners = [
        {task: plan.group.instance_of[c] for c, held in enumerate(holdings) for task in held.active}
        for holdings in (plan.initial, plan.final)
    ]
    return sum(
        instance != owners[1].get(task) for task, instance in owners[0].items() if plan.group.tasks[task].stateful
    )


#: Every invariant by its name.
INVARIANTS: Mapping[str, Invariant] = MappingProxyType(
    {
        "one-active-per-task": one_active_per_task,
        "one-copy-per-instance": one_copy_per_instance,
        "no-second-owner": no_second_owner,
        "withheld-is-followed-up": withheld_is_followed_up,
        "temporary-only-while-withheld": temporary_only_while_withheld,
        "warmups-within-budget": warmups_within_budget,
        "standbys-as-wanted": standbys_as_wanted,
        "stateless-without-copies": stateless_without_copies,
        "rounds-in-order": rounds_in_order,
        "steps-are-lossless": steps_are_lossless,
        "verdict-fits": verdict_fits,
        "settles-at-target": settles_at_target,
        "target-covers-every-task": target_covers_every_task,
        "summary-adds-up": summary_adds_up,
    }
)

#: What never starts a plan that begins after 0.
_FROM_THE_GROUP = (Trigger.MANUAL, Trigger.PROBING, Trigger.FOLLOW_UP)


def _counts(
    plan: Plan, history: Sequence[Sequence[Holding]], role: Callable[[Holding], tuple[int, ...]]
) -> Iterator[tuple[int, int, int]]:
    """Yield (index, task, how many consumers have it in the role): every task at first, then those that changed."""
    counts = [0] * len(plan.group.tasks)
    for index, changes in changed_holdings(history):
        touched = set(range(len(counts))) if index == 0 else set()
        for _, old, new in changes:
            before, after = role(old), role(new)
            if before is after:
                continue
            lost, gained = difference(before, after)
            for task in lost:
                counts[task] -= 1
            for task in gained:
                counts[task] += 1
            touched.update(lost, gained)
        yield from ((index, task, counts[task]) for task in sorted(touched))


def _gone(plan: Plan, rnd: Round) -> set[int]:
    """Return the consumers whose instance left in the round, and those that their instance stopped."""
    left = {step.process_id for step in rnd.steps if isinstance(step, MemberLeft)}
    stopped = {
        step.from_.consumer_id
        for step in rnd.steps
        if isinstance(step, Revoke) and step.reason.code is ReasonCode.THREAD_STOPPED
    }
    group = plan.group
    return (
        {
            consumer
            for consumer, consumer_id in enumerate(group.consumer_ids)
            if group.instances[group.instance_of[consumer]].process_id in left or consumer_id in stopped
        }
        if left or stopped
        else set()
    )


def _gained(plan: Plan, changes: Sequence[Change]) -> dict[int, set[int]]:
    """Return by instance the tasks that one of its consumers got, in whatever role."""
    found: dict[int, set[int]] = {}
    for consumer, old, new in changes:
        for before, after in zip(old, new, strict=True):
            gained = () if before is after else difference(before, after)[1]
            if gained:
                found.setdefault(plan.group.instance_of[consumer], set()).update(gained)
    return found


def _withheld(rnd: Round) -> set[tuple[int, int]]:
    return {
        (consumer, task)
        for consumer in unlike(rnd.decided, rnd.assigned)
        for task in difference(rnd.decided[consumer].active, rnd.assigned[consumer].active)[0]
    }


def _name(plan: Plan, task: int) -> str:
    return str(plan.group.tasks[task].task_id)


def _process(plan: Plan, instance: int) -> str:
    return plan.group.instances[instance].process_id
