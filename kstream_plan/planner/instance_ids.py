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

    consumers = tuple(replace(of, consumer_id=new_id(of.consumer_id)) for of in instance.consumers)
    return replace(instance, process_id=process_id, consumers=consumers)


def thread_ids(instance: Instance, threads: int) -> list[str]:
    """Return ids for the threads that ``instance`` has to start to run so many."""
    taken = {consumer.consumer_id for consumer in instance.consumers}
    free = (f"{instance.process_id}-StreamThread-{number}" for number in range(1, 2 * threads + len(taken) + 1))
    return [name for name in free if name not in taken][len(taken) : threads]


def with_threads_of(instance: Instance, before: Instance | None) -> Instance:
    """Return the instance with the threads it had before as well."""
    if before is None:
        return instance
    known: Mapping[str, Consumer] = {of.consumer_id: of for of in (*before.consumers, *instance.consumers)}
    return replace(instance, consumers=tuple(known.values()))


def check_consumers(members: Mapping[str, Instance], where: str) -> None:
    """Check that no consumer is a member twice; ``where`` is the place of the event that made it so.

    Raises:
        ScenarioError: one is.
    """
    ids = [consumer.consumer_id for instance in members.values() for consumer in instance.consumers]
    if len(set(ids)) < len(ids):
        twice = sorted(name for name, times in Counter(ids).items() if times > 1)
        fix = "give every new instance a process id, and consumers, of its own"
        raise ScenarioError(f"the consumer {twice[0]!r} is a member twice", where=where, fix=fix)
