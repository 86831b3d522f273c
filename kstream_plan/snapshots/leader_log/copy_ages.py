"""Generations → since when each copy has been where it is: assigned, or left over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.envelope import Moment
from kstream_plan.snapshots.leader_log.generations import Generation

#: (process id, task) → since when the process has had the task assigned, or left over.
Ages: TypeAlias = Mapping[tuple[str, TaskId], Moment]

_Seat = tuple[str, TaskId]


def copies_since(pairs: Iterable[tuple[Generation, Generation | None]]) -> Iterator[Ages]:
    """Yield since when, as far as the generations before tell, copies were where each generation found them.

    Args:
        pairs: each generation with the one that it followed, ``None`` where that is not in the logs: then nothing is
            known of what was before.
    """
    since: dict[_Seat, Moment] = {}
    held: set[_Seat] = set()
    for _, before in pairs:
        if before is None:
            since, held = {}, set()
        else:
            holds = set(_held(before))
            changed = holds ^ held
            if before.at is not None:
                since.update(dict.fromkeys(changed, before.at))
            members = before.clients.states.keys()
            since = {seat: at for seat, at in since.items() if seat[0] in members}
            held = holds
        yield dict(since)


def _held(generation: Generation) -> Iterator[_Seat]:
    """Yield what every process is assigned from a generation on: not what is withheld, but what is temporary."""
    for process_id, split in generation.splits.items():
        for consumer in generation.consumers[process_id]:
            withheld = split.revoking.get(consumer, ())
            yield from ((process_id, task) for task in split.active.get(consumer, ()) if task not in withheld)
            yield from ((process_id, task) for task in split.standby.get(consumer, ()))
