"""What the script of a report draws details from: who does what with which task from when to when."""

from __future__ import annotations

from itertools import chain

from kstream_plan.plans import Plan
from kstream_plan.plans.timeline import TaskRole, Timeline
from kstream_plan.render.text.names import Names

#: Of more stretches than this there are no details on demand: the page has to stay small.
_MOST_STRETCHES = 40_000


def script_data(plan: Plan, axis: Timeline, names: Names) -> dict[str, object]:
    """Return names, and numbers in one list each: (task, instance, what, from, to) and (task, from, to).

    Tasks and instances are indices, as what is done and times are in the lists of these.
    """
    group, roles, still = plan.group, list(TaskRole), axis.standstills or ()
    stretches, tasks = (axis.stretches, group.stateful) if len(axis.stretches) <= _MOST_STRETCHES else ((), ())
    spans = [*((span.from_ms, span.to_ms) for span in axis.stretches), *((span.from_ms, span.to_ms) for span in still)]
    times_ms = sorted({*chain.from_iterable(spans)})
    places = {at_ms: place for place, at_ms in enumerate(times_ms)}
    activity = (
        (span.task, span.instance, roles.index(span.role), places[span.from_ms], places[span.to_ms])
        for span in stretches
    )
    pauses = ((span.task, places[span.from_ms], places[span.to_ms]) for span in still)
    return {
        "from_ms": axis.from_ms,
        "to_ms": axis.to_ms,
        "instances": [names.instance(instance.process_id) for instance in group.instances],
        "tasks": {
            str(task): [names.task(group.tasks[task].task_id), names.escape(group.subtopologies[task])]
            for task in tasks
        },
        "member": "Worker" if plan.is_of_workers else "Instance",
        "group": "Connector" if plan.is_of_workers else "Subtopology",
        "doing": [state.value for state in roles],
        "times_ms": times_ms,
        "stretches": list(chain.from_iterable(activity)),
        "standstills": list(chain.from_iterable(pauses)),
    }
