"""Same bytes in, same bytes out."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from kstream_plan.documents.plan.write import plan_json
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured

_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.helpers import captured
from kstream_plan.comparison.diff import compare
from kstream_plan.simulation.one_plan import plan
from kstream_plan.render.answers import to_json
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.pages.diff import diff_page
from kstream_plan.render.terminal import to_terminal
from kstream_plan.comparison.sides import plan_side, snapshot_side
for scenario in captured.SCENARIOS:
    made = plan(captured.join(scenario))
    print(plan_json(made, full=True), table(made))
    history = [snapshot_side(snapshot) for snapshot in captured.inputs(scenario)]
    for old, new in [(history[1], history[14]), (plan_side(made, 0), plan_side(made)), (history[5], history[6])]:
        found = compare(old, new)
        print(to_json(found, view=True), to_terminal(diff_page(found, protocol_view=True)))
"""


def test_the_hash_seed_changes_nothing() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(Path(__file__).parents[2])],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_the_order_of_everything_in_a_row_changes_nothing(scenario: str) -> None:
    row = captured.rows(scenario, "inputs")[1]
    expected = plan_json(plan(snapshot_from_row(row, scenario)))
    rng = random.Random(scenario)
    for _ in range(5):
        rng.shuffle(row["tasks"])
        rng.shuffle(row["instances"])
        rng.shuffle(row["lags"])
        for instance in row["instances"]:
            rng.shuffle(instance["consumers"])
            for consumer in instance["consumers"]:
                rng.shuffle(consumer["active"])
                rng.shuffle(consumer["standby"])
        assert plan_json(plan(snapshot_from_row(row, scenario))) == expected
