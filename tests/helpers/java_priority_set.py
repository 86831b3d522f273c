"""Kafka's priority set of instances, followed step by step: slow, and simple enough to be compared with by eye."""

from __future__ import annotations

import uuid
from collections.abc import Collection


class JavaPrioritySet:
    """A ``java.util.PriorityQueue`` by (load, instance) that reads the loads whenever it compares."""

    def __init__(self, process_ids: list[str], counts: list[int], capacities: list[int]) -> None:
        self.counts, self.capacities = counts, capacities
        self.codes = [_hash_code(uuid.UUID(process_id)) for process_id in process_ids]
        self.queue: list[int] = []
        for instance in range(len(counts)):
            self.offer(instance)

    def less(self, one: int, other: int) -> bool:
        return self.key(one) < self.key(other)

    def key(self, instance: int) -> tuple[float, int]:
        return self.counts[instance] / self.capacities[instance], instance

    def poll_one_of(self, accepted: Collection[int]) -> int | None:
        refused: list[int] = []
        found = None
        while self.queue and found is None:
            polled = self.poll()
            if polled in accepted:
                found = polled
            else:
                refused.append(polled)
        for instance in self.in_hash_set_order(refused):
            self.offer(instance)
        return found

    def in_hash_set_order(self, added: list[int]) -> list[int]:
        buckets: list[list[int]] = [[] for _ in range(16)]
        for number, instance in enumerate(added, start=1):
            buckets[self.codes[instance] % len(buckets)].append(instance)
            if number > 0.75 * len(buckets):
                doubled: list[list[int]] = [[] for _ in range(2 * len(buckets))]
                for bucket in buckets:
                    for moved in bucket:
                        doubled[self.codes[moved] % len(doubled)].append(moved)
                buckets = doubled
        return [instance for bucket in buckets for instance in bucket]

    def offer(self, instance: int) -> None:
        if instance in self.queue:
            self.remove(instance)
        self.queue.append(instance)
        self.sift_up(len(self.queue) - 1, instance)

    def poll(self) -> int:
        first = self.queue[0]
        last = self.queue.pop()
        if self.queue:
            self.sift_down(0, last)
        return first

    def remove(self, instance: int) -> None:
        at = self.queue.index(instance)
        last = self.queue.pop()
        if at < len(self.queue):
            self.sift_down(at, last)
            if self.queue[at] == last:
                self.sift_up(at, last)

    def sift_up(self, at: int, instance: int) -> None:
        while at > 0:
            parent = (at - 1) // 2
            if not self.less(instance, self.queue[parent]):
                break
            self.queue[at] = self.queue[parent]
            at = parent
        self.queue[at] = instance

    def sift_down(self, at: int, instance: int) -> None:
        half = len(self.queue) // 2
        while at < half:
            child = 2 * at + 1
            if child + 1 < len(self.queue) and self.less(self.queue[child + 1], self.queue[child]):
                child += 1
            if not self.less(self.queue[child], instance):
                break
            self.queue[at] = self.queue[child]
            at = child
        self.queue[at] = instance


def _hash_code(process_id: uuid.UUID) -> int:
    high, low = process_id.int >> 64, process_id.int & (2**64 - 1)
    code = (high >> 32) ^ (high & 0xFFFFFFFF) ^ (low >> 32) ^ (low & 0xFFFFFFFF)
    return code ^ (code >> 16)
