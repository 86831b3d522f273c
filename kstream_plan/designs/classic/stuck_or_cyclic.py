"""How a plan ends that does not settle: that it is stuck or goes in circles, and why: the copy it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from kstream_plan.designs.classic.catching_up import POLL_DELAY_MS
from kstream_plan.model import Assignment, Copy, GroupState, Holding, Rates
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.state import is_settled
from kstream_plan.plans import Cause, CauseCode, Verdict

#: (instance, caught up?) of a task's reported copies in by-lag order; ``None`` if only a running owner has any
_Lags: TypeAlias = tuple[tuple[int, bool], ...] | None


class _Tick(NamedTuple):
    """What is compared of a tick, and no more: there may be thousands of them.

    ``behind``: (task, instance) → what the assigned copies have to restore that have anything.
    """

    consumers: Sequence[Holding]
    holdings: Sequence[Holding]
    behind: dict[tuple[int, int], int]


class Recurrence:
    """Remembers the ticks of one plan, the newest of each kind, and compares each new one with those before.

    Compared are what was decided and what is owned, consumer by consumer, and of every reported copy whether it is
    caught up and its place in the by-lag order (what is withheld follows from these).
    """

    def __init__(self, config: AssignmentConfig) -> None:
        self._limit = config.acceptable_recovery_lag
        self._newest: dict[int, list[tuple[int, _Tick]]] = {}
        self._seen: GroupState | None = None
        self._lags: dict[int, _Lags] = {}
        #: a hash of all lags, made of one for each task
        self._hash = 0
        #: by tick: the lags just before it of the tasks of which they changed
        self._before: list[dict[int, _Lags]] = []

    def verdict(self, state: GroupState, decision: Assignment) -> Verdict | None:
        """Add a tick; say ``stuck`` or ``cyclic`` if it repeats an earlier one and no copy has come closer since."""
        tick = _Tick(decision.consumers, state.holdings, _behind(state))
        self._look_at_lags(state)
        now = len(self._before)
        # the lags alone tell most ticks apart, and hashing who holds what would take longer than deciding it
        alike = self._newest.setdefault(hash((len(decision.movements), self._hash)), [])
        verdict = None
        for position, (number, earlier) in enumerate(alike):
            if self._lags_are_as(number) and _same(earlier, tick):
                if not _closer(earlier.behind, state):
                    verdict = repeated(state, decision, now - number)
                alike[position] = (now, tick)
                break
        else:
            alike.append((now, tick))
        return verdict

    def _look_at_lags(self, state: GroupState) -> None:
        """Look at the copies that are others than at the tick before."""
        changed = state.group.stateful if self._seen is None else state.changed_since(self._seen)
        self._seen = state
        before: dict[int, _Lags] = {}
        for task in changed:
            old, new = self._lags.get(task), self._by_lag(state.copies[task])
            if old != new:
                before[task], self._lags[task] = old, new
                self._hash ^= hash((task, old)) ^ hash((task, new))
        self._before.append(before)

    def _lags_are_as(self, number: int) -> bool:
        """Tell whether the lags are what they were at that tick."""
        then: dict[int, _Lags] = {}
        for before in self._before[number:]:
            for task, lags in before.items():
                then.setdefault(task, lags)
        return all(self._lags[task] == lags for task, lags in then.items())

    def _by_lag(self, copies: tuple[Copy, ...]) -> _Lags:
        if len(copies) == 1 and copies[0].active and is_settled(copies):
            return None
        reported = sorted([(copy.lag, copy.instance) for copy in copies if copy.lag is not None])
        return tuple([(instance, is_caught_up(lag, self._limit)) for lag, instance in reported])


def repeated(state: GroupState, decision: Assignment, period: int) -> Verdict:
    """Return the verdict on a probe that found what another one did so many probes before."""
    tasks = tuple(state.group.tasks[task].task_id for task in sorted(decision.movements.tasks))
    if period == 1:
        return Verdict("stuck", tasks, "two consecutive probes decided the same, and no copy has less to restore")
    return Verdict(
        "cyclic", tasks, f"every {period} probes the group is in the same state, and no copy has less to restore"
    )


def _same(earlier: _Tick, tick: _Tick) -> bool:
    return earlier.consumers == tick.consumers and earlier.holdings == tick.holdings


def _behind(state: GroupState) -> dict[tuple[int, int], int]:
    return {
        (task, copy.instance): copy.remaining
        for task in state.unsettled
        for copy in state.copies[task]
        if copy.remaining
    }


def _closer(earlier: dict[tuple[int, int], int], now: GroupState) -> bool:
    """Whether any assigned copy has less to restore than at the earlier tick."""
    return any(
        copy.instance == instance and copy.consumer is not None and copy.remaining < remaining
        for (task, instance), remaining in earlier.items()
        for copy in now.copies[task]
    )


def cause(state: GroupState, decision: Assignment, rates: Rates, config: AssignmentConfig) -> Cause | None:
    """Return the cause of the first copy, in task order, that is waited for; ``None`` if none is.

    Left-over state never is one: it delays nothing that is assigned.
    """
    for movement in sorted(decision.movements):
        copy = _copy(state, movement.task, movement.destination)
        if copy is None or copy.consumer is None or (copy.lag is not None and _ready(copy.lag, config)):
            continue
        code, message = _why(state, movement.task, copy, rates, config)
        instance = state.group.instances[movement.destination]
        return Cause(code, state.group.tasks[movement.task].task_id, instance.process_id, message)
    return None


def _why(state: GroupState, task: int, copy: Copy, rates: Rates, config: AssignmentConfig) -> tuple[CauseCode, str]:
    restore, produce = rates.restore_rate(copy.instance), rates.produce_rate(task)
    standing = int(produce * POLL_DELAY_MS / 1000)
    if standing > config.acceptable_recovery_lag:
        return CauseCode.STANDING_LAG, (
            f"at {produce:,g} records/s even a copy that has caught up is {standing:,} records behind, more than "
            f"acceptable.recovery.lag={config.acceptable_recovery_lag}"
        )
    if restore == 0 or (copy.lag is None and restore is None):
        return CauseCode.SILENT_INSTANCE, "the instance restores nothing, so its copy never reports progress"
    busy = _produced_on(state, copy.instance, rates)
    if restore is not None and busy >= restore:
        return CauseCode.RESTORE_TOO_SLOW, (
            f"the copies that the instance restores grow by {busy:,g} records/s, and it restores only {restore:,g}"
        )
    return CauseCode.SLOW, f"its copy is still {copy.remaining:,} records behind"


def _produced_on(state: GroupState, instance: int, rates: Rates) -> float:
    return sum(
        rates.produce_rate(task)
        for task in sorted(state.unsettled)
        for copy in state.copies[task]
        if copy.instance == instance and copy.consumer is not None and copy.remaining
    )


def _copy(state: GroupState, task: int, instance: int) -> Copy | None:
    return next((copy for copy in state.copies[task] if copy.instance == instance), None)


def _ready(lag: int, config: AssignmentConfig) -> bool:
    return is_caught_up(lag, config.acceptable_recovery_lag)
