"""A whole plan: what follows when a rebalance starts now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import ClassVar, NamedTuple, Protocol

from kstream_plan.model import Group, Holding, Note, Target, WorkId
from kstream_plan.model.connect_group import DELAY_UNKNOWN
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.times import duration_span, utc
from kstream_plan.plans.caught_up_evidence import UnprovenStart
from kstream_plan.plans.end import PlanEnd
from kstream_plan.plans.known_rates import NOTHING_KNOWN, KnownRates
from kstream_plan.plans.note_codes import MEMORY_UNSETTLED, warnings_first
from kstream_plan.plans.notebooks import InNotebooks
from kstream_plan.plans.pauses import RESTORES_UNNOTICED, Pauses, pauses_of
from kstream_plan.plans.restore_times import RestoringStart, max_restoring_ms
from kstream_plan.plans.rounds import Balance, Round, in_effect_ms, probes_after_ms
from kstream_plan.plans.steps import MemberJoined
from kstream_plan.plans.summary import Summary
from kstream_plan.plans.task_pauses import Outage
from kstream_plan.plans.verdict import Verdict

#: The code of the warning of figures that are unknown in one possible outcome, though they are known in others.
ENDLESS = "worst-unknown"
#: The code of the warning of copies of a task that lie on the same value of a tag which is to keep them apart.
COPIES_TOGETHER = "copies-together"
#: The code of the warning of what restores before it runs though it counts as caught up.
RESTORES_WITHIN_LIMIT = "restores-within-limit"
#: The code of the assumption about copies that may have caught up by now, which is unknown.
MAYBE_READY = "copies-maybe-ready"
#: The code of the assumption of where stores are: on the disks of instances, or in memory.
STORES = "stores"
#: The code of the warning of tasks that started cold before the plan: whether they run by now is unknown.
MAYBE_RESTORING = "tasks-maybe-restoring"
#: The code of the warning that copies whose restore rate is unknown count as caught up at follow-ups: the planner then
#: simulates the outcome if they are so at probes alone, and leaves the warning out if it is the same.
READY_AT_FOLLOW_UP = "ready-at-follow-up"
#: The code of the assumption of how many lags were measured, about the tasks with a copy whose lag is a lower bound.
LAGS_MEASURED = "lags-measured"
#: The code of the warning that the group still works off its input, so that what copies lack grows meanwhile.
INPUT_BEHIND = "input-behind"
#: The code of the warning that other outcomes were not simulated, so that figures which may be ranges are of one.
ENDS_NOT_PLAYED = "ends-not-played"
#: The code of the warning that other outcomes were simulated only for the draw that is shown.
ENDS_OF_OTHERS_NOT_PLAYED = "ends-of-others-not-played"
#: The code of the warning of a saved plan whose ranges may be gone.
ENDS_NOT_SAVED = "ends-not-saved"
#: Any of them: other outcomes are unknown.
NOT_PLAYED = (ENDS_NOT_PLAYED, ENDS_OF_OTHERS_NOT_PLAYED, ENDS_NOT_SAVED)
#: The options that say whether copies ever catch up, and why it is unknown without them whether a group settles.
RATES_TELL = ("--restore-rate", "--set produce.rate")
RATES_WOULD_TELL = f"copies may never catch up ({' and '.join(RATES_TELL)} tell)"
#: The figures that are unknown of Connect workers where something is unassigned and a delay may run.
_WHILE_DELAYED = ("duration_ms", "max_paused_task_ms", "longest_pause_ms", "paused_task_ms")
#: The figures of pauses: how long, and how many tasks.
PAUSES = ("paused_task_ms", "max_paused_task_ms", "longest_pause_ms", "paused_tasks_at_once")


class RemainingWork(NamedTuple):
    """The rest of a plan, or all of it, counted from its queue and not simulated.

    ``tasks`` still have to move, ``at_once`` of them warm up at a time: that takes ``probes``, and ``time_ms``.
    """

    tasks: int
    at_once: int
    probes: int
    time_ms: int


def remaining_work_of(tasks: int, config: AssignmentConfig, at_once: int | None = None) -> RemainingWork | None:
    """Return the work of moving ``tasks`` tasks, ``at_once`` at a time (default: as many as the settings say).

    ``None``: nothing moves, or what does so does not warm up.
    """
    at_once = config.max_warmup_replicas if at_once is None else at_once
    if not tasks or not at_once:
        return None
    probes = -(-tasks // at_once)
    return RemainingWork(
        tasks, at_once, probes, probes * (config.probing_rebalance_interval_ms + config.heartbeat_interval_ms)
    )


def shorter_than(remaining: RemainingWork, config: AssignmentConfig) -> RemainingWork | None:
    """Return the same work with ten times as many tasks at a time; ``None``: that is no shorter."""
    return (
        remaining_work_of(remaining.tasks, config, min(10 * remaining.at_once, remaining.tasks))
        if remaining.probes > 1
        else None
    )


class CopyBehind(NamedTuple):
    """A copy that does not count as caught up at the first decision; ``records``: the number that it lacks."""

    task_id: WorkId
    process_id: str
    records: int


class HasFigures(Protocol):
    """The figures of a simulation: a plan, or the parts that a plan is put together of."""

    @property
    def summary(self) -> Summary:
        """All of it, added up."""
        ...

    @property
    def pauses(self) -> Pauses:
        """The pauses of tasks meanwhile."""
        ...

    @property
    def verdict(self) -> Verdict:
        """How it ends."""
        ...

    @property
    def unproven_starts(self) -> tuple[UnprovenStart, ...]:
        """The starts that count as warm and are not proven to be."""
        ...

    @property
    def restoring_starts(self) -> Sequence[RestoringStart]:
        """The starts that count as caught up and restore for long before their tasks run all the same."""
        ...


def figure_of(run: HasFigures, name: str) -> int | None:
    """Return a figure that may be a range (:data:`~kstream_plan.plans.summary.FIGURES`); ``None``: not known."""
    if name in PAUSES and run.verdict.is_never_over:
        return None
    value: int | None
    match name:
        case "max_paused_task_ms":
            value = max(run.pauses.ms.values(), default=0)
        case "longest_pause_ms":
            value = run.pauses.longest_ms
        case "paused_tasks_at_once":
            value = run.pauses.most_at_once
        case "settles":
            value = int(run.verdict.kind == "settled")
        case "restoring_first":
            value = len({start.task_id for start in run.restoring_starts})
        case "max_restoring_first_ms":
            value = max_restoring_ms(run.restoring_starts)
        case _:
            value = getattr(run.summary, name)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSoFar:
    """The first rounds of a plan that is being made, as the fields of :class:`Plan` have them."""

    group: Group
    config: AssignmentConfig
    initial: Sequence[Holding]
    rounds: tuple[Round, ...]
    pauses: Pauses
    outages: tuple[Outage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(InNotebooks):
    """What follows when a rebalance starts now.

    ``digest`` is the SHA-256 of the canonical input model, ``snapshot_digest`` that of the snapshot and the settings
    alone (the same unless a scenario is simulated), ``generation`` and ``captured_at`` (RFC 3339 or ``None``) are the
    snapshot's. ``initial`` and ``final`` are by consumer index of ``group``: everyone who ever takes part. ``members``
    are the process ids and numbers of stream threads of those who do at the end. ``config`` counts from the start,
    ``later_configs`` (number of the first round, settings) from then on. ``outages`` are those that the group does not
    notice, in time: restarts of static members within the session time-out, which no round states.
    ``initial_balance`` is how evenly the load is spread as the first rebalance finds it: who joins in it counts as
    empty, who joins later does not count yet. ``stopping`` are the consumers that give up all they run before they join
    a rebalance, ``pauses`` every pause of a task that ends within the plan; ``pauses_from_start``: those of tasks that
    nobody runs when the plan begins as well, which earlier versions did not count. ``rates`` are those known at first.
    ``probes``: the design asks by probing rebalances which copies are ready.
    ``end`` is what it takes to plan on from where the plan ends; ``None``: unknown. ``unproven_starts`` count as
    warm in the steps, and nothing proves that they are: their former owners are gone. ``restoring_starts`` do so too,
    by round, and restore for long before their tasks run all the same. ``behind`` are the
    assigned copies of a classic group that do not count as caught up when the first decision comes.
    """

    group: Group
    digest: str
    snapshot_digest: str
    generation: int
    captured_at: str | None
    design: str = "classic"
    models: str = ""
    probes: bool = True
    assignor: str
    protocol: str
    config: AssignmentConfig
    assumptions: tuple[Note, ...]
    initial: Sequence[Holding]
    initial_balance: Balance
    stopping: frozenset[int]
    rounds: tuple[Round, ...]
    final: Sequence[Holding]
    members: tuple[tuple[str, int], ...]
    target: Target
    pauses: Pauses
    pauses_from_start: bool = False
    summary: Summary
    warnings: tuple[Note, ...]
    verdict: Verdict
    later_configs: tuple[tuple[int, AssignmentConfig], ...] = ()
    outages: tuple[Outage, ...] = ()
    rates: KnownRates = NOTHING_KNOWN
    end: PlanEnd | None = None
    unproven_starts: tuple[UnprovenStart, ...] = ()
    restoring_starts: tuple[RestoringStart, ...] = ()
    behind: tuple[CopyBehind, ...] = ()

    tables: ClassVar[tuple[str, ...]] = ("rounds", "steps")

    def __post_init__(self) -> None:
        """Put what warns before what is only good to know, as saved plans have it."""
        object.__setattr__(self, "warnings", warnings_first(self.warnings))

    @property
    def is_of_workers(self) -> bool:
        """Whether it is of a Kafka Connect group, whose workers run connectors and tasks, by whatever design."""
        return self.design.startswith("connect")

    @property
    def in_effect_ms(self) -> list[int]:
        """When each round has taken effect, at the latest (:func:`~kstream_plan.plans.rounds.in_effect_ms`)."""
        return in_effect_ms(self.rounds, self.config, self.later_configs)

    @property
    def first_members(self) -> tuple[str, ...]:
        """The process ids of those who take part before the first rebalance, joining in which they do not."""
        last = {process_id for process_id, _ in self.members}
        joins_first: dict[str, bool] = {}
        for rnd in self.rounds:
            for step in rnd.member_steps:
                joins_first.setdefault(step.process_id, isinstance(step, MemberJoined))
        ids = (instance.process_id for instance in self.group.instances)
        return tuple(name for name in ids if not joins_first.get(name, name not in last))

    def figure(self, name: str) -> int | None:
        """Return a figure that may be a range (:func:`figure_of`)."""
        return figure_of(self, name)

    def ends(self, name: str, *of_draws: int) -> tuple[int, int]:
        """Return the least and the most that a figure of :data:`~kstream_plan.plans.summary.FIGURES` may be.

        They are the figure itself where nothing that is unknown decides it, and 0 if it is not known at all;
        ``of_draws`` count as well.
        """
        figure = self.figure(name)
        bounds = [(bounds.low, bounds.high) for bounds in self.summary.ranges if bounds.figure == name]
        values = [*of_draws, *([] if figure is None else [figure]), *chain.from_iterable(bounds)]
        return min(values, default=0), max(values, default=0)

    @property
    def begins_late_at(self) -> str | None:
        """The moment that it begins at, RFC 3339, if the snapshot was taken a second or more before; else ``None``."""
        begins_at = None if self.end is None else self.end.begins_at
        return begins_at if begins_at and self.captured_at and utc(begins_at) > utc(self.captured_at) else None

    @property
    def balance_after(self) -> Balance:
        """How evenly the load is spread at the end."""
        return self.rounds[-1].balance if self.rounds else self.initial_balance

    @property
    def ready_at_follow_ups(self) -> bool:
        """Whether copies whose restore rate is unknown count as caught up at follow-ups, too."""
        return any(note.code == READY_AT_FOLLOW_UP for note in self.warnings)

    @property
    def probing_interval(self) -> str:
        """The time from one probe to the next, from the shortest to the longest of all settings that count."""
        configs = (self.config, *(config for _, config in self.later_configs))
        return duration_span(probes_after_ms(self.rounds, configs))

    @property
    def lower_bound_lags(self) -> frozenset[str]:
        """The tasks with a copy whose lag has only a known lower bound, so that more may be restored."""
        return frozenset(
            task_id for note in self.assumptions if note.code == LAGS_MEASURED for task_id in note.subjects
        )

    @property
    def restores_first(self) -> tuple[WorkId, ...]:
        """The tasks that start warm by Kafka's rule, and all the same restore for long before they run."""
        return tuple(dict.fromkeys(start.task_id for start in self.restoring_starts))

    @property
    def tells_restoring_first(self) -> str:
        """What would tell which tasks restore first in other outcomes: ``--metrics``, and where stores are."""
        return "--metrics and --set stores" if self.end and self.end.stores in (None, "mixed") else "--metrics"

    @property
    def may_be_restoring(self) -> bool:
        """Whether it is unknown if all tasks run at first: some started cold before, and may still restore."""
        return any(note.code == MAYBE_RESTORING for note in self.warnings)

    @property
    def tells_ends(self) -> bool:
        """Whether the ranges of figures cover all outcomes: else one of several was simulated."""
        return all(note.code not in NOT_PLAYED for note in self.warnings)

    @property
    def unsettled_in_memory(self) -> str | None:
        """The warning that the group may not settle if stores are in memory, which is unknown; ``None``: not so."""
        return next((note.message for note in self.warnings if note.code == MEMORY_UNSETTLED), None)

    @property
    def may_not_settle(self) -> str | None:
        """Why a group that likely settles may not, and which option would tell; ``None``: it settles, or does not."""
        if self.verdict.kind != "settled" or self.ends("settles")[0]:
            return None
        return self.unsettled_in_memory or f"Whether the group settles is unknown: {RATES_WOULD_TELL}"

    def may_be_endless(self, name: str) -> bool:
        """Tell whether the worst value of a figure is unknown, though a lower bound may be known."""
        if self.figure(name) is None:
            return True
        return any(
            name in (note.subjects if note.code == ENDLESS else _WHILE_DELAYED)
            for note in self.warnings
            if note.code == ENDLESS or (note.code == DELAY_UNKNOWN and note.subjects)
        )

    @property
    def remaining_work(self) -> RemainingWork | None:
        """The work that remains where the plan was cut off; ``None``: none, or it does not warm up."""
        return remaining_work_of(len(self.verdict.tasks), self.config) if self.verdict.kind == "unfinished" else None

    @property
    def rounds_in_all(self) -> int:
        """About how many rounds a plan that was cut off has in all, if its probes go on like those it has."""
        remaining = self.remaining_work
        rounds = len(self.rounds)
        return rounds + (
            0 if remaining is None else -(-rounds * remaining.probes // max(1, self.summary.probing_rebalances))
        )

    @property
    def pauses_are_least(self) -> bool:
        """Whether it is unknown how long cold starts restore before they run: the pauses do not count that."""
        return (
            self.summary.max_cold_restore_ms is None
            or any(note.code == RESTORES_UNNOTICED for note in self.warnings)
            or (
                not self.summary.cold_handovers
                and self.ends("cold_handovers")[1] > 0
                and not self.ends("max_cold_restore_ms")[1]
            )
        )

    def paused_ms_between(self, first: int, last: int) -> Mapping[WorkId, int]:
        """Return how long each task is paused for the rounds after number ``first``, up to number ``last``.

        Of a Connect group, how long it is in that time: work that a round leaves unassigned starts rounds later.
        """
        if not self.is_of_workers:
            return self.pauses_between(first, last).ms
        from_ms = self.rounds[first - 1].at_ms if first else -self.config.heartbeat_interval_ms
        until_ms = self.rounds[last - 1].at_ms if last else 0
        paused_ms = Counter[WorkId]()
        for pause in self.pauses:
            length_ms = min(pause.to_ms, until_ms) - max(pause.from_ms, from_ms)
            if length_ms > 0:
                paused_ms[pause.task_id] += length_ms
        return paused_ms

    def pauses_between(self, first: int, last: int) -> Pauses:
        """Return the pauses that follow from the rounds after number ``first``, up to number ``last``."""
        rounds = self.rounds[first:last]
        holdings = self.rounds[first - 1].assigned if first else self.initial
        from_ms = self.rounds[first - 1].at_ms if first else -self.config.heartbeat_interval_ms
        until_ms = inf if last >= len(self.rounds) else self.rounds[last].at_ms
        outages = [outage for outage in self.outages if from_ms <= outage.from_ms < until_ms]
        from_start = self.pauses_from_start and not first
        return pauses_of(self.group, holdings, rounds, self.stopping, self.config, outages, from_start=from_start)

    def config_of(self, round_number: int) -> AssignmentConfig:
        """Return the settings that a round was decided with."""
        later = [config for first, config in self.later_configs if first <= round_number]
        return later[-1] if later else self.config
