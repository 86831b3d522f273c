"""A plan, or a simulation, as a section of a report: what its table says, drawn over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.documents.plan.read import SavedPlan
from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, events
from kstream_plan.plans.simulated import Simulation
from kstream_plan.plans.steps import NobodyRuns
from kstream_plan.plans.timeline import Timeline, timeline
from kstream_plan.render.plan.detail import Focus, details
from kstream_plan.render.plan.folding import Row, Run, fold
from kstream_plan.render.plan.headline import cold_phrase
from kstream_plan.render.plan.picture import picture, still_rows
from kstream_plan.render.plan.remarks import assumed, remarks
from kstream_plan.render.plan.story import tell
from kstream_plan.render.report.figure import Figure, a_member, everyone_figure, load_figure, timeline_figure
from kstream_plan.render.report.in_short import AT_RISK, in_short, longest_standstill
from kstream_plan.render.report.made_from import made_from
from kstream_plan.render.report.move_tables import MOST_LISTED, loads_table, moves_tables
from kstream_plan.render.report.page import (
    Block,
    Drawing,
    Labelled,
    Notes,
    Paragraph,
    Section,
    Steps,
    Table,
    TableRow,
    Tone,
)
from kstream_plan.render.report.plain import all_captioned, captioned, plain
from kstream_plan.render.report.script_data import script_data
from kstream_plan.render.simulation.story import tell_simulation
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, duration, several
from kstream_plan.render.text.page import Fact

#: Up to so many sentences of steps are part of a page.
MOST_SENTENCES = 2_000

_LEGEND = {
    "runs": "runs, the higher the more tasks",
    "warms-up": "a copy warms up there",
    "restores": "restores tasks before it runs them: nobody runs these yet",
    "unsure": "started cold: nobody knows from when on it runs",
    "cold": "a task starts cold",
    "still": "nobody runs it",
    "there": "is a member",
}
#: Captions that are others of some groups.
_OF_WORKERS = {"RELIEF": "What the busiest worker runs"}
_OF_STREAMS = {"TAKES": "Until it is Stable", "SETTLES": "Until it is Stable"}
#: Why nobody runs something for minutes, and what other settings come to.
_ALSO_IN_SHORT = ("WHY", "IF")
_EVEN = "How even the load is"
_NOT_DRAWN = "not drawn, for nobody knows it: how long what starts cold restores before it runs"
_LOAD_LEGEND = {
    "balance": "most minus least",
    "warms-up": "warm-ups",
    "restores": "cold starts that restore",
    "still": "standing still",
}


def plan_section(saved: SavedPlan, *, alone: bool = True) -> Section:
    """Return a plan, or the simulation that it is of, as a section; ``alone``: with all details."""
    plan, simulated = saved.plan, saved.simulation
    names, found = Names(plan.group), events(plan)
    if simulated is None:
        story = tell(plan, names, saved.draws)
        title, facts, ending = story.title, story.facts, story.ending
        ends = "" if ending is None else f"{ending[0]} {_ended(plan, ending[1])}"
    else:
        told = tell_simulation(simulated, names)
        title, facts, ends = told.title, told.facts, _ended(plan, told.ending)
    of = timeline(plan)
    short = in_short(plan, found, names, None if simulated is None else simulated.draws)
    why = [fact for fact in facts if short and fact.label in _ALSO_IN_SHORT]
    rest = [fact for fact in facts if fact not in why]
    answer, others = _first_lines(plan, rest, of, names, at_risk=any(one.label == AT_RISK for one in short))
    return Section(
        name=title.label,
        about=f"{title.forms[0]}{_never_released(plan)}",
        tone=_tone(plan, simulated),
        answer=answer,
        facts=tuple(
            one._replace(text=f"{one.text}{_between(plan, of)}") if one.label == _EVEN else one for one in others
        ),
        blocks=tuple(_blocks(plan, simulated, found, of, names, ends, alone=alone)),
        short=title.forms[-1],
        in_short=(*short, *all_captioned(why)),
        taken=plan.captured_at,
        data=script_data(plan, of, names) if found and alone else None,
    )


def _first_lines(
    plan: Plan, facts: Sequence[Fact], of: Timeline, names: Names, *, at_risk: bool
) -> tuple[Labelled, tuple[Labelled, ...]]:
    """Return what it comes to, and the other first lines; ``at_risk``: what stands still is told before them.

    What users of Connect fear is not how long it takes, but what nobody runs meanwhile: that comes first. Of a streams
    group it is when everything runs: who starts cold is still restoring when the group has long been Stable.
    """
    other = _OF_WORKERS if plan.is_of_workers else _OF_STREAMS if plan.design == "streams" else {}
    told_before = ["PAUSES", "RUNS"] if at_risk else []
    nobody, runs = ([fact for fact in facts if fact.label == label] for label in ("NOBODY", "RUNS"))
    if nobody:
        longest = longest_standstill(plan, of, names)
        answer = captioned(nobody[-1])
        answer = answer._replace(text=f"{answer.text}; {longest}" if longest else answer.text)
        told = [nobody[-1], *facts[: plan.verdict.kind == "settled"]]  # of the latter when it is over, which is told
    elif runs and plan.verdict.kind == "settled":
        answer, told = captioned(runs[0]), [*runs]
        if plan.ends("cold_handovers")[1]:
            answer = answer._replace(label=f"{cold_phrase(plan)}: {answer.label.lower()}")
        told += [fact for fact in facts if fact.label in told_before]
    else:
        lines = list(all_captioned((fact for fact in facts if fact.label not in told_before), other))
        return lines[0], tuple(lines[1:])
    return answer, tuple(all_captioned((fact for fact in facts if fact not in told), other))


def _between(plan: Plan, of: Timeline) -> str:
    """Return what the balance is at worst between, where that is worse than both its ends; else empty."""
    ends = [plan.initial_balance, *(rnd.balance for rnd in plan.rounds[-1:])]
    names = {"worker balance" if plan.is_of_workers else "instance balance": "balance_factor"}
    names |= {} if plan.is_of_workers else {"subtopology balance": "subtopology_task_spread"}
    worst = {name: max((getattr(one, figure) for one in of.loads), default=0) for name, figure in names.items()}
    worse = [
        f"{name} {worst[name]:,}"
        for name, figure in names.items()
        if worst[name] > max(getattr(one, figure) for one in ends)
    ]
    return f"; at worst between: {', '.join(worse)}" if worse else ""


def timeline_drawing(plan: Plan, found: Sequence[Activity], of: Timeline, names: Names, note: str = "") -> Drawing:
    """Return the timeline of a plan."""
    figure = timeline_figure(plan, found, of, names)
    title = "Who runs how much when"
    notes = [note] if note else []
    notes += [_NOT_DRAWN] if plan.pauses_are_least else []
    unheard = f"drawn when all workers have heard of it, which may take {duration(plan.config.heartbeat_interval_ms)}"
    notes += [unheard] if plan.is_of_workers else []
    notes += [f"… = {names.escape(names.common)}"] if names.common else []
    return Drawing(title, figure, _legend(figure, _LEGEND), note="; ".join(notes))


def drawings(plan: Plan, found: Sequence[Activity], of: Timeline, names: Names, ends: str) -> Iterator[Block]:
    """Yield a plan over time, drawn, and the same as a table."""
    yield timeline_drawing(plan, found, of, names, ends)
    everyone = everyone_figure(of, names)
    if everyone is not None:
        yield Drawing("Every instance", everyone, _legend(everyone, _LEGEND), folded=True)
    figure = load_figure(plan, of)
    legend = {"band": f"from the least to the most that {a_member(plan)} runs", **_LOAD_LEGEND}
    yield Drawing("Load and balance", figure, _legend(figure, legend))
    if found:
        yield _picture_table(plan, found, names)


def _ended(plan: Plan, text: str) -> str:
    """Return the end of a plan: a streams group is Stable then, though what starts cold may be restoring still."""
    return text.replace("SETTLED", "STABLE").replace("settled at", "Stable at") if plan.design == "streams" else text


def _never_released(plan: Plan) -> str:
    """Return that nobody can run a group by this design, after a separator; empty if one can."""
    notes = [note.message for note in plan.assumptions if note.code == "never-released"]
    return "".join(f". {message}" for message in notes)


def _tone(plan: Plan, simulated: Simulation | None) -> Tone:
    if simulated is not None:
        bad = not simulated.settles or bool(simulated.most_cold_handovers)
    else:
        settles = plan.verdict.kind == "settled" and plan.ends("settles")[0] == 1
        bad = not settles or plan.ends("cold_handovers")[1] > 0
    still = plan.is_of_workers and plan.ends("longest_pause_ms")[1] > plan.config.heartbeat_interval_ms
    unsure = not plan.tells_ends or plan.ends("settles")[0] == 0 or plan.pauses_are_least or still
    return "bad" if bad else "warn" if unsure else "good"


def _blocks(
    plan: Plan,
    simulated: Simulation | None,
    found: Sequence[Activity],
    of: Timeline,
    names: Names,
    ends: str,
    *,
    alone: bool,
) -> Iterator[Block]:
    if found:
        yield from drawings(plan, found, of, names, ends)
    if simulated is not None:
        yield from _scenario(simulated, names)
    noted, taken = _remarks(plan, found, names)
    if noted:
        yield Notes("To look at", noted, tone="warn")
    if found:
        yield _when_table(plan, found, names)
        yield from moves_tables(plan, found, of, names)
    yield loads_table(plan, names)
    if taken:
        yield Notes("Taken for granted", taken)
    yield from made_from(plan, names)
    if alone:
        yield from _steps(plan, names)


def _remarks(plan: Plan, found: Sequence[Activity], names: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is to be looked at, and what the plan takes for granted."""
    everything = remarks(plan, found, names)
    noted = everything[: len(everything) - len(assumed(plan, names))]
    return noted, tuple(names.escape_message(note.message) for note in plan.assumptions)


