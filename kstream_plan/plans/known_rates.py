"""How fast state is restored and written as far as a plan knows, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kstream_plan.model import Group, Rates

#: The source of a rate that an option gives.
GIVEN = "given"


class KnownRate(NamedTuple):
    """A rate in records per second: in the middle of those that were measured, the least and the most.

    ``measured`` of so many ``among`` (instances that restore, tasks that are written to) are known, each in
    ``least_intervals`` to ``most_intervals`` (0: not known). ``at_least``: of none of them more than a bound is known.
    ``sources``: ``log``, ``offsets-topic``, ``lags``, ``metrics`` or ``given``.
    """

    median: float
    least: float
    most: float
    measured: int
    among: int
    least_intervals: int
    most_intervals: int
    at_least: bool
    sources: tuple[str, ...]


class KnownRates(NamedTuple):
    """What an instance restores, all its copies together, and what is written per task; ``None``: not known."""

    restore: KnownRate | None = None
    produce: KnownRate | None = None


NOTHING_KNOWN = KnownRates()


def known_rates(rates: Rates, group: Group) -> KnownRates:
    """Return what a plan of ``group`` knows of rates: those given by hand beat those measured, these beat bounds."""
    bounds = not rates.restore
    return KnownRates(
        restore=_known_rate(
            rates.restore_at_least if bounds else rates.restore,
            rates.restore_per_instance,
            len(group.instances),
            rates.restore_intervals,
            rates.restore_source,
            at_least=bounds,
        ),
        produce=_known_rate(
            {task: rate for task, rate in rates.produce.items() if group.tasks[task].stateful},
            rates.produce_per_task,
            len(group.stateful),
            rates.produce_intervals,
            rates.produce_source,
        ),
    )


def _known_rate(
    measured_rates: Mapping[int, float],
    given_rate: float | None,
    among: int,
    intervals: Mapping[int, int],
    sources: Mapping[int, str],
    *,
    at_least: bool = False,
) -> KnownRate | None:
    if not among:
        return None
    if given_rate is not None:
        return KnownRate(given_rate, given_rate, given_rate, among, among, 0, 0, at_least=False, sources=(GIVEN,))
    if not measured_rates:
        return None
    from statistics import median  # noqa: PLC0415 - loads random and fractions, and few rates are measured

    interval_counts = [intervals.get(index, 0) for index in measured_rates]
    return KnownRate(
        median=median(measured_rates.values()),
        least=min(measured_rates.values()),
        most=max(measured_rates.values()),
        measured=len(measured_rates),
        among=among,
        least_intervals=min(interval_counts),
        most_intervals=max(interval_counts),
        at_least=at_least,
        sources=tuple(sorted({sources[index] for index in measured_rates if index in sources})),
    )
