"""The steps of stateful tasks as rows of numbers: a round of a large group has thousands, made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, overload

from kstream_plan.model import Group, WorkId
from kstream_plan.plans.reasons import Reason, ReasonCode
from kstream_plan.plans.seats import Role, Seat
from kstream_plan.plans.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberLeft,
    NobodyRuns,
    OfNoSingleTask,
    Place,
    Promote,
    Revoke,
    Step,
    StopLearned,
    ThreadMove,
    Withhold,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: An array of :func:`row_type`.
Rows: TypeAlias = "npt.NDArray[np.void]"
#: Numbers, of any meaning.
Numbers: TypeAlias = "npt.NDArray[np.int64]"
#: Which rows, one truth for each.
Mask: TypeAlias = "npt.NDArray[np.bool_]"

#: The kinds of step that rows tell, by their number in a row.
KINDS = (Place, Withhold, KeepTemporary, Revoke, Demote, HandOver, Promote, ThreadMove, Drop)
PLACE, WITHHOLD, KEEP_TEMPORARY, REVOKE, DEMOTE, HAND_OVER, PROMOTE, THREAD_MOVE, DROP = range(len(KINDS))
_MAKE: tuple[Callable[..., Step], ...] = KINDS
#: Of rows of many rounds alone: everything on the instance of ``from_consumer`` ends, which has left.
MEMBER_LEFT = len(KINDS)
_NUMBER_OF = {kind: number for number, kind in enumerate(KINDS)}
#: The kinds that may have records to restore, and those among them that let a task run.
RESTORING, STARTS = (PLACE, HAND_OVER, PROMOTE), (HAND_OVER, PROMOTE)
#: The roles, and the reasons, by their number in a row.
ROLES, CODES = tuple(Role), tuple(ReasonCode)
_ROLE_NUMBER, _CODE_NUMBER = ({item: number for number, item in enumerate(items)} for items in (ROLES, CODES))
ACTIVE, STANDBY, WARMUP, TEMPORARY = range(len(ROLES))
#: Instead of a consumer: there is no such seat. Instead of records: not known.
NO_SEAT = NOT_KNOWN = -1
#: Instead of a lag: there is none.
NO_LAG = -(2**63)

#: The fields of a row with their numpy types, see :func:`row_type`.
_FIELDS = (
    ("restore_records", "i8"),
    ("lag", "i8"),
    ("other_lag", "i8"),
    ("task", "i4"),
    ("from_consumer", "i4"),
    ("to_consumer", "i4"),
    ("kind", "i1"),
    ("from_role", "i1"),
    ("to_role", "i1"),
    ("caught_up", "i1"),
    ("reason", "i1"),
)

#: Rounds in a batch: each call has a cost of its own, and a round has few steps.
_AT_ONCE = 100
#: Makes reasons: most tell the same numbers, round after round.
_reason = lru_cache(maxsize=4096)(Reason)


@cache
def row_type() -> np.dtype[np.void]:
    """Return the type of a row, 48 bytes.

    ``kind``, the roles and ``reason`` are numbers in :data:`KINDS`, :data:`ROLES` and :data:`CODES`, ``task`` and the
    consumers indices in the maker's group, or :data:`NO_SEAT` (in a role that is 0): so is ``to_consumer`` of what is
    revoked or dropped. ``restore_records`` (of a placing, a hand-over or a promotion) may be :data:`NOT_KNOWN`.
    ``lag`` and ``other_lag`` are the reason's; :data:`NO_LAG` is none. A reason has the maker's limit if it has a lag.
    """
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    return np.dtype(list(_FIELDS), align=True)


def are(kind: npt.NDArray[np.int8], *kinds: int) -> Mask:
    """Tell which rows are of some ``kinds``, given the ``kind`` of each."""
    found: Mask = _are(kinds).take(kind)
    return found


@cache
def _are(kinds: tuple[int, ...]) -> Mask:
    import numpy as np  # noqa: PLC0415 - as in row_type

    return np.array([kind in kinds for kind in range(len(KINDS) + 1)])


def joined(rows_of_each: Sequence[Rows]) -> tuple[Rows, Numbers]:
    """Return the rows of several rounds, and the place of the round that each is of."""
    import numpy as np  # noqa: PLC0415 - as in row_type

    # as bytes, for of such arrays the fields are copied one by one
    parts = [np.empty(0, np.uint8), *(rows.view(np.uint8) for rows in rows_of_each)]
    rows: Rows = np.concatenate(parts).view(row_type())
    return rows, np.repeat(np.arange(len(rows_of_each)), [*map(len, rows_of_each)])


class RowTally(NamedTuple):
    """What the rows of a round come to.

    ``hops`` are the starts on another instance than the one that ran the task last, ``warmups`` the warm-ups that are
    placed, ``cold_handovers`` the starts from a copy that has not caught up (or none), ``restored_records`` what
    is restored anew (:func:`~kstream_plan.plans.steps.restores_anew`; ``None``: not known).
    ``restores_within_limit``: some start from a copy that has caught up and has, or may have, records to restore.
    """

    hops: int = 0
    warmups: int = 0
    cold_handovers: int = 0
    restored_records: int | None = 0
    restores_within_limit: bool = False


class StepMaker:
    """Makes steps of rows; shared by the rounds of a group, so that seats and reasons are."""

    def __init__(self, group: Group, acceptable_recovery_lag: int) -> None:
        """``acceptable_recovery_lag`` is the limit that reasons tell with a lag."""
        self.group = group
        self.limit = acceptable_recovery_lag
        self._task_ids = tuple(task.task_id for task in group.tasks)
        #: (consumer, number of the role) → seat
        self._seats: dict[tuple[int, int], Seat] = {}

    @cached_property
    def end_offset_sums(self) -> npt.NDArray[np.int64]:
        """Task index → its end-offset sum in records."""
        import numpy as np  # noqa: PLC0415 - as in row_type

        sums = np.array(self.group.end_offset_sums, dtype=np.int64)
        sums.setflags(write=False)
        return sums

    def __reduce__(self) -> tuple[type[StepMaker], tuple[Group, int]]:
        """Pickle without the seats that were made."""
        return StepMaker, (self.group, self.limit)

    def steps(self, rows: Rows, which: Mask | None = None) -> Iterator[Step]:
        """Make the steps of these rows, of all (``None``) or of some, in their order."""
        columns = (rows[name] for name, _ in _FIELDS)
        return map(self._step, *(of.tolist() if which is None else of[which].tolist() for of in columns))

    def _step(
        self,
        restore_records: int,
        lag: int,
        other_lag: int,
        task: int,
        from_consumer: int,
        to_consumer: int,
        kind: int,
        from_role: int,
        to_role: int,
        caught_up: int,
        code: int,
    ) -> Step:
        task_id, make = self._task_ids[task], _MAKE[kind]
        from_ = None if from_consumer == NO_SEAT else self._seat(from_consumer, from_role)
        if lag == NO_LAG:
            reason = _reason(CODES[code])
        else:
            reason = _reason(CODES[code], lag, self.limit, None if other_lag == NO_LAG else other_lag)
        if to_consumer == NO_SEAT:
            return make(task_id, from_, reason)
        to = self._seat(to_consumer, to_role)
        if kind not in RESTORING:
            return make(task_id, from_, to, reason)
        records = None if restore_records == NOT_KNOWN else restore_records
        if kind == PLACE:
            return make(task_id, from_, to, records, reason)
        return make(task_id, from_, to, bool(caught_up), records, reason)

    def _seat(self, consumer: int, role: int) -> Seat:
        seat = self._seats.get((consumer, role))
        if seat is None:
            process_id = self.group.instances[self.group.instance_of[consumer]].process_id
            seat = self._seats[consumer, role] = Seat(process_id, self.group.consumer_ids[consumer], ROLES[role])
        return seat


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepRows(Sequence[Step]):
    """The steps of a round, those of stateful tasks as ``rows``; equal to a tuple of the same.

    ``members`` come first, about who came and went. Then come the ``rows``, in order of their tasks; of one task first
    what ends, then what begins. The ``maker`` makes their steps when they are read, and ``tally`` is what they
    come to. Who gives a task up stops it then: nothing in rows is learned, moves at once, stood still before the plan
    or is not configured.
    """

    maker: StepMaker
    members: tuple[Step, ...]
    rows: Rows
    tally: RowTally

    def __post_init__(self) -> None:
        """Freeze the rows, too."""
        self.rows.setflags(write=False)

    def __reduce__(self) -> tuple[type[StepRows], tuple[object, ...]]:
        """Pickle so that the rows are frozen on the other side, too."""
        return StepRows, (self.maker, self.members, self.rows, self.tally)

    def with_members(self, members: tuple[Step, ...]) -> StepRows:
        """Return the same rows after other steps about who came and went."""
        return self if members == self.members else StepRows(self.maker, members, self.rows, self.tally)

    def of_rows(self, which: Mask | None = None) -> Iterator[Step]:
        """Make the steps of the rows alone: of all (``None``), or of these."""
        return self.maker.steps(self.rows, which)

    def restoring(self, *kinds: int) -> Mask:
        """Tell which rows of these kinds have records to restore, or nobody knows how many."""
        found: Mask = are(self.rows["kind"], *kinds) & (self.rows["restore_records"] != 0)
        return found

    def __iter__(self) -> Iterator[Step]:
        return chain(self.members, self.of_rows())

    def __len__(self) -> int:
        return len(self.members) + len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...

    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = range(len(self))[index] - len(self.members)
        return next(self.maker.steps(self.rows[place : place + 1])) if place >= 0 else self.members[place]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | StepRows) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class RowMaker:
    """Makes rows of steps, by the indices of a group: of those about a single task, and of instances that leave."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._translation: tuple[Group, Numbers] | None = None

    def rows(self, steps: Sequence[Step]) -> Rows:
        """Return the rows of steps, in their order.

        Raises:
            ValueError: a step names a task, an instance or a consumer that is not in the group.
        """
        import numpy as np  # noqa: PLC0415 - as in row_type

        if not isinstance(steps, StepRows):
            made = [row for step in steps if (row := self._row(step)) is not None]
            rows: Rows = np.fromiter(made, row_type(), len(made))
            return rows
        members, singles = self.rows(steps.members), self._translated(steps)
        return np.concatenate([members, singles]) if len(members) else singles

    def in_batches(self, steps_of_rounds: Sequence[Sequence[Step]]) -> Iterator[tuple[Rows, Numbers, int]]:
        """Yield the rows of rounds, of a hundred at a time, with the place of each row's round, and how many rounds."""
        for first in range(0, len(steps_of_rounds), _AT_ONCE):
            batch = steps_of_rounds[first : first + _AT_ONCE]
            yield (*joined([self.rows(steps) for steps in batch]), len(batch))

    def _translated(self, steps: StepRows) -> Rows:
        """Return the rows of another group by the indices of this one."""
        import numpy as np  # noqa: PLC0415 - as in row_type

        group = steps.maker.group
        if group is self._group:
            return steps.rows
        if self._translation is None or self._translation[0] is not group:
            self._translation = group, np.array([*self._group.indices_of(group), NO_SEAT])
        rows, consumer = steps.rows.copy(), self._translation[1]
        for name in ("from_consumer", "to_consumer"):
            rows[name] = consumer[rows[name]]
        return rows

    def _row(self, step: Step) -> tuple[int, ...] | None:
        if not isinstance(step, KINDS):
            return self._left(step)
        task = self._task(step.task_id)
        from_, from_role = self._seat(getattr(step, "from_", None))
        to, to_role = self._seat(getattr(step, "to", None))
        records, lag, other_lag = getattr(step, "restore_records", 0), step.reason.lag, step.reason.other_lag
        return (
            NOT_KNOWN if records is None else records,
            NO_LAG if lag is None else lag,
            NO_LAG if other_lag is None else other_lag,
            task,
            from_,
            to,
            _NUMBER_OF[type(step)],
            from_role,
            to_role,
            getattr(step, "caught_up", False),
            _CODE_NUMBER[step.reason.code],
        )

    def _left(self, step: OfNoSingleTask) -> tuple[int, ...] | None:
        if isinstance(step, StopLearned | NobodyRuns):
            for task_id in step.task_ids:
                self._task(task_id)
            return None
        instance = self._group.instance_index.get(step.process_id)
        if instance is None:
            raise ValueError(f"there is no instance {step.process_id!r}")
        if not isinstance(step, MemberLeft):
            return None
        return (0, NO_LAG, NO_LAG, -1, self._group.consumers_of[instance].start, NO_SEAT, MEMBER_LEFT, 0, 0, 0, 0)

    def _task(self, task_id: WorkId) -> int:
        task = self._group.task_index.get(task_id)
        if task is None:
            raise ValueError(f"there is no task {task_id}")
        return task

    def _seat(self, seat: Seat | None) -> tuple[int, int]:
        if seat is None:
            return NO_SEAT, 0
        process_id, consumer_id, role = seat
        consumer = self._group.consumer_index.get((process_id, consumer_id))
        if consumer is None:
            raise ValueError(f"there is no consumer {consumer_id!r} on instance {process_id!r}")
        return consumer, _ROLE_NUMBER[role]


