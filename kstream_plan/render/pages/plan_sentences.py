"""What happens in a plan, how long it takes, whether it is safe, what is unknown: two to four sentences; its rates."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.plans import Plan
from kstream_plan.plans.cold_causes import cold_sentences, still_restoring
from kstream_plan.plans.known_rates import GIVEN, KnownRate
from kstream_plan.plans.note_codes import BACK_BEFORE_FENCED
from kstream_plan.plans.plan import ENDS_OF_OTHERS_NOT_PLAYED, NOT_PLAYED, RemainingWork, shorter_than
from kstream_plan.plans.targets import without_target
from kstream_plan.plans.verdict import CauseCode
from kstream_plan.render.page import as_sentence
from kstream_plan.render.pages.plan_facts import duration_text, if_caught_up
from kstream_plan.render.pages.plan_rounds import PlanView
from kstream_plan.render.text.numbers import at_least, count, duration, name_list, rate_text, span_to, utc

_RATE_UNKNOWN = "the restore rate is unknown (--restore-rate would tell)"

_SOURCES = {
    "log": "the leader's log",
    "offsets-topic": "the offsets topic",
    "lags": "lags over time",
    "metrics": "metrics",
    GIVEN: "options",
}


def plan_sentences(view: PlanView) -> tuple[str, ...]:
    """Return the paragraphs of a plan that has rounds."""
    cold = map(view.names.escape_message, cold_sentences(view.plan, view.activities, view.draws))
    parts = (_settles(view), still_restoring(view.plan), *_tasks_at_first(view), *_moves(view), *cold)
    first = " ".join(filter(None, parts))
    off_target = without_target(view.plan)
    target = "" if off_target is None else as_sentence(off_target.message)
    return tuple(filter(None, (target, first, " ".join([*_random(view), *unknown_ends(view)]))))


def settled_sentences(view: PlanView) -> tuple[str, ...]:
    """Return the paragraph of a plan without rounds."""
    plan = view.plan
    if not plan.group.tasks:
        return ("The group has no tasks, so there is nothing to plan.",)
    verdict = "A rebalance now changes nothing"
    if plan.outages:
        first = f"{verdict}, and nothing that happens starts another one."
    elif any(note.code == "counts-only" for note in plan.assumptions):
        first = f"{verdict}, unless a delay runs or a worker has gone: REST does not tell."
    else:
        first = f"The group is settled. {verdict}: no moves, no pauses{', no probes' if plan.probes else ''}."
    return (" ".join([first, *_may_change(view), *unknown_ends(view)]),)


def _may_change(view: PlanView) -> Iterator[str]:
    """Yield what may follow of a plan in which nothing is likely to follow."""
    rebalances, cold = view.figure("rebalances").most, view.figure("cold_handovers").most
    if rebalances:
        follow = f"up to {count(rebalances, 'rebalance')} and {count(cold, 'cold start')} may follow"
        longest = duration(view.figure("duration_ms").most)
        yield f"That depends on what is unknown: {follow}, in up to {longest}."


def _settles(view: PlanView) -> str:
    plan, kind = view.plan, view.plan.verdict.kind
    if kind == "settled":
        return _settles_after(view)
    reason = view.names.escape_message(plan.verdict.reason)
    tasks = name_list([view.names.task(task_id) for task_id in plan.verdict.tasks])
    detail = f" ({tasks})" if tasks else ""
    if kind == "unfinished":
        return f"The plan ends before the group settles: {reason}{detail}.{_what_is_left(view)}{cause_text(view)}"
    if plan.verdict.is_over:
        return f"The group is stuck for {duration(plan.summary.duration_ms)}: {reason}{detail}.{cause_text(view)}"
    group = "In this simulation the group" if view.figure("settles").most else "The group"
    return f"{group} does not settle: {reason}{detail}.{cause_text(view)}"


def _tasks_at_first(view: PlanView) -> Iterator[str]:
    """Yield how many tasks are unassigned when the plan begins, and that later news was not seen."""
    plan = view.plan
    tasks = len(plan.group.tasks)
    orphans = tasks - len(set().union(*(roles.active for roles in plan.initial)))
    if orphans:
        noun = "connectors and tasks" if plan.is_of_workers else "tasks"
        verbs = "is unassigned, and pauses," if orphans == 1 else "are unassigned, and pause,"
        caveat = f", if no rebalance came after {utc(plan.captured_at or '')}: none was seen"
        yield f"{orphans:,} of {tasks:,} {noun} {verbs} when the plan begins{caveat * bool(plan.begins_late_at)}."


def _settles_after(view: PlanView) -> str:
    summary, ends = view.plan.summary, view.figure("settles")
    is_assumed = summary.duration_is in ("probes", "floor")
    in_memory = view.plan.unsettled_in_memory
    if ends.least != ends.most and in_memory is None:
        reason = f", and {_RATE_UNKNOWN}" if is_assumed else ""
        return f"The group may or may not settle; if it does, it takes {duration_text(view)}{reason}."
    likely = _settles_likely(view, is_assumed=is_assumed)
    return likely if in_memory is None else f"{likely} {in_memory}."


def _settles_likely(view: PlanView, *, is_assumed: bool) -> str:
    summary = view.plan.summary
    if summary.duration_is == "least":
        return f"The group settles after at least {at_least(summary.duration_ms)}."
    if not view.figure("duration_ms").median:
        return "The group settles at once."
    if view.plan.design == "streams" and view.figure("cold_handovers").median and summary.runs_by_ms is None:
        return f"All tasks are assigned in about {duration(summary.duration_ms)}; when all of them run is unknown."
    likely = f"The group settles in about {duration(summary.duration_ms)}"
    return f"{likely} {if_caught_up(view.plan)}, else later: {_RATE_UNKNOWN}." if is_assumed else f"{likely}."


def cause_text(view: PlanView) -> str:
    """Return what a group that does not settle waits for, after a blank; empty if nothing."""
    cause = view.plan.verdict.cause
    if cause is None:
        return ""
    if cause.code is CauseCode.LEFT_UNASSIGNED:
        return f" {view.names.escape_message(cause.message)}."
    place = f"{view.names.task(cause.task_id)} on {view.names.instance(cause.process_id)}"
    return f" It waits for {place}: {view.names.escape_message(cause.message)}."


def _what_is_left(view: PlanView) -> str:
    """Return how much is left of a plan that reached the limit of its rounds, after a blank."""
    plan = view.plan
    if plan.remaining_work is None:
        return ""
    whole = f"The whole plan needs about {plan.rounds_in_all:,} rebalances (--set max.rounds)."
    return f" {left_sentence(plan.remaining_work)} {whole}{_sooner(view, plan.remaining_work)}"


def left_sentence(remaining_work: RemainingWork) -> str:
    """Return how many tasks still have to move, and about how long that takes."""
    verb = "has" if remaining_work.tasks == 1 else "have"
    tasks = f"{count(remaining_work.tasks, 'task')} {verb} still to move, {remaining_work.at_once:,} at a time"
    return f"{tasks}: about {count(remaining_work.probes, 'probe')} ({duration(remaining_work.time_ms)})."


def _sooner(view: PlanView, remaining_work: RemainingWork) -> str:
    shorter = shorter_than(remaining_work, view.plan.config)
    if shorter is None:
        return ""
    probes = f"{count(shorter.probes, 'probe')} ({duration(shorter.time_ms)})"
    return f" With max.warmup.replicas={shorter.at_once:,} it would be about {probes}, with as many extra copies."


def _moves(view: PlanView) -> Iterator[str]:
    plan, moves = view.plan, view.figure("moves")
    stateful = len(plan.group.stateful)
    if not stateful:
        if plan.summary.stateless_hops:
            yield f"Stateless tasks change their instance {count(plan.summary.stateless_hops, 'time')}."
        return
    member, noun = ("worker", "connector or task") if plan.is_of_workers else ("instance", "stateful task")
    starts = sum(len(activity.moves) for activity in view.activities)
    if not moves.most and not starts:
        yield f"No {noun} moves."
        return
    if not moves.most:
        yield f"In the end no {noun} has moved ({count(starts, 'start')} meanwhile)."
        return
    verb = "moves" if moves.median == 1 else "move"
    minimum = plan.summary.lower_bounds.moves
    enough = f"{count(minimum, 'move')} would be enough to balance the group" if minimum else "the balance needs none"
    fewer = f"; {enough}" if minimum < moves.median else ""
    owned = {task for roles in plan.initial for task in roles.active}
    reason = f"some move more than once{', or were unassigned' * (not owned.issuperset(plan.group.stateful))}"
    hops = f", in {starts:,} {'starts' if plan.is_of_workers else 'cut-overs'} ({reason})" * (starts > moves.median)
    tasks = "connectors and tasks" if plan.is_of_workers else "stateful tasks"
    yield f"{moves.median:,} of {stateful:,} {tasks} {verb} to another {member}{hops}{fewer}."


def _random(view: PlanView) -> Iterator[str]:
    """Yield that process ids of new instances are random, and how often they were drawn."""
    draws = view.draws
    if draws is None:
        return
    if draws.number == 1:
        yield "Process ids of new instances are random and break ties: this is one of many outcomes (--set draws)."
        return
    endless_count = draws.number - draws.settled
    not_settled = f"; {endless_count:,} of them do not settle" if endless_count else ""
    simulations = f"{draws.number:,} simulations with random process ids, which break ties"
    yield f"Shown is a typical one of {simulations}; ranges are over all{not_settled}."


def unknown_ends(view: PlanView) -> Iterator[str]:
    """Yield that more may happen than was simulated, or that other outcomes were not."""
    if any(note.code == BACK_BEFORE_FENCED for note in view.plan.assumptions):
        yield "More may move, and start cold, than was simulated: all figures are lower bounds."
    codes = {note.code for note in view.plan.warnings}
    if ENDS_OF_OTHERS_NOT_PLAYED in codes:
        yield "What is unknown was varied in the shown simulation only (--set ranges=true varies it in all)."
    elif codes.intersection(NOT_PLAYED):
        yield "Other outcomes were not simulated (--set ranges=true does)."


def rates_text(plan: Plan) -> str:
    """Return what is restored and written per second, with its evidence; empty if neither is known."""
    restore, produce = plan.rates
    known_rates = [rate for rate in (restore, produce) if rate is not None]
    sources = [words for source, words in _SOURCES.items() if any(source in rate.sources for rate in known_rates)]
    texts = [*_text(restore, "restored", "instance"), *_text(produce, "written", "task")]
    return "; ".join([*texts, *([f"from {' and '.join(sources)}"] if sources else [])]) if texts else ""


def _text(rate: KnownRate | None, verb: str, noun: str) -> Iterator[str]:
    if rate is not None:
        evidence = f"{rate.measured:,} of {count(rate.among, noun)}"
        bound, places = ("at least ", f"on {evidence}") if rate.at_least else ("", f"per {noun}")
        unit = "record/s" if rate.median == 1 else "records/s"
        yield f"{bound}{rate_text(rate.median)} {unit} {verb} {places}{_sample(rate, evidence)}"


def _sample(rate: KnownRate, evidence: str) -> str:
    """Return `` (381 to 412; 3 of 4 instances, 1 to 3 intervals)``; empty for a rate that is given."""
    if GIVEN in rate.sources:
        return ""
    least, most = rate_text(rate.least), rate_text(rate.most)
    ends = f"{least} to {most}; " if least != most else ""
    intervals = span_to(rate.least_intervals, rate.most_intervals)
    sample = f"{intervals} {'interval' if intervals == '1' else 'intervals'}" if rate.least_intervals else ""
    if not rate.at_least:
        return f" ({ends}{', '.join(filter(None, (evidence, sample)))})"
    remainder = "the others are unknown" if rate.measured < rate.among else "how much more is unknown"
    return f" ({ends}{'; '.join(filter(None, (sample, remainder)))})"
