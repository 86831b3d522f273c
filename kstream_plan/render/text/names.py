"""What instances, threads and tasks are called in the output: short, unique and harmless."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from kstream_plan.model import Group, Instance, ItemName, WorkId
from kstream_plan.model.group import thread_number
from kstream_plan.plans import Seat
from kstream_plan.render.text.escape import printable

_LEAST_PREFIX = 4
_LONG_NAME = 16
_LONGEST_NAME = 32
_LEAST_CUT = 4
_MOST_AREAS = 6


class Names:
    """The names of one group's members and tasks, each of them printable.

    Instances go by host or pod name where known, else by the shortest unique prefix of their id; a domain, then a
    beginning, that all of them share is left out (``common`` is that beginning, empty if there is none). ``earlier`` is
    the same group with other consumers, which are named too. ``have_disks``: the instances keep state, unlike workers.
    """

    #: Any other text of the snapshot, and a note, which may quote it, made printable.
    escape = escape_message = staticmethod(printable)

    def __init__(self, group: Group, earlier: Group | None = None) -> None:
        self.have_disks = not group.tasks or not all(isinstance(task.task_id, ItemName) for task in group.tasks)
        self._short, self.common = _short_names(group.instances)
        self._topics = _first_topics(group)
        self._areas = _areas(group.instances)
        self._threads = ({} if earlier is None else _thread_labels(earlier)) | _thread_labels(group)

    def instance(self, process_id: str) -> str:
        """Return an instance's short name."""
        return printable(self._short[process_id])

    def instances(self, process_ids: Sequence[str]) -> list[str]:
        """Return the short names of several instances, in the order people count in (``i2`` before ``i10``)."""
        return [self.instance(process_id) for process_id in sorted(process_ids, key=self.reading_order)]

    def area(self, process_id: str) -> tuple[str, str] | None:
        """Return the rack or zone of an instance (``zone``, ``a``), escaped, if all of them have one of a few."""
        area = self._areas.get(process_id)
        return None if area is None else (printable(area[0]), printable(area[1]))

    def whole_area(self, process_ids: Sequence[str]) -> str:
        """Return ``zone a`` if these are all of its instances, and several; else nothing."""
        areas = {self._areas.get(process_id) for process_id in process_ids}
        members = {process_id for process_id, area in self._areas.items() if {area} == areas}
        if len(members) < 2 or members != set(process_ids):
            return ""
        return " ".join(self.area(process_ids[0]) or ())

    def reading_order(self, process_id: str) -> tuple[tuple[tuple[int, str], ...], str]:
        """Return a key that sorts instances by short name, numbers in it by value, then by id."""
        parts = re.findall(r"\d+|\D+", self._short[process_id], re.ASCII)
        return tuple((int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts), process_id

    def seat(self, seat: Seat) -> str:
        """Return an instance with its thread: ``i3/2``; without, if it has only one."""
        thread = self._threads[seat.consumer_id]
        return printable(self._short[seat.process_id] + (f"/{thread}" if thread else ""))

    def task(self, task_id: WorkId) -> str:
        """Return a task's id."""
        return printable(str(task_id))

    def task_and_topic(self, task_id: WorkId) -> str:
        """Return a task's id beside the topic its subtopology reads: ``2_0 (topic audit)``."""
        topic = self._topics.get(task_id.group)
        return f"{self.task(task_id)} (topic {printable(_shorten(topic))})" if topic else self.task(task_id)

    def move(self, task_id: WorkId, source: str | None, destination: str) -> str:
        """Return ``0_0 i3→i5``, or ``0_0 to i5`` if it was unassigned; the ends are process ids."""
        path = "to " if source is None else f"{self._short[source]}→"
        return printable(f"{task_id} {path}{self._short[destination]}")

    def copies(self, task_ids: Sequence[WorkId], kind: str, destination: str) -> str:
        """Return ``standby on i5: 0_0 0_1``; ``kind`` says what the copies are, ``destination`` is a process id."""
        return printable(f"{kind} on {self._short[destination]}: {' '.join(map(str, task_ids))}")


def _areas(instances: Sequence[Instance]) -> dict[str, tuple[str, str]]:
    """Return by process id the rack, else the value of the first client tag, that tells few groups of them apart."""
    if not instances:
        return {}
    labels_of_racks = [{"rack": instance.rack} if instance.rack else {} for instance in instances]
    tags = [dict(instance.client_tags) for instance in instances]
    for labels, keys in ((labels_of_racks, {"rack"}), (tags, set(tags[0]))):
        for key in sorted(keys):
            values = [label.get(key) for label in labels]
            if None not in values and 1 < len(set(values)) <= _MOST_AREAS:
                return {
                    instance.process_id: (key, value)
                    for instance, value in zip(instances, values, strict=True)
                    if value
                }
    return {}


def _short_names(instances: Sequence[Instance]) -> tuple[dict[str, str], str]:
    ids = [instance.process_id for instance in instances]
    prefixes = _unique_prefixes(ids)
    hosts = _without_common_domain([printable(instance.host or "") for instance in instances])
    times = Counter(hosts)
    names = [
        prefix if not host else host if times[host] == 1 else f"{host}/{prefix}"
        for host, prefix in zip(hosts, prefixes, strict=True)
    ]
    names, common = _without_common_beginning(names) if all(hosts) else (names, "")
    short_names = [_shorten(name) for name in names]
    if len(set(short_names)) < len(short_names):
        short_names = prefixes if len(set(names)) < len(names) else names
    return dict(zip(ids, short_names, strict=True)), common


def _unique_prefixes(ids: Sequence[str]) -> list[str]:
    """Return each id's shortest beginning, at least four characters, that no other one has."""
    printable_ids = [printable(process_id) for process_id in ids]
    in_order = ["", *sorted(printable_ids), ""]
    neighbours = {name: in_order[place - 1 : place + 2 : 2] for place, name in enumerate(in_order) if name}
    prefixes = []
    for name in printable_ids:
        common_length = max(len(_shared_beginning(name, neighbour)) for neighbour in neighbours[name])
        prefixes.append(name[: max(_LEAST_PREFIX, common_length + 1)])
    return prefixes


def _shared_beginning(first: str, second: str) -> str:
    return first[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))]