def steps_of_kinds(steps: Sequence[Step], kinds: tuple[type[Step], ...]) -> Iterator[Step]:
    """Yield the steps of some kinds, in order; of rows no others are made."""
    if not isinstance(steps, StepRows):
        return (step for step in steps if isinstance(step, kinds))
    members = (step for step in steps.members if isinstance(step, kinds))
    wanted = are(steps.rows["kind"], *(number for number, kind in enumerate(KINDS) if kind in kinds))
    return chain(members, steps.of_rows(wanted))


def starts_for(steps: Sequence[Step], codes: Sequence[ReasonCode]) -> bool:
    """Tell whether a task starts for one of these reasons; of rows no steps are made."""
    if not isinstance(steps, StepRows):
        return any(isinstance(step, HandOver | Promote) and step.reason.code in codes for step in steps)
    reason, starts = steps.rows["reason"], are(steps.rows["kind"], *STARTS)
    return any((starts & (reason == CODES.index(code))).any() for code in codes)


def cold_starts(steps: Sequence[Step]) -> Iterator[HandOver | Promote]:
    """Yield the starts from a copy that is not caught up; of rows no others are made."""
    found: Iterable[Step] = steps
    if isinstance(steps, StepRows):
        kind, warm = steps.rows["kind"], steps.rows["caught_up"] != 0
        found = steps.of_rows(are(kind, *STARTS) & ~warm) if steps.tally.cold_handovers else ()
    return (step for step in found if isinstance(step, HandOver | Promote) and not step.caught_up)


