"""A simulation put into words: how long, how sure, when relief comes, what pauses, and what would be better.

Every name in it is escaped already, and nothing decides yet how wide the page is or what marks it up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kstream_plan.model import Instance
from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, events, membership
from kstream_plan.plans.design import BACK_BEFORE_FENCED, CLOSE_TO_TIME_OUT
from kstream_plan.plans.loads import most_restoring
from kstream_plan.plans.simulated import EventOutcome, Range, Simulation, WhatIf, most_of, tells_restored
from kstream_plan.render.pages.scenario_events import happened
from kstream_plan.render.plan.headline import (
    balance_fact,
    cause_sentence,
    cold_phrase,
    next_facts,
    or_unknown,
    other_end,
    pauses_fact,
    range_fact,
    restore_fact,
    work_phrase,
)
from kstream_plan.render.plan.moment import as_of, of_generation
from kstream_plan.render.plan.moves import hops_phrase, stateless_moves_fact
from kstream_plan.render.plan.rates import rates_facts
from kstream_plan.render.plan.relief import relief_fact
from kstream_plan.render.plan.remarks import remarks
from kstream_plan.render.plan.runs import runs_facts, why_facts
from kstream_plan.render.report.picture import Picture, picture
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import (
    amount,
    beside,
    clock,
    count,
    duration,
    durations,
    from_to,
    interval,
    several,
    takes_at_least,
)
from kstream_plan.render.text.page import Fact
from kstream_plan.simulation.outages import OUTAGE
from kstream_plan.simulation.what_ifs import starts_empty

_VERDICTS = {"settled": "TAKES", "stuck": "STUCK", "cyclic": "CYCLES", "unfinished": "STOPPED"}


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What other values of one setting come to, by the scenario simulated with them; ``remark`` ends the line."""

    setting: str
    outcomes: tuple[str, ...]
    remark: str


@dataclass(frozen=True, slots=True)
class SimulationStory:
    """What the table and the Markdown form show, in this order; ``picture`` is ``None`` if nothing happens."""

    title: Fact
    facts: tuple[Fact, ...]
    picture: Picture | None
    ending: str
    events: tuple[str, ...]
    cure: str
    alternatives: tuple[Alternatives, ...]
    remarks: tuple[str, ...]


def tell_simulation(simulated: Simulation, names: Names, record_size: int | None = None) -> SimulationStory:
    """Put a simulation into words; ``record_size`` in bytes stands for its own."""
    plan = simulated.plan
    found = events(plan)
    with_state = plan.probes and bool(plan.group.stateful)  # else no copy is waited for
    told = simulated.events if len(simulated.events) > 1 else ()
    return SimulationStory(
        title=_title(plan, names),
        facts=tuple(_facts(simulated, found, names, record_size or simulated.record_size)),
        picture=picture(plan, found, names) if found else None,
        ending=_ending(plan) if found else "",
        events=tuple(_outcome(one, names, with_state=with_state, last=one is told[-1]) for one in told),
        cure=_cure(simulated),
        alternatives=() if plan.is_of_workers else tuple(_alternatives(simulated)),
        remarks=remarks(plan, found, names),
    )


def _facts(simulated: Simulation, found: Sequence[Activity], names: Names, record_size: int | None) -> list[Fact]:
    """Return what the first lines say."""
    plan = simulated.plan
    if not plan.rounds:
        nothing = "no time: a rebalance now changes nothing, and nothing that happens starts another"
        takes = Fact("TAKES", (f"{nothing}{other_end(plan)}",))
        return [takes, pauses_fact(plan, names)] if plan.ends("paused_tasks_at_once")[1] else [takes]
    facts = [
        *_noted(plan, OUTAGE, "OUTAGE", names),
        _takes(simulated, names),
        *_noted(plan, CLOSE_TO_TIME_OUT, "EITHER", names),
        *_noted(plan, BACK_BEFORE_FENCED, "AT LEAST", names),
        *runs_facts(plan, simulated.draws),
        *why_facts(plan, names),
        *_instead(simulated),
        *next_facts(plan),
        relief_fact(plan),
        pauses_fact(plan, names, simulated.draws),
        _moves(simulated, found),
        *([] if plan.is_of_workers else [_restore(simulated, record_size)]),
        *rates_facts(plan),
        *([balance_fact(plan)] if plan.group.tasks else []),
    ]
    if simulated.draws is not None:
        facts.append(range_fact(simulated.draws.number, simulated.draws.number - simulated.draws.settled))
    return facts


def _instead(simulated: Simulation) -> Iterator[Fact]:
    """Yield what other settings come to, of a Connect group: what shortens minutes of standstill is told at first."""
    if simulated.plan.is_of_workers:
        for of in _alternatives(simulated):
            yield Fact("IF", (f"{of.setting}={' | '.join(of.outcomes)}",))


def _noted(plan: Plan, code: str, label: str, names: Names) -> Iterator[Fact]:
    """Yield what a note says as one of the first lines."""
    notes = (*plan.warnings, *plan.assumptions)
    return (Fact(label, (names.escape_message(note.message),)) for note in notes if note.code == code)


