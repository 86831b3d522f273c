"""What an instance restores in a given time: actives first, the rest shared evenly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.model import Copy, Group, Holdings, Rates, WorkId
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.plans import HandOver, Promote

#: What is restored at a time: ``max.poll.records`` as Kafka Streams sets it.
POLL_RECORDS = 1000

_NOTHING: Mapping[int, int] = MappingProxyType({})
_AT_ONCE: Mapping[tuple[int, int], int] = MappingProxyType({})


class Span(NamedTuple):
    """A time within which the rates stay the same and the same instances run.

    ``stopped``: instances that do not run though the group counts them in; they restore nothing and fall behind.
    ``burst``: task → records that come at once, when the phase begins.
    """

    rates: Rates
    elapsed_ms: int
    stopped: frozenset[int] = frozenset()
    burst: Mapping[int, int] = _NOTHING

    def produced(self, task: int) -> int:
        """Records that a task's changelogs grow by if it is processed (0 if its produce rate is not known)."""
        return int(self.rates.produce_rate(task) * self.elapsed_ms / 1000) + self.burst.get(task, 0)


def beginning(phases: Iterable[Span], elapsed_ms: int) -> tuple[Span, ...]:
    """Return the first ``elapsed_ms`` of the phases."""
    kept = []
    for phase in phases:
        if elapsed_ms <= 0:
            break
        kept.append(phase._replace(elapsed_ms=min(phase.elapsed_ms, elapsed_ms)))
        elapsed_ms -= phase.elapsed_ms
    return tuple(kept)


class Part(NamedTuple):
    """A part of a phase; what comes at once comes in the first one. ``goes_on``: it is none."""

    span: Span
    goes_on: bool


def parts_of(phases: Sequence[Span], cuts_ms: Iterable[int]) -> Iterator[Part]:
    """Divide phases at times that are counted from their beginning."""
    cuts, start_ms = sorted(set(cuts_ms)), 0
    for phase in phases:
        end_ms = start_ms + phase.elapsed_ms
        edges = [start_ms, *(cut for cut in cuts if start_ms < cut < end_ms), end_ms]
        for number, (start, end) in enumerate(pairwise(edges)):
            span = phase._replace(elapsed_ms=end - start)
            yield Part(span._replace(burst=_NOTHING) if number else span, goes_on=number > 0)
        start_ms = end_ms


def pressed_instances(
    group: Group, holdings: Holdings, phases: Iterable[Span], copies: Collection[tuple[Copy, ...]]
) -> frozenset[int]:
    """Return the instances on which copies that have caught up may fall behind in some phase.

    They have other ``copies`` to restore, which share their rate, or more is written of their copies than they restore.
    """
    found = set[int]()
    for rates in (phase.rates for phase in phases if phase.rates.any_restore and phase.rates.any_produce):
        restores = [rates.restore_rate(instance) for instance in range(len(group.instances))]
        restoring = {
            copy.instance for of_task in copies for copy in of_task if copy.remaining and copy.consumer is not None
        }
        found |= {instance for instance in restoring if restores[instance] not in (None, inf)}
        writes = [rates.produce_rate(task) for task in range(len(group.tasks))]
        slowest = min((rate for rate in restores if rate is not None), default=inf)
        if sum(writes) <= slowest:
            continue
        pressure = [0.0] * len(restores)
        for consumer, held in enumerate(holdings.stateful):
            copied = (*held.standby, *held.warmup, *held.temporary)
            pressure[group.instance_of[consumer]] += sum(map(writes.__getitem__, copied))
        found |= {i for i, rate in enumerate(restores) if rate is not None and pressure[i] > rate}
    return frozenset(found)


def copied_on(group: Group, holdings: Holdings, instances: Iterable[int]) -> set[int]:
    """Return the tasks of which these instances hold a copy that they do not run."""
    consumers = (holdings.stateful[of] for instance in instances for of in group.consumers_of[instance])
    return {task for held in consumers for task in (*held.standby, *held.warmup, *held.temporary)}


