"""The classic design with some rounds told in objects, and the steps of a round as rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.designs.classic.coordinator import ClassicCoordinator, ClassicRebalance
from kstream_plan.designs.classic.design import Classic
from kstream_plan.model import Group, Holdings
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Step
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import StepMaker
from kstream_plan.protocols import PROTOCOLS


def round_steps(group: Group, steps: Sequence[Step]) -> RoundSteps:
    """The same steps as a round has them."""
    return RoundSteps.from_steps(StepMaker(group), steps)


@dataclass(frozen=True, slots=True)
class InObjects(Classic):
    """Tells this ``share`` of the rounds in objects, as other designs do; which ones is drawn by ``seed``."""

    share: float = 1.0
    seed: int = 0

    def coordinator(self, config: AssignmentConfig) -> ClassicCoordinator:
        assign, protocol = ASSIGNORS[self.assignor], PROTOCOLS[self.protocol]
        result = _InObjects(assign, protocol, config, self.timing, times_alone=self.times_alone)
        result.draw, result.share = random.Random(self.seed), self.share
        return result


class _InObjects(ClassicCoordinator):
    draw: random.Random
    share: float

    def rebalance(self, *args: Any) -> ClassicRebalance:
        rebalance = super().rebalance(*args)
        if self._times_alone or self.draw.random() >= self.share:
            return rebalance
        return replace(
            rebalance,
            steps=(*rebalance.members, *rebalance.steps),
            members=(),
            decided=made(rebalance.decided),
            held=made(rebalance.held),
            decided_of=tuple(rebalance.assignment.instances),
            balance=None,
        )


def made(holdings: Holdings) -> Holdings:
    return Holdings(tuple(holdings.stateful), holdings.stateless, holdings.owners)
