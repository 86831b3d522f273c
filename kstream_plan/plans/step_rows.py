"""Steps as rows of numbers, by the indices of a group: a round of a large group has thousands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from kstream_plan.model import Group
from kstream_plan.plans.steps import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    MemberLeft,
    NobodyRuns,
    OfNoSingleTask,
    OfSingleTask,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
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

#: The kinds of step about a single task, by their number in a row.
KINDS = (Place, Withhold, KeepTemporary, Revoke, Demote, HandOver, Promote, ThreadMove, Drop)
PLACE, WITHHOLD, KEEP_TEMPORARY, REVOKE, DEMOTE, HAND_OVER, PROMOTE, THREAD_MOVE, DROP = range(len(KINDS))
_MAKE: tuple[Callable[..., Step], ...] = KINDS
#: The steps about no single task: an instance leaves (everything on that of ``from_consumer`` ends), and those that
#: change nothing of what is held.
MEMBER_LEFT, EVENT = len(KINDS), len(KINDS) + 1
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
    ("limit", "i2"),
)

#: Rounds in a batch: each call has a cost of its own, and a round has few steps.
_AT_ONCE = 100
#: Makes reasons: most have the same numbers, round after round.
_reason = lru_cache(maxsize=4096)(Reason)


@cache
def row_type() -> np.dtype[np.void]:
    """Return the type of a row, 48 bytes.

    ``kind``, the roles and ``reason`` are numbers in :data:`KINDS`, :data:`ROLES` and :data:`CODES`, ``task`` and the
    consumers indices in the maker's group, or :data:`NO_SEAT` (in a role that is 0): so is ``to_consumer`` of what is
    revoked or dropped. ``restore_records`` (of a placing, a hand-over or a promotion) may be :data:`NOT_KNOWN`.
    ``lag`` and ``other_lag`` are the reason's, :data:`NO_LAG` is none; ``limit`` is its limit's place among the maker's
    ``limits``. Of a step about no single task ``restore_records`` is its place among the events of its round.
    """
    import numpy as np  # noqa: PLC0415 - takes its time, and who only reads plans needs none of it

    return np.dtype(list(_FIELDS), align=True)


def are(kind: npt.NDArray[np.int8], *kinds: int) -> Mask:
    """Tell which rows are of some ``kinds``, given the ``kind`` of each."""
    mask: Mask = _are(kinds).take(kind)
    return mask


@cache
def _are(kinds: tuple[int, ...]) -> Mask:
    import numpy as np  # noqa: PLC0415 - as in row_type

    return np.array([kind in kinds for kind in range(EVENT + 1)])


def concatenate(rows_of_each: Sequence[Rows]) -> tuple[Rows, Numbers]:
    """Return the rows of several rounds, and the place of the round that each is of."""
    import numpy as np  # noqa: PLC0415 - as in row_type

    # as bytes, for of such arrays the fields are copied one by one
    parts = [np.empty(0, np.uint8), *(rows.view(np.uint8) for rows in rows_of_each)]
    rows: Rows = np.concatenate(parts).view(row_type())
    return rows, np.repeat(np.arange(len(rows_of_each)), [*map(len, rows_of_each)])


def in_batches(rows_of_rounds: Sequence[Rows]) -> Iterator[tuple[Rows, Numbers, int]]:
    """Yield the rows of rounds, of a hundred at a time, with the place of each row's round, and how many rounds."""
    for first in range(0, len(rows_of_rounds), _AT_ONCE):
        batch = rows_of_rounds[first : first + _AT_ONCE]
        yield (*concatenate(batch), len(batch))


