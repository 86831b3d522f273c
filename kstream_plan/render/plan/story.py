"""A plan put into words, before anything decides how wide the page is or what marks it up.

A text that may have to be short comes in several forms, the fullest first. Every name in it is escaped already.
"""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity, events
from kstream_plan.plans.loads import Load, copies_of_stateful, least_and_most_per_thread, loads, worst_loss
from kstream_plan.plans.simulated import OverDraws
from kstream_plan.render.plan.folding import fold
from kstream_plan.render.plan.headline import balance_fact, headline, other_end, pauses_fact, range_fact, title
from kstream_plan.render.plan.loads import load_changes
from kstream_plan.render.plan.rates import rates_facts
from kstream_plan.render.plan.remarks import remarks
from kstream_plan.render.plan.rows import Line, line
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count, duration, interval, records, span
from kstream_plan.render.text.page import Fact


@dataclass(frozen=True, slots=True)
class Story:
    """What the table and the Markdown form show, in this order; ``loads`` are the items of one list.

    ``with_state``: copies warm up and are restored; connectors and tasks of Kafka Connect have none.
    """

    title: Fact
    facts: tuple[Fact, ...]
    pause: str
    lines: tuple[Line, ...]
    ending: tuple[str, str] | None
    numbering: str
    loads: tuple[str, ...]
    loads_legend: str
    remarks: tuple[str, ...]
    legend: str
    with_state: bool = True


def tell(plan: Plan, names: Names, draws: OverDraws | None = None) -> Story:
    """Put ``plan`` into words; ``draws``: it is one of these of a simulation."""
    found = events(plan)
    loads, loads_legend = load_changes(plan, names)
    title, *facts = [*headline(plan, found, names), balance_fact(plan)] if plan.rounds else settled_facts(plan, names)
    facts += [] if draws is None else [range_fact(draws.number, draws.unsettled)]
    return Story(
        title=title,
        facts=tuple(facts),
        pause=_pause(plan),
        lines=tuple(line(row, names) for row in fold(found)),
        ending=_ending(plan),
        numbering=_numbering(plan),
        loads=loads,
        loads_legend=loads_legend,
        remarks=remarks(plan, found, names),
        legend=_legend(plan, found),
        with_state=not plan.is_of_workers,
    )


def _pause(plan: Plan) -> str:
    """Return how long a task stands still here, at most if they differ, or would if it was handed over."""
    found = plan.pauses
    longest = duration(found.longest_ms if found.times else plan.config.heartbeat_interval_ms)
    return f"{'~' if duration(found.shortest_ms) == duration(found.longest_ms) else '≤ '}{longest}"


def _ending(plan: Plan) -> tuple[str, str] | None:
    if not plan.rounds:
        return None
    endings = {
        "settled": "SETTLED, no more probes" if plan.probes else "SETTLED",
        "stuck": "STUCK: every further probe finds the same" if plan.probes else "STUCK",
        "cyclic": "CYCLES: from here on it repeats",
        "unfinished": "NOT FINISHED: the limit of rounds was reached",
    }
    if plan.verdict.is_over:
        return clock(plan.summary.duration_ms), "NOT STUCK ANY MORE"
    return clock(plan.summary.duration_ms), endings[plan.verdict.kind]


def _numbering(plan: Plan) -> str:
    """Return what to subtract from a generation for the number of its round; empty if that is not one number."""
    apart = {round_.generation - round_.number for round_ in plan.rounds}
    return f"(--round N: gen - {apart.pop():,})" if len(apart) == 1 else ""


def _legend(plan: Plan, found: list[Activity]) -> str:
    if not any(event.probe for event in found):
        return ""
    config = plan.config
    return (
        f"probe: every {interval(config.probing_rebalance_interval_ms)} the leader asks which copies are ready "
        f"(lag ≤ {config.acceptable_recovery_lag:,}). -v: steps"
    )


