"""What a lag history says of an application over time: how far behind it is, what is written, what is restored.

And the remarks beside it: instances that fall behind or are silent, and how to see more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kstream_plan.model import Note
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.times import duration

#: The number of steps in which a time is shown.
STEPS = 24

#: Growth below what counts as caught up is how lags go up and down.
NOTABLE = AssignmentConfig().acceptable_recovery_lag

#: Records behind at the end of each step, the oldest first; ``None`` where that is not known.
Series = tuple[int | None, ...]


#: The figures that may be known of all copies, of some, or of none.
FIGURES = ("lag", "lag_before", "written_per_second", "restored_per_second")

#: Such a part of a process id is enough to tell instances apart, nearly always.
_SHORT = 8
#: A history that fills no more steps is hardly seen.
FEW_STEPS = 2


class Progress(NamedTuple):
    """The lag of copies now and at their first report, and the rates in between; ``None``: unknown.

    Rates are in records per second. ``at_least``: the figures that leave out copies for which they are unknown.
    """

    lag: int | None
    lag_before: int | None
    written_per_second: float | None
    restored_per_second: float | None
    at_least: tuple[str, ...] = ()

    @property
    def growth(self) -> int | None:
        """By how much the copies fell behind whose lag is known; ``None``: of none it is."""
        return None if self.lag is None or self.lag_before is None else self.lag - self.lag_before

    @property
    def falls_behind(self) -> bool | None:
        """Whether more was written than restored, by more than what counts as caught up; ``None``: not known."""
        if self.growth is None:
            return None
        return True if self.growth > NOTABLE else None if "lag" in self.at_least else False

    @property
    def catches_up_ms(self) -> int | None:
        """How long it takes at these rates until nothing is behind; ``None``: not known, or it does not catch up."""
        rates = self.restored_per_second, self.written_per_second
        if self.lag is None or None in rates or self.at_least:
            return None
        net = (rates[0] or 0) - (rates[1] or 0)
        return round(self.lag / net * 1000) if net > 0 else None


class InstanceCourse(NamedTuple):
    """An instance: how many copies it reported, when last, and its progress.

    ``copies_behind``: copies that fall behind each by itself, even if others restore more than that; ``most_behind``:
    the task of the copy that falls behind most, and by how many records. ``is_silent``: see :func:`is_silent`.
    """

    process_id: str
    copies: int
    heard_ms: int
    progress: Progress
    lags: Series
    copies_behind: int = 0
    most_behind: tuple[str, int] | None = None
    is_silent: bool = False

    @property
    def falls_behind(self) -> bool | None:
        """Whether the instance, or a copy on it, falls behind; ``None``: unknown, or it is silent."""
        is_behind = self.copies_behind > 0 or self.progress.falls_behind
        return None if self.is_silent and not is_behind else is_behind


class TaskCourse(NamedTuple):
    """A task: what is written to it, and how far the copy is behind that is furthest, of those that ``lag`` is of."""

    task_id: str
    copies: int
    lag: int | None
    written_per_second: float | None
    at_least: tuple[str, ...] = ()


class LagCourse(NamedTuple):
    """An application from one time to another, in :data:`STEPS` steps.

    Instances come with those first that fall behind, then those that may, of either those that do most; of tasks those
    come first that are written to most. ``first_ms``: the oldest row of that time; ``None``: not known.
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
    first_ms: int | None = None

    @property
    def length_ms(self) -> int:
        """How long it is from the oldest row to the newest."""
        return self.until_ms - (self.since_ms if self.first_ms is None else self.first_ms)

    @property
    def step_ms(self) -> int:
        """How long a step is."""
        return (self.until_ms - self.since_ms) // STEPS

    @property
    def reported_steps(self) -> int:
        """How many steps there are from the first report of a lag on; all, if that is more than half of them."""
        numbers = [step for instance in self.instances for step, lag in enumerate(instance.lags) if lag is not None]
        steps = STEPS - min(numbers, default=0)
        return steps if 2 * steps <= STEPS else STEPS

    @property
    def falls_behind(self) -> bool | None:
        """Whether an instance falls behind; ``None``: one may."""
        instance_states = [instance.falls_behind for instance in self.instances]
        return True if True in instance_states else None if None in instance_states else False


