"""What the script of a report draws details from: who does what with which task from when to when."""

from __future__ import annotations

from itertools import chain

from kstream_plan.plans import Plan
from kstream_plan.plans.timeline import Doing, Timeline
from kstream_plan.render.text.names import Names

#: Of more stretches than this there are no details on demand: the page has to stay small.
MOST_STRETCHES = 40_000


def script_data(plan: Plan, axis: Timeline, names: Names) -> dict[str, object]:
    """Return names, and numbers in one list each: (task, instance, what, from, to) and (task, from, to).

    Tasks and instances are indices, as what is done and times are in the lists of these.
    """
    group = plan.group
    is_small = len(axis.stretches) <= MOST_STRETCHES
    doings = list(Doing)
    still = axis.standstills or ()
    spans = chain(
        ((stretch.from_ms, stretch.to_ms) for stretch in axis.stretches),
        ((stretch.from_ms, stretch.to_ms) for stretch in still),
    )
    times_ms = sorted(set(chain.from_iterable(spans)))
    places = {at_ms: place for place, at_ms in enumerate(times_ms)}
    return {
        "from_ms": axis.from_ms,
        "to_ms": axis.to_ms,
        "instances": [names.instance(instance.process_id) for instance in group.instances],
        "tasks": {
            str(task): [names.task(group.tasks[task].task_id), names.escape(group.subtopologies[task])]
            for task in group.stateful
        }
        if is_small
        else {},
        "member": "Worker" if plan.is_of_workers else "Instance",
        "group": "Connector" if plan.is_of_workers else "Subtopology",
        "doing": [state.value for state in doings],
        "times_ms": times_ms,
        "stretches": list(
            chain.from_iterable(
                (
                    stretch.task,
                    stretch.instance,
                    doings.index(stretch.doing),
                    places[stretch.from_ms],
                    places[stretch.to_ms],
                )
                for stretch in axis.stretches
            )
        )
        if is_small
        else [],
        "standstills": list(
            chain.from_iterable((stretch.task, places[stretch.from_ms], places[stretch.to_ms]) for stretch in still)
        ),
    }
