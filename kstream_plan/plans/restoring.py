"""How copies restore in a given time: actives first, the rest of an instance's rate shared evenly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.engine.codes import FAR_MS
from kstream_plan.engine.columns import zeros
from kstream_plan.engine.copies import Copies as EngineCopies
from kstream_plan.engine.restoring import Pace, Stretch
from kstream_plan.engine.restoring import Restoring as EngineRestoring
from kstream_plan.engine.state_cleaner import StateCleaner
from kstream_plan.model import Copy, Group, Rates
from kstream_plan.model.settings import MAX_LONG

#: Instead of a rate.
_UNKNOWN_RATE = -1.0
#: Instead of a generation: every copy was placed in one before.
_NEVER = MAX_LONG
_NOTHING: Mapping[int, int] = MappingProxyType({})
_AT_ONCE: Mapping[tuple[int, int], int] = MappingProxyType({})


class Span(NamedTuple):
    """A time within which the rates stay the same and the same instances run.

    ``stopped_instances`` do not run though they are still members; they restore nothing and fall behind.
    ``burst``: task → records that come at once, when the phase begins.
    """

    rates: Rates
    elapsed_ms: int
    stopped_instances: frozenset[int] = frozenset()
    burst: Mapping[int, int] = _NOTHING


def may_fall_behind(spans: Iterable[Span]) -> bool:
    """Tell whether any copy that has caught up may fall behind: by what is written, or because its instance stops.

    A burst does that too, to copies of its own task alone.
    """
    return any(span.stopped_instances or (span.rates.any_restore and span.rates.any_produce) for span in spans)


class Paces:
    """Turns spans of time into the engine's stretches; a draft, which keeps the paces of the last ones.

    Args:
        group: who takes part.
        tasks: those that restore, in order.
    """

    def __init__(self, group: Group, tasks: Sequence[int]) -> None:
        self._tasks, self._instances = tasks, len(group.instances)
        self._last: list[tuple[Rates, Pace]] = []

    def stretches(self, spans: Sequence[Span], cuts_ms: Iterable[int] = ()) -> list[Stretch]:
        """Divide the time where the pace changes, and at times that are counted from its beginning."""
        previous_paces, self._last = self._last, []
        cuts, start_ms, stretches = sorted(set(cuts_ms)), 0, list[Stretch]()
        for span in spans:
            pace = next((pace for rates, pace in [*previous_paces, *self._last] if rates is span.rates), None)
            pace = pace or self._pace(span.rates)
            self._last.append((span.rates, pace))
            burst, end_ms = span.burst, start_ms + span.elapsed_ms
            records = {place: burst[task] for place, task in enumerate(self._tasks) if task in burst} if burst else {}
            edges_ms = [start_ms, *(cut for cut in cuts if start_ms < cut < end_ms), end_ms]
            for number, (from_ms, to_ms) in enumerate(pairwise(edges_ms)):
                elapsed_ms, goes_on = min(to_ms - from_ms, FAR_MS // len(spans)), number > 0
                burst_now = {} if goes_on else records
                stretches.append(Stretch(pace, elapsed_ms, self._instances, span.stopped_instances, burst_now, goes_on))
            start_ms = end_ms
        return stretches

    def _pace(self, rates: Rates) -> Pace:
        restore_rates = map(rates.restore_rate, range(self._instances))
        restores = [_UNKNOWN_RATE if rate is None else rate for rate in restore_rates]
        return Pace(restores, list(map(rates.produce_rate, self._tasks)))


class Restored(NamedTuple):
    """The remaining records of copies after some time.

    ``copies`` has by (task, instance) the remaining records of a copy, and those written of its task since it was
    reported. ``backlog`` is the unprocessed input at the end, by task, as of
    :class:`~kstream_plan.model.GroupState`. ``rate_known`` is by instance: whether its rate is known throughout;
    ``at_once``: all are infinite.
    """

    copies: Mapping[tuple[int, int], tuple[int, int]]
    backlog: Mapping[int, int]
    rate_known: Sequence[int]
    at_once: bool

    def is_duration_known(self, instance: int, records: int) -> bool:
        """Whether it is known how long the instance takes to restore these records; their number may be unknown."""
        return self.rate_known[instance] > 0 and (self.at_once or records < MAX_LONG)

    def remaining_records(self, task: int, instance: int) -> int:
        """Return the remaining records of a copy, if its rate is known."""
        return self.copies[task, instance][0]

    def written_records(self, task: int, instance: int) -> int:
        """Return the records that were written since a copy was reported: at the beginning, or later."""
        return self.copies[task, instance][1]


class Restoring:
    """Copies of some tasks, as the engine restores them; a draft.

    Args:
        group: who takes part.
        copies: by task; those of all tasks, where copies that have caught up may fall behind.
        waiting: unprocessed input at the beginning, by task.
    """

    def __init__(
        self, group: Group, copies: Mapping[int, tuple[Copy, ...]], backlog: Mapping[int, int] = _NOTHING
    ) -> None:
        tasks = sorted(copies)
        self._copies, self._paces = copies, Paces(group, tasks)
        self._columns = EngineCopies(group, 0, StateCleaner(0), tasks)
        self._columns.load_copies(copies, backlog)
        self._engine = EngineRestoring(self._columns)

    def restore(
        self,
        spans: Sequence[Span],
        from_ms: Mapping[tuple[int, int], int] = _AT_ONCE,
        tasks: Collection[int] | None = None,
    ) -> Restored:
        """Restore through all ``spans``, from what copies have ``remaining``; return the rest of ``tasks``, or all.

        While an instance restores an active task, its standbys and warm-ups wait. Nothing is written to the changelogs
        of a task whose owner restores it or is stopped: its input waits, and is written as soon as it is processed.
        The remaining records of a copy, by (task, instance), may be those of a later time than the beginning
        (``from_ms``): until then they do not change. Copies that have caught up share the rate where they may fall
        behind (:func:`may_fall_behind`).
        """
        engine, room = self._engine, self._columns.room
        engine.take(self._paces.stretches(spans, from_ms.values()))
        engine.press()
        if from_ms:
            reported_in = zeros("q", len(self._copies) * room)
            for place, task in enumerate(sorted(self._copies)):
                for slot, copy in enumerate(self._copies[task], place * room):
                    reported_in[slot] = from_ms.get((task, copy.instance), 0)
            engine.report_later(reported_in)
        engine.restore(_NEVER, False)
        return Restored(*engine.result(tasks), tuple(engine.is_rated), engine.at_once)
