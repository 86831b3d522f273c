"""What stands behind a ``≥`` is no more than a real group then took: of every capture, from every generation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from kstream_plan.model import Rates
from kstream_plan.render.plan.table import table
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import Entry, checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured
from tests.helpers.recorded_events import generations

GROUPS = ("big", "bounce", "duo3", "fresh", "two")


@cache
def _entries(name: str) -> tuple[Entry, ...]:
    if name in GROUPS:
        return generations(name)
    config = captured.rows(name, "inputs")[0]["config"]
    return read_leader_logs([str(captured.REAL / name / "leader.log.gz")], config=config).entries


def _seen_ms(entries: Sequence[Entry], place: int) -> int | None:
    """How long the group took from a decision to its last one; ``None`` if somebody came or went before it settled."""
    for entry in entries[place:]:
        if entry is not entries[place] and entry.decision["trigger"] not in ("follow-up", "probing"):
            return None
        if not entry.decision["probing_rebalance"] and not entry.withheld_tasks:
            return (entry.at_ms or 0) - (entries[place].at_ms or 0)
    return None


@pytest.mark.parametrize("name", [*GROUPS, *captured.SCENARIOS])
@pytest.mark.parametrize("replay", [False, True])
def test_no_group_was_faster_than_the_least_that_was_said(name: str, replay: bool) -> None:
    entries, compared = _entries(name), 0
    for place, entry in enumerate(entries):
        seen_ms = _seen_ms(entries, place)
        if seen_ms is None:
            continue
        snapshot = replace(snapshot_from_row(checked_rows([entry])[0], name), rates=Rates(), known_until_ms=0)
        made = plan(snapshot, replay=replay, ranges=False)
        said_ms = made.summary.floor_ms or 0
        assert said_ms <= seen_ms, f"generation {place}: said {said_ms}, seen {seen_ms}"
        compared += 1
        printed = re.findall(r"≥ [^;\n]+;", table(made))
        assert len(printed) == (said_ms >= 1_000)
    assert compared >= 2