def _picture_table(plan: Plan, found: Sequence[Activity], names: Names) -> Table:
    shown = picture(plan, found, names)
    heads = (shown.heads, *(f"{column.head} {column.at}" for column in shown.columns))
    rows = [
        TableRow((label, *(column.cells[place] for column in shown.columns)))
        for place, label in enumerate(shown.instances)
    ]
    for label, *cells in still_rows(shown, shown.columns):
        between = "tasks that stand still between then and the next, not all at once"
        rows.append(TableRow((label if plan.is_of_workers else between, *cells)))
    right = frozenset(range(1, len(heads)))
    return Table("The same as a table", heads, tuple(rows), right, note=shown.legend, folded=True)


def _scenario(simulated: Simulation, names: Names) -> Iterator[Block]:
    told = tell_simulation(simulated, names)
    if told.events:
        yield Notes("What each event leads to", told.events)
    if told.cure:
        yield Notes("What would help", (told.cure,), tone="good")
    if told.alternatives:
        rows = [TableRow((plain(f"{of.setting}={one}"),)) for of in told.alternatives for one in of.outcomes]
        yield Table("With other settings", ("setting: what it takes then",), tuple(rows))


def _when_table(plan: Plan, found: Sequence[Activity], names: Names) -> Table:
    story = tell(plan, names)
    with_stateless = any(line.stateless for line in story.lines)
    heads = ["at", "generation", "why; warm-ups ready" if story.with_state and plan.probes else "why"]
    heads += [f"cut over: old stops, {story.pause}, new starts"]
    heads += ["stateless"] if with_stateless else []
    copies = "new copies" if plan.design == "streams" else "warm up: old runs on meanwhile"
    heads += [copies, "records to restore"] if story.with_state else []
    heads += ["nobody runs afterwards"] if plan.is_of_workers else []
    rows = []
    for row, line in zip(fold(found), story.lines, strict=True):
        cells = [line.at, line.generations, line.why, _listed(line.cut_over, line.cut_over_counts)]
        cells += [line.stateless] if with_stateless else []
        cells += [_listed(line.warm_up, line.warm_up_counts), line.records] if story.with_state else []
        nobody = _left_to_nobody(plan, row, names) if plan.is_of_workers else ""
        cells += [nobody] if plan.is_of_workers else []
        rows.append(TableRow(tuple(cells), tone="bad" if line.alarm else "warn" if nobody else "plain"))
    if story.ending is not None:
        rows.append(TableRow((story.ending[0], "", _ended(plan, story.ending[1]), *[""] * (len(heads) - 3))))
    right = {0, len(heads) - 1} if story.with_state else {0}
    right |= {4} if with_stateless else set()
    return Table(
        "What happens when", tuple(heads), tuple(rows), frozenset(right), note=story.legend.removesuffix(". -v: steps")
    )


