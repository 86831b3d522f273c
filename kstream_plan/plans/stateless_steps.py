"""The steps of stateless tasks: Kafka deals these anew at every probe, so their steps are made when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, overload

from kstream_plan.model import NOBODY, Group, Owners, revoked_by
from kstream_plan.plans.reasons import Reason, ReasonCode
from kstream_plan.plans.seats import Role, Seat
from kstream_plan.plans.step_rows import StepRows
from kstream_plan.plans.steps import HandOver, MemberJoined, MemberLeft, Revoke, Step, ThreadMove, Withhold

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Indices into the owners of stateless tasks.
Places: TypeAlias = "npt.NDArray[np.intp]"

#: A tuple, not a union, which would be made anew for every step.
_MEMBER_STEPS = (MemberJoined, MemberLeft)
_MOVES_AWAY = Reason(ReasonCode.MOVES_AWAY)
_THREADS_EVENED_OUT = Reason(ReasonCode.THREADS_EVENED_OUT)


class StatelessSteps:
    """Makes the steps of a group's stateless tasks."""

    def __init__(self, group: Group, acceptable_recovery_lag: int, *, evened_out: bool) -> None:
        """``evened_out``: the assignor moves stateless tasks only where the balance needs it."""
        import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

        self.group = group
        self._seats = tuple(Seat(*ids, Role.ACTIVE) for ids in group.consumer_index)
        #: by consumer; the last one is that of nobody
        self.instance_of: Owners = np.array([*group.instance_of, NOBODY])
        self.instance_of.setflags(write=False)
        self._why_placed = Reason(ReasonCode.STATELESS_EVENED_OUT if evened_out else ReasonCode.STATELESS_LEAST_LOADED)
        self._why_withheld = Reason(ReasonCode.MOVES_AWAY, limit=acceptable_recovery_lag)

    def with_others(
        self,
        members: tuple[Step, ...],
        stateful: tuple[Step, ...] | StepRows,
        before: Owners,
        decided: Owners,
        after: Owners,
    ) -> Sequence[Step]:
        """Return all steps of a round: :class:`RoundSteps`, if any stateless task changes hands.

        ``stateful`` rows are without members.
        Who owned each ``before``, was ``decided`` to and owns it ``after`` is as of :class:`StatelessChanges`.
        """
        if before is after or not (before != after).any():
            return _together(members, stateful)
        return RoundSteps(members, stateful, StatelessChanges(self, before, decided, after))

    def of(self, before: Owners, decided: Owners, after: Owners) -> list[tuple[int, tuple[Step, ...]]]:
        """Return every stateless task that anything happens to in a round, with its steps in order.

        The owners ``before`` say who gave a task up in the round before; an owner that is another one ``after`` has
        given its task up before the rebalance.
        """
        places = (before != after).nonzero()[0]
        tasks = map(self.group.stateless.__getitem__, places.tolist())
        owners = (of[places].tolist() for of in (before, decided, after))
        return [(task, self._steps_of(task, *way)) for task, *way in zip(tasks, *owners, strict=True)]

    def _steps_of(self, task: int, before: int, decided: int, after: int) -> tuple[Step, ...]:
        task_id, seats = self.group.tasks[task].task_id, self._seats
        if after < NOBODY:
            owner, new_owner = seats[before], seats[decided]
            within = owner.process_id == new_owner.process_id
            return (
                Revoke(task_id, owner, _THREADS_EVENED_OUT if within else self._why_withheld),
                Withhold(task_id, owner, new_owner, _THREADS_EVENED_OUT if within else self._why_placed),
            )
        last = revoked_by(before) if before < 0 else before
        from_, to = None if last == NOBODY else seats[last], seats[after]
        if from_ is not None and from_ != to and from_.process_id == to.process_id:
            return (ThreadMove(task_id, from_, to, _THREADS_EVENED_OUT),)
        start = HandOver(task_id, from_, to, caught_up=True, restore_records=0, reason=self._why_placed)
        return (start,) if before < 0 else (Revoke(task_id, seats[before], _MOVES_AWAY), start)


