"""The steps of stateless tasks: Kafka reassigns these at every probe, so that they are made when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kstream_plan.model import NOBODY, Group, Owners, revoked_by
from kstream_plan.plans.step_rows import (
    CODES,
    HAND_OVER,
    NO_LAG,
    NO_SEAT,
    REVOKE,
    THREAD_MOVE,
    WITHHOLD,
    Mask,
    Rows,
    StepMaker,
    row_type,
)
from kstream_plan.plans.steps import ReasonCode

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Indices into the owners of stateless tasks.
Places: TypeAlias = "npt.NDArray[np.intp]"

_MOVES_AWAY, _THREADS_EVENED_OUT = map(CODES.index, (ReasonCode.MOVES_AWAY, ReasonCode.THREADS_EVENED_OUT))


class StatelessSteps:
    """Makes the changes of a group's stateless tasks; shared by its rounds."""

    def __init__(self, group: Group, acceptable_recovery_lag: int, *, evened_out: bool) -> None:
        """``evened_out``: the assignor moves stateless tasks only where the balance needs it."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self.group, self.maker = group, StepMaker(group, (None, acceptable_recovery_lag))
        #: by consumer; the last one stands for no consumer
        self.instance_of: Owners = np.array([*group.instance_of, NOBODY])
        self.instance_of.setflags(write=False)
        #: by place among the stateless tasks
        self.tasks = np.array(group.stateless, np.int64)
        code = ReasonCode.STATELESS_EVENED_OUT if evened_out else ReasonCode.STATELESS_LEAST_LOADED
        self.why_placed = CODES.index(code)

    def changes(
        self, first: int, owners_before: Owners, decided_owners: Owners, owners_after: Owners
    ) -> StatelessChanges | None:
        """Return the changes of stateless tasks in a round; ``None``: there are none."""
        if owners_before is owners_after or not (owners_before != owners_after).any():
            return None
        return StatelessChanges(self, first, owners_before, decided_owners, owners_after)


@dataclass(frozen=True, slots=True, eq=False)
class StatelessChanges:
    """Which stateless tasks change hands in a round, by place among them.

    The ``maker`` makes their steps when they are read, from ``owners_before`` the round, ``decided_owners`` and
    ``owners_after`` it (by the indices of the maker's group, as in :class:`~kstream_plan.model.Holdings`). They stand
    among the round's other steps from the place ``first`` on, in order of the tasks.
    """

    maker: StatelessSteps
    first: int
    owners_before: Owners
    decided_owners: Owners
    owners_after: Owners

    @property
    def owners(self) -> tuple[Owners, Owners, Owners]:
        """The owners before, decided and after."""
        return self.owners_before, self.decided_owners, self.owners_after

    @property
    def withheld_places(self) -> Places:
        """The places of the tasks that are revoked in this round, to be handed over in the next."""
        return (self.owners_after < NOBODY).nonzero()[0]

    @property
    def started_places(self) -> Places:
        """The places of the tasks that another consumer runs from this round on."""
        places: Places = ((self.owners_before != self.owners_after) & (self.owners_after > NOBODY)).nonzero()[0]
        return places

    def rows(self) -> Rows:
        """Make the rows of these changes by the maker's indices, in order of the tasks.

        ``owners_before`` have the consumers that gave a task up in the round before. An owner that differs in
        ``owners_after`` has given its task up before the rebalance.
        """
        import numpy as np  # noqa: PLC0415 - as above

        places = (self.owners_before != self.owners_after).nonzero()[0]
        owners_before, owners_after = self.owners_before[places], self.owners_after[places]
        is_withheld, is_owned = owners_after < NOBODY, owners_before >= 0
        last = np.where(is_owned, owners_before, revoked_by(owners_before))
        to_consumer = np.where(is_withheld, self.decided_owners[places], owners_after)
        instance_of = self.maker.instance_of
        stays_on_instance = instance_of[last] == instance_of[to_consumer]
        is_thread_move = ~is_withheld & stays_on_instance & (last != to_consumer) & (last != NOBODY)
        is_revoked = is_owned & ~is_thread_move
        # the row of a revocation comes before the row of its hand-over
        row = np.arange(len(places)) + is_revoked.cumsum()
        rows: Rows = np.zeros(len(places) + int(is_revoked.sum()), row_type())
        rows["lag"] = rows["other_lag"] = NO_LAG
        for mask, row_places in ((slice(None), row), (is_revoked, row[is_revoked] - 1)):
            rows["task"][row_places], rows["from_consumer"][row_places] = self.maker.tasks[places[mask]], last[mask]
        rows["kind"], rows["to_consumer"] = REVOKE, NO_SEAT
        rows["kind"][row] = np.select([is_withheld, is_thread_move], [WITHHOLD, THREAD_MOVE], HAND_OVER)
        rows["to_consumer"][row] = to_consumer
        rows["caught_up"][row] = ~is_withheld & ~is_thread_move
        evened_out = is_thread_move | (is_withheld & stays_on_instance)
        rows["reason"][row] = np.where(evened_out, _THREADS_EVENED_OUT, self.maker.why_placed)
        rows["reason"][row[is_revoked] - 1] = np.where(evened_out[is_revoked], _THREADS_EVENED_OUT, _MOVES_AWAY)
        rows["limit"][row[is_revoked] - 1] = (is_withheld & ~stays_on_instance)[is_revoked]
        return rows

    def hops(self) -> int:
        """Return how many tasks start on another instance than the one that ran them last."""
        return int(self._changes_instance().sum())

    def _changes_instance(self) -> Mask:
        """Return for each task that starts whether its instance changes."""
        instance_of, places = self.maker.instance_of, self.started_places
        last = self.owners_before[places]
        is_revoked = last < 0
        last[is_revoked] = revoked_by(last[is_revoked])
        is_moved: Mask = instance_of[last] != instance_of[self.owners_after[places]]
        return is_moved

    def number_of_steps(self) -> int:
        """Return the number of steps of these changes."""
        given_up = self._changes_instance() & (self.owners_before[self.started_places] >= 0)
        return 2 * len(self.withheld_places) + len(self.started_places) + int(given_up.sum())
