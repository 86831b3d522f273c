"""A comparison put into words, before anything decides how wide the page is or what marks it up.

Every name in it is escaped already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kstream_plan.comparison.changes import (
    Comparison,
    CopyChange,
    CopyChangeKind,
    InstanceChangeKind,
    Side,
    Start,
    TaskChange,
    TaskClass,
)
from kstream_plan.model import Group, WorkId
from kstream_plan.plans import Role, Seat
from kstream_plan.render.pages.step_sentences import because_of_lag
from kstream_plan.render.plan.headline import tasks_phrase
from kstream_plan.render.text.escape import TERMINAL, Escape
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, generation, records, several
from kstream_plan.render.text.page import Fact

#: Up to so many tasks are told one by one; of more, each class on a line of its own (``verbose`` tells all).
_MOST_ROWS = 24
_MOST_INSTANCES = 12
_MOST_CHANGED = 10

_WORDS = {
    TaskClass.NEW: "new",
    TaskClass.GONE: "gone",
    TaskClass.ORPHANED: "ORPHANED",
    TaskClass.PROMOTED: "promoted",
    TaskClass.WARM: "handed over warm",
    TaskClass.COLD: "handed over COLD",
    TaskClass.STATELESS_MOVED: "stateless moved",
    TaskClass.THREAD_MOVED: "thread moved",
    TaskClass.STAYED: "stayed",
}
_WORDS_OF_WORKERS = _WORDS | {TaskClass.ORPHANED: "NOBODY RUNS", TaskClass.WARM: "moved", TaskClass.GONE: "deleted"}
_ROLES = {Role.STANDBY: "standby", Role.WARMUP: "warm-up", Role.TEMPORARY: "temporary"}


@dataclass(frozen=True, slots=True)
class Row:
    """One task, or all of a class: its name or how many, what happened, from where to where, why and its copies."""

    tasks: str
    what: str
    ways: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class DiffStory:
    """What the table and the Markdown form show, in this order; ``loads`` are the items of one list."""

    title: Fact
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]
    more: str
    heads: Row
    loads: tuple[str, ...]
    loads_legend: str
    notes: tuple[str, ...]


def tell_diff(found: Comparison, *, escape: Escape = TERMINAL, verbose: bool = False) -> DiffStory:
    """Put a comparison into words; ``verbose`` tells every task apart."""
    names = names_of_both(found, escape)
    one_by_one = verbose or len(found.tasks) <= _MOST_ROWS
    waiting = _waiting(found.new)
    words = _WORDS_OF_WORKERS if found.of_workers else _WORDS
    rows = [_row(of, waiting, names, words) for of in found.tasks] if one_by_one else _by_class(found, names, words)
    item = "item" if found.of_workers else "task"
    loads = "connectors and tasks" if found.of_workers else "active tasks"
    return DiffStory(
        title=_title(found, names),
        facts=tuple(_facts(found, names)),
        rows=tuple(rows),
        more="" if one_by_one else f"every {item}: -v",
        heads=_heads(item, "" if found.of_workers else "lag, copies", folded=any(len(row.ways) > 1 for row in rows)),
        loads=tuple(_loads(found, names)),
        loads_legend=loads + (f"; … = {names.escape(names.common)}" if names.common else ""),
        notes=tuple(
            names.escape_message(note.message)
            + (f": {several([names.escape(of) for of in note.subjects])}" if note.subjects else "")
            for note in found.notes
        ),
    )


def names_of_both(found: Comparison, escape: Escape = TERMINAL) -> Names:
    """Return names for everybody and everything on either side."""
    old, new = found.old.group, found.new.group
    instances = [of for of in old.instances if of.process_id not in new.instance_index]
    tasks = [of for of in old.tasks if of.task_id not in new.task_index]
    if instances or tasks:
        new = Group.of(new.application_id, [*new.tasks, *tasks], [*new.instances, *instances])
    return Names(new, escape, earlier=old)


def verdict(found: Comparison) -> str:
    """Return the whole in one line: ``12 of 240 tasks moved, all warm; balance 3 → 1``."""
    totals = found.totals
    skew = f"balance {_arrow(totals.skew_before.balance_factor, totals.skew_after.balance_factor)}"
    if found.empty:
        return f"nothing changed; {skew}"
    item = ("connector or task", "connectors and tasks") if found.of_workers else ("task", "tasks")
    parts = [f"{totals.moved:,} of {count(totals.tasks, *item)} moved" if totals.moved else f"no {item[0]} moved"]
    parts += [f"{totals.started:,} started that nobody ran"] if totals.started else []
    least, cold = found.cold_starts
    if least < cold:
        parts.append(f"{least:,}-{cold:,} cold: {_between(found)}")
    elif found.of_workers:
        pass
    elif cold or any(change.start for change in found.tasks):
        parts.append(f"{cold:,} COLD" if cold else "all warm")
    for kind in (TaskClass.ORPHANED, TaskClass.NEW, TaskClass.GONE):
        number = totals.classes[kind]
        parts += [f"{number:,} {'run by nobody' if kind is TaskClass.ORPHANED else _WORDS[kind]}"] if number else []
    return f"{', '.join(parts)}; {skew}"


def _between(found: Comparison) -> str:
    if not found.old.generation:
        return "nobody knows how many generations lie between"
    return "1 generation lies between" if found.untold == 1 else f"{found.untold:,} generations lie between"


def diff_summary(found: Sequence[Comparison], escape: Escape) -> str:
    """Return one line per application, those with most cold starts and most moves first, as a list, lines ended."""

    def badness(of: Comparison) -> tuple[int, int, int, str]:
        classes = of.totals.classes
        return -classes[TaskClass.COLD], -classes[TaskClass.ORPHANED], -of.totals.moved, of.new.group.application_id

    changed = sum(not of.empty for of in found)
    lines = [f"- {escape.name(of.new.group.application_id)}: {verdict(of)}" for of in sorted(found, key=badness)]
    hint = "One of them in full: --application-id ID; all of them: --verbose"
    return "\n".join([f"{count(len(found), 'application')}: {changed:,} changed", "", *lines, "", hint]) + "\n"


def _title(found: Comparison, names: Names) -> Fact:
    old, new = found.old, found.new
    by_kind = {
        kind: [change.process_id for change in found.instances if change.kind is kind] for kind in InstanceChangeKind
    }
    joined, left = by_kind[InstanceChangeKind.JOINED], by_kind[InstanceChangeKind.LEFT]
    before = len(new.group.instances) - len(joined) + len(left)
    after = count(len(new.group.instances), "worker" if found.of_workers else "instance")
    members = f"{before} → {after}" if joined or left else after
    words = {
        InstanceChangeKind.JOINED: "new",
        InstanceChangeKind.LEFT: "gone",
        InstanceChangeKind.RESTARTED: "restarted",
        InstanceChangeKind.CAPACITY: "with other threads",
        InstanceChangeKind.TAGS: "with other tags",
    }
    changes = [f"{several(names.instances(ids))} {words[kind]}" for kind, ids in by_kind.items() if ids]
    who = f"{members} ({'; '.join(changes)})" if changes else members
    tasks = tasks_phrase(len(new.group.stateful), len(new.group.stateless))
    if found.of_workers:
        tasks = count(len(new.group.tasks), "connector or task", "connectors and tasks")
    counted = new.generation > old.generation and not found.untold  # a history or a plan: from 0, if need be
    generations = f"generation {old.generation:,}" if counted else generation(old.generation)
    if old.generation != new.generation:
        generations += f" → {new.generation:,}" if new.generation else " → not known"
    return Fact(names.escape(new.group.application_id), (f"{generations}, {who}, {tasks}", f"{generations}, {who}"))


def _facts(found: Comparison, names: Names) -> list[Fact]:
    totals = found.totals
    facts = [Fact("CHANGED" if not found.empty else "SAME", (verdict(found),))]
    if found.of_workers:
        return [*facts, *_facts_of_workers(found, names)]
    classes = [f"{number:,} {_WORDS[kind]}" for kind, number in totals.classes.items() if number]
    share = f" ({totals.moved_share:.0%} moved)" if totals.moved else ""
    share += ", by the lags of the older snapshot" if found.cold_starts[0] < found.cold_starts[1] else ""
    facts.append(Fact("TASKS", (", ".join(classes) + share if classes else "none",)))
    copies = [f"{number:,} {kind.value}" for kind, number in totals.copies.items() if number]
    if copies:
        facts.append(Fact("COPIES", (", ".join(copies),)))
    if not found.empty:
        facts += [_restore(found), _pauses(found, names)]
    before, after = totals.skew_before, totals.skew_after
    figures = {
        "instance": (before.balance_factor, after.balance_factor),
        "subtopology": (before.subtopology, after.subtopology),
        "instances per subtopology": (before.subtopology_spread, after.subtopology_spread),
        "thread": (before.thread, after.thread),
    }
    parts = [f"{name} {_arrow(*change)}" for name, change in figures.items()]
    line = ", ".join(parts)
    return [*facts, Fact("BALANCE", (f"{line} (most - least)", line, ", ".join(parts[:3])))]


def _facts_of_workers(found: Comparison, names: Names) -> list[Fact]:
    totals, facts = found.totals, list[Fact]()
    unrun = totals.classes[TaskClass.ORPHANED]
    if unrun:
        facts.append(
            Fact(
                "NOBODY",
                (f"runs {count(unrun, 'connector or task', 'connectors and tasks')} that somebody ran before",),
            )
        )
    if not found.empty:
        unknown = "not known: snapshots do not tell when work stopped and started (rounds of a plan do)"
        facts.append(Fact("PAUSES", (unknown,)) if totals.pause_is == "floor" else _pauses(found, names))
    skew = _arrow(totals.skew_before.balance_factor, totals.skew_after.balance_factor)
    return [*facts, Fact("BALANCE", (f"connectors and tasks per worker, most - least: {skew}",))]


def _heads(item: str, why: str, *, folded: bool) -> Row:
    """Return the heads of the rows, of single tasks or of all of a class."""
    return Row("no", "what", (f"{item} from→to",), "copies") if folded else Row(item, "what", ("from→to",), why)


def _arrow(before: int, after: int) -> str:
    return f"{before}" if before == after else f"{before} → {after}"


def _restore(found: Comparison) -> Fact:
    if found.untold:
        return Fact("RESTORE", (f"not known: {_between(found)}",))
    amount = found.totals.restore_records
    return Fact(
        "RESTORE", ("nothing" if amount == 0 else "unknown" if amount is None else f"{records(amount)} records",)
    )


def _pauses(found: Comparison, names: Names) -> Fact:
    totals = found.totals
    if found.untold:
        return Fact("PAUSES", (f"not known: {_between(found)}",))
    if not totals.pause_ms:
        return Fact("PAUSES", ("none",))
    worst = max(found.tasks, key=lambda change: change.pause_ms, default=None)
    sure, more = {"floor": ("~", " or more"), "estimate": ("~", "")}.get(totals.pause_is, ("", ""))
    whole = f"{sure}{duration(totals.pause_ms)}{more} over all {'of them' if found.of_workers else 'tasks'}"
    if worst is None or not worst.pause_ms:
        return Fact("PAUSES", (whole,))
    return Fact("PAUSES", (f"{whole}, worst {names.task_and_topic(worst.task_id)} {duration(worst.pause_ms)}", whole))


def _waiting(side: Side) -> dict[WorkId, Seat]:
    """Return who gets each task that the decision withheld until its owner had revoked it."""
    group = side.group
    return {
        group.tasks[task].task_id: Seat(
            group.instances[group.instance_of[consumer]].process_id, group.consumer_ids[consumer], Role.ACTIVE
        )
        for consumer, (decided, held) in enumerate(zip(side.decided or (), side.holdings, strict=False))
        for task in set(decided.active).difference(held.active)
    }


def _row(
    change: TaskChange, waiting: Mapping[WorkId, Seat], names: Names, words: Mapping[TaskClass, str] = _WORDS
) -> Row:
    why = [_why(change.start)] if change.start is not None else []
    if change.to is None and change.task_id in waiting:
        why.append(f"{names.seat(waiting[change.task_id])} gets it in the follow-up")
    why += [_copy(copy, names) for copy in change.copies]
    way = _way(change.from_, change.to, names) if change.from_ != change.to else _place(change.to, names)
    started = change.kind is TaskClass.WARM and change.from_ is None and words is _WORDS_OF_WORKERS
    what = "started" if started else words[change.kind]
    return Row(names.task(change.task_id), what, (way,), "; ".join(why))


def _by_class(found: Comparison, names: Names, words: Mapping[TaskClass, str]) -> list[Row]:
    rows = []
    for kind in TaskClass:
        of_kind = [change for change in found.tasks if change.kind is kind]
        if of_kind:
            ways = tuple(_short_way(change, names) for change in of_kind)
            copies = Counter(copy.kind for change in of_kind for copy in change.copies)
            why = ", ".join(f"{copies[of]:,} copies {of.value}" for of in CopyChangeKind if copies[of])
            rows.append(Row(count(len(of_kind)), words[kind], ways, why))
    return rows


def _short_way(change: TaskChange, names: Names) -> str:
    if change.from_ == change.to:
        return names.task(change.task_id)
    thread = change.kind is TaskClass.THREAD_MOVED
    return f"{names.task(change.task_id)} {_way(change.from_, change.to, names, thread=thread)}"


def _way(from_: Seat | None, to: Seat | None, names: Names, *, thread: bool = True) -> str:
    ends = [_place(seat, names, thread=thread) for seat in (from_, to)]
    return f"{ends[0]}→{ends[1]}"


def _place(seat: Seat | None, names: Names, *, thread: bool = True) -> str:
    if seat is None:
        return "nobody"
    return names.seat(seat) if thread else names.instance(seat.process_id)


def _why(start: Start) -> str:
    restored = f", {records(start.restore_records)} records" if start.restore_records != 0 else ""
    return f"{because_of_lag(start.lag, start.limit)}{restored}"


def _copy(copy: CopyChange, names: Names) -> str:
    restored = f" ({records(copy.restore_records)} records)" if copy.restore_records != 0 else ""
    if copy.to is None:
        assert copy.from_ is not None
        return f"{_ROLES[copy.from_.role]} {names.seat(copy.from_)} dropped"
    to = f"{_ROLES[copy.to.role]} {names.seat(copy.to)}"
    if copy.from_ is None:
        return f"{to} placed{restored}"
    if copy.kind is CopyChangeKind.SWAPPED:
        return f"swapped with the {to}"
    before = "" if copy.from_.role is copy.to.role else f"{_ROLES[copy.from_.role]} "
    return f"{before}{names.seat(copy.from_)}→{to}{restored}"


def _loads(found: Comparison, names: Names) -> list[str]:
    """Return one item per instance (``i1 10→6``): all of few, of many the ten that change most."""
    before, after = found.old.active_tasks, found.new.active_tasks
    for change in found.instances:
        if change.kind is InstanceChangeKind.JOINED:
            before.pop(change.process_id, None)
    everyone = sorted(before.keys() | after.keys(), key=names.reading_order)
    shown = everyone
    if len(everyone) > _MOST_INSTANCES:
        changed = sorted(everyone, key=lambda of: (-abs(before.get(of, 0) - after.get(of, 0)), names.reading_order(of)))
        shown = sorted(changed[:_MOST_CHANGED], key=names.reading_order)
    items = []
    for process_id in shown:
        counts = [str(of[process_id]) if process_id in of else "-" for of in (before, after)]
        items.append(f"{names.instance(process_id)} {counts[1] if counts[0] == counts[1] else '→'.join(counts)}")
    return [*items, f"{len(everyone) - len(shown):,} others"] if len(shown) < len(everyone) else items
