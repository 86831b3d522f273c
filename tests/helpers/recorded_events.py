"""Events of real groups (``tests/real/more``): what the log before one tells, and what the group then did.

Each folder has the log of the group's leader, what was done to its processes, and the application's settings. A log
is cut at an event; from what it then tells, the plan of that event is held against the generations that followed.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.model import Consumer, Holding, Instance, Rates, Snapshot
from kstream_plan.model.scenario import Event, Join, Leave, Return, Scenario, Stop
from kstream_plan.model.times import format_time
from kstream_plan.plans import Plan, Round
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import Entry, checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.captured import REAL

MORE = REAL / "more"

#: When a line was logged.
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event: of which ``group``, ``at`` what time (the first line of ``membership.jsonl`` at or after it).

    ``lines`` of that file belong to it, and ``generations`` were decided before the next one. ``restore`` and
    ``produce`` are the group's true rates, in records per second and instance, or task.
    """

    name: str
    group: str
    at: str
    lines: int
    generations: int
    leaves: bool = False
    restore: float | None = None
    produce: float | None = None

    @property
    def at_ms(self) -> int:
        """When it happened, in milliseconds since 1970."""
        return parse_time(self.changes()[0]["time"])

    def changes(self) -> Sequence[Mapping[str, Any]]:
        """What was done to the processes."""
        done = [json.loads(line) for line in (MORE / self.group / "membership.jsonl").open(encoding="utf-8")]
        first = next(place for place, line in enumerate(done) if line["time"] >= self.at)
        return done[first : first + self.lines]


EVENTS = (
    Recorded(name="fresh", group="fresh", at="2026-11-22T12:33", lines=1, generations=4, leaves=True),
    Recorded(name="duo3", group="duo3", at="2026-11-22T12:42", lines=1, generations=6, restore=20_000),
    Recorded(name="bounce", group="bounce", at="2026-11-22T12:20:05", lines=9, generations=3),
    Recorded(name="drain", group="bounce", at="2026-11-22T12:26", lines=1, generations=4),
    Recorded(name="big4", group="big", at="2026-11-22T12:26", lines=1, generations=15, restore=400, produce=8),
    Recorded(name="bigcrash", group="big", at="2026-11-22T12:38", lines=3, generations=10, restore=400, produce=8),
    Recorded(name="bigremove", group="big", at="2026-11-22T12:46", lines=1, generations=13, restore=400, produce=8),
    Recorded(name="two", group="two", at="2026-11-22T12:20", lines=1, generations=10, restore=20_000),
    Recorded(name="twocrash", group="two", at="2026-11-22T12:27", lines=3, generations=12),
)
BY_NAME = {event.name: event for event in EVENTS}


class Outcome(NamedTuple):
    """How a plan did, generation by generation: which came out, and how far each was off in time.

    ``alike`` is by instance, ``threads_alike`` thread by thread, where the threads' ids are those of the plan.
    """

    alike: tuple[bool, ...]
    threads_alike: tuple[bool, ...]
    late_ms: tuple[int, ...]

    def __str__(self) -> str:
        late = " ".join(f"{ms / 1000:+.1f}" for ms in self.late_ms)
        marks = "".join("=" if threads else "~" if alike else "x" for alike, threads in zip(*self[:2], strict=True))
        return f"{sum(self.alike)} of {len(self.alike)}: {marks}; late by {late} s"


@cache
def log_lines(group: str) -> tuple[bytes, ...]:
    """The lines of a group's log."""
    with gzip.open(MORE / group / "leader.log.gz") as file:
        return tuple(file)


def log_until(group: str, at_ms: int) -> io.BytesIO:
    """The log as it was at a time; the log has one instance after the other."""
    kept, text, keeps = [], format_time(at_ms).encode(), True
    for line in log_lines(group):
        time = TIME.search(line)
        keeps = time[0] < text if time else keeps
        if keeps:
            kept.append(line)
    return io.BytesIO(b"".join(kept))


def settings(group: str) -> dict[str, Any]:
    """What the application was configured with."""
    return dict(load_streams_config(MORE / group / "app.properties").overrides)


@cache
def generations(group: str) -> tuple[Entry, ...]:
    """Everything that a group did, but that its instances were stopped at the end."""
    (*earlier, last) = read_leader_logs(["-"], config=settings(group), stdin=log_until(group, 1 << 45)).entries
    row = {name: value for name, value in last.row.items() if name != "newer_rebalance"}
    return *earlier, last._replace(row=row)


def followed(event: Recorded) -> tuple[Entry, ...]:
    """The generations that followed an event, up to the next one."""
    after = [entry for entry in generations(event.group) if (entry.at_ms or 0) > event.at_ms]
    return tuple(after[: event.generations])


