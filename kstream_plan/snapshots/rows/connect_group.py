"""A row of a Kafka Connect group: its connectors, its workers, what each holds in its order, and what it remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kstream_plan.model import Consumer, Group, GroupState, Holding, Instance, Note, Snapshot
from kstream_plan.model.connect_group import (
    CONNECT_SETTINGS,
    DELAY_UNKNOWN,
    HELD_BY_SEVERAL,
    SAME_ADDRESS,
    WORKER_SILENT,
    ConnectGroup,
    ConnectItems,
    ConnectWorker,
    WorkerMemory,
    all_items,
    remembering_all,
    work_of,
)
from kstream_plan.model.java_hash import java_string_key
from kstream_plan.model.not_modelled import with_release_warned_of
from kstream_plan.model.note import name_list
from kstream_plan.model.scenario import MOST_TASKS
from kstream_plan.model.setting_texts import number_from_text
from kstream_plan.model.settings import DEFAULT_SETTINGS, AssignmentConfig
from kstream_plan.model.times import duration, format_time
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.config import unknown_key
from kstream_plan.snapshots.rows.fields import FieldError, checked_integer, shown, time_ms

CONNECT_PROTOCOLS = ("sessioned", "compatible", "eager")
_JAVA = 17
#: Since this Java hash tables have other sizes.
_NEW_JAVA = 19
_CONNECTOR = -1
#: How many names of a longer list a message has.
_MOST_NAMES = 8
#: States of connectors and tasks that run, or are stopped on purpose.
_WANTED_STATES = frozenset({"RUNNING", "PAUSED", "STOPPED", "RESTARTING"})
#: State of an unassigned item: no worker holds it.
_NOBODYS = "UNASSIGNED"


def read_connect(
    row: written.Snapshot,
    generation: int,
    captured_at_ms: int | None,
    *,
    config_as_text: bool = False,
    release: str | None = None,
) -> Snapshot:
    """Read the row of a Connect group; ``release`` is the oldest of Kafka that its workers run.

    Raises:
        FieldError: no plan is possible: workers differ in their configuration or tables, or hold unconfigured items.
    """
    _refuse(row)
    notes = list[Note]()
    config, protocol, unknown = _read_config(row.config or {}, as_text=config_as_text)
    notes += _no_settings(row.config or {}, config)
    counts, warnings = _read_connectors(row.connectors or ())
    _check_amount(counts)
    worker_rows = row.instances
    if not worker_rows:
        raise FieldError("instances", "holds no worker", "give at least one")
    exact = row.exact is not False
    workers, instances, leader, java = _read_workers(worker_rows, generation, captured_at_ms, protocol, exact=exact)
    if java.is_assumed:
        notes.append(Note("java-assumed", f"Workers that do not say so run Java {_JAVA}"))
    _check_configured(workers, counts)
    answered_by_id = {worker_row.process_id: worker_row.answered for worker_row in worker_rows}
    silent = [worker for worker in workers if answered_by_id[worker.member_id] is False]
    warnings += [*_held_by_several(workers), *_duplicates(worker_rows, instances), *_not_answering(silent)]
    if protocol != "eager":
        memory_notes = list[Note]()
        if leader is not None:
            workers, memory_notes = _with_leaders_memory(workers, leader, generation)
            notes += memory_notes
        if memory_notes or leader is None:
            all_asked = None not in answered_by_id.values()
            warnings += _perhaps_delayed(workers, counts, config, exact=leader is not None, all_asked=all_asked)
    group = Group.of(row.application_id, work_of(counts), instances)
    items_by_id = {worker.member_id: worker.held for worker in workers}
    number = group.task_index_by_text
    holdings = tuple(
        Holding(tuple(sorted(number[name] for name in items_by_id[instance.process_id].names())))
        for instance in group.instances
    )
    cluster = ConnectGroup(
        task_counts=counts, workers=tuple(workers), leader=leader, generation=generation, java=java.version
    )
    state = GroupState(
        group=group,
        generation=generation,
        at_ms=0,
        holdings=holdings,
        copies=((),) * len(group.tasks),
        leader=None if leader is None else group.instance_index[leader],
        memory=cluster,
    )
    snapshot = Snapshot(
        state=state,
        config=config,
        captured_at=None if captured_at_ms is None else format_time(captured_at_ms),
        warnings=(*unknown, *warnings),
        streams_version=release,
        assumptions=tuple(notes),
        group_protocol="connect",
    )
    return with_release_warned_of(snapshot)


def _refuse(row: written.Snapshot) -> None:
    for name in ("tasks", "lags", "decision", "copies_since"):
        if getattr(row, name):
            raise FieldError(name, "is given, and a Connect group has none", "leave it out: it has connectors")


def _read_config(settings: Mapping[str, Any], *, as_text: bool) -> tuple[AssignmentConfig, str, list[Note]]:
    """Read the workers' settings, and the protocol that they rebalance by."""
    protocol = settings.get("connect_protocol")
    if protocol in (None, ""):
        protocol = CONNECT_PROTOCOLS[0]
    if protocol not in CONNECT_PROTOCOLS:
        problem = f"is {shown(protocol)}, which Connect does not have"
        raise FieldError("config.connect_protocol", problem, f"it can be {', '.join(map(repr, CONNECT_PROTOCOLS))}")
    values: dict[str, Any] = {}
    for name, (field, default, low, high) in CONNECT_SETTINGS.items():
        value = number_from_text(settings.get(name)) if as_text else settings.get(name)
        values[field] = default if value is None else checked_integer(f"config.{name}", value, low, high)
    setting_names = {*CONNECT_SETTINGS, "connect_protocol"}
    unknown = [unknown_key(key, sorted(setting_names)) for key in sorted(set(settings) - setting_names)]
    return replace(AssignmentConfig(), **values), str(protocol), unknown


