"""The answer to "may it stop?" in words: as text for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kstream_plan.model import Note
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.plans.plan import MAYBE_READY
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.markdown import fact_list, heading
from kstream_plan.render.plan.moment import of_generation, to_the_second
from kstream_plan.render.plan.rates import rates_facts
from kstream_plan.render.plan.runs import runs_facts
from kstream_plan.render.simulation.aftermath import after_fact, besides, busiest_fact, noticed_fact, others_fact
from kstream_plan.render.text.escape import MARKDOWN
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, at_most, count, duration, records, several
from kstream_plan.render.text.page import Fact, coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import paragraph
from kstream_plan.simulation.drain import Drain, DrainedTask, DrainNow

_NARROWEST = 60


@dataclass(frozen=True, slots=True)
class DrainStory:
    """What the table and the Markdown form show, in this order; every name in it is escaped already."""

    title: Fact
    facts: tuple[Fact, ...]
    remarks: tuple[str, ...]


def tell_drain(drained: Drain, names: Names) -> DrainStory:
    """Put the answer into words."""
    facts = [*_at_once(drained, names), _later(drained, names)]
    facts += [_lags(drained, names), *rates_facts(drained.plan)] if drained.plan.group.stateful else []
    remarks = [_cold(task, names) for task in drained.cold_now]
    alone = drained.follows.left_alone
    if alone and drained.plan.config.num_standby_replicas:
        have = "stateful task then has" if alone == 1 else "stateful tasks then have"
        loss = "until new standbys have restored, the next loss may start them cold"
        remarks.append(f"{alone:,} {have} one copy left: {loss}")
    remarks += [names.escape_message(note.message) for note in drained.warnings]
    remarks += [_doubt(doubt, names) for doubt in (*drained.doubts, *drained.rests_on)]
    return DrainStory(_title(drained, names), tuple(facts), tuple(remarks))


def drain_table(drained: Drain, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the answer as lines of text, each ended; ``width`` in columns, ``colour`` for a terminal."""
    story, width = tell_drain(drained, Names(drained.plan.group)), max(width, _NARROWEST)
    remarks = [text for remark in story.remarks for text in paragraph(remark, width, " ! ", "   ")]
    return _text([*_lines(story.title, story.facts, width), *remarks], colour=colour)


