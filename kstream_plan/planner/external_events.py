"""Events from outside while a group rebalances, in the order of the planner's clock."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kstream_plan.model import Group, Rates
from kstream_plan.model.scenario import Burst, ProduceRate, RestoreRate
from kstream_plan.planner.membership_timeline import PaceChange
from kstream_plan.plans import Outage
from kstream_plan.plans.membership import GroupChange, moved_rates
from kstream_plan.plans.restoring import Span


@dataclass(slots=True)
class ExternalEvents:
    """The changes still to come; a plan's own private draft, consumed as time passes.

    ``rates`` are those of now, by the indices of ``group``, the members of now.
    """

    group: Group
    rates: Rates
    changes: Sequence[GroupChange] = ()
    outages: Sequence[Outage] = ()
    paces: Sequence[PaceChange] = ()
    _next_change: int = field(default=0, init=False)
    _first_rates: Rates = field(default_factory=Rates, init=False)
    _restore_of: dict[str, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._first_rates = self.rates
        self._restore_of = {
            self.group.instances[instance].process_id: rate for instance, rate in self.rates.restore_of.items()
        }

    def regroup(self, group: Group) -> None:
        """Go on with other members (the tasks are the same)."""
        restore_of = {
            group.instance_index[process_id]: r
            for process_id, r in self._restore_of.items()
            if process_id in group.instance_index
        }
        rates = replace(moved_rates(self.rates, self.group, group), restore_of=restore_of)
        self.group, self.rates = group, self.rates if self.rates == rates else rates  # the same object, if equal

    def next_change_ms(self) -> int | None:
        """When the members or settings change next; ``None``: never again."""
        return self.changes[self._next_change].at_ms if self._next_change < len(self.changes) else None

    def more_after(self, at_ms: int) -> bool:
        """Tell whether anything at all happens later."""
        return self.next_change_ms() is not None or any(pace.at_ms > at_ms for pace in self.paces)

    def earliest_end_ms(self, at_ms: int) -> int:
        """Return when a rebalance that is due at ``at_ms`` can end: not while a member is away unnoticed."""
        for outage in sorted(self.outages, key=lambda outage: outage.from_ms):
            if outage.from_ms <= at_ms < outage.to_ms:
                at_ms = outage.to_ms
        return at_ms

    def take_changes(self, at_ms: int) -> list[GroupChange]:
        """Take the changes up to now."""
        first = self._next_change
        while self._next_change < len(self.changes) and self.changes[self._next_change].at_ms <= at_ms:
            self._next_change += 1
        return list(self.changes[first : self._next_change])

    def spans(self, from_ms: int, to_ms: int) -> tuple[Span, ...]:
        """Divide the time until the next rebalance where rates change or instances stop; ``rates`` follow."""
        if not self.paces and not self.outages:
            return (Span(self.rates, to_ms - from_ms),)
        cuts = {from_ms, to_ms}
        cuts |= {edge for outage in self.outages for edge in (outage.from_ms, outage.to_ms)}
        cuts |= {pace.at_ms for pace in self.paces}
        edges = [edge for edge in sorted(cuts) if from_ms <= edge <= to_ms]
        spans = tuple([self._span(start, end) for start, end in pairwise(edges)])
        return spans or (Span(self.rates, 0),)

    def spans_ahead(self, from_ms: int, to_ms: int) -> tuple[Span, ...]:
        """Divide a time that is still to come; ``rates`` stay those of now."""
        if not self.paces and not self.outages:
            return self.spans(from_ms, to_ms)
        forecast = copy(self)
        forecast._restore_of = dict(self._restore_of)
        return forecast.spans(from_ms, to_ms)

    def rates_from(self, at_ms: int) -> Rates:
        """Return the rates of the time that begins now."""
        return self._span(at_ms, at_ms).rates if self.paces else self.rates

    def is_steady(self, from_ms: int, to_ms: int) -> bool:
        """Tell whether all run, and restore at the same rates, through this time."""
        changes = any(isinstance(pace, RestoreRate) and from_ms < pace.at_ms < to_ms for pace in self.paces)
        return not changes and not any(outage.from_ms < to_ms and outage.to_ms > from_ms for outage in self.outages)

    def rates_change(self, from_ms: int, to_ms: int) -> bool:
        """Tell whether a rate changes, or records are written at once, within this time."""
        return any(from_ms <= pace.at_ms <= to_ms for pace in self.paces)

    def produced(self, task: int, from_ms: int, to_ms: int) -> int:
        """Return what is written to the task's changelogs in a time that is over."""
        total, at_ms, rate = 0.0, from_ms, self._rate_at(task, from_ms)
        for pace in self.paces:
            if not from_ms < pace.at_ms <= to_ms or not self._concerns(pace, task):
                continue
            total += rate * (pace.at_ms - at_ms) / 1000
            at_ms, rate = pace.at_ms, pace.per_second if isinstance(pace, ProduceRate) else rate
            total += pace.records if isinstance(pace, Burst) else 0
        return int(total + rate * (to_ms - at_ms) / 1000)

    def _span(self, start_ms: int, end_ms: int) -> Span:
        """What happens at the end of an interval belongs to the next one."""
        burst: dict[int, int] = {}
        for pace in self.paces:
            if pace.at_ms != start_ms:
                continue
            if isinstance(pace, Burst):
                for task in filter(lambda task: self._concerns(pace, task), self.group.stateful):
                    burst[task] = burst.get(task, 0) + pace.records
            else:
                self._change_pace(pace)
        index = self.group.instance_index
        stopped_instances = frozenset(
            index[outage.process_id]
            for outage in self.outages
            if outage.from_ms <= start_ms < outage.to_ms and outage.process_id in index
        )
        return Span(self.rates, end_ms - start_ms, stopped_instances, burst)

    def _change_pace(self, pace: ProduceRate | RestoreRate) -> None:
        rate = pace.per_second
        match pace:
            case RestoreRate(process_ids=()):
                self._restore_of.clear()
                self.rates = replace(self.rates, restore_per_instance=rate, restore_of={})
            case RestoreRate():
                self._restore_of.update(dict.fromkeys(pace.process_ids, rate))
                self.regroup(self.group)
            case ProduceRate(subtopology=None):
                self.rates = replace(self.rates, produce_per_task=rate, produce_of={})
            case ProduceRate():
                tasks = filter(lambda task: self._concerns(pace, task), self.group.stateful)
                self.rates = replace(self.rates, produce_of={**self.rates.produce_of, **dict.fromkeys(tasks, rate)})

    def _rate_at(self, task: int, at_ms: int) -> float:
        rates = [
            pace.per_second
            for pace in self.paces
            if isinstance(pace, ProduceRate) and pace.at_ms <= at_ms and self._concerns(pace, task)
        ]
        return rates[-1] if rates else self._first_rates.produce_rate(task)

    def _concerns(self, pace: PaceChange, task: int) -> bool:
        if isinstance(pace, RestoreRate):
            return False
        return pace.subtopology in (None, self.group.subtopologies[task])