def _no_settings(settings: Mapping[str, Any], config: AssignmentConfig) -> tuple[Note, ...]:
    """Say that Kafka's defaults, which are those of ``config``, count where a row has no settings of its workers."""
    if any(settings.get(name) is not None for name in CONNECT_SETTINGS):
        return ()
    values = (f"{name.replace('_', '.')} {duration(getattr(config, name))}" for name in CONNECT_SETTINGS)
    message = (
        f"The snapshot holds no settings of the workers: Kafka's defaults are assumed ({', '.join(values)}); snapshot "
        "--streams-config takes theirs"
    )
    return (Note(DEFAULT_SETTINGS, message),)


def _read_connectors(connector_rows: Sequence[written.Connector]) -> tuple[tuple[tuple[str, int], ...], list[Note]]:
    counts: dict[str, int] = {}
    failed, idle = list[str](), list[str]()
    for index, connector_row in enumerate(connector_rows):
        name = connector_row.name
        for item_state in connector_row.states or ():
            item_name = name if item_state.item in (None, _CONNECTOR) else f"{name}-{item_state.item}"
            if item_state.state == "FAILED":
                failed.append(item_name)
            elif item_state.state is not None and item_state.state not in (*_WANTED_STATES, _NOBODYS):
                idle.append(f"{item_name} {shown(item_state.state)}")
        if name in counts:
            raise FieldError(f"connectors[{index}].name", f"is {shown(name)}, which is there already", "name each once")
        counts[name] = connector_row.task_count
    notes = []
    if failed:
        message = f"{_first_names(failed)}: FAILED, and assigned all the same: a rebalance does not restart it"
        notes.append(Note("failed-items", message, tuple(failed)))
    if idle:
        message = f"{_first_names(idle)}: not running by its state; if a worker holds it, it counts as running there"
        notes.append(Note("idle-items", message, tuple(idle)))
    return tuple(sorted(counts.items(), key=lambda connector: java_string_key(connector[0]))), notes


def _check_amount(counts: Sequence[tuple[str, int]]) -> None:
    if sum(number for _, number in counts) > MOST_TASKS:
        name, most_tasks = max(counts, key=lambda connector: connector[1])
        problem = f"have more than {MOST_TASKS:,} tasks in all, {shown(name)} {most_tasks:,} of them"
        raise FieldError("connectors", problem, "give the number of tasks that are configured as task_count")


class _Java:
    """The version of Java that all workers have, as far as it matters."""

    def __init__(self) -> None:
        self.version = _JAVA
        self.is_assumed = False
        self._have_new_tables: set[bool] = set()

    def see(self, version: int | None) -> None:
        if version is None:
            self.is_assumed = True
        self.version = _JAVA if version is None else version
        self._have_new_tables.add(self.version >= _NEW_JAVA)
        if len(self._have_new_tables) > 1:
            problem = (
                f"is {self.version}, and another worker's is on the other side of {_NEW_JAVA}: that is not planned"
            )
            raise FieldError("java", problem, "plan again once all workers run one version of Java")