def row_before(event: Recorded) -> dict[str, Any]:
    """The newest snapshot row of the log as it was at the event."""
    found = read_leader_logs(["-"], config=settings(event.group), stdin=log_until(event.group, event.at_ms))
    return checked_rows(found.entries[-1:])[0]


def before(event: Recorded, *, true_rates: bool = True) -> Snapshot:
    """The group at the event as the log tells it, by default with the rates that it had in truth, if they are known."""
    snapshot = snapshot_from_row(row_before(event), event.name)
    if true_rates and event.restore is not None:
        rates = Rates(restore_per_instance=event.restore, produce_per_task=event.produce)
        return replace(snapshot, rates=rates)
    return snapshot


def scenario(event: Recorded) -> Scenario:
    """What was done, as a scenario; new members have the ids that they really had."""
    known = {of["host"]: of["process_id"] for of in row_before(event)["instances"]}
    found: list[Event] = []
    for change in event.changes():
        at_ms, host = parse_time(change["time"]) - event.at_ms, change["instance"]
        match change["event"]:
            case "sigterm" if event.leaves:
                found.append(Leave(at_ms=at_ms, process_ids=(known[host],)))
            case "sigterm" | "kill -9" as how:
                found.append(Stop(at_ms=at_ms, process_ids=(known[host],), crash=how == "kill -9"))
            case "start" if host in known:
                found.append(Return(at_ms=at_ms, process_ids=(known[host],)))
            case "start":
                found.append(Join(at_ms=at_ms, instances=(_joined(event, host),)))
    return Scenario(events=tuple(found))


def planned(event: Recorded, **options: Any) -> Plan:
    """The plan of an event, made from what was known before it."""
    return plan(before(event, **options), scenario=scenario(event), now_ms=event.at_ms)


def outcome(event: Recorded, made: Plan) -> Outcome:
    """Hold a plan against what followed."""
    alike, threads_alike, late_ms = [], [], []
    for place, entry in enumerate(followed(event)):
        rnd = made.rounds[place] if place < len(made.rounds) else None
        by_instance, by_thread = ({}, {}) if rnd is None else _said(made, rnd)
        seen, threads_seen = _seen(entry)
        same = by_instance == seen and rnd is not None and rnd.probing_rebalance == entry.decision["probing_rebalance"]
        alike.append(same)
        threads_alike.append(same and by_thread == threads_seen)
        if rnd is not None:
            late_ms.append((entry.at_ms or 0) - event.at_ms - rnd.at_ms)
    return Outcome(tuple(alike), tuple(threads_alike), tuple(late_ms))


#: What somebody was decided to run, and to keep a copy of; as texts.
_Tasks = tuple[frozenset[str], frozenset[str]]


def _said(made: Plan, rnd: Round) -> tuple[dict[str, _Tasks], dict[str, _Tasks]]:
    """What a round decided, by process and by consumer; without who is decided nothing."""
    group = made.group
    by_consumer = {
        consumer_id: _tasks(made, held) for consumer_id, held in zip(group.consumer_ids, rnd.decided, strict=True)
    }
    by_process = {
        instance.process_id: _together([by_consumer[of.consumer_id] for of in instance.consumers])
        for instance in group.instances
    }
    return _somebody(by_process), _somebody(by_consumer)


def _tasks(made: Plan, held: Holding) -> _Tasks:
    names = [str(task.task_id) for task in made.group.tasks]
    return frozenset(names[task] for task in held.active), frozenset(names[task] for task in held.standby + held.warmup)


def _seen(entry: Entry) -> tuple[dict[str, _Tasks], dict[str, _Tasks]]:
    """The same of a recorded decision."""
    decided = entry.decision["decided"]
    of_process = {name: (frozenset(of["active"]), frozenset(of["standby"])) for name, of in decided.items()}
    of_consumer = {
        name: (frozenset(held["active"]), frozenset(held["standby"]))
        for of in decided.values()
        for name, held in of["consumers"].items()
    }
    return _somebody(of_process), _somebody(of_consumer)


def _together(parts: Sequence[_Tasks]) -> _Tasks:
    return frozenset().union(*(active for active, _ in parts)), frozenset().union(*(standby for _, standby in parts))


def _somebody(tasks: Mapping[str, _Tasks]) -> dict[str, _Tasks]:
    return {name: of for name, of in tasks.items() if any(of)}


def _joined(event: Recorded, host: str) -> Instance:
    """An instance as it was when it first took part."""
    rows = [entry.row for entry in followed(event)]
    found = next(of for row in rows for of in row["instances"] if of["host"] == host)
    consumers = tuple(Consumer(consumer_id=of["consumer_id"]) for of in found["consumers"])
    return Instance(process_id=found["process_id"], host=host, consumers=consumers)