@dataclass(frozen=True, slots=True)
class Restoring:
    """How much every restoring copy has left after some time.

    ``rate_known`` is by instance; ``left`` maps (task, instance) to records for the copies of instances with a known
    rate that had anything left at the start or fell behind. ``at_once``: every rate is infinite. ``written``: for each
    part of the time its beginning, and the records by task that changelogs grew by; ``waiting``: the unprocessed input
    at the end, by task, as of :class:`~kstream_plan.model.GroupState`.
    """

    group: Group
    rate_known: tuple[bool, ...]
    left: dict[tuple[int, int], int]
    at_once: bool
    written: Sequence[tuple[int, Mapping[int, int]]]
    waiting: Mapping[int, int]

    @classmethod
    def over(
        cls,
        group: Group,
        copies: Mapping[int, tuple[Copy, ...]],
        phases: Sequence[Span],
        from_ms: Mapping[tuple[int, int], int] = _AT_ONCE,
        beginners: Collection[int] = (),
        pressed: Collection[int] = (),
        waiting: Mapping[int, int] = _NOTHING,
    ) -> Restoring:
        """Restore through all ``phases``, starting from what ``copies`` have ``remaining``.

        While an instance restores an active task, its standbys and warm-ups wait. Nobody writes to the changelogs of a
        task whose owner restores it or is stopped: its input is ``waiting``, and written at once as soon as it is
        processed. An instance's rate is known if it is in every phase. What a copy, by (task, instance), has remaining
        may be that of a later time than the beginning (``from_ms``): until then nothing becomes of it. The
        ``beginners``, instances, start to restore with the first phase: they are ahead of their rate by what is left of
        a poll, for the first one comes at once. On the ``pressed``, instances, copies that have caught up share the
        rate as well, for what is written of them (:func:`pressed_instances`).
        """
        instances = range(len(group.instances))
        whole = group.end_offset_sums
        known = _rates_known(phases, instances)
        left: dict[tuple[int, int], int] = {}
        waits, written = dict(waiting), list[tuple[int, Mapping[int, int]]]()
        at_ms, ahead = 0, {i: _rest_of_a_poll(i, phases) for i in beginners if known[i]}
        for phase, _ in parts_of(phases, from_ms.values()):
            later = {seat for seat, first_ms in from_ms.items() if first_ms > at_ms}
            spare: dict[int, int] = {}
            grown: Mapping[int, int] = _NOTHING
            for is_active in (True, False):
                behind: Collection[int] = ()
                if not is_active:  # it is known by now what the active copies have left
                    grown, behind = _written(copies, known, phase, left, whole, waits)
                queues = _restoring_copies(
                    copies, known, phase, left, grown, behind, later, pressed, is_active=is_active
                )
                for instance, queue in queues.items():
                    if instance not in spare:
                        spare[instance] = _restored(phase, instance, ahead.pop(instance, 0))
                    spare[instance] = _restore_evenly(queue, spare[instance], instance, whole, left)
            written.append((at_ms, grown))
            at_ms += phase.elapsed_ms
        left |= _not_begun(copies, known, from_ms, at_ms)
        at_once = all(phase.rates.restore_rate(i) == inf for phase in phases for i in instances)
        return cls(group, known, left, at_once, written, waits)

    def known(self, instance: int, records: int) -> bool:
        """Whether it is known how long the instance takes to restore these records; their number may be unknown."""
        return self.rate_known[instance] and (self.at_once or records < MAX_LONG)

    def remaining(self, task: int, copy: Copy) -> int:
        """Records the copy has left (0 if it had none left at the start)."""
        return self.left.get((task, copy.instance), 0)

    def written_since(self, task: int, from_ms: int = 0) -> int:
        """Records that the task's changelogs grew by from a time on: the beginning, or one of when a copy was known."""
        return sum(grown.get(task, 0) for at_ms, grown in self.written if at_ms >= from_ms)


def _not_begun(
    copies: Mapping[int, tuple[Copy, ...]], known: Sequence[bool], from_ms: Mapping[tuple[int, int], int], end_ms: int
) -> dict[tuple[int, int], int]:
    """Return what copies have left of which that is known of the very end, so that nothing has become of them."""
    if not from_ms:
        return {}
    return {
        (task, copy.instance): copy.remaining
        for task, of_task in copies.items()
        for copy in of_task
        if known[copy.instance] and from_ms.get((task, copy.instance), -1) >= end_ms
    }


def _rates_known(phases: Sequence[Span], instances: range) -> tuple[bool, ...]:
    if not all(phase.rates.any_restore for phase in phases):
        return (False,) * len(instances)
    if all(phase.rates.restore_per_instance is not None for phase in phases):
        return (True,) * len(instances)
    return tuple(all(phase.rates.restore_rate(i) is not None for phase in phases) for i in instances)


#: (records left, task) of the copies an instance restores
_Queue = list[tuple[int, int]]


def _restoring_copies(
    copies: Mapping[int, tuple[Copy, ...]],
    known: Sequence[bool],
    phase: Span,
    left: Mapping[tuple[int, int], int],
    grown: Mapping[int, int],
    behind: Collection[int],
    later: Collection[tuple[int, int]],
    pressed: Collection[int],
    *,
    is_active: bool,
) -> dict[int, _Queue]:
    """Return what each instance restores in a phase, of active copies or else of the others.

    The others have ``grown`` by what was written; all copies of tasks in ``behind`` lack what was written at once.
    """
    queues: dict[int, _Queue] = {}
    if not any(known):
        return queues
    if not (grown or phase.stopped or left or later):
        # by far the most frequent case
        for task, of_task in copies.items():
            for copy in of_task:
                remaining, instance = copy.remaining, copy.instance
                if remaining and copy.active == is_active and copy.consumer is not None and known[instance]:
                    queues.setdefault(instance, []).append((remaining, task))
        return queues
    for task, of_task in copies.items():
        records = grown.get(task, 0)
        for copy in of_task:
            instance = copy.instance
            if copy.active != is_active or copy.consumer is None or not known[instance] or (task, instance) in later:
                continue
            remaining = left.get((task, instance), copy.remaining)
            falls_behind = records and (instance in phase.stopped or task in behind or instance in pressed)
            if remaining or falls_behind:
                queues.setdefault(instance, []).append((remaining + records, task))
    return queues


