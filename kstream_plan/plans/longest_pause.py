"""How long a task is paused in all: until it starts, and while it restores before it runs. Every command asks here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.model import WorkId
from kstream_plan.model.note import count
from kstream_plan.model.times import duration
from kstream_plan.plans.cold_starts import cold_starts_of
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.restore_times import restoring_ms
from kstream_plan.plans.simulated import Draws, OverDraws, Range, range_of

#: The rules of a policy that restores count for, and the figure that each is about.
PAUSE_RULES = {
    "max_pause_per_task": "max_paused_task_ms",
    "max_pause_per_handover": "longest_pause_ms",
    "max_pause_in_all": "paused_task_ms",
}


class LongestPause(NamedTuple):
    """The longest pause of a task in a plan.

    task_id: the task; ``None``: none pauses.
    times: number of its pauses, which add up.
    ms: the whole pause, in the simulation that is shown.
    starts_ms: time until it starts, in the simulation that is shown.
    restores_ms: time that it restores before it runs, in that simulation.
    least_ms: the least that the longest pause may be.
    most_ms: the most that it may be; ``None``: unknown.
    """

    task_id: WorkId | None
    times: int
    ms: int
    starts_ms: int
    restores_ms: int
    least_ms: int
    most_ms: int | None


def pause_parts(starts_ms: int, restores_ms: int, times: int = 1) -> str:
    """Return what a pause consists of: ``45s until it starts, 2.4s restoring``."""
    starts = "until it starts" if times == 1 else f"in {count(times, 'pause')}"
    return f"{f'{duration(starts_ms)} {starts}, ' if times else ''}{duration(restores_ms)} restoring"


def longest_pause(plan: Plan, draws: Draws | None = None) -> LongestPause:
    """Return the longest pause of a task, with what it restores before it runs, and the ends over all draws."""
    time_to_start, worst = range_of(plan, "max_paused_task_ms", draws), plan.summary.max_paused_task
    restores = _restores_ms(plan)
    task_id = None if worst is None else worst.task_id
    starts_ms, restores_ms = time_to_start.median, 0 if task_id is None else restores.get(task_id, 0)
    for name, lasts_ms in sorted(restores.items(), key=lambda item: item[0].sort_key):
        if plan.pauses.ms.get(name, 0) + lasts_ms > starts_ms + restores_ms:
            task_id, starts_ms, restores_ms = name, plan.pauses.ms.get(name, 0), lasts_ms
    most_ms = [whole("max_paused_task_ms", plan, time_to_start.most)]
    most_ms += restored_in_draws("max_pause_per_task", draws)
    known_ms = [value for value in most_ms if value is not None]
    likely_ms, cold, slowest = starts_ms + restores_ms, range_of(plan, "cold_handovers", draws), _slowest(plan)
    is_alone = draws is None or draws.number == 1
    least_ms = max(time_to_start.least, slowest.least if cold.least and is_alone else 0)
    if restores_ms and slowest.median and cold.least == cold.most:
        beside_ms = time_to_start.median - starts_ms
        least_ms = max(least_ms, least_ms - beside_ms + restores_ms * slowest.least // slowest.median)
    return LongestPause(
        task_id=task_id,
        times=0 if task_id is None else plan.pauses.times.get(task_id, 0),
        ms=likely_ms,
        starts_ms=starts_ms,
        restores_ms=restores_ms,
        least_ms=min(least_ms, likely_ms),
        most_ms=max(likely_ms, *known_ms) if len(known_ms) == len(most_ms) else None,
    )


def restored_pause(plan: Plan, draws: Draws | None = None) -> LongestPause | None:
    """Return the longest pause of a task if it is longer than the time until it starts, or may be; else ``None``."""
    pause, time_to_start = longest_pause(plan, draws), range_of(plan, "max_paused_task_ms", draws)
    return None if (pause.ms, pause.least_ms, pause.most_ms) == time_to_start else pause


def _slowest(plan: Plan) -> Range:
    return range_of(plan, "max_cold_restore_ms", None)


def _restores_ms(plan: Plan) -> Mapping[WorkId, int]:
    """Return how long each task restores that starts cold, all its starts together; where some is unknown, none.

    Where plans do not state each, since rates differ or change, each counts as the slowest.
    """
    slowest_ms, restores = plan.summary.max_cold_restore_ms, Counter[WorkId]()
    if not slowest_ms:
        return restores
    starts = list(cold_starts_of(plan))
    is_told = max((start.restores_ms or 0 for start in starts), default=0) == slowest_ms
    for start in starts:
        lasts_ms = (start.restores_ms or 0) if is_told else slowest_ms
        restores[plan.group.tasks[start.task].task_id] += lasts_ms
    return restores


def restored_key(name: str) -> str:
    """Return the key of the worst value of a rule in a simulation, restores included."""
    return f"{name} restored"


def restored_in_draws(name: str, draws: Draws | OverDraws | None) -> Sequence[int | None]:
    """Return the value of a rule in the worst of several draws, with the restores of tasks before they run.

    ``None``: unknown, as in simulations that a version without it has saved.
    """
    if draws is None or draws.number == 1:
        return ()
    worst, is_pause = draws.worst, name in PAUSE_RULES
    is_told = restored_key(name) in worst or (is_pause and worst.get("max_cold_handovers", 0) != 0)
    return (worst.get(restored_key(name)),) if is_told else ()


def most_restoring_first(plan: Plan, draws: Draws | None) -> int:
    """Return how many tasks count as caught up and restore first at most, in any of several draws."""
    most = max(len(plan.restores_first), plan.ends("restoring_first")[1])
    if draws is None or draws.number == 1:
        return most
    with_cold = draws.worst.get(restored_key("max_cold_handovers"), 0)
    cold = draws.cold_handovers.least
    return max(most, len(plan.group.stateful) if with_cold is None else with_cold - cold)


def whole(figure: str, plan: Plan, paused_ms: int) -> int | None:
    """Return what a figure of pauses is at most with restores; ``paused_ms`` is the part before tasks start.

    ``None``: how long tasks restore first is not known.
    """
    lasts_ms = restoring_ms(plan.restoring_starts)
    if lasts_ms is None or plan.may_be_endless("max_restoring_first_ms"):
        return None
    most_ms = plan.ends("max_restoring_first_ms")[1]
    if figure != "paused_task_ms":
        paused_ms += most_ms
    elif any(ends.figure == "max_restoring_first_ms" for ends in plan.summary.ranges):  # ranges have no sum
        paused_ms += plan.ends("restoring_first")[1] * most_ms
    else:
        paused_ms += sum(lasts_ms.values())
    return _with_cold_starts(figure, plan, paused_ms) if plan.ends("cold_handovers")[1] else paused_ms


def _with_cold_starts(figure: str, plan: Plan, paused_ms: int) -> int | None:
    """Return what a figure of pauses is at most, with what cold starts restore; ``None``: unknown."""
    most = plan.ends("cold_handovers")[1]
    if plan.pauses_are_least or plan.may_be_endless("max_cold_restore_ms"):
        return None
    slowest_ms = plan.ends("max_cold_restore_ms")[1]
    rounds = plan.rounds if plan.summary.cold_handovers else ()
    starts = [step.task_id for rnd in rounds for step in rnd.steps.cold_starts()]
    if figure == "paused_task_ms":
        return paused_ms + most * slowest_ms
    times = Counter(starts)
    at_most_ms = paused_ms + slowest_ms * (1 if figure == "longest_pause_ms" else max(times.values(), default=1))
    if most > len(starts) or paused_ms > (plan.figure(figure) or 0):  # unknown which
        return at_most_ms
    if figure == "max_paused_task_ms":
        of_cold = (plan.pauses.ms.get(task_id, 0) + number * slowest_ms for task_id, number in times.items())
        return max(paused_ms, *of_cold)
    longest_ms = max((pause.length_ms for pause in plan.pauses if pause.task_id in times), default=0)
    return max(paused_ms, longest_ms + slowest_ms)
