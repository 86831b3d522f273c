"""A plan in figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import WorkId


class PausedTask(NamedTuple):
    """The task that is paused longest: its id, for how long in all, and how often."""

    task_id: WorkId
    ms: int
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBounds:
    """The least any plan could do.

    ``moves``: stateful tasks that must change owner to reach the target's loads; ``probing_rebalances``: the
    ticks that these take at ``max.warmup.replicas`` at a time if every one of them has to warm up (a task may also
    move to a copy that is there, or be promoted in a follow-up); ``restored_records`` is ``None`` unless computed.
    """

    moves: int
    probing_rebalances: int
    restored_records: int | None = None


#: What a time is that a plan gives.
DurationIs: TypeAlias = Literal["floor", "probes", "least", "estimate"]


class FigureRange(NamedTuple):
    """A figure of a plan that depends on something unknown: both its ends."""

    figure: str
    low: int
    high: int


#: The figures of a plan that may be ranges: those of its summary, how many tasks count as caught up and restore first,
#: how long one of them does at most, how long and how many tasks are paused, and whether it settles (0 or 1).
FIGURES = (
    "rebalances",
    "probing_rebalances",
    "duration_ms",
    "moves",
    "hops",
    "warmups",
    "cold_handovers",
    "max_cold_restore_ms",
    "restoring_first",
    "max_restoring_first_ms",
    "runs_by_ms",
    "restored_records",
    "paused_task_ms",
    "peak_extra_copies",
    "stateless_hops",
    "max_paused_task_ms",
    "longest_pause_ms",
    "paused_tasks_at_once",
    "settles",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The plan in figures (page ``plans``).

    ``duration_is``: ``probes`` if anything is restored at an unknown rate: then it is how long the plan takes if
    every copy is ready at the next probe, and ``floor_ms`` the least that it takes, every copy being there at once;
    where there are no probes, ``least``: it takes at least as long; else ``estimate``. (``floor`` is
    what plans of before say instead of ``probes``.) ``ranges`` are the figures that hang on whether copies have caught
    up by now, where nobody knows that: the figures themselves say that they have not. ``moves``: stateful tasks whose
    owning instance differs at the end (one that nobody ran at first has not moved); ``hops``: changes of owning
    instance on the way, starts of tasks that nobody ran included; ``stateless_hops`` those of stateless tasks.
    ``cold_handovers``: hand-overs of a stateful task to a copy above the limit; the slowest restores for
    ``max_cold_restore_ms`` before it runs (0 if there is none, ``None`` if that is not known of all);
    ``runs_by_ms``: by when every task runs, restores included, where the design follows them and that is known.
    ``paused_task_ms``: the sum of the pauses of all tasks, without that restoring;
    ``peak_extra_copies``: most warm-up and temporary copies at once.
    """

    rebalances: int
    probing_rebalances: int
    duration_ms: int
    duration_is: DurationIs
    moves: int
    hops: int
    warmups: int
    cold_handovers: int
    max_cold_restore_ms: int | None
    restored_records: int | None
    paused_task_ms: int
    max_paused_task: PausedTask | None
    peak_extra_copies: int
    stateless_hops: int
    lower_bounds: LowerBounds
    floor_ms: int | None = None
    runs_by_ms: int | None = None
    ranges: tuple[FigureRange, ...] = ()