def _read_workers(
    worker_rows: Sequence[written.Instance], generation: int, captured_at_ms: int | None, protocol: str, *, exact: bool
) -> tuple[list[ConnectWorker], list[Instance], str | None, _Java]:
    workers: dict[str, ConnectWorker] = {}
    instances, leaders, offsets, java = list[Instance](), list[str](), set[int | None](), _Java()
    for index, worker_row in enumerate(worker_rows):
        try:
            worker = _worker(worker_row, generation, captured_at_ms)
            java.see(worker_row.java)
        except FieldError as error:
            raise error.inside(f"instances[{index}]") from None
        if worker.member_id in workers:
            problem = f"is {shown(worker.member_id)}, which is there already"
            raise FieldError(f"instances[{index}].process_id", problem, "give every worker its own member id")
        workers[worker.member_id] = worker
        offsets.add(worker_row.config_offset)
        consumers = (Consumer(consumer_id=worker.member_id, protocols=(protocol,)),)
        instances.append(Instance(process_id=worker.member_id, host=worker_row.host, consumers=consumers))
        leaders += [worker.member_id] if worker_row.leader else []
    if exact and len(leaders) != 1:
        problem = "name no leader" if not leaders else f"name {len(leaders)} leaders"
        raise FieldError(
            "instances", problem, "name the one leader: whether there is a delay depends on what it remembers"
        )
    if len(offsets) > 1:
        problem = (
            "have read configurations of different offsets (config_offset): such a round fails, and is not planned"
        )
        raise FieldError("instances", problem, "capture the group again once all workers have read the same")
    return list(workers.values()), instances, leaders[0] if exact else None, java


def _worker(worker_row: written.Instance, generation: int, captured_at_ms: int | None) -> ConnectWorker:
    if worker_row.consumers:
        raise FieldError("consumers", "is given, and a worker has none", "leave it out; give held")
    return ConnectWorker(
        member_id=worker_row.process_id,
        held=_items(worker_row.held),
        memory=_memory(worker_row.memory, captured_at_ms),
        last_completed=generation if worker_row.last_completed is None else worker_row.last_completed,
    )


def _items(parts: Sequence[written.ConnectorItems] | None) -> ConnectItems:
    connectors: dict[str, None] = {}
    tasks: dict[tuple[str, int], None] = {}
    for part in parts or ():
        for number in part.items or ():
            if number == _CONNECTOR:
                connectors[part.connector] = None
            else:
                tasks[part.connector, number] = None
    return ConnectItems(tuple(connectors), tuple(tasks))


def _memory(memory: written.Memory | None, captured_at_ms: int | None) -> WorkerMemory:
    if memory is None:
        return WorkerMemory()
    scheduled_ms = time_ms(memory.scheduled_at)
    if scheduled_ms is not None and captured_at_ms is None:
        problem = "says that a delay runs, but captured_at is missing: the time that is left is unknown"
        raise FieldError("memory.scheduled_at", problem, "give captured_at")
    return WorkerMemory(
        previous=_items(memory.previous).sorted(),
        revocation=_items(memory.revocation).sorted(),
        revoked_in_previous=memory.revoked_in_previous or False,
        candidates=memory.candidates or (),
        scheduled_at_ms=None if scheduled_ms is None else scheduled_ms - (captured_at_ms or 0),
        delay_ms=memory.delay_ms or 0,
        generation=-1 if memory.generation is None else memory.generation,
        members=tuple(sorted(memory.members or ())),
        successive=memory.successive or 0,
    )


def _check_configured(workers: Sequence[ConnectWorker], counts: Sequence[tuple[str, int]]) -> None:
    configured_names = {*all_items(counts).names()}
    for index, worker in enumerate(workers):
        deleted_name = next((name for name in worker.held.names() if name not in configured_names), None)
        if deleted_name is not None:
            problem = (
                f"holds {shown(deleted_name)}, which is not configured: what was deleted and still runs is not planned"
            )
            fix = "capture the group again after the next rebalance"
            raise FieldError(f"instances[{index}].held", problem, fix)


def _held_by_several(workers: Sequence[ConnectWorker]) -> list[Note]:
    """Warn of connectors and tasks that several workers hold, and so run several times."""
    holders: dict[str, list[str]] = {}
    for worker in workers:
        for name in worker.held.names():
            holders.setdefault(name, []).append(worker.member_id)
    duplicates = {name: member_ids for name, member_ids in holders.items() if len(member_ids) > 1}
    if not duplicates:
        return []
    duplicate_texts = [f"{name} by {' and '.join(member_ids)}" for name, member_ids in duplicates.items()]
    message = (
        f"Several workers run the same work at once: {_first_names(duplicate_texts)}. The next rebalance stops it on "
        "all of them, and the one after that starts it on one"
    )
    return [Note(HELD_BY_SEVERAL, message, tuple(duplicates))]


