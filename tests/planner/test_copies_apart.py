"""Copies that tags are to keep apart and do not are told, and a rack-aware strategy that cannot be planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.model import Group, Note, Snapshot
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.plans import Plan
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Policy
from kstream_plan.simulation.one_plan import plan
from tests.helpers.check_cases import NOW
from tests.helpers.small_groups import group, state


def _zones(zones: str, **settings: object) -> Snapshot:
    """Three instances of three tasks, in these zones; ``-``: in none."""
    item = group(stateful=3, stateless=0)
    instances = [
        replace(one, client_tags=() if zone == "-" else (("zone", zone),))
        for one, zone in zip(item.instances, zones, strict=True)
    ]
    there = Group.of(item.application_id, list(item.tasks), instances)
    config = AssignmentConfig(rack_aware_assignment_tags=("zone",), **settings)  # type: ignore[arg-type]
    return Snapshot(state=state(there, {}, {}), config=config)


def _note(plan: Plan) -> Note | None:
    return next((note for note in plan.warnings if note.code == "copies-together"), None)


@pytest.mark.parametrize(
    ("zones", "standbys", "said"),
    [
        ("abc", 2, ""),
        ("abc", 0, ""),
        ("aab", 2, "3 copies of 0_0 share 2 values, and instances have 2 values of this tag"),
        ("aaa", 1, "2 copies of 0_0 share 1 value, and instances have 1 value of this tag"),
        ("---", 1, "2 copies of 0_0 share 0 values, and no instance has this tag"),
    ],
)
def test_copies_on_fewer_values_of_a_tag_than_there_are_copies_are_told(zones: str, standbys: int, said: str) -> None:
    result = plan(_zones(zones, num_standby_replicas=standbys))
    found = _note(result)
    assert (found is not None) is bool(said)
    caveats = check_plan(result, Standard(Policy(), NOW)).caveats
    assert ("copies-together" in {note.code for note in caveats}) is bool(said)
    if found is not None:
        assert said in found.message
        assert "rack.aware.assignment.tags=zone does not keep the copies of 3 of 3 tasks apart" in found.message


@pytest.mark.parametrize("strategy", ["none", "min_traffic"])
def test_a_rack_aware_strategy_that_is_not_planned_is_told(strategy: str) -> None:
    result = plan(_zones("abc", rack_aware_assignment_strategy=strategy))
    assert any(note.code == "racks-unknown" for note in result.assumptions) is (strategy != "none")
