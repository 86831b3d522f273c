"""From the eager to the cooperative protocol: the two rolling bounces, and why one is not enough (KIP-429)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kstream_plan.model import Consumer, Group, GroupState, Instance, Note, WorkId
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.protocols import COOPERATIVE, EAGER, gives_up
from kstream_plan.protocols.interleavings import Interleaved, double_ownership

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

    ``group`` is as it was given. ``untold`` are consumers whose protocols are unknown: they count as eager.
    ``split`` are those that list cooperative only while others do not list it at all, so that tasks may have two owners
    already. ``doubts`` are why the group may be another one than in the snapshot, or follow another protocol.
    """

    restarts: tuple[Restart, ...]
    cannot_mix: tuple[tuple[str, str, str], ...]
    one_bounce: TwoOwners | None
    group: Group
    untold: tuple[tuple[str, str], ...] = ()
    split: tuple[tuple[str, str], ...] = ()
    doubts: tuple[Note, ...] = ()

    @property
    def takes_two(self) -> bool:
        """Whether the first of the two bounces is not done yet."""
        return any(restart.bounce == 1 for restart in self.restarts)

    @property
    def remarks(self) -> Remarks:
        """The warnings (tasks with two owners, consumers that cannot take part), and how to restart."""
        is_plain = self.restarts and not (self.split or self.untold or self.cannot_mix or self.doubts)
        commands = (Note("restart", "kstream-plan bounce SNAPSHOT"),) if is_plain else ()
        return Remarks((*self.doubts, *_warnings(self)), next=commands)


def upgrade(state: GroupState, untold: frozenset[str] = frozenset(), doubts: Sequence[Note] = ()) -> Upgrade:
    """Return the two rolling bounces that bring a group to the cooperative protocol, instance by instance.

    While any consumer lists eager only, those that list cooperative only are restarted first, to list both.

    Args:
        state: the group.
        untold: consumers whose protocols are unknown; they count as eager.
        doubts: why the group may be another one by now, or follow another protocol than its consumers list.
    """
    group, state = state.group, replace(state, group=_as_eager(state.group, untold))
    places = [(instance.process_id, consumer) for instance in state.group.instances for consumer in instance.consumers]
    split = tuple((process_id, consumer.consumer_id) for process_id, consumer in places if _is_split(consumer, places))
    return Upgrade(
        restarts=tuple(_restarts(state.group, {process_id for process_id, _ in split})),
        cannot_mix=tuple(
            (process_id, consumer.consumer_id, reason)
            for process_id, consumer in places
            if (reason := _cannot_mix(consumer))
        ),
        one_bounce=_one_bounce(state),
        group=group,
        untold=tuple(
            (process_id, consumer.consumer_id) for process_id, consumer in places if consumer.consumer_id in untold
        ),
        split=split,
        doubts=tuple(doubts),
    )


def _as_eager(group: Group, untold: frozenset[str]) -> Group:
    """Return the group with every consumer eager whose protocols are unknown."""
    if not untold:
        return group
    instances = tuple(
        replace(
            instance,
            consumers=tuple(
                replace(consumer, protocols=(EAGER,)) if consumer.consumer_id in untold else consumer
                for consumer in instance.consumers
            ),
        )
        for instance in group.instances
    )
    return Group(group.application_id, group.tasks, instances)


def _is_split(consumer: Consumer, places: Sequence[tuple[str, Consumer]]) -> bool:
    """Tell whether a consumer keeps what it owns while others do not list the cooperative protocol."""
    return consumer.protocols == (COOPERATIVE,) and any(COOPERATIVE not in member.protocols for _, member in places)


def _restarts(group: Group, split: Collection[str]) -> Iterator[Restart]:
    """Yield the restarts in order; the instances of ``split`` are restarted in the first bounce too, before others."""
    for bounce, protocols in ((1, (COOPERATIVE, EAGER)), (2, (COOPERATIVE,))):
        of_split_first = sorted(range(len(group.instances)), key=lambda index: _process_id(group, index) not in split)
        for index in of_split_first if bounce == 1 else range(len(group.instances)):
            instance = group.instances[index]
            goes_back = bounce == 1 and instance.process_id in split
            if goes_back or any(_needs(consumer, bounce) for consumer in instance.consumers):
                group = _with_protocols(group, index, protocols)
                yield Restart(bounce, instance.process_id, protocols, *_followed(group))


def _process_id(group: Group, index: int) -> str:
    return group.instances[index].process_id


def _needs(consumer: Consumer, bounce: int) -> bool:
    return COOPERATIVE not in consumer.protocols if bounce == 1 else consumer.protocols != (COOPERATIVE,)


def _with_protocols(group: Group, index: int, protocols: tuple[str, ...]) -> Group:
    instances: list[Instance] = list(group.instances)
    consumers = tuple(replace(consumer, protocols=protocols) for consumer in instances[index].consumers)
    instances[index] = replace(instances[index], consumers=consumers)
    return Group(group.application_id, group.tasks, tuple(instances))


def _followed(group: Group) -> tuple[str, int]:
    stopping, consumer_count = len(gives_up(group, "mixed")), len(group.consumer_ids)
    cooperative_count = consumer_count - stopping
    return (COOPERATIVE if not stopping else "mixed" if cooperative_count else EAGER), cooperative_count


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
        (instance.process_id, consumer.consumer_id, COOPERATIVE in consumer.protocols)
        for instance in group.instances
        for consumer in instance.consumers
    ]
    old = [consumer for consumer, (_, _, cooperative) in enumerate(places) if not cooperative]
    running = next((consumer for consumer in old if state.holdings[consumer].active), None)
    leader = next((c for c in old if running is not None and group.instance_of[c] != group.instance_of[running]), None)
    if running is None or leader is None:
        return None
    task_id = group.tasks[state.holdings[running].active[0]].task_id
    owned, no_tasks = frozenset([task_id]), frozenset[WorkId]()
    events = double_ownership([owned, no_tasks], [no_tasks, owned], [False, True], leader_knows_owned=False)
    assert events is not None  # the search finds it for any two such members
    return TwoOwners((places[running][:2], places[leader][:2]), task_id, events)


def _warnings(way: Upgrade) -> Iterator[Note]:
    if way.split:
        ids = tuple(consumer_id for _, consumer_id in way.split)
        verb = "lists" if len(ids) == 1 else "list"
        message = (
            f"tasks may have two owners now: {name_list(ids)} {verb} only cooperative, which others do not list. The "
            "restarts begin with them"
        )
        yield Note("two-owners", message, ids)
    if way.untold:
        ids = tuple(consumer_id for _, consumer_id in way.untold)
        message = f"Unknown protocols of {name_list(ids)} (protocols in the snapshot): counted as eager"
        yield Note("unknown-protocols", message, ids)
    for _, consumer_id, reason in way.cannot_mix:
        message = f"{consumer_id} cannot take part: {reason}. Take it out of the group before the first bounce"
        yield Note("cannot-take-part", message, (consumer_id,))
