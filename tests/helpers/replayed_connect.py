"""Replays recorded decisions and histories of Connect clusters (``vectors/connect-*.jsonl.gz``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kstream_plan.designs.connect.cluster import SHIPPED, ConnectCluster, WorkerRound
from kstream_plan.designs.connect.draft import ConnectAnswer, ConnectRound, ItemSets, LeaderMemory
from kstream_plan.designs.connect.frozen import freeze, thaw
from kstream_plan.designs.connect.incremental import decide
from kstream_plan.designs.connect.items import Items, assigned_wire, read_wire, revoked_wire
from kstream_plan.designs.connect.laws import NEWEST, ConnectLaws, connect_laws_of
from kstream_plan.designs.connect_eager import EAGER, deal


def difference(record: Mapping[str, Any], java: int, release: str | None = None) -> tuple[Any, Any] | None:
    """Return what came out and what was recorded where they differ first, ``None`` if they do not.

    ``release``: of Kafka, that decided; by default the newest one.
    """
    case, expected = record["in"], dict(record["out"])
    laws = connect_laws_of(release)
    replayed = _sequence(case, java, laws) if "events" in case else _decision(case, java, laws)
    if "memory" in expected:
        expected["memory"] = _plain(expected["memory"])
    if "rounds" in expected:
        expected["rounds"] = [
            {k: v for k, v in rnd.items() if k not in ("sha", "memory")} for rnd in expected["rounds"]
        ]
    expected["final"] = {member: _canonical(wire) for member, wire in expected.get("final", {}).items()}
    return next(
        ((replayed[name], expected[name]) for name in replayed if replayed[name] != expected.get(name)),
        None,
    )


def _decision(case: Mapping[str, Any], java: int, laws: ConnectLaws) -> dict[str, Any]:
    offsets = case.get("offsets")
    behind = bool(offsets) and max(offsets["leader"], offsets["fresh"]) < max(offsets["members"].values())
    incomplete = case.get("inconsistent") or ()
    counts = {name: 0 if name in incomplete else number for name, number in case["connectors"].items()}
    read = _read_as_listed if laws.evens_out_seldom else read_wire
    members = {member: read(wire or []) for member, wire in case["members"]}
    if case.get("protocol") == "eager":
        assigned = dict.fromkeys(members, Items()) if behind else deal(counts, members)
        return {"members": {member: [_wire(assigned_wire(item, java)), []] for member, item in assigned.items()}}
    connect_round = ConnectRound(
        now_ms=case["now"],
        generation=case["generation"],
        last_completed=case["last_completed"],
        task_counts=counts,
        members=members,
        max_delay_ms=case["max_delay"],
        leader_is_behind=behind,
        java=java,
        laws=laws,
    )
    memory = _memory(case.get("memory"))
    answer = decide(connect_round, replace(memory, successive=0) if laws.evens_out_seldom else memory)
    remembered = answer.memory
    if laws.trusts_reports:  # then a leader remembers neither
        remembered = replace(remembered, generation=-1, members=frozenset())
    return {
        "members": _told(answer, java),
        "error": answer.error,
        "delay": answer.delay_ms,
        "memory": _plain(_recorded(remembered)),
    }


def _read_as_listed(wire: Sequence[Any]) -> Items:
    """Return what a wire form holds, as often as it does: before 3.4 it counts so often."""
    items = [(connector, number) for connector, numbers in wire for number in numbers]
    return Items(
        tuple([connector for connector, number in items if number < 0]), tuple([item for item in items if item[1] >= 0])
    )


class Played(NamedTuple):
    """A round of a recorded history, and the cluster after it; ``without``: who did not get the answer."""

    cluster: ConnectCluster
    round: WorkerRound
    synced: bool
    without: Collection[str]


def played(
    case: Mapping[str, Any], java: int, begun: ConnectCluster | None = None, *, laws: ConnectLaws = NEWEST
) -> Iterator[Played]:
    """Play a history, round by round, until nothing happens any more; ``begun``: from this cluster on."""
    rules = EAGER if case["protocol"] == "eager" else SHIPPED._replace(laws=laws)
    cluster = begun or ConnectCluster(case["connectors"], case["max_delay"], rules, java)
    events, gone, rounds, now_ms = list(case["events"]), {}, 0, case["start"]
    while rounds < case["max_rounds"]:
        due = [at for at in (cluster.due_ms(), events[0]["at"] if events else None) if at is not None]
        if not due:
            return
        now_ms, fail, without = max(now_ms, min(due)), None, set()
        while events and events[0]["at"] <= now_ms:
            event = events.pop(0)
            _happen(cluster, event, gone, now_ms)
            fail = event.get("fail", fail)
            without |= set(event.get("lost", ()))
        if not cluster.workers:
            continue
        behind = fail == "lag" and len(cluster.workers) > 1
        rnd = cluster.run_round(now_ms, leader_is_behind=behind, synced=fail != "sync", unanswered_members=without)
        rounds += 1
        yield Played(cluster, rnd, fail != "sync", without)
        now_ms += case["round_ms"]
        cluster = thaw(freeze(cluster), case["max_delay"], rules)


def _sequence(case: Mapping[str, Any], java: int, laws: ConnectLaws) -> dict[str, Any]:
    found = list(played(case, java, laws=laws))
    rounds = [_shown(item.round, java) | ({} if item.synced else {"sync": False}) for item in found]
    workers = found[-1].cluster.workers if found else {}
    final = {member: _canonical(assigned_wire(worker.items, java)) for member, worker in workers.items()}
    settled = len(found) < case["max_rounds"]
    return {"settled": settled, "rounds": rounds, "final": final}


def _happen(cluster: ConnectCluster, event: Mapping[str, Any], gone: dict[str, Any], now_ms: int) -> None:
    for member in event.get("leave", ()):
        worker = cluster.leave(member)
        if worker is not None:
            gone[member] = worker
    for joining in event.get("join", ()):
        new, old = joining if isinstance(joining, list) else (joining, None)
        cluster.join(new, now_ms, gone.pop(old, None))
    for name, number in (event.get("connectors") or {}).items():
        if number is None:
            cluster.task_counts.pop(name, None)
        else:
            cluster.task_counts[name] = number


def _shown(worker_round: WorkerRound, java: int) -> dict[str, Any]:
    answers = {member: item for member, item in _told(worker_round.answer, java).items() if any(item)}
    shown = {"t": worker_round.at_ms, "gen": worker_round.generation, "leader": worker_round.leader, "members": answers}
    error = {"error": worker_round.answer.error} if worker_round.answer.error else {}
    return {**shown, "delay": worker_round.answer.delay_ms, **error}


def _told(answer: ConnectAnswer, java: int) -> dict[str, Any]:
    return {
        member: [_wire(assigned_wire(items, java)), _wire(revoked_wire(answer.revoked_items[member]))]
        for member, items in answer.assigned_items.items()
    }


def _wire(groups: Sequence[tuple[str, list[int]]]) -> list[list[Any]]:
    return [list(group) for group in groups]


def _canonical(wire: Sequence[Any]) -> list[tuple[str, list[int]]]:
    return sorted((name, sorted(numbers)) for name, numbers in wire)


def _sets(wire: Sequence[Any]) -> ItemSets:
    connectors, tasks = read_wire(wire)
    return ItemSets(frozenset(connectors), frozenset(tasks))


def _memory(recorded: Mapping[str, Any] | None) -> LeaderMemory:
    if recorded is None:
        return LeaderMemory()
    return LeaderMemory(
        previous=_sets(recorded["previous"]),
        revocation=_sets(recorded["revocation"]),
        revoked_in_previous=recorded["revoked_in_previous"],
        candidates=tuple(recorded["candidates"]),
        scheduled_at=recorded["scheduled"],
        delay_ms=recorded["delay"],
        generation=recorded["generation"],
        members=frozenset(recorded["members"]),
        successive=recorded["successive"],
    )


def _recorded(memory: LeaderMemory) -> dict[str, Any]:
    return {
        "previous": revoked_wire(Items(tuple(memory.previous.connectors), tuple(memory.previous.tasks))),
        "revocation": revoked_wire(Items(tuple(memory.revocation.connectors), tuple(memory.revocation.tasks))),
        "revoked_in_previous": memory.revoked_in_previous,
        "candidates": list(memory.candidates),
        "scheduled": memory.scheduled_at,
        "delay": memory.delay_ms,
        "generation": memory.generation,
        "members": list(memory.members),
        "successive": memory.successive,
    }


def _plain(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory without the order of what has none."""
    items = {name: _canonical(memory[name]) for name in ("previous", "revocation")}
    return {**memory, **items, "members": sorted(memory["members"])}
