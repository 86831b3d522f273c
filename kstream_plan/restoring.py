"""What an instance restores in a given time: actives first, the rest shared evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kstream_plan.model import Copy, Group, Rates


@dataclass(frozen=True, slots=True)
class Restoring:
    """How much every restoring copy has left after some time.

    ``rate_of`` is records per second by instance (``None``: not known); ``left`` maps (task, instance) to records for
    the copies of instances with a known rate that had anything left at the start.
    """

    group: Group
    rate_of: tuple[float | None, ...]
    left: dict[tuple[int, int], int]

    @classmethod
    def over(cls, group: Group, copies: Mapping[int, tuple[Copy, ...]], rates: Rates, elapsed_ms: int) -> Restoring:
        """Restore for ``elapsed_ms``, starting from what ``copies`` have ``remaining``.

        While an instance restores an active task, its standbys and warm-ups wait.
        """
        rate_of = tuple(_restore_rate(rates, instance) for instance in range(len(group.instances)))
        left: dict[tuple[int, int], int] = {}
        if all(rate is None for rate in rate_of):
            return cls(group, rate_of, left)
        queues = _restoring_copies(group, copies, rate_of, rates, elapsed_ms)
        for instance, (actives, others) in queues.items():
            rate = rate_of[instance]
            assert rate is not None
            records = int(rate * elapsed_ms / 1000)
            for queue in (actives, others):
                records = _restore_evenly(queue, records, instance, left)
        return cls(group, rate_of, left)

    def known(self, task: int, instance: int) -> bool:
        """Whether it is known how long the instance takes for the task: its restore rate and the task's end offset."""
        return self.rate_of[instance] is not None and self.group.tasks[task].end_offset_known

    def remaining(self, task: int, copy: Copy) -> int:
        """Records the copy has left (0 if it had none left at the start)."""
        return self.left.get((task, copy.instance), 0)


def _to_restore(group: Group, task: int, copy: Copy, produced_meanwhile: int) -> int:
    return min(copy.remaining + produced_meanwhile, group.tasks[task].end_offset_sum)


def _restore_rate(rates: Rates, instance: int) -> float | None:
    given = rates.restore_per_instance
    return rates.restore_measured.get(instance) if given is None else given


def produced(rates: Rates, task: int, elapsed_ms: int) -> int:
    """Records that a task's changelogs grow by in ``elapsed_ms`` (0 if its produce rate is not known)."""
    per_second = rates.produce_per_task
    if per_second is None:
        per_second = rates.produce.get(task, 0.0)
    return int(per_second * elapsed_ms / 1000)


#: (records left, task) of the copies an instance restores
_Queue = list[tuple[int, int]]


def _restoring_copies(
    group: Group, copies: Mapping[int, tuple[Copy, ...]], rate_of: Sequence[float | None], rates: Rates, elapsed_ms: int
) -> dict[int, tuple[_Queue, _Queue]]:
    queues: dict[int, tuple[_Queue, _Queue]] = {}
    for task, of_task in copies.items():
        for copy in of_task:
            if copy.remaining and copy.consumer is not None and rate_of[copy.instance] is not None:
                actives, others = queues.setdefault(copy.instance, ([], []))
                (actives if copy.active else others).append(
                    (_to_restore(group, task, copy, produced(rates, task, elapsed_ms)), task)
                )
    return queues


def _restore_evenly(queue: _Queue, records: int, instance: int, left: dict[tuple[int, int], int]) -> int:
    """Share ``records`` evenly, what one does not need going to the others; return what is over."""
    queue.sort()
    for position, (remaining, task) in enumerate(queue):
        restored = min(remaining, records // (len(queue) - position))
        records -= restored
        left[task, instance] = remaining - restored
    return records
