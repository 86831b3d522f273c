"""Whether the rounds of a plan follow one another."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.plans.plan import Plan
from kstream_plan.plans.rounds import Round, Trigger

#: What never starts a plan that begins after 0.
_FROM_THE_GROUP = (Trigger.MANUAL, Trigger.PROBING, Trigger.FOLLOW_UP)


def wrong_order(plan: Plan) -> Iterator[tuple[int, str]]:
    """Yield where rounds do not follow one another: (round number, message).

    They are numbered from 1, generations follow the snapshot's, one by one if classic, and time never goes back.

    It starts at 0, when a member is back that the group did not miss, or with what comes from outside; if it goes on
    from a decision before the plan, with what follows from that one; a broker may wait until it may compute a target.
    """
    goes_on = any(note.code == "goes-on" for note in plan.assumptions) or plan.design == "streams"
    at_ms, back_ms, generation = 0, {outage.to_ms for outage in plan.outages}, plan.generation
    for index, rnd in enumerate(plan.rounds):
        follows = rnd.generation == generation + 1 if plan.design == "classic" else rnd.generation >= generation
        generation = rnd.generation
        if rnd.number != index + 1 or not follows:
            yield index + 1, f"is numbered {rnd.number}, generation {rnd.generation}"
        late = index == 0 and rnd.at_ms not in (0, *back_ms) and rnd.trigger in _FROM_THE_GROUP and not goes_on
        if rnd.at_ms < at_ms or late:
            yield index + 1, f"is at {rnd.at_ms} ms, after {at_ms} ms"
        if rnd.turns and not _turns_in_order(rnd):
            yield index + 1, "has turns that are not in the order of time, or of the steps"
        at_ms = rnd.ends_ms


def _turns_in_order(rnd: Round) -> bool:
    times_ms = [rnd.at_ms, *(turn.at_ms for turn in rnd.turns)]
    firsts = [0, *(turn.first for turn in rnd.turns), len(rnd.steps)]
    return times_ms == sorted(times_ms) and firsts == sorted(firsts)
