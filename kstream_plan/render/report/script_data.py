"""What the script of a report draws details from: who does what with which task from when to when."""

from __future__ import annotations

from itertools import chain

from kstream_plan.plans import Plan
from kstream_plan.plans.timeline import Doing, Timeline
from kstream_plan.render.text.names import Names

#: Of more stretches than this there are no details on demand: the page has to stay small.
MOST_STRETCHES = 40_000


def script_data(plan: Plan, of: Timeline, names: Names) -> dict[str, object]:
    """Return names, and numbers in one list each: (task, instance, what, from, to) and (task, from, to).

    Tasks and instances are indices, as what is done and times are in the lists of these.
    """
    group = plan.group
    few = len(of.stretches) <= MOST_STRETCHES
    doing = list(Doing)
    still = of.standstills or ()
    spans = chain(((one.from_ms, one.to_ms) for one in of.stretches), ((one.from_ms, one.to_ms) for one in still))
    times_ms = sorted(set(chain.from_iterable(spans)))
    at = {at_ms: place for place, at_ms in enumerate(times_ms)}
    return {
        "from_ms": of.from_ms,
        "to_ms": of.to_ms,
        "instances": [names.instance(instance.process_id) for instance in group.instances],
        "tasks": {
            str(task): [names.task(group.tasks[task].task_id), names.escape(group.subtopologies[task])]
            for task in group.stateful
        }
        if few
        else {},
        "member": "Worker" if plan.is_of_workers else "Instance",
        "group": "Connector" if plan.is_of_workers else "Subtopology",
        "doing": [one.value for one in doing],
        "times_ms": times_ms,
        "stretches": list(
            chain.from_iterable(
                (one.task, one.instance, doing.index(one.doing), at[one.from_ms], at[one.to_ms]) for one in of.stretches
            )
        )
        if few
        else [],
        "standstills": list(chain.from_iterable((one.task, at[one.from_ms], at[one.to_ms]) for one in still)),
    }