def _title(plan: Plan, names: Names) -> Fact:
    group = plan.group
    joined, left = membership(plan)
    before, after = len(group.instances) - len(joined), len(group.instances) - len(left)
    noun = "worker" if plan.is_of_workers else "instance"
    members = f"{before} → {count(after, noun)}" if joined or left else count(after, noun)
    changes = []
    if joined:
        new = [instance for instance in group.instances if instance.process_id in set(joined)]
        what = " new" if plan.is_of_workers else f": {_threads(new)}, empty disk"
        changes.append(f"{several(names.instances(joined))}{what}")
    if left:
        changes.append(f"{several(names.instances(left))} gone")
    who = f"{members} ({'; '.join(changes)})" if changes else members
    tasks = work_phrase(plan)
    which, at = of_generation(plan, names), as_of(plan, names)
    start = f"From {which}" if plan.generation else f"{which[0].upper()}{which[1:]}"
    full, mid = f"{who}, {tasks}. {start}", f"{who}. {start}"
    forms = (full, f"{who}, {tasks}, {at}", mid, f"{who}, {at}") if at else (full, mid, who, f"{members}. {start}")
    return Fact(names.escape(group.application_id), forms)


def _threads(instances: Sequence[Instance]) -> str:
    numbers = sorted({instance.capacity for instance in instances})
    return count(numbers[0], "thread") if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]} threads"


def _takes(simulated: Simulation, names: Names) -> Fact:
    plan, draws = simulated.plan, simulated.draws
    summary = plan.summary
    cold = cold_phrase(plan, None if draws is None else draws.cold_handovers) + other_end(plan)
    cold = cold.removeprefix(". ")
    label = _VERDICTS[plan.verdict.kind]
    if plan.verdict.kind != "settled":
        tasks = several([names.task(task_id) for task_id in plan.verdict.tasks])
        reason = f"{names.escape_message(plan.verdict.reason)}{f' ({tasks})' if tasks else ''}"
        when = "for" if plan.verdict.is_over else "after"
        after = f"{when} {duration(summary.duration_ms)}: {reason}{f'. {cold}' if cold else ''}"
        return Fact(label, (f"{after}{cause_sentence(plan, names)}",))
    took = _over_all(plan, "duration_ms", None if draws is None else draws.duration_ms)
    between = durations(took.least, took.most)
    between = or_unknown(plan, "" if between == duration(took.median) else between)
    follow_ups = plan.ready_at_follow_ups
    floor_ms = None if summary.floor_ms is None else min(summary.floor_ms, took.least)  # it is that of one draw
    long = takes_at_least(took.median, summary.duration_is, floor_ms, between, follow_ups=follow_ups)
    if not took.median and summary.duration_is != "least":
        long = f"no time{f' ({between})' if between else ''}"
    probing = _over_all(plan, "probing_rebalances", None if draws is None else draws.probing_rebalances)
    of_all = _over_all(plan, "rebalances", None if draws is None else draws.rebalances)
    probes = f", {_ranged(probing, 'probe')}" if plan.probes else ""
    rebalances = _ranged(of_all, "rebalance")
    only, short = count(of_all.median, "rebalance"), cold.replace(" starts", "")
    if not cold:
        return Fact(label, (f"{long}, {rebalances}", f"{long}, {only}"))
    return Fact(label, (f"{long}{probes}, {rebalances}. {cold}", f"{long}{probes}, {only}. {short}"))


def _over_all(plan: Plan, figure: str, over_draws: Range | None) -> Range:
    """Return a figure over all draws and over what nobody knows of the one that is shown."""
    median = over_draws.median if over_draws is not None else plan.figure(figure) or 0
    return Range(median, *plan.ends(figure, *(over_draws or ())))


def _ranged(figure: Range, noun: str) -> str:
    return count(figure.median, noun) + beside(figure.least, figure.most)


def _moves(simulated: Simulation, found: Sequence[Activity]) -> Fact:
    summary, draws = simulated.plan.summary, simulated.draws
    stateful = len(simulated.plan.group.stateful)
    if not stateful:
        return stateless_moves_fact(simulated.plan)
    moves = _ranged(_over_all(simulated.plan, "moves", None if draws is None else draws.moves), "")
    hops = hops_phrase(simulated.plan, found)
    copies = most_of(simulated.plan, "peak_extra_copies", draws)
    peak = f"; ≤ {count(copies, 'copy', 'copies')} beside the wanted ones at once" if copies else ""
    of_what = "" if simulated.plan.is_of_workers else " stateful"
    head = f"{moves} of {stateful:,}{of_what}{hops}, least {summary.lower_bounds.moves:,}"
    return Fact("MOVES", (f"{head}{peak}", head))


