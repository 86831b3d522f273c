"""The steps of a round: rows of numbers, from which steps are made when they are read.

Kafka reassigns stateless tasks at every probe: their steps are made from their owners, before, as decided and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, overload

from kstream_plan.model import NOBODY, Group, Owners, revoked_by
from kstream_plan.plans.step_rows import (
    CODES,
    HAND_OVER,
    KINDS,
    MEMBER_LEFT,
    NO_LAG,
    NO_SEAT,
    REVOKE,
    STARTS,
    THREAD_MOVE,
    WITHHOLD,
    Mask,
    Rows,
    StepMaker,
    are,
    concatenate,
    row_type,
)
from kstream_plan.plans.steps import (
    HandOver,
    MemberJoined,
    MemberLeft,
    OfNoSingleTask,
    OfSingleTask,
    Promote,
    ReasonCode,
    Step,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


#: A tuple, not a union, which would be made anew for every step.
_MEMBER_STEPS = (MemberJoined, MemberLeft)

#: Indices into the owners of stateless tasks.
Places: TypeAlias = "npt.NDArray[np.intp]"

_MOVES_AWAY, _THREADS_EVENED_OUT = map(CODES.index, (ReasonCode.MOVES_AWAY, ReasonCode.THREADS_EVENED_OUT))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundSteps(Sequence[Step]):
    """The steps of a round, in order; equal to a tuple of the same.

    ``maker`` makes them of the ``rows``, by the indices of its group. ``events`` are those about no single task, each
    of which has a row, too. ``stateless``: what happens beside to stateless tasks, as numbers; ``None``: nothing, or
    rows tell it.
    """

    maker: StepMaker
    rows: Rows
    events: tuple[OfNoSingleTask, ...] = ()
    stateless: StatelessChanges | None = None

    def __post_init__(self) -> None:
        """Freeze the rows, too."""
        self.rows.setflags(write=False)

    def __reduce__(self) -> tuple[type[RoundSteps], tuple[object, ...]]:
        """Pickle so that the rows are frozen on the other side, too."""
        return RoundSteps, (self.maker, self.rows, self.events, self.stateless)

    @classmethod
    def from_steps(
        cls, maker: StepMaker, steps: Sequence[Step], stateless: StatelessChanges | None = None
    ) -> RoundSteps:
        """Return these steps, of any maker, by the indices of a group.

        Raises:
            ValueError: a step names a task, an instance or a consumer that is not in the group.
        """
        if not isinstance(steps, RoundSteps):  # of a group that is not in the engine's columns
            events = tuple([step for step in steps if not isinstance(step, KINDS)])
            return cls(maker, maker.rows(steps), events, stateless)
        if steps.maker.group is maker.group:
            return cls(steps.maker, steps.rows, steps.events, stateless)
        return cls(maker, maker.translated(steps.rows, steps.maker), steps.events, stateless)

    @classmethod
    def concatenate(cls, parts: Sequence[RoundSteps]) -> RoundSteps:
        """Return the steps of several parts of a round, one after the other, by one maker."""
        rows, _ = concatenate([part.rows for part in parts])
        events = tuple(chain.from_iterable(part.events for part in parts))
        rows["restore_records"][rows["kind"] >= MEMBER_LEFT] = range(len(events))  # each has a row
        return cls(parts[0].maker, rows, events)

    def followed_by(self, later_steps: RoundSteps) -> RoundSteps:
        """Return these steps, of which none is in ``stateless``, then ``later_steps`` by the same maker."""
        return replace(RoundSteps.concatenate([self, later_steps]), stateless=later_steps.stateless)

    @property
    def single(self) -> RoundSteps:
        """The steps without those of ``stateless``, which are the many and made when they are read."""
        return self if self.stateless is None else replace(self, stateless=None)

    @property
    def every_row(self) -> Rows:
        """The rows, with those of ``stateless`` made."""
        if self.stateless is None:
            return self.rows
        stateless_rows, first = self.stateless.rows(), self.stateless.first
        stateless_rows = self.maker.translated(stateless_rows, self.stateless.maker.maker)
        rows, _ = concatenate([self.rows, stateless_rows])
        rows[first:] = rows[first:][rows["task"][first:].argsort(kind="stable")]
        return rows

    @property
    def of_members(self) -> list[MemberJoined | MemberLeft]:
        """The steps of joins and leaves."""
        return [step for step in self.events if isinstance(step, _MEMBER_STEPS)]

    def part(self, first: int, end: int) -> RoundSteps:
        """Return the steps from a place up to the one before ``end``; none may be in ``stateless``."""
        return replace(self, rows=self.rows[first:end])

    def steps_of(self, mask: Mask) -> Iterator[Step]:
        """Make the steps of some rows."""
        return self.maker.steps(self.rows[mask], self.events)

    def of_kinds(self, *kinds: type[OfSingleTask]) -> Iterator[Step]:
        """Make the steps of these kinds, and no others, without those of ``stateless``."""
        return self.steps_of(are(self.rows["kind"], *map(KINDS.index, kinds)))

    def cold_starts(self) -> Iterator[HandOver | Promote]:
        """Make the starts from a copy that is not caught up, and no others."""
        rows = self.rows
        starts = self.steps_of(are(rows["kind"], *STARTS) & (rows["caught_up"] == 0))
        return (step for step in starts if isinstance(step, HandOver | Promote))

    def starts_behind(self) -> Iterator[HandOver | Promote]:
        """Make the starts from a copy that has something to restore, and no others."""
        rows = self.rows
        starts = self.steps_of(are(rows["kind"], *STARTS) & (rows["restore_records"] > 0))
        return (step for step in starts if isinstance(step, HandOver | Promote))

    def __iter__(self) -> Iterator[Step]:
        return self.maker.steps(self.every_row, self.events)

    def __len__(self) -> int:
        return len(self.rows) + (0 if self.stateless is None else self.stateless.number_of_steps())

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...

    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, slice) or self.stateless is not None:
            return tuple(self)[index]
        place = range(len(self.rows))[index]
        return next(self.maker.steps(self.rows[place : place + 1], self.events))

    def __eq__(self, value: object) -> bool:
        return tuple(self) == tuple(value) if isinstance(value, tuple | RoundSteps) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


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
