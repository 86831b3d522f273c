"""What a learner group's members report when they join for a round, and what its leader remembers and goes by.

Source: page ``learner-rules``, "What a member reports"; page ``learner-rules``, "What the leader remembers".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Records a copy lacks; a fraction, for instances share what they restore evenly.
Lag = Fraction | int

_NONE: Mapping[int, Lag] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the leader remembers of the last round.

    ``leader`` is an instance, ``None`` if there was none; ``last_members`` are those of the last round that were not
    removed in it; ``leaving_deadlines`` says until when each leaving instance may take (milliseconds).
    """

    leader: int | None
    last_members: frozenset[int]
    leaving_deadlines: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the members report when they join for a round.

    By task: ``owner`` (:data:`~kstream_plan.model.NOBODY` if none is a member), and, of those that have any,
    ``standbys`` and ``learner`` (the instance that learns it), both with their lags. ``members`` are all instances that
    count, ``announced`` those that say they leave, ``absent`` the static ones that have not come back. ``threads`` is
    by instance.
    """

    now_ms: int
    stateful: Sequence[bool]
    threads: Sequence[int]
    owner: Sequence[int] | npt.NDArray[np.int64]
    standbys: Mapping[int, Mapping[int, Lag]]
    learner: Mapping[int, tuple[int, Lag]]
    members: frozenset[int]
    announced: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()

    def standbys_of(self, task: int) -> Mapping[int, Lag]:
        """Return the lags of a task's standbys, by instance."""
        return self.standbys.get(task, _NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerSettings:
    """What the algorithm goes by; ``max_learners`` is ``None`` for no limit, times are in milliseconds."""

    acceptable_recovery_lag: int = 10_000
    balance_factor: int = 1
    max_learners: int | None = None
    num_standby_replicas: int = 0
    scale_down_timeout_ms: int = 600_000
