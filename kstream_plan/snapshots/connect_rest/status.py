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
    content: bytes, place: str, *, group_id: str, captured_at: str | None, config: Mapping[str, Any]
) -> StatusRow:
    """Make a row of an answer.

    Args:
        content: the answer, JSON.
        place: the file or address of the answer, as people know it.
        group_id: its group, which the answer does not name.
        captured_at: when it was given, if that is known.
        config: settings, by the names of the snapshot's ``config``.

    Raises:
        SnapshotError: it is cut off, is something else, or has no status or no configuration in it.
    """
    try:
        answer = read_saved_form(content)
        connectors = [_connector(name, parts) for name, parts in sorted(answer.connectors.items(), key=_by_name)]
    except FieldError as error:
        raise SnapshotError(f"{error.path} {error.problem}".strip(), where=printable(place), fix=error.fix) from None
    workers = _workers(connectors)
    if not workers:
        fix = "wait until the workers have started their connectors"
        raise SnapshotError("no worker runs anything by it", where=printable(place), fix=fix)
    row: dict[str, Any] = {"format_version": "1.0", "application_id": group_id, "group_protocol": "connect"}
    if captured_at is not None:
        row["captured_at"] = captured_at
    row |= {"exact": False, "config": dict(config), "connectors": list(map(_connector_row, connectors))}
    row["instances"] = [{"process_id": worker, "host": worker, "held": items} for worker, items in workers.items()]
    return StatusRow(row, (*answer.notes, *_notes(connectors)))


def _by_name(named_parts: tuple[str, Any]) -> bytes:
    return java_string_key(named_parts[0])


def _connector(name: str, parts: Any) -> _Connector:
    try:
        status = _part(parts, "status", "expand=status")
        info = parts["info"] if isinstance(parts.get("info"), Mapping) else None
        numbers = frozenset(
            _number(task, "task", f"info.tasks[{index}]") for index, task in _rows(info or {}, "info", "tasks")
        )
        items = {} if not name else {_CONNECTOR: _placed(_part(status, "connector", ""), "status.connector")}
        for index, task in _rows(status, "status", "tasks"):
            items[_number(task, "id", f"status.tasks[{index}]")] = _placed(task, f"status.tasks[{index}]")
        kind = (status if info is None else info).get("type")
        kind = None if kind is None else checked_text("type", kind, may_be_empty=True) or None
        numbers = frozenset(items) - {_CONNECTOR} if info is None else numbers
    except FieldError as error:
        raise error.inside(f"{shown(name)}:") from None
    if numbers != frozenset(range(len(numbers))):
        part_name = "status" if info is None else "info"
        raise FieldError(f"{shown(name)}: {part_name}.tasks", "are not numbered from 0 on", FIX)
    return _Connector(name, kind, numbers, items)


def _part(document: Any, name: str, asked_by: str) -> Mapping[str, Any]:
    part = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(part, Mapping):
        problem = f"is missing: it was asked for without {asked_by}" if asked_by else "is missing"
        raise FieldError(name, problem, FIX)
    return part


def _rows(document: Mapping[str, Any], outer: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    rows = document.get(name)
    for place, row in enumerate([] if rows is None else checked_list(f"{outer}.{name}", rows)):
        yield place, checked_object(f"{outer}.{name}[{place}]", row)


def _number(row: Mapping[str, Any], name: str, path: str) -> int:
    number = row.get(name)
    if type(number) is not int or not 0 <= number < 1 << 31:
        raise wrong_type(f"{path}.{name}", number, "the number of a task", FIX)
    return number


def _placed(row: Mapping[str, Any], path: str) -> tuple[str, str]:
    return _text(row, "worker_id", path), _text(row, "state", path)


def _text(row: Mapping[str, Any], name: str, path: str) -> str:
    if name not in row:
        raise FieldError(f"{path}.{name}", "is missing", FIX)
    return checked_text(f"{path}.{name}", row[name])


def _assigned_items(connector: _Connector) -> Iterator[tuple[int, str]]:
    """Yield the numbers and workers of a connector's assigned items that are still configured."""
    for number, (worker, state) in sorted(connector.items.items()):
        if state != _NOBODYS and (number == _CONNECTOR or number in connector.numbers):
            yield number, worker


def _workers(connectors: list[_Connector]) -> dict[str, list[dict[str, Any]]]:
    """Return the items of every worker, by the names of connectors."""
    numbers_by_worker: dict[str, dict[str, list[int]]] = {}
    for connector in connectors:
        for number, worker in _assigned_items(connector):
            numbers_by_worker.setdefault(worker, {}).setdefault(connector.name, []).append(number)
    return {
        worker: [{"connector": name, "items": numbers} for name, numbers in numbers_by_worker[worker].items()]
        for worker in sorted(numbers_by_worker, key=java_string_key)
    }


def _connector_row(connector: _Connector) -> dict[str, Any]:
    states = [
        {"item": number, "state": state} for number, (_, state) in sorted(connector.items.items()) if state != "RUNNING"
    ]
    row: dict[str, Any] = {"name": connector.name, "task_count": len(connector.numbers), "states": states}
    return row if connector.kind is None else {**row, "type": connector.kind}


def _notes(connectors: list[_Connector]) -> Iterator[Note]:
    yield Note(
        "rest-only",
        "REST does not show the leader, whether a delay runs, or the members: workers without work are missing, and "
        "what a lost worker ran still shows as running there. The counts of a plan are exact, but not which items move",
    )
    unknown = {
        state: connector.name
        for connector in connectors
        for _, state in connector.items.values()
        if state not in _STATES
    }
    for state, name in sorted(unknown.items()):
        yield Note(
            "unknown-state", f"the state {printable(state)} (of {printable(name)}) is unknown, and counts as assigned"
        )
    stale = [
        f"{connector.name}-{number}"
        for connector in connectors
        for number in sorted(connector.items.keys() - connector.numbers - {_CONNECTOR})
    ]
    if stale:
        yield Note("stale-status", f"{_names_and_verb(stale)} not configured any more, and left out", tuple(stale))
    unassigned_items = [name for connector in connectors for name in _unassigned_items(connector)]
    if unassigned_items:
        message = f"{_names_and_verb(unassigned_items)} unassigned now{_idle_workers(connectors)}"
        yield Note("unassigned", message, tuple(unassigned_items))


def _unassigned_items(connector: _Connector) -> Iterator[str]:
    assigned_numbers = {number for number, _ in _assigned_items(connector)}
    for number in sorted({_CONNECTOR, *connector.numbers} - assigned_numbers):
        yield connector.name if number == _CONNECTOR else f"{connector.name}-{number}"


def _idle_workers(connectors: list[_Connector]) -> str:
    """Return a clause that names the workers whose items are all unassigned, empty if there are none."""
    busy_workers = {worker for connector in connectors for _, worker in _assigned_items(connector)}
    former_workers = {
        worker for connector in connectors for worker, state in connector.items.values() if state == _NOBODYS
    }
    idle_workers = sorted(map(printable, former_workers - busy_workers))
    if not idle_workers:
        return ""
    return f"; {_names_and_verb(idle_workers)} without work now: stopped, or back and waiting for the delay"


def _names_and_verb(names: list[str]) -> str:
    return f"{name_list(list(map(printable, names)), 1)} {'is' if len(names) == 1 else 'are'}"
