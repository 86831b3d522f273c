"""The page of what changed between two generations of a group: who runs which task, what that cost, what is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.comparison.changes import Comparison, InstanceChangeKind, Side, TaskClass
from kstream_plan.comparison.protocol_view import MemberView, ProtocolView, protocol_view
from kstream_plan.model import WorkId
from kstream_plan.plans import Role, Seat
from kstream_plan.plans.note_codes import EXPERT_CODES
from kstream_plan.render.page import (
    Cell,
    Fact,
    Page,
    Row,
    Table,
    Tone,
    columns_of,
    overview_page,
    remark_lines,
    text_cell,
    text_row,
)
from kstream_plan.render.pages.diff_tables import copies_table, every_task_table, instances_table, moves_table
from kstream_plan.render.pages.plan_facts import balance_words
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import (
    arrow,
    count,
    duration,
    generation,
    is_are,
    name_list,
    span_to,
    utc,
    utc_pair,
)

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
    names = Names(comparison.group, earlier=comparison.old.group)
    left_decisions = [note for note in comparison.remarks.notes if note.code == "decision-not-compared"]
    tables = [] if comparison.empty else [*moves_table(comparison, names, whole=verbose)]
    tables += copies_table(comparison, names, whole=verbose)
    tables += every_task_table(comparison, names) if verbose else []
    tables += instances_table(comparison, names)
    tables += protocol_view_tables(comparison, names) if protocol_view else []
    return Page(
        title=_title(comparison, names),
        tone=_tone(comparison),
        sentences=(diff_verdict(comparison), *(f"{note.message}." for note in left_decisions)),
        facts=tuple(_facts(comparison, names)) if comparison.totals.tasks else (),
        source=_source(comparison),
        tables=tuple(tables),
        lines=remark_lines(comparison.remarks, left_out={*EXPERT_CODES, *(note.code for note in left_decisions)}),
    )


def diffs_page(comparisons: Sequence[Comparison]) -> Page:
    """Return several applications at a glance: those with most cold starts, unassigned tasks and moves first."""

    def badness(comparison: Comparison) -> tuple[int, int, int, str]:
        totals = comparison.totals
        orphans, cold = totals.classes[TaskClass.ORPHANED], comparison.cold_starts[1]
        return -cold, -orphans, -totals.moved_tasks, comparison.new.group.application_id

    changes = sum(not comparison.empty for comparison in comparisons)
    columns = columns_of("Application", ">Instances", ">Moved", ">Cold starts", ">Unassigned")
    rows = map(_application_row, sorted(comparisons, key=badness))
    return overview_page(len(comparisons), f"{changes:,} changed", "", columns, rows)


def _application_row(comparison: Comparison) -> Row:
    totals = comparison.totals
    orphans = totals.classes[TaskClass.ORPHANED]
    return text_row(
        printable(comparison.new.group.application_id),
        arrow(*comparison.members),
        f"{totals.moved_tasks:,} of {totals.tasks:,}",
        _cold_cell(comparison),
        text_cell(f"{orphans:,}" if orphans else "", "bad"),
    )


def _title(comparison: Comparison, names: Names) -> str:
    """Return ``orders: generation 1 → 23, 3 → 5 instances``; who changed is named where the numbers do not tell."""
    old_count, new_count = comparison.members
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
    return generation(old.generation) if old.generation == new.generation else f"generation {first} → {last}"


def _source(comparison: Comparison) -> str:
    """Return of which moments the two sides are, as far as that is known."""
    old, new = comparison.old, comparison.new
    if old.captured_at is None or new.captured_at is None:
        moments = [_moment(side, utc(side.captured_at)) for side in (old, new) if side.captured_at is not None]
    else:
        moments = list(map(_moment, (old, new), utc_pair(old.captured_at, new.captured_at)))
    return printable(", ".join(moments))


def _moment(side: Side, time: str) -> str:
    """Return when a side was so, or until when, where the next generation replaced it."""
    is_first = not side.generation and side.next_decision
    number = f"before generation {side.next_decision:,}" if is_first else generation(side.generation)
    return f"{number} {'at' if side.next_decision in (None, side.generation) else 'until'} {time}"


def _tone(comparison: Comparison) -> Tone:
    """Return red if a task started cold or is unassigned with no next owner, yellow if that is unknown."""
    least, most = comparison.cold_starts
    orphans, start_next = comparison.orphans
    if orphans > start_next or (least and not comparison.lags_unknown):
        return "bad"
    return "unknown" if most or orphans or comparison.lags_unknown else "good"


def diff_verdict(comparison: Comparison) -> str:
    """Return the whole in a paragraph, as the JSON has it."""
    if comparison.empty:
        return "Nothing changed."
    parts = [[*_moves_text(comparison)], [*_came_and_went(comparison)]]
    moves, changes = parts if comparison.totals.moved_tasks else reversed(parts)
    return " ".join([*moves, *changes, *_cold(comparison)])


def _nouns(comparison: Comparison, number: int) -> str:
    return count(number, *(("connector or task", "connectors and tasks") if comparison.of_workers else ("task",)))


def _moves_text(comparison: Comparison) -> Iterator[str]:
    totals = comparison.totals
    member = "worker" if comparison.of_workers else "instance"
    if totals.moved_tasks:
        verb = "runs" if totals.moved_tasks == 1 else "run"
        yield f"{totals.moved_tasks:,} of {_nouns(comparison, totals.tasks)} {verb} on another {member}."
    else:
        rest = "other " * bool(comparison.orphans[0])
        yield f"No {rest}{'connector or task' if comparison.of_workers else 'task'} runs on another {member}."
    if totals.started_tasks:
        verb = "was" if totals.started_tasks == 1 else "were"
        yield f"{_nouns(comparison, totals.started_tasks)} that {verb} unassigned started."


def _came_and_went(comparison: Comparison) -> Iterator[str]:
    classes = comparison.totals.classes
    orphans, start_next = comparison.orphans
    if orphans:
        continuation = ""
        if start_next:
            subject = "all of them start" if start_next == orphans > 1 else count(start_next, "starts", "of them start")
            continuation = f"; {'it starts' if orphans == 1 else subject} in the follow-up rebalance"
        yield f"{_nouns(comparison, orphans)} that ran before {is_are(orphans)} unassigned{continuation}."
    for number, change in ((classes[TaskClass.NEW], "new"), (classes[TaskClass.GONE], "gone")):
        if number:
            yield f"{_nouns(comparison, number)} {is_are(number)} {change}."


def _cold(comparison: Comparison) -> Iterator[str]:
    """Yield whether tasks started cold; nothing where no task with state started."""
    if not any(change.start for change in comparison.tasks):
        return
    least, most = comparison.cold_starts
    starts = "task started" if most == 1 else "tasks started"
    if least < most:
        yield f"It is unknown how many tasks started cold ({span_to(least, most)}): {comparison.gap}."
    elif comparison.lags_unknown:
        yield f"{most:,} {starts} on an instance that held no copy."
        yield "Lags are unknown, so whether the others started cold is unknown."
    elif most:
        yield f"{most:,} {starts} cold: the new instance had not caught up."
    else:
        yield "No task started cold."


def _facts(comparison: Comparison, names: Names) -> Iterator[Fact]:
    yield _tasks_fact(comparison)
    if any(change.start for change in comparison.tasks):
        cold = _cold_cell(comparison)
        yield Fact("cold", "Cold starts", cold.text, cold.tone)
    copies = {kind.value: number for kind, number in comparison.totals.copies.items() if number}
    if copies:
        roles = (f"{number:,} {kind}{' or in another role' * (kind == 'moved')}" for kind, number in copies.items())
        temporary = f", {comparison.temporary:,} of them as temporary standbys" if comparison.temporary else ""
        yield Fact("copies", "Copies", f"{', '.join(roles)}{temporary}")
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
    with_state = totals.moved_tasks - stateless
    kinds = f" ({with_state:,} stateful, {stateless:,} stateless)" if with_state and stateless else ""
    orphans, start_next = comparison.orphans
    numbers = {
        f"moved{kinds}": totals.moved_tasks,
        "started": totals.started_tasks,
        "on another thread": classes[TaskClass.THREAD_MOVED],
        "unassigned": orphans,
        "new": classes[TaskClass.NEW],
        "gone": classes[TaskClass.GONE],
        "unassigned before and after": comparison.unassigned_on_both,
        "stayed": classes[TaskClass.STAYED] - comparison.unassigned_on_both,
    }
    label = "Connectors and tasks" if comparison.of_workers else "Tasks"
    value = ", ".join(f"{number:,} {words}" for words, number in numbers.items() if number)
    return Fact("tasks", label, value, "bad" if orphans > start_next else "plain")


def _cold_cell(comparison: Comparison) -> Cell:
    """Return how many tasks started cold, as far as that is known."""
    least, most = comparison.cold_starts
    if comparison.of_workers:
        return text_cell("")
    if least < most:
        return text_cell(f"unknown: {span_to(least, most)}", "unknown")
    if comparison.lags_unknown:
        return text_cell(f"unknown: at least {most:,}" if most else "unknown", "unknown")
    return text_cell(f"{most:,}", "bad") if most else text_cell("none")


def _restored_fact(comparison: Comparison) -> Fact:
    """Return what was restored, as far as reports of later lags show that; else what there is to restore."""
    amount = comparison.totals.restore_records
    label = "State of new copies" if comparison.is_history else "State to restore"
    if comparison.untold or amount is None:
        text = f"unknown: {comparison.gap}" if comparison.untold else "unknown number of records"
        return Fact("restored", label, text, "unknown")
    remainder = ", restored or still to restore" * comparison.is_history
    return Fact("restored", label, f"{count(amount, 'record')}{remainder}" if amount else "none")


def _pause_fact(comparison: Comparison, names: Names) -> Fact:
    """Return which task paused longest in total, and the time over all tasks."""
    totals, label = comparison.totals, "Longest pause"
    least = totals.pause_is == "floor"
    if comparison.of_workers and least:
        return Fact("pause", label, "unknown: snapshots do not say when work stopped and started", "unknown")
    if comparison.untold:
        return Fact("pause", label, "unknown for the same reason", "unknown")
    orphans = totals.classes[TaskClass.ORPHANED]
    last = f"after {generation(comparison.new.generation)}" if comparison.new.generation else "afterwards"
    open_end = f"{_nouns(comparison, orphans)} still pause{'s' * (orphans == 1)} {last}" if orphans else ""
    tone: Tone = "unknown" if least or orphans else "plain"
    if not totals.pause_ms:
        earlier = f"{_nouns(comparison, totals.started_tasks)} paused before, for an unknown time"
        none = f"none from then on; {earlier}" if totals.started_tasks and comparison.is_history else "none"
        return Fact("pause", label, f"not over: {open_end}" if open_end else ("unknown" if least else none), tone)
    bound = "at least " if least else "about " if totals.pause_is == "estimate" else ""
    whole = f"{bound}{duration(totals.pause_ms)} summed over all {'of them' if comparison.of_workers else 'tasks'}"
    origin = "by the times in the history" if comparison.is_history else "estimated, not measured"
    parts = [f"{whole} ({origin})", *([open_end] if open_end else [])]
    worst = max(comparison.tasks, key=lambda change: change.pause_ms, default=None)
    if worst is None or not worst.pause_ms:
        return Fact("pause", "Pauses", "; ".join(parts), tone)
    task = names.task(worst.task_id) if comparison.of_workers else f"task {names.task_and_topic(worst.task_id)}"
    return Fact("pause", label, "; ".join([f"{task}: {bound}{duration(worst.pause_ms)}", *parts]), tone)


def _balance_fact(comparison: Comparison) -> Fact:
    totals = comparison.totals
    sides = ((comparison.old, totals.skew_before), (comparison.new, totals.skew_after))
    most = [max(side.active_tasks.values(), default=0) for side, _ in sides]
    ends = [(number - skew.balance_factor, number) for number, (_, skew) in zip(most, sides, strict=True)]
    return Fact("balance", "Balance", balance_words(*ends, of_workers=comparison.of_workers))


def protocol_view_tables(comparison: Comparison, names: Names) -> Iterator[Table]:
    """Yield the three sets and what is withheld, then the callbacks of every member that has some."""
    view = protocol_view(comparison.old, comparison.new)
    sets = {
        "maybe-revoking": view.maybe_revoking,
        "withheld": view.withheld,
        "ready-to-migrate": view.ready_to_migrate,
        "unknown-but-owned": view.unknown_but_owned,
    }
    rows = tuple(text_row(name, f"{len(tasks):,}", _tasks(tasks, names)) for name, tasks in sets.items())
    yield Table("What the leader saw (KIP-429)", columns_of("Set", ">Tasks", "Which"), rows, _rejoin(view))
    members = tuple(
        text_row(_member(member, names), _tasks(member.revoked, names), _tasks(member.added, names))
        for member in view.members
        if member.added or member.revoked
    )
    if members:
        yield Table("Callbacks", columns_of("Consumer", "onPartitionsRevoked", "onPartitionsAssigned"), members)


def _tasks(tasks: Sequence[WorkId], names: Names) -> Cell:
    return Cell(tuple(map(names.task, tasks))) if tasks else text_cell("")


def _rejoin(view: ProtocolView) -> str:
    if not view.rejoin:
        return "No consumer rejoins."
    deadline = "until it is revoked" if len(view.withheld) == 1 else "until they are revoked"
    withheld_tasks = count(len(view.withheld), "task is", "tasks are")
    return f"All {count(len(view.members), 'consumer')} rejoin at once: {withheld_tasks} left out {deadline}."


def _member(member: MemberView, names: Names) -> str:
    seat = names.seat(Seat(member.process_id, member.consumer_id, Role.ACTIVE))
    return f"{seat} (had revoked everything)" if member.gave_up else seat
