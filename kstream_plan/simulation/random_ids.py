"""Ids for what does not exist yet: random in reality, drawn here from the application id and ordinals.

The same application id and number of the draw give the same ids, wherever they are drawn.
"""

from __future__ import annotations

import random
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from kstream_plan.errors import ScenarioError
from kstream_plan.model import Consumer, Group, Instance, ItemName, is_uuid
from kstream_plan.model.scenario import (
    ALL,
    Bounce,
    Burst,
    Event,
    Join,
    Leave,
    NewInstance,
    ProduceRate,
    RestoreRate,
    Return,
    Scenario,
    Stop,
    Threads,
    in_time,
)
from kstream_plan.planner.instance_ids import renamed
from kstream_plan.simulation.instance_names import process_id_of

_MOST_NAMED = 10

#: Ids of Connect workers: the client id, and what the broker adds to it, anew for every process.
_WORKER = re.compile(r"(.+-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL | re.ASCII)
#: ``orders-3``: ids that people number.
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL | re.ASCII)


def is_random(scenario: Scenario, group: Group) -> bool:
    """Tell whether a scenario for this group has ids that are not known yet."""
    workers = _client_ids(group) is not None
    return _next_number(group) is None and any(_open_ids(event, workers=workers) for event in scenario.events)


def with_random_ids(scenario: Scenario, group: Group, draw: int) -> Scenario:
    """Return the scenario in time, with every open id drawn and every name a process id; ``draw`` counts from 0.

    Ids are of the group's own style: random UUIDs, or the next numbers if the group's ids are numbered ones. New
    instances without a host get one, ``new-1``, ``new-2`` and so on in the order of joining; they may be named by it.
    Connect workers, whose ids end with a UUID of the broker's, come back under another one.

    Raises:
        ScenarioError: a name stands for no instance, or for several, or for no subtopology.
    """
    events = in_time(scenario.events)
    cast = _Cast(group, _Ids(group, draw), _free_hosts(group, events))
    return replace(scenario, events=tuple(cast.resolved(event) for event in events))


def usual_threads(group: Group) -> int:
    """Return how many threads most instances have (the fewest, of several most frequent ones)."""
    counts = Counter(group.capacities)
    return min(counts, key=lambda capacity: (-counts[capacity], capacity), default=1)


def _client_ids(group: Group) -> Mapping[str, str] | None:
    """Return what the id of each worker begins with, by its id; ``None``: no workers, or not of Connect's style."""
    matches = {instance.process_id: _WORKER.fullmatch(instance.process_id) for instance in group.instances}
    if not matches or not all(isinstance(task.task_id, ItemName) for task in group.tasks):
        return None
    return {name: match[1] for name, match in matches.items() if match} if all(matches.values()) else None


def _open_ids(event: Event, *, workers: bool) -> bool:
    if workers and isinstance(event, Return | Bounce):
        return True
    if isinstance(event, Join):
        return any(isinstance(new, NewInstance) and new.process_id is None for new in event.instances)
    if isinstance(event, Bounce):
        return bool(event.surge) and not event.new_instances
    return isinstance(event, Return) and not event.keeps_disk and not event.new_process_ids


class _Ids:
    """The ids of one draw, one after the other."""

    def __init__(self, group: Group, draw: int) -> None:
        self._seed = f"{group.application_id}/{draw}".encode("utf-8", "surrogatepass")
        self._ordinal = 0
        self._used_ids = set(group.instance_index)
        self._next_number = _next_number(group)

    def next(self, client_id: str = "") -> str:
        """Return an unused id; of a worker, with its ``client_id`` first."""
        while True:
            self._ordinal += 1
            if self._next_number is None:
                bits = random.Random(self._seed + b"/%d" % self._ordinal).getrandbits(128)
                name = f"{client_id}{uuid.UUID(int=bits, version=4)}"
            else:
                name = f"{self._next_number[0]}{self._next_number[1] + self._ordinal - 1}"
            if name not in self._used_ids:
                self._used_ids.add(name)
                return name


def _next_number(group: Group) -> tuple[str, int] | None:
    """Return what all ids begin with and the next free number, if they are numbered and no UUIDs."""
    if _client_ids(group) is not None:
        return None
    ids = [instance.process_id for instance in group.instances]
    matches = [None if is_uuid(name) else _NUMBERED.fullmatch(name) for name in ids]
    last_numbers = {
        match[1]: max(int(number_match[2]) for number_match in matches if number_match) for match in matches if match
    }
    if len(last_numbers) != 1 or not all(matches):
        return None
    [(beginning, last)] = last_numbers.items()
    return beginning, last + 1


def _free_hosts(group: Group, events: Sequence[Event]) -> Iterator[str]:
    """Yield names for new instances that no instance has or gets."""
    new_instances = (new for event in events if isinstance(event, Join) for new in event.instances)
    used_names = {instance.host for instance in (*group.instances, *new_instances)} | group.instance_index.keys()
    return (name for number in count(1) if (name := f"new-{number}") not in used_names)


