"""The state a plan starts from, completed: who holds which copy, and who has only just come."""

from __future__ import annotations

from dataclasses import replace

from kstream_plan.model import LATEST, Copy, GroupState


def seated(state: GroupState) -> GroupState:
    """Let every copy name the consumer that holds it, and add the copies that are held but not reported.

    A copy that nobody holds is left over from the plan's beginning on, unless it says since when.
    """
    seats: dict[tuple[int, int], tuple[int, bool]] = {}
    for consumer, held in enumerate(state.holdings):
        instance = state.group.instance_of[consumer]
        for tasks, active in zip(held, (True, False, False, False), strict=True):
            seats.update(((task, instance), (consumer, active)) for task in tasks)
    copies = [{copy.instance: copy for copy in of_task} for of_task in state.copies]
    for (task, instance), seat in seats.items():
        if state.group.tasks[task].stateful:
            copies[task][instance] = _held_copy(state, task, instance, copies[task].get(instance), seat)
    return replace(
        state,
        holdings=tuple(state.holdings),
        copies=tuple(
            tuple(_or_left_over(by_instance[i], state.at_ms) for i in sorted(by_instance)) for by_instance in copies
        ),
    )


def _held_copy(state: GroupState, task: int, instance: int, copy: Copy | None, seat: tuple[int, bool]) -> Copy:
    if copy is None and seat[1]:
        return Copy(instance, LATEST, (seat[0],), 0, *seat)
    if copy is None:
        return Copy(instance, None, (), state.group.tasks[task].end_offset_sum, *seat)
    return copy._replace(consumer=seat[0], active=seat[1], lost_at_ms=None)


def _or_left_over(copy: Copy, at_ms: int) -> Copy:
    return copy._replace(lost_at_ms=at_ms) if copy.consumer is None and copy.lost_at_ms is None else copy


def newcomers(state: GroupState) -> tuple[int, ...]:
    """Indices of the instances that hold nothing and report nothing."""
    known = {state.group.instance_of[consumer] for consumer, held in enumerate(state.holdings) if any(held)}
    known |= {copy.instance for copies in state.copies for copy in copies}
    return tuple(instance for instance in range(len(state.group.instances)) if instance not in known)
