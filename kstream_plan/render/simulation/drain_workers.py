"""The answer to "may this Connect worker stop?": as text for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import json

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.documents.plan.write import notes
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview, overview
from kstream_plan.render.plan.markdown import fact_list, heading
from kstream_plan.render.plan.moment import of_generation
from kstream_plan.render.plan.remarks import assumed
from kstream_plan.render.plan.runs import why_facts
from kstream_plan.render.simulation.aftermath import after_fact, busiest_fact
from kstream_plan.render.simulation.drain_json import follows_json
from kstream_plan.render.text.escape import MARKDOWN
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, several
from kstream_plan.render.text.page import Fact, coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import paragraph
from kstream_plan.simulation.drain_workers import MINUTE_MS, StandStill, WorkersDrained
from kstream_plan.version import __version__

_NARROWEST = 60
_WORK = ("connector or task", "connectors and tasks")
COLUMNS = (
    Column("if they are …"),
    Column("rebal.", right=True),
    Column("stand still", right=True),
    Column("each ≤", right=True),
    Column("in all", right=True),
    Column("all run after", right=True),
)
#: What of :func:`~kstream_plan.render.simulation.drain_json.follows_json` there is of a group without state.
_FOLLOWS = ("busiest", "instances", "least", "most", "verdict", "rebalances", "duration_ms", "duration_is")
_WAYS = {
    "stopped": "stopped",
    "killed": "killed",
    "restarted": f"back in {duration(MINUTE_MS)}",
    "delay-60s": "stopped, delay 1m",
    "delay-0s": "stopped, no delay",
}


def workers_drained_table(found: WorkersDrained, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the answer as lines of text, each ended; ``width`` in columns, ``colour`` for a terminal."""
    names, width = Names(found.plan.group), max(width, _NARROWEST)
    lines = title_lines(workers_title(found, names), width)
    lines += [line for fact in workers_facts(found, names) for line in fact_lines(fact, width)]
    rows, bad = [way_cells(way) for way in found.ways], [way.longest_ms > round_ms(found) for way in found.ways]
    text = "\n".join(lines) + "\n" + overview(about_ways(found), COLUMNS, rows, bad, width=width)
    text += "".join(f"{line}\n" for of in workers_remarks(found, names) for line in paragraph(of, width, " ! ", "   "))
    return coloured(text) if colour else text


def workers_drained_markdown(found: WorkersDrained) -> str:
    """Return the answer as Markdown, its lines ended."""
    names = Names(found.plan.group, MARKDOWN)
    parts = [f"{heading(workers_title(found, names))}\n", f"{fact_list(workers_facts(found, names))}\n"]
    parts.append(markdown_overview(about_ways(found), COLUMNS, [way_cells(way) for way in found.ways]))
    parts.append("".join(f"- ⚠ {remark}\n" for remark in workers_remarks(found, names)))
    return "\n".join(parts)


def workers_drained_json(found: WorkersDrained) -> str:
    """Return the answer as one line of ASCII; ``documents/schemas/drain-workers.json`` describes it."""
    plan, follows = found.plan, follows_json(found.plan, found.follows)
    document: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "kind": "drain-workers",
        "application_id": plan.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": plan.models},
        "input": {
            "digest": found.waiting.digest,
            "generation": plan.generation,
            "captured_at": plan.captured_at,
            "now": found.time,
        },
        "process_ids": list(found.process_ids),
        "answer": found.answer.value,
        "doubts": notes(found.doubts),
        "items": [{**item._asdict(), "task_id": str(item.task_id)} for item in found.items],
        "ways": [way._asdict() for way in found.ways],
        "follows": {key: follows[key] for key in _FOLLOWS},
        "wait_ms": found.wait_ms,
        "later": None if found.later is None else found.later._asdict(),
        "warnings": notes(plan.warnings),
        "assumptions": notes(plan.assumptions),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def workers_title(found: WorkersDrained, names: Names) -> Fact:
    """Return who stops, and the answer."""
    who = several(names.instances(found.process_ids))
    verb = "stops" if len(found.process_ids) == 1 else "stop"
    now, all_of = found.ways[0], len(found.plan.group.tasks)
    if now.runs_after_ms is None:
        answer = "THE GROUP DOES NOT SETTLE"
    elif now.longest_ms > round_ms(found):
        answer = f"NOBODY RUNS {now.items:,} of {count(all_of, *_WORK)} for up to {duration(now.longest_ms)}"
    elif found.items:
        answer = f"{len(found.items):,} of {count(all_of, *_WORK)} run elsewhere {_within(found)}"
    else:
        answer = "nothing has to start elsewhere"
    label, which = names.escape(found.plan.group.application_id), of_generation(found.plan, names)
    return Fact(label, (f"{found.answer.word}: if {who} {verb} now, {answer}. {which[0].upper()}{which[1:]}",))