def drain_table_begun(now: DrainNow, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the first lines of :func:`drain_table`: those about now."""
    names, width = Names(now.plan.group), max(width, _NARROWEST)
    return _text(_lines(_title(now, names), _at_once(now, names), width), colour=colour)


def _lines(title: Fact, facts: Sequence[Fact], width: int) -> list[str]:
    return [*title_lines(title, width), *(text for fact in facts for text in fact_lines(fact, width))]


def _text(lines: Sequence[str], *, colour: bool) -> str:
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def drain_markdown(drained: Drain) -> str:
    """Return the answer as Markdown, its lines ended."""
    story = tell_drain(drained, Names(drained.plan.group, MARKDOWN))
    told = "\n".join([fact_list(story.facts), *(f"- ⚠ {remark}" for remark in story.remarks)])
    return f"{heading(story.title)}\n\n{told}\n"


def drain_markdown_begun(now: DrainNow) -> str:
    """Return the first lines of :func:`drain_markdown`: those about now."""
    names = Names(now.plan.group, MARKDOWN)
    return f"{heading(_title(now, names))}\n\n{fact_list(_at_once(now, names))}\n"


def doubt_text(doubt: Note) -> str:
    """Return why nobody may call it warm, or what that rests on, with the tasks that it is about."""
    return f"{doubt.message}: {several(doubt.subjects, 5)}" if doubt.subjects else doubt.message


def _doubt(doubt: Note, names: Names) -> str:
    subjects = several([names.escape(of) for of in doubt.subjects], 5)
    return f"{names.escape_message(doubt.message)}{f': {subjects}' if subjects else ''}"


def _at_once(now: DrainNow, names: Names) -> tuple[Fact, ...]:
    plan, follows = now.plan, now.follows
    noticed = [noticed_fact(plan, follows)] if now.now else []
    others = [others_fact(plan, follows), busiest_fact(plan, follows, names), after_fact(plan, follows, names)]
    return _now(now, names), _pauses(now, names), *noticed, *_runs(now), *others


def _runs(now: DrainNow) -> list[Fact]:
    """Return when everything of a streams group runs; the least where copies may lack what nobody knows of."""
    runs_by_ms = now.plan.summary.runs_by_ms
    if now.doubts and runs_by_ms is not None:
        return [Fact("RUNS", (f"everything after ≥ {at_least(runs_by_ms)}: what copies lack is not known",))]
    return runs_facts(now.plan) if now.plan.design == "streams" and now.plan.verdict.kind != "unfinished" else []


def _title(drained: DrainNow, names: Names) -> Fact:
    who = several(names.instances(drained.process_ids))
    verb = "stops" if len(drained.process_ids) == 1 else "stop"
    application, which = names.escape(drained.plan.group.application_id), of_generation(drained.plan, names)
    label = f"{drained.answer.word}: {application}"
    answer = "; ".join([_answer(drained), *besides(drained.plan, drained.follows)])
    return Fact(label, (f"if {who} {verb} now, {answer}. {which[0].upper()}{which[1:]}",))


def _answer(drained: DrainNow) -> str:
    """Return what becomes of their own tasks."""
    if any(drained.how_many_cold):
        return f"{_between(drained)} of {count(len(drained.now), 'task')} START COLD"
    if not drained.now:
        return "no task has to start elsewhere"
    pauses_ms, several_tasks = [task.pause_ms for task in drained.now], len(drained.now) > 1
    their = "its" if len(drained.process_ids) == 1 else "their"
    whose = f"all {their} {len(drained.now):,} tasks" if several_tasks else f"{their} task"
    longest = duration(max(pauses_ms))
    if longest == duration(0):
        return f"{whose} {'start' if several_tasks else 'starts'} warm, at once"
    up_to = "" if duration(min(pauses_ms)) == longest else "up to "
    verb, then = ("stand", "start") if several_tasks else ("stands", "starts")
    return f"{whose} {verb} still for {up_to}~{longest}, then {then} warm"


def _now(drained: DrainNow, names: Names) -> Fact:
    if not drained.now:
        return Fact("NOW", ("nothing: no task runs there",))
    cold = drained.cold_now
    if not cold and drained.doubts:
        return Fact("NOW", (f"{_between(drained)} cold: {drained.doubts[0].message}",))
    if not cold:
        stateful = drained.stateful_now
        if not stateful:
            return Fact("NOW", (f"0 cold: none of {count(len(drained.now), 'task')} is stateful",))
        then = "will have caught up by then" if drained.rests_on else "are caught up"
        return Fact("NOW", (f"0 cold: all {count(stateful, 'stateful task')} go to copies that {then}",))
    restored = f"{records(drained.cold_records_now)} records to restore"
    shown = f"{several([names.task(task.task_id) for task in cold], 5)}; {restored}"
    deciding = _deciding(drained)
    if not deciding:
        return Fact("NOW", (f"{_between(drained)} cold: {shown}",))
    return Fact("NOW", (f"{_between(drained)} cold: {deciding}. At worst {shown}",))


def _between(drained: DrainNow) -> str:
    """Return how many tasks start cold: both ends where nobody knows which it is."""
    best, worst = drained.how_many_cold
    return f"{worst:,}" if best == worst else f"{best:,}-{worst:,}"


def settling(drained: DrainNow) -> tuple[str, ...]:
    """Return the options that would tell more of what is unknown, each once."""
    return tuple(dict.fromkeys(option for start in drained.unknown for option in start.evidence.settled_by))


def _deciding(drained: DrainNow) -> str:
    """Return what decides how many it is; empty if that is known."""
    if len(drained.cold_at_best) == len(drained.cold_now):
        return ""
    note = next(note for note in drained.plan.assumptions if note.code == MAYBE_READY)
    told = note.message.partition(": none is behind if ")[2]
    none = "none" if not drained.cold_at_best else f"{len(drained.cold_at_best):,}"
    return f"{none} if {told}" if told else f"{none} if the copies have caught up, which nobody knows"


def _pauses(drained: DrainNow, names: Names) -> Fact:
    if not drained.now:
        return Fact("PAUSES", ("none: no running task is stopped",))
    worst = max(drained.now, key=lambda task: task.pause_ms)
    tasks = count(len(drained.now), "task")
    is_floor = any(task.pause_is == "floor" for task in drained.now)
    if is_floor and not worst.pause_ms:
        return Fact("PAUSES", (f"{tasks}; each that starts cold for as long as it restores",))
    each = f"{tasks}, the longest ~{duration(worst.pause_ms)}{' and what it restores' if is_floor else ''}"
    return Fact("PAUSES", (f"{each} ({names.task_and_topic(worst.task_id)})", each))


def _later(drained: Drain, names: Names) -> Fact:
    if drained.wait_ms is None:
        verdict = drained.waiting.verdict
        if verdict.kind != "settled":
            return Fact("WAIT", (f"does not help: the group does not settle ({verdict.kind})",))
        if drained.plan.design == "streams" and _copies_elsewhere(drained):
            return Fact("WAIT", ("moves nothing: the group is Stable. Copies that are behind go on catching up",))
        return Fact("WAIT", ("changes nothing: the group is settled, no copy is being made",))
    cold = drained.cold_later
    shown = several([names.task(task.task_id) for task in cold], 5)
    then = f"{len(cold):,} cold: {shown}" if cold else "0 cold"
    unrated = drained.waiting.summary.duration_is == "probes"
    then = f"if copies have caught up by then, {then}" if unrated else f"then {then}"
    wait, least = f"~{at_most(drained.wait_ms)}", f"≥ {at_least(drained.wait_ms)}"
    if drained.announced:
        wait = least if drained.waiting.summary.duration_is == "least" else wait
        return Fact("WAIT", (f"{wait}, if announced now, until others have learned all or time is up: {then}",))
    until = "until all has settled, and a probing interval more"
    if drained.plan.design == "streams":
        known = drained.waiting.summary.runs_by_ms is not None
        wait, until = (wait, "until everything runs") if known else (least, "until it is Stable")
    return Fact("WAIT", (f"{wait}, {until}: {then}",))


def _copies_elsewhere(drained: Drain) -> bool:
    """Tell whether somebody who stays has a copy of a task that starts cold now, or may."""
    group, gone = drained.plan.group, {*drained.process_ids}
    asked = {str(task.task_id) for task in drained.cold_now}.union(*(doubt.subjects for doubt in drained.doubts))
    return any(
        str(group.tasks[task].task_id) in asked
        for consumer, held in enumerate(drained.plan.initial)
        if group.instances[group.instance_of[consumer]].process_id not in gone
        for task in held.standby
    )


def _lags(drained: Drain, names: Names) -> Fact:
    when = names.escape_message(_of_when(drained))
    plans = drained.plan, drained.waiting
    unrated = [note for plan in plans for note in plan.assumptions if note.code == "no-restore-rate"]
    copies = any(held.standby or held.warmup for held in apart_from_stateless(drained.plan.initial))
    if drained.nothing_reported or not copies or all(plan.summary.restored_records == 0 for plan in plans):
        since = ""  # no copy could have come any further
    elif not unrated:
        since = "; how far copies have come since is estimated"
    elif all(note.subjects for note in unrated):
        since = "; some restore rates are unknown: not all is estimated since"
    else:
        since = "; no --restore-rate: not estimated since"
    return Fact("LAGS", (f"{when}{since}",))


def _of_when(drained: DrainNow) -> str:
    """Return when the lags were measured and reported: not when the snapshot was taken, where they tell themselves."""
    if drained.nothing_reported:
        return "nothing tells how far behind any copy is"
    captured_at, reported, measured = drained.plan.captured_at, drained.reported, drained.measured
    coverage = next((note.message for note in drained.plan.assumptions if note.code == "lags-measured"), None)
    if coverage is not None:
        times = [f"{word} {_from_to(*span)}" for word, span in (("measured", measured), ("reported", reported)) if span]
        return "; ".join([coverage, *times])
    if captured_at is None:
        return "the snapshot does not say when they were reported"
    first, last = (captured_at, captured_at) if reported is None else reported
    return f"as reported {'by' if to_the_second(first) == to_the_second(last) else 'from'} {_from_to(first, last)}"


def _from_to(first: str, last: str) -> str:
    begin, end = to_the_second(first), to_the_second(last)
    return begin if begin == end else f"{begin} to {end}"


def _cold(task: DrainedTask, names: Names) -> str:
    starts = f"{names.task(task.task_id)} starts on {names.instance(task.destination)}"
    amount = f"with {records(task.restore_records)} records to restore"
    if task.pause_is == "estimate":
        return f"{starts} {amount}, and runs after ~{duration(task.pause_ms)}"
    return f"{starts} {amount}, after ~{duration(task.pause_ms)}" if task.pause_ms else f"{starts} {amount} first"
