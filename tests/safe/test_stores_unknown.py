"""Whether stores persist decides what a closed task leaves: where that is unknown, a plan tells both ends."""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kstream_plan.model import Consumer, Instance
from kstream_plan.model.scenario import Bounce, Event, Join, Leave, Scenario
from kstream_plan.model.snapshot import Stores
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import Fact
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan_checked
from tests.helpers.random_groups import Given, copied, groups

_GROUPS = int(os.environ.get("KSTREAM_PLAN_GROUPS", "2000"))
_NEWCOMER = Instance(
    process_id="f0000000-0000-4000-8000-00000000000f",
    consumers=(Consumer(consumer_id="new-1"), Consumer(consumer_id="new-2")),
)


def _plan(group: Given, stores: Stores | None, event: str) -> Plan:
    if event == "close to the time-out":
        group = _with_static_members(group)
    snapshot = replace(group.snapshot, stores=stores)
    busiest = process_id_of(snapshot.state.group, group.busiest)
    events: dict[str, tuple[Event, ...]] = {
        "nothing": (),
        "join": (Join(at_ms=0, instances=(_NEWCOMER,)),),
        "leave": (Leave(at_ms=0, process_ids=(busiest,)),),
        "bounce": (Bounce(at_ms=0, process_ids=(busiest,), restart_ms=3_000),),
        "close to the time-out": (Bounce(at_ms=0, process_ids=(busiest,), restart_ms=44_000),),
    }
    return plan_checked(snapshot, group.options, scenario=Scenario(events=events[event]) if events[event] else None)


def _with_static_members(group: Given) -> Given:
    """Return it with consumers of the busiest instance that are back under their ids within session.timeout.ms."""
    static = copied(group)
    for instance in static.row["instances"]:
        for consumer in instance["consumers"] if instance["host"] == group.busiest else ():
            consumer["group_instance_id"] = consumer["consumer_id"]
    return static


@settings(
    max_examples=_GROUPS * 3 // 100,
    derandomize="KSTREAM_PLAN_GROUPS" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(group=groups(), event=st.sampled_from(["nothing", "join", "leave", "bounce", "close to the time-out"]))
def test_what_starts_cold_lies_between_the_ends_of_unknown_stores(group: Given, event: str) -> None:
    unknown = _plan(group, None, event)
    least, most = unknown.ends("cold_handovers")
    for stores in ("persistent", "in-memory"):
        answer = _plan(group, stores, event)
        assert least <= answer.summary.cold_handovers <= most, (stores, group)
        assert answer.ends("cold_handovers")[1] <= most, (stores, group)
        assert answer.verdict.kind == "settled" or not unknown.ends("settles")[0], (stores, group)
        assert not any(start.evidence.fact is Fact.STORES_UNKNOWN for start in answer.unproven_starts)
