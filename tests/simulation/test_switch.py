"""Whether to become a streams group: the switch itself, and what happens on either side, in figures and in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from kstream_plan.errors import UsageError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.plans.simulated import Range
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.page import as_sentence
from kstream_plan.render.pages.switch import switch_page
from kstream_plan.simulation.streams_migration import Switch, switch, with_given
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured_scenarios
from tests.helpers.goldens import assert_golden
from tests.helpers.schemas import validator
from tests.helpers.snapshot_rows import row
from tests.helpers.streams_rows import row as streams_row
from tests.helpers.streams_rows import snapshot as streams_snapshot


def orders(**rates: float) -> Snapshot:
    return replace(captured_scenarios.before("scale-out"), rates=Rates(**rates))  # type: ignore[arg-type]


def with_time_out(snapshot: Snapshot, timeout_ms: int) -> Snapshot:
    return replace(snapshot, config=replace(snapshot.config, session_timeout_ms=timeout_ms))


@pytest.fixture(scope="module")
def both() -> dict[str, Switch]:
    """To brokers of 4.3, which know no disks, and of 4.4, which do."""
    item = with_time_out(orders(restore_per_instance=1_000.0), 45_000)
    return {release: switch(item, release, number_of_draws=2) for release in ("4.3", "4.4")}


def test_settings_that_are_unknown_are_not_those_of_now() -> None:
    """Without settings the number of standbys is Kafka's default, and not what the group has to be given."""
    item = row()
    item["config"] = {}
    read = snapshot_from_row(item, "")
    found = switch(read, "4.3", number_of_draws=1)
    assert {*read.assumptions} <= {*found.remarks.assumptions}
    assert {*read.warnings} <= {*found.remarks.warnings}
    assert "unknown" in next(step for step in found.steps if "streams.num.standby.replicas" in step)
    assert "as now" not in " ".join(switch_page(found).sentences)
    assert "now)" not in found.remarks.notes[0].message


def figure(found: Switch, what: str, standbys: int, side: str) -> Any:
    [row] = [row for row in found.rows if (row.what, row.standbys, row.side) == (what, standbys, side)]
    return row.figures


def test_every_scenario_is_there_on_both_sides_with_every_number_of_standbys(both: dict[str, Switch]) -> None:
    rows = [(row.what, row.standbys, row.side) for row in both["4.3"].rows]
    sides = [
        (what, n, side) for what in ("join", "bounce", "crash") for n in (0, 1, 2) for side in ("classic", "streams")
    ]
    assert rows == [*(("switch", n, "streams") for n in (0, 1, 2)), *sides]
    assert all(row.figures.settled_draws == row.figures.draws for found in both.values() for row in found.rows)


def test_a_scale_out_is_all_warm_and_long_on_one_side_and_cold_and_short_on_the_other(both: dict[str, Switch]) -> None:
    for standbys in (0, 1, 2):
        classic, streams = (figure(both["4.3"], "join", standbys, side) for side in ("classic", "streams"))
        assert classic.cold_handovers == Range(0, 0, 0)
        assert streams.cold_handovers.least > 0
        assert streams.rebalances.most <= 2 < classic.rebalances.least
        assert streams.runs_ms.most < classic.runs_ms.least


