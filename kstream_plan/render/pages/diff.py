"""The page of what changed between two generations of a group: who runs which task, what that cost, what is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.comparison.changes import Comparison, InstanceChangeKind, Side, Skew, TaskClass
from kstream_plan.model import Group, Note, WorkId
from kstream_plan.model.note import Remarks
from kstream_plan.plans import Role, Seat
from kstream_plan.render.page import (
    Fact,
    Page,
    Row,
    Section,
    Tone,
    columns_of,
    overview_page,
    remark_lines,
    text_cell,
    text_row,
)
from kstream_plan.render.pages.diff_tables import copies_table, every_task_table, instances_table, moves_table
from kstream_plan.render.pages.plan_facts import balance_text
from kstream_plan.render.pages.protocol_view import protocol_view_tables
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import arrow, count, duration, generation, is_are, name_list, span_to, utc

#: Codes of notes that say what may be worse than the page says.
_WARNINGS = frozenset({"left-before", "old-lags"})
_ASSUMPTIONS = frozenset({"no-lags"})
_CHANGES = {
    InstanceChangeKind.JOINED: "new",
    InstanceChangeKind.LEFT: "gone",
    InstanceChangeKind.RESTARTED: "restarted",
    InstanceChangeKind.CAPACITY: "with another number of threads",
    InstanceChangeKind.TAGS: "with other tags",
}


def diff_page(comparison: Comparison, *, verbose: bool = False, protocol_view: bool = False) -> Page:
    """Return the page of a comparison.

    Args:
        comparison: what changed.
        verbose: list every task, and fold nothing.
        protocol_view: add what the leader and the members saw (KIP-429).
    """
    names = names_of_both(comparison)
    tables = [] if comparison.empty else [*moves_table(comparison, names, pending_owners(comparison), whole=verbose)]
    tables += copies_table(comparison, names, whole=verbose)
    tables += every_task_table(comparison, names) if verbose else []
    tables += instances_table(comparison, names)
    tables += protocol_view_tables(comparison, names) if protocol_view else []
    return Page(
        title=_title(comparison, names),
        tone=_tone(comparison),
        sentences=(diff_verdict(comparison),),
        facts=tuple(_facts(comparison, names)) if comparison.totals.tasks else (),
        source=_source(comparison),
        tables=tuple(tables),
        lines=remark_lines(diff_remarks(comparison), names.escape_message),
        sections=tuple(_balance_section(comparison)) if verbose else (),
    )


def diffs_page(comparisons: Sequence[Comparison]) -> Page:
    """Return several applications at a glance: those with most cold starts, unassigned tasks and moves first."""

    def badness(comparison: Comparison) -> tuple[int, int, int, str]:
        totals = comparison.totals
        orphans, cold = totals.classes[TaskClass.ORPHANED], comparison.cold_starts[1]
        return -cold, -orphans, -totals.moved, comparison.new.group.application_id

    changes = sum(not comparison.empty for comparison in comparisons)
    columns = columns_of("Application", ">Instances", ">Moved", ">Cold starts", ">Unassigned")
    rows = map(_application_row, sorted(comparisons, key=badness))
    return overview_page(len(comparisons), f"{changes:,} changed", "", columns, rows)


def _application_row(comparison: Comparison) -> Row:
    totals = comparison.totals
    orphans = totals.classes[TaskClass.ORPHANED]
    return text_row(
        printable(comparison.new.group.application_id),
        arrow(*_members(comparison)),
        f"{totals.moved:,} of {totals.tasks:,}",
        text_cell(_cold_in_short(comparison), _cold_tone(comparison)),
        text_cell(f"{orphans:,}" if orphans else "", "bad"),
    )


def names_of_both(comparison: Comparison) -> Names:
    """Return names for every member and every task on either side."""
    old, new = comparison.old.group, comparison.new.group
    instances = [instance for instance in old.instances if instance.process_id not in new.instance_index]
    tasks = [task for task in old.tasks if task.task_id not in new.task_index]
    if instances or tasks:
        new = Group.of(new.application_id, [*new.tasks, *tasks], [*new.instances, *instances])
    return Names(new, earlier=old)


def pending_owners(comparison: Comparison) -> dict[WorkId, Seat]:
    """Return who gets each task that the decision withheld until its owner had revoked it."""
    side, group = comparison.new, comparison.new.group
    return {
        group.tasks[task].task_id: Seat(
            group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer], Role.ACTIVE
        )
        for consumer, (target, holding) in enumerate(zip(side.decided or (), side.holdings, strict=False))
        for task in set(target.active).difference(holding.active)
    }


def _members(comparison: Comparison) -> tuple[int, int]:
    """Return how many members there are before and after."""
    kinds = [change.kind for change in comparison.instances]
    new_count = len(comparison.new.group.instances)
    return new_count - kinds.count(InstanceChangeKind.JOINED) + kinds.count(InstanceChangeKind.LEFT), new_count


def _title(comparison: Comparison, names: Names) -> str:
    """Return ``orders: generation 1 → 23, 3 → 5 instances``; who changed is named where the numbers do not tell."""
    old_count, new_count = _members(comparison)
    noun = "worker" if comparison.of_workers else "instance"
    members = f"{old_count:,} → {count(new_count, noun)}" if old_count != new_count else count(new_count, noun)
    changes = []
    for kind, words in _CHANGES.items():
        ids = [change.process_id for change in comparison.instances if change.kind is kind]
        is_counted = old_count != new_count and kind in (InstanceChangeKind.JOINED, InstanceChangeKind.LEFT)
        changes += [f"{name_list(names.instances(ids))} {words}"] if ids and not is_counted else []
    member_text = f" ({'; '.join(changes)})" if changes else ""
    return f"{names.escape(comparison.new.group.application_id)}: {_generations(comparison)}, {members}{member_text}"


def _generations(comparison: Comparison) -> str:
    old, new = comparison.old, comparison.new
    follows = new.generation > old.generation and not comparison.untold  # a history or a plan: from 0, if need be
    first = f"{old.generation:,}" if old.generation or follows else "unknown"
    last = f"{new.generation:,}" if new.generation else "unknown"
    if old.generation == new.generation:
        return generation(old.generation)
    return f"generation {first} → {last}"


def _source(comparison: Comparison) -> str:
    """Return when the two sides were captured, as far as that is known."""
    old, new = comparison.old.captured_at, comparison.new.captured_at
    times = [*([f"before: {utc(old)}"] if old else []), *([f"after: {utc(new)}"] if new else [])]
    return printable(", ".join(times))


def _orphans(comparison: Comparison) -> tuple[int, int]:
    """Return how many tasks became unassigned, and how many of them start in the follow-up rebalance."""
    next_owners = pending_owners(comparison)
    tasks = [change.task_id for change in comparison.tasks if change.kind is TaskClass.ORPHANED]
    return len(tasks), sum(task_id in next_owners for task_id in tasks)


def _is_assumed(comparison: Comparison) -> bool:
    """Whether nothing but the copies that were held tells what started cold."""
    return any(note.code in _ASSUMPTIONS for note in comparison.notes)


def _tone(comparison: Comparison) -> Tone:
    """Return red if a task started cold or is unassigned with no next owner, yellow if that is unknown."""
    least, most = comparison.cold_starts
    orphans, start_next = _orphans(comparison)
    if orphans > start_next or (least and not _is_assumed(comparison)):
        return "bad"
    return "unknown" if most or orphans or _is_assumed(comparison) else "good"


def diff_verdict(comparison: Comparison) -> str:
    """Return the whole in a paragraph, as the JSON has it."""
    if comparison.empty:
        return "Nothing changed."
    return " ".join([*_moves_text(comparison), *_came_and_went(comparison), *_cold(comparison)])


def _nouns(comparison: Comparison, number: int) -> str:
    if comparison.of_workers:
        return count(number, "connector or task", "connectors and tasks")
    return count(number, "task")


def _moves_text(comparison: Comparison) -> Iterator[str]:
    totals = comparison.totals
    member = "worker" if comparison.of_workers else "instance"
    if totals.moved:
        verb = "runs" if totals.moved == 1 else "run"
        yield f"{totals.moved:,} of {_nouns(comparison, totals.tasks)} {verb} on another {member}."
    else:
        yield f"No {'connector or task' if comparison.of_workers else 'task'} runs on another {member}."
    if totals.started:
        verb = "was" if totals.started == 1 else "were"
        yield f"{_nouns(comparison, totals.started)} that {verb} unassigned started."


def _came_and_went(comparison: Comparison) -> Iterator[str]:
    classes = comparison.totals.classes
    orphans, start_next = _orphans(comparison)
    if orphans:
        continuation = ""
        if start_next:
            subject = "all of them start" if start_next == orphans > 1 else count(start_next, "starts", "of them start")
            continuation = f"; {'it starts' if orphans == 1 else subject} in the follow-up rebalance"
        yield f"{_nouns(comparison, orphans)} that ran before {is_are(orphans)} unassigned{continuation}."
    if classes[TaskClass.NEW]:
        yield f"{_nouns(comparison, classes[TaskClass.NEW])} {is_are(classes[TaskClass.NEW])} new."
    if classes[TaskClass.GONE]:
        yield f"{_nouns(comparison, classes[TaskClass.GONE])} {is_are(classes[TaskClass.GONE])} gone."


def _cold(comparison: Comparison) -> Iterator[str]:
    """Yield whether tasks started cold; nothing where no task with state started."""
    if not any(change.start for change in comparison.tasks):
        return
    least, most = comparison.cold_starts
    starts = "task started" if most == 1 else "tasks started"
    if least < most:
        yield f"It is unknown how many tasks started cold ({span_to(least, most)}): {between_text(comparison)}."
    elif _is_assumed(comparison):
        yield (
            f"{most:,} {starts} on an instance that held no copy. Lags are unknown, so whether the others started "
            "cold is unknown."
        )
    elif most:
        yield f"{most:,} {starts} cold: the new instance had not caught up."
    else:
        yield "No task started cold."


def between_text(comparison: Comparison) -> str:
    """Return how many generations lie between of which nothing is known."""
    if not comparison.old.generation:
        return "an unknown number of generations lies between"
    return "1 generation lies between" if comparison.untold == 1 else f"{comparison.untold:,} generations lie between"


def _facts(comparison: Comparison, names: Names) -> Iterator[Fact]:
    yield _tasks_fact(comparison)
    if any(change.start for change in comparison.tasks):
        yield Fact("cold", "Cold starts", _cold_text(comparison), _cold_tone(comparison))
    copies = {kind.value: number for kind, number in comparison.totals.copies.items() if number}
    if copies:
        yield Fact("copies", "Standby changes", ", ".join(f"{number:,} {kind}" for kind, number in copies.items()))
    if not comparison.empty:
        yield from [] if comparison.of_workers else [_restored_fact(comparison)]
        yield _pause_fact(comparison, names)
    yield _balance_fact(comparison)


def _tasks_fact(comparison: Comparison) -> Fact:
    """Return what became of the tasks; the parts add up to all of them."""
    totals, classes = comparison.totals, comparison.totals.classes
    stateless = sum(
        change.kind is TaskClass.STATELESS_MOVED and change.from_ is not None for change in comparison.tasks
    )
    with_state = totals.moved - stateless
    kinds = f" ({with_state:,} stateful, {stateless:,} stateless)" if with_state and stateless else ""
    orphans, start_next = _orphans(comparison)
    numbers = {
        f"moved{kinds}": totals.moved,
        "started": totals.started,
        "on another thread": classes[TaskClass.THREAD_MOVED],
        "unassigned": orphans,
        "new": classes[TaskClass.NEW],
        "gone": classes[TaskClass.GONE],
        "stayed": classes[TaskClass.STAYED],
    }
    label = "Connectors and tasks" if comparison.of_workers else "Tasks"
    value = ", ".join(f"{number:,} {words}" for words, number in numbers.items() if number)
    return Fact("tasks", label, value, "bad" if orphans > start_next else "plain")


def _cold_text(comparison: Comparison) -> str:
    least, most = comparison.cold_starts
    if comparison.of_workers:
        return ""
    if least < most:
        return f"unknown: {span_to(least, most)}"
    if _is_assumed(comparison):
        return f"unknown: at least {most:,} on an instance without a copy" if most else "unknown: lags are unknown"
    return f"{most:,}" if most else "none"


def _cold_in_short(comparison: Comparison) -> str:
    """Return how many tasks started cold for a narrow column."""
    least, most = comparison.cold_starts
    if comparison.of_workers:
        return ""
    return "unknown" if _is_assumed(comparison) else span_to(least, most) if most else "none"


def _cold_tone(comparison: Comparison) -> Tone:
    least, most = comparison.cold_starts
    if least < most or _is_assumed(comparison):
        return "unknown"
    return "bad" if most else "plain"


def _restored_fact(comparison: Comparison) -> Fact:
    label, amount = "State restored", comparison.totals.restore_records
    if comparison.untold:
        return Fact("restored", label, f"unknown: {between_text(comparison)}", "unknown")
    if amount is None:
        return Fact("restored", label, "unknown number of records", "unknown")
    return Fact("restored", label, f"{count(amount, 'record')}" if amount else "none")


def _pause_fact(comparison: Comparison, names: Names) -> Fact:
    """Return which task paused longest in total, and the time over all tasks."""
    totals, label = comparison.totals, "Longest pause"
    least = totals.pause_is == "floor"
    if comparison.of_workers and least:
        return Fact("pause", label, "unknown: snapshots do not say when work stopped and started", "unknown")
    if comparison.untold:
        return Fact("pause", label, f"unknown: {between_text(comparison)}", "unknown")
    orphans = totals.classes[TaskClass.ORPHANED]
    open_end = f"{_nouns(comparison, orphans)} {is_are(orphans)} still unassigned" if orphans else ""
    tone: Tone = "unknown" if least or orphans else "plain"
    if not totals.pause_ms:
        return Fact("pause", label, open_end or ("unknown" if least else "none"), tone)
    bound = "at least " if least else "about " if totals.pause_is == "estimate" else ""
    whole = f"{bound}{duration(totals.pause_ms)} over all {'of them' if comparison.of_workers else 'tasks'}"
    parts = [whole, *([open_end] if open_end else [])]
    worst = max(comparison.tasks, key=lambda change: change.pause_ms, default=None)
    if worst is None or not worst.pause_ms:
        return Fact("pause", "Pauses", "; ".join(parts), tone)
    task = names.task(worst.task_id) if comparison.of_workers else f"task {names.task_and_topic(worst.task_id)}"
    return Fact("pause", label, "; ".join([f"{task}: {bound}{duration(worst.pause_ms)}", *parts]), tone)


def _balance_fact(comparison: Comparison) -> Fact:
    totals = comparison.totals
    old, new = (
        _fewest_and_most(side, skew)
        for side, skew in ((comparison.old, totals.skew_before), (comparison.new, totals.skew_after))
    )
    unit = "connectors and tasks per worker" if comparison.of_workers else "tasks per instance"
    return Fact("balance", "Balance", f"{balance_text(old, new)} {unit}")


def _fewest_and_most(side: Side, skew: Skew) -> tuple[int, int]:
    most = max(side.active_tasks.values(), default=0)
    return most - skew.balance_factor, most


def _balance_section(comparison: Comparison) -> Iterator[Section]:
    """Yield how uneven the tasks lie by subtopology and by thread."""
    if comparison.of_workers:
        return
    old_skew, new_skew = comparison.totals.skew_before, comparison.totals.skew_after
    figures = {
        "Tasks of one subtopology per instance, most minus fewest": (old_skew.subtopology, new_skew.subtopology),
        "Instances per subtopology, most minus fewest": (old_skew.subtopology_spread, new_skew.subtopology_spread),
        "Tasks per thread, most minus fewest": (old_skew.thread, new_skew.thread),
    }
    yield Section(
        "Balance by subtopology and by thread",
        tuple(f"{words}: {arrow(*ends)}" for words, ends in figures.items()),
    )


def diff_remarks(comparison: Comparison) -> Remarks:
    """Return the warnings, notes and assumptions of a comparison, as the page and the JSON have them."""
    notes = [note._replace(message=_message(note, comparison)) for note in comparison.notes]
    is_open = any(note.code == "decision-not-compared" for note in notes)
    commands = (Note("plan-decision", "kstream-plan assign SNAPSHOT"),) if is_open else ()
    return Remarks(
        warnings=tuple(note for note in notes if note.code in _WARNINGS),
        notes=tuple(note for note in notes if note.code not in _WARNINGS | _ASSUMPTIONS),
        assumptions=tuple(note for note in notes if note.code in _ASSUMPTIONS),
        next=commands,
    )


def _message(note: Note, comparison: Comparison) -> str:
    """Return what a note says, with its tasks."""
    message = note.message
    match note.code:
        case "left-before":
            message = "It is unknown since when tasks paused whose instance had gone, and no pause counts that"
        case "no-lags":
            message = "Lags are unknown: a copy that was held counts as caught up, everything else as cold"
        case "old-lags":
            message = f"Lags are those of the older snapshot, and {between_text(comparison)}"
    return f"{message}: {name_list(note.subjects)}" if note.subjects else message