@dataclass(frozen=True, slots=True, eq=False)
class StatelessChanges:
    """Which stateless tasks change hands in a round, by place among them.

    The ``maker`` makes their steps when they are read, from who owned each ``before``, was ``decided`` to, and owns it
    ``after`` (by the indices of the maker's group, as in :class:`~kstream_plan.model.Holdings`).
    """

    maker: StatelessSteps
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

    def hops(self) -> int:
        """Return how many start on another instance than the one that ran them last."""
        return int(self._elsewhere().sum())

    def _elsewhere(self) -> npt.NDArray[np.bool_]:
        """Tell of those that start whether the instance is another one."""
        instance_of, started = self.maker.instance_of, self.started
        last = self.before[started]
        revoked = last < 0
        last[revoked] = revoked_by(last[revoked])
        elsewhere: npt.NDArray[np.bool_] = instance_of[last] != instance_of[self.after[started]]
        return elsewhere

    def number_of_steps(self) -> int:
        """Return how many steps these changes are told in."""
        given_up = self._elsewhere() & (self.before[self.started] >= 0)
        return 2 * len(self.withheld) + len(self.started) + int(given_up.sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundSteps(Sequence[Step]):
    """The steps of a round in which stateless tasks change hands; equal to a tuple of the same.

    ``members`` come first, about who came and went; then the others in task order, ``stateful`` being those of
    stateful tasks (rows without members), and those of the ``stateless`` ones made when they are read.
    """

    members: tuple[Step, ...]
    stateful: tuple[Step, ...] | StepRows
    stateless: StatelessChanges

    def __iter__(self) -> Iterator[Step]:
        maker = self.stateless.maker
        index, blocks = maker.group.task_index, maker.of(*self.stateless.owners)
        blocks += [(index[step.task_id], (step,)) for step in self.stateful]  # type: ignore[union-attr]
        blocks.sort(key=itemgetter(0))
        return chain(self.members, chain.from_iterable(map(itemgetter(1), blocks)))

    def __len__(self) -> int:
        return len(self.members) + len(self.stateful) + self.stateless.number_of_steps()

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...

    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | RoundSteps | StepRows) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def stateless_changes(steps: Sequence[Step]) -> StatelessChanges | None:
    """Return what a round does to stateless tasks, apart from its steps.

    ``None``: nothing, or it is told step by step among the others, as in a saved plan.
    """
    return steps.stateless if isinstance(steps, RoundSteps) else None


def single_steps(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps of a round without those that :func:`stateless_changes` has, which are the many.

    They are :class:`~kstream_plan.plans.step_rows.StepRows` where those of stateful tasks are.
    """
    return _together(steps.members, steps.stateful) if isinstance(steps, RoundSteps) else steps


def steps_apart(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps of a round that are told one by one: those that are neither rows nor stateless changes."""
    if isinstance(steps, StepRows):
        return steps.members
    if isinstance(steps, RoundSteps):
        return steps.members if isinstance(steps.stateful, StepRows) else steps.members + steps.stateful
    return steps


def has_rows(steps: Sequence[Step]) -> bool:
    """Tell whether the steps of a round that are about stateful tasks are rows."""
    return isinstance(steps.stateful if isinstance(steps, RoundSteps) else steps, StepRows)


def member_steps(steps: Sequence[Step]) -> list[MemberJoined | MemberLeft]:
    """Return the steps of a round that are about who comes and goes."""
    among = steps.members if isinstance(steps, RoundSteps | StepRows) else steps
    return [step for step in among if isinstance(step, _MEMBER_STEPS)]


def _together(members: tuple[Step, ...], stateful: tuple[Step, ...] | StepRows) -> Sequence[Step]:
    return stateful.with_members(members) if isinstance(stateful, StepRows) else members + stateful
