"""KIP-441's draft as a design: what it models, takes for granted and can at best do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from kstream_plan.designs.learner.coordinator import LearnerCoordinator
from kstream_plan.designs.learner.memory import memory_of
from kstream_plan.model import GroupState, Note
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import seated
from kstream_plan.plans.design import Design, FinishedRun

#: The draft sets none; ours.
SCALE_DOWN_TIMEOUT_MS = 600_000


@dataclass(frozen=True, slots=True)
class Learner(Design):
    """Learners that take over when they are ready, one rebalance each time; nobody probes.

    ``max_learners`` are there at once at most (``None``: as many as the balance asks for); a leaving instance is gone
    after ``scale_down_timeout_ms`` at the latest.
    """

    max_learners: int | None = None
    scale_down_timeout_ms: int = SCALE_DOWN_TIMEOUT_MS
    name: ClassVar[str] = "learner"
    models: ClassVar[str] = "KIP-441's draft (never released)"
    assignor: ClassVar[str] = "incremental-rebalancing"
    protocol: ClassVar[str] = "learner"
    announces: ClassVar[bool] = True
    moves_when_caught_up: ClassVar[bool] = True

    def start(self, state: GroupState, _scenario: Scenario | None) -> GroupState:
        """Set the consumer of every copy; instances with tasks were the last members."""
        start_state = seated(state)
        return replace(start_state, memory=memory_of(start_state), revoked=MappingProxyType({}))

    def coordinator(self, config: AssignmentConfig) -> LearnerCoordinator:
        """Begin to coordinate a group with these settings."""
        return LearnerCoordinator(
            config, max_learners=self.max_learners, scale_down_timeout_ms=self.scale_down_timeout_ms
        )

    def assumptions(self, run: FinishedRun) -> tuple[Note, ...]:
        """Return notes: the draft is unreleased, what a round costs, and what is unknown of learners."""
        notes = [
            Note(
                "never-released",
                "The rules are those of KIP-441's draft, which is in no release: weigh them, do not expect them",
            ),
            Note("typical-times", "Times are typical, give or take a heartbeat interval per rebalance"),
        ]
        if any(holding.warmup for rnd in run.rounds for holding in rnd.assigned):
            message = "A task that is learned pauses for a heartbeat interval in every rebalance until it moves"
            notes.append(Note("learned-tasks-stop", message))
        if run.rounds and run.unrated:
            message = (
                "When some learners catch up is unknown: they are assumed to catch up one after the other, at once"
            )
            notes.append(Note("learners-ready-at-once", message))
        return tuple(notes)
