"""Why a group does what it does, in sentences; every figure in them is one of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.activity import events
from kstream_plan.plans.simulated import WhatIf
from kstream_plan.plans.why_answers import (
    InstanceAnswer,
    Probing,
    Rebalances,
    Share,
    TaskAnswer,
    Uneven,
    Why,
    WhyBalance,
    WhyInstance,
    WhyTask,
)
from kstream_plan.render.pages.step_sentences import sentence
from kstream_plan.render.plan.headline import cause_sentence
from kstream_plan.render.plan.moment import of_generation, to_the_second
from kstream_plan.render.plan.rates import rates_facts
from kstream_plan.render.plan.remarks import remarks as plan_remarks
from kstream_plan.render.simulation.story import cold_starts_of
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, durations, generation, interval, several, takes_at_least
from kstream_plan.render.text.page import Fact
from kstream_plan.render.why.waiting import waits
from kstream_plan.simulation.what_ifs import starts_empty

#: So many tasks of a list, and steps of a task, are told one by one.
_MOST_TOLD = 8


@dataclass(frozen=True, slots=True)
class WhyStory:
    """What the table and the Markdown form show, in this order; every name in it is escaped already."""

    title: Fact
    facts: tuple[Fact, ...]
    remarks: tuple[str, ...]


_AS_DECIDED = "made again the decision comes out as it was made, instance by instance"
_NOT_AS_DECIDED = "made again it comes out another way than it was made: what follows is not what was decided"


def tell_why(answers: Why, names: Names) -> WhyStory:
    """Put the answers into words: those about the task or the instance that was asked about, else about the group."""
    facts: list[Fact] = []
    if answers.task is not None:
        facts += _task(answers.task, answers, names)
    if answers.instance is not None:
        facts += _instance(answers.instance, answers, names)
    about_all = answers.task is None and answers.instance is None
    if about_all:
        facts = [*_probing(answers, names), _balance(answers), *_rebalances(answers)]
    facts += rates_facts(answers.plan) if any(fact.label == "WAITS" for fact in facts) else []
    remarks = [names.escape_message(note.message) for note in answers.plan.warnings]
    if about_all:
        remarks = [*plan_remarks(answers.plan, events(answers.plan), names)]
    if answers.as_decided is not None:
        remarks.insert(0, _AS_DECIDED if answers.as_decided else _NOT_AS_DECIDED)
    return WhyStory(_title(answers, names), tuple(facts), tuple(remarks))


def _title(answers: Why, names: Names) -> Fact:
    plan, probing = answers.plan, answers.probing
    label, now = names.escape(plan.group.application_id), _in_short(plan, probing)
    if answers.as_decided is not None:
        made = generation(plan.rounds[0].generation if plan.rounds else plan.generation + 1)
        at = f", {names.escape_message(to_the_second(plan.captured_at))}" if plan.captured_at else ""
        return Fact(label, (f"what {made} was decided from{at}: {now}. Times count from then",))
    which = of_generation(plan, names)
    starts = ". A rebalance starts now" if answers.stands_after else ""
    return Fact(label, (f"{now}. {which[0].upper()}{which[1:]}{starts}",))


def _in_short(plan: Plan, probing: Probing) -> str:
    waiting, queued = len(probing.waiting), len(probing.queued)
    if waiting or queued:
        copies = f"{count(waiting, 'copy', 'copies')} {'is' if waiting == 1 else 'are'} waited for" if waiting else ""
        tasks = f"{count(queued, 'task')} {'has' if queued == 1 else 'have'} none yet" if queued else ""
        still = "it still probes" if probing.next_ms is not None else "it does not probe"
        return f"{still}: {', '.join(filter(None, (copies, tasks)))}"
    if probing.handed_over:
        tasks = count(len(probing.handed_over), "task is being", "tasks are being")
        return f"{tasks} handed over, and no copy is waited for"
    if plan.verdict.kind != "settled":
        return "it does not settle"
    return "it waits for nothing" if probing.next_ms is None else "it probes, and no copy is waited for"


def _probing(answers: Why, names: Names) -> Iterator[Fact]:
    plan, probing = answers.plan, answers.probing
    if probing.handed_over:
        tasks = several([names.task(of) for of in probing.handed_over], _MOST_TOLD)
        yield Fact("NOW", (f"{tasks}: the owners give them up, and a rebalance right after starts them elsewhere",))
    yield from waits(probing.waiting, answers, names)
    if probing.queued:
        yield Fact("QUEUE", (_queue(probing, names),))
    yield Fact("PROBES", (_probes(answers, names),))
    sooner = _sooner(answers)
    if sooner:
        yield Fact("SOONER", (sooner,))
    if probing.tried and plan.verdict.kind != "settled":
        yield Fact("CURE", (_cure(answers),))


def _queue(probing: Probing, names: Names) -> str:
    tasks = several([names.task(of) for of in probing.queued], _MOST_TOLD)
    verb = "has" if len(probing.queued) == 1 else "have"
    at_once = probing.at_once
    limit = f"max.warmup.replicas={at_once} lets {at_once:,} warm up at a time"
    return f"{tasks} {verb} no copy yet where {'it is' if verb == 'has' else 'they are'} to run: {limit}"


def _probes(answers: Why, names: Names) -> str:
    plan, probing = answers.plan, answers.probing
    number, every = plan.summary.probing_rebalances, interval(probing.interval_ms)
    if probing.next_ms is None:
        return f"none is due; all is done in {_long(plan)}" if plan.ready_at_follow_ups else "none is due"
    due = f"the next in {duration(probing.next_ms)}" if probing.next_ms > 0 else "the next is due now"
    if plan.verdict.kind != "settled":
        reason = names.escape_message(plan.verdict.reason)
        return f"{due}, one every {every}, and it does not settle: {reason}{cause_sentence(plan, names)}"
    many = "it is the last one" if number == 1 else f"{number:,} in all, {every} apart"
    return f"{due}; {many}. All is done in {_long(plan)}"


def _long(plan: Plan) -> str:
    summary, between = plan.summary, durations(*plan.ends("duration_ms"))
    between = "" if between == duration(summary.duration_ms) else between
    return takes_at_least(summary.duration_ms, summary.duration_is, None, between, follow_ups=plan.ready_at_follow_ups)


def _sooner(answers: Why) -> str:
    """Return what other settings would do, as simulated; empty if nothing helps, or nothing waits."""
    plan, probing = answers.plan, answers.probing
    if not probing.tried or plan.verdict.kind != "settled" or not (probing.waiting or probing.queued):
        return ""
    told = [_what_if(of, plan) for of in probing.sooner if of.verdict == "settled"]
    if not told:
        return "no higher max.warmup.replicas and no shorter probing interval makes it shorter (simulated)"
    return f"{'; '.join(told)} (simulated; now {_total(plan.summary.duration_ms, plan.summary.rebalances)})"


def _what_if(of: WhatIf, plan: Plan) -> str:
    more = of.peak_extra_copies - plan.summary.peak_extra_copies
    at_once = f", {count(more, 'more copy', 'more copies')} at once" if more > 0 else ""
    return f"{_setting(of)}: {_total(of.duration_ms, of.rebalances)}{at_once}{cold_starts_of(of)}"


def _total(duration_ms: int, rebalances: int) -> str:
    return f"~{duration(duration_ms)}, {count(rebalances, 'rebalance')}"


def _setting(of: WhatIf) -> str:
    value = interval(of.value) if of.setting.endswith("_ms") else f"{of.value}"
    return f"{of.setting.replace('_', '.')}={value}"


def _cure(answers: Why) -> str:
    cure = answers.probing.cure
    if cure is None:
        return "none of the settings that were tried makes it settle (simulated)"
    cold = f", {count(cure.cold_handovers, 'COLD START', 'COLD STARTS')}" if cure.cold_handovers else ""
    empty = starts_empty(answers.plan, cure.setting, cure.value)
    but = "; but then tasks start on empty disks, and restore before they run" if empty else ""
    return f"{_setting(cure)} makes it settle: {_total(cure.duration_ms, cure.rebalances)}{cold} (simulated){but}"


def _balance(answers: Why) -> Fact:
    of = answers.balance
    uneven = f"stateful tasks per instance differ by {_change(of.stateful)}, all tasks by {_change(of.tasks)}"
    match of.why:
        case WhyBalance.BALANCED:
            why = "as even as whole tasks can be"
        case WhyBalance.WAITS_FOR_COPIES:
            move = f"{count(of.to_move, 'stateful task')} {'has' if of.to_move == 1 else 'have'} to move"
            why = f"{move}, {of.warming:,} of them {'waits' if of.warming == 1 else 'wait'} for copies"
        case WhyBalance.MOVES:
            why = f"{count(of.to_move, 'stateful task')} {'is' if of.to_move == 1 else 'are'} about to move, none waits"
        case WhyBalance.EVEN_BY_THREAD:
            why = "instances have different numbers of threads, and tasks are spread over threads"
        case WhyBalance.AS_EVEN_AS_DECIDED:
            why = f"{_assignor(answers.plan)} moves nothing more, and counts that as balanced"
    when = f"; the last one starts in ~{duration(of.balanced_ms)}" if of.to_move and of.balanced_ms else ""
    subtopology = f". Of one subtopology they differ by {_change(of.subtopology)}" if max(of.subtopology) > 1 else ""
    return Fact("BALANCE", (f"{uneven}: {why}{when}{subtopology}",))


def _assignor(plan: Plan) -> str:
    """Return who decides, as the subject of a sentence."""
    return f"the {plan.assignor} assignor"


def _change(of: Uneven) -> str:
    return f"{of.now:,}" if of.now == of.then else f"{of.now:,} (in the end {of.then:,})"


_TRIGGERS = {
    Trigger.MANUAL: ("now", "now"),
    Trigger.JOIN: ("join", "joins"),
    Trigger.LEAVE: ("leave", "leaves"),
    Trigger.MEMBER_RESTART: ("restart", "restarts"),
    Trigger.PROBING: ("probe", "probes"),
    Trigger.FOLLOW_UP: ("hand-over", "hand-overs"),
    Trigger.CONFIG_CHANGE: ("new settings", "new settings"),
    Trigger.LEARNER_READY: ("ready learner", "ready learners"),
    Trigger.DEADLINE: ("deadline", "deadlines"),
}


def _rebalances(answers: Why) -> Iterator[Fact]:
    of = answers.rebalances
    total = of.in_all
    if not total:
        yield Fact("COUNT", ("no rebalance is to come",))
        return
    parts = " + ".join(count(number, *_TRIGGERS[trigger]) for trigger, number in of.by_trigger.items())
    told = [f"{count(total, 'rebalance')} to come = {parts}"]
    probes, at_once = of.by_trigger.get(Trigger.PROBING, 0), answers.probing.at_once
    if probes:
        told.append(
            f"{count(of.moves, 'stateful task moves', 'stateful tasks move')}, {at_once:,} warming up at a time"
        )
    told += _hand_overs(of)
    yield Fact("COUNT", (". ".join(told),))


def _hand_overs(of: Rebalances) -> Iterator[str]:
    """Say what the hand-overs are for: the second rebalance of each move, when its owner has let go."""
    parts = (
        (of.for_state, "for tasks with state"),
        (of.only_stateless, "only because stateless tasks are dealt anew at every rebalance"),
        (of.only_threads, "only because an instance evens out its threads"),
        (of.only_both, "only for stateless tasks and threads"),
    )
    told = [f"{number:,} {what}" for number, what in parts if number]
    if told:
        yield f"A hand-over starts what its owner had to give up first: {', '.join(told)}"
    if of.stateless_hops:
        hops = count(of.stateless_hops, "time", "times")
        yield f"Stateless tasks change instance {hops} in all"
    if of.thread_moves:
        yield f"Tasks change thread within their instance {count(of.thread_moves, 'time', 'times')} in all"


def _task(of: TaskAnswer, answers: Why, names: Names) -> Iterator[Fact]:
    yield Fact("TASK", (_why_task(of, answers, names),))
    if of.waiting is not None:
        yield from waits([of.waiting], answers, names)
    if of.task_id in answers.probing.queued:
        yield Fact("QUEUE", (_queue(answers.probing, names),))
    for place, (number, made, at_ms, trigger, step) in enumerate(of.steps):
        if place == _MOST_TOLD:
            more = count(len(of.steps) - _MOST_TOLD, "more step")
            yield Fact("", (f"and {more}: see --output json",))
            break
        when = "now" if not at_ms else f"in {duration(at_ms)}"
        why = "" if answers.as_decided is not None and number == 1 else f" ({trigger.value}, round {number})"
        yield Fact("STEP", (f"{when}, {generation(made)}{why}: {sentence(step, names)}",))
    if not of.steps:
        yield Fact("STEP", ("none: nothing happens to it",))


def _why_task(of: TaskAnswer, answers: Why, names: Names) -> str:
    task = names.task_and_topic(of.task_id)
    owner = "nobody" if of.owner is None else names.instance(of.owner)
    target = "" if of.target is None else names.instance(of.target)
    ends = "nobody" if of.ends is None else names.instance(of.ends)
    shares = "; ".join(_share(share, names) for share in of.shares)
    match of.why:
        case WhyTask.STAYS:
            return f"{task} stays on {owner}: it is to run there. {shares}"
        case WhyTask.WAITS_FOR_COPY:
            copy = "its copy there has to catch up first" if of.waiting else "it needs a copy there first"
            return f"{task} is to go from {owner} to {target}, and {copy}. {shares}"
        case WhyTask.MOVES:
            return f"{task} goes from {owner} to {target} without waiting. {shares}"
        case WhyTask.HAS_NO_OWNER:
            going = "it is being handed over" if of.task_id in answers.probing.handed_over else "it starts where it can"
            return f"{task} is run by nobody now: {going}, and ends on {ends}. {shares}"
        case WhyTask.NEVER_ARRIVES:
            return f"{task} is to go from {owner} to {target}, and is on {ends} when this plan ends. {shares}"
        case WhyTask.STATELESS:
            dealt = "it has no state, and nothing waits for it"
            return f"{task} runs on {owner} and ends on {ends}: {dealt}"


def _share(of: Share, names: Names) -> str:
    """Return what an instance runs and is to run; how many of the same subtopology, where only that differs."""
    runs = f"{names.instance(of.process_id)} runs {count(of.now, 'stateful task')}"
    if of.now != of.target:
        return f"{runs} and is to run {of.target:,}"
    if of.of_kind_now == of.of_kind_target:
        return f"{runs}, as it is to"
    return f"{runs}, as it is to, but {of.of_kind_now:,} of this subtopology instead of {of.of_kind_target:,}"


def _instance(of: InstanceAnswer, answers: Why, names: Names) -> Iterator[Fact]:
    name = names.instance(of.process_id)
    copies = f", and keeps {count(of.copies, 'copy', 'copies')}" if of.copies else ""
    runs = f"{name} runs {count(of.now, 'task')} ({of.stateful:,} with state){copies}"
    others = f"{of.least:,}" if of.least == of.most else f"{of.least:,} to {of.most:,}"
    share = f"It is to run {of.target:,} with state; every instance {others}"
    yield Fact("INSTANCE", (f"{runs}. {share}: {_why_instance(of, name)}",))
    yield from waits(of.waiting, answers, names)
    if of.queued:
        yield Fact("QUEUE", (_queue_here(of, answers, names),))
    when = "" if of.first_ms is None else f"in ~{duration(of.first_ms)}" if of.first_ms else "now"
    first = f"the next task starts there {when}" if when else "no other task starts there"
    yield Fact("THEN", (f"{first}; {count(of.then, 'task runs', 'tasks run')} there in the end",))


def _why_instance(of: InstanceAnswer, name: str) -> str:
    match of.why:
        case WhyInstance.HAS_ITS_SHARE:
            return "it has its share" if of.stateful >= of.target else "the rest is on its way"
        case WhyInstance.NOT_DECIDED_FOR:
            return f"{name} has come since the newest decision, which gives it nothing"
        case WhyInstance.WAITS_FOR_COPIES:
            return f"{count(of.catching_up, 'copy catches', 'copies catch')} up there first"
        case WhyInstance.WAITS_FOR_A_PLACE:
            return "the tasks have no copy there yet, for others warm up first"
        case WhyInstance.ABOUT_TO_START:
            return "their owners are giving them up"
        case WhyInstance.NOTHING_LEFT_FOR_IT:
            return "there are too few stateful tasks for it to get one"


def _queue_here(of: InstanceAnswer, answers: Why, names: Names) -> str:
    tasks = several([names.task(task) for task in of.queued], _MOST_TOLD)
    at_once, all_queued = answers.probing.at_once, len(answers.probing.queued)
    of_all = f" ({len(of.queued):,} of {all_queued:,} that wait for that)"
    return (
        f"{tasks} {'has' if len(of.queued) == 1 else 'have'} no copy there yet{of_all}: max.warmup.replicas={at_once}"
    )