def _restore(simulated: Simulation, record_size: int | None) -> Fact:
    """Return what is restored, in records and, where their size is known, in bytes, and how many copies at once."""
    plan, draws = simulated.plan, simulated.draws
    between = least = ""
    if draws is not None and all(plan.group.tasks[task].end_offset_known for task in plan.group.stateful):
        ends, bounds = plan.ends("restored_records", *draws.restored_records), draws.least_restored_records
        between = "" if ends[0] == ends[1] else from_to(*ends)
        least = "" if bounds is None or bounds.least == bounds.most else from_to(bounds.least, bounds.most)
    elif plan.summary.restored_records is not None and not tells_restored(plan, draws):
        between = "in other draws not known"
    fact, restored = restore_fact(plan, between, least), plan.summary.restored_records
    forms = fact.forms
    if restored and record_size is not None:
        size = amount(restored * record_size)
        forms = tuple(form.replace(" records", f" records = {size}", 1) for form in forms)
    busiest = most_restoring(plan)
    only_these = not any("new standby" in form for form in fact.forms)  # of standbys nobody knows for how long
    on_one = f", ≤ {busiest:,} on one instance" if busiest > 1 and only_these else ""
    fuller = tuple(form.replace(". ", f"{on_one}. ", 1) for form in forms)
    return Fact(fact.label, (*fuller[:-1], *forms[:-1], fuller[-1], forms[-1]))


def _ending(plan: Plan) -> str:
    at = clock(plan.summary.duration_ms)
    if plan.verdict.is_over:
        return f"not stuck any more at {at}"
    endings = {
        "settled": f"settled at {at}",
        "stuck": f"stuck from {at} on{': every further probe finds the same' if plan.probes else ''}",
        "cyclic": f"goes round in circles from {at} on",
        "unfinished": f"not finished at {at}: the limit of rounds was reached",
    }
    return endings[plan.verdict.kind]


def _outcome(outcome: EventOutcome, names: Names, *, with_state: bool, last: bool) -> str:
    what = f"{clock(outcome.event.at_ms)} {happened(outcome.event, names)}"
    if not outcome.rebalances:
        return f"{what}: no rebalance{'' if last else ' until the next event'}"
    parts = [count(outcome.rebalances, "rebalance")]
    if with_state:
        warm_ms = outcome.warm_ms
        parts.append("not warm before the next event" if warm_ms is None else f"warm after {duration(warm_ms)}")
    if outcome.balanced_ms is not None:
        parts.append(f"balanced after {duration(outcome.balanced_ms)}")
    else:
        parts.append("nor balanced" if with_state and outcome.warm_ms is None else "not balanced before the next event")
    parts += [f"{outcome.cold_handovers:,} COLD"] if outcome.cold_handovers else []
    return f"{what}: {', '.join(parts)}"


def _cure(simulated: Simulation) -> str:
    """Return the setting with which the group settles if it does not, or that there is none; may be empty."""
    cure = simulated.cure
    if simulated.plan.verdict.kind == "settled" or (cure is None and not simulated.what_ifs):
        return ""
    if cure is None:
        return "none of the settings that were tried makes it settle"
    cold = f", {count(cure.cold_handovers, 'cold start')}" if cure.cold_handovers else ""
    empty = starts_empty(simulated.plan, cure.setting, cure.value)
    but = ", but then tasks start on empty disks, and restore before they run" if empty else ""
    settles = f"{_setting(cure.setting)}={_value(cure)} settles"
    return f"{settles}, in ~{duration(cure.duration_ms)}{cold}: simulated{but}"


def _alternatives(simulated: Simulation) -> Iterator[Alternatives]:
    for setting in dict.fromkeys(of.setting for of in simulated.what_ifs):
        outcomes = tuple(_what_if(of) for of in simulated.what_ifs if of.setting == setting)
        remark = "; that many copies restore at once" if setting == "max_warmup_replicas" else ""
        yield Alternatives(_setting(setting), outcomes, remark)


def _setting(name: str) -> str:
    return name.replace("_", ".")


def _value(of: WhatIf) -> str:
    return interval(of.value) if of.setting.endswith("_ms") else f"{of.value:,}"


def _what_if(of: WhatIf) -> str:
    value = _value(of)
    if of.verdict != "settled":
        return f"{value}: {of.verdict}"
    if of.paused_task_ms is not None:
        return f"{value}: nobody runs {duration(of.paused_task_ms)} in all, {count(of.moves, 'move')}"
    return f"{value}: ~{duration(of.duration_ms)}{_ends(of)}{cold_starts_of(of)}"


def _ends(of: WhatIf) -> str:
    if of.most_duration_ms is None or of.least_duration_ms is None or of.least_duration_ms == of.most_duration_ms:
        return ""
    return f" ({duration(of.least_duration_ms)} to {duration(of.most_duration_ms)})"


def cold_starts_of(of: WhatIf) -> str:
    """Return how many starts are cold with another setting, after a comma; empty if none is, for sure."""
    least, most = of.cold_handovers, of.most_cold_handovers
    if most is None:
        return f", at least {count(least, 'cold start')}" if least else ", cold starts unknown"
    if not most:
        return ""
    return f", {count(most, 'cold start')}" if least == most else f", {least:,} to {count(most, 'cold start')}"
