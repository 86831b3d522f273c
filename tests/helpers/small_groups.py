"""Small groups written down by hand, for tests about one rule."""

from __future__ import annotations

from collections.abc import Mapping

from kstream_plan.model import Consumer, Copy, Group, GroupState, Holding, Instance, Task, TaskId

#: Instances are named so that their order is that of their ids; every one has two threads.
INSTANCES = ("i1", "i2", "i3")


def group(stateful: int = 2, stateless: int = 1, end_offset_sum: int = 1000) -> Group:
    """Tasks 0_0 … are stateful, 1_0 … stateless; consumers 0 and 1 are i1's, 2 and 3 i2's, 4 and 5 i3's."""
    tasks = [Task(task_id=TaskId(0, p), stateful=True, end_offset_sum=end_offset_sum) for p in range(stateful)]
    tasks += [Task(task_id=TaskId(1, p), stateful=False) for p in range(stateless)]
    instances = [
        Instance(process_id=name, consumers=tuple(Consumer(consumer_id=f"{name}-{t}") for t in (1, 2)))
        for name in INSTANCES
    ]
    return Group.of("orders", tasks, instances)


def state(
    members: Group, holdings: Mapping[int, Holding], copies: Mapping[int, tuple[Copy, ...]], generation: int = 7
) -> GroupState:
    """A group state from what each consumer holds and what is on disk of each task."""
    return GroupState(
        group=members,
        generation=generation,
        at_ms=0,
        holdings=tuple(holdings.get(c, Holding()) for c in range(len(members.consumer_ids))),
        copies=tuple(copies.get(task, ()) for task in range(len(members.tasks))),
    )
