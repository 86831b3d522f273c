"""Steps that are rows are what a tuple of the same steps would be, and come to what they tell."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Holding
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner.summarize import summarize
from kstream_plan.plans import (
    Demote,
    Drop,
    HandOver,
    KeepTemporary,
    LowerBounds,
    MemberJoined,
    Place,
    Promote,
    Reason,
    ReasonCode,
    Revoke,
    Role,
    Seat,
    Step,
    ThreadMove,
    Withhold,
    restores_anew,
)
from kstream_plan.plans.pauses import pauses_of
from kstream_plan.plans.round_steps import RoundSteps
from kstream_plan.plans.step_rows import row_type
from tests.helpers.in_rows import round_steps
from tests.helpers.small_groups import group
from tests.helpers.small_plans import round_of

GROUP = group(stateful=4, stateless=1)
LIMIT = 10_000
NOTHING = (Holding(),) * len(GROUP.consumer_ids)
JOINED = MemberJoined("i2", Reason(ReasonCode.MEMBERSHIP))

_lags = st.one_of(st.none(), st.sampled_from([-2, -3, 0, 1000, 2**62]))
_task_ids = st.sampled_from([GROUP.tasks[task].task_id for task in GROUP.stateful])
_records = st.sampled_from([None, 0, 7, 1000, 2**62])


@st.composite
def _seats(draw: st.DrawFn, role: Role | None = None) -> Seat:
    process_id, consumer_id = draw(st.sampled_from([*GROUP.consumer_index]))
    return Seat(process_id, consumer_id, role or draw(st.sampled_from(Role)))


@st.composite
def _reasons(draw: st.DrawFn) -> Reason:
    code, lag = draw(st.sampled_from(ReasonCode)), draw(_lags)
    return Reason(code, lag, draw(st.sampled_from([None, LIMIT, 7])), draw(_lags))


@st.composite
def _steps(draw: st.DrawFn) -> Step:
    task_id, reason, seat, other = draw(_task_ids), draw(_reasons()), draw(_seats()), draw(_seats())
    kind: Any = draw(
        st.sampled_from([Place, Withhold, KeepTemporary, Revoke, Demote, HandOver, Promote, ThreadMove, Drop])
    )
    maybe = seat if kind is Promote else draw(st.sampled_from([None, seat]))
    records = draw(_records)
    if kind in (Revoke, Drop):
        return kind(task_id, seat, reason)
    if kind in (Withhold, Demote, ThreadMove):
        return kind(task_id, seat, other, reason)
    if kind is KeepTemporary:
        return kind(task_id, maybe, other, reason)
    if kind is Place:
        return kind(task_id, maybe, other, records, reason)
    return kind(task_id, maybe, other, records == 0 or draw(st.booleans()), records, reason)


_rounds = st.lists(_steps(), max_size=8).map(tuple)


@given(_rounds, st.booleans())
def test_they_are_a_sequence_of_steps(steps: tuple[Step, ...], joined: bool) -> None:
    members = (JOINED,) if joined else ()
    rows, answer = round_steps(GROUP, members + steps), members + steps
    assert (tuple(rows), len(rows)) == (answer, len(answer))
    assert [rows[index] for index in range(-len(answer), len(answer))] == [*answer, *answer]
    assert (rows[1:], rows[:-1]) == (answer[1:], answer[:-1])
    assert (rows == answer, answer == rows, hash(rows), repr(rows)) == (True, True, hash(answer), repr(answer))
    assert rows != (*answer, JOINED)
    again = pickle.loads(pickle.dumps(rows))
    assert again == rows
    assert not any(item.rows.flags.writeable for item in (rows, again))
    for first in range(len(answer) + 1):
        assert rows.part(0, first) == answer[:first]
        assert rows.part(first, len(answer)) == answer[first:]
    parts = [RoundSteps.from_steps(rows.maker, part) for part in (answer[:1], answer[1:], answer)]
    assert RoundSteps.concatenate(parts) == answer + answer
    with pytest.raises(IndexError):
        rows[len(answer)]


def test_a_row_takes_48_bytes() -> None:
    assert row_type().itemsize == 48


@given(st.lists(_rounds, min_size=1, max_size=4))
def test_they_come_to_what_they_tell(rounds: list[tuple[Step, ...]]) -> None:
    made = [round_of(GROUP, number, steps, NOTHING, NOTHING) for number, steps in enumerate(rounds)]
    paused = pauses_of(GROUP, NOTHING, made, (), AssignmentConfig())
    nobody = LowerBounds(moves=0, probing_rebalances=0)
    summary = summarize(
        GROUP, NOTHING, made, nobody, paused, duration_ms=0, duration_is="probes", max_cold_restore_ms=None
    )
    starts = [step for steps in rounds for step in steps if isinstance(step, HandOver | Promote)]
    placed = [step for steps in rounds for step in steps if isinstance(step, Place)]
    from_ = [step.from_ if isinstance(step, HandOver) else None for step in starts]
    there = [
        seat is not None and seat.process_id == step.to.process_id for seat, step in zip(from_, starts, strict=True)
    ]
    restored = [step.restore_records for step in (*starts, *placed) if restores_anew(step, GROUP)]
    assert summary.hops == there.count(False)
    assert summary.cold_handovers == sum(not step.caught_up for step in starts)
    assert summary.warmups == sum(step.to.role is Role.WARMUP for step in placed)
    assert summary.restored_records == (None if None in restored else sum(record or 0 for record in restored))