def settled_facts(plan: Plan, names: Names) -> list[Fact]:
    """Return the title and the facts of a plan without rounds."""
    head = title(plan, names)
    if plan.outages:
        nothing = "a rebalance now changes nothing, and nothing that happens starts another"
        return [head, Fact("SETTLED", (f"{nothing}{other_end(plan)}",)), pauses_fact(plan, names)]
    nothing = f"a rebalance now changes nothing: 0 moves, 0 pauses{', no probes' if plan.probes else ''}"
    if any(note.code == "counts-only" for note in plan.assumptions):
        nothing = "a rebalance now changes nothing, unless a delay runs, or a worker has gone: REST does not tell"
    verdict = Fact("SETTLED", (f"{nothing}{other_end(plan)}",))
    if not plan.group.tasks:
        return [head, verdict, Fact("TASKS", ("none, so there is nothing to plan",))]
    return [
        head,
        verdict,
        _balance(plan),
        *([] if plan.is_of_workers else [balance_fact(plan)._replace(label=""), _copies(plan, names)]),
        *rates_facts(plan),
        _settings(plan, names),
        *_next(plan),
    ]


def _balance(plan: Plan) -> Fact:
    now = loads(plan, initial=True)
    least, most = (f"{number:.3g}" for number in least_and_most_per_thread(plan))
    load = least if least == most else f"{least} to {most}"
    if plan.is_of_workers:
        return Fact("BALANCE", (f"{span(min(at.stateful for at in now), max(at.stateful for at in now))} per worker",))
    copies = ", copies included" if any(at.copies for at in now) else ""
    return Fact("BALANCE", (f"{_each(now)} per instance; {load} per thread{copies}", _each(now)))


def _each(now: list[Load]) -> str:
    stateful, stateless = [load.stateful for load in now], [load.stateless for load in now]
    parts = [f"{span(min(stateful), max(stateful))} stateful"] if any(stateful) else []
    parts += [f"{span(min(stateless), max(stateless))} stateless"] if any(stateless) else []
    return " + ".join(parts)


def _copies(plan: Plan, names: Names) -> Fact:
    group = plan.group
    copies = copies_of_stateful(plan)
    alone = {task for task, number in copies.items() if not number}
    if not group.stateful:
        return Fact("COPIES", ("none needed: no task has state",))
    if not alone:
        least, most = min(copies.values()), max(copies.values())
        each = f"{span(least, most)} {'standby' if most == 1 else 'standbys'} each"
        told = [names.escape_message(note.message) for note in plan.assumptions if note.code == "copies-behind"]
        behind = (
            "; how far behind: kstream-plan assign SNAPSHOT --show-ranks"
            if plan.probes
            else "".join(f". {message}" for message in told)
        )
        return Fact("COPIES", (f"{each}{behind}",))
    who, amount = worst_loss(plan, alone)
    nobody = len(alone) == len(group.stateful)
    have = "no stateful task has a standby" if nobody else f"{count(len(alone), 'stateful task')} without a standby"
    up_to = "an unknown number of" if amount is None else f"up to {records(amount)}"
    loss = f"losing {names.instance(who)} restores {up_to} records before its tasks run"
    return Fact("COPIES", (f"{have}: {loss}",))


def _settings(plan: Plan, names: Names) -> Fact:
    config = plan.config
    if not plan.probes:
        return Fact("SETTINGS", (names.escape(plan.assignor),))
    return Fact(
        "SETTINGS",
        (
            f"{names.escape(plan.assignor)}; {count(config.num_standby_replicas, 'standby', 'standbys')}, "
            f"{count(config.max_warmup_replicas, 'warm-up')} at once, ready: lag ≤ {config.acceptable_recovery_lag:,}, "
            f"probes every {interval(config.probing_rebalance_interval_ms)}",
        ),
    )


def _next(plan: Plan) -> list[Fact]:
    """Return the commands that answer what one asks next; they are run, not looked up, so they have to exist."""
    standbys = plan.config.num_standby_replicas + 1
    more = Fact("NEXT", (f"other settings: kstream-plan assign SNAPSHOT --num-standby-replicas {standbys}",))
    return [
        *([more] if plan.probes and standbys < len(plan.group.instances) else []),
        Fact("NEXT", ("more instances: kstream-plan simulate-scaleout SNAPSHOT --add 1",)),
    ]
