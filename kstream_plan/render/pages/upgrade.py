"""The page of the way to the cooperative protocol: the restarts of each bounce, and why one bounce is not enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model.answer import Answer
from kstream_plan.plans import Role, Seat
from kstream_plan.protocols.interleavings import Action, Interleaved
from kstream_plan.protocols.upgrade import TwoOwners, Upgrade
from kstream_plan.render.page import Page, Table, Tone, answer_tone, columns_of, remark_lines, steps_table, text_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count

_RESTARTS = columns_of(">Bounce", "Instance", "Consumers list", "Group protocol", ">Cooperative consumers")
_WHY_TWO = (
    "One bounce is not enough: a leader of old code does not read what a restarted member still owns, and gives it to "
    "another member."
)
_PAUSES = "While the group protocol is eager every rebalance pauses all tasks; cooperative consumers keep their tasks."
_UNTOLD = (
    "It is unknown whether the group is cooperative already: the snapshot does not say what its consumers list "
    "(protocols). Without upgrade.from it is, since Kafka Streams 2.4. If not:"
)


def upgrade_page(way: Upgrade, *, one_bounce: bool = False) -> Page:
    """Return the page of the restarts, or, for ``one_bounce``, of why there have to be two."""
    group, names = way.group, Names(way.group)
    answer = _one_bounce_answer(way) if one_bounce else None
    instances, consumers = count(len(group.instances), "instance"), count(len(group.consumer_ids), "consumer")
    return Page(
        title=f"{names.escape(group.application_id)}: {instances}, {consumers}, to the cooperative protocol",
        tone=_tone(way, answer),
        answer=answer,
        sentences=(" ".join(_sentences(way, answer)),),
        tables=tuple(_tables(way, names, is_refusal=answer is Answer.NO)),
        lines=remark_lines(way.remarks),
    )


def _one_bounce_answer(way: Upgrade) -> Answer:
    """Return whether one bounce is enough."""
    if way.takes_two:
        return Answer.NO
    return Answer.UNKNOWN if way.doubts else Answer.YES


def _tone(way: Upgrade, answer: Answer | None) -> Tone:
    if way.split or way.cannot_mix:
        return "bad"
    if answer is not None:
        return answer_tone(answer)
    return "unknown" if way.untold or way.doubts else "plain" if way.restarts else "good"


def _sentences(way: Upgrade, answer: Answer | None) -> Iterator[str]:
    if way.untold and len(way.untold) == len(way.group.consumer_ids) and answer is None:
        yield _UNTOLD
    if not way.restarts:
        yield f"The group is cooperative already{', if its consumers do as they list' * bool(way.doubts)}."
    elif way.takes_two:
        yield "The upgrade takes two rolling bounces."
        yield _WHY_TWO
    else:
        yield "The first rolling bounce is done; one more rolling bounce is enough."


def _tables(way: Upgrade, names: Names, *, is_refusal: bool) -> Iterator[Table]:
    if way.restarts and not is_refusal:
        rows = tuple(
            text_row(
                f"{restart.bounce}",
                names.instance(restart.process_id),
                ", ".join(restart.protocols),
                restart.group_protocol,
                f"{restart.cooperative_consumers:,}",
            )
            for restart in way.restarts
        )
        yield Table("Restarts, in this order", _RESTARTS, rows, _PAUSES)
    if way.takes_two and way.one_bounce is not None:
        yield steps_table("How one bounce gives a task two owners", _steps(way.one_bounce, names))


def _steps(wrong: TwoOwners, names: Names) -> list[str]:
    """Return the order of steps in which one bounce gives a task two owners."""
    seats = [names.seat(Seat(*place, Role.ACTIVE)) for place in wrong.consumers]
    task = names.task(wrong.task_id)
    steps = [f"{seats[0]} has been restarted and lists cooperative only; {seats[1]} has not, and leads"]
    steps += [_event(event, seats, task) for event in wrong.events]
    join_place = max(place for place, event in enumerate(wrong.events, start=1) if event.action is Action.JOINS)
    steps.insert(join_place + 1, f"{seats[1]} assigns {task} to {seats[1]} at once")
    return [*steps, f"{task} has two owners: {seats[0]} runs it until it gets its own assignment"]


def _event(event: Interleaved, seats: Sequence[str], task: str) -> str:  # type: ignore[type-arg]
    seat = seats[event.member]
    if event.action is Action.JOINS:
        return f"{seat} joins and keeps {task}" if event.owned else f"{seat} joins and owns nothing"
    return f"{seat} gets its assignment" + (f" and starts {task}" if event.owned else "")
