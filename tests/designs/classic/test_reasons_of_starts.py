"""Why a task starts where it does is true of what was reported of its copies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Snapshot,
    Task,
    TaskId,
)
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import HandOver, Promote, ReasonCode, Withhold
from kstream_plan.simulation.one_plan import plan
from tests.helpers import strategies

WHOLE = 10_000
#: Before it, nothing waits with who is not caught up.
OLD = "3.1.0"


@pytest.mark.parametrize(
    ("lags", "release", "starts_on", "code"),
    [
        ({}, None, "i1", ReasonCode.NO_STATE_ANYWHERE),
        ({}, OLD, "i1", ReasonCode.NO_STATE_ANYWHERE),
        ({"i1": WHOLE, "i2": WHOLE}, None, "i1", ReasonCode.NO_STATE_ANYWHERE),
        ({"i1": 100}, None, "i1", ReasonCode.TARGET_CAUGHT_UP),
        ({"i1": 500}, None, "i1", ReasonCode.MOST_CAUGHT_UP),
        ({"i1": 300, "i2": 500}, OLD, "i1", ReasonCode.MOST_CAUGHT_UP),
        ({"i1": UNKNOWN}, None, "i1", ReasonCode.MOST_CAUGHT_UP),
        ({"i2": 500}, None, "i2", ReasonCode.MOST_CAUGHT_UP),
        ({"i2": 500}, OLD, "i1", ReasonCode.TARGET_WARMS_UP),
        ({"i1": 500, "i2": 300}, OLD, "i1", ReasonCode.TARGET_WARMS_UP),
        ({"i2": UNKNOWN}, OLD, "i1", ReasonCode.TARGET_WARMS_UP),
    ],
)
def test_a_task_that_nobody_runs_starts_where_and_why(
    lags: dict[str, int], release: str | None, starts_on: str, code: ReasonCode
) -> None:
    """The target of 0_0 is i1; i2 runs 0_1. ``lags`` are those of the standbys of 0_0."""
    tasks = [Task(task_id=TaskId(0, p), stateful=True, end_offset_sum=WHOLE) for p in range(2)]
    instances = [Instance(process_id=name, consumers=(Consumer(consumer_id=f"{name}-1"),)) for name in ("i1", "i2")]
    standby = {name: (0,) if name in lags else () for name in ("i1", "i2")}
    state = GroupState(
        group=Group.of("orders", tasks, instances),
        generation=3,
        at_ms=0,
        holdings=(Holding(standby=standby["i1"]), Holding(active=(1,), standby=standby["i2"])),
        copies=(
            tuple(
                Copy(place, lags[name], (place,), WHOLE if lags[name] < 0 else lags[name])
                for place, name in enumerate(standby)
                if name in lags
            ),
            (Copy(1, LATEST, (1,)),),
        ),
    )
    config = AssignmentConfig(acceptable_recovery_lag=100)
    snapshot = Snapshot(state=state, config=config, streams_version=release)
    made = plan(snapshot, max_rounds=1, ranges=False, floor=False)
    [step] = [step for step in made.rounds[0].steps if isinstance(step, HandOver | Promote)]
    assert (step.to.process_id, step.reason.code) == (starts_on, code)


@given(
    strategies.snapshots(),
    st.sampled_from([("high-availability", None), ("high-availability", OLD), ("balanced", None), ("planned", None)]),
)
@settings(deadline=None)
def test_why_a_task_starts_is_true_of_what_was_reported(snapshot: Snapshot, decides: tuple[str, str | None]) -> None:
    assignor, release = decides
    snapshot = replace(snapshot, streams_version=release)
    made = plan(snapshot, assignor=assignor, max_rounds=1, ranges=False, floor=False)
    group = snapshot.state.group
    for step in made.rounds[0].steps if made.rounds else ():
        if (
            not isinstance(step, HandOver | Promote | Withhold)
            or not group.tasks[group.task_index[step.task_id]].stateful
        ):
            continue
        task = group.task_index[step.task_id]
        whole = group.tasks[task].end_offset_sum
        lags = {
            group.instances[copy.instance].process_id: copy.lag
            for copy in snapshot.state.copies[task]
            if copy.lag is not None and copy.lag < whole
        }
        here, closest = lags.get(step.to.process_id, whole), min(lags.values(), default=whole)
        match step.reason.code:
            case ReasonCode.NO_STATE_ANYWHERE:
                assert not lags
            case ReasonCode.MOST_CAUGHT_UP:
                assert here == closest < whole
            case ReasonCode.TARGET_WARMS_UP:
                assert closest < here