def test_only_brokers_of_4_4_know_who_has_what_on_its_disk(both: dict[str, Switch]) -> None:
    """In the switch nobody is a member any more: before 4.4 tasks are dealt out as if every disk were empty."""
    item = captured_scenarios.before("scale-out").state
    older, newer = (figure(both[release], "switch", 0, "streams") for release in ("4.3", "4.4"))
    assert newer.cold_handovers.most < len(item.group.stateful) // 2 < older.cold_handovers.least
    away_ms = both["4.3"].away_ms
    assert older.paused_ms.least > away_ms == 45_000
    assert older.runs_ms.least == older.at_least_ms.least + older.slowest_ms.least


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_stores_in_memory_are_empty_after_the_switch_and_a_restart_and_may_be_so_where_they_are_unknown(
    release: str,
) -> None:
    known = with_time_out(orders(restore_per_instance=1_000.0), 45_000)
    on_disks, in_memory, unknown = (
        switch(with_given(known, None, stores) if stores else replace(known, stores=None), release, number_of_draws=1)
        for stores in ("persistent", "in-memory", None)
    )
    for line in unknown.rows:
        place = line.what, line.standbys, line.side
        ends = [figure(each, *place).cold_handovers.median for each in (on_disks, in_memory)]
        assert (place, line.figures.cold_handovers) == (place, Range(ends[0], min(ends), max(ends)))
        assert line.figures.settled_draws == 1
    assert figure(in_memory, "switch", 0, "streams").cold_handovers.least == len(known.state.group.stateful)
    assert figure(on_disks, "bounce", 0, "classic").cold_handovers.most == 0
    assert figure(in_memory, "bounce", 0, "classic").cold_handovers.least == 8, "all stateful tasks of the instance"
    text = " ".join(to_table(unknown).split())
    assert "whether they are is unknown (--set stores)" in text
    assert "0 (0 to 8)" in text
    assert "because stores are in memory" in " ".join(to_table(in_memory).split())


def test_a_restart_that_is_close_to_the_session_time_out_may_come_out_on_either_side() -> None:
    found = with_time_out(orders(restore_per_instance=1_000.0), 45_000)
    close, within, beyond = (
        switch(found, "4.3", restart_ms=restart_ms, number_of_draws=1) for restart_ms in (44_000, 30_000, 60_000)
    )
    cold = [figure(each, "bounce", 0, "classic").cold_handovers for each in (within, close, beyond)]
    assert cold[0].most == 0 < cold[2].most
    assert cold[1] == Range(0, 0, cold[2].most)


def test_a_bounce_is_two_targets_at_least_and_leaves_at_once(both: dict[str, Switch]) -> None:
    classic, streams = (figure(both["4.3"], "bounce", 0, side) for side in ("classic", "streams"))
    assert streams.rebalances.least >= 2 > classic.rebalances.most
    assert streams.paused_ms.most < classic.paused_ms.most
    assert classic.draws == 1  # nothing in it is random


def test_without_a_restore_rate_only_the_least_is_known() -> None:
    found = switch(orders(), "4.4", number_of_draws=1)
    figures = figure(found, "join", 0, "streams")
    assert figures.runs_ms is None
    page = switch_page(found)
    assert "unknown-rate" in [line.code for line in page.lines]
    runs = [row.cells[5].items[0] for row in page.tables[1].rows if row.cells[2].items == ("streams",)]
    assert any(text.startswith("at least ") for text in runs)
    assert page.tone != "good"


def shown_figures(document: Any, *, is_blind: bool) -> list[Any]:
    """Return the rows that the page has, with as many standbys as now and one more.

    Brokers that know of no copy make the switch the same with any standbys.
    """
    switches = [figures for figures in document["rows"] if figures["what"] == "switch"]
    shown = ("cold_handovers", "max_paused_ms", "at_least_ms", "runs_ms", "slowest_restore_ms")
    assert all(figures[name] == switches[0][name] for figures in switches for name in shown) or not is_blind
    rows = [figures for figures in document["rows"] if figures["standbys"] <= 1]  # the group has none
    return [figures for figures in rows if figures not in switches[1:] or not is_blind]