def is_silent(lags: Series, silent_ms: int, step_ms: int) -> bool:
    """Tell whether an instance was silent at the end for longer than ever before: it may be gone."""
    known_steps = [step for step, lag in enumerate(lags) if lag is not None]
    longest = max((next_step - previous_step for previous_step, next_step in pairwise(known_steps)), default=1)
    return silent_ms > longest * step_ms


def total_progress(parts: Sequence[Progress]) -> Progress:
    """Return the progress of instances in all; figures that are unknown for one of them are ``at_least``."""
    figures = {name: [getattr(part, name) for part in parts] for name in FIGURES}
    known_figures = {name: [value for value in values if value is not None] for name, values in figures.items()}
    at_least_names = (
        name
        for name in FIGURES
        if known_figures[name] and (None in figures[name] or any(name in part.at_least for part in parts))
    )
    lag, lag_before, written_per_second, restored_per_second = (
        sum(values) if values else None for values in known_figures.values()
    )
    return Progress(lag, lag_before, written_per_second, restored_per_second, tuple(at_least_names))


def sum_of(instances: Sequence[InstanceCourse]) -> Series:
    """Return the steps of several instances, added up.

    A step has no sum if an instance that reported before and after it did not report, or may be gone by then.
    """
    series, spans = [instance.lags for instance in instances], []
    for instance in instances:
        known_steps = [step for step, lag in enumerate(instance.lags) if lag is not None]
        end = STEPS if known_steps and instance.is_silent else max(known_steps, default=-1) + 1
        spans.append(range(min(known_steps, default=0), end))
    sums: list[int | None] = []
    for step in range(STEPS):
        lags = [instance_lags[step] for instance_lags, span in zip(series, spans, strict=True) if step in span]
        sums.append(None if not lags or None in lags else sum(lag for lag in lags if lag is not None))
    return tuple(sums)


def lag_remarks(course: LagCourse) -> Remarks:
    """Return the remarks beside the figures of a lag history."""
    names = instance_names(course.instances)
    notes = [Note("plan-with-lags", "To plan from these lags, give them to assign, with a snapshot: --metrics")]
    over_ms = (course.length_ms // 60_000 + 1) * 60_000
    if course.reported_steps > FEW_STEPS or over_ms >= course.until_ms - course.since_ms:
        return Remarks(tuple(_warnings(course, names)), tuple(notes))
    notes.insert(0, Note("short-history", "The history is short: the next command shows it in finer steps"))
    command = f"kstream-plan history LAGS --set over={duration(over_ms)}"
    return Remarks(tuple(_warnings(course, names)), tuple(notes), next=(Note("finer-steps", command),))


def instance_names(instances: Sequence[InstanceCourse]) -> dict[str, str]:
    """Return short forms of process ids that tell them apart."""
    ids = [instance.process_id for instance in instances]
    short = {name: f"{name[:_SHORT]}…" if len(name) > _SHORT + 1 else name for name in ids}
    return short if len(set(short.values())) == len(ids) else {name: name for name in ids}


def _warnings(course: LagCourse, names: Mapping[str, str]) -> Iterator[Note]:
    lagging_instances = [instance for instance in course.instances if instance.most_behind is not None]
    if lagging_instances:
        instances_text = name_list(
            [f"{names[instance.process_id]} ({_copies_behind(instance)})" for instance in lagging_instances]
        )
        subjects = tuple(instance.process_id for instance in lagging_instances)
        yield Note("copies-fall-behind", f"Copies fall behind on {instances_text}", subjects)
    silent = [instance for instance in course.instances if instance.is_silent]
    if silent:
        instances_text = name_list(
            [f"{names[instance.process_id]} for {duration(course.until_ms - instance.heard_ms)}" for instance in silent]
        )
        consequence = "it may be gone, and its last lag counts"
        if len(silent) > 1:
            consequence = "they may be gone, and their last lags count"
        subjects = tuple(instance.process_id for instance in silent)
        yield Note("silent-instances", f"No reports from {instances_text}: {consequence}", subjects)


def _copies_behind(instance: InstanceCourse) -> str:
    """Return how many copies fall behind, and which one most."""
    task_id, growth = instance.most_behind or ("", 0)
    noun = "copy" if instance.copies == 1 else "copies"
    return f"{instance.copies_behind:,} of {instance.copies:,} {noun}, most {task_id} by {growth:,} records"
