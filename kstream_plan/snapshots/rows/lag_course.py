"""What a lag history says of an application over time: how far behind it is, what is written, what is restored."""

from __future__ import annotations

from typing import NamedTuple

from kstream_plan.model.settings import AssignmentConfig

#: A time is shown in so many steps.
STEPS = 24

#: Growth below what counts as caught up is how lags go up and down.
_NOTABLE = AssignmentConfig().acceptable_recovery_lag

#: Records behind at the end of each step, the oldest first; ``None`` where nobody said.
Series = tuple[int | None, ...]


class Progress(NamedTuple):
    """How far copies are behind and were when first heard of, and what came and went meanwhile; ``None``: not known.

    Rates are in records per second.
    """

    lag: int | None
    lag_before: int | None
    written_per_second: float | None
    restored_per_second: float | None

    @property
    def falls_behind(self) -> bool:
        """Whether more was written than restored, by more than what counts as caught up."""
        return self.lag is not None and self.lag_before is not None and self.lag - self.lag_before > _NOTABLE


class InstanceCourse(NamedTuple):
    """An instance: how many copies it told of, when last, and how it went on."""

    process_id: str
    copies: int
    heard_ms: int
    progress: Progress
    lags: Series


class TaskCourse(NamedTuple):
    """A task: what is written to it, and how far the copy is behind that is furthest."""

    task_id: str
    copies: int
    lag: int | None
    written_per_second: float | None


class LagCourse(NamedTuple):
    """An application from one time to another, in :data:`STEPS` steps.

    Instances come with those first that fall behind most, tasks with those that are written to most.
    """

    application_id: str
    since_ms: int
    until_ms: int
    rows: int
    copies: int
    progress: Progress
    lags: Series
    instances: tuple[InstanceCourse, ...]
    tasks: tuple[TaskCourse, ...]

    @property
    def step_ms(self) -> int:
        """How long a step is."""
        return (self.until_ms - self.since_ms) // STEPS


def together(parts: list[Progress]) -> Progress:
    """Return what instances do in all; what is not known of one is left out."""

    def total(values: list[float | int | None]) -> float | int | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    lag, before = total([part.lag for part in parts]), total([part.lag_before for part in parts])
    return Progress(
        None if lag is None else int(lag),
        None if before is None else int(before),
        total([part.written_per_second for part in parts]),
        total([part.restored_per_second for part in parts]),
    )


def sum_of(series: list[Series]) -> Series:
    """Return the steps of several, added up; a step that nobody told of stays unknown."""
    return tuple(
        sum(known) if (known := [lag for lag in step if lag is not None]) else None
        for step in zip(*series, strict=True)
    )
