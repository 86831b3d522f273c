"""Ways to restart a group beside each other, as text for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.write import notes
from kstream_plan.documents.scenario_file import scenario_yaml
from kstream_plan.documents.streams_config import kafka_name
from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.model.coverage import COMES_NO_CLOSER
from kstream_plan.model.scenario import moment
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.plans.plan import MAYBE_READY, MAYBE_RESTORING
from kstream_plan.plans.simulated import Range
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview, overview
from kstream_plan.render.plan.moment import as_of
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape, fenced
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, interval, several
from kstream_plan.render.text.wrapping import paragraph, wrapped
from kstream_plan.simulation.bounces import Bounces, PlayedWay, Way
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"
_MARK = "*"
_NAMES = {
    "default-close": "default close",
    "leave": "leave on close",
    "static": "static members",
    "surge": "surge of one",
}

#: The codes of what a plan warns of, or assumes, about the group as it is.
_OF_NOW = (COMES_NO_CLOSER, MAYBE_RESTORING, MAYBE_READY)

_WITH_DISKS = (
    "who comes back has its disk as it was: on an empty one (emptyDir, a volume that stays behind) all that it ran "
    "and copied restores, and no figure here holds (kstream-plan help restart-one)"
)
_WITH_STORES = (
    "it is assumed that stores are persistent: what is kept in memory restores at every restart (--stores in-memory)"
)

_COLUMNS = (
    (Column("way"), ""),
    (
        Column("pause", right=True),
        "the least from one restart to the next that is safe, and it alone: a longer one may not be, simulate it "
        "(unsafe: with none that was tried, the figures are those with a long one; ?: not known)",
    ),
    (Column("in all", right=True), "until everybody is back and every task where it stays, at the latest"),
    (Column("rebal.", right=True), "rebalances"),
    (Column("at once", right=True), "most tasks that stand still at the same time, hand-overs too"),
    (Column("still", right=True), "longest that a task stands still in all"),
    (Column("cold", right=True), "cold starts"),
)


def bounce_table(found: Bounces, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return a line for each way, why others are not safe, and the scenario of the best one, as lines of text."""
    columns, rows = _columns(found), [_cells(found, of, TERMINAL) for of in found.played]
    marks = [_MARK if of is found.best_safe else "" if of.safe else "!" for of in found.played]
    heads = [column for column, _ in columns]
    table = overview(_heading(found, TERMINAL), heads, rows, marks, width=width, colour=colour)
    lines = wrapped([f"{column.head}: {said}" for column, said in columns if said], "; ", width, "", "  ")
    for sentence in _remarks(found, TERMINAL):
        lines += paragraph(sentence, width, "! ", "  ")
    lines += ["", *paragraph(_conclusion(found), width)]
    if found.best_safe is not None:
        lines += [f"  {line}" for line in best_scenario(found).splitlines()]
    return table + "\n".join(lines) + "\n"


def bounce_markdown(found: Bounces) -> str:
    """Return the same as Markdown."""
    columns = _columns(found)
    rows = [_marked(found, of, _cells(found, of, MARKDOWN)) for of in found.played]
    parts = [markdown_overview(_heading(found, MARKDOWN), [column for column, _ in columns], rows)]
    parts.append("; ".join(f"{column.head}: {said}" for column, said in columns if said) + "\n")
    remarks = [f"- {sentence}\n" for sentence in _remarks(found, MARKDOWN)]
    parts += ["".join(remarks)] if remarks else []
    parts.append(f"{MARKDOWN.sentence(_conclusion(found))}\n")
    if found.best_safe is not None:
        parts.append(f"{fenced(best_scenario(found).rstrip())}\n")
    return "\n".join(parts)


