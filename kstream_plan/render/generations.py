"""The generations of a group as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count, duration


class HistoryLine(NamedTuple):
    """One generation: when it was decided, why, by how many, and what came of it. ``None``: not known."""

    application_id: str
    captured_at: str | None
    generation: int | None
    trigger: str | None
    instances: int
    consumers: int
    moved_tasks: int
    withheld_tasks: int
    probing: bool | None


_HEADS = ("time", "gen", "trigger", "members", "moved", "withheld", "probing")
#: What the records can know: whoever leaves, stops or is killed is gone.
_TRIGGERS = {"leave": "gone"}
_LEGEND = """
members: instances (threads); moved: tasks with another owner; withheld: tasks that wait until their owner gives them up
"""
_GONE = "gone: an instance left, was stopped or killed, which the records cannot tell apart\n"
_RIGHT = {"gen", "moved", "withheld"}


def history(lines: Sequence[HistoryLine]) -> str:
    """Return the table and what its columns say, one generation a line; with several applications, each names it."""
    several = len({line.application_id for line in lines}) > 1
    heads = (*_HEADS, "application") if several else _HEADS
    rows = [heads, *(_cells(line)[: len(heads)] for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    legend = _LEGEND + (_GONE if any(line.trigger == "leave" for line in lines) else "")
    return "".join(_line(row, heads, widths, _RIGHT) for row in rows) + legend


class ConnectLine(NamedTuple):
    """One generation of Connect's workers, and what came of it.

    How many connectors and tasks stopped on a worker, started on one, and are run by nobody; and why it cannot be
    planned from, if it cannot.
    """

    group_id: str
    captured_at: str | None
    generation: int
    leader: str
    workers: int
    stopped: int
    started: int
    unrun: int
    delay_ms: int
    problem: str | None


_CONNECT_HEADS = ("time", "gen", "leader", "workers", "stopped", "started", "nobody", "delay", "group")
_CONNECT_LEGEND = """
stopped, started: connectors and tasks that a worker has no more, or newly; nobody: that nobody runs after it
"""
_CONNECT_RIGHT = {"gen", "workers", "stopped", "started", "nobody", "delay"}


def connect_history(lines: Sequence[ConnectLine]) -> str:
    """Return the table of generations of Connect's workers, what its columns say, and which cannot be planned from."""
    several = len({line.group_id for line in lines}) > 1
    heads = _CONNECT_HEADS if several else _CONNECT_HEADS[:-1]
    rows = [heads, *(_connect_cells(line)[: len(heads)] for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    left = [f"generation {line.generation}: {printable(line.problem)}\n" for line in lines if line.problem]
    table = "".join(_line(row, heads, widths, _CONNECT_RIGHT) for row in rows)
    return table + _CONNECT_LEGEND + "".join(left)


def _connect_cells(line: ConnectLine) -> tuple[str, ...]:
    return (
        line.captured_at or "-",
        str(line.generation),
        printable(line.leader),
        count(line.workers),
        count(line.stopped),
        count(line.started),
        count(line.unrun),
        duration(line.delay_ms) if line.delay_ms else "-",
        printable(line.group_id),
    )


def _cells(line: HistoryLine) -> tuple[str, ...]:
    return (
        line.captured_at or "-",
        "-" if line.generation is None else str(line.generation),
        _TRIGGERS.get(line.trigger or "-", line.trigger or "-"),
        f"{line.instances} ({line.consumers})",
        count(line.moved_tasks),
        count(line.withheld_tasks),
        "-" if line.probing is None else "yes" if line.probing else "no",
        printable(line.application_id),
    )


def _line(row: Sequence[str], heads: Sequence[str], widths: Sequence[int], right: set[str]) -> str:
    cells = [
        cell.rjust(width) if head in right else cell.ljust(width)
        for cell, head, width in zip(row, heads, widths, strict=True)
    ]
    return "  ".join(cells).rstrip() + "\n"
