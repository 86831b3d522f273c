"""The page of why a group still probes, why a task moves, why an instance runs no more than it does."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans.note_codes import EXPERT_CODES
from kstream_plan.plans.plan import MAYBE_READY
from kstream_plan.plans.simulated import more_may_follow
from kstream_plan.plans.why_answers import InstanceAnswer, Share, TaskAnswer, Why, WhyBalance, WhyInstance, WhyTask
from kstream_plan.render.page import Cell, Fact, Page, Table, Tone, columns_of, remark_lines, text_row
from kstream_plan.render.pages.plan import source_text
from kstream_plan.render.pages.plan_facts import balance_fact, duration_fact, moves_fact, rebalances_fact
from kstream_plan.render.pages.plan_rounds import TRIGGER_WORDS, PlanView
from kstream_plan.render.pages.plan_sentences import cause_text, rates_text, unknown_ends
from kstream_plan.render.pages.simulation import what_ifs_table
from kstream_plan.render.pages.steps import sentence
from kstream_plan.render.pages.waiting_copies import caught_up, waiting_table
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, span_to, utc

#: So many tasks of a list are named, and so many steps of a task have a row.
_NAMED, _MOST_STEPS = 8, 40


def why_page(answers: Why) -> Page:
    """Return the page: about the task or the instance that was asked about, else about the group."""
    view = PlanView(answers.plan, Names(answers.plan.group))
    if answers.task is not None or answers.instance is not None:
        return _page_of_one(answers, view)
    table_tasks = {str(copy.task_id) for copy in answers.probing.waiting}
    notes = answers.remarks.assumptions
    table_codes = {note.code for note in notes if note.code == MAYBE_READY and table_tasks.issuperset(note.subjects)}
    sentences = (_state(answers, view.names), " ".join([*_next(answers, view), _balance(answers)]))
    return Page(
        title=f"{view.names.escape(answers.plan.group.application_id)}: {_in_short(answers)}",
        tone=_tone(answers),
        sentences=sentences,
        facts=tuple(_facts(answers, view)),
        source=_source(answers, view.names),
        tables=(*waiting_table(answers.probing.waiting, answers, view.names), *_settings_table(answers)),
        lines=remark_lines(answers.remarks, view.names.escape_message, left_out=EXPERT_CODES | table_codes),
    )


def _page_of_one(answers: Why, view: PlanView) -> Page:
    names, task, instance = view.names, answers.task, answers.instance
    sentences, facts, tables = list[str](), list[Fact](), list[Table]()
    copies = []
    if task is not None:
        no_step = "" if task.steps else " Nothing happens to it."
        sentences.append(_task_sentence(task, answers, names) + no_step)
        copies += [task.waiting] if task.waiting is not None else []
        if task.task_id in answers.probing.queued:
            sentences.append(_queue(answers, names))
    if instance is not None:
        sentences.append(_instance_sentence(instance, names))
        facts += _instance_facts(instance, answers, names)
        copies += [copy for copy in instance.waiting if copy not in copies]
    sentences += _doubts(view)
    tables += waiting_table(copies, answers, names)
    tables += [_steps_table(task, answers, names)] if task is not None and task.steps else []
    rates = rates_text(answers.plan) if copies or answers.goes_by_rates else ""
    facts += [Fact("rates", "Rates", rates)] if rates else []
    topics = [f"task {names.task_and_topic(task.task_id)}"] if task is not None else []
    topics += [f"instance {names.instance(instance.process_id)}"] if instance is not None else []
    return Page(
        title=f"{names.escape(answers.plan.group.application_id)}: {' and '.join(topics)}",
        tone="unknown" if task is not None and task.why is WhyTask.NEVER_ARRIVES else "plain",
        sentences=tuple(sentences),
        facts=tuple(facts),
        source=_source(answers, names),
        tables=tuple(tables),
        lines=remark_lines(answers.remarks, names.escape_message),
    )


def _source(answers: Why, names: Names) -> str:
    source = source_text(answers.plan, names)
    if answers.as_decided is not None:
        return f"{source}; the decision made from it"
    return f"{source}; a rebalance starts now" if answers.stands_after else source


def _tone(answers: Why) -> Tone:
    plan = answers.plan
    if plan.verdict.kind != "settled":
        return "bad"
    if more_may_follow(plan, None):
        return "unknown"
    return "good" if answers.probing.next_ms is None and not answers.probing.handed_over else "unknown"


def _in_short(answers: Why) -> str:
    if answers.as_decided is not None:
        return "what was decided, and why"
    if answers.plan.verdict.kind != "settled":
        return "why it does not settle"
    if answers.probing.next_ms is None and answers.plan.may_not_settle is not None:
        return "may not settle"
    return "settled" if answers.probing.next_ms is None and not answers.probing.handed_over else "why it still probes"


def _state(answers: Why, names: Names) -> str:
    """Return what the group waits for."""
    probe = answers.probing
    parts = list[str]()
    if probe.queued:
        tasks = count(len(probe.queued), "task has", "tasks have")
        at_once = f"max.warmup.replicas={probe.at_once:,} lets {probe.at_once:,} warm up at a time"
        queue = name_list([names.task(task_id) for task_id in probe.queued], _NAMED)
        run = "it is to run" if len(probe.queued) == 1 else "they are to run"
        parts.append(f"{tasks} no copy yet where {run}, because {at_once} ({queue})")
    parts += _waits(answers, names)
    if probe.handed_over:
        tasks = name_list([names.task(task_id) for task_id in probe.handed_over], _NAMED)
        cut = count(len(probe.handed_over), "task is", "tasks are")
        parts.append(f"{cut} being cut over in a follow-up rebalance ({tasks})")
    return f"{'. '.join(parts)}." if parts else "The group waits for nothing."


def _waits(answers: Why, names: Names) -> Iterator[str]:
    """Yield how many copies have caught up, how many have not, and how many are unknown."""
    tasks: dict[str, list[str]] = {}
    for copy in answers.probing.waiting:
        state = caught_up(copy, answers)[0]
        tasks.setdefault(state if state in ("now", "unknown") else "later", []).append(names.task(copy.task_id))
    for state, items in tasks.items():
        copies = f"{count(len(items), 'copy has', 'copies have')} {'not ' if state == 'later' else ''}caught up"
        unknown = f"When {count(len(items), 'copy catches', 'copies catch')} up is unknown"
        text = {"now": copies, "later": f"{copies} yet", "unknown": unknown}[state]
        yield f"{text} ({name_list(items, _NAMED)})"


def _queue(answers: Why, names: Names) -> str:
    probe = answers.probing
    queue = [names.task(task_id) for task_id in probe.queued]
    limit = f"max.warmup.replicas={probe.at_once:,} lets {probe.at_once:,} warm up at a time"
    waits = f"{count(len(queue), 'task waits', 'tasks wait')} for that ({name_list(queue, _NAMED)})"
    return f"It has no copy there yet: {limit}, and {waits}."


def _next(answers: Why, view: PlanView) -> Iterator[str]:
    """Yield when the next probe comes, and when the group settles or why not."""
    plan, probe = answers.plan, answers.probing
    if probe.next_ms is None:
        yield "No probe is scheduled."
    else:
        moment = f"in {duration(probe.next_ms)}" if probe.next_ms > 0 else "now"
        yield f"The next probe comes {moment}, then one {duration(probe.interval_ms)} after each rebalance."
    if plan.verdict.kind != "settled":
        reason = view.names.escape_message(plan.verdict.reason)
        yield f"The group does not settle: {reason}.{cause_text(view)}"
    yield from _doubts(view)


def _doubts(view: PlanView) -> Iterator[str]:
    """Yield that the group may not settle, and that other outcomes were not simulated."""
    if view.plan.may_not_settle is not None:
        yield f"{view.plan.may_not_settle}."
    yield from unknown_ends(view)


def _facts(answers: Why, view: PlanView) -> Iterator[Fact]:
    plan = answers.plan
    if plan.rounds:
        yield duration_fact(view)
        yield rebalances_fact(view)
        if plan.group.stateful:
            yield moves_fact(view)
    yield balance_fact(plan)
    if answers.probing.waiting and (rates := rates_text(plan)):
        yield Fact("rates", "Rates", rates)


def _balance(answers: Why) -> str:
    """Return why the group is not balanced."""
    reasons, plan = answers.balance, answers.plan
    holdings = plan.rounds[answers.stands_after - 1].assigned if answers.stands_after else plan.initial
    running = {task for holding in apart_from_stateless(holdings) for task in holding.active}
    idle = min(reasons.to_move, len(set(plan.group.stateful) - running))
    to_move = reasons.to_move - idle
    start = f"{count(idle, 'unassigned stateful task has', 'unassigned stateful tasks have')} to start"
    moves = count(to_move, "stateful task has to move", "stateful tasks have to move") if to_move else start
    start = f" {start}." if idle and to_move else ""
    match reasons.why:
        case WhyBalance.BALANCED:
            return "The load is as even as whole tasks can be."
        case WhyBalance.WAITS_FOR_COPIES:
            waits = "waits" if reasons.warming == 1 else "wait"
            last = f"; the last one moves in about {duration(reasons.balanced_ms)}" if reasons.balanced_ms else ""
            number = "all of them" if 1 < to_move == reasons.warming else f"{reasons.warming:,} of them"
            return f"{moves}, and {'it' if reasons.to_move == 1 else number} {waits} for copies{last}.{start}"
        case WhyBalance.MOVES:
            return f"{moves} without waiting for copies.{start}"
        case WhyBalance.EVEN_BY_THREAD:
            return "Instances have different numbers of threads, and tasks are spread evenly over threads."
        case WhyBalance.AS_EVEN_AS_DECIDED:
            return f"The {answers.plan.assignor} assignor moves nothing more: it counts that as balanced."


def _settings_table(answers: Why) -> Iterator[Table]:
    """Yield what other settings would change, as simulated; the current ones come first."""
    plan, probe = answers.plan, answers.probing
    settings = [what_if for what_if in probe.sooner if what_if.verdict == "settled"]
    cure = probe.cure if plan.verdict.kind != "settled" else None
    settings += [cure] if cure is not None else []
    if not probe.tried or not (probe.waiting or probe.queued or plan.verdict.kind != "settled"):
        return
    if settings:
        yield what_ifs_table(PlanView(plan, Names(plan.group)), settings)
    else:
        effect = "settles sooner" if plan.verdict.kind == "settled" else "settles"
        note = f"With none of the other settings that were simulated the group {effect}."
        yield Table("With other settings", columns_of("Setting"), (), note)


def _steps_table(task: TaskAnswer, answers: Why, names: Names) -> Table:
    """Return what happens to a task, step by step."""
    columns = columns_of(">#", ">Time", "Rebalance", "Step")
    rows, last_number = [], 0
    for step in task.steps[:_MOST_STEPS]:
        first = step.round_number != last_number
        is_decided = answers.as_decided is not None and step.round_number == 1
        trigger = "decided" if is_decided else TRIGGER_WORDS[step.trigger]
        heads = [f"{step.round_number:,}", duration(step.at_ms), trigger] if first else [Cell(("",))] * 3
        rows.append(text_row(*heads, sentence(step.step, names, answers.plan.lower_bound_lags)))
        last_number = step.round_number
    rest_count = len(task.steps) - len(rows)
    notes = [f"{count(rest_count, 'more step')}: --output json lists them"] if rest_count else []
    begins_at = answers.plan.end.begins_at if answers.plan.end is not None else answers.plan.captured_at
    notes += [f"time: 0s is {utc(begins_at)}"] if begins_at else []
    return Table("What happens to it", columns, tuple(rows), "; ".join(notes))


def _task_sentence(task: TaskAnswer, answers: Why, names: Names) -> str:
    name = f"Task {names.task_and_topic(task.task_id)}"
    ids = (task.owner, task.target, task.ends)
    owner, target, ends = ("no instance" if name is None else names.instance(name) for name in ids)
    shares = " ".join(_share(share, names) for share in task.shares)
    match task.why:
        case WhyTask.STAYS:
            text = f"{name} stays on {owner}: it is to run there."
        case WhyTask.WAITS_FOR_COPY:
            copy = "its copy there has to catch up first" if task.waiting else "it needs a copy there first"
            text = f"{name} is to move from {owner} to {target}, and {copy}."
        case WhyTask.MOVES:
            text = f"{name} moves from {owner} to {target} without waiting."
        case WhyTask.HAS_NO_OWNER:
            cut_over = task.task_id in answers.probing.handed_over
            start = "it is being cut over" if cut_over else "it starts where it can"
            text = f"{name} is unassigned now: {start}, and ends on {ends}."
        case WhyTask.NEVER_ARRIVES:
            text = f"{name} is to move from {owner} to {target}, but is on {ends} when this plan ends."
        case WhyTask.STATELESS:
            return f"{name} runs on {owner} and ends on {ends}: it has no state, so every decision may reassign it."
    return f"{text} {shares}".rstrip()


def _share(share: Share, names: Names) -> str:
    """Return what an instance runs and is to run; how many of the same subtopology, where only that differs."""
    runs = f"{names.instance(share.process_id)} runs {count(share.now, 'stateful task')}"
    if share.now != share.target:
        return f"{runs} and is to run {share.target:,}."
    if share.of_kind_now == share.of_kind_target:
        return f"{runs}, as it is to."
    return f"{runs}, as it is to, but {share.of_kind_now:,} of this subtopology instead of {share.of_kind_target:,}."


def _instance_sentence(answer: InstanceAnswer, names: Names) -> str:
    name = names.instance(answer.process_id)
    runs = f"{name} runs {count(answer.now, 'task')}, {answer.stateful:,} of them stateful"
    return f"{runs}, and is to run {count(answer.target, 'stateful task')}: {_why_instance(answer, name)}."


def _why_instance(answer: InstanceAnswer, name: str) -> str:
    match answer.why:
        case WhyInstance.HAS_ITS_SHARE:
            return "it has its share" if answer.stateful >= answer.target else "the rest is on its way"
        case WhyInstance.NOT_DECIDED_FOR:
            return f"{name} joined after the newest decision, which gives it nothing"
        case WhyInstance.WAITS_FOR_COPIES:
            return f"{count(answer.catching_up, 'copy has', 'copies have')} to catch up there first"
        case WhyInstance.WAITS_FOR_A_PLACE:
            return "the tasks have no copy there yet, because others warm up first"
        case WhyInstance.ABOUT_TO_START:
            return "the owners of the tasks are revoking them"
        case WhyInstance.NOTHING_LEFT_FOR_IT:
            return "there are too few stateful tasks for it to get one"


def _instance_facts(answer: InstanceAnswer, answers: Why, names: Names) -> Iterator[Fact]:
    yield Fact("target", "Stateful tasks", f"{answer.stateful:,} now, {answer.target:,} planned")
    tasks = "stateful task" if answer.least == answer.most == 1 else "stateful tasks"
    yield Fact("others", "Planned for each instance", f"{span_to(answer.least, answer.most)} {tasks}")
    if answer.copies:
        yield Fact("copies", "Copies there", f"{answer.copies:,}")
    if answer.queued:
        tasks = name_list([names.task(task_id) for task_id in answer.queued], _NAMED)
        of_all = f"{len(answer.queued):,} of {len(answers.probing.queued):,} that wait for max.warmup.replicas"
        yield Fact("queued", "No copy there yet", f"{tasks} ({of_all}={answers.probing.at_once:,})")
    moment = f"in about {duration(answer.first_ms)}" if answer.first_ms else "now"
    first = f"a {'stateful' if answer.first_is_stateful else 'stateless'} one, {moment}"
    yield Fact("first", "Next task starts there", "none" if answer.first_ms is None else first)
    yield Fact("then", "At the end", f"{count(answer.then, 'task')}")
