"""Generations → since when each copy has been where it is, assigned or left over; and since when instances run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kstream_plan.model import TaskId
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.log_times import Moment

#: (process id, task)
_Copy = tuple[str, TaskId]


@dataclass(frozen=True, slots=True)
class Ages:
    """Ages of copies and processes, as far as they are known.

    ``unchanged_since``: when the task was assigned to the process, or left over on it. ``created_at``: when its copy
    was created, at the latest. ``started_at``: when each process joined, with whatever it had on its disk.
    """

    unchanged_since: Mapping[_Copy, Moment] = field(default_factory=dict)
    created_at: Mapping[_Copy, Moment] = field(default_factory=dict)
    started_at: Mapping[str, Moment] = field(default_factory=dict)


def copies_since(pairs: Iterable[tuple[LoggedGeneration, LoggedGeneration | None]]) -> Iterator[Ages]:
    """Yield since when, as far as the generations before tell, copies were where each generation found them.

    Args:
        pairs: each generation with the one that it followed, ``None`` where that is not in the logs: then nothing is
            known of what was before.
    """
    unchanged_since: dict[_Copy, Moment] = {}
    created_at: dict[_Copy, Moment] = {}
    started_at: dict[str, Moment] = {}
    assigned_copies: set[_Copy] = set()
    for generation, previous in pairs:
        if previous is None:
            unchanged_since, created_at, assigned_copies = {}, {}, set()
        else:
            copies = set(_assigned_copies(previous))
            changed_copies = copies ^ assigned_copies
            if previous.decided_at is not None:
                unchanged_since.update(dict.fromkeys(changed_copies, previous.decided_at))
                created_at = {**dict.fromkeys(copies, previous.decided_at), **created_at}
            members = previous.clients.states.keys()
            unchanged_since = {copy: moment for copy, moment in unchanged_since.items() if copy[0] in members}
            assigned_copies = copies
        reported_copies = {
            (process_id, task) for process_id, state in generation.clients.states.items() for task in state.lags
        }
        if generation.decided_at is not None:
            created_at = {**dict.fromkeys(reported_copies, generation.decided_at), **created_at}
        created_at = {
            copy: moment for copy, moment in created_at.items() if copy in assigned_copies or copy in reported_copies
        }
        started_at = _start_times(generation, previous, started_at)
        yield Ages(
            {copy: moment for copy, moment in unchanged_since.items() if copy in created_at}, created_at, started_at
        )


def _start_times(
    generation: LoggedGeneration, previous: LoggedGeneration | None, known_starts: Mapping[str, Moment]
) -> dict[str, Moment]:
    """Return when processes joined, by the members before; a process that comes back has started again."""
    if previous is None and generation.number != 1:
        return {}
    earlier = {} if previous is None else previous.consumers
    started_at = {}
    for process_id, consumers in generation.consumers.items():
        stays = not set(consumers).isdisjoint(earlier.get(process_id, ()))
        moment = known_starts.get(process_id) if stays else generation.decided_at
        if moment is not None:
            started_at[process_id] = moment
    return started_at


def _assigned_copies(generation: LoggedGeneration) -> Iterator[_Copy]:
    """Yield what every process is assigned from a generation on: not what is withheld, but what is temporary."""
    for process_id, split in generation.splits.items():
        for consumer in generation.consumers[process_id]:
            withheld_tasks = split.revoking.get(consumer, ())
            yield from ((process_id, task) for task in split.active.get(consumer, ()) if task not in withheld_tasks)
            yield from ((process_id, task) for task in split.standby.get(consumer, ()))
