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
from kstream_plan.snapshots.rows.fields import FieldError, checked_integer, shown
from kstream_plan.snapshots.rows.times import time_ms

CONNECT_PROTOCOLS = ("sessioned", "compatible", "eager")
_JAVA = 17
#: From this Java on tables are sized otherwise.
_NEW_JAVA = 19
_CONNECTOR = -1
#: So many names are told of a longer list.
_MOST_NAMES = 8
#: Of what runs, or does not because somebody wants it so.
_WANTED_STATES = frozenset({"RUNNING", "PAUSED", "STOPPED", "RESTARTING"})
#: Of what no worker has: that nobody holds it tells.
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
        FieldError: what is not planned: workers of unlike configurations or tables, or what is held and not configured.
    """
    _refuse(row)
    notes = list[Note]()
    config, protocol, unknown = _read_config(row.config or {}, as_text=config_as_text)
    notes += _no_settings(row.config or {}, config)
    counts, warnings = _read_connectors(row.connectors or ())
    _check_amount(counts)
    given = row.instances
    if not given:
        raise FieldError("instances", "holds no worker", "give at least one")
    exact = row.exact is not False
    workers, instances, leader, java = _read_workers(given, generation, captured_at_ms, protocol, exact=exact)
    if "java" in java.missing:
        notes.append(Note("java-assumed", f"Workers that do not say so run Java {_JAVA}"))
    _check_configured(workers, counts)
    answered = {item.process_id: item.answered for item in given}
    silent = [worker for worker in workers if answered[worker.member_id] is False]
    warnings += [*_held_by_several(workers), *_twice(given, instances), *_not_answering(silent)]
    if protocol != "eager":
        told = list[Note]()
        if leader is not None:
            workers, told = _with_leaders_memory(workers, leader, generation)
            notes += told
        if told or leader is None:
            all_asked = None not in answered.values()
            warnings += _perhaps_delayed(workers, counts, config, exact=leader is not None, all_asked=all_asked)
    group = Group.of(row.application_id, work_of(counts), instances)
    held = {worker.member_id: worker.held for worker in workers}
    number = group.task_index_by_text
    holdings = tuple(
        Holding(tuple(sorted(number[name] for name in held[instance.process_id].names())))
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


def _read_config(given: Mapping[str, Any], *, as_text: bool) -> tuple[AssignmentConfig, str, list[Note]]:
    """Read the workers' settings, and the protocol that they rebalance by."""
    protocol = given.get("connect_protocol")
    if protocol in (None, ""):
        protocol = CONNECT_PROTOCOLS[0]
    if protocol not in CONNECT_PROTOCOLS:
        what = f"is {shown(protocol)}, which Connect does not have"
        raise FieldError("config.connect_protocol", what, f"it can be {', '.join(map(repr, CONNECT_PROTOCOLS))}")
    values: dict[str, Any] = {}
    for name, (field, default, low, high) in CONNECT_SETTINGS.items():
        value = number_from_text(given.get(name)) if as_text else given.get(name)
        values[field] = default if value is None else checked_integer(f"config.{name}", value, low, high)
    known = {*CONNECT_SETTINGS, "connect_protocol"}
    unknown = [unknown_key(key, sorted(known)) for key in sorted(set(given) - known)]
    return replace(AssignmentConfig(), **values), str(protocol), unknown


def _no_settings(given: Mapping[str, Any], config: AssignmentConfig) -> tuple[Note, ...]:
    """Say that Kafka's defaults, which are those of ``config``, count where a row has no settings of its workers."""
    if any(given.get(name) is not None for name in CONNECT_SETTINGS):
        return ()
    values = (f"{name.replace('_', '.')} {duration(getattr(config, name))}" for name in CONNECT_SETTINGS)
    message = (
        f"The snapshot holds no settings of the workers: Kafka's defaults are assumed ({', '.join(values)}); snapshot "
        "--connect-config takes theirs"
    )
    return (Note(DEFAULT_SETTINGS, message),)


def _read_connectors(items: Sequence[written.Connector]) -> tuple[tuple[tuple[str, int], ...], list[Note]]:
    counts: dict[str, int] = {}
    failed, idle = list[str](), list[str]()
    for place, item in enumerate(items):
        name = item.name
        for one in item.states or ():
            item_name = name if one.item in (None, _CONNECTOR) else f"{name}-{one.item}"
            if one.state == "FAILED":
                failed.append(item_name)
            elif one.state is not None and one.state not in (*_WANTED_STATES, _NOBODYS):
                idle.append(f"{item_name} {shown(one.state)}")
        if name in counts:
            raise FieldError(f"connectors[{place}].name", f"is {shown(name)}, which is there already", "name each once")
        counts[name] = item.task_count
    notes = []
    if failed:
        message = f"{_some(failed)}: FAILED, and assigned all the same: a rebalance does not restart it"
        notes.append(Note("failed-items", message, tuple(failed)))
    if idle:
        message = f"{_some(idle)}: not running by its state; if a worker holds it, it counts as running there"
        notes.append(Note("idle-items", message, tuple(idle)))
    return tuple(sorted(counts.items(), key=lambda one: java_string_key(one[0]))), notes