def _written(
    copies: Mapping[int, tuple[Copy, ...]],
    known: Sequence[bool],
    phase: Span,
    left: Mapping[tuple[int, int], int],
    whole: Sequence[int],
    waiting: dict[int, int],
) -> tuple[dict[int, int], set[int]]:
    """Return the records written in a phase, by task, and the tasks of which some are written at once.

    The input of the other tasks joins what is ``waiting``: at most the ``whole`` task, for a copy that much behind has
    no state at all.
    """
    written, at_once = dict[int, int](), set[int]()
    if not (phase.rates.any_produce or phase.burst or waiting):
        return written, at_once
    for task, of_task in copies.items():
        waited = waiting.pop(task, 0)
        records = waited + phase.produced(task)
        if not records:
            continue
        if not _is_processed(task, of_task, known, phase, left):
            waiting[task] = min(records, whole[task])
            continue
        written[task] = records
        if waited or task in phase.burst:
            at_once.add(task)
    return written, at_once


def _is_processed(
    task: int, copies: Iterable[Copy], known: Sequence[bool], phase: Span, left: Mapping[tuple[int, int], int]
) -> bool:
    """Tell whether the owner of a task runs and, for all that is known, has restored it when the phase ends."""
    for copy in copies:
        instance = copy.instance
        if not copy.active:
            continue
        if instance in phase.stopped:
            return False
        if known[instance] and copy.remaining < MAX_LONG and left.get((task, instance), copy.remaining) > 0:
            return False
    return True


def _rest_of_a_poll(instance: int, phases: Sequence[Span]) -> int:
    """Return what is missing to whole polls after these phases; nothing if the instance restores less than one."""
    rates = [phase.rates.restore_rate(instance) or 0.0 for phase in phases]
    if inf in rates:
        return 0
    restored = int(sum(rate * phase.elapsed_ms / 1000 for rate, phase in zip(rates, phases, strict=True)))
    return POLL_RECORDS - restored % POLL_RECORDS if restored >= POLL_RECORDS else 0


def _restored(phase: Span, instance: int, ahead: int) -> int:
    """Return how many records an instance restores in a phase, so much ``ahead`` of its rate."""
    rate = phase.rates.restore_rate(instance)
    assert rate is not None
    if instance in phase.stopped:
        return 0
    return MAX_LONG * MAX_LONG if rate == inf else int(rate * phase.elapsed_ms / 1000) + ahead


def _restore_evenly(
    queue: _Queue, records: int, instance: int, whole: Sequence[int], left: dict[tuple[int, int], int]
) -> int:
    """Share ``records`` evenly, what one does not need going to the others; return what is over.

    What is left then is at most the ``whole`` task: what grows faster is no further behind than no state at all.
    """
    queue.sort()
    sharing = len(queue)
    for remaining, task in queue:
        share = records // sharing
        sharing -= 1
        if remaining <= share:
            records -= remaining
            left[task, instance] = 0
        else:
            records -= share
            left[task, instance] = min(remaining - share, whole[task])
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


def restored_at_ms(starts: Iterable[tuple[int, int, WorkId]], rate: float) -> dict[tuple[WorkId, int], int]:
    """Return by task and start when each is restored of what one instance begins to restore: (at ms, records, task).

    What is under way at the same time shares the rate (records per second) evenly.
    """
    waiting = sorted(starts, key=lambda one: (one[0], one[2].sort_key), reverse=True)
    left: dict[tuple[WorkId, int], float] = {}
    done: dict[tuple[WorkId, int], int] = {}
    now_ms = 0.0
    while waiting or left:
        now_ms = now_ms if left else max(now_ms, waiting[-1][0])
        while waiting and waiting[-1][0] <= now_ms:
            at_ms, amount, task_id = waiting.pop()
            left[task_id, at_ms] = amount
        least = min(left.values())
        ends_ms = now_ms + 1000 * least * len(left) / rate
        until_ms = min(ends_ms, waiting[-1][0]) if waiting else ends_ms
        restored = least if until_ms == ends_ms else (until_ms - now_ms) * rate / 1000 / len(left)
        done |= {start: int(until_ms) for start, amount in left.items() if amount <= restored}
        left = {start: amount - restored for start, amount in left.items() if amount > restored}
        now_ms = until_ms
    return done
