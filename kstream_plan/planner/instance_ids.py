"""Instances that come back as others, or with more threads: the ids that they have then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from kstream_plan.errors import ScenarioError
from kstream_plan.model import Consumer, Instance


def renamed(instance: Instance, process_id: str) -> Instance:
    """Return the instance under another process id; its threads' ids follow where they contain the old one."""

    def new_id(consumer_id: str) -> str:
        old = instance.process_id
        return consumer_id.replace(old, process_id) if old in consumer_id else f"{process_id}-{consumer_id}"

    consumers = tuple(replace(consumer, consumer_id=new_id(consumer.consumer_id)) for consumer in instance.consumers)
    return replace(instance, process_id=process_id, consumers=consumers)


def thread_ids(instance: Instance, threads: int) -> list[str]:
    """Return ids for the threads that ``instance`` has to start to run so many."""
    used_ids = {consumer.consumer_id for consumer in instance.consumers}
    free = (f"{instance.process_id}-StreamThread-{number}" for number in range(1, 2 * threads + len(used_ids) + 1))
    return [name for name in free if name not in used_ids][len(used_ids) : threads]


def with_threads_of(instance: Instance, former_instance: Instance | None) -> Instance:
    """Return the instance with the threads it had before as well."""
    if former_instance is None:
        return instance
    consumers_by_id: Mapping[str, Consumer] = {
        consumer.consumer_id: consumer for consumer in (*former_instance.consumers, *instance.consumers)
    }
    return replace(instance, consumers=tuple(consumers_by_id.values()))


def check_consumers(members: Mapping[str, Instance], place: str) -> None:
    """Check that no consumer is a member twice; ``place`` is that of the event that made it so.

    Raises:
        ScenarioError: one is.
    """
    ids = [consumer.consumer_id for instance in members.values() for consumer in instance.consumers]
    if len(set(ids)) < len(ids):
        duplicates = sorted(name for name, times in Counter(ids).items() if times > 1)
        fix = "give every new instance a process id, and consumers, of its own"
        raise ScenarioError(f"the consumer {duplicates[0]!r} is a member twice", where=place, fix=fix)
