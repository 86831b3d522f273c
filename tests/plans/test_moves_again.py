"""Of a task that moves several times in one plan it is said who runs it in turn, and where it is to stay."""

from __future__ import annotations

import re

from kstream_plan.model.note import name_list
from kstream_plan.plans import HandOver, Plan
from kstream_plan.plans.note_codes import MOVES_AGAIN
from kstream_plan.plans.remarks import remarks
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured


def owners_of(plan: Plan, task_id: str) -> list[str]:
    """Return the hosts that run a task, in turn."""
    host = {instance.process_id: instance.host for instance in plan.group.instances}
    starts = [
        step
        for rnd in plan.rounds
        for step in rnd.single_steps
        if isinstance(step, HandOver) and str(step.task_id) == task_id
    ]
    first = [host[starts[0].from_.process_id]] if starts[0].from_ is not None else []
    return [str(name) for name in (*first, *(host[step.to.process_id] for step in starts))]


def test_the_owners_of_the_task_that_moves_most_often_are_named_in_turn() -> None:
    number = 0
    for snapshot in captured.inputs("scale-out"):
        scenario = scale_out(snapshot.state.group, add=2)
        plan = simulate(snapshot, scenario, number_of_draws=1, what_ifs=False).plan
        for note in remarks(plan).notes:
            if note.code != MOVES_AGAIN:
                continue
            number += 1
            task_id = re.match(r"(?:\d+ tasks move more than once, )?(\d+_\d+)", note.message)
            assert task_id is not None
            owners = owners_of(plan, task_id[1])
            assert task_id[1] in note.subjects
            assert note.message.endswith(f"It runs on {name_list(owners[:-1], 8)}, then on {owners[-1]}")
            assert len(set(owners)) < len(owners) or len(owners) > 2
    assert number