def test_a_time_that_is_likely_is_not_called_the_least() -> None:
    found = switch(orders(), "4.3", number_of_draws=1)
    document = shown_figures(json.loads(to_json(found)), is_blind=True)
    rows = switch_page(found).tables[1].rows
    for line, figures in zip(rows, document, strict=True):
        assert figures["at_least_is"] == ("least" if figures["side"] == "streams" else "likely")
        if figures["runs_ms"] is None:
            assert line.cells[5].text.startswith("at least ") == (figures["at_least_is"] == "least")
    assert any(figures["runs_ms"] is None for figures in document if figures["side"] == "classic")


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_the_pages(both: dict[str, Switch], release: str) -> None:
    found = both[release]
    assert_golden(f"switch/scale-out-{release}.txt", to_table(found, width=80))
    assert_golden(f"switch/scale-out-{release}.md", to_markdown(found))
    assert max(map(len, to_table(found, width=80).splitlines())) <= 80
    document = json.loads(to_json(found))
    rows = shown_figures(document, is_blind=release == "4.3")
    for shown, figures in zip(switch_page(found).tables[1].rows, rows, strict=True):
        cell, cold = shown.cells[3], figures["cold_handovers"]
        assert cell.items[0].startswith(f"{cold['median']:,}")
        assert f"{cold['most']:,}" in cell.items[0]
        assert (cell.tone == "plain") == (cold["most"] == 0)
    kinds = {"warning": "warnings", "note": "notes", "assumption": "assumptions"}
    *lines, command = switch_page(found).lines
    assert [(note["code"], note["message"]) for note in document["next"]] == [(command.code, command.text)]
    for line in lines:
        assert line.text in [as_sentence(note["message"]) for note in document[kinds[line.kind]]]


def test_the_document(both: dict[str, Switch]) -> None:
    text = to_json(both["4.3"])
    document = json.loads(text)
    validator("switch").validate(document)
    assert text == to_json(
        switch(with_time_out(orders(restore_per_instance=1_000.0), 45_000), "4.3", number_of_draws=2)
    )
    assert document["offline"] is True
    assert {one["name"] for one in document["without_effect"] if one["is_set"]} >= {"acceptable.recovery.lag"}


def test_brokers_before_4_4_refuse_static_members_and_4_2_0_is_not_to_be_used() -> None:
    seats = row()
    seats["instances"][0]["consumers"][0]["group_instance_id"] = "a-1"
    item = snapshot_from_row(seats, "here")
    text = " ".join(switch(item, "4.2", number_of_draws=1).steps)
    assert "take out group.instance.id: brokers before 4.4 refuse static members" in text
    assert "4.2.1 or later, not 4.2.0" in text
    assert "take out group.instance.id" not in " ".join(switch(item, "4.4", number_of_draws=1).steps)


def test_more_standbys_than_brokers_take_are_told_and_so_few_instances_take_fewer() -> None:
    item = orders()
    found = switch(replace(item, config=replace(item.config, num_standby_replicas=3)), "4.3", number_of_draws=1)
    assert "brokers allow at most 2 for a group" in " ".join(to_table(found).split())
    assert "streams.num.standby.replicas=2" in " ".join(found.steps)


def test_what_is_no_classic_group_cannot_switch() -> None:
    seats = {"a": [{"consumer_id": "m-a", "position": 0, "active": ["0_0"]}]}
    with pytest.raises(UsageError, match="it is a streams group"):
        switch(streams_snapshot(streams_row("4.3", seats, {"0": (1, True, 10)})), "4.3")


def test_tasks_that_a_broker_could_not_deal_out_are_refused() -> None:
    seats = row()
    seats["tasks"].append({"task_id": "0_2", "stateful": True, "end_offset_sum": 10})
    with pytest.raises(UsageError, match="the broker assigns all of them"):
        switch(snapshot_from_row(seats, "here"), "4.3")


def test_of_a_single_instance_only_a_join_is_played() -> None:
    seats = row()
    seats["instances"], seats["lags"] = seats["instances"][:1], []
    found = switch(snapshot_from_row(seats, "here"), "4.3", number_of_draws=1)
    assert {(one.what, one.standbys) for one in found.rows} == {("switch", 0), ("join", 0)}
    assert "one-instance" in [line.code for line in switch_page(found).lines]
