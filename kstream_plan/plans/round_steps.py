"""The steps of a round: rows of numbers, from which steps are made when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import overload

from kstream_plan.plans.stateless_steps import StatelessChanges
from kstream_plan.plans.step_rows import KINDS, MEMBER_LEFT, STARTS, Mask, Rows, StepMaker, are, concatenate
from kstream_plan.plans.steps import HandOver, MemberJoined, MemberLeft, OfNoSingleTask, OfSingleTask, Promote, Step

#: A tuple, not a union, which would be made anew for every step.
_MEMBER_STEPS = (MemberJoined, MemberLeft)


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
