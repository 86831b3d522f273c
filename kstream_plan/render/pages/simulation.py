"""What a simulation has beside its plan: its events and what each leads to, what other settings change, and relief."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import assert_never

from kstream_plan.model import Instance
from kstream_plan.model import scenario as kinds
from kstream_plan.model.settings import SETTINGS_IN_FORCE, kafka_name
from kstream_plan.plans import Plan
from kstream_plan.plans.loads import busiest, relief_ms
from kstream_plan.plans.simulated import EventOutcome, Simulation, WhatIf, more_may_follow
from kstream_plan.render.page import Cell, Row, Table, Tone, columns_of, text_cell, text_row
from kstream_plan.render.pages.plan_rounds import PlanView
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import arrow, count, count_range, duration, duration_range, name_list, span_to
from kstream_plan.simulation.what_ifs import starts_empty


def event_text(event: kinds.Event, names: Names) -> str:  # noqa: C901, PLR0911, PLR0912 - one case per kind
    """Say what an event is; its new instances have their process ids."""
    match event:
        case kinds.Join():
            return _do(_ids(event.instances), names, "joins", "join")
        case kinds.Leave() if event.announced:
            return _do(event.process_ids, names, "announces that it leaves", "announce that they leave")
        case kinds.Leave():
            return _do(event.process_ids, names, "leaves", "leave")
        case kinds.Stop():
            return _do(event.process_ids, names, *(("crashes", "crash") if event.crash else ("stops", "stop")))
        case kinds.Return() if not event.keeps_disk and names.have_disks:
            return _do(event.process_ids, names, "returns without its disk", "return without their disks")
        case kinds.Return():
            return _do(event.process_ids, names, "returns", "return")
        case kinds.Bounce():
            return _bounce(event, names)
        case kinds.Threads():
            return f"{_members([event.process_id], names)} runs {count(event.threads, 'thread')}"
        case kinds.ProduceRate():
            verb = "is" if event.per_second == 1 else "are"
            return f"{_rate(event.per_second)} {verb} written per task{_subtopology(event.subtopology, names)}"
        case kinds.RestoreRate():
            rate = _rate(event.per_second)
            if not event.process_ids:
                return f"every instance restores {rate}"
            return _do(event.process_ids, names, f"restores {rate}", f"restore {rate}")
        case kinds.Burst():
            return f"{event.records:,} records are written per task{_subtopology(event.subtopology, names)}"
        case kinds.ConfigChange():
            return _settings(event, names)
        case kinds.CreateConnectors():
            return f"{_with_tasks(event.task_counts, names)} created"
        case kinds.RescaleConnectors():
            return f"{_with_tasks(event.task_counts, names)} from now on"
        case kinds.DeleteConnectors():
            return f"{name_list([names.escape(name) for name in event.connectors])} deleted"
        case _:
            assert_never(event)


def _rate(per_second: float) -> str:
    return f"{per_second:,g} {'record/s' if per_second == 1 else 'records/s'}"


def _ids(instances: Sequence[kinds.NewInstance | Instance]) -> list[str]:
    return [instance.process_id or "" for instance in instances]


def _do(process_ids: Sequence[str], names: Names, singular: str, plural: str) -> str:
    """Return what one instance, or several, do."""
    return f"{_members(process_ids, names)} {singular if len(process_ids) == 1 else plural}"


def _bounce(event: kinds.Bounce, names: Names) -> str:
    new = f", with {_settings(event, names)}" if event.settings else ""
    length = duration(event.restart_ms)
    if event.surge:
        arrivals = f"{_members(_ids(event.new_instances), names)}, {event.surge:,} at a time"
        gives_way = _do(event.process_ids, names, "gives way to", "give way to")
        return f"{gives_way} {arrivals}, that join {length} before{new}"
    words = ("leaves and returns", "leave and return") if event.leaves else ("restarts", "restart")
    downtime = f"down for {length}{'' if len(event.process_ids) == 1 else ' each'}"
    return f"{_do(event.process_ids, names, *words)}, {downtime}{new}"


def _with_tasks(counts: Sequence[kinds.TaskCount], names: Names) -> str:
    return name_list([f"{names.escape(item.connector)} with {count(item.task_count, 'task')}" for item in counts])


def _settings(event: kinds.ConfigChange | kinds.Bounce, names: Names) -> str:
    return ", ".join(f"{kafka_name(name)}={names.escape(str(value))}" for name, value in event.settings)


def _members(process_ids: Sequence[str], names: Names) -> str:
    """Return instances by name; of a zone that these are, its name as well."""
    area, members = names.whole_area(process_ids), name_list(names.instances(process_ids))
    return f"all of {area} ({members})" if area else members


def _subtopology(subtopology: str | None, names: Names) -> str:
    return "" if subtopology is None else f" of subtopology {names.escape(subtopology)}"


def simulation_tables(view: PlanView) -> Iterator[Table]:
    """Yield the tables of a simulation beside its rounds and instances."""
    if view.simulation is None:
        return
    if len(view.simulation.events) > 1:
        yield _events_table(view.simulation, view)
    if what_ifs := _with_cure(view.simulation):
        yield what_ifs_table(view, what_ifs)


def relief_text(plan: Plan) -> str:
    """Return how much the busiest instance runs, and since when it is less than now; empty if that never changes."""
    load, less_ms = busiest(plan), relief_ms(plan)
    if load.before == load.most == load.after:
        return ""
    relief = "" if less_ms is None else f"; fewer than now from {duration(less_ms)} on"
    return f"{arrow(load.before, load.most, load.after)}{relief}"


def _events_table(simulation: Simulation, view: PlanView) -> Table:
    """Return what follows from each event until the next one."""
    with_state = view.plan.probes and bool(view.plan.group.stateful)
    columns = columns_of(">Time", "Event", ">Rebalances", ">Caught up after", ">Cold starts", ">Last rebalance after")
    may_restore = [
        any(earlier.cold_handovers for earlier in simulation.events[: place if view.plan.pauses_are_least else 0])
        or bool(outcome.cold_handovers)
        for place, outcome in enumerate(simulation.events)
    ]
    ends_ms = [*(later.event.at_ms for later in simulation.events[1:]), inf]
    rows = [_event_row(*row, view) for row in zip(simulation.events, may_restore, ends_ms, strict=True)]
    notes = ["caught up after: no copy is waited for from then on"] * with_state
    notes += ["–: not before the next event"] * any(outcome.balanced_ms is None for outcome in simulation.events)
    table = Table("What each event leads to", columns, tuple(rows), "; ".join(notes))
    return table if with_state else table.leave_out("Caught up after", "Cold starts")


def _event_row(outcome: EventOutcome, may_restore: bool, end_ms: float, view: PlanView) -> Row:
    """Return what follows from an event, until ``end_ms``; ``may_restore``: cold starts may restore for longer."""
    warm, balanced = ("" if ms is None else duration(ms) for ms in (outcome.warm_ms, outcome.balanced_ms))
    unproven = [start for start in view.plan.unproven_starts if outcome.event.at_ms <= start.at_ms < end_ms]
    most = outcome.cold_handovers + len(unproven)
    in_all = view.plan.summary.cold_handovers + len(view.plan.unproven_starts)
    is_open = view.figure("cold_handovers").most > in_all or more_may_follow(view.plan, view.draws)
    tone: Tone = "bad" if outcome.cold_handovers else "unknown" if most or is_open else "plain"
    return text_row(
        duration(outcome.event.at_ms),
        event_text(outcome.event, view.names),
        f"{outcome.rebalances:,}",
        f"{'at least ' if may_restore and warm else ''}{warm}",
        text_cell(span_to(outcome.cold_handovers, most, is_open=is_open), tone),
        balanced,
    )


def what_ifs_table(view: PlanView, what_ifs: Sequence[WhatIf]) -> Table:
    """Return what other settings change, with all that they cost; the current ones come first."""
    plan = view.plan
    heads = [">Unassigned over all", ">Moves"] if plan.is_of_workers else [">Extra copies", ">Cold starts"]
    columns = columns_of("Setting", ">Duration", ">Rebalances", *heads)
    settings = dict.fromkeys(what_if.setting for what_if in what_ifs)
    rows = [
        row
        for name in settings
        for row in (
            _now_row(view, name),
            *(_what_if_row(what_if, view) for what_if in what_ifs if what_if.setting == name),
        )
    ]
    return Table("With other settings", columns, tuple(rows), " ".join(_what_ifs_notes(view, what_ifs)))


def _what_ifs_notes(view: PlanView, what_ifs: Sequence[WhatIf]) -> Iterator[str]:
    """Yield what stands below the table of other settings."""
    plan = view.plan
    all_at_once = min(plan.summary.hops, len(plan.group.stateful))
    if any(what_if.setting == "max_warmup_replicas" and what_if.value >= all_at_once for what_if in what_ifs):
        yield "With the largest max.warmup.replicas every task that moves warms up at once."
    if any(starts_empty(plan, what_if.setting, what_if.value) for what_if in what_ifs):
        yield "With so high a limit, tasks also start on instances without any state, and restore before they run."
    if view.figure("cold_handovers").least and all(what_if.cold_handovers for what_if in what_ifs):
        yield f"{'No setting of this table avoids' if len(what_ifs) > 1 else 'This does not avoid'} the cold starts."
    yield from (f"{SETTINGS_IN_FORCE}.",) * (plan.design != "streams")


def _with_cure(simulation: Simulation) -> tuple[WhatIf, ...]:
    """Return the other settings, and the one that lets a group settle; of random simulations compare tells more."""
    cure, draws = simulation.cure, simulation.draws
    what_ifs = simulation.what_ifs if draws is None or draws.number == 1 else ()
    return what_ifs if cure is None or cure in what_ifs else (*what_ifs, cure)


def _now_row(view: PlanView, setting: str) -> Row:
    plan = view.plan
    summary, cold = plan.summary, view.figure("cold_handovers")
    last = [duration(summary.paused_task_ms), f"{summary.moves:,}"]
    if not plan.is_of_workers:
        last = [
            count_range(*view.figure("peak_extra_copies")),
            span_to(cold.least, cold.most, is_open=more_may_follow(plan, view.draws)),
        ]
    may_not_settle = not view.figure("settles").least
    lasts = _lasts(plan.verdict.kind, _duration(*view.figure("duration_ms")), may_not_settle=may_not_settle)
    name = f"{setting_text(setting, getattr(plan.config, setting))} (now)"
    return text_row(name, lasts, f"{summary.rebalances:,}", *last, tone="dim")


def _what_if_row(what_if: WhatIf, view: PlanView) -> Row:
    plan = view.plan
    lasts_text = _duration(what_if.duration_ms, what_if.least_duration_ms, what_if.most_duration_ms)
    lasts = _lasts(what_if.verdict, lasts_text, may_not_settle=what_if.may_not_settle)
    most = what_if.most_cold_handovers
    is_empty = starts_empty(plan, what_if.setting, what_if.value)
    cold: Tone = "bad" if is_empty or most is None or most > plan.ends("cold_handovers")[1] else "plain"
    goes_on = what_if.may_not_settle or what_if.verdict in ("cyclic", "unfinished")
    cold_starts = f"at least {what_if.cold_handovers:,}"
    if most is not None:
        cold_starts = span_to(what_if.cold_handovers, most, is_open=is_empty or goes_on)
    last = [Cell((f"{what_if.peak_extra_copies:,}",)), Cell((cold_starts,), tone=cold)]
    if what_if.paused_task_ms is not None:
        last = [text_cell(duration(what_if.paused_task_ms)), text_cell(f"{what_if.moves:,}")]
    name = text_cell(setting_text(what_if.setting, what_if.value))
    return Row((name, lasts, text_cell(f"{what_if.rebalances:,}"), *last))


def _lasts(verdict: str, lasts: str, *, may_not_settle: bool) -> Cell:
    """Return how long it takes until a group settles, if it does."""
    if verdict != "settled":
        return Cell(("does not settle",), tone="bad")
    return Cell((lasts, "or does not settle"), tone="unknown") if may_not_settle else text_cell(lasts)


def _duration(likely_ms: int, least_ms: int | None, most_ms: int | None) -> str:
    """Return how long it takes, with its ends where these are known."""
    if least_ms is None or most_ms is None:
        return f"about {duration(likely_ms)}"
    return f"about {duration_range(likely_ms, least_ms, most_ms)}"


def setting_text(name: str, value: int) -> str:
    """Return a setting as Kafka writes it: ``max.warmup.replicas=4``, ``session.timeout.ms=45s``."""
    return f"{kafka_name(name)}={duration(value) if name.endswith('_ms') else f'{value:,}'}"
