"""The answer to ``GET /connectors?expand=status&expand=info`` → a snapshot row.

What people save instead is read as well where it suffices (:mod:`saved_forms`).

It says which worker runs what, by where the worker's REST interface is. Member ids, the leader, a delay that runs, the
order in which a worker holds what it holds, and workers without work are not in it; and what a worker ran that is gone
stays with it, as if it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.connect_rest.saved_forms import FIX, read_saved_form
from kstream_plan.snapshots.rows.fields import (
    FieldError,
    checked_list,
    checked_object,
    checked_text,
    printable,
    shown,
    wrong_type,
)

_CONNECTOR = -1
_STATES = frozenset({"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"})
_NOBODYS = "UNASSIGNED"


class StatusRow(NamedTuple):
    """A row, and what the answer does not say, with its cost."""

    row: Mapping[str, Any]
    notes: tuple[Note, ...]


def with_answers(status: StatusRow, answers: Mapping[str, bool]) -> StatusRow:
    """Return the row with whether each worker answered at its own address."""
    instances = [
        {**worker, "answered": answers[worker["process_id"]]} if worker["process_id"] in answers else worker
        for worker in status.row["instances"]
    ]
    return status._replace(row={**status.row, "instances": instances})


class _Connector(NamedTuple):
    """A connector: its tasks as they are configured, and of each item (-1: itself) its worker and its state."""

    name: str
    kind: str | None
    numbers: frozenset[int]
    items: Mapping[int, tuple[str, str]]


def row_of_status(
    content: bytes, where: str, *, group_id: str, captured_at: str | None, config: Mapping[str, Any]
) -> StatusRow:
    """Make a row of an answer.

    Args:
        content: the answer, JSON.
        where: from where it is, as people know it.
        group_id: the group that it is of, which it does not say.
        captured_at: when it was given, if that is known.
        config: settings, by the names of the snapshot's ``config``.

    Raises:
        SnapshotError: it is cut off, is something else, or has no status or no configuration in it.
    """
    try:
        answer = read_saved_form(content)
        connectors = [_connector(name, of) for name, of in sorted(answer.connectors.items(), key=_by_name)]
    except FieldError as error:
        raise SnapshotError(f"{error.path} {error.what}".strip(), where=printable(where), fix=error.fix) from None
    workers = _workers(connectors)
    if not workers:
        fix = "wait until the workers have started their connectors"
        raise SnapshotError("no worker runs anything by it", where=printable(where), fix=fix)
    row: dict[str, Any] = {"format_version": "1.0", "application_id": group_id, "group_protocol": "connect"}
    if captured_at is not None:
        row["captured_at"] = captured_at
    row |= {"exact": False, "config": dict(config), "connectors": [_written(of) for of in connectors]}
    row["instances"] = [{"process_id": worker, "host": worker, "held": held} for worker, held in workers.items()]
    return StatusRow(row, (*answer.notes, *_notes(connectors)))


def _by_name(item: tuple[str, Any]) -> bytes:
    return java_string_key(item[0])


def _connector(name: str, of: Any) -> _Connector:
    try:
        status = _part(of, "status", "expand=status")
        info = of["info"] if isinstance(of.get("info"), Mapping) else None
        numbers = frozenset(
            _number(task, "task", f"info.tasks[{at}]") for at, task in _rows(info or {}, "info", "tasks")
        )
        items = {} if not name else {_CONNECTOR: _placed(_part(status, "connector", ""), "status.connector")}
        for at, task in _rows(status, "status", "tasks"):
            items[_number(task, "id", f"status.tasks[{at}]")] = _placed(task, f"status.tasks[{at}]")
        kind = (status if info is None else info).get("type")
        kind = None if kind is None else checked_text("type", kind, may_be_empty=True) or None
        numbers = frozenset(items) - {_CONNECTOR} if info is None else numbers
    except FieldError as error:
        raise error.inside(f"{shown(name)}:") from None
    if numbers != frozenset(range(len(numbers))):
        told_by = "status" if info is None else "info"
        raise FieldError(f"{shown(name)}: {told_by}.tasks", "are not numbered from 0 on", FIX)
    return _Connector(name, kind, numbers, items)


def _part(of: Any, name: str, asked_by: str) -> Mapping[str, Any]:
    part = of.get(name) if isinstance(of, Mapping) else None
    if not isinstance(part, Mapping):
        what = f"is missing: it was asked for without {asked_by}" if asked_by else "is missing"
        raise FieldError(name, what, FIX)
    return part


def _rows(of: Mapping[str, Any], outer: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    rows = of.get(name)
    for place, row in enumerate([] if rows is None else checked_list(f"{outer}.{name}", rows)):
        yield place, checked_object(f"{outer}.{name}[{place}]", row)


def _number(of: Mapping[str, Any], name: str, where: str) -> int:
    number = of.get(name)
    if type(number) is not int or not 0 <= number < 1 << 31:
        raise wrong_type(f"{where}.{name}", number, "the number of a task", FIX)
    return number


def _placed(of: Mapping[str, Any], where: str) -> tuple[str, str]:
    return _text(of, "worker_id", where), _text(of, "state", where)


def _text(of: Mapping[str, Any], name: str, where: str) -> str:
    if name not in of:
        raise FieldError(f"{where}.{name}", "is missing", FIX)
    return checked_text(f"{where}.{name}", of[name])


def _assigned(of: _Connector) -> Iterator[tuple[int, str]]:
    """Yield what workers have of a connector; what is not configured any more does not count."""
    for number, (worker, state) in sorted(of.items.items()):
        if state != _NOBODYS and (number == _CONNECTOR or number in of.numbers):
            yield number, worker


def _workers(connectors: list[_Connector]) -> dict[str, list[dict[str, Any]]]:
    """Return what every worker has, by the names of connectors."""
    held: dict[str, dict[str, list[int]]] = {}
    for of in connectors:
        for number, worker in _assigned(of):
            held.setdefault(worker, {}).setdefault(of.name, []).append(number)
    return {
        worker: [{"connector": name, "items": numbers} for name, numbers in held[worker].items()]
        for worker in sorted(held, key=java_string_key)
    }


def _written(of: _Connector) -> dict[str, Any]:
    states = [{"item": number, "state": state} for number, (_, state) in sorted(of.items.items()) if state != "RUNNING"]
    row: dict[str, Any] = {"name": of.name, "task_count": len(of.numbers), "states": states}
    return row if of.kind is None else {**row, "type": of.kind}


def _notes(connectors: list[_Connector]) -> Iterator[Note]:
    yield Note(
        "rest-only",
        "REST does not show the leader, whether a delay runs, or the members: workers without work are missing, and "
        "what a lost worker ran still shows as running there. The counts of a plan are exact, but not which items move",
    )
    unknown = {state: f"{of.name}" for of in connectors for _, state in of.items.values() if state not in _STATES}
    for state, name in sorted(unknown.items()):
        yield Note(
            "unknown-state", f"the state {printable(state)} (of {printable(name)}) is unknown, and counts as assigned"
        )
    stale = [
        f"{of.name}-{number}" for of in connectors for number in sorted(of.items.keys() - of.numbers - {_CONNECTOR})
    ]
    if stale:
        yield Note("stale-status", f"{_some(stale)} not configured any more, and left out", tuple(stale))
    nobodys = [name for of in connectors for name in _nobodys(of)]
    if nobodys:
        yield Note("unassigned", f"{_some(nobodys)} unassigned now{_gone(connectors)}", tuple(nobodys))


def _nobodys(of: _Connector) -> Iterator[str]:
    assigned = {number for number, _ in _assigned(of)}
    for number in sorted({_CONNECTOR, *of.numbers} - assigned):
        yield of.name if number == _CONNECTOR else f"{of.name}-{number}"


def _gone(connectors: list[_Connector]) -> str:
    """Return which workers had something that nobody has, and have nothing else."""
    here = {worker for of in connectors for _, worker in _assigned(of)}
    had = {worker for of in connectors for worker, state in of.items.values() if state == _NOBODYS}
    gone = sorted(map(printable, had - here))
    return f"; {_some(gone)} without work now: stopped, or back and waiting for the delay" if gone else ""


def _some(names: list[str]) -> str:
    return f"{name_list(list(map(printable, names)), 1)} {'is' if len(names) == 1 else 'are'}"