def workers_facts(found: WorkersDrained, names: Names) -> list[Fact]:
    """Return the other first lines."""
    now, ran = found.ways[0], {item.task_id for item in found.items}
    others = len(found.plan.pauses.ms.keys() - ran)
    what = several([names.task(item.task_id) for item in found.items], 5) if ran else "nothing"
    facts = [Fact("RUNS", (f"{what}{' there now' if ran else ' there'}",))]
    if now.longest_ms > round_ms(found):
        in_all = f"{duration(now.item_ms)} in all"
        more = f"; {others:,} of them others ran, or nobody did" if others else ""
        what = f"runs up to {now.at_once:,} at once, ≤ {duration(now.longest_ms)} each; {in_all}{more}"
        facts += [Fact("NOBODY", (what,)), *why_facts(found.plan, names)]
    if now.runs_after_ms is not None:
        after = f"after ~{duration(now.runs_after_ms)}" if now.runs_after_ms > round_ms(found) else _within(found)
        more = f"; {others:,} that others run stand still as well" if others and facts[-1].label == "RUNS" else ""
        no_delay = found.leader_stops and found.waits and not found.in_turn
        more += "; no delay: who leads next remembers nothing" if no_delay else ""
        facts.append(Fact("AGAIN", (f"all run {after}; {count(now.rebalances, 'rebalance')}{more}",)))
    plan, follows = found.plan, found.follows
    return [*facts, busiest_fact(plan, follows, names), after_fact(plan, follows, names), _wait(found)]


def _wait(found: WorkersDrained) -> Fact:
    if found.later is None or found.wait_ms is None:
        kind = found.waiting.verdict.kind
        why = "no delay runs that is known" if kind == "settled" else f"the group does not settle ({kind})"
        return Fact("WAIT", (f"changes nothing: {why}",))
    still = f"{found.later.items:,} stand still, ≤ {duration(found.later.longest_ms)} each"
    return Fact("WAIT", (f"~{duration(found.wait_ms)}, until all has settled: then {still}",))


def _within(found: WorkersDrained) -> str:
    return f"within a rebalance (~{duration(round_ms(found))})"


def round_ms(found: WorkersDrained) -> int:
    """Return how long it takes until all have heard of a rebalance."""
    return found.plan.config.heartbeat_interval_ms


def about_ways(found: WorkersDrained) -> str:
    """Return what the ways have in common."""
    delay = duration(found.plan.config.scheduled_rebalance_max_delay_ms or 0)
    noticed = duration(found.plan.config.session_timeout_ms)
    more = f"the {duration(round_ms(found))} until all have heard that somebody is gone are counted in"
    waits = f"scheduled.rebalance.max.delay.ms is {delay}" if found.waits else "nothing waits for who is gone"
    waits += "; the leader goes first, the others a rebalance later, the worse order" if found.in_turn else ""
    return f"{waits}; who is killed counts as gone after {noticed}; {more}"


def way_cells(way: StandStill) -> tuple[str, ...]:
    """Return the cells of a way to stop."""
    after = "never" if way.runs_after_ms is None else duration(way.runs_after_ms)
    each, in_all = duration(way.longest_ms), duration(way.item_ms)
    return (_WAYS[way.way], f"{way.rebalances:,}", f"{way.items:,}", each, in_all, after)


def workers_remarks(found: WorkersDrained, names: Names) -> list[str]:
    """Return the warnings, and what is taken for granted."""
    doubts = (*found.doubts, *found.plan.warnings)
    return [*(names.escape_message(note.message) for note in doubts), *assumed(found.plan, names)]
