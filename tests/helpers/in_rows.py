"""The classic design with steps made as rows of some rounds, and what they decide and leave made when it is read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.designs.classic.coordinator import ClassicCoordinator, ClassicTurn
from kstream_plan.designs.classic.design import Classic
from kstream_plan.model import Group, Holding, Holdings, LazyHoldings
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Step
from kstream_plan.plans.balance import RunningBalance
from kstream_plan.plans.holdings_log import HoldingsLog
from kstream_plan.plans.replay import Outcome
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import PROTOCOLS


def round_steps(group: Group, steps: Sequence[Step]) -> RoundSteps:
    """The same steps as a round has them."""
    return RoundSteps.of(StepMaker(group), steps)


@dataclass(frozen=True, slots=True)
class InRows(Classic):
    """Tells this ``share`` of the rounds in which nobody comes or goes in rows; which ones is drawn by ``seed``."""

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
        if self._times_alone or self.draw.random() >= self.share or members:
            self._end_log()
            return turn
        if self._maker is None or (self._maker.group, self._maker.limits) != (group, [None, limit]):
            self._maker = StepMaker(group, (None, limit))
        held_before = turn.transition.before.stateful
        goes_on = (
            before is not None and before.state.group is group and before.transition.holdings.stateful == held_before
        )
        if self._log is None or not goes_on:
            self._end_log()
            self._log = HoldingsLog(group, held_before, self._current if self.draw.random() < 0.5 else None)
        self._last = turn
        steps = RoundSteps.of(self._maker, turn.stateful)
        held = turn.transition.holdings.stateful
        counts = {"warmups": _copies(held, "warmup"), "temporary": _copies(held, "temporary")}
        decided, assigned = self._log.add(steps, **counts)
        return replace(
            turn,
            steps=steps,
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
