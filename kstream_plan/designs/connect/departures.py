"""Workers that leave together: whether that is one rebalance or several is unknown, and decides what work waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from kstream_plan.designs.connect.frozen import in_table, join, leave
from kstream_plan.model.connect_group import ConnectGroup
from kstream_plan.model.scenario import Bounce, Event, Join, Leave, Return, Stop, in_time


def leaving_stages(group: ConnectGroup, process_ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the workers in the order of leaving that keeps most work waiting: each leader first, then the others.

    A new leader remembers nothing of the old one's work; what the others ran waits once the leader stays. One stage if
    no leader leaves.
    """
    group = in_table(group)
    rest, stages = list(dict.fromkeys(process_ids)), list[tuple[str, ...]]()
    while group.leader in rest:
        stages.append((group.leader,))
        rest.remove(group.leader)
        group = leave(group, group.leader)
    return [*stages, tuple(rest)] if rest else stages


def events_in_turn(group: ConnectGroup, events: Sequence[Event], apart_ms: int) -> list[Event] | None:
    """Return the events with those that leave together apart, ``apart_ms`` at most from one to the next.

    ``None``: no leader leaves together with others. Moments in which a worker both leaves and returns stay as they are.
    """
    group, in_stages, any_apart = in_table(group), list[Event](), False
    moments = [list(same) for _, same in groupby(in_time(events), key=lambda event: event.at_ms)]
    for same, next_moment in zip(moments, [*moments[1:], []], strict=False):
        leaves = [event for event in same if isinstance(event, Leave) or (isinstance(event, Stop) and not event.crash)]
        stages = leaving_stages(group, [*chain.from_iterable(event.process_ids for event in leaves)])
        room_ms = min(
            [apart_ms, *((event.at_ms - same[0].at_ms) // len(stages) for event in next_moment[:1] if stages)]
        )
        leaving_ids, joining_ids = (
            {*chain.from_iterable(ids)} for ids in ((event.process_ids for event in leaves), map(_joining_ids, same))
        )
        if len(stages) > 1 and room_ms > 0 and leaving_ids.isdisjoint(joining_ids):
            any_apart, at_ms = True, same[0].at_ms
            in_stages += (event for event in same if event not in leaves)
            in_stages += (
                Leave(at_ms=at_ms + place * room_ms, process_ids=stage, where=leaves[0].where)
                for place, stage in enumerate(stages)
            )
        else:
            in_stages += same
        for event in same:
            group = _after_event(group, event)
    return in_stages if any_apart else None


def _after_event(group: ConnectGroup, event: Event) -> ConnectGroup:
    """Return the members and the leader once an event has been noticed."""
    leaving_ids = event.process_ids if isinstance(event, Bounce | Leave | Stop) else ()
    joining_ids = tuple(_joining_ids(event))
    if isinstance(event, Bounce):
        for process_id, new_id in zip(leaving_ids, joining_ids, strict=True):
            group = join(leave(group, process_id), new_id, event.at_ms)
        return group
    for process_id in leaving_ids:
        group = leave(group, process_id)
    for process_id in joining_ids:
        group = join(group, process_id, event.at_ms)
    return group


def _joining_ids(event: Event) -> Iterator[str]:
    """Yield the ids of workers that join, or are back, with an event."""
    match event:
        case Join():
            yield from (str(instance.process_id) for instance in event.instances)
        case Return():
            yield from event.new_process_ids or event.process_ids
        case Bounce():
            new = [str(instance.process_id) for instance in event.new_instances]
            yield from new or event.process_ids