def _check_amount(counts: Sequence[tuple[str, int]]) -> None:
    if sum(number for _, number in counts) > MOST_TASKS:
        name, most = max(counts, key=lambda of: of[1])
        what = f"have more than {MOST_TASKS:,} tasks in all, {shown(name)} {most:,} of them"
        raise FieldError("connectors", what, "give the number of tasks that are configured as task_count")


class _Java:
    """The version of Java that all workers have, as far as it matters."""

    def __init__(self) -> None:
        self.version = _JAVA
        self.missing: set[str] = set()
        self._seen: set[bool] = set()

    def see(self, version: int | None) -> None:
        if version is None:
            self.missing.add("java")
        self.version = _JAVA if version is None else version
        self._seen.add(self.version >= _NEW_JAVA)
        if len(self._seen) > 1:
            what = f"is {self.version}, and another worker's is on the other side of {_NEW_JAVA}: that is not planned"
            raise FieldError("java", what, "plan again once all workers run one version of Java")


def _read_workers(
    given: Sequence[written.Instance], generation: int, captured_at_ms: int | None, protocol: str, *, exact: bool
) -> tuple[list[ConnectWorker], list[Instance], str | None, _Java]:
    workers: dict[str, ConnectWorker] = {}
    instances, leaders, offsets, java = list[Instance](), list[str](), set[int | None](), _Java()
    for place, item in enumerate(given):
        try:
            worker = _worker(item, generation, captured_at_ms)
            java.see(item.java)
        except FieldError as error:
            raise error.inside(f"instances[{place}]") from None
        if worker.member_id in workers:
            what = f"is {shown(worker.member_id)}, which is there already"
            raise FieldError(f"instances[{place}].process_id", what, "give every worker its own member id")
        workers[worker.member_id] = worker
        offsets.add(item.config_offset)
        seat = (Consumer(consumer_id=worker.member_id, protocols=(protocol,)),)
        instances.append(Instance(process_id=worker.member_id, host=item.host, consumers=seat))
        leaders += [worker.member_id] if item.leader else []
    if exact and len(leaders) != 1:
        what = "name no leader" if not leaders else f"name {len(leaders)} leaders"
        raise FieldError(
            "instances", what, "name the one leader: whether there is a delay depends on what it remembers"
        )
    if len(offsets) > 1:
        what = "have read configurations of different offsets (config_offset): such a round fails, and is not planned"
        raise FieldError("instances", what, "capture the group again once all workers have read the same")
    return list(workers.values()), instances, leaders[0] if exact else None, java


def _worker(item: written.Instance, generation: int, captured_at_ms: int | None) -> ConnectWorker:
    if item.consumers:
        raise FieldError("consumers", "is given, and a worker has none", "leave it out; give held")
    return ConnectWorker(
        member_id=item.process_id,
        held=_items(item.held),
        memory=_memory(item.memory, captured_at_ms),
        last_completed=generation if item.last_completed is None else item.last_completed,
    )


def _items(groups: Sequence[written.ConnectorItems] | None) -> ConnectItems:
    connectors: dict[str, None] = {}
    tasks: dict[tuple[str, int], None] = {}
    for group in groups or ():
        for number in group.items or ():
            if number == _CONNECTOR:
                connectors[group.connector] = None
            else:
                tasks[group.connector, number] = None
    return ConnectItems(tuple(connectors), tuple(tasks))


def _memory(given: written.Memory | None, captured_at_ms: int | None) -> WorkerMemory:
    if given is None:
        return WorkerMemory()
    scheduled_ms = time_ms(given.scheduled_at)
    if scheduled_ms is not None and captured_at_ms is None:
        what = "says that a delay runs, but captured_at is missing: the time that is left is unknown"
        raise FieldError("memory.scheduled_at", what, "give captured_at")
    return WorkerMemory(
        previous=_items(given.previous).sorted(),
        revocation=_items(given.revocation).sorted(),
        revoked_in_previous=given.revoked_in_previous or False,
        candidates=given.candidates or (),
        scheduled_at_ms=None if scheduled_ms is None else scheduled_ms - (captured_at_ms or 0),
        delay_ms=given.delay_ms or 0,
        generation=-1 if given.generation is None else given.generation,
        members=tuple(sorted(given.members or ())),
        successive=given.successive or 0,
    )


def _check_configured(workers: Sequence[ConnectWorker], counts: Sequence[tuple[str, int]]) -> None:
    known = {*all_items(counts).names()}
    for place, worker in enumerate(workers):
        other = next((name for name in worker.held.names() if name not in known), None)
        if other is not None:
            what = f"holds {shown(other)}, which is not configured: what was deleted and still runs is not planned"
            fix = "capture the group again after the next rebalance"
            raise FieldError(f"instances[{place}].held", what, fix)


