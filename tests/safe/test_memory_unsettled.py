"""A group that settles with stores on disks and not with stores in memory: where that is unknown, so is whether."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.snapshot import Stores
from kstream_plan.plans import Plan, Trigger
from kstream_plan.plans.note_codes import MEMORY_UNSETTLED
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

_BEFORE = Path(__file__).parent / "mem-endless" / "before.json"


@pytest.fixture(scope="module")
def before() -> Snapshot:
    return snapshot_from_row(json.loads(_BEFORE.read_text(encoding="utf-8")), "before.json")


def _joined(before: Snapshot, **changed: object) -> Plan:
    snapshot = replace(before, **changed)  # type: ignore[arg-type]
    return plan(snapshot, scenario=with_random_ids(scale_out(snapshot.state.group, add=1), snapshot.state.group, 0))


def test_follow_ups_without_end_are_recognised_after_a_probing_interval(before: Snapshot) -> None:
    made = _joined(before, stores="in-memory")
    assert made.verdict.kind == "cyclic"
    assert made.verdict.reason.startswith("every 3 follow-ups the group is in the same state")
    assert {rnd.trigger for rnd in made.rounds[1:]} == {Trigger.FOLLOW_UP}
    interval_ms = made.config.probing_rebalance_interval_ms
    assert interval_ms < made.rounds[-1].at_ms < 2 * interval_ms
    assert made.rounds[-1].decided == made.rounds[-4].decided


def test_it_is_unknown_whether_a_group_settles_whose_stores_may_be_in_memory(before: Snapshot) -> None:
    unknown, on_disks = _joined(before), _joined(before, stores="persistent")
    assert (unknown.verdict.kind, unknown.ends("settles")) == ("settled", (0, 1))
    assert [note.code for note in unknown.warnings].count(MEMORY_UNSETTLED) == 1
    assert (on_disks.verdict.kind, on_disks.ends("settles")) == ("settled", (1, 1))


def test_so_it_is_where_that_hangs_on_measured_rates_too(before: Snapshot) -> None:
    rates = Rates(restore={0: 1e5, 1: 1e6})
    snapshot = replace(before, rates=rates, config=replace(before.config, probing_rebalance_interval_ms=60_000))
    group = snapshot.state.group
    leaves = scale_out(group, remove=[group.instances[2].process_id])
    unknown, on_disks = (plan(replace(snapshot, stores=stores), scenario=leaves) for stores in (None, "persistent"))
    assert (unknown.verdict.kind, unknown.ends("settles"), on_disks.ends("settles")) == ("settled", (0, 1), (1, 1))
    assert MEMORY_UNSETTLED in [note.code for note in unknown.warnings]


def test_so_it_is_of_other_settings(before: Snapshot) -> None:
    few = replace(before, config=replace(before.config, max_warmup_replicas=2))
    scenario = with_random_ids(scale_out(few.state.group, add=1), few.state.group, 0)
    for stores, may_not_settle in ((None, True), ("persistent", False)):
        simulated = simulate(replace(few, stores=stores), scenario, number_of_draws=1)
        all_at_once = max(simulated.what_ifs, key=lambda one: (one.setting == "max_warmup_replicas", one.value))
        assert (all_at_once.verdict, all_at_once.may_not_settle) == ("settled", may_not_settle)


def test_the_first_sentences_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate-scaleout", str(_BEFORE), "--add", "1", "--set", "draws=1"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    says = "If stores are in memory, the group may not settle; whether they are is unknown (--set stores would tell)."
    assert text.index(says) < text.index("Duration")
    assert "At least 6 cold starts if stores are in memory. Process ids" in text


@pytest.mark.parametrize("stores", [None, "in-memory"])
def test_each_row_of_settings_says_so_and_that_more_may_start_cold(before: Snapshot, stores: Stores | None) -> None:
    joins = with_random_ids(scale_out(before.state.group, add=1), before.state.group, 0)
    page = page_of(simulate(replace(before, stores=stores), joins, number_of_draws=1))
    [table] = [table for table in page.tables if table.title == "With other settings"]
    rows = [[", ".join(cell.items) for cell in row.cells] for row in table.rows]
    probes = [row for row in rows if row[0].startswith("probing")]
    assert [row[0].rpartition("=")[2] for row in probes] == ["10m (now)", "1m", "5m"]
    for _, lasts, *_, cold in probes:
        assert lasts.endswith("does not settle")
        assert cold.endswith(" or more") or cold.startswith("at least ")


@pytest.mark.parametrize(("stores", "settles"), [(None, True), ("persistent", True), ("in-memory", False)])
def test_what_follows_a_stop_is_said_of_persistent_stores(
    before: Snapshot, stores: Stores | None, settles: bool
) -> None:
    drained = drain(replace(before, stores=stores), [before.state.group.instances[0].process_id])
    [then] = [fact.value for fact in page_of(drained).facts if fact.label == "Afterwards"]
    assert ("settled after" in then) == settles
    assert then.endswith(", if stores are persistent") == (stores is None)
