"""Kafka's priority set of instances as the reference has it, of instances by number whose loads are looked at."""

from __future__ import annotations

from typing import Any

from tests.reference.client_state import ProcessId
from tests.reference.constrained_priority_set import ConstrainedPrioritySet


class JavaPrioritySet(ConstrainedPrioritySet):
    """Of instances with sorted ids; ``counts`` may change between calls, without the queue being sorted again."""

    def __init__(self, process_ids: list[str], counts: list[int], capacities: list[int]) -> None:
        super().__init__(self._accepts, self._load)
        self.counts, self.capacities = counts, capacities
        self.instances: list[Any] = [_Instance(number, process_id) for number, process_id in enumerate(process_ids)]
        self.queue, self.key = self.clients_by_task_load.queue, self.clients_by_task_load.key
        self.offer_all(self.instances)

    def offer(self, client: Any) -> None:
        super().offer(self.instances[client])

    def poll_one_of(self, accepted: Any) -> Any:
        return self.poll(accepted)

    def less(self, one: Any, other: Any) -> bool:
        return bool(self.key(one) < self.key(other))

    def _accepts(self, instance: Any, accepted: Any) -> bool:
        return instance in accepted

    def _load(self, instance: Any) -> float:
        return float(self.counts[instance] / self.capacities[instance])


class _Instance(int):
    """The number of an instance, with the hash of its id."""

    code: int

    def __new__(cls, number: int, process_id: str) -> _Instance:
        instance = super().__new__(cls, number)
        instance.code = ProcessId.parse(process_id).hash_code()
        return instance

    def hash_code(self) -> int:
        return self.code
