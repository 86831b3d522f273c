"""What follows for the group when instances have stopped, in words: for the first line, and the lines below it."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.plans import Plan
from kstream_plan.render.plan.headline import cause_sentence
from kstream_plan.render.plan.loads import counted
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count, duration, durations, from_to, several, takes_at_least
from kstream_plan.render.text.page import Fact
from kstream_plan.simulation.aftermath import Aftermath


def besides(plan: Plan, follows: Aftermath) -> Iterator[str]:
    """Yield what the first line says beside what becomes of their own tasks: it must not read better than the rest."""
    if follows.others_cold:
        yield f"{count(follows.others_cold, 'task')} of others START{'S' * (follows.others_cold == 1)} COLD"
    if follows.others_paused:
        yield f"{count(follows.others_paused, 'task')} of others {_pause(follows.others_paused)} as well"
    if follows.busiest.most > follows.busiest.before:
        yield f"the busiest runs {follows.busiest.most:,} (now {follows.busiest.before:,})"
    if plan.verdict.kind == "unfinished":
        yield "what follows was not played to its end"
    elif plan.verdict.kind != "settled":
        yield "THE GROUP DOES NOT SETTLE"


def noticed_fact(plan: Plan, follows: Aftermath) -> Fact:
    """Return when the group notices that they have gone, which is how long nobody runs their tasks, and why then."""
    if follows.noticed_ms is None:
        return Fact("NOTICED", ("not within what was played",))
    if follows.noticed_ms < plan.config.session_timeout_ms:
        return Fact("NOTICED", ("at once: they tell the group that they leave",))
    after = f"after ~{duration(follows.noticed_ms)}, when session.timeout.ms is over"
    return Fact("NOTICED", (f"{after}: Kafka Streams' close() tells nobody. At once with --leave",))


def others_fact(plan: Plan, follows: Aftermath) -> Fact:
    """Return what stands still of what others run, and starts cold."""
    if not follows.others_paused and not follows.others_cold:
        return Fact("OTHERS", (f"no task of others stands still{_so_far(plan)}",))
    is_floor = follows.others_longest_is == "floor"
    cold = f"{follows.others_cold:,} START{'S' * (follows.others_cold == 1)} COLD; " if follows.others_cold else ""
    longest = f"{'≥' if is_floor else '~'}{' ' * is_floor}{duration(follows.others_longest_ms)}"
    tasks = f"{count(follows.others_paused, 'task')} of others {_pause(follows.others_paused)} in what follows"
    return Fact("OTHERS", (f"{cold}{tasks}, the longest {longest} in all{_so_far(plan)}",))


def busiest_fact(plan: Plan, follows: Aftermath, names: Names) -> Fact:
    """Return who runs the most meanwhile, how much and from when on, and how much the busiest runs before and after."""
    of = follows.busiest
    if of.most <= of.before:
        what = f"nobody runs more than the busiest does now: {count(of.before, counted(plan))}"
        return Fact("BUSIEST", (f"{what}{_so_far(plan)}",))
    who = several(names.instances(of.process_ids))
    runs = f"{who} {'runs' if len(of.process_ids) == 1 else 'run'} {count(of.most, counted(plan))}"
    last = "where the play stops" if plan.verdict.kind == "unfinished" else "in the end"
    ends = f", {of.after:,} {last}" if of.after != of.most else ""
    return Fact("BUSIEST", (f"{runs} from {clock(of.from_ms)} on; the busiest runs {of.before:,} now{ends}",))


def after_fact(plan: Plan, follows: Aftermath, names: Names) -> Fact:
    """Return how it ends, and what the group looks like then."""
    summary = plan.summary
    rebalances = count(summary.rebalances, "rebalance")
    member = "worker" if plan.is_of_workers else "instance"
    each = f"{from_to(follows.least, follows.most)} {counted(plan)}{'s' * (follows.most != 1)}"
    looks = f"{count(follows.instances, member)} {'runs' if follows.instances == 1 else 'run'} {each}"
    looks += " each" if follows.instances > 1 else ""
    before, without = follows.without_standby
    bare = f"; {without:,} of them then have no standby (now {before:,})" if without > before else ""
    bare = bare if plan.config.num_standby_replicas else ""
    if plan.verdict.kind == "unfinished":
        played = f"{rebalances} in {duration(summary.duration_ms)}, and more follow"
        return Fact("AFTER", (f"played were {played}. By then {looks}{bare}",))
    if plan.verdict.kind != "settled":
        reason = names.escape_message(plan.verdict.reason)
        return Fact("AFTER", (f"{plan.verdict.kind.upper()}: {reason}{cause_sentence(plan, names)}. {looks}{bare}",))
    between = durations(*plan.ends("duration_ms"))
    between = "" if between == duration(summary.duration_ms) else between
    follow_ups = plan.ready_at_follow_ups
    long = takes_at_least(summary.duration_ms, summary.duration_is, summary.floor_ms, between, follow_ups=follow_ups)
    settled = f"after {rebalances} in {long}" if summary.duration_ms else "at once"
    word = "Stable" if plan.design == "streams" else "settled"  # who starts cold may be restoring still
    return Fact("AFTER", (f"{looks}, {word} {settled}{bare}",))


def _pause(number: int) -> str:
    return "pauses" if number == 1 else "pause"


def _so_far(plan: Plan) -> str:
    return ", as far as it was played" if plan.verdict.kind == "unfinished" else ""