def _without_common_domain(hosts: list[str]) -> list[str]:
    """Cut ``.orders.svc.local`` off ``orders-0.orders.svc.local`` if all that have a domain have this one."""
    labels = [host.partition(".")[0] for host in hosts]
    domains = {host.partition(".")[2] for host in hosts} - {""}
    is_address = any(label.isdigit() or host.startswith(".") for label, host in zip(labels, hosts, strict=True))
    return hosts if len(domains) != 1 or is_address else labels


def _without_common_beginning(names: list[str]) -> tuple[list[str], str]:
    """Cut what all long names begin with, up to a ``-``, ``.``, ``_`` or ``/``, and put ``…`` in its place."""
    if len(names) < 2 or max(map(len, names)) <= _LONG_NAME:
        return names, ""
    common_part = _shared_beginning(min(names), max(names))
    common = common_part[: max(common_part.rfind(mark) for mark in "-._/") + 1]
    if len(common) < _LEAST_CUT or any(name == common for name in names):
        return names, ""
    return [f"…{name[len(common) :]}" for name in names], common


def _shorten(name: str) -> str:
    name = printable(name)
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half + 1 :]}"


def _first_topics(group: Group) -> dict[str, str]:
    """Return subtopology → the first topic it reads."""
    topics: dict[str, str] = {}
    for task in group.tasks:
        for partition in task.source_partitions[:1]:
            topics.setdefault(task.task_id.group, partition.topic)
    return topics


def _thread_labels(group: Group) -> dict[str, str]:
    """Return consumer id → number of its thread: Kafka's own if every id has one, else its place; empty if alone."""
    labels: dict[str, str] = {}
    for instance in group.instances:
        ids = [consumer.consumer_id for consumer in instance.consumers]
        thread_numbers = list(map(thread_number, ids))
        if not all(thread_numbers) or len(set(thread_numbers)) < len(thread_numbers):
            thread_numbers = [str(place) for place in range(1, len(ids) + 1)]
        labels |= zip(ids, thread_numbers if len(ids) > 1 else [""], strict=True)
    return labels
