"""The steps of stateless tasks: Kafka deals these anew at every probe, so that they are made when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kstream_plan.model import NOBODY, Group, Owners, revoked_by
from kstream_plan.plans.reasons import ReasonCode
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

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Indices into the owners of stateless tasks.
Places: TypeAlias = "npt.NDArray[np.intp]"

_MOVES_AWAY, _THREADS_EVENED_OUT = map(CODES.index, (ReasonCode.MOVES_AWAY, ReasonCode.THREADS_EVENED_OUT))


class StatelessSteps:
    """Tells what happens to a group's stateless tasks; shared by its rounds."""

    def __init__(self, group: Group, acceptable_recovery_lag: int, *, evened_out: bool) -> None:
        """``evened_out``: the assignor moves stateless tasks only where the balance needs it."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self.group, self.maker = group, StepMaker(group, (None, acceptable_recovery_lag))
        #: by consumer; the last one is that of nobody
        self.instance_of: Owners = np.array([*group.instance_of, NOBODY])
        self.instance_of.setflags(write=False)
        #: by place among the stateless tasks
        self.tasks = np.array(group.stateless, np.int64)
        code = ReasonCode.STATELESS_EVENED_OUT if evened_out else ReasonCode.STATELESS_LEAST_LOADED
        self.why_placed = CODES.index(code)

    def changes(self, first: int, before: Owners, decided: Owners, after: Owners) -> StatelessChanges | None:
        """Return what a round does to stateless tasks, as :class:`StatelessChanges` has it; ``None``: nothing."""
        if before is after or not (before != after).any():
            return None
        return StatelessChanges(self, first, before, decided, after)


@dataclass(frozen=True, slots=True, eq=False)
class StatelessChanges:
    """Which stateless tasks change hands in a round, by place among them.

    The ``maker`` makes their steps when they are read, from who owned each ``before``, was ``decided`` to, and owns it
    ``after`` (by the indices of the maker's group, as in :class:`~kstream_plan.model.Holdings`). They stand among the
    round's other steps from the place ``first`` on, in order of the tasks.
    """

    maker: StatelessSteps
    first: int
    before: Owners
    decided: Owners
    after: Owners

    @property
    def owners(self) -> tuple[Owners, Owners, Owners]:
        """The owners before, decided and after."""
        return self.before, self.decided, self.after

    @property
    def withheld(self) -> Places:
        """The places of the tasks that are revoked in this round, to be handed over in the next."""
        return (self.after < NOBODY).nonzero()[0]

    @property
    def started(self) -> Places:
        """The places of the tasks that somebody else runs from this round on."""
        started: Places = ((self.before != self.after) & (self.after > NOBODY)).nonzero()[0]
        return started

    def rows(self) -> Rows:
        """Make the rows of these changes by the maker's indices, in order of the tasks.

        The owners ``before`` say who gave a task up in the round before; an owner that is another one ``after`` has
        given its task up before the rebalance.
        """
        import numpy as np  # noqa: PLC0415 - as above

        places = (self.before != self.after).nonzero()[0]
        before, after = self.before[places], self.after[places]
        withheld, owned = after < NOBODY, before >= 0
        last = np.where(owned, before, revoked_by(before))
        to = np.where(withheld, self.decided[places], after)
        instance_of = self.maker.instance_of
        within = instance_of[last] == instance_of[to]
        moves = ~withheld & within & (last != to) & (last != NOBODY)
        revoked = owned & ~moves
        # of each that is revoked a row comes before the one of who is to have it
        row = np.arange(len(places)) + revoked.cumsum()
        rows: Rows = np.zeros(len(places) + int(revoked.sum()), row_type())
        rows["lag"] = rows["other_lag"] = NO_LAG
        for which, at in ((slice(None), row), (revoked, row[revoked] - 1)):
            rows["task"][at], rows["from_consumer"][at] = self.maker.tasks[places[which]], last[which]
        rows["kind"], rows["to_consumer"] = REVOKE, NO_SEAT
        rows["kind"][row] = np.select([withheld, moves], [WITHHOLD, THREAD_MOVE], HAND_OVER)
        rows["to_consumer"][row] = to
        rows["caught_up"][row] = ~withheld & ~moves
        evened_out = moves | (withheld & within)
        rows["reason"][row] = np.where(evened_out, _THREADS_EVENED_OUT, self.maker.why_placed)
        rows["reason"][row[revoked] - 1] = np.where(evened_out[revoked], _THREADS_EVENED_OUT, _MOVES_AWAY)
        rows["limit"][row[revoked] - 1] = (withheld & ~within)[revoked]
        return rows

    def hops(self) -> int:
        """Return how many start on another instance than the one that ran them last."""
        return int(self._elsewhere().sum())

    def _elsewhere(self) -> Mask:
        """Tell of those that start whether the instance is another one."""
        instance_of, started = self.maker.instance_of, self.started
        last = self.before[started]
        revoked = last < 0
        last[revoked] = revoked_by(last[revoked])
        elsewhere: Mask = instance_of[last] != instance_of[self.after[started]]
        return elsewhere

    def number_of_steps(self) -> int:
        """Return how many steps these changes are told in."""
        given_up = self._elsewhere() & (self.before[self.started] >= 0)
        return 2 * len(self.withheld) + len(self.started) + int(given_up.sum())
