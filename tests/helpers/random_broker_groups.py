"""Random histories of streams groups and of Kafka Connect groups, from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kstream_plan.model import Instance, Snapshot
from kstream_plan.model.scenario import (
    ConfigChange,
    CreateConnectors,
    DeleteConnectors,
    Event,
    Join,
    Leave,
    RescaleConnectors,
    Return,
    Scenario,
    Stop,
    TaskCount,
    Threads,
)
from tests.helpers import connect_rows, streams_rows

_NAMES = [f"m{number}" for number in range(8)]
#: After so long a group notices that a member has crashed, by default.
_SESSION_MS = 45_000


def streams_case(seed: int) -> tuple[Snapshot, Scenario]:
    """A settled streams group of up to five instances, of which some come and go, and what then happens."""
    rng = random.Random(f"streams {seed}")
    release, here = rng.choice(["4.2", "4.3", "4.4"]), _NAMES[: rng.randint(1, 5)]
    topology = {str(entry): (rng.randint(1, 8), rng.random() < 0.8, 10_000) for entry in range(rng.randint(1, 3))}
    tasks = [task["task_id"] for task in streams_rows.tasks(topology)]
    seats = {
        name: [{"consumer_id": f"{name}-1", "position": place, "active": tasks[place :: len(here)]}]
        for place, name in enumerate(here)
    }
    item = streams_rows.row(release, seats, topology, standbys=rng.randint(0, 2))

    def other(at_ms: int, running: set[str]) -> Event:
        if rng.random() < 0.5:
            return ConfigChange(at_ms=at_ms, settings=(("num_standby_replicas", rng.randint(0, 2)),))
        return Threads(at_ms=at_ms, process_id=rng.choice(sorted(running)), threads=rng.randint(1, 3))

    events = _events(rng, here, 60_000, lambda name: streams_rows.joining(name)[0], other)
    return streams_rows.snapshot(item), Scenario(
        events=tuple(event for event in events if not _too_soon(event, events))
    )


def _too_soon(event: Event, events: list[Any]) -> bool:
    """Tell whether an event changes the threads of a member that crashed so lately that the group has it still."""
    return isinstance(event, Threads) and any(
        isinstance(item, Stop)
        and item.process_ids == (event.process_id,)
        and 0 <= event.at_ms - item.at_ms <= _SESSION_MS
        for item in events
    )


def connect_case(seed: int) -> tuple[Snapshot, Scenario]:
    """A Connect group of up to five workers, evenly loaded or not, and what then happens."""
    rng = random.Random(f"connect {seed}")
    here, delay_ms = _NAMES[: rng.randint(1, 5)], rng.choice([0, 60_000, 300_000])
    configured = {f"c{number}": rng.randint(0, 8) for number in range(rng.randint(1, 4))}
    held: dict[str, dict[str, list[int]]] = {name: {} for name in here}
    for name, tasks in configured.items():
        for item in range(-1, tasks):
            held[rng.choice(here)].setdefault(name, []).append(item)
    entry = connect_rows.row(configured, held, config={"scheduled_rebalance_max_delay_ms": delay_ms})

    def other(at_ms: int, _running: set[str]) -> Event:
        name, tasks = f"c{rng.randrange(6)}", rng.randint(0, 8)
        if name not in configured:
            configured[name] = tasks
            return CreateConnectors(at_ms=at_ms, task_counts=(TaskCount(name, tasks),))
        if rng.random() < 0.5:
            return RescaleConnectors(at_ms=at_ms, task_counts=(TaskCount(name, tasks),))
        del configured[name]
        return DeleteConnectors(at_ms=at_ms, connectors=(name,))

    before = dict(configured)
    events = _events(rng, here, 2 * delay_ms or 30_000, connect_rows.worker, other)
    return connect_rows.snapshot({**entry, "configured": before}), Scenario(events=tuple(events))


def _events(
    rng: random.Random,
    members: list[str],
    most_ms: int,
    newcomer: Callable[[str], Instance],
    other: Callable[[int, set[str]], Event],
) -> list[Any]:
    """Who joins, leaves, crashes and returns, and what else happens, each at most so long after the last."""
    here, gone, found, at_ms = set(members), set[str](), list[Any](), 0
    for _ in range(rng.randint(1, 10)):
        at_ms += rng.randint(0, most_ms)
        name = rng.choice(_NAMES)
        if rng.random() < 0.2:
            found.append(other(at_ms, here))
        elif name in gone:
            found.append(Return(at_ms=at_ms, process_ids=(name,)))
            gone.remove(name)
            here.add(name)
        elif name not in here:
            found.append(Join(at_ms=at_ms, instances=(newcomer(name),)))
            here.add(name)
        elif len(here) > 1:
            crash = rng.random() < 0.5
            end = (
                Stop(at_ms=at_ms, process_ids=(name,), crash=True) if crash else Leave(at_ms=at_ms, process_ids=(name,))
            )
            found.append(end)
            here.remove(name)
            gone.add(name)
    return found
