"""The page of the question whether instances may stop: the answer, the tasks that start cold, and what follows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group, Note, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.note import Remarks
from kstream_plan.model.settings import SETTINGS_GIVEN, SETTINGS_IN_FORCE
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import Fact as Evident
from kstream_plan.plans.caught_up_evidence import would_tell
from kstream_plan.plans.loads import Busiest
from kstream_plan.plans.longest_pause import pause_parts
from kstream_plan.plans.rebalance_events import records_of
from kstream_plan.plans.targets import without_target
from kstream_plan.render.page import (
    Cell,
    Fact,
    Page,
    Row,
    Table,
    Tone,
    answer_tone,
    as_sentence,
    columns_of,
    remark_lines,
    text_cell,
    text_row,
)
from kstream_plan.render.pages.plan import source_text
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, duration, later, name_list, span_to, utc
from kstream_plan.simulation.drain import CopyThere, Drain, DrainedTask
from kstream_plan.simulation.instance_names import process_id_of

#: Up to this many tasks have a row each, the cold and the unknown ones first.
_MOST_ROWS = 200
#: What there is where a task starts cold, or may.
_COPIES: Mapping[tuple[CopyThere, Answer], str] = {
    ("none", Answer.NO): "none",
    ("none", Answer.UNKNOWN): "none yet",
    ("assigned", Answer.NO): "behind",
    ("assigned", Answer.UNKNOWN): "maybe behind",
}


def drain_page(drain: Drain, *, verbose: bool = False) -> Page:
    """Return the page of the answer for one group; ``verbose`` lists the tasks that start warm as well."""
    names, plan = Names(drain.plan.group), drain.plan
    instances = name_list(names.instances(drain.process_ids))
    return Page(
        title=f"{names.escape(plan.group.application_id)}: stop {instances}",
        tone=_tone(drain),
        answer=drain.answer,
        sentences=tuple(filter(None, _sentences(drain, instances))),
        facts=tuple(_facts(drain, names)),
        source=source_now(plan, names, drain.time),
        tables=tuple(_tables(drain, names, verbose=verbose)),
        lines=remark_lines(drain_remarks(drain), names.escape_message),
    )


def _tone(drain: Drain) -> Tone:
    """Return the tone of the answer; a group that never settles afterwards is not green."""
    is_endless = drain.plan.verdict.kind in ("stuck", "cyclic", "unfinished")
    return "unknown" if is_endless and drain.answer is Answer.YES else answer_tone(drain.answer)


def _sentences(drain: Drain, instances: str) -> Iterator[str]:
    least, most = drain.how_many_cold
    tasks, verb = len(drain.now), "starts" if most == 1 else "start"

    def part(number: str) -> str:
        if tasks == 1:
            return f"the only task of {instances}"
        if number == f"{tasks:,}":
            return f"{'both' if tasks == 2 else f'all {number}'} tasks of {instances}"
        return f"{number} of the {tasks:,} tasks of {instances}"

    if not tasks:
        yield from (effects := [*_of_others(drain)])
        runs = "runs" if len(drain.process_ids) == 1 else "run"
        yield f"{instances} {runs} no task{' itself' if effects else ', so none has to start elsewhere'}."
    elif drain.answer is Answer.YES:
        has_state = any(task.stateful for task in drain.now)
        copies = f"each stateful task of {instances} has a copy that has provably caught up"
        yield f"No task starts cold: {copies if has_state else f'no task of {instances} has state'}."
    elif least:
        subject = part(span_to(least, most))
        state = "its state" if most == 1 else "the state of each"
        yield f"{subject[0].upper()}{subject[1:]} {verb} cold: {state} is restored before it runs."
    elif restoring := sum(answer is Answer.NO for answer in drain.answers.values()):
        subject = part(f"{restoring:,}")
        yield f"{subject[0].upper()}{subject[1:]} {_restores_first(restoring)} {_reason(drain)}"
        yield from _of_others(drain)
    elif not most or drain.follows.others_cold or drain.cold_again or drain.restoring_later:
        yield from _of_others(drain)
    else:
        yield f"It is unknown whether {part(f'{most:,}')} {verb} warm. {_reason(drain)}"
    yield _notice(drain)


def _restores_first(tasks: int) -> str:
    verb, copies = ("restores", "its copy counts") if tasks == 1 else ("restore", "their copies count")
    return f"{verb} state first, though {copies} as caught up."


def _of_others(drain: Drain) -> Iterator[str]:
    """Yield whether tasks of other instances, or tasks that move again, start cold in what follows."""
    later_moves = sum(str(task.task_id) in drain.restoring_later for task in drain.now)
    if rest := len(drain.restoring_later) - later_moves:
        yield f"{count(rest, 'task')} of other instances {_restores_first(rest)}"
    if restarts := later_moves + len(drain.cold_again):
        end = "s" * (restarts == 1)
        yield f"{count(restarts, 'task')} start{end} warm, and restore{end} state when moved again."
    if cold := drain.follows.others_cold:
        yield f"{count(cold, 'task')} of other instances would start cold in what follows."
    elif drain.answer is Answer.UNKNOWN:
        other_tasks = "tasks of other instances start warm in what follows"
        subject = other_tasks if drain.unproven else "the group is still as it was seen when they stop"
        yield " ".join(filter(None, (f"It is unknown whether {subject}.", _reason(drain))))


def _reason(drain: Drain) -> str:
    """Return why the answer is unknown, and which options would tell."""
    return " ".join([*(as_sentence(doubt.message) for doubt in drain.doubts), *would_tell(drain.unknown)])


def _notice(drain: Drain) -> str:
    """Return when the group notices that they are gone."""
    noticed_ms = drain.follows.noticed_ms
    if noticed_ms is None or not drain.now:
        return ""
    if _leaves(drain):
        return "A stop leaves the group, so that the tasks start elsewhere without waiting for the session time-out."
    return (
        f"{'The task pauses' if len(drain.now) == 1 else 'The tasks pause'} for about {duration(noticed_ms)} until the "
        "group notices (session.timeout.ms), because the default close() does not leave the group; --leave shows the "
        "other way."
    )


def _facts(drain: Drain, names: Names) -> Iterator[Fact]:
    least, most = drain.how_many_cold
    tone: Tone = "bad" if least else "unknown" if most else "plain"
    cold_tasks = [task for task in drain.now if drain.answers[task.task_id] is Answer.NO]
    records = records_of(task.restore_records for task in cold_tasks)
    bound = "at least " if least != most or any(task.restore_is == "floor" for task in cold_tasks) else ""
    amount = ", an unknown number of records" if records is None else f", {bound}{records:,} records to restore"
    tasks = f"{span_to(least, most)} of {len(drain.now):,} tasks" if len(drain.now) > 1 else span_to(least, most)
    value = f"{tasks}{amount if least else ''}" if most else "none"
    yield Fact("cold", "Cold starts", value, tone)
    if drain.now:
        longest = max(drain.now, key=lambda task: (round(task.pause_ms, -2), task.pause_is == "floor"))
        is_open = any(_may_be_longer(task, drain.answers[task.task_id]) for task in drain.now)
        restores_ms = longest.restores_ms
        parts = f": {pause_parts(longest.pause_ms - restores_ms, restores_ms)}" if restores_ms else ""
        value = f"about {duration(longest.pause_ms)}{'; restores are unknown' if is_open else parts}"
        yield Fact("pause", "Longest single pause", f"task {names.task_and_topic(longest.task_id)}: {value}")
    yield from _effects_on_others(drain)
    yield load_fact(drain.follows.busiest, "Busiest instance", "stateful task" if drain.plan.group.stateful else "task")
    yield _follow_on(drain)
    yield from _wait(drain)
    yield from _report_age(drain)


def load_fact(busiest: Busiest, label: str, *nouns: str) -> Fact:
    """Return how much the one that runs most has, before, meanwhile and at the end."""
    value = f"{count(busiest.before, *nouns)} now, at most {busiest.most:,} meanwhile, {busiest.after:,} at the end"
    return Fact("load", label, value)


def _effects_on_others(drain: Drain) -> Iterator[Fact]:
    follows = drain.follows
    if not follows.others_paused:
        return
    bound = "at least" if follows.others_longest_is == "floor" else "about"
    cold = f"; {follows.others_cold:,} of them start cold" if follows.others_cold else ""
    tone: Tone = "bad" if follows.others_cold else "plain"
    is_longer = bool(drain.now) and follows.others_longest_ms > max(task.pause_ms for task in drain.now)
    total = f" in total, over {count(follows.rebalances, 'rebalance')}" if is_longer else " in total"
    verb = count(follows.others_paused, "of their tasks pauses", "of their tasks pause")
    longest = f"the longest {bound} {duration(follows.others_longest_ms)}{total}"
    yield Fact(
        "others", "Other instances", f"{verb} too, where they move or wait for a rebalance, {longest}{cold}", tone
    )


def _follow_on(drain: Drain) -> Fact:
    plan, follows = drain.plan, drain.follows
    if plan.verdict.kind != "settled":
        scope = f"more moves follow the {count(len(plan.rounds), 'rebalance')} that are simulated here"
        is_cut_off = plan.verdict.kind == "unfinished"
        return Fact("then", "Afterwards", scope if is_cut_off else "the group does not settle", "unknown")
    share = f"{count(follows.instances, 'instance')} with {span_to(follows.least, follows.most)} stateful tasks each"
    bound = "at least" if plan.summary.duration_is == "least" else "about"
    outcome = f"settled after {bound} {duration(follows.duration_ms)} ({count(follows.rebalances, 'rebalance')})"
    stores = ", if stores are persistent" * drain.needs_persistent_stores
    return Fact("then", "Afterwards", f"{share}, {outcome}{stores}")


def _wait(drain: Drain) -> Iterator[Fact]:
    """Yield what waiting changes, until when that is, and why tasks start cold even then."""
    if drain.wait_ms is None:
        return
    config, cold, answer = drain.plan.config, drain.cold_later, drain.answer_later
    summary, is_streams = drain.waiting_plan.summary, drain.plan.design == "streams"
    ifs = ["copies have caught up by then"]
    ifs += ["stores are persistent"] * drain.needs_persistent_stores_later
    ifs += ["state left on disks is still there"] * drain.needs_left_over_state_later
    starts = f"YES if {', and '.join(ifs)}: no cold start"
    restoring = [str(task) for task in drain.restoring_after if task not in {start.task_id for start in cold}]
    if cold:
        starts = f"NO, still {count(len(cold), 'cold start')}: {name_list([str(task.task_id) for task in cold], 3)}"
        if all(task.copy_there == "none" for task in cold):
            cause = "" if config.num_standby_replicas else f" ({'streams.' * is_streams}num.standby.replicas=0)"
            starts += f", without {'a copy where it goes' if len(cold) == 1 else 'copies where they go'}{cause}"
    elif answer is Answer.NO:
        tasks = count(len(restoring), "task restores state first", "tasks restore state first")
        starts = f"NO, {tasks}: {name_list(restoring, 3)}"
    elif answer is Answer.UNKNOWN:
        starts = "UNKNOWN, the simulation ends before all tasks run again"
    if cold and restoring:
        starts += f"; {count(len(restoring), 'other task restores', 'other tasks restore')} state first"
    if left_over := sum(task.caught_up and task.copy_there == "left-over" for task in drain.later):
        starts += f"; {count(left_over, 'other starts', 'others start')} from state that an earlier run left on disk"
    is_least = summary.duration_is == "least" if drain.announced else is_streams and summary.runs_by_ms is None
    wait = f"at least {at_least(drain.wait_ms)}" if is_least else f"about {duration(drain.wait_ms)}"
    if any(note.code == SETTINGS_GIVEN for note in drain.plan.assumptions):
        wait += " from when the given settings are in force"
    elif drain.time is not None:
        wait += f", until {utc(later(drain.time, drain.wait_ms))}{' or later' * is_least}"
    deadline = "when all tasks run" if is_streams else "the last rebalance and one more probing interval"
    deadline = "when they are let go" if drain.announced else deadline
    yield Fact("wait", "If you wait", f"{wait} ({deadline}): {starts}")


def _report_age(drain: Drain) -> Iterator[Fact]:
    """Yield when lags were reported, and when they were measured."""
    parts = [
        f"{word} {' to '.join(dict.fromkeys(map(utc, times)))}"
        for word, times in (("measured", drain.measured_at), ("reported", drain.reported_at))
        if times is not None
    ]
    if parts:
        yield Fact("heard", "Lags", "; ".join(parts))


def _tables(drain: Drain, names: Names, *, verbose: bool) -> Iterator[Table]:
    answers = drain.answers
    tasks = [task for task in drain.now if verbose or answers[task.task_id] is not Answer.YES]
    if tasks:
        title, rest = ("Tasks", 0) if verbose else ("Tasks that start cold, or may", len(drain.now) - len(tasks))
        yield _table(title, tasks, answers, names, f"-v lists the other {rest:,}, not cold" * bool(rest))
    if drain.cold_later:
        later = dict.fromkeys((task.task_id for task in drain.cold_later), Answer.NO)
        yield _table("Tasks that start cold after waiting", drain.cold_later, later, names)


def _table(
    title: str, tasks: Sequence[DrainedTask], answers: Mapping[WorkId, Answer], names: Names, rest: str = ""
) -> Table:
    columns = columns_of("Task", "Starts on", "Copy there", ">To restore", ">Pause")
    rows = [_row(task, answers[task.task_id], names) for task in tasks[:_MOST_ROWS]]
    remainder = [f"{len(tasks) - _MOST_ROWS:,} more"] * (len(tasks) > _MOST_ROWS)
    return Table(title, columns, tuple(rows), "; ".join(filter(None, [*remainder, rest])))


def _row(task: DrainedTask, answer: Answer, names: Names) -> Row:
    restore = " + restore" if _may_be_longer(task, answer) else ""
    return text_row(
        names.task_and_topic(task.task_id),
        names.instance(task.destination),
        _copy_cell(task, answer),
        _to_restore(task, answer),
        f"{duration(task.pause_ms)}{restore}",
    )


def _copy_cell(task: DrainedTask, answer: Answer) -> Cell:
    """Return the state of the copy from which a task starts."""
    if not task.stateful or answer is Answer.YES:
        return text_cell("caught up" if task.stateful else "no state")
    return text_cell(_COPIES.get((task.copy_there, answer), "left on disk"), answer_tone(answer))


def _may_be_longer(task: DrainedTask, answer: Answer) -> bool:
    """Return whether a pause has no upper limit: how long the task restores before it runs is unknown."""
    return task.pause_is == "floor" or (task.stateful and answer is Answer.UNKNOWN)


def _to_restore(task: DrainedTask, answer: Answer) -> str:
    maybe = task.stateful and answer is Answer.UNKNOWN
    if not task.restore_records:
        return "unknown" if maybe or task.restore_is == "floor" or task.restore_records is None else ""
    return f"{'at least ' if task.restore_is == 'floor' else 'at most ' * maybe}{task.restore_records:,}"


def drain_remarks(drain: Drain) -> Remarks:
    """Return what is to be known of the group, why a warm start may be cold, and what answers the same of a restart."""
    doubts = drain.doubts if drain.answer is not Answer.UNKNOWN else ()
    off_target = without_target(drain.plan)
    warnings = (*drain.warnings, *map(with_tasks, doubts), *([] if off_target is None else [off_target.note]))
    notes = []
    if _restart_may_be_safer(drain):
        config = drain.plan.config
        limit = duration(max(config.session_timeout_ms - config.heartbeat_interval_ms, 0))
        message = f"An instance that is back within {limit} keeps its tasks: kstream-plan bounce answers for a restart"
        notes.append(Note("if-only-restarted", message))
    codes = {warning.code for warning in warnings}
    assumed = [note for note in (*drain.rests_on, *drain.plan.assumptions) if note.code not in codes]
    commands = tuple(_next(drain))
    if any(command.code == "with-standbys" for command in commands):
        message = "With the standbys of the next command it may be YES once they have caught up: If you wait says when"
        notes.append(Note("standbys-catch-up-first", f"{message}. {SETTINGS_IN_FORCE}"))
    return Remarks(warnings, tuple(notes), tuple(assumed), commands)


def with_tasks(note: Note) -> Note:
    """Return a note whose message begins with the tasks that it is about."""
    message = f"{name_list(note.subjects)}: {note.message[0].lower()}{note.message[1:]}"
    return note._replace(message=message) if note.subjects else note


def _next(drain: Drain) -> Iterator[Note]:
    """Yield the command that goes on: what follows in full, until when to wait, or whether standbys would help."""
    words = list(instance_words(drain.plan.group, drain.process_ids))
    standbys = max(drain.plan.config.num_standby_replicas + 1, len(words))
    if drain.plan.design not in ("classic", "streams") or not drain.now:
        return
    is_endless = drain.waiting_plan.verdict.kind in ("stuck", "cyclic")
    if is_endless or (drain.answer is not Answer.YES and drain.answer_later is Answer.YES):
        yield Note("ask-why", "kstream-plan why SNAPSHOT")
    elif drain.plan.design == "classic" and drain.how_many_cold[0] and standbys < len(drain.plan.group.instances):
        yield Note("with-standbys", f"kstream-plan drain SNAPSHOT {' '.join(words)} --num-standby-replicas {standbys}")
    elif drain.plan.design == "streams" or not _leaves(drain):
        removed = " ".join(f"--remove {word}" for word in words)
        yield Note("every-rebalance", f"kstream-plan simulate-scaleout SNAPSHOT {removed}")


def _leaves(drain: Drain) -> bool:
    """Return whether they leave the group when they stop, so that it need not notice that they are gone."""
    noticed_ms = drain.follows.noticed_ms
    return noticed_ms is not None and noticed_ms < drain.plan.config.session_timeout_ms / 2


def _restart_may_be_safer(drain: Drain) -> bool:
    """Return whether ``bounce`` may answer better: nobody has to start the tasks of an instance that comes back soon.

    What is known of the group has to hold still, and its disk has to keep the state.
    """
    if drain.plan.design != "classic" or len(drain.process_ids) > 1 or not drain.now or _leaves(drain):
        return False
    in_memory = any(start.evidence.fact is Evident.IN_MEMORY for start in drain.unproven)
    return drain.answer is not Answer.YES and not drain.moment_doubts and not in_memory


def source_now(plan: Plan, names: Names, time: str | None) -> str:
    """Return what an answer about now was made from, and when now is: its times count from then."""
    source = source_text(plan, names)
    return source if time is None or utc(time) in source else f"{source}; now {utc(time)}"


def instance_words(group: Group, process_ids: Sequence[str]) -> Iterator[str]:
    """Yield a word of a command line for each instance: its short name if only it has that, else its process id."""
    names = Names(group)
    for process_id in process_ids:
        name = names.instance(process_id)
        try:
            is_unique = process_id_of(group, name) == process_id
        except ScenarioError:
            is_unique = False
        yield shlex.quote(name if is_unique else process_id)
