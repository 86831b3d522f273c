"""The page of ways to restart a group, or of the question whether some instances may restart now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kstream_plan.model import Note
from kstream_plan.model.answer import Answer
from kstream_plan.model.note import Remarks
from kstream_plan.model.scenario import moment
from kstream_plan.model.settings import DEFAULT_SETTINGS, SETTINGS_GIVEN
from kstream_plan.model.snapshot import COMES_NO_CLOSER
from kstream_plan.planner.assumptions import RELEASE_ASSUMED
from kstream_plan.plans.caught_up_evidence import would_tell
from kstream_plan.plans.plan import INPUT_BEHIND, MAYBE_READY, MAYBE_RESTORING
from kstream_plan.plans.steps import Revoke
from kstream_plan.plans.targets import TARGET_EXPIRES, without_target
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
from kstream_plan.render.pages.drain import instance_words, source_now, with_tasks
from kstream_plan.render.pages.plan_facts import paused_task
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, count_range, duration, duration_range, name_list, span_to
from kstream_plan.simulation.bounces import Bounces, SimulatedWay

#: What is done in each way, for the line below the table.
_WAY_ACTIONS = {
    "default-close": "close() stays in the group until session.timeout.ms",
    "leave": "close() leaves the group immediately",
    "static": "group.instance.id is set, and keeps the tasks",
    "surge": "a new instance joins before each one leaves",
}
#: The codes of what a plan assumes of settings and the release.
_OF_SETTINGS = (SETTINGS_GIVEN, DEFAULT_SETTINGS, RELEASE_ASSUMED)
#: The codes of what a plan warns of, or assumes, about the group as it is.
_OF_NOW = (COMES_NO_CLOSER, MAYBE_RESTORING, MAYBE_READY, INPUT_BEHIND)


def bounce_page(bounces: Bounces) -> Page:
    """Return the page of the ways to restart a group."""
    plan = bounces.ways[0].plan
    names = Names(plan.group)
    return Page(
        title=_title(bounces, names),
        tone=_tone(bounces),
        answer=bounces.answer,
        sentences=(_sentence(bounces, names), _time_out(bounces)),
        facts=tuple(_facts(bounces, names)),
        source=source_now(plan, names, bounces.time),
        tables=(_table(bounces, names),),
        lines=remark_lines(bounce_remarks(bounces), names.escape_message),
    )


def _title(bounces: Bounces, names: Names) -> str:
    label = names.escape(bounces.ways[0].plan.group.application_id)
    down = duration(bounces.restart_ms)
    downtime = f"{down} each" if bounces.restarted > 1 else f"down for {down}"
    if bounces.process_ids:
        return f"{label}: restart {name_list(names.instances(bounces.process_ids))} now, {downtime}"
    return f"{label}: restart of all {count(bounces.restarted, 'instance')}, {downtime}"


def _tone(bounces: Bounces) -> Tone:
    if bounces.answer is not None:
        return answer_tone(bounces.answer)
    if bounces.best_safe is not None:
        return "unknown" if bounces.safety_of(bounces.best_safe) == "likely" else "good"
    return "unknown" if any(way.is_likely_safe for way in bounces.ways) else "bad"


def _sentence(bounces: Bounces, names: Names) -> str:
    best = bounces.best_safe
    if bounces.answer is None:
        return _best_of_all(bounces, best, names)
    way = bounces.as_it_is
    other_way = "" if best is None else f" It is safe by another way: {best.way.label}."
    if bounces.answer is Answer.YES:
        assert best is not None
        pause = f", one by one, {_wait(best)} between them" if len(bounces.process_ids) > 1 else ""
        return f"With {best.way.label}{pause}, {_safe_words(bounces, best, names)}."
    if bounces.answer is Answer.NO:
        return " ".join(filter(None, [f"{_why_not(way, bounces.restarted)}.{other_way}", _settle_first(bounces)]))
    sentences = ["It is unknown whether the restart is safe.", *_reasons(bounces, names), *would_tell(way.unproven)]
    return f"{' '.join(sentences)}{other_way}"


def _reasons(bounces: Bounces, names: Names) -> list[str]:
    """Return why it is not known whether a restart is safe, as sentences."""
    return [as_sentence(names.escape_message(with_tasks(note).message)) for note in bounces.reasons]


def _time_out(bounces: Bounces) -> str:
    """Return after what time an instance counts as gone, and how much of that a restart leaves."""
    if bounces.leaves_on_close:
        return "An instance that closes leaves the group at once, and its tasks move, however soon it is back."
    way = bounces.best_safe or bounces.as_it_is
    limit = duration(dict(way.way.settings).get("session_timeout_ms", bounces.first.config.session_timeout_ms))
    consequence = "counts as gone, and its tasks move"
    if bounces.back_within_ms is None:
        return f"An instance that is away for {limit} (session.timeout.ms) or longer {consequence}."
    latest, usual = duration(bounces.back_within_ms), duration(bounces.restart_ms)
    subject = "It has" if len(bounces.process_ids) == 1 else "Each instance has"
    is_static = way.way.name == "static" or bounces.are_static
    pauses = " However soon it is back, its tasks pause until session.timeout.ms is over." * (not is_static)
    return (
        f"{subject} to be back within {latest}; {usual} are assumed (--restart). An instance that is away for longer "
        f"than session.timeout.ms ({limit} from its last heartbeat) {consequence}.{pauses}"
    )


def _safe_words(bounces: Bounces, best: SimulatedWay, names: Names) -> str:
    """Return what a way comes to that is safe."""
    members = names.instances(bounces.process_ids)
    pausing = f"only the tasks of {members[0]}" if len(members) == 1 else "one instance's tasks at a time"
    exception = " (besides tasks that are cut over, for a moment)" * _cuts_over(best)
    cold = f"up to {count(best.likely_warm, 'start')} may be cold" if best.likely_warm else "no task starts cold"
    return f"{cold}, and {pausing} pause{exception}"


def _cuts_over(way: SimulatedWay) -> bool:
    """Return whether tasks of other instances change their owner, or may in another random simulation."""
    steps = (step for rnd in way.plan.rounds for step in rnd.steps)
    return way.draws is not None or bool(way.figures.moves.most) or any(isinstance(step, Revoke) for step in steps)


def _best_of_all(bounces: Bounces, best: SimulatedWay | None, names: Names) -> str:
    if best is not None:
        pause = f" with {_wait(best)} between restarts" if bounces.restarted > 1 else ""
        stores = ", if stores are persistent (--set stores)" if bounces.are_stores_unknown else ""
        is_proven = bounces.safety_of(best) == "yes"
        is_safe = "is safe" if is_proven or not best.likely_warm else "is likely, not proven, to be safe"
        safe = f"{best.way.label} {is_safe}{pause}{stores}: {_safe_words(bounces, best, names)}"
        return " ".join([f"{safe[0].upper()}{safe[1:]}.", *_better_ways(bounces, best)])
    if bounces.doubts:
        return " ".join(["It is unknown whether any way is safe.", *_reasons(bounces, names)])
    uncertain = [way for way in bounces.ways if not way.is_likely_unsafe]
    if not uncertain:
        # static members are one of the ways, so they would not help either
        standbys = "" if bounces.first.config.num_standby_replicas else "Standbys may help (num.standby.replicas)."
        return " ".join(filter(None, ["No way is safe.", _settle_first(bounces) or standbys]))
    ways = " and ".join(dict.fromkeys(way.way.label for way in uncertain))
    texts = (text for way in uncertain for text in _why_unsafe(way, bounces.restarted, with_wait=False))
    reasons = dict.fromkeys(as_sentence(f"{text[0].upper()}{text[1:]}") for text in texts)
    options = would_tell(start for way in uncertain for start in way.doubtful_starts)
    cure = [_settle_first(bounces)] if bounces.goes_on else options
    unsafe_ways = " and ".join(dict.fromkeys(way.way.label for way in bounces.ways if way not in uncertain))
    rest = f"; {unsafe_ways} are not" if unsafe_ways else ""
    return " ".join(filter(None, (f"No way is proven to be safe: {ways} may be{rest}.", *reasons, *cure)))


def _better_ways(bounces: Bounces, best: SimulatedWay) -> Iterator[str]:
    """Yield what other safe ways have that the best one has not, and what stands against them."""
    labels: dict[tuple[str, bool], dict[str, None]] = {}
    for way in bounces.better_ways:
        is_faster, is_slower = way.ends_ms < best.ends_ms, way.ends_ms > best.ends_ms
        if best.unproven and not way.unproven:
            words = f"{'faster and ' * is_faster}proven to be safe{', but slower' * is_slower}"
        elif way.worst_cold > best.worst_cold:
            words = f"faster, but up to {count(way.worst_cold, 'start')} may be cold"
        else:
            words = "faster and as safe" if best.unproven or not way.unproven else "faster, but not proven to be safe"
        labels.setdefault((words, way.is_prepared), {})[way.way.label] = None
    for (words, is_prepared), ways in labels.items():
        is_plural = len(ways) > 1 or "static members" in ways
        setup = f", {'and' if 'but' in words else 'but'} {'have' if is_plural else 'has'} to be set up first"
        text = f"{' and '.join(ways)} {'are' if is_plural else 'is'} {words}{setup * is_prepared}."
        yield f"{text[0].upper()}{text[1:]}"


def _settle_first(bounces: Bounces) -> str:
    """Return what to wait for where tasks move anyway; empty where waiting does not keep their starts warm."""
    has_copies = bounces.first.config.num_standby_replicas or bounces.back_within_ms is not None
    if not bounces.goes_on or (bounces.process_ids and not has_copies):
        return ""
    wait_ms = bounces.settles_in_ms
    how_long = "until it has settled" if wait_ms is None else f"about {duration(wait_ms)} ({bounces.wait_parts})"
    return f"The group is still moving tasks: wait {how_long}, then ask again with a new snapshot."


def _wait(way: SimulatedWay) -> str:
    return moment(way.pause_ms) if way.pause_ms else "no wait"


def _duration(way: SimulatedWay) -> str:
    """Return how long it takes until the group has settled; that may be unknown."""
    reason = way.safe_pause.reason
    if not way.settles or (reason is not None and reason.code == "may-not-settle"):
        return f"{duration(way.ends_ms)} or longer"
    return f"at least {at_least(way.lasts_ms.least)}" if way.plan.pauses_are_least else duration_range(*way.lasts_ms)


def _cold(way: SimulatedWay) -> Cell:
    """Return how many starts are cold, with what else they may be."""
    cold, most = way.figures.cold_handovers, way.worst_cold
    if not most:
        reason = way.safe_pause.reason
        is_unknown = reason is not None and reason.code == "may-start-cold"
        return text_cell("unknown", "unknown") if is_unknown else text_cell("none")
    return text_cell(count_range(cold.median, cold.least, most), "bad" if cold.median else "unknown")


def _facts(bounces: Bounces, names: Names) -> Iterator[Fact]:
    """Yield the figures of the way that is asked about, or of the best one."""
    way = bounces.best_safe or bounces.as_it_is
    cold = _cold(way)
    yield Fact("way", "Way", way.way.label)
    stop = "stop" if bounces.restarted == 1 else "first stop"
    anyway = ", with what is still moving anyway" if bounces.goes_on else ""
    yield Fact("duration", "Duration", f"{_duration(way)}, from the {stop} until the group has settled{anyway}")
    yield Fact("rebalances", "Rebalances", count_range(*way.figures.rebalances))
    if bounces.are_stores_unknown:
        yield Fact(
            "cold", "Cold starts", f"{cold.text} if stores are persistent", cold.tone if way.worst_cold else "unknown"
        )
    else:
        yield Fact("cold", "Cold starts", cold.text, cold.tone)
    worst = way.longest_pause
    if worst.task_id is not None:
        pauses = f"in {count(worst.times, 'pause')}{' together' * (worst.times > 1)}"
        yield Fact("pause", "Longest pause", f"{paused_task(way.plan, worst.task_id, names)}: {_pause(way)} {pauses}")
    tasks = [names.task(task_id) for task_id in way.plan.pauses.most_together()]
    likely = f"; likely {len(tasks):,}: " if len(tasks) < way.figures.paused_at_once else ": "
    hint = " (--output json)" * (name_list(tasks) != ", ".join(tasks))
    task_text = f"{likely}{name_list(tasks)}{hint}" if tasks else ""
    cut_overs = ", cut-overs included" * _cuts_over(way)
    yield Fact(
        "at_once", "Paused at once", f"{count(way.figures.paused_at_once, 'task')} at most{cut_overs}{task_text}"
    )


def _table(bounces: Bounces, names: Names) -> Table:
    figures = (">Duration", ">Rebalances", ">Paused at once", ">Longest pause", ">Cold starts")
    columns = columns_of("Way", "Safe", ">Wait between", *figures)
    rows = tuple(_row(bounces, way, names) for way in bounces.ways)
    is_plural = bounces.restarted > 1
    ways = [way.way for way in bounces.ways if way.way.name in _WAY_ACTIONS and not way.way.settings]
    actions = [f"{way.label}: {_WAY_ACTIONS[way.name]}" for way in ways]
    wait = "wait between: from when one is back until the next stops; a process in its default close() also waits"
    lasts = "duration: until all are back and the group has settled"
    actions += [f"{wait} until a rebalance under way has ended", lasts] * is_plural
    at_once = "paused at once: with tasks of other instances that are cut over"
    actions += [*[at_once] * any(map(_cuts_over, bounces.ways)), "longest pause: all pauses of one task together"]
    actions += ["ranges: what may follow from what is unknown"] * any(
        way.figures.rebalances.least < way.figures.rebalances.most or way.worst_cold for way in bounces.ways
    )
    tasks = len(bounces.first.group.stateful)
    is_repeated = any(way.worst_cold > tasks for way in bounces.ways)
    actions += ["cold starts: over all restarts, so a task may count more than once"] if is_repeated else []
    actions += ["cold starts: if stores are persistent"] * bounces.are_stores_unknown
    actions += [] if bounces.best_safe is None else ["*: best safe way"]
    table = Table("Ways to restart", columns, rows, "; ".join(actions))
    return table if is_plural else table.leave_out("Wait between")


def _row(bounces: Bounces, way: SimulatedWay, names: Names) -> Row:
    mark = " *" if way is bounces.best_safe else ""
    return text_row(
        names.escape(f"{way.way.label}{mark}"),
        _safe(way, bounces),
        f"{'' if way.safe or not way.pause_ms else 'even '}{moment(way.pause_ms)}",
        _duration(way),
        count_range(*way.figures.rebalances),
        f"{way.figures.paused_at_once:,}",
        _pause(way),
        _cold(way),
    )


def _pause(way: SimulatedWay) -> str:
    """Return how long a task is paused at most; what starts cold is paused until it is restored, too."""
    pause = way.longest_pause
    if pause.most_ms is None:
        return f"at least {at_least(pause.least_ms)}"
    return duration_range(pause.ms, pause.least_ms, pause.most_ms)


def _safe(way: SimulatedWay, bounces: Bounces) -> Cell:
    safety = bounces.safety_of(way)
    if safety == "yes":
        return text_cell("if set up" if way.is_prepared else "yes", "good")
    return text_cell(safety, "bad" if safety == "no" else "unknown")


def bounce_remarks(bounces: Bounces) -> Remarks:
    """Return the remarks beside the figures, as the page and the JSON have it."""
    assumptions, commands = tuple(_assumptions(bounces)), tuple(_next(bounces))
    return Remarks(tuple(_warnings(bounces)), tuple(_notes(bounces)), assumptions, commands)


def _warnings(bounces: Bounces) -> Iterator[Note]:
    """Yield what is to be known of the group as it is, and why ways are not safe."""
    first, number = bounces.ways[0].plan, bounces.restarted
    yield from (note for note in (*first.warnings, *first.assumptions) if note.code in _OF_NOW)
    off_target = next(filter(None, (without_target(way.plan) for way in bounces.ways)), None)
    yield from () if off_target is None else (off_target.note,)
    ways_of_reason: dict[str, list[str]] = {}
    for way in bounces.ways:
        if not (bounces.process_ids and way is bounces.as_it_is):
            for text in _why_unsafe(way, number):
                ways_of_reason.setdefault(text, []).append(way.way.label)
    basis = "by what is known, " * bool(bounces.doubts)
    for text, ways in ways_of_reason.items():
        yield Note("way-not-safe", f"{', '.join(ways)}: {basis}{text[0].lower()}{text[1:]}")


def _why_unsafe(way: SimulatedWay, number: int, *, with_wait: bool = True) -> Iterator[str]:
    """Yield why a way to restart so many is not safe, or not known to be; ``with_wait``: even with the longest wait."""
    if way.safe_pause.outcome == "unsafe":
        yield _why_not(way, number if with_wait else 1)
    elif way.safe_pause.outcome == "undecided":
        first = f"the first {way.safe_pause.restarts:,} restarts are {'likely ' * bool(way.unproven)}safe"
        reason = first if way.safe_pause.restarts else "whether it is safe is unknown"
        yield f"{reason}; all {number:,} have too many rebalances to simulate"
    elif not way.safe:
        starts = way.proven_cold or way.doubtful_starts
        verb = "start cold" if way.proven_cold else "may start cold"
        facts = "; ".join(dict.fromkeys(start.evidence.words for start in starts))
        yield f"{count(len(starts), 'task')} {verb}. Their copies: {facts}"


def _why_not(way: SimulatedWay, number: int) -> str:
    cold, at_once = way.figures.cold_handovers, way.still_at_once
    most = way.worst_cold
    verb = "would" if cold.median or way.proven_cold else "may"
    starts = "cold start" if most == 1 else "cold starts"
    reasons = (
        [f"{span_to(cold.least, most) if cold.least else f'up to {most:,}'} {starts} {verb} follow"] if most else []
    )
    if restoring := len(way.plan.restores_first):
        verb = "counts as caught up and restores" if restoring == 1 else "count as caught up and restore"
        reasons.append(f"{count(restoring, 'task')} {verb} for long before running (acceptable.recovery.lag)")
    if at_once.most:
        reasons.append(f"{count_range(*at_once)} tasks of several instances would pause at the same time")
    reasons += [] if way.settles else ["the group would not settle"]
    reasons += ["tasks of other instances may still restore"] if way.plan.may_be_restoring else []
    if not reasons and way.safe_pause.reason is not None:
        return way.safe_pause.reason.message
    text = ", ".join(reasons)
    pause = f", even with {moment(way.pause_ms)} between restarts" if number > 1 else ""
    return f"{text[0].upper()}{text[1:]}{pause}"


def _notes(bounces: Bounces) -> Iterator[Note]:
    """Yield what is good to know of each way, and which ways were not simulated."""
    for way in bounces.ways:
        name, pause = way.way.label, moment(way.pause_ms)
        if way.safe_pause.outcome == "safe" and way.safe_pause.longer_ms is not None:
            message = f"{name}: safe with {pause} between restarts, not with {moment(way.safe_pause.longer_ms)}"
            yield Note("longer-wait-not-safe", message)
        if way.needs_static:
            message = f"{name}: group.instance.id has to be set first, with one restart of each instance in another way"
            yield Note("needs-static-members", message)
        if way.draws is not None:
            outcomes = count(way.draws.number, "simulation")
            message = f"{name}: ranges are also over {outcomes} with other random process ids, which break ties"
            yield Note("random-process-ids", message)
        if way.restarts < bounces.restarted:
            yield Note("first-restarts-only", f"{name}: figures are of the first {way.restarts:,} restarts")
    if bounces.saved_in is not None and (texts := bounces.beside_simulate):
        yield Note("beside-simulate", f"simulate of the saved scenario differs: {'; '.join(texts)}")
    for left_out, least_ms in bounces.left_out:
        reason = "every stateful task moves to an empty disk, which takes at least"
        message = f"{left_out.label} was not simulated: {reason} {duration(least_ms)}"
        yield Note("way-not-simulated", message)


def _assumptions(bounces: Bounces) -> Iterator[Note]:
    """Yield what every figure takes for granted."""
    down = duration(bounces.restart_ms)
    length = f"A restart takes {down} from the stop until the instance joins again (--restart)"
    yield Note("restart-length", length)
    disk = "Instances keep their disk; with an empty one (emptyDir) everything they ran and copied is restored"
    yield Note("keeps-disk", disk)
    yield from (note for note in bounces.first.assumptions if note.code in _OF_SETTINGS)
    expiries = (note for way in bounces.ways for note in way.plan.assumptions if note.code == TARGET_EXPIRES)
    yield from islice(expiries, 1)
    if not bounces.process_ids and bounces.are_stores_unknown:
        stores = "Stores are persistent; stores in memory are restored at every restart (--set stores=in-memory)"
        yield Note("stores-persistent", stores)


def _next(bounces: Bounces) -> Iterator[Note]:
    """Yield the command that saves the scenario of the best way, or that tells why none is safe."""
    if bounces.process_ids:
        if bounces.answer is not Answer.YES and _settle_first(bounces):
            yield Note("until-when", "kstream-plan why SNAPSHOT")
        elif bounces.answer is not Answer.YES and not bounces.doubts:  # else a new snapshot tells
            words = " ".join(instance_words(bounces.first.group, bounces.process_ids))
            yield Note("tasks-and-copies", f"kstream-plan drain SNAPSHOT {words}")
    elif bounces.best_safe is not None:
        yield Note("save-scenario", bounces.scenario_command)
    elif bounces.goes_on:
        yield Note("until-when", "kstream-plan why SNAPSHOT")