def _left_to_nobody(plan: Plan, row: Row, names: Names) -> str:
    """Return what the last decision of a row of a Connect group gives to nobody, and until when."""
    last = row.events[-1] if isinstance(row, Run) else row
    parts = []
    for step in last.rounds[-1].single_steps:
        if isinstance(step, NobodyRuns):
            what = several([names.task(task) for task in step.task_ids], MOST_LISTED)
            heard_ms = plan.config.heartbeat_interval_ms
            until = "" if step.until_ms is None else f"{clock(step.until_ms)}, run by {clock(step.until_ms + heard_ms)}"
            parts.append(f"{what} until {until or 'nobody knows when'}")
    return "; ".join(parts)


def _listed(items: Sequence[str], counts: Sequence[str]) -> str:
    if counts and len(items) > MOST_LISTED:
        return " ".join(counts)
    return ", ".join(item.removesuffix(",") for item in items)


def _steps(plan: Plan, names: Names) -> Iterator[Block]:
    paragraphs: list[Paragraph] = []
    sentences = 0
    for of in details(plan, names, Focus()):
        sentences += len(of.sentences)
        if sentences > MOST_SENTENCES:
            more = "these are too many for a page: kstream-plan show PLAN --round N, --task ID or --instance ID"
            yield Notes("Every step with its reason", (more,))
            return
        paragraphs.append(Paragraph(of.heading, of.sentences))
    if paragraphs:
        yield Steps("Every step with its reason", tuple(paragraphs))


def _legend(figure: Figure, words: dict[str, str]) -> tuple[Labelled, ...]:
    kinds = {shape.kind for row in figure.rows for shape in row.shapes}
    return tuple(Labelled(kind, text) for kind, text in words.items() if kind in kinds)