def bounce_json(found: Bounces) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/bounce.json``, without the line end."""
    first = found.played[0].plan
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "bounce",
        "application_id": first.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": first.models},
        "input": {
            "snapshot_digest": first.snapshot_digest,
            "generation": first.generation,
            "captured_at": first.captured_at,
            "now": found.time,
        },
        "restart_ms": found.restart_ms,
        "instances": list(found.process_ids) or None,
        "answer": None if found.answer is None else found.answer.value,
        "doubts": notes(found.reasons),
        "warnings": notes(_warnings(found)),
        "ways": [{**_way(of.way), "best": of is found.best_safe, **_played(of)} for of in found.played],
        "not_played": [{**_way(way), "least_ms": least_ms} for way, least_ms in found.left_out],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def best_scenario(found: Bounces) -> str:
    """Return the scenario file of the best way; there has to be one."""
    best = found.best_safe
    assert best is not None
    settings = "".join(
        f", with {kafka_name(name)}={value} (simulate --session-timeout {moment(value)})"
        for name, value in best.way.settings
    )
    name = TERMINAL.name(best.plan.group.application_id)
    return scenario_yaml(best.scenario, f"restarts of {name}: {_NAMES.get(best.way.name, best.way.name)}{settings}")


def _way(way: Way) -> dict[str, Json]:
    zones: Mapping[str, Sequence[str]] = way.zones
    return {
        "way": way.name,
        "settings": {kafka_name(name): value for name, value in way.settings},
        "tag": way.tag,
        "zones": {zone: list(process_ids) for zone, process_ids in zones.items()} if zones else None,
    }


def _played(of: PlayedWay) -> dict[str, Json]:
    figures = of.figures
    return {
        "safe": of.safe,
        "unproven_starts": len(of.unproven),
        "outcome": of.found.outcome,
        "restarts": of.restarts,
        "restarts_found": of.found.restarts,
        "longer_pause_ms_not_safe": of.found.longer_ms,
        "settles": of.settles,
        "pause_ms": of.pause_ms,
        "ends_ms": of.ends_ms,
        "still_at_once": of.still_at_once._asdict(),
        "paused_at_once": figures.paused_at_once,
        "draws": None if of.draws is None else of.draws.number,
        "rebalances": figures.rebalances._asdict(),
        "cold_handovers": figures.cold_handovers._asdict(),
        "most_cold": of.most_cold,
        "max_paused_ms": figures.max_paused_ms._asdict(),
        "restored_records": None if figures.restored_records is None else figures.restored_records._asdict(),
        "scenario": scenario_yaml(of.scenario, of.way.name),
    }


def _heading(found: Bounces, escape: Escape) -> str:
    group = found.played[0].plan.group
    label = escape.name(group.application_id)
    names = Names(group, escape)
    at = as_of(found.played[0].plan, names)
    if found.process_ids:
        return f"{label}: {_answer(found, names, f'now ({at})' if at else 'now')}"
    at = f", {at}" if at else ""
    restarted = f"{count(_number(found), 'instance')} restarted, {interval(found.restart_ms)} each (--restart)"
    return f"{label}: {restarted}, {count(len(found.played), 'way')} simulated{at}"


def _answer(found: Bounces, names: Names, now: str) -> str:
    """Return whether those that are named may restart ``now``, which says of which moment that is."""
    who, answer, best = several(names.instances(found.process_ids)), found.answer, found.best_safe
    assert answer is not None
    several_of = len(found.process_ids) > 1
    if answer is not Answer.YES:
        leave = "they leave" if several_of else "it leaves"
        only = "" if best is None else f"; safe only if {leave} the group on close"
        sentence = (
            f"{who} should not restart {now}" if answer is Answer.NO else f"it is unknown whether {who} may restart"
        )
        sentence += "" if answer is Answer.NO else f" {now}"
        return f"{answer.word}: {sentence}, by default close{only}"
    assert best is not None
    how = f"by {_NAMES[best.way.name]}"
    how += f", one by one, with a pause of {moment(best.pause_ms)}" if several_of else ""
    disk = "each, with their disks" if several_of else "with its disk"
    after = f"back after {interval(found.restart_ms)} {disk} (--restart)"
    figures = best.figures
    still = f"up to {count(figures.paused_at_once, 'task')} stand still at once, each up to "
    still += f"{duration(figures.max_paused_ms.most)}; 0 cold starts"
    return f"{answer.word}: {who} may restart {now}, {how}, {after}: {still}"


def _columns(found: Bounces) -> Sequence[tuple[Column, str]]:
    """Return what is said of a way, and what it means; of a single restart no pause to the next."""
    return _COLUMNS if _number(found) > 1 else (_COLUMNS[0], *_COLUMNS[2:])


def _number(found: Bounces) -> int:
    """Return how many instances are restarted: nobody joins in the first way."""
    return len(found.process_ids) or len(found.played[0].plan.initial_balance.active)


def _name(way: Way, escape: Escape) -> str:
    name = _NAMES.get(way.name, "")
    if way.tag is not None:
        name = f"by {escape.name(way.tag)}{', leave on close' if way.name == 'zone-leave' else ''}"
    return name + "".join(f", time-out {interval(value)}" for _, value in way.settings)


def _marked(found: Bounces, of: PlayedWay, cells: tuple[str, ...]) -> tuple[str, ...]:
    mark = f" {MARKDOWN.sentence(_MARK)}" if of is found.best_safe else ""
    return (cells[0] + mark, *cells[1:])


def _cells(found: Bounces, of: PlayedWay, escape: Escape) -> tuple[str, ...]:
    figures = of.figures
    pause = {"safe": moment(of.pause_ms), "unsafe": "unsafe", "undecided": "?"}[of.found.outcome]
    return (
        _name(of.way, escape),
        *([pause] if _number(found) > 1 else []),
        duration(of.ends_ms),
        _numbers(figures.rebalances),
        f"{figures.paused_at_once:,}",
        _times(figures.max_paused_ms),
        f"≤ {of.most_cold:,}" if of.most_cold > figures.cold_handovers.most else _numbers(figures.cold_handovers),
    )


def _remarks(found: Bounces, escape: Escape) -> list[str]:
    """Say of every way that is not safe why, what else there is to know of each, and why some were not played."""
    names = Names(found.played[0].plan.group, escape)
    remarks = [_reason(note, names) for note in found.reasons]
    remarks += [names.escape_message(note.message) for note in _warnings(found)]
    remarks += [f"{_name(of.way, escape)}: {said}" for of in found.played for said in _remarks_on(of, _number(found))]
    remarks.append(_WITH_DISKS)
    if not found.process_ids and _stores_unknown(found):
        remarks.append(_WITH_STORES)
    if found.process_ids:
        remarks.append(_away_for_longer(found))
    return remarks + [
        f"{_name(way, escape)} was not played: every task with state moves to an empty disk, and at "
        f"max.warmup.replicas at a time that takes at least {duration(least_ms)}"
        for way, least_ms in found.left_out
    ]


def _stores_unknown(found: Bounces) -> bool:
    """Tell whether it is taken for granted that stores are persistent."""
    return any(start.evidence.fact is Fact.STORES_UNKNOWN for way in found.played for start in way.unproven)


def _reason(note: Note, names: Names) -> str:
    """Return a note with the tasks that it is about."""
    tasks = several([names.escape(task_id) for task_id in note.subjects], 5)
    return f"{names.escape_message(note.message)}{f': {tasks}' if tasks else ''}"


def _warnings(found: Bounces) -> tuple[Note, ...]:
    """Return what is to be known of the group as it is, before anything restarts."""
    first = found.played[0].plan
    return tuple(note for note in (*first.warnings, *first.assumptions) if note.code in _OF_NOW)


def _remarks_on(of: PlayedWay, number: int) -> Iterator[str]:
    pause = moment(of.pause_ms)
    if of.found.outcome == "unsafe":
        yield _why_not(of, number)
    elif of.found.outcome == "undecided":
        few = f"the first {of.found.restarts} are safe with a pause of {pause}" if of.found.restarts else "not known"
        yield f"{few}; of all {number:,} it takes too long to find out, for there are too many rebalances"
    elif of.found.longer_ms is not None:
        yield f"safe with a pause of {pause}, but not with {moment(of.found.longer_ms)}: a longer one may not be safer"
    if of.found.outcome == "safe" and not of.safe:
        start = "start cold" if of.behind else "may start cold"
        known = "safe" if of.behind else "known to be safe"
        yield f"not {known}: {count(len(of.behind or of.unproven), 'task')} {start}, for {_facts(of)}"
    if of.needs_static:
        yield "group.instance.id has to be there before, which takes restarts of another way first"
    if of.draws is not None:
        yield f"its ranges are of {count(of.draws.number, 'draw')} of the new instances' ids"
    if of.restarts < number:
        yield f"its figures are those of the first {of.restarts} restarts"


def _facts(way: PlayedWay) -> str:
    """Return what is known of the copies that may be behind, and what would tell."""
    starts = way.behind or way.unproven
    facts = dict.fromkeys(start.evidence.words for start in starts)
    settled_by = dict.fromkeys(option for start in starts for option in start.evidence.settled_by)
    return "; ".join(facts) + (f" ({' or '.join(settled_by)} tells)" if settled_by else "")


def _why_not(of: PlayedWay, number: int) -> str:
    cold, still = of.most_cold, of.still_at_once
    reasons = [f"{count(cold, 'task')} would start cold"] if cold else []
    if still.most:
        reasons.append(f"{_numbers(still)} tasks of several instances stand still at once")
    reasons += [] if of.settles else ["the group does not settle"]
    if of.plan.may_be_restoring:
        reasons.append("others may not run yet")
    what = ", ".join(reasons) or "with another length of the restart, as near the session time-out, it would not be"
    pauses = f" with a pause of {interval(of.pause_ms)}, nor with others that were tried" if number > 1 else ""
    return f"not safe{pauses}: {what}"


def _away_for_longer(found: Bounces) -> str:
    config = found.played[0].plan.config
    limit = f"{interval(config.session_timeout_ms)} (session.timeout.ms)"
    return f"away for {limit} or more, it counts as gone and its tasks move: drain says what would start cold then"


def _conclusion(found: Bounces) -> str:
    best = found.best_safe
    if best is None:
        if any(way.is_likely_safe for way in found.played):
            return "none of them is known to be safe"
        known = "known to be " if any(way.found.outcome == "undecided" for way in found.played) else ""
        return f"none of them is {known}safe: standbys, or static members, would help"
    which = "safe, and needs the least"
    if not found.process_ids:
        faster = ", ".join(dict.fromkeys(_name(way.way, TERMINAL) for way in found.faster_safe))
        which = (
            f"safe, and needs nothing set up first; faster if set up: {faster}" if faster else "the fastest safe way"
        )
    still = "but for hand-overs one instance's tasks at most stand still at once"
    return f"{_MARK} {which}: nothing starts cold, and {still}. As a scenario, which --out FILE writes:"


def _numbers(of: Range) -> str:
    return f"{of.median:,}" if of.least == of.most else f"{of.median:,} ({of.least:,}-{of.most:,})"


def _times(of: Range) -> str:
    median, most = duration(of.median), duration(of.most)
    return median if median == most else f"{median} (≤ {most})"