def _duplicates(worker_rows: Sequence[written.Instance], instances: Sequence[Instance]) -> list[Note]:
    """Warn of connectors and tasks that one worker lists twice, and of workers at one address."""
    notes, names = list[Note](), list[str]()
    for worker in worker_rows:
        numbers = [(part.connector, number) for part in worker.held or () for number in part.items or ()]
        names += [
            connector if number == _CONNECTOR else f"{connector}-{number}"
            for (connector, number), times in Counter(numbers).items()
            if times > 1
        ]
    if names:
        message = f"{_first_names(names)}: twice in what one worker holds; it counts once, at its first place"
        notes.append(Note("held-twice", message, tuple(names)))
    hosts = Counter(instance.host for instance in instances if instance.host)
    addresses = [host for host, times in hosts.items() if times > 1]
    if addresses:
        message = (
            f"Several workers have the address {_first_names(addresses)}, and all of them count: one may be an earlier "
            "process, which is a member until session.timeout.ms has passed, and what it ran is unassigned"
        )
        notes.append(Note(SAME_ADDRESS, message, tuple(addresses)))
    return notes


def _perhaps_delayed(
    workers: Sequence[ConnectWorker],
    counts: Sequence[tuple[str, int]],
    config: AssignmentConfig,
    *,
    exact: bool,
    all_asked: bool,
) -> list[Note]:
    """Warn of work that may be unassigned while it is unknown what the leader remembers of it.

    REST (not ``exact``) never tells: what a lost worker ran shows as running there, and a delay shows nowhere.
    ``all_asked``: at its own address every worker was asked whether it is there.
    """
    delay_ms = config.scheduled_rebalance_max_delay_ms or 0
    configured = set(all_items(counts).names())
    held_names = {name for worker in workers for name in worker.held.names()}
    if not delay_ms or (exact and configured == held_names):
        return []
    waits = f"up to {delay_ms / 1000:g}s (scheduled.rebalance.max.delay.ms)"
    unassigned_names = tuple(sorted(configured - held_names, key=java_string_key))
    if unassigned_names:
        message = (
            f"{len(unassigned_names)} of {len(configured)} connectors and tasks are unassigned "
            f"({_first_names(unassigned_names)}), and what the leader remembers of them is unknown: they are assumed "
            f"to be new. If a worker has gone, they wait {waits}"
        )
    elif any(max(kind) - min(kind) > 1 for kind in zip(*(map(len, worker.held) for worker in workers), strict=True)):
        message = (
            "A worker has two connectors, or two tasks, more than another one, unlike in any group that has settled: "
            f"a rebalance is under way, or a delay runs, in which some work waits {waits}"
        )
    else:
        unseen = "a worker that was killed and has restarted since"
        if not all_asked:
            unseen = "not every worker was asked (snapshot --connect-url asks them), and one that has gone or restarted"
        message = f"Whether a delay runs is unknown: {unseen} may be without work, {waits}"
    tells = "The workers' logs would tell (snapshot FILE)"
    return [Note(DELAY_UNKNOWN, f"{message}. {tells}", unassigned_names)]


def _not_answering(silent: Sequence[ConnectWorker]) -> list[Note]:
    """Warn of workers that did not answer at their own addresses."""
    if not silent:
        return []
    item_names = [name for worker in silent for name in worker.held.names()]
    message = (
        f"No answer from {_first_names([worker.member_id for worker in silent])}: gone, or not reachable from here. "
        f"{len(item_names)} connectors and tasks that show as running there may be unassigned. Fix: ask from where "
        "workers reach each other, or give their logs (snapshot FILE)"
    )
    return [Note(WORKER_SILENT, message, tuple(item_names))]


def _first_names(names: Sequence[str]) -> str:
    """Return the names as a text, only the first ones of many."""
    return name_list(names, _MOST_NAMES)


def _with_leaders_memory(
    workers: Sequence[ConnectWorker], leader: str, generation: int
) -> tuple[list[ConnectWorker], list[Note]]:
    """Complete what the leader remembers, and when all join again while a delay runs."""
    updated_workers, notes = list(workers), list[Note]()
    place = next(place for place, worker in enumerate(updated_workers) if worker.member_id == leader)
    if updated_workers[place].memory == WorkerMemory():
        updated_workers[place] = replace(updated_workers[place], memory=remembering_all(updated_workers, generation))
        message = (
            "No delay is assumed to run, and no rebalance to be under way: the leader remembers what all hold and "
            "nothing else"
        )
        notes.append(Note("leader-memory-assumed", message))
    memory = updated_workers[place].memory
    if any(memory.revocation) and memory.generation == generation:
        updated_workers = [
            replace(worker, joins_at_ms=0) for worker in updated_workers
        ]  # who has lost something joins again at once
    elif memory.scheduled_at_ms is not None:
        updated_workers = [replace(worker, joins_at_ms=memory.scheduled_at_ms) for worker in updated_workers]
    return updated_workers, notes