class StepMaker:
    """Makes steps of rows, and rows of steps; shared by the rounds of a group, so that seats and reasons are."""

    def __init__(self, group: Group, limits: Iterable[int | None] = (None,)) -> None:
        """``limits`` are those that reasons have, by their number in a row; others are added when they come."""
        self.group = group
        self.limits = list(limits)
        self._limit_number = {limit: number for number, limit in enumerate(self.limits)}
        self._task_ids = tuple(task.task_id for task in group.tasks)
        #: (consumer, number of the role) → seat
        self._seats: dict[tuple[int, int], Seat] = {}
        #: the maker whose rows were translated last, and the consumers of its group by index
        self._translation: tuple[StepMaker, Numbers] | None = None

    @cached_property
    def end_offset_sums(self) -> npt.NDArray[np.int64]:
        """Task index → its end-offset sum in records."""
        import numpy as np  # noqa: PLC0415 - as in row_type

        sums = np.array(self.group.end_offset_sums, dtype=np.int64)
        sums.setflags(write=False)
        return sums

    def __reduce__(self) -> tuple[type[StepMaker], tuple[Group, list[int | None]]]:
        """Pickle without the seats that were made."""
        return StepMaker, (self.group, self.limits)

    def steps(self, rows: Rows, events: Sequence[OfNoSingleTask] = ()) -> Iterator[Step]:
        """Make the steps of these rows, in their order; ``events`` are those of their round about no single task."""
        for row in zip(*(rows[name].tolist() for name, _ in _FIELDS), strict=True):
            yield events[row[0]] if row[6] >= MEMBER_LEFT else self._step(*row)

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
        limit: int,
    ) -> Step:
        task_id, make = self._task_ids[task], _MAKE[kind]
        from_seat = None if from_consumer == NO_SEAT else self._seat(from_consumer, from_role)
        if lag == NO_LAG and other_lag == NO_LAG:
            reason = _reason(CODES[code], None, self.limits[limit])
        else:
            lags = (None if row_lag == NO_LAG else row_lag for row_lag in (lag, other_lag))
            reason = _reason(CODES[code], next(lags), self.limits[limit], next(lags))
        if to_consumer == NO_SEAT:
            return make(task_id, from_seat, reason)
        to_seat = self._seat(to_consumer, to_role)
        if kind not in RESTORING:
            return make(task_id, from_seat, to_seat, reason)
        records = None if restore_records == NOT_KNOWN else restore_records
        if kind == PLACE:
            return make(task_id, from_seat, to_seat, records, reason)
        return make(task_id, from_seat, to_seat, bool(caught_up), records, reason)

    def _seat(self, consumer: int, role: int) -> Seat:
        seat = self._seats.get((consumer, role))
        if seat is None:
            process_id = self.group.instances[self.group.instance_of[consumer]].process_id
            seat = self._seats[consumer, role] = Seat(process_id, self.group.consumer_ids[consumer], ROLES[role])
        return seat

    def rows(self, steps: Sequence[Step]) -> Rows:
        """Make the rows of steps, in their order.

        Raises:
            ValueError: a step names a task, an instance or a consumer that is not in the group.
        """
        import numpy as np  # noqa: PLC0415 - as in row_type

        row_tuples, events = list[tuple[int, ...]](), 0
        for step in steps:
            if isinstance(step, KINDS):
                row_tuples.append(self._row(step))
            else:
                row_tuples.append(self._row_of_event(step, events))
                events += 1
        rows: Rows = np.fromiter(row_tuples, row_type(), len(row_tuples))
        return rows

    def translated(self, rows: Rows, maker: StepMaker) -> Rows:
        """Return rows that another maker made, of the same tasks and some of the members, as this one makes them."""
        import numpy as np  # noqa: PLC0415 - as in row_type

        if self._translation is None or self._translation[0] is not maker:
            self._translation = maker, np.array([*self.group.indices_of(maker.group), NO_SEAT])
        rows, consumer = rows.copy(), self._translation[1]
        for name in ("from_consumer", "to_consumer"):
            rows[name] = consumer[rows[name]]
        rows["limit"] = np.array([*map(self.limit_number, maker.limits)])[rows["limit"]]
        return rows

    def limit_number(self, limit: int | None) -> int:
        """Return the number of a limit in rows, its next one if it is new."""
        number = self._limit_number.setdefault(limit, len(self.limits))
        if number == len(self.limits):
            self.limits.append(limit)
        return number

    def _row(self, step: OfSingleTask) -> tuple[int, ...]:
        task_id, reason = step.task_id, step.reason
        task = self.group.task_index.get(task_id)
        if task is None:
            raise ValueError(f"there is no task {task_id}")
        from_consumer, from_role = self._seat_numbers(step.from_)
        to_consumer, to_role = self._seat_numbers(getattr(step, "to", None))
        records, lag, other_lag = getattr(step, "restore_records", 0), reason.lag, reason.other_lag
        return (
            NOT_KNOWN if records is None else records,
            NO_LAG if lag is None else lag,
            NO_LAG if other_lag is None else other_lag,
            task,
            from_consumer,
            to_consumer,
            _NUMBER_OF[type(step)],
            from_role,
            to_role,
            getattr(step, "caught_up", False),
            _CODE_NUMBER[reason.code],
            0 if reason.limit is None else self.limit_number(reason.limit),
        )

    def _row_of_event(self, step: OfNoSingleTask, place: int) -> tuple[int, ...]:
        if isinstance(step, StopLearned | NobodyRuns):
            for task_id in step.task_ids:
                if task_id not in self.group.task_index:
                    raise ValueError(f"there is no task {task_id}")
            return (place, NO_LAG, NO_LAG, -1, NO_SEAT, NO_SEAT, EVENT, 0, 0, 0, 0, 0)
        instance = self.group.instance_index.get(step.process_id)
        if instance is None:
            raise ValueError(f"there is no instance {step.process_id!r}")
        if not isinstance(step, MemberLeft):
            return (place, NO_LAG, NO_LAG, -1, NO_SEAT, NO_SEAT, EVENT, 0, 0, 0, 0, 0)
        first = self.group.consumers_of[instance].start
        return (place, NO_LAG, NO_LAG, -1, first, NO_SEAT, MEMBER_LEFT, 0, 0, 0, 0, 0)

    def _seat_numbers(self, seat: Seat | None) -> tuple[int, int]:
        if seat is None:
            return NO_SEAT, 0
        process_id, consumer_id, role = seat
        consumer = self.group.consumer_index.get((process_id, consumer_id))
        if consumer is None:
            raise ValueError(f"there is no consumer {consumer_id!r} on instance {process_id!r}")
        return consumer, _ROLE_NUMBER[role]


def anew(rows: Rows, end_offset_sums: npt.NDArray[np.int64]) -> Mask:
    """Tell which rows :func:`~kstream_plan.plans.steps.restores_anew`, given the end-offset sum of each task."""
    kind, warm, whole = rows["kind"], rows["caught_up"] != 0, end_offset_sums[rows["task"]]
    mask: Mask = ((kind == PLACE) & (rows["from_consumer"] == NO_SEAT)) | (are(kind, *STARTS) & ~warm)
    mask |= (kind == HAND_OVER) & warm & (rows["restore_records"] == whole) & (whole > 0)
    return mask
