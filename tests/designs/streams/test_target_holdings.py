"""What a target gives everybody, and which copies change as time passes, are what a plain look at all of them tells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.designs.streams.copies import ChangingTasks
from kstream_plan.designs.streams.holdings import TargetHoldings
from kstream_plan.model import Copy, Group, Holding, Holdings
from tests.helpers import strategies
from tests.helpers.small_groups import group, state


@st.composite
def _held(draw: st.DrawFn, group: Group) -> list[Holding]:
    """Who runs each task, if anybody does, and who has a standby of some that have state."""
    consumers = range(len(group.consumer_ids))
    active, standby = [list[int]() for _ in consumers], [list[int]() for _ in consumers]
    for task, is_stateful in enumerate(group.stateful_flags):
        owner, copy = (draw(st.sampled_from([None, *consumers])) for _ in range(2))
        if owner is not None:
            active[owner].append(task)
        if copy is not None and copy != owner and is_stateful:
            standby[copy].append(task)
    return [Holding(tuple(of), tuple(copies)) for of, copies in zip(active, standby, strict=True)]


@given(strategies.groups(max_tasks=20), st.data())
def test_what_a_target_gives_is_what_a_look_at_every_consumer_tells(group: Group, data: st.DataObject) -> None:
    wanted, held = data.draw(_held(group)), data.draw(_held(group))
    target = TargetHoldings(group=group, targets={}, holdings=wanted)
    assert target.owners == {task: index for index, of in enumerate(wanted) for task in of.active}
    for index, decided in enumerate(target.decided_holdings(Holdings.of(group, held))):
        of_instance = group.consumers_of[group.instance_of[index]]
        here = {task for consumer in of_instance for task in wanted[consumer].active}
        assert decided == Holding(wanted[index].active, tuple(t for t in held[index].standby if t not in here))
    queued = sum(len({*to.active} - {*of.active}) for of, to in zip(held, wanted, strict=True))
    assert target.queued_count(Holdings.of(group, held)) == queued
    for instance, consumers in enumerate(group.consumers_of):
        active = {task for consumer in consumers for task in wanted[consumer].active if group.stateful_flags[task]}
        assert target.target.active[instance] == tuple(sorted(active))


_COPY = st.builds(
    Copy,
    instance=st.integers(0, 2),
    lag=st.just(0),
    remaining=st.integers(0, 1),
    consumer=st.sampled_from([None, 0]),
    lost_at_ms=st.sampled_from([None, 3, 7]),
)
_COPIES = st.lists(st.lists(_COPY, max_size=2).map(tuple), min_size=4, max_size=4)
_STATES = st.lists(st.tuples(_COPIES, st.sets(st.integers(0, 3)), st.booleans(), st.booleans()), min_size=1, max_size=6)


@given(_STATES, st.sampled_from([0, 5, 9]))
def test_the_tasks_that_change_by_themselves_are_told_state_by_state(
    states: list[tuple[list[tuple[Copy, ...]], set[int], bool, bool]], lost_before_ms: int
) -> None:
    def changes(copy: Copy, *, restores: bool, written: bool) -> bool:
        if copy.consumer is not None:
            return copy.remaining > 0 and (restores or written)
        return written or (copy.lost_at_ms is not None and copy.lost_at_ms < lost_before_ms)

    changing_tasks, members, now = ChangingTasks(), group(stateful=4), dict[int, tuple[Copy, ...]]()
    for copies, changed, restores, written in states:
        now |= {task: copies[task] for task in changed}
        expected = {
            task for task, of in now.items() if any(changes(copy, restores=restores, written=written) for copy in of)
        }
        found = changing_tasks.find(
            state(members, {}, now), restores=restores, writes=written, lost_before_ms=lost_before_ms
        )
        assert found == expected
