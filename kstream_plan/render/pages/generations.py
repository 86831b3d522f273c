"""The page of a group's generations: what ``snapshot --list`` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kstream_plan.model.times import format_time
from kstream_plan.render.page import Column, Line, Page, Row, Table, as_sentence, columns_of, text_cell, text_row
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count, duration, span_to, utc, utc_pair
from kstream_plan.snapshots.connect_log.history import ConnectEntry


class Generation(NamedTuple):
    """A generation of an application; ``None``: not known.

    application_id: whose.
    captured_at: when it was decided.
    generation: its number; counted from 1 on a page where it is not known.
    trigger: what started the rebalance.
    instances: how many took part.
    consumers: threads of these.
    moved_tasks: tasks with another owner.
    withheld_tasks: tasks that wait until their owner gives them up.
    has_probe: whether a probing rebalance follows.
    plan: the id of the plan whose target file it followed, or the code for which it followed none; ``None``: another
        class than that which follows target files decided it, or nothing tells.
    """

    application_id: str
    captured_at: str | None
    generation: int | None
    trigger: str | None
    instances: int
    consumers: int
    moved_tasks: int
    withheld_tasks: int
    has_probe: bool | None
    plan: str | None = None


_COLUMNS = columns_of(
    *("Time (UTC)", ">Generation", "Trigger", ">Instances", ">Moved", ">Withheld", "Probing", ">Threads"),
    wide={"Threads": 90},
)
_PLAN_COLUMNS = columns_of("Plan", wide={"Plan": 110})
_CONNECT_COLUMNS = columns_of(
    *("Time (UTC)", ">Generation", "Leader", ">Workers", ">Stopped", ">Started", ">Unassigned", ">Delay"),
    wide={"Delay": 90},
)
_NOTE = (
    "Moved: tasks with another owner. Withheld: tasks that wait until their owner gives them up. Probing: whether a "
    "probing rebalance follows. A plan starts from the last one, or, with --as-of TIME, from the newest by then."
)
_PLANS = " Plan: that of the target file which the decision followed, or why it followed none."
_GONE = " Gone: an instance left, was stopped or was killed; the records do not tell which."
_COUNTED = " The log does not tell Kafka's generations: they are counted in it, and why and diff take these numbers."
_CONNECT_NOTE = (
    "Stopped, started: connectors and tasks that a worker no longer has, or newly has. Unassigned: those that no "
    "worker has after it. A plan starts from the last one, or, with --generation N, from that one."
)
_PARTIAL = " Or more, or less: workers whose logs are not there are not counted."


def generations_page(generations: Sequence[Generation]) -> Page:
    """Return the page of generations: a table for each application."""
    places, has_plans = Counter[str](), any(entry.plan is not None for entry in generations)
    rows = list[tuple[str, Row]]()
    for entry in generations:
        places[entry.application_id] += 1
        plan = (printable(entry.plan or "–"),) if has_plans else ()
        rows.append((entry.application_id, _row(entry, places[entry.application_id], *plan)))
    columns = _COLUMNS + _PLAN_COLUMNS if has_plans else _COLUMNS
    note = _NOTE + _GONE * any(entry.trigger == "leave" for entry in generations)
    note += _PLANS * has_plans
    note += _COUNTED * any(entry.generation is None for entry in generations)
    return _page("application", rows, [entry.captured_at for entry in generations], columns, note)


def connect_generations_page(entries: Sequence[ConnectEntry]) -> Page:
    """Return the page of generations of Connect workers: a table for each group, and which cannot be planned from."""
    times = [None if entry.at_ms is None else format_time(entry.at_ms) for entry in entries]
    rows = [(entry.group_id, _connect_row(entry, time)) for entry, time in zip(entries, times, strict=True)]
    page = _page("group", rows, times, _CONNECT_COLUMNS, _CONNECT_NOTE + _PARTIAL * any(map(_is_partial, entries)))
    with_owner = len(page.tables) > 1
    return replace(page, lines=tuple(_problem_line(entry, with_owner) for entry in entries if entry.problem))


def _page(
    noun: str, rows: Sequence[tuple[str, Row]], times: Sequence[str | None], columns: tuple[Column, ...], note: str
) -> Page:
    """Return the page of rows with their owners: a table for each owner, under its name if there are several."""
    tables: dict[str, list[Row]] = {}
    for owner, row in rows:
        tables.setdefault(owner, []).append(row)
    subject = printable(rows[0][0]) if len(tables) == 1 else count(len(tables), noun)
    return Page(
        title=f"{subject}: {count(len(rows), 'generation')}",
        source=_period(times),
        tables=tuple(
            Table(
                printable(owner) if len(tables) > 1 else "", columns, tuple(owner_rows), note if owner == last else ""
            )
            for last in list(tables)[-1:]
            for owner, owner_rows in tables.items()
        ),
    )


def _period(times: Sequence[str | None]) -> str:
    """Return the time from the first to the last generation; empty if none is known."""
    known_times = sorted(time for time in times if time is not None)
    if not known_times:
        return ""
    first, last = known_times[0], known_times[-1]
    return utc(last) if utc(first) == utc(last) else " to ".join(utc_pair(first, last))


def _time(captured_at: str | None) -> str:
    return "unknown" if captured_at is None else f"{captured_at[:10]} {captured_at[11:19]}"


def _row(generation: Generation, place: int, *plan: str) -> Row:
    trigger = generation.trigger or "unknown"
    return text_row(
        _time(generation.captured_at),
        f"{place if generation.generation is None else generation.generation:,}",
        "gone" if trigger == "leave" else trigger,  # left, stopped or killed: the records do not tell which
        f"{generation.instances:,}",
        f"{generation.moved_tasks:,}",
        f"{generation.withheld_tasks:,}",
        "unknown" if generation.has_probe is None else "yes" if generation.has_probe else "no",
        f"{generation.consumers:,}",
        *plan,
    )


def _is_partial(entry: ConnectEntry) -> bool:
    return bool(entry.problem) or any(note.code == "members-assumed" for note in entry.notes)


def _connect_row(entry: ConnectEntry, time: str | None) -> Row:
    is_open = _is_partial(entry)
    counts = (
        span_to(number, number, is_open=is_open) for number in (entry.workers, entry.stopped_count, entry.started_count)
    )
    at_most = "at most " * (is_open and entry.unassigned_count > 0)
    idle = text_cell(f"{at_most}{entry.unassigned_count:,}", "unknown" if entry.unassigned_count else "plain")
    delay = duration(entry.delay_ms) if entry.delay_ms else ""
    return text_row(_time(time), f"{entry.generation:,}", printable(entry.leader), *counts, idle, delay)


def _problem_line(entry: ConnectEntry, with_owner: bool) -> Line:
    owner = f" of {printable(entry.group_id)}" if with_owner else ""
    text = f"generation {entry.generation:,}{owner} cannot be planned from: {printable(entry.problem or '')}"
    return Line("note", "cannot-be-planned", as_sentence(text))
