"""The page of the question whether Connect workers may stop: what stands unassigned, for how long, and other ways."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.model.note import Remarks
from kstream_plan.model.settings import SETTINGS_IN_FORCE
from kstream_plan.plans.remarks import remarks
from kstream_plan.render.page import Fact, Page, Table, answer_tone, as_sentence, columns_of, remark_lines, text_row
from kstream_plan.render.pages.drain import instance_words, load_fact, source_now
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, span_to
from kstream_plan.simulation.drain_workers import MINUTE_MS, StandStill, WorkersDrained

_WORK = ("connector or task", "connectors and tasks")
_WAYS = {
    "stopped": "stopped",
    "killed": "killed",
    "restarted": f"back in {duration(MINUTE_MS)}",
    "delay-60s": "stopped, delay of 1m",
    "delay-0s": "stopped, no delay",
}


def drain_workers_page(drain: WorkersDrained) -> Page:
    """Return the page of the answer for one Connect group."""
    plan, names = drain.plan, Names(drain.plan.group)
    return Page(
        title=f"{names.escape(plan.group.application_id)}: stop {name_list(names.instances(drain.process_ids))}",
        tone=answer_tone(drain.answer),
        answer=drain.answer,
        sentences=(_sentence(drain), _delay(drain)),
        facts=tuple(_facts(drain, names)),
        source=source_now(plan, names, drain.time),
        tables=(_ways_table(drain),),
        lines=remark_lines(drain_workers_remarks(drain)),
    )


def drain_workers_remarks(drain: WorkersDrained) -> Remarks:
    """Return the lines below the figures, as the page and the JSON have them."""
    words = " ".join(f"--remove {word}" for word in instance_words(drain.plan.group, drain.process_ids))
    command = Note("every-rebalance", f"kstream-plan simulate-scaleout SNAPSHOT {words}")
    lines, doubts = remarks(drain.plan), drain.doubts if drain.answer is not Answer.UNKNOWN else ()
    return lines._replace(warnings=(*lines.warnings, *doubts), next=(command,))


def _sentence(drain: WorkersDrained) -> str:
    now, work = drain.ways[0], count(len(drain.plan.group.tasks), *_WORK)
    if now.runs_after_ms is None:
        return "The group does not settle afterwards."
    if now.longest_ms > round_ms(drain):
        return f"{now.items:,} of {work} stand unassigned for up to {duration(now.longest_ms)}."
    if drain.answer is Answer.UNKNOWN:
        reasons = " ".join(as_sentence(doubt.message) for doubt in drain.doubts)
        return f"It is unknown whether anything stands unassigned meanwhile. {reasons}"
    if drain.items:
        return f"{len(drain.items):,} of {work} start on other workers within about {duration(round_ms(drain))}."
    return "Nothing runs there, so nothing has to start on other workers."


def _delay(drain: WorkersDrained) -> str:
    config, lasts_ms = drain.plan.config, [way.longest_ms for way in drain.ways if way.runs_after_ms is not None]
    has_end = all(way.runs_after_ms is not None for way in drain.ways)
    shortest = duration(min(lasts_ms, default=0)) if has_end else "until the next rebalance"
    delay = duration(config.scheduled_rebalance_max_delay_ms or 0)
    stays = f"stays unassigned for {delay} (scheduled.rebalance.max.delay.ms; without a delay {shortest})"
    waits = f"Work of a worker that is gone {stays if drain.waits else 'is assigned at once'}"
    if drain.waits and drain.leader_stops and not drain.in_turn:
        waits = "The group's leader stops, too, and the next one knows of no delay: the work is assigned at once"
    order = "; the leader is assumed to stop first, which is worse" if drain.in_turn else ""
    return f"{waits}{order}. A worker that is killed counts as gone after {duration(config.session_timeout_ms)}."


def _facts(drain: WorkersDrained, names: Names) -> Iterator[Fact]:
    now, follows = drain.ways[0], drain.follows
    items = {item.task_id for item in drain.items}
    item_names = name_list([names.task(item.task_id) for item in drain.items], 5) if items else "nothing"
    yield Fact("runs", "Runs now", item_names)
    if now.longest_ms > round_ms(drain):
        total = f"{now.at_once:,} at once, at most {duration(now.longest_ms)} each, {duration(now.item_ms)} summed"
        yield Fact("unassigned", "Unassigned", total, "bad")
    other_count = len(drain.plan.pauses.ms.keys() - items)
    if other_count:
        yield Fact("others", "Other workers", f"{count(other_count, *_WORK)} pause too")
    if now.runs_after_ms is not None:
        yield Fact("runs_again", "All tasks run", f"after about {duration(now.runs_after_ms)}")
    yield load_fact(follows.busiest, "Busiest worker", *_WORK)
    share = f"{span_to(follows.least, follows.most)} connectors and tasks each"
    yield Fact("then", "Afterwards", f"{count(follows.instances, 'worker')} with {share}")
    if drain.later is not None and drain.wait_ms is not None:
        still = f"{drain.later.items:,} unassigned, at most {duration(drain.later.longest_ms)} each"
        yield Fact("wait", "If you wait", f"about {duration(drain.wait_ms)}, until the group has settled: {still}")


def _ways_table(drain: WorkersDrained) -> Table:
    columns = columns_of(*("Workers are", ">Rebalances", ">Unassigned", ">Longest pause", ">Summed", ">All run after"))
    limit_ms, has_delay = round_ms(drain), any("delay" in way.way for way in drain.ways)
    rows = tuple(text_row(*way_texts(way), tone="bad" if way.longest_ms > limit_ms else "plain") for way in drain.ways)
    note = f"delay: scheduled.rebalance.max.delay.ms. {SETTINGS_IN_FORCE}." * has_delay
    return Table("Ways to stop", columns, rows, note)


def way_texts(way: StandStill) -> tuple[str, ...]:
    """Return the texts of the cells of a way to stop."""
    delay = "never" if way.runs_after_ms is None else duration(way.runs_after_ms)
    ends = way.runs_after_ms is not None
    longest, total = (duration(lasts_ms) if ends else "no end" for lasts_ms in (way.longest_ms, way.item_ms))
    return (_WAYS[way.way], f"{way.rebalances:,}", f"{way.items:,}", longest, total, delay)


def round_ms(drain: WorkersDrained) -> int:
    """Return how long it takes until all workers have heard of a rebalance."""
    return drain.plan.config.heartbeat_interval_ms
