"""Why tasks start cold: whether an instance that stays has a copy of them; and when they run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from kstream_plan.model import Holding, Instance
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.model.note import count, name_list
from kstream_plan.model.times import duration
from kstream_plan.plans.activity import Activity
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.timeline import cold_starts_of


def cold_cause(plan: Plan, activities: Sequence[Activity]) -> str:
    """Return why no instance that stays has a copy of any task that starts cold; empty: some have one."""
    places = list(_lost_places(plan, activities))
    if not places or not all(places):
        return ""
    tasks = "the task" if len({move.task_id for activity in activities for move in activity.cold}) == 1 else "each task"
    if max(map(len, places)) == 1:
        prefix, standbys = "streams." * (plan.design == "streams"), plan.config.num_standby_replicas
        setting = f" ({prefix}num.standby.replicas=0)" if not standbys else ""
        return f"the only copy of {tasks} was on an instance that is gone{setting}, so it restores first"
    for tag in dict(places[0][0].client_tags):
        values = [{dict(instance.client_tags).get(tag) for instance in holders} for holders in places]
        if all(len(value) == 1 and None not in value for value in values):
            areas = name_list(sorted({str(name) for value in values for name in value}))
            spreads = tag in plan.config.rack_aware_assignment_tags
            cure = "" if spreads else f"; rack.aware.assignment.tags={tag} would keep a standby in another {tag}"
            return f"all copies of {tasks} were in one {tag} ({areas}), so it restores first{cure}"
    return f"all instances with a copy of {tasks} are gone, so it restores first"


def still_restoring(plan: Plan) -> str:
    """Return which tasks still restore when the last rebalance is over, and until when; empty: none, or elsewhere."""
    if plan.design == "streams" or plan.verdict.kind != "settled":
        return ""
    end_ms, slowest_ms = plan.summary.duration_ms, plan.summary.max_cold_restore_ms
    assumed_ms = plan.config.probing_rebalance_interval_ms  # as of other copies
    runs_ms: dict[int, int] = {}
    for start in cold_starts_of(plan):
        lasts_ms = assumed_ms if slowest_ms is None else start.restores_ms or slowest_ms
        runs_ms[start.task] = max(runs_ms.get(start.task, 0), start.at_ms + lasts_ms)
    late = [ms for ms in runs_ms.values() if ms > end_ms + 1000]
    if not late:
        return ""
    tasks = f"{count(len(late), 'task')} that start{'s' * (len(late) == 1)} cold still restore{'s' * (len(late) == 1)}"
    if slowest_ms is None:
        return f"{tasks} then: until when is unknown."
    return f"{tasks} then: all tasks run after about {duration(max(late))}."


def _lost_places(plan: Plan, activities: Sequence[Activity]) -> Iterator[Sequence[Instance]]:
    """Yield the instances that had a copy of each task that starts cold; none if one of them is still there."""
    group, gone = plan.group, set[str]()
    for activity in activities:
        gone = gone.union(activity.left).difference(activity.joined)
        if activity.cold:
            first = activity.rounds[0].number
            holders = _holders(plan, plan.rounds[first - 2].assigned if first > 1 else plan.initial)
            places = (holders[group.task_index[move.task_id]] for move in activity.cold)
            yield from (() if any(each.process_id not in gone for each in place) else place for place in places)


def _holders(plan: Plan, holdings: Sequence[Holding]) -> Mapping[int, Sequence[Instance]]:
    """Return the instances that have a copy of each stateful task."""
    holders = defaultdict[int, list[Instance]](list)
    for consumer, held in enumerate(apart_from_stateless(holdings)):
        for task in chain.from_iterable(held):
            holders[task].append(plan.group.instances[plan.group.instance_of[consumer]])
    return holders
