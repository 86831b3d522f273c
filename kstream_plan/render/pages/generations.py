"""The page of a group's generations: what ``snapshot --list`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from kstream_plan.render.page import Column, Line, Page, Row, Table, as_sentence, columns_of, text_cell, text_row
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count, duration, utc

T = TypeVar("T")

#: What the records can know: an instance that leaves, stops or is killed is gone.
_TRIGGERS = {"leave": "gone"}


class Generation(NamedTuple):
    """A generation of an application; ``None``: not known.

    application_id: whose.
    captured_at: when it was decided.
    generation: its number.
    trigger: what started the rebalance.
    instances: how many took part.
    consumers: threads of these.
    moved_tasks: tasks with another owner.
    withheld_tasks: tasks that wait until their owner gives them up.
    has_probe: whether a probing rebalance follows.
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


class ConnectGeneration(NamedTuple):
    """A generation of a group of Connect workers.

    group_id: whose.
    captured_at: when it was decided; None: not known.
    generation: its number.
    leader: the worker that decided.
    workers: how many took part.
    stops: connectors and tasks that a worker has no more.
    starts: connectors and tasks that a worker newly has.
    unassigned_count: connectors and tasks that no worker has after it.
    delay_ms: how long the leader waits for a worker to come back; 0: not at all.
    problem: why it cannot be planned from; None: it can.
    """

    group_id: str
    captured_at: str | None
    generation: int
    leader: str
    workers: int
    stops: int
    starts: int
    unassigned_count: int
    delay_ms: int
    problem: str | None


_COLUMNS = columns_of(
    *("Time (UTC)", ">Generation", "Trigger", ">Instances", ">Moved", ">Withheld", "Probing", ">Threads"),
    wide={"Threads": 90},
)
_CONNECT_COLUMNS = columns_of(
    *("Time (UTC)", ">Generation", "Leader", ">Workers", ">Stopped", ">Started", ">Unassigned", ">Delay"),
    wide={"Delay": 90},
)
_NOTE = (
    "Moved: tasks with another owner. Withheld: tasks that wait until their owner gives them up. Probing: whether a "
    "probing rebalance follows. The last one is planned from, with --as-of TIME the newest by then."
)
_GONE = " Gone: an instance left, was stopped or was killed; the records do not tell which."
_CONNECT_NOTE = (
    "Stopped, started: connectors and tasks that a worker no longer has, or newly has. Unassigned: those that no "
    "worker has after it. The last one is planned from, with --generation N that one."
)


def generations_page(generations: Sequence[Generation]) -> Page:
    """Return the page of generations: a table for each application."""
    by_application = _grouped(generations, [generation.application_id for generation in generations])
    has_departures = any(generation.trigger == "leave" for generation in generations)
    tables = _tables({name: list(map(_row, rows)) for name, rows in by_application.items()}, _COLUMNS)
    return Page(
        title=_title(list(by_application), len(generations), "application"),
        source=_period([generation.captured_at for generation in generations]),
        tables=_with_note(tables, _NOTE + _GONE * has_departures),
    )


def connect_generations_page(generations: Sequence[ConnectGeneration]) -> Page:
    """Return the page of generations of Connect workers: a table for each group, and which cannot be planned from."""
    by_group = _grouped(generations, [generation.group_id for generation in generations])
    tables = _tables({name: list(map(_connect_row, rows)) for name, rows in by_group.items()}, _CONNECT_COLUMNS)
    problems = [generation for generation in generations if generation.problem]
    return Page(
        title=_title(list(by_group), len(generations), "group"),
        source=_period([generation.captured_at for generation in generations]),
        tables=_with_note(tables, _CONNECT_NOTE),
        lines=tuple(_problem_line(generation, with_owner=len(by_group) > 1) for generation in problems),
    )


def _grouped(generations: Sequence[T], names: Sequence[str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for name, generation in zip(names, generations, strict=True):
        groups.setdefault(name, []).append(generation)
    return groups


def _title(names: Sequence[str], number: int, noun: str) -> str:
    owner = printable(names[0]) if len(names) == 1 else count(len(names), noun)
    return f"{owner}: {count(number, 'generation')}"


def _period(times: Sequence[str | None]) -> str:
    """Return the time from the first to the last generation; empty if none is known."""
    known_times = sorted(time for time in times if time is not None)
    if not known_times:
        return ""
    first, last = utc(known_times[0]), utc(known_times[-1])
    if first == last:
        return last
    end = last[len("2026-11-21 ") :] if first[:10] == last[:10] else last
    return f"{first[: -len(' UTC')]} to {end}"


def _tables(rows: dict[str, list[Row]], columns: tuple[Column, ...]) -> list[Table]:
    """Return a table for each application, under its name if there are several."""
    return [Table(printable(name) if len(rows) > 1 else "", columns, tuple(of_name)) for name, of_name in rows.items()]


def _with_note(tables: Sequence[Table], note: str) -> tuple[Table, ...]:
    """Return the tables with what their columns say below the last one."""
    return (*tables[:-1], *(replace(table, note=note) for table in tables[-1:]))


def _time(captured_at: str | None) -> str:
    return "unknown" if captured_at is None else f"{captured_at[:10]} {captured_at[11:19]}"


def _row(generation: Generation) -> Row:
    trigger = generation.trigger or "unknown"
    probe_text = "unknown" if generation.has_probe is None else "yes" if generation.has_probe else "no"
    texts = (
        _time(generation.captured_at),
        "unknown" if generation.generation is None else f"{generation.generation:,}",
        _TRIGGERS.get(trigger, trigger),
        f"{generation.instances:,}",
        f"{generation.moved_tasks:,}",
        f"{generation.withheld_tasks:,}",
        probe_text,
        f"{generation.consumers:,}",
    )
    return text_row(*texts)


def _connect_row(generation: ConnectGeneration) -> Row:
    idle = text_cell(f"{generation.unassigned_count:,}", "unknown" if generation.unassigned_count else "plain")
    texts = (
        _time(generation.captured_at),
        f"{generation.generation:,}",
        printable(generation.leader),
        f"{generation.workers:,}",
        f"{generation.stops:,}",
        f"{generation.starts:,}",
    )
    delay = duration(generation.delay_ms) if generation.delay_ms else ""
    return text_row(*texts, idle, delay)


def _problem_line(generation: ConnectGeneration, *, with_owner: bool) -> Line:
    owner = f" of {printable(generation.group_id)}" if with_owner else ""
    problem = printable(generation.problem or "")
    text = f"generation {generation.generation:,}{owner} cannot be planned from: {problem}"
    return Line("note", "cannot-be-planned", as_sentence(text))
