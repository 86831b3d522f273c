"""From the eager to the cooperative protocol: the two rolling bounces, and why one is not enough (KIP-429)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kstream_plan.model import Consumer, Group, GroupState, Instance, WorkId
from kstream_plan.protocols import gives_up
from kstream_plan.protocols.interleavings import Interleaved, double_ownership
from kstream_plan.protocols.transition import COOPERATIVE, EAGER

#: How ids begin that clients give themselves which are not Java's: they never run both protocols in one group.
_NOT_JAVA = ("rdkafka", "sarama", "kafka-python", "aiokafka", "kafkajs")


class Restart(NamedTuple):
    """One instance of one rolling bounce: what its consumers list afterwards, and what the group then follows.

    ``group_protocol`` is ``eager``, ``mixed`` or ``cooperative``; ``cooperative_consumers`` how many keep what they own
    through a rebalance by then.
    """

    bounce: int
    process_id: str
    protocols: tuple[str, ...]
    group_protocol: str
    cooperative_consumers: int


class TwoOwners(NamedTuple):
    """How one bounce goes wrong: members, who owns the task at first (the restarted one), the steps, the task."""

    consumers: tuple[tuple[str, str], tuple[str, str]]
    task_id: WorkId
    events: tuple[Interleaved[WorkId], ...]


class Upgrade(NamedTuple):
    """The way to the cooperative protocol.

    ``restarts`` in order (none: it is there); ``cannot_mix``: consumers that cannot take part, each with the reason;
    ``one_bounce``: the shortest order of steps in which one bounce gives a task two owners (``None``: none is known,
    with no task that is run, or nobody to take it over).
    """

    restarts: tuple[Restart, ...]
    cannot_mix: tuple[tuple[str, str, str], ...]
    one_bounce: TwoOwners | None

    @property
    def takes_two(self) -> bool:
        """Whether the first of the two bounces is not done yet."""
        return any(restart.bounce == 1 for restart in self.restarts)


def upgrade(state: GroupState) -> Upgrade:
    """Return the two rolling bounces that bring a group to the cooperative protocol, instance by instance."""
    group = state.group
    restarts = []
    for bounce, listed in ((1, (COOPERATIVE, EAGER)), (2, (COOPERATIVE,))):
        for index, instance in enumerate(group.instances):
            if any(_needs(consumer, bounce) for consumer in instance.consumers):
                group = _with_protocols(group, index, listed)
                restarts.append(Restart(bounce, instance.process_id, listed, *_followed(group)))
    return Upgrade(
        restarts=tuple(restarts),
        cannot_mix=tuple(
            (instance.process_id, consumer.consumer_id, why)
            for instance in state.group.instances
            for consumer in instance.consumers
            if (why := _cannot_mix(consumer))
        ),
        one_bounce=_one_bounce(state),
    )


def _needs(consumer: Consumer, bounce: int) -> bool:
    return COOPERATIVE not in consumer.protocols if bounce == 1 else consumer.protocols != (COOPERATIVE,)


def _with_protocols(group: Group, index: int, listed: tuple[str, ...]) -> Group:
    instances: list[Instance] = list(group.instances)
    consumers = tuple(replace(consumer, protocols=listed) for consumer in instances[index].consumers)
    instances[index] = replace(instances[index], consumers=consumers)
    return Group(group.application_id, group.tasks, tuple(instances))


def _followed(group: Group) -> tuple[str, int]:
    stopping, everyone = len(gives_up(group, "mixed")), len(group.consumer_ids)
    kept = everyone - stopping
    return (COOPERATIVE if not stopping else "mixed" if kept else EAGER), kept


def _cannot_mix(consumer: Consumer) -> str:
    if consumer.consumer_id.startswith(_NOT_JAVA):
        return "its id is that of a client that is not Java's"
    if not {COOPERATIVE, EAGER} & set(consumer.protocols):
        return f"it lists {', '.join(consumer.protocols) or 'no protocol'}"
    return ""


def _one_bounce(state: GroupState) -> TwoOwners | None:
    """Search two members for it: one restarted without eager, and one of old code that leads and gets its task."""
    group = state.group
    places = [
        (of.process_id, consumer.consumer_id, COOPERATIVE in consumer.protocols)
        for of in group.instances
        for consumer in of.consumers
    ]
    old = [consumer for consumer, (_, _, cooperative) in enumerate(places) if not cooperative]
    running = next((consumer for consumer in old if state.holdings[consumer].active), None)
    leader = next((c for c in old if running is not None and group.instance_of[c] != group.instance_of[running]), None)
    if running is None or leader is None:
        return None
    task_id = group.tasks[state.holdings[running].active[0]].task_id
    owned, nothing = frozenset([task_id]), frozenset[WorkId]()
    events = double_ownership([owned, nothing], [nothing, owned], [False, True], leader_knows_owned=False)
    assert events is not None  # the search finds it for any two such members
    return TwoOwners((places[running][:2], places[leader][:2]), task_id, events)
