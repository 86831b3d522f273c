"""Whether and why tasks start cold, and when they run: sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from kstream_plan.model import Holding, Instance
from kstream_plan.model.holding_changes import apart_from_stateless
from kstream_plan.model.note import count, count_range, name_list
from kstream_plan.model.times import duration
from kstream_plan.plans.caught_up_evidence import Fact, would_tell
from kstream_plan.plans.cold_starts import cold_starts_of
from kstream_plan.plans.longest_pause import most_restoring_first
from kstream_plan.plans.note_codes import CLOSE_TO_TIME_OUT, LATE_FOLLOW_UP, LEFT_OVER_CLEANUP
from kstream_plan.plans.plan import READY_AT_FOLLOW_UP, Plan
from kstream_plan.plans.rebalance_events import RebalanceEvent
from kstream_plan.plans.simulated import Draws, more_may_follow, range_of

#: What makes tasks start cold that are likely to start warm, by what warns of it.
_COLD_IF = {
    CLOSE_TO_TIME_OUT: "the group notices the stop before the return",
    LEFT_OVER_CLEANUP: "state left on disks has been deleted",
    LATE_FOLLOW_UP: "a follow-up rebalance comes late",
    READY_AT_FOLLOW_UP: "copies catch up later than assumed",
}


def cold_sentences(plan: Plan, activities: Sequence[RebalanceEvent], draws: Draws | None) -> Iterator[str]:
    """Yield whether tasks start cold, how many, why, and which options would tell where that is unknown."""
    cold, is_open = range_of(plan, "cold_handovers", draws), more_may_follow(plan, draws)
    if plan.is_of_workers or not plan.group.stateful:
        return
    has_ends = any(ends.figure == "cold_handovers" for ends in plan.summary.ranges)
    rate = "--restore-rate" * (has_ends and plan.summary.duration_is in ("probes", "floor"))
    only_stores = {start.evidence.fact for start in plan.unproven_starts} == {Fact.STORES_UNKNOWN}
    if cold.most and not cold.median and only_stores:
        unknown = "" if plan.unsettled_in_memory else "; whether they are is unknown (--set stores would tell)"
        yield f"{_up_to(cold.most, 'cold start', is_open=is_open)} if stores are in memory{unknown}."
    elif cold.most and not cold.median:
        facts = dict.fromkeys(start.evidence.words for start in plan.unproven_starts)
        codes = {note.code for note in (*plan.warnings, *plan.assumptions)}
        causes = [cause for code, cause in _COLD_IF.items() if code in codes]
        causes += ["new instances get other random ids"] * (not causes and draws is not None)
        condition = f" if {' or '.join(causes)}" if causes else ", by what is unknown"
        reason = f": {'; '.join(facts)}" if facts else condition
        yield f"{_up_to(cold.most, 'cold start', is_open=is_open)}{reason}."
        yield from would_tell(plan.unproven_starts, rate)
    elif cold.most:
        cause = _cold_cause(plan, activities) or "no copy has caught up where the task goes, so it restores first"
        number = count_range(*cold, is_open=is_open)
        number = f"{number[0].upper()}{number[1:]}"
        yield f"{number} cold {'start' if cold.most == 1 else 'starts'}: {cause}."
        if cold.most > cold.median:
            tasks = {move.task_id for activity in activities for move in activity.cold}
            is_again = tasks.issuperset(start.task_id for start in plan.unproven_starts)
            condition = "when they start again" if is_again else "by what is unknown"
            yield f"{_up_to(cold.most - cold.median, 'more cold start', is_open=is_open)} {condition}."
            yield from would_tell(plan.unproven_starts, rate)
    else:
        none = "No task starts cold" if not is_open else "In this simulation no task starts cold"
        if not range_of(plan, "moves", draws).most:
            yield f"{none}."
        elif plan.summary.warmups >= plan.summary.hops:
            yield f"{none}: each one is restored on its new instance before it moves."
        else:
            yield f"{none}: each one moves to a copy that has caught up."
    restoring, (least, most_shown) = len(plan.restores_first), plan.ends("restoring_first")
    if most := most_restoring_first(plan, draws):
        copies = "its copy counts" if most == 1 else "their copies count"
        likely = f"{count_range(restoring, least, most)} {'task restores' if most == 1 else 'tasks restore'}"
        option = f" ({plan.tells_restoring_first} would tell)" if most_shown else ", in other random simulations"
        tells = "" if restoring else option
        clause = likely if restoring else f"{_up_to(most, 'task', is_open=is_open)} may restore"
        yield f"{clause} state before running, though {copies} as caught up{tells}."


def _up_to(number: int, noun: str, *, is_open: bool) -> str:
    """Return a number with its bound: ``Up to 3 cold starts``, or ``At least 3 cold starts``."""
    return f"{'At least' if is_open else 'Up to'} {count(number, noun)}"


def _cold_cause(plan: Plan, activities: Sequence[RebalanceEvent]) -> str:
    """Return why no instance that stays has a copy of any task that starts cold; empty: some have one."""
    places = list(_lost_places(plan, activities))
    if not all(places) and plan.design == "streams":
        return "a streams group has no warm-ups, and moves a task before its state is restored there"
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
            areas = sorted({str(name) for value in values for name in value})
            area = f"{tag} {areas[0]}" if len(areas) == 1 else f"one {tag} ({name_list(areas)})"
            spreads = tag in plan.config.rack_aware_assignment_tags
            cure = (
                ""
                if spreads
                else f"; with rack.aware.assignment.tags={tag} before, a standby would have been in another {tag}"
            )
            return f"all copies of {tasks} were in {area}, so it restores first{cure}"
    return f"all instances with a copy of {tasks} are gone, so it restores first"


def still_restoring(plan: Plan) -> str:
    """Return which tasks still restore when the last rebalance is over, and until when; empty: none, or elsewhere."""
    if plan.design == "streams" or plan.verdict.kind != "settled" or not plan.summary.cold_handovers:
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


def _lost_places(plan: Plan, activities: Sequence[RebalanceEvent]) -> Iterator[Sequence[Instance]]:
    """Yield the instances that had a copy of each task that starts cold; none if one of them is still there."""
    group, departed_ids = plan.group, set[str]()
    for activity in activities:
        departed_ids = departed_ids.union(activity.left_ids).difference(activity.joined_ids)
        if activity.cold:
            first = activity.rounds[0].number
            holders = _holders(plan, plan.rounds[first - 2].assigned if first > 1 else plan.initial)
            places = (holders[group.task_index[move.task_id]] for move in activity.cold)
            yield from (
                () if any(instance.process_id not in departed_ids for instance in place) else place for place in places
            )


def _holders(plan: Plan, holdings: Sequence[Holding]) -> Mapping[int, Sequence[Instance]]:
    """Return the instances that have a copy of each stateful task."""
    holders = defaultdict[int, list[Instance]](list)
    for consumer, holding in enumerate(apart_from_stateless(holdings)):
        for task in chain.from_iterable(holding):
            holders[task].append(plan.group.instances[plan.group.instance_of[consumer]])
    return holders