def tally_of(maker: StepMaker, rows: Rows) -> RowTally:
    """Count what rows come to: for who has not counted it while making them."""
    import numpy as np  # noqa: PLC0415 - as in row_type

    kind, records = rows["kind"], rows["restore_records"]
    placed, handed, promoted = (kind == of for of in (PLACE, HAND_OVER, PROMOTE))
    starts, warm = handed | promoted, rows["caught_up"] != 0
    instance_of = np.array([*maker.group.instance_of, NO_SEAT])  # the last one: of no seat
    elsewhere = instance_of[rows["from_consumer"]] != instance_of[rows["to_consumer"]]
    restored = records[anew(rows, maker.end_offset_sums)].tolist()
    return RowTally(
        hops=int((promoted | (handed & elsewhere)).sum()),
        warmups=int((placed & (rows["to_role"] == WARMUP)).sum()),
        cold_handovers=int((starts & ~warm).sum()),
        restored_records=None if NOT_KNOWN in restored else sum(restored),
        restores_within_limit=bool((starts & warm & (records != 0)).any()),
    )


def anew(rows: Rows, end_offset_sums: npt.NDArray[np.int64]) -> Mask:
    """Tell which rows :func:`~kstream_plan.plans.steps.restores_anew`, given the end-offset sum of each task."""
    kind, warm, whole = rows["kind"], rows["caught_up"] != 0, end_offset_sums[rows["task"]]
    found: Mask = ((kind == PLACE) & (rows["from_consumer"] == NO_SEAT)) | (are(kind, *STARTS) & ~warm)
    found |= (kind == HAND_OVER) & warm & (rows["restore_records"] == whole) & (whole > 0)
    return found
