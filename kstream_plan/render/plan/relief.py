"""How much the busiest instance runs, and when that changes, on a line of any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.plans import Plan
from kstream_plan.plans.loads import busiest_changes, busiest_first
from kstream_plan.render.plan.loads import counted
from kstream_plan.render.text.numbers import clock, count, span
from kstream_plan.render.text.page import Fact

_MOST_RELIEFS = 6


def relief_fact(plan: Plan) -> Fact:
    """Return how many tasks the busiest instance runs, and when that changes for good or worse."""
    now, changes = busiest_first(plan), busiest_changes(plan)
    who = "busiest worker" if plan.is_of_workers else "busiest instance"
    if not changes:
        return Fact("RELIEF", (f"none: the {who} runs {count(now, counted(plan))} throughout",))
    tasks = f"{count(now, counted(plan))} now"
    texts = [told(changes, number) for number in range(_MOST_RELIEFS, 2, -1)]
    return Fact(
        "RELIEF",
        (
            f"{who} runs {tasks}, {texts[0]}",
            f"busiest runs {tasks}, {texts[0]}",
            *(f"busiest: {tasks}, {text}" for text in dict.fromkeys(texts)),
            *relief_in_short(now, changes),
        ),
    )


def told(changes: Sequence[tuple[int, int]], number: int) -> str:
    """Name at most so many (3 or more) changes of the busiest load: the most, the least, the last, others between.

    What is left out has a ``…`` in its place.
    """
    if len(changes) <= number:
        return ", ".join(f"{load:,} from {clock(at_ms)}" for load, at_ms in changes)
    chosen = {*_extremes(changes), len(changes) - 1}
    evenly = (place * (len(changes) - 1) // (number - 1) for place in range(1, number - 1))
    for place in evenly:
        if len(chosen) < number:
            chosen.add(place)
    items = [
        f"{'' if place - 1 in chosen or not place else '… '}{changes[place][0]:,} from {clock(changes[place][1])}"
        for place in sorted(chosen)
    ]
    return f"{', '.join(items)} ({len(changes):,} changes)"


def relief_in_short(now: int, changes: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield shorter forms: the most and the least with their times, then between what it is meanwhile."""
    (most, most_ms), (least, least_ms) = (changes[place] for place in _extremes(changes))
    last, last_ms = changes[-1]
    between = [f"most {most:,} ({clock(most_ms)})"] if most > max(now, last) else []
    between += [f"least {least:,} ({clock(least_ms)})"] if least < min(now, last) else []
    end = f"{last:,} from {clock(last_ms)} on"
    yield f"busiest: {', '.join([f'{now:,} now', *between, end])}"
    meanwhile = [load for load, _ in changes[:-1]]
    yield f"busiest: {now:,} now, {f'then {span(min(meanwhile), max(meanwhile))}, ' if meanwhile else ''}{end}"


def _extremes(changes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the places of the most and of the least: the last one if it is, else the first of several."""
    loads = [load for load, _ in changes]
    last = len(loads) - 1
    most, least = max(loads), min(loads)
    return last if loads[last] == most else loads.index(most), last if loads[last] == least else loads.index(least)
