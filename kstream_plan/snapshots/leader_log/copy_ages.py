"""Generations → since when each copy has been where it is, assigned or left over; and since when instances run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment

#: (process id, task)
_Seat = tuple[str, TaskId]


@dataclass(frozen=True, slots=True)
class Ages:
    """Since when something is so, as far as it is known.

    ``since``: the process has had the task assigned, or left over; ``made``: it has had a copy of it in either way, at
    the latest; ``started`` is when each process joined, with whatever it had on its disk.
    """

    since: Mapping[_Seat, Moment] = field(default_factory=dict)
    made: Mapping[_Seat, Moment] = field(default_factory=dict)
    started: Mapping[str, Moment] = field(default_factory=dict)


def copies_since(pairs: Iterable[tuple[LoggedGeneration, LoggedGeneration | None]]) -> Iterator[Ages]:
    """Yield since when, as far as the generations before tell, copies were where each generation found them.

    Args:
        pairs: each generation with the one that it followed, ``None`` where that is not in the logs: then nothing is
            known of what was before.
    """
    since: dict[_Seat, Moment] = {}
    made: dict[_Seat, Moment] = {}
    started: dict[str, Moment] = {}
    held: set[_Seat] = set()
    for generation, before in pairs:
        if before is None:
            since, made, held = {}, {}, set()
        else:
            holds = set(_held(before))
            changed = holds ^ held
            if before.at is not None:
                since.update(dict.fromkeys(changed, before.at))
                made = {**dict.fromkeys(holds, before.at), **made}
            members = before.clients.states.keys()
            since = {seat: at for seat, at in since.items() if seat[0] in members}
            held = holds
        reported = {(process_id, task) for process_id, of in generation.clients.states.items() for task in of.lags}
        if generation.at is not None:
            made = {**dict.fromkeys(reported, generation.at), **made}
        made = {seat: at for seat, at in made.items() if seat in held or seat in reported}
        started = _started(generation, before, started)
        yield Ages({seat: at for seat, at in since.items() if seat in made}, made, started)


def _started(
    generation: LoggedGeneration, before: LoggedGeneration | None, known: Mapping[str, Moment]
) -> dict[str, Moment]:
    """Return when processes joined, by who was a member before; whoever comes back has started again."""
    if before is None and generation.number != 1:
        return {}
    earlier = {} if before is None else before.consumers
    found = {}
    for process_id, consumers in generation.consumers.items():
        stays = not set(consumers).isdisjoint(earlier.get(process_id, ()))
        at = known.get(process_id) if stays else generation.at
        if at is not None:
            found[process_id] = at
    return found


def _held(generation: LoggedGeneration) -> Iterator[_Seat]:
    """Yield what every process is assigned from a generation on: not what is withheld, but what is temporary."""
    for process_id, split in generation.splits.items():
        for consumer in generation.consumers[process_id]:
            withheld = split.revoking.get(consumer, ())
            yield from ((process_id, task) for task in split.active.get(consumer, ()) if task not in withheld)
            yield from ((process_id, task) for task in split.standby.get(consumer, ()))