class _Cast:
    """The ids of instances by their names, event by event."""

    def __init__(self, group: Group, ids: _Ids, hosts: Iterator[str]) -> None:
        self._group = group
        self._ids = ids
        self._hosts = hosts
        self._new: dict[str, str] = {}
        self._running = {instance.process_id: None for instance in group.instances}
        self._client_ids = _client_ids(group)
        self._instances = {instance.process_id: instance for instance in group.instances}

    def resolved(self, event: Event) -> Event:  # noqa: PLR0911 - one case per kind of event
        match event:
            case Join():
                instances = tuple(self._instance(new) for new in event.instances)
                self._running |= dict.fromkeys(instance.process_id for instance in instances)
                return replace(event, instances=instances)
            case Leave() | Stop():
                resolved_event = replace(event, process_ids=self._process_ids(event.process_ids, event.where))
                for process_id in resolved_event.process_ids:
                    self._running.pop(process_id, None)
                return resolved_event
            case Return():
                return self._back(event)
            case Bounce():
                return self._bounce(event)
            case RestoreRate():
                return replace(event, process_ids=self._process_ids(event.process_ids, event.where))
            case ProduceRate() | Burst():
                return self._of_subtopology(event)
            case Threads():
                if event.process_id == ALL:
                    fix = "write one such event for each instance"
                    raise ScenarioError("threads are those of one instance", where=event.where, fix=fix)
                return replace(event, process_id=self._process_ids((event.process_id,), event.where)[0])
            case _:
                return event

    def _of_subtopology(self, event: ProduceRate | Burst) -> Event:
        if event.subtopology not in (None, *self._group.subtopologies):
            subtopologies = list(dict.fromkeys(self._group.subtopologies))
            names = ", ".join(subtopologies[:_MOST_NAMED])
            fix = f"name one of {names}{', …' if len(subtopologies) > _MOST_NAMED else ''}"
            raise ScenarioError(f"there is no subtopology {event.subtopology!r}", where=event.where, fix=fix)
        return event

    def _back(self, event: Return) -> Return:
        old_ids = self._process_ids(event.process_ids, event.where)
        if event.keeps_disk and self._client_ids is None:
            self._running |= dict.fromkeys(old_ids)
            return replace(event, process_ids=old_ids)
        new_ids = event.new_process_ids or tuple(self._ids.next(self._client_id(old_id)) for old_id in old_ids)
        event = replace(event, keeps_disk=False)
        self._instances |= {
            new_id: renamed(self._instances[old_id], new_id) for old_id, new_id in zip(old_ids, new_ids, strict=True)
        }
        self._running |= dict.fromkeys(new_ids)
        names = dict(zip((*event.process_ids, *old_ids), new_ids * 2, strict=True))
        self._new |= names
        return replace(event, process_ids=old_ids, new_process_ids=new_ids)

    def _bounce(self, event: Bounce) -> Bounce:
        old_ids = self._process_ids(event.process_ids, event.where)
        if not event.surge and self._client_ids is None:
            return replace(event, process_ids=old_ids)
        if not event.surge:
            return_event = self._back(Return(at_ms=event.at_ms, process_ids=old_ids, where=event.where))
            for process_id in old_ids:
                self._running.pop(process_id, None)
            return replace(
                event,
                process_ids=old_ids,
                new_instances=tuple(self._instances[new_process_id] for new_process_id in return_event.new_process_ids),
            )
        replacements = event.new_instances or tuple(map(self._stand_in, old_ids))
        if event.surge < 0 or len(replacements) != len(old_ids):
            message = f"{len(replacements)} instances replace {len(old_ids)}, {event.surge} at a time"
            raise ScenarioError(
                message, where=event.where, fix="name as many new ones, or none, and at least 1 at a time"
            )
        resolved_event = replace(
            event,
            process_ids=old_ids,
            new_instances=tuple(self._instance(new_instance) for new_instance in replacements),
        )
        for process_id in old_ids:
            self._running.pop(process_id, None)
        self._running |= dict.fromkeys(str(instance.process_id) for instance in resolved_event.new_instances)
        return resolved_event

    def _stand_in(self, process_id: str) -> NewInstance:
        """Return one like an instance of the group."""
        place = self._group.instance_index.get(process_id)
        if place is None:  # it has joined meanwhile
            return NewInstance()
        old = self._group.instances[place]
        return NewInstance(threads=old.capacity, rack=old.rack, client_tags=old.client_tags)

    def _process_ids(self, names: tuple[str, ...], place: str) -> tuple[str, ...]:
        if names == (ALL,):
            return tuple(self._running)
        process_ids = (self._new.get(name) or process_id_of(self._group, name, place) for name in names)
        return tuple(dict.fromkeys(process_ids))

    def _instance(self, new: NewInstance | Instance) -> Instance:
        result = new if isinstance(new, Instance) else self._new_instance(new)
        self._new[result.process_id] = result.process_id
        self._instances[result.process_id] = result
        if result.host is not None:
            self._new[result.host] = result.process_id
        return result

    def _new_instance(self, new: NewInstance) -> Instance:
        instance_with_host = new if new.host is not None else replace(new, host=next(self._hosts))
        return _instance_of(
            instance_with_host,
            new.process_id or self._ids.next(self._client_id(None, instance_with_host.host)),
            self._group,
        )

    def _client_id(self, process_id: str | None, host: str | None = None) -> str:
        """Return what the id of a worker that comes back begins with, or of a new one on a host; else nothing."""
        if self._client_ids is None:
            return ""
        match = _WORKER.fullmatch(process_id or "")
        if match is not None:
            return match[1]
        by_host = {f"connect-{instance.host}-" for instance in self._group.instances}
        usual = next(iter(self._client_ids.values()))
        return f"connect-{host}-" if by_host >= set(self._client_ids.values()) else usual


def _instance_of(new: NewInstance, process_id: str, group: Group) -> Instance:
    threads = new.threads or usual_threads(group)
    names = new.consumer_ids or tuple(f"{process_id}-StreamThread-{number}" for number in range(1, threads + 1))
    protocols = next(
        (consumer.protocols for instance in group.instances for consumer in instance.consumers), ("cooperative",)
    )
    return Instance(
        process_id=process_id,
        consumers=tuple(
            Consumer(consumer_id=name, group_instance_id=name if new.static else None, protocols=protocols)
            for name in names
        ),
        host=new.host,
        rack=new.rack,
        client_tags=tuple(sorted(new.client_tags)),
    )
