"""A whole plan: what follows when a rebalance starts now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kstream_plan.model import Group, Holding, Note, Target
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans.rounds import Round
from kstream_plan.plans.stateless_steps import member_steps
from kstream_plan.plans.steps import MemberJoined
from kstream_plan.plans.summary import Summary
from kstream_plan.plans.verdict import Verdict


class Outage(NamedTuple):
    """An instance does not run, in milliseconds of the plan's clock, though the group counts it in."""

    process_id: str
    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What follows when a rebalance starts now.

    ``digest`` is the SHA-256 of the canonical input model, ``snapshot_digest`` that of the snapshot and the settings
    alone (the same unless a scenario is played), ``generation`` and ``captured_at`` (RFC 3339 or ``None``) are the
    snapshot's. ``initial`` and ``final`` are by consumer index of ``group``: everyone who ever takes part. ``members``
    are the process ids and numbers of stream threads of those who do at the end. ``config`` counts from the start,
    ``later_configs`` (number of the first round, settings) from then on. ``outages`` are those that the group does not
    notice, in time: restarts of static members within the session time-out, which no round tells of.
    """

    group: Group
    digest: str
    snapshot_digest: str
    generation: int
    captured_at: str | None
    assignor: str
    protocol: str
    config: AssignmentConfig
    assumptions: tuple[Note, ...]
    initial: Sequence[Holding]
    rounds: tuple[Round, ...]
    final: Sequence[Holding]
    members: tuple[tuple[str, int], ...]
    target: Target
    summary: Summary
    warnings: tuple[Note, ...]
    verdict: Verdict
    later_configs: tuple[tuple[int, AssignmentConfig], ...] = ()
    outages: tuple[Outage, ...] = ()

    @property
    def first_members(self) -> tuple[str, ...]:
        """The process ids of those who take part before the first rebalance, joining in which they do not."""
        last = {process_id for process_id, _ in self.members}
        joins_first: dict[str, bool] = {}
        for rnd in self.rounds:
            for step in member_steps(rnd.steps):
                joins_first.setdefault(step.process_id, isinstance(step, MemberJoined))
        ids = (instance.process_id for instance in self.group.instances)
        return tuple(one for one in ids if not joins_first.get(one, one not in last))

    def config_of(self, round_number: int) -> AssignmentConfig:
        """Return the settings that a round was decided with."""
        later = [config for first, config in self.later_configs if first <= round_number]
        return later[-1] if later else self.config
