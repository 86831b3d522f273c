"""Whether copies have caught up by the first rebalance, whose restore rate, or beginning, is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from kstream_plan.model import UNKNOWN, Copy, Group, GroupState, Rates
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import KnownHistory
from kstream_plan.plans.design import CopyDoubt

_Seat = tuple[int, int]


@dataclass(slots=True)
class CaughtUpEstimate:
    """Tells of assigned copies whether they count as caught up at ``to_ms``; private to one plan's first rebalance.

    ``from_ms`` is the time of the state that ``beginning`` is about. ``doubts`` collects the copies whose answer is
    unknown.
    """

    beginning: KnownHistory
    from_ms: int
    to_ms: int
    config: AssignmentConfig
    rates: Rates
    doubts: dict[_Seat, CopyDoubt] = field(default_factory=dict)

    def rate_decides(self, task: int, copy: Copy) -> bool:
        """Tell whether a known restore rate tells if a copy has caught up: it does if it is known since when.

        One that had caught up when it was reported follows its changelog.
        """
        if self._follows(copy):
            return True
        return self._restores_since_ms(task, copy) is not None or (task, copy.instance) in self.beginning.no_closer

    def counts_as_caught_up(
        self, group: Group, task: int, copy: Copy, on_instance: Mapping[int, int], *, just_promoted: bool = False
    ) -> bool:
        """Tell whether a copy counts as caught up.

        One does that had caught up when it was reported, for it follows its changelog; or for which the least that its
        instance was seen to restore is enough. One that was measured within a heartbeat interval, before or after,
        which is how exact the clock is, is as it was. Of any other nobody knows: it is likely where it has been
        assigned for a whole probing interval since, or was a standby that the newest decision made run its task
        (``just_promoted``), unless copies were measured: then what is not known is unknown, as it is of one that was
        seen to come no closer. ``on_instance`` is what each instance has to restore in all.
        """
        if self._follows(copy):
            return True
        beginning, seat, likely = self.beginning, (task, copy.instance), False
        since_ms = self._restores_since_ms(task, copy)
        if since_ms is not None and seat not in beginning.no_closer:
            elapsed_ms = self.to_ms - since_ms
            bound = self.rates.restore_at_least.get(copy.instance, 0.0)
            if bound * elapsed_ms / 1000 >= on_instance[copy.instance]:
                return True
            if seat in beginning.measured_lags and abs(elapsed_ms) <= self.config.heartbeat_interval_ms:
                return False
            likely = just_promoted or elapsed_ms >= self.config.probing_rebalance_interval_ms
            likely = likely and not beginning.measured_lags
        self.doubts[seat] = CopyDoubt(
            task_id=group.tasks[task].task_id,
            process_id=group.instances[copy.instance].process_id,
            active=copy.active,
            records=copy.remaining if group.tasks[task].end_offset_known else None,
            since_ms=since_ms,
            to_ms=self.to_ms,
            is_likely_ready=likely,
        )
        return beginning.ready == "all" or (likely and beginning.ready == "likely")

    def _follows(self, copy: Copy) -> bool:
        """Tell whether a copy had caught up when it was reported; with no limit all have, one of unknown offset too."""
        return copy.lag not in (None, UNKNOWN) and is_caught_up(copy.lag, self.config.acceptable_recovery_lag)

    def is_reported_at_the_end(self, task: int, copy: Copy) -> bool:
        """Tell whether a copy was reported at that very moment, so that it exists."""
        return self.beginning.reported_ms.get((task, copy.instance), self.to_ms - 1) >= self.to_ms

    def reported_in(self) -> dict[_Seat, int]:
        """Return, by (task, instance), how long after ``from_ms`` lags were reported that were reported later."""
        times = self.beginning.reported_ms.items()
        return {seat: at_ms - self.from_ms for seat, at_ms in times if self.from_ms < at_ms <= self.to_ms}

    def _restores_since_ms(self, task: int, copy: Copy) -> int | None:
        """Return since when a copy restores that had not caught up when it was last heard of; ``None``: not known."""
        seat, beginning = (task, copy.instance), self.beginning
        by_undated_reports = beginning.decision is None and bool(beginning.undated_reports)
        known_ms = None if beginning.undated or by_undated_reports else self.from_ms
        if copy.lag is not None:
            return None if seat in beginning.undated_reports else beginning.reported_ms.get(seat, known_ms)
        assigned_ms = beginning.reported_ms.get(seat, known_ms)  # at the latest
        if known_ms is None or (beginning.decision is None and assigned_ms == self.to_ms):
            assigned_ms = None  # of one that was assigned some time before now it is unknown since when
        since_ms = beginning.since_ms.get(seat, assigned_ms)
        return since_ms if since_ms is None or copy.made_at_ms is None else max(since_ms, copy.made_at_ms)


def to_restore(copies: Iterable[tuple[Copy, ...]]) -> dict[int, int]:
    """Return what each instance has to restore in all, given the copies of each task."""
    records_by_instance: dict[int, int] = {}
    for copy in chain.from_iterable(copies):
        if copy.consumer is not None:
            records_by_instance[copy.instance] = records_by_instance.get(copy.instance, 0) + copy.remaining
    return records_by_instance


def silent_copies(state: GroupState, readiness: CaughtUpEstimate, rates: Rates) -> tuple[tuple[Copy, ...], ...]:
    """Return a state's copies as of now; it is unknown whether copies without a report have caught up."""
    on_instance = to_restore(state.copies)

    def now(task: int, copy: Copy) -> Copy:
        if copy.consumer is None or copy.lag is not None:
            return copy
        if rates.restore_rate(copy.instance) is not None and readiness.rate_decides(task, copy):
            return copy
        ready = readiness.counts_as_caught_up(state.group, task, copy, on_instance)
        return copy._replace(lag=0, reporters=(copy.consumer,), remaining=0) if ready else copy

    return tuple(tuple(now(task, copy) for copy in of_task) for task, of_task in enumerate(state.copies))
