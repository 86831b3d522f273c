"""What an instance restores in a given time: actives first, the rest shared evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import Copy, Group, Rates, WorkId
from kstream_plan.plans import HandOver, Promote

_NOTHING: Mapping[int, int] = MappingProxyType({})


class Span(NamedTuple):
    """A time within which the rates stay the same and the same instances run.

    ``stopped``: instances that do not run though the group counts them in; they restore nothing and fall behind.
    ``burst``: task → records that are written at once, when the phase begins.
    """

    rates: Rates
    elapsed_ms: int
    stopped: frozenset[int] = frozenset()
    burst: Mapping[int, int] = _NOTHING

    def produced(self, task: int) -> int:
        """Records that a task's changelogs grow by (0 if its produce rate is not known)."""
        return int(self.rates.produce_rate(task) * self.elapsed_ms / 1000) + self.burst.get(task, 0)


def produced(phases: Iterable[Span], task: int) -> int:
    """Records that a task's changelogs grow by over all phases."""
    return sum(phase.produced(task) for phase in phases)


def beginning(phases: Iterable[Span], elapsed_ms: int) -> tuple[Span, ...]:
    """Return the first ``elapsed_ms`` of the phases."""
    kept = []
    for phase in phases:
        if elapsed_ms <= 0:
            break
        kept.append(phase._replace(elapsed_ms=min(phase.elapsed_ms, elapsed_ms)))
        elapsed_ms -= phase.elapsed_ms
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Restoring:
    """How much every restoring copy has left after some time.

    ``rate_known`` is by instance; ``left`` maps (task, instance) to records for the copies of instances with a known
    rate that had anything left at the start or fell behind.
    """

    group: Group
    rate_known: tuple[bool, ...]
    left: dict[tuple[int, int], int]

    @classmethod
    def over(cls, group: Group, copies: Mapping[int, tuple[Copy, ...]], phases: Sequence[Span]) -> Restoring:
        """Restore through all ``phases``, starting from what ``copies`` have ``remaining``.

        While an instance restores an active task, its standbys and warm-ups wait. An instance's rate is known if it is
        in every phase.
        """
        instances = range(len(group.instances))
        if not all(phase.rates.any_restore for phase in phases):
            return cls(group, (False,) * len(instances), {})
        known = tuple(all(phase.rates.restore_rate(i) is not None for phase in phases) for i in instances)
        left: dict[tuple[int, int], int] = {}
        if any(known):
            for phase in phases:
                for instance, queues in _restoring_copies(copies, known, phase, left).items():
                    _restore(phase, instance, queues, group, left)
        return cls(group, known, left)

    def known(self, task: int, instance: int) -> bool:
        """Whether it is known how long the instance takes for the task: its restore rate and the task's end offset."""
        return self.rate_known[instance] and self.group.tasks[task].end_offset_known

    def remaining(self, task: int, copy: Copy) -> int:
        """Records the copy has left (0 if it had none left at the start)."""
        return self.left.get((task, copy.instance), 0)


#: (records left, task) of the copies an instance restores
_Queue = list[tuple[int, int]]


def _restoring_copies(
    copies: Mapping[int, tuple[Copy, ...]],
    known: Sequence[bool],
    phase: Span,
    left: Mapping[tuple[int, int], int],
) -> dict[int, tuple[_Queue, _Queue]]:
    queues: dict[int, tuple[_Queue, _Queue]] = {}
    for task, of_task in copies.items():
        # while its active copy restores, nobody writes to a task's changelogs
        is_down = any(copy.active and left.get((task, copy.instance), copy.remaining) for copy in of_task)
        grown = 0 if is_down else phase.produced(task)
        for copy in of_task:
            instance = copy.instance
            if copy.consumer is None or not known[instance]:
                continue
            remaining = left.get((task, instance), copy.remaining)
            falls_behind = not copy.active and (instance in phase.stopped or task in phase.burst)
            if remaining or falls_behind:
                queues.setdefault(instance, ([], []))[not copy.active].append((remaining + grown, task))
    return queues


def _restore(
    phase: Span, instance: int, queues: tuple[_Queue, _Queue], group: Group, left: dict[tuple[int, int], int]
) -> None:
    """Let an instance restore; what grows faster than that is at most as far behind as no state at all."""
    rate = phase.rates.restore_rate(instance)
    assert rate is not None
    records = 0 if instance in phase.stopped else int(rate * phase.elapsed_ms / 1000)
    for queue in queues:
        records = _restore_evenly(queue, records, instance, left)
        left.update(
            {(task, instance): min(left[task, instance], group.tasks[task].end_offset_sum) for _, task in queue}
        )


def _restore_evenly(queue: _Queue, records: int, instance: int, left: dict[tuple[int, int], int]) -> int:
    """Share ``records`` evenly, what one does not need going to the others; return what is over."""
    queue.sort()
    for position, (remaining, task) in enumerate(queue):
        restored = min(remaining, records // (len(queue) - position))
        records -= restored
        left[task, instance] = remaining - restored
    return records


def cold_restoring_ms(
    starts: Iterable[HandOver | Promote], rate_of: Callable[[str], float | None]
) -> dict[WorkId, int]:
    """Return how long each of these starts restores that is cold, where that is known.

    They start at the same time, so those of one instance (``rate_of`` its process id) share its rate evenly.
    """
    of_instance: dict[str, list[tuple[int, WorkId]]] = {}
    for start in starts:
        if not start.caught_up and start.restore_records is not None:
            of_instance.setdefault(start.to.process_id, []).append((start.restore_records, start.task_id))
    lasts: dict[WorkId, int] = {}
    for process_id, restoring in of_instance.items():
        rate = rate_of(process_id)
        if not rate:
            continue
        restored, before, left = 0, 0, len(restoring)
        for amount, task_id in sorted(restoring, key=lambda one: (one[0], one[1].sort_key)):
            restored += (amount - before) * left
            before, left = amount, left - 1
            lasts[task_id] = int(1000 * restored / rate)
    return lasts