def _held_by_several(workers: Sequence[ConnectWorker]) -> list[Note]:
    """Warn of what several workers hold, so that it runs several times."""
    holders: dict[str, list[str]] = {}
    for worker in workers:
        for name in worker.held.names():
            holders.setdefault(name, []).append(worker.member_id)
    several = {name: of for name, of in holders.items() if len(of) > 1}
    if not several:
        return []
    told = [f"{name} by {' and '.join(of)}" for name, of in several.items()]
    message = (
        f"Several workers run the same work at once: {_some(told)}. The next rebalance stops it on all of them, and "
        "the one after that starts it on one"
    )
    return [Note(HELD_BY_SEVERAL, message, tuple(several))]


def _twice(given: Sequence[written.Instance], instances: Sequence[Instance]) -> list[Note]:
    """Warn of what a worker holds twice, and of workers at one address."""
    notes, twice = list[Note](), list[str]()
    for item in given:
        held = [(of.connector, number) for of in item.held or () for number in of.items or ()]
        twice += [
            of if number == _CONNECTOR else f"{of}-{number}"
            for (of, number), times in Counter(held).items()
            if times > 1
        ]
    if twice:
        message = f"{_some(twice)}: twice in what one worker holds; it counts once, at its first place"
        notes.append(Note("held-twice", message, tuple(twice)))
    shared = [host for host, times in Counter(of.host for of in instances if of.host).items() if times > 1]
    if shared:
        message = (
            f"Several workers have the address {_some(shared)}, and all of them count: one may be an earlier process, "
            "which is a member until session.timeout.ms has passed, and what it ran is unassigned"
        )
        notes.append(Note(SAME_ADDRESS, message, tuple(shared)))
    return notes


def _perhaps_delayed(
    workers: Sequence[ConnectWorker],
    counts: Sequence[tuple[str, int]],
    config: AssignmentConfig,
    *,
    exact: bool,
    all_asked: bool,
) -> list[Note]:
    """Warn of work that nobody may run, if it is not known what the leader remembers of it.

    REST (not ``exact``) never tells: what a lost worker ran shows as running there, and a delay shows nowhere.
    ``all_asked``: at its own address every worker was asked whether it is there.
    """
    delay_ms = config.scheduled_rebalance_max_delay_ms or 0
    configured, held = set(all_items(counts).names()), {name for worker in workers for name in worker.held.names()}
    if not delay_ms or (exact and configured == held):
        return []
    waits = f"up to {delay_ms / 1000:g}s (scheduled.rebalance.max.delay.ms)"
    unassigned = tuple(sorted(configured - held, key=java_string_key))
    if unassigned:
        message = (
            f"{len(unassigned)} of {len(configured)} connectors and tasks are unassigned ({_some(unassigned)}), and "
            "what the leader remembers of them is unknown: they are assumed to be new. If a worker has gone, they "
            f"wait {waits}"
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
    return [Note(DELAY_UNKNOWN, f"{message}. {tells}", unassigned)]


def _not_answering(silent: Sequence[ConnectWorker]) -> list[Note]:
    """Warn of workers that did not answer at their own addresses."""
    if not silent:
        return []
    items = [name for worker in silent for name in worker.held.names()]
    message = (
        f"No answer from {_some([worker.member_id for worker in silent])}: gone, or not reachable from here. "
        f"{len(items)} connectors and tasks that show as running there may be unassigned. Fix: ask from where "
        "workers reach each other, or give their logs (snapshot FILE)"
    )
    return [Note(WORKER_SILENT, message, tuple(items))]


def _some(names: Sequence[str]) -> str:
    """Return names, the first of many."""
    return name_list(names, _MOST_NAMES)


def _with_leaders_memory(
    workers: Sequence[ConnectWorker], leader: str, generation: int
) -> tuple[list[ConnectWorker], list[Note]]:
    """Complete what the leader remembers, and when all join again while a delay runs."""
    found, notes = list(workers), list[Note]()
    place = next(place for place, worker in enumerate(found) if worker.member_id == leader)
    if found[place].memory == WorkerMemory():
        found[place] = replace(found[place], memory=remembering_all(found, generation))
        message = (
            "No delay is assumed to run, and no rebalance to be under way: the leader remembers what all hold and "
            "nothing else"
        )
        notes.append(Note("leader-memory-assumed", message))
    memory = found[place].memory
    if any(memory.revocation) and memory.generation == generation:
        found = [replace(worker, joins_at_ms=0) for worker in found]  # who has lost something joins again at once
    elif memory.scheduled_at_ms is not None:
        found = [replace(worker, joins_at_ms=memory.scheduled_at_ms) for worker in found]
    return found, notes
