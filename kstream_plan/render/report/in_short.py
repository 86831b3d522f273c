"""What a plan comes to, for whoever has never seen one: what happens, when it is over, what is at risk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.activity import Activity
from kstream_plan.plans.simulated import Draws
from kstream_plan.plans.steps import MemberLeft
from kstream_plan.plans.timeline import Timeline
from kstream_plan.render.plan.folding import Row, Run, fold
from kstream_plan.render.plan.headline import cause_sentence, cold_phrase, or_unknown, other_end, pauses_fact
from kstream_plan.render.plan.rows import line
from kstream_plan.render.plan.runs import runs_facts
from kstream_plan.render.report.page import Labelled
from kstream_plan.render.report.plain import captioned, plain
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, clock, count, duration, durations, from_to, interval, several

#: The label of what stands still, among other things.
AT_RISK = "What is at risk"
#: Up to so many of what happens, and of names, are told.
_MOST_TOLD = 5
#: What members of a streams group lead to later has the name of what they did, but no member.
_OF_NOBODY = ("join", "leave")


def in_short(plan: Plan, found: Sequence[Activity], names: Names, draws: Draws | None = None) -> tuple[Labelled, ...]:
    """Return what happens, when, and what is at risk; nothing where nothing follows.

    The last is not told of a Connect group of which nobody runs something: its page begins with that.
    """
    if not found and not plan.outages:
        return ()
    told = [Labelled("What happens", _what_happens(plan, found, names, draws)), Labelled("When", _when(plan, draws))]
    if not (plan.is_of_workers and runs_facts(plan, draws)):
        told.append(Labelled(AT_RISK, ". ".join(_risks(plan, names, draws))))
    return tuple(told)


def longest_standstill(plan: Plan, of: Timeline, names: Names) -> str:
    """Return from when to when something of a Connect group is run by nobody for longest, and what; may be empty."""
    if not of.standstills:
        return ""
    longest = max(of.standstills, key=lambda one: one.to_ms - one.from_ms)
    if longest.to_ms - longest.from_ms <= plan.config.heartbeat_interval_ms:
        return ""
    alike = [one for one in of.standstills if one[1:] == longest[1:]]
    what = several([names.task(plan.group.tasks[one.task].task_id) for one in alike], _MOST_TOLD)
    until = "on" if longest.to_ms >= of.to_ms else f"to {clock(longest.to_ms)}"
    return f"longest from {clock(max(0, longest.from_ms))} {until}: {what}"


def _what_happens(plan: Plan, found: Sequence[Activity], names: Names, draws: Draws | None) -> str:
    rows = [(row, of) for row, of in ((line(of, names), of) for of in fold(found)) if not row.is_probe]
    named = [one for one in rows if plan.design != "streams" or one[0].why not in _OF_NOBODY] or rows
    begun = [
        f"{row.at} {'the wait is over' if row.why in ('deadline', 'delay over') else row.why}{_since(of)}"
        for row, of in named
    ]
    begun += [
        f"{clock(of.from_ms)} {names.instance(of.process_id)} is away until {clock(of.to_ms)}" for of in plan.outages
    ]
    member = "worker" if plan.is_of_workers else "instance"
    moves = from_to(*plan.ends("moves", *(() if draws is None else draws.moves)))
    what = "connectors and tasks" if plan.is_of_workers else "stateful tasks"
    until = ", as far as it was played" if plan.verdict.kind == "unfinished" else ""
    ends = f"{moves} of {count(len(plan.group.stateful))} {what} end up on another {member}{until}"
    if not plan.group.stateful:
        ends = f"tasks change their {member} {count(plan.summary.stateless_hops, 'time')}"
    times = from_to(*plan.ends("rebalances", *(() if draws is None else draws.rebalances)))
    return f"{several(begun, _MOST_TOLD)}: {ends}, by {times} {'rebalance' if times == '1' else 'rebalances'}"


def _since(row: Row) -> str:
    """Return since when who leaves has run nothing, where the group noticed that only later; else empty."""
    if isinstance(row, Run):
        return ""
    left = [(step, rnd.at_ms) for rnd in row.rounds for step in rnd.member_steps if isinstance(step, MemberLeft)]
    since_ms = sorted({step.stopped_at_ms for step, at_ms in left if step.stopped_at_ms < at_ms})
    if not since_ms:
        return ""
    stopped = clock(since_ms[0]) if since_ms[0] >= 0 else "a time before 0:00"
    return f" (ran nothing from {stopped} on, noticed only then)"


def _when(plan: Plan, draws: Draws | None) -> str:
    """Return when it is over; of a streams group also when everything runs again."""
    runs = [f"; {captioned(fact).text}" for fact in runs_facts(plan, draws)] if plan.design == "streams" else []
    return "".join([_over(plan, draws), other_end(plan), *runs])


def _over(plan: Plan, draws: Draws | None) -> str:
    summary, verdict, left = plan.summary, plan.verdict, plan.left
    if verdict.kind == "unfinished":
        more = "" if left is None else f"; what is left takes ≥ {at_least(left.time_ms)} more"
        return f"not within {duration(summary.duration_ms)}, where this plan stops{more}"
    if verdict.is_over:
        return f"after {duration(summary.duration_ms)}, for which it does not work"
    if verdict.kind != "settled":
        return "never, if nothing else happens"
    over = "Stable" if plan.design == "streams" else "over"  # which is not when everything runs
    if summary.duration_is == "least":
        return f"{over} after ≥ {at_least(summary.duration_ms)}: nobody told how fast state is restored"
    median_ms = summary.duration_ms if draws is None else draws.duration_ms.median
    between = durations(*plan.ends("duration_ms", *(() if draws is None else draws.duration_ms)))
    between = or_unknown(plan, between if between != duration(median_ms) else "")
    typical = f"{over} after ~{duration(median_ms)}" + (f" ({between})" if between else "")
    if summary.duration_is != "probes":
        return typical
    every = interval(plan.config.probing_rebalance_interval_ms)
    return (
        f"{typical} if copies have caught up whenever the group looks, every {every}. Nobody told how fast state is "
        f"restored: more than that if it takes longer, and ≥ {at_least(summary.floor_ms or 0)} in any case"
    )


def _risks(plan: Plan, names: Names, draws: Draws | None) -> Iterator[str]:
    if plan.verdict.kind == "unfinished":
        yield f"What follows was not played{cause_sentence(plan, names).replace('. It', ': it', 1)}"
    elif plan.verdict.kind != "settled":
        yield f"It does not end as planned{cause_sentence(plan, names).replace('. It', ': it', 1)}"
    elif draws is not None and draws.settled < draws.number:
        yield f"In {draws.number - draws.settled:,} of {count(draws.number, 'draw')} it does not end"
    if plan.group.stateful:
        cold = cold_phrase(plan, None if draws is None else draws.cold_handovers)
        slowest_ms = plan.ends("max_cold_restore_ms")[1]
        lasts = f", ~{duration(slowest_ms)} at worst" if slowest_ms and not plan.pauses_are_least else ""
        none = cold.startswith("0 cold")
        yield "No task starts cold" if none else f"{cold}: nobody runs these tasks until they are restored{lasts}"
    still = plain(pauses_fact(plan, names, draws).forms[0])
    yield "No running task is stopped" if still.startswith("none: ") else f"Tasks stand still {still}"
