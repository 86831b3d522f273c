"""The page of a plan, or of a simulation: the answer, its figures, rounds, instances, and what a reader should know."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model.settings import SETTINGS_GIVEN
from kstream_plan.plans import Plan
from kstream_plan.plans.loads import copies_of_stateful, worst_loss
from kstream_plan.plans.longest_pause import most_restoring_first
from kstream_plan.plans.note_codes import BACK_BEFORE_FENCED, EXPERT_CODES
from kstream_plan.plans.remarks import remarks
from kstream_plan.plans.simulated import Simulation
from kstream_plan.plans.targets import without_target
from kstream_plan.render.page import Fact, Page, Section, Tone, as_sentence, remark_lines
from kstream_plan.render.pages.plan_facts import balance_fact, pause_fact, plan_facts
from kstream_plan.render.pages.plan_instances import instances_table
from kstream_plan.render.pages.plan_rounds import PlanView, rounds_table
from kstream_plan.render.pages.plan_sentences import plan_sentences, rates_text, settled_sentences
from kstream_plan.render.pages.simulation import event_text, relief_text, simulation_tables
from kstream_plan.render.pages.steps import NO_STEP, Focus, details, where_it_stands
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, count_range, duration, generation, name_list, span_to, utc


def plan_page(answer: Plan | Simulation, *, verbose: bool = False) -> Page:
    """Return the page of a plan or of a simulation; ``verbose`` adds every step with its reason."""
    plan, simulation = (answer, None) if isinstance(answer, Plan) else (answer.plan, answer)
    view = PlanView(plan, Names(plan.group), simulation)
    tables = [rounds_table(view), instances_table(view)] if plan.rounds else []
    left_out = () if verbose or plan.is_of_workers else EXPERT_CODES
    return Page(
        title=plan_title(view),
        tone=plan_tone(view),
        sentences=_sentences(view),
        facts=plan_facts(view) if plan.rounds else tuple(_settled_facts(view)),
        source=source_text(plan, view.names),
        tables=(*tables, *simulation_tables(view)),
        lines=remark_lines(remarks(plan, view.activities, view.draws), view.names.escape_message, left_out=left_out),
        sections=tuple(_sections(view)) if verbose else (),
    )


def excerpt_page(plan: Plan, focus: Focus) -> Page:
    """Return the steps in focus with their reasons, and where what is in focus stands before and after."""
    view = PlanView(plan, Names(plan.group))
    sections = tuple(details(plan, view.names, focus))
    positions = tuple(as_sentence(text) for text in where_it_stands(plan, view.names, focus))
    return Page(
        title=plan_title(view),
        sentences=positions or _sentences(view),
        source=source_text(plan, view.names),
        sections=sections or (Section(NO_STEP, ()),),
    )


def _sentences(view: PlanView) -> tuple[str, ...]:
    return plan_sentences(view) if view.plan.rounds else settled_sentences(view)


def plan_title(view: PlanView) -> str:
    """Return who and what a plan is about: ``orders: 3 → 5 instances, 24 stateful and 6 stateless tasks``."""
    plan, group = view.plan, view.plan.group
    first = len(group.instances) - len(view.arrivals)
    last = len(group.instances) - len(view.departures)
    noun = "worker" if plan.is_of_workers else "instance"
    changes = view.arrivals or view.departures
    members = f"{first:,} → {count(last, noun)}" if changes and first != last else count(last, noun)
    zone = view.names.whole_area(view.departures)
    member_parts = [
        f"{name_list(view.names.instances(ids))} {word}"
        for ids, word in ((view.arrivals, "new"), (view.departures, "gone"))
        if ids and plan.group.tasks and first == last
    ]
    member_parts += [f"all of {zone} gone"] if zone else []
    member_text = f" ({'; '.join(member_parts)})" if member_parts else ""
    event = "" if changes or view.simulation is None else _events_text(view.simulation, view.names)
    given_settings = [
        view.names.escape(text) for note in plan.assumptions if note.code == SETTINGS_GIVEN for text in note.subjects
    ]
    settings = f", with {name_list(given_settings)}" if given_settings else ""
    return f"{view.names.escape(group.application_id)}: {members}{member_text}, {work_text(plan)}{settings}{event}"


def _events_text(simulation: Simulation, names: Names) -> str:
    """Return what happens in a simulation: two events, or the first and how many more there are, which a table has."""
    texts = [event_text(outcome.event, names) for outcome in simulation.events]
    parts = texts if len(texts) <= 2 else [texts[0], f"{len(texts) - 1:,} more events"]
    return f"; {', then '.join(parts)}" if parts else ""


def work_text(plan: Plan) -> str:
    """Return how much work a group has: ``24 stateful and 6 stateless tasks``, ``15 connectors and tasks``."""
    stateful, stateless = len(plan.group.stateful), len(plan.group.stateless)
    if plan.is_of_workers:
        return count(len(plan.group.tasks), "connector or task", "connectors and tasks")
    if stateful and stateless:
        return f"{stateful:,} stateful and {count(stateless, 'stateless task')}"
    if stateless:
        return count(stateless, "stateless task")
    return count(stateful, "stateful task") if stateful else "no tasks"


def plan_tone(view: PlanView) -> Tone:
    """Return green if it settles, follows its target file and starts nothing cold; yellow if unknown, red if not."""
    plan, cold, settles = view.plan, view.figure("cold_handovers"), view.figure("settles")
    may_not_settle = view.draws is not None and view.draws.settled < view.draws.number
    goes_wrong = plan.verdict.kind != "settled" or may_not_settle or without_target(plan) is not None
    if goes_wrong or cold.median or plan.restores_first:
        return "bad"
    has_alternatives = any(note.code == BACK_BEFORE_FENCED for note in plan.assumptions)
    may_be_cold = cold.most or most_restoring_first(plan, view.draws)
    return "unknown" if may_be_cold or not settles.least or not plan.tells_ends or has_alternatives else "good"


def source_text(plan: Plan, names: Names) -> str:
    """Return what a plan was made from, and the moment that it begins at if that is later."""
    origin = generation(plan.generation)
    if not plan.captured_at:
        return f"snapshot: {origin}, unknown time"
    begins = "" if plan.begins_late_at is None else f"; plan begins {utc(plan.begins_late_at)}"
    return names.escape_message(f"snapshot: {origin}, {utc(plan.captured_at)}{begins}")


def _settled_facts(view: PlanView) -> Iterator[Fact]:
    """Yield what a settled group has: its balance, its copies and its settings."""
    plan = view.plan
    if not plan.group.tasks:
        return
    if plan.outages:
        yield pause_fact(view)
    yield balance_fact(plan)
    if not plan.is_of_workers:
        yield _copies_fact(view)
    yield settings_fact(view)


def _copies_fact(view: PlanView) -> Fact:
    plan, copies = view.plan, copies_of_stateful(view.plan)
    if not copies:
        return Fact("copies", "Standbys", "none needed: no task has state")
    single_tasks = {task for task, number in copies.items() if not number}
    if not single_tasks:
        least, most = min(copies.values()), max(copies.values())
        return Fact("copies", "Standbys", f"{span_to(least, most)} for each stateful task")
    process_id, records = worst_loss(plan, single_tasks)
    amount = "an unknown number of" if records is None else f"up to {records:,}"
    subject = (
        "no stateful task has one"
        if len(single_tasks) == len(copies)
        else f"{count(len(single_tasks), 'stateful task')} without one"
    )
    loss = f"losing {view.names.instance(process_id)} restores {amount} records before its tasks run"
    return Fact("copies", "Standbys", f"{subject}: {loss}", "unknown")


def settings_fact(view: PlanView) -> Fact:
    """Return which assignor decides, and by which settings."""
    plan, config = view.plan, view.plan.config
    assignor = view.names.escape(plan.assignor)
    if not plan.probes:
        return Fact("settings", "Assignor", assignor)
    follows = plan.rounds[0].follows if plan.rounds else None
    followed_plan = None if follows is None else follows.plan
    pace = (config.max_warmup_replicas, config.probing_rebalance_interval_ms)
    warmups, probe_ms = pace if follows is None else (follows.warmups, follows.probe_ms)
    standbys = "standbys as in the target file" if followed_plan else count(config.num_standby_replicas, "standby")
    return Fact(
        "settings",
        "Settings",
        f"{assignor}{f' follows plan {followed_plan}' if followed_plan else ''}; {standbys}, "
        f"{count(warmups, 'warm-up')} at a time, caught up at a lag of at most "
        f"{config.acceptable_recovery_lag:,}, a probe every {duration(probe_ms)}",
    )


def _sections(view: PlanView) -> Iterator[Section]:
    """Yield what experts ask: the rates, the settings, every step with its reason."""
    plan, relief = view.plan, relief_text(view.plan)
    figures = [f"Settings: {settings_fact(view).value}"]
    figures += [f"Rates: {rates}"] if (rates := rates_text(plan)) else []
    if not plan.is_of_workers:
        figures.append(f"Starts of stateful tasks, those in between included: {count_range(*view.figure('hops'))}")
    figures += [f"Tasks of the busiest {'worker' if plan.is_of_workers else 'instance'}: {relief}"] * bool(relief)
    yield Section("Settings, rates and load", tuple(figures))
    yield from details(plan, view.names, Focus())
