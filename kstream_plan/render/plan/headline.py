"""The first lines of a plan: how long, how sure, what moves and what is the least, what pauses, what is restored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.activity import Activity, membership, only_return
from kstream_plan.plans.loads import most_warmups, standbys_to_restore
from kstream_plan.plans.pauses import RESTORES_UNNOTICED
from kstream_plan.plans.plan import ENDS_NOT_PLAYED, Left, shorter_than
from kstream_plan.plans.simulated import Draws, Range
from kstream_plan.render.plan.moment import as_of, of_generation
from kstream_plan.render.plan.moves import moves_fact
from kstream_plan.render.plan.rates import rates_facts
from kstream_plan.render.plan.runs import items_phrase, runs_facts, why_facts
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import (
    beside,
    cold_starts,
    count,
    duration,
    durations,
    from_to,
    interval,
    records,
    several,
    takes_at_least,
)
from kstream_plan.render.text.page import Fact


def headline(plan: Plan, found: Sequence[Activity], names: Names) -> list[Fact]:
    """Return the title and the facts of a plan that has rounds."""
    return [
        title(plan, names),
        _verdict(plan, found, names),
        *runs_facts(plan),
        *why_facts(plan, names),
        *next_facts(plan),
        moves_fact(plan, found, names),
        pauses_fact(plan, names),
        *([] if plan.is_of_workers else [restore_fact(plan)]),
        *rates_facts(plan),
    ]


def title(plan: Plan, names: Names) -> Fact:
    """Return who and how much it is about."""
    group = plan.group
    joined, left = membership(plan)
    after = len(group.instances) - len(left)
    before = len(group.instances) - len(joined)
    noun = "worker" if plan.is_of_workers else "instance"
    members = f"{before} → {count(after, noun)}" if joined or left else count(after, noun)
    changes = [f"{several(names.instances(ids))} {word}" for ids, word in ((joined, "new"), (left, "gone")) if ids]
    who = f"{members} ({'; '.join(changes)})" if changes else members
    tasks = work_phrase(plan)
    which, at = of_generation(plan, names), as_of(plan, names)
    label = names.escape(plan.group.application_id)
    full = f"{who}, {tasks}. {which[0].upper()}{which[1:]}"
    if at:
        return Fact(label, (full, f"{who}, {tasks}, {at}"))
    return Fact(label, (full, f"{who}, {tasks}, {which}", f"{who}, {tasks}", f"{members}, {tasks}"))


def work_phrase(plan: Plan) -> str:
    """Return how much work it is about: ``24 stateful + 6 stateless tasks``, ``15 connectors and tasks``."""
    if plan.is_of_workers:
        return items_phrase(len(plan.group.tasks))
    return tasks_phrase(len(plan.group.stateful), len(plan.group.stateless))


def tasks_phrase(stateful: int, stateless: int) -> str:
    """Return ``24 stateful + 6 stateless tasks``."""
    if not stateful and not stateless:
        return "no tasks"
    if stateful and stateless:
        return f"{stateful:,} stateful + {stateless:,} stateless tasks"
    return f"{count(stateful, 'stateful task')}" if stateful else count(stateless, "stateless task")


def _verdict(plan: Plan, found: Sequence[Activity], names: Names) -> Fact:
    summary, kind = plan.summary, plan.verdict.kind
    how_long = _how_long(plan)
    made_of, short_made_of = _rebalances(plan, found)
    total = _total(plan)
    cold = (cold_phrase(plan) + other_end(plan)).removeprefix(". ")
    short_cold = cold if cold != cold_starts(0, 0) else "0 cold"
    probes = f", {count(summary.probing_rebalances, 'probe')}" if plan.probes else ""
    if kind == "settled":
        return Fact(
            "SETTLES",
            (
                _ended(f"{how_long}: {made_of}", cold),
                _ended(f"{how_long}: {short_made_of}", cold),
                _ended(f"{how_long}: {short_made_of}", short_cold),
                _ended(f"{how_long}: {total}{probes}", short_cold),
            )[: 4 if summary.duration_is != "probes" else 3],
        )
    label = {"stuck": "STUCK", "cyclic": "CYCLES", "unfinished": "STOPPED"}[kind]
    tasks = several([names.task(task_id) for task_id in plan.verdict.tasks])
    reason = names.escape_message(plan.verdict.reason)
    reason = f"{reason}{f' ({tasks})' if tasks else ''}"
    after = f"after {duration(summary.duration_ms)} and {count(summary.rebalances, 'rebalance')}"
    if plan.verdict.is_over:
        after = f"for {how_long.removeprefix('in ')}, {count(summary.rebalances, 'rebalance')}"
    return Fact(label, (f"{_ended(f'{after}: {reason}', cold)}{cause_sentence(plan, names)}",))


def _ended(text: str, cold: str) -> str:
    return f"{text}. {cold}" if cold else text


def cold_phrase(plan: Plan, over_draws: Range | None = None) -> str:
    """Return how many tasks start cold, both ends where nobody knows how many; over all draws the most as well.

    Nothing of a Connect group: what it runs has no state.
    """
    if plan.is_of_workers:
        return ""
    least, most = plan.ends("cold_handovers")
    if over_draws is None or over_draws.most <= most:
        return cold_starts(least, most)
    if least != most:
        return cold_starts(min(least, over_draws.least), over_draws.most)
    return f"{cold_starts(least, most)} (up to {over_draws.most:,})"


def other_end(plan: Plan) -> str:
    """Return that it may end otherwise, after a separator, where that hangs on what nobody knows; else nothing."""
    if any(note.code == ENDS_NOT_PLAYED for note in plan.warnings):
        return ". How else it may come out was not played"
    of_others = "" if plan.tells_ends else ". How else other draws may come out was not played"
    return f"{_end_of_this(plan)}{of_others}"


def _end_of_this(plan: Plan) -> str:
    """Return the same of the plan itself, whatever other draws come to."""
    if plan.rounds:
        least, most = plan.ends("settles")
        return "" if least == most else f". It is not known: it may {'not ' if plan.figure('settles') else ''}settle"
    least, most = plan.ends("rebalances")
    if least == most:
        return ""
    longest, cold = duration(plan.ends("duration_ms")[1]), cold_phrase(plan)
    return f"; or, which is not known, up to {count(most, 'rebalance')} in ~{longest}. {cold}"


def cause_sentence(plan: Plan, names: Names) -> str:
    """Return what a plan that does not settle waits for, after a blank; empty if nothing."""
    cause = plan.verdict.cause
    if cause is None:
        return ""
    where = f"{names.task(cause.task_id)} on {names.instance(cause.process_id)}"
    return f". It waits for {where}: {names.escape_message(cause.message)}"


def next_facts(plan: Plan) -> list[Fact]:
    """Return how much is left of a plan that reached the limit of its rounds, and what would shorten that."""
    if plan.verdict.kind != "unfinished":
        return []
    limit, left = len(plan.rounds), plan.left
    if left is None:
        more = f"plan it again with --max-rounds {2 * limit} or more"
        return [Fact("NEXT", (f"the limit was --max-rounds {limit}: {more}",))]
    more = " or more" if plan.config.num_standby_replicas else ""
    whole = f"the limit was --max-rounds {limit}: the whole plan needs about {plan.rounds_in_all:,}{more}"
    return [Fact("NEXT", (left_text(left, plan.config),)), Fact("NEXT", (whole,))]


def left_text(left: Left, config: AssignmentConfig) -> str:
    """Say about how long so many tasks take, and what would shorten that.

    Those that move to a standby that is ready need no warm-up, and copies that are ready sooner than at a probe fewer.
    """
    shorter = shorter_than(left, config)
    with_more = f"; with --max-warmup-replicas {shorter.at_once} {_probes_left(shorter)}" if shorter else ""
    to_go = f"{count(left.tasks, 'task')} to go, {left.at_once:,} warming up at a time: {_probes_left(left)}"
    standbys = "; standbys that move as well come on top" if config.num_standby_replicas else ""
    return f"{to_go}{with_more}{standbys}. Counted, not simulated, for copies that are ready only at probes"


def _probes_left(left: Left) -> str:
    return f"about {count(left.probes, 'probe')} (~{duration(left.time_ms)})"


def _how_long(plan: Plan) -> str:
    summary = plan.summary
    if not summary.duration_ms and summary.duration_is != "least":
        return "at once"
    between = durations(*plan.ends("duration_ms"))
    between = or_unknown(plan, "" if between == duration(summary.duration_ms) else between)
    follow_ups = plan.ready_at_follow_ups
    took = takes_at_least(summary.duration_ms, summary.duration_is, summary.floor_ms, between, follow_ups=follow_ups)
    return f"in {took}"


def or_unknown(plan: Plan, between: str) -> str:
    """Return a range of times with that it may also not be known how long it takes, if so."""
    unknown = plan.summary.duration_is != "least" and plan.may_be_endless("duration_ms")
    return ", ".join(filter(None, (between, "or nobody knows" if unknown else "")))


def _total(plan: Plan) -> str:
    return count(plan.summary.rebalances, "rebalance") + beside(*plan.ends("rebalances"))


def _rebalances(plan: Plan, found: Sequence[Activity]) -> tuple[str, str]:
    summary = plan.summary
    starts = Counter(_start_name(event, plan) for event in found if event.probe is None)
    follow_ups = summary.rebalances - len(found) + starts.pop(("hand-over",) * 2, 0)
    parts = [count(number, *name) for name, number in starts.items()]
    apart = f" ({interval(plan.config.probing_rebalance_interval_ms)} apart)"
    probes = [count(summary.probing_rebalances, "probe")] if summary.probing_rebalances else []
    hand_overs = [count(follow_ups, "hand-over")] if follow_ups else []
    total = _total(plan)
    return (
        f"{total} = {' + '.join(parts + [probe + apart for probe in probes] + hand_overs)}",
        f"{total} = {' + '.join(parts + probes + hand_overs)}",
    )


def _start_name(event: Activity, plan: Plan) -> tuple[str, str]:
    """Return what started an event, once and several times."""
    trigger = event.rounds[0].trigger
    if plan.is_of_workers and trigger in _START_NAMES_OF_WORKERS:
        return _START_NAMES_OF_WORKERS[trigger]
    if event.resized:
        return "thread change", "thread changes"
    if trigger is Trigger.LEARNER_READY:
        return "time that learners are ready", "times that learners are ready"
    name = "return" if trigger is Trigger.JOIN and only_return(event) else _START_NAMES[trigger]
    return name, name


_START_NAMES = {
    Trigger.MANUAL: "now",
    Trigger.JOIN: "join",
    Trigger.LEAVE: "leave",
    Trigger.MEMBER_RESTART: "restart",
    Trigger.CONFIG_CHANGE: "new settings",
    Trigger.FOLLOW_UP: "hand-over",
    Trigger.PROBING: "probe",
    Trigger.DEADLINE: "deadline",
}
_START_NAMES_OF_WORKERS = {
    Trigger.DEADLINE: ("end of a delay", "ends of delays"),
    Trigger.FOLLOW_UP: ("follow-up",) * 2,
}


def pauses_fact(plan: Plan, names: Names, draws: Draws | None = None) -> Fact:
    """Return what stands still, for how long, and which task most; of ``draws`` the most of each counts."""
    if plan.verdict.is_never_over:
        waiting = count(len(plan.verdict.tasks), "task")
        return Fact("PAUSES", (f"{waiting} still from the beginning on, and nobody knows until when",))
    found, worst = plan.pauses, plan.summary.max_paused_task
    longest_ms, most_at_once = plan.ends("longest_pause_ms")[1], plan.ends("paused_tasks_at_once")[1]
    over_draws = None if draws is None else draws.max_paused_ms
    if draws is not None:
        longest_ms = max(longest_ms, draws.worst.get("max_pause_per_handover") or 0)
        most_at_once = max(most_at_once, draws.worst.get("max_paused_tasks_at_once") or 0)
    endless = ", or nobody knows how long" if plan.may_be_endless("longest_pause_ms") else ""
    if worst is None or not found.times:
        if endless:
            return Fact("PAUSES", (f"none{endless}",))
        if not most_at_once:
            return Fact("PAUSES", ("none: no running task is stopped",))
        tasks = count(most_at_once, "task")
        return Fact("PAUSES", (f"none, or ≤ {tasks} at once for ≤ {duration(longest_ms)}: it is not known which",))
    if plan.pauses_are_least:
        return _least_pauses(plan, names)
    each = f"~{durations(found.shortest_ms, longest_ms)} each{endless}, ≤ {most_at_once:,}"
    at_once = f"{each} {'task' if most_at_once == 1 else 'tasks'} at once"
    sum_of = duration(worst.ms if over_draws is None else over_draws.median)
    between = durations(*plan.ends("max_paused_task_ms", *(over_draws or ())))
    sum_of += f" ({between})" if between != sum_of else ""
    in_all = f"{sum_of} in {count(worst.times, 'pause')}"
    stateful = plan.max_paused_stateful_ms
    more = f"; stateful ≤ {duration(stateful)}" if stateful and stateful < worst.ms else ""
    task, topic = names.task(worst.task_id), names.task_and_topic(worst.task_id)
    return Fact(
        "PAUSES",
        (
            f"{at_once}. Worst: {topic} {in_all}{more}",
            f"{at_once}. Worst: {topic} {in_all}",
            f"{each} at once. Worst: {topic} {in_all}",
            f"{at_once}. Worst: {task} {in_all}",
            f"{each} at once. Worst: {task} {in_all}",
            *(
                []
                if between == duration(worst.ms)
                else [f"{each} at once. Worst: {of} {sum_of}" for of in (topic, task)]
            ),
        ),
    )


def _least_pauses(plan: Plan, names: Names) -> Fact:
    """Return what is known of pauses where nobody knows how long cold starts restore before they run."""
    found, worst = plan.pauses, plan.summary.max_paused_task
    at_once = plan.ends("paused_tasks_at_once")[0]
    tasks = f"≥ {count(at_once, 'task')} at once"
    emptied = any(note.code == RESTORES_UNNOTICED for note in plan.warnings)
    what = "what a crash took restores" if emptied else "cold starts restore"
    if worst is None or duration(worst.ms) == duration(0):
        return Fact("PAUSES", (f"unknown: nobody knows how long {what}; {tasks}",))
    each = f"≥ {durations(found.shortest_ms, found.longest_ms)} each, ≥ {at_once:,}"
    why = f"how long {what} is unknown"
    apart = f"{names.task_and_topic(worst.task_id)} {duration(worst.ms)} in {count(worst.times, 'pause')}"
    said = f"{each} {'task' if at_once == 1 else 'tasks'} at once: {why}"
    return Fact("PAUSES", (f"{said}. Worst apart from that: {apart}", said, f"{each} at once: {why}"))


def restore_fact(plan: Plan, between: str = "", least: str = "") -> Fact:
    """Return how much is restored, and how sure the time is.

    ``between`` is the range over all draws, if it is one; ``least`` stands for the plan's own bound.
    """
    summary, ends = plan.summary, plan.ends("restored_records")
    if not between and ends[0] != ends[1]:
        between = from_to(*ends)
    otherwise_unknown = summary.restored_records is not None and plan.may_be_endless("restored_records")
    if otherwise_unknown:
        between = "or nobody knows how many"
    if summary.restored_records == 0 and not ends[1] and not between:
        under_way = ", and at an unknown rate what is under way"
        return Fact("RESTORE", (f"nothing new{'' if summary.duration_is == 'estimate' else under_way}",))
    amount = "unknown" if summary.restored_records is None else f"{records(summary.restored_records)} records"
    if otherwise_unknown or any(note.code == "no-restore-rate" and note.subjects for note in plan.assumptions):
        sure = ("Some rates or sizes are unknown", "Some rates are unknown", "Some unknown")
    elif summary.duration_is != "estimate":
        sure = ("No --restore-rate is known", "No --restore-rate", "No rate")
    else:
        sure = ("At the known rates: an estimate", "At known rates", "An estimate")
    bound = summary.lower_bounds.restored_records
    least = f"least {least or records(bound)}" if bound is not None else ""
    beside = "; ".join(filter(None, (between, least)))
    beside = f" ({beside})" if beside else ""
    copies = _copies_to_restore(plan)
    forms = [f"{amount}{beside}{copies}. {how_sure}" for how_sure in sure]
    return Fact("RESTORE", (*forms, f"{amount}{beside}. {sure[-1]}"))


def range_fact(draws: int, unsettled: int) -> Fact:
    """Return that a plan is one of so many draws of random ids, of which so many do not settle."""
    if draws == 1:
        return Fact("RANGE", ("new process ids are random: this is one draw of many; see --draws",))
    shown = f"{draws:,} draws. What is shown below is one"
    told = f" {unsettled:,} do not settle." if unsettled else ""
    return Fact(
        "RANGE",
        (
            f"new process ids are random and decide ties: {shown}.{told}",
            f"random new process ids decide ties: {shown}.{told}",
            f"new process ids are random: {shown.replace('What is shown below is', 'Below is')}.{told}",
        ),
    )


def _copies_to_restore(plan: Plan) -> str:
    """Return how many copies warm up at once, at worst, and how many new standbys have something to restore."""
    at_once, standbys = most_warmups(plan), standbys_to_restore(plan)
    warmups = f", ≤ {count(at_once, 'warm-up')} at a time" if at_once else ""
    return warmups + (f", {count(standbys, 'new standby')}" if standbys else "")


def balance_fact(plan: Plan) -> Fact:
    """Return KIP-441's figures (:class:`~kstream_plan.plans.Balance`), as found by the first rebalance → at the end.

    Of a Connect group it is the one that Connect evens out.
    """
    before = plan.initial_balance
    after = plan.rounds[-1].balance if plan.rounds else before
    instance = _change(before.balance_factor, after.balance_factor)
    if plan.is_of_workers:
        return Fact("BALANCE", (f"connectors and tasks per worker, most - least: {instance}",))
    subtopology = _change(before.subtopology_task_spread, after.subtopology_task_spread)
    literal = _change(before.subtopology_spread, after.subtopology_spread)
    return Fact(
        "BALANCE",
        (
            f"instance balance {instance}, subtopology balance {subtopology} (KIP-441: tasks, most - least); "
            f"instances per subtopology {literal}",
            f"instance {instance}, subtopology {subtopology}, instances per subtopology {literal} (most - least)",
            f"instance {instance}, subtopology {subtopology}, instances per subtopology {literal}",
        ),
    )


def _change(before: int, after: int) -> str:
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"
