"""The classic design with the steps of some rounds as rows, and what they decide and leave made when it is read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.designs.classic.coordinator import ClassicCoordinator, ClassicTurn
from kstream_plan.designs.classic.design import Classic
from kstream_plan.model import Holding, Holdings, LazyHoldings
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Seat, Step
from kstream_plan.plans.balance import RunningBalance
from kstream_plan.plans.holdings_log import HoldingsLog
from kstream_plan.plans.replay import Outcome
from kstream_plan.plans.step_rows import (
    CODES,
    KINDS,
    NO_LAG,
    NO_SEAT,
    NOT_KNOWN,
    ROLES,
    Rows,
    StepMaker,
    StepRows,
    row_type,
    tally_of,
)
from kstream_plan.protocols import PROTOCOLS


def rows_of(maker: StepMaker, steps: Sequence[Step]) -> Rows:
    """The rows that stand for these steps, each of which is about one stateful task."""
    return np.array([_row(maker, step) for step in steps], dtype=row_type())


def _row(maker: StepMaker, step: Any) -> tuple[int, ...]:
    group, reason = maker.group, step.reason
    from_, to = getattr(step, "from_", None), getattr(step, "to", None)
    records = getattr(step, "restore_records", 0)
    task = group.task_index[step.task_id]
    assert group.tasks[task].stateful
    assert reason.limit == (None if reason.lag is None else maker.limit)

    def consumer(seat: Seat | None) -> int:
        return NO_SEAT if seat is None else group.consumer_index[seat.process_id, seat.consumer_id]

    return (
        NOT_KNOWN if records is None else records,
        NO_LAG if reason.lag is None else reason.lag,
        NO_LAG if reason.other_lag is None else reason.other_lag,
        task,
        consumer(from_),
        consumer(to),
        KINDS.index(type(step)),
        0 if from_ is None else ROLES.index(from_.role),
        0 if to is None else ROLES.index(to.role),
        getattr(step, "caught_up", 0),
        CODES.index(reason.code),
    )


def step_rows(maker: StepMaker, steps: Sequence[Step], members: tuple[Step, ...] = ()) -> StepRows:
    """The same steps, those of stateful tasks as rows."""
    rows = rows_of(maker, steps)
    return StepRows(maker, members, rows, tally_of(maker, rows))


@dataclass(frozen=True, slots=True)
class InRows(Classic):
    """Tells this ``share`` of the rounds in rows, which ones is drawn by ``seed``."""

    share: float = 1.0
    seed: int = 0

    def coordinator(self, config: AssignmentConfig) -> ClassicCoordinator:
        assign, rebalance = ASSIGNORS[self.assignor], PROTOCOLS[self.protocol]
        result = _InRows(assign, rebalance, config, self.clock, times_alone=self.times_alone)
        result.draw, result.share = random.Random(self.seed), self.share
        return result


class _InRows(ClassicCoordinator):
    draw: random.Random
    share: float
    _maker: StepMaker | None = None
    _log: HoldingsLog | None = None
    _last: ClassicTurn | None = None

    def _turn(self, *args: Any) -> ClassicTurn:
        turn, before = super()._turn(*args), self._last
        group, limit, members = turn.state.group, self._config.acceptable_recovery_lag, args[-1]
        if self._times_alone or self.draw.random() >= self.share:
            self._end_log()
            return turn
        if self._maker is None or (self._maker.group, self._maker.limit) != (group, limit):
            self._maker = StepMaker(group, limit)
        held_before = turn.transition.before.stateful
        goes_on = (
            before is not None and before.state.group is group and before.transition.holdings.stateful == held_before
        )
        if self._log is None or not goes_on or members:
            self._end_log()
            self._log = HoldingsLog(group, held_before, self._current if self.draw.random() < 0.5 else None)
        self._last = turn
        steps = step_rows(self._maker, turn.stateful)
        held = turn.transition.holdings.stateful
        counts = {"warmups": _copies(held, "warmup"), "temporary": _copies(held, "temporary")}
        decided, assigned = self._log.add(steps, **counts)
        assert self._stateless is not None
        return replace(
            turn,
            steps=self._stateless.with_others(members, steps, *turn.transition.owners),
            decided=_with(turn.decided, decided),
            held=_with(turn.held, assigned),
            balance=partial(RunningBalance(group).of, Holdings.of(group, turn.assignment.instances)),
        )

    def _end_log(self) -> None:
        if self._log is not None:
            self._log.close()
        self._log = None

    def _current(self) -> Outcome:
        assert self._last is not None
        transition = self._last.transition
        return Outcome(tuple(transition.decided.stateful), tuple(transition.holdings.stateful))


def _copies(held: Sequence[Holding], role: str) -> int:
    return sum(len(getattr(item, role)) for item in held)


def _with(holdings: Holdings, stateful: LazyHoldings) -> Holdings:
    return Holdings(stateful, holdings.stateless, holdings.owners)
