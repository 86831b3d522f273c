"""What is known of the way from one state of a group to another is what comparing the two would tell."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Consumer, Copy, Group, GroupState, Holding, Instance, Task, TaskId

_TASKS = 6

#: What becomes of the copies of some tasks: the same objects again, or others.
_ROUND = st.dictionaries(st.integers(0, _TASKS - 1), st.integers(0, 2))


@given(st.lists(_ROUND, min_size=1, max_size=4), st.booleans())
def test_what_changed_since_is_found_again_along_the_way(rounds: list[dict[int, int]], forgets: bool) -> None:
    kept = [((), (Copy(0, 0),), (Copy(0, 1),)) for _ in range(_TASKS)]
    states = [_state()]
    for lags in rounds:
        copies = {task: kept[task][lag] for task, lag in lags.items()}
        states.append(
            states[-1].followed_by(at_ms=0, holdings=states[-1].holdings, copies=copies, revoked={}, waiting={})
        )
    if forgets:  # the way, not what it led to
        states[-1] = replace(states[-1], memory="something")
    for before in states[:-1]:
        unlike = [task for task in range(_TASKS) if states[-1].copies[task] is not before.copies[task]]
        found = list(states[-1].changed_since(before))
        assert found == unlike


def _state() -> GroupState:
    tasks = [Task(task_id=TaskId(0, n), stateful=True, end_offset_sum=10) for n in range(_TASKS)]
    instance = Instance(process_id="00000000-0000-4000-8000-000000000001", consumers=(Consumer(consumer_id="c"),))
    return GroupState(
        group=Group.of("app", tasks, [instance]),
        generation=1,
        at_ms=0,
        holdings=(Holding(),),
        copies=((),) * _TASKS,
        leader=0,
    )
