"""Two captured groups: what their brokers logged and described comes out, from the first member on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.designs.streams.coordinator import GroupCoordinator, StreamsSettings
from kstream_plan.designs.streams.sticky import StreamsTasks
from tests.helpers.coordinator_log import replayed

REAL = Path(__file__).parents[2] / "real" / "streams"
TASKS = StreamsTasks.from_subtopologies([("0", 12, True), ("1", 12, True), ("2", 6, False)])


@pytest.mark.parametrize(("capture", "number_of_lines"), [("k43", 82), ("k44", 51)])
def test_every_target_and_every_new_assignment_comes_out(capture: str, number_of_lines: int) -> None:
    settings = StreamsSettings(num_standby_replicas=1, by_current=capture == "k44")
    found = replayed(REAL / f"{capture}-coordinator.log.gz", GroupCoordinator(TASKS, settings))
    assert len(found.lines) == number_of_lines
    assert [said for said, _ in found.lines] == [plan for _, plan in found.lines]
    described = _described_targets(capture)
    assert len(found.targets) == 6
    assert described.keys() <= found.targets.keys()
    for epoch, target in described.items():
        names = {
            item: ({TASKS.names[task] for task in wanted.active}, {TASKS.names[task] for task in wanted.standby})
            for item, wanted in found.targets[epoch].items()
        }
        assert {item: names[item] for item in target} == target


def _described_targets(capture: str) -> dict[int, dict[str, Any]]:
    """By target epoch, as described last while nobody had left since."""
    found = {}
    with gzip.open(REAL / f"{capture}-described.jsonl.gz", "rt") as lines:
        for line in lines:
            group = json.loads(line)["describeStreamsGroup"]
            if group["groupEpoch"] == group["targetAssignmentEpoch"] and group["members"]:
                found[group["targetAssignmentEpoch"]] = {
                    member["memberId"]: tuple(set(member["targetAssignment"][role]) for role in ("active", "standby"))
                    for member in group["members"]
                }
    return found
