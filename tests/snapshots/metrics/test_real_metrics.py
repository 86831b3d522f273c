"""Lags from what real instances published, beside what the group's leader was told (``tests/real/metrics``)."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.model.times import format_time
from kstream_plan.simulation.drain import Drain, DrainedTask, drain
from kstream_plan.snapshots.broker.topology_text import read_topology
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.metrics.lags import CopyScrape, LogEnds, measured_lags, of_group
from kstream_plan.snapshots.metrics.measurements import read_measurements
from kstream_plan.snapshots.metrics.names import StoreLabel
from kstream_plan.snapshots.metrics.offsets import Offsets, OffsetSet, read_offsets
from kstream_plan.snapshots.metrics.overlay import with_measured_lags
from kstream_plan.snapshots.metrics.scrapes import Scrape, read_scrapes
from kstream_plan.snapshots.metrics.seats import Seats, seats_of
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

pytestmark = pytest.mark.xdist_group("metrics of a real group")

REAL = Path(__file__).parents[2] / "real" / "metrics"
CAPTURES = REAL / "captures"
#: How far apart the broker's end offsets were looked up.
ENDS_APART_MS = 2_100
UNREAD = "committed-offsets-unknown"


def lines(name: str) -> list[str]:
    with gzip.open(REAL / name, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


SCRAPES = [json.loads(line) for line in lines("scrapes.jsonl.gz")]
VALIDATION = [row for row in csv.DictReader(lines("validation.csv.gz")) if row["lag_end_minus_lead"]]
ENDS = read_offsets([str(REAL / "changelog_ends.jsonl.gz")])


def scrape_of(row: dict[str, str]) -> Scrape:
    """The scrape that a row of the validation is about."""
    ended = parse_time(row["assign"]) / 1000 - float(row["join_to_assign_s"]) - float(row["scrape_before_s"])
    found = min((s for s in SCRAPES if s["inst"] == row["inst"]), key=lambda s: abs(s["t1"] - ended))
    content = "\n".join([f"# {format_time(round(found['t1'] * 1000))}", *found["lines"], ""])
    return read_scrapes(["-"], io.BytesIO(content.encode()))[0][0]


def seats_in(scrape: Scrape) -> Seats:
    stateful = [{"task_id": f"{sub}_{number}", "stateful": True} for sub in (0, 1) for number in range(8)]
    (client,) = scrape.clients
    process_id = scrape.identities[client].process_id
    instance = {"process_id": process_id, "consumers": [{"consumer_id": f"{client}-StreamThread-1-consumer-x"}]}
    row: dict[str, Any] = {"application_id": "m.app", "tasks": stateful, "instances": [instance]}
    changelogs = {f"m_app-{store}-changelog" for store in "ABC"}
    stores = {StoreLabel(f"{sub}_0", store, False) for sub, store in ((0, "A"), (1, "B"), (1, "C"))}
    return seats_of(row, None, stores, changelogs)


@cache
def published(number: int) -> tuple[Seats, list[CopyScrape]]:
    """What the scrape holds that a row of the validation, by its number, is about."""
    scrape = scrape_of(VALIDATION[number])
    seats = seats_in(scrape)
    return seats, of_group([scrape], seats)[0]


def lag(row: dict[str, str], ends: Offsets) -> tuple[int, bool]:
    seats, copies = published(VALIDATION.index(row))
    found = measured_lags(copies, seats, LogEnds(ends, Offsets()))[copies[0].process_id, row["task"]]
    return found.records, found.at_least


def moved(ms: int) -> Offsets:
    """The end offsets as if they had been looked up so much earlier."""
    return Offsets(tuple(OffsetSet((found.at_ms or 0) - ms, found.offsets) for found in ENDS.sets))


def test_every_lag_is_that_of_the_broker_within_what_was_written_between_two_looks() -> None:
    assert len(VALIDATION) == 194
    near, outside = 0, []
    for row in VALIDATION:
        true = float(row["lag_end_minus_lead"])
        allowed = max(50, 0.05 * true)
        records, at_least = lag(row, ENDS)
        assert not at_least
        near += abs(records - true) <= allowed
        low, high = (lag(row, moved(ms))[0] for ms in (-ENDS_APART_MS, ENDS_APART_MS))
        if not low - allowed <= true <= high + allowed:
            outside.append((row["assign"], row["inst"], row["task"], true, records))
    assert outside == []
    assert near >= 175  # end offsets were looked up every two seconds; the others were written to in between


@pytest.mark.parametrize("acceptable", [1_000, 10_000])
def test_nothing_is_called_caught_up_that_the_leader_called_behind(acceptable: int) -> None:
    for row in VALIDATION:
        if int(row["leader_lag"]) > acceptable:
            assert lag(row, ENDS)[0] > acceptable, row


def test_without_end_offsets_the_least_is_never_more_than_the_truth() -> None:
    for row in VALIDATION:
        records, at_least = lag(row, Offsets())
        assert at_least
        assert records == float(row["metric_lag_before"])


def rows_of_the_log() -> list[dict[str, Any]]:
    history = read_leader_logs([str(REAL / "leader.log.gz")], application_id="m.app", config={}, names=None)
    return [dict(row) for row in checked_rows(history.entries)]


def captured(name: str) -> list[str]:
    return sorted(str(path) for path in CAPTURES.glob(f"{name}.prom.gz"))


def test_a_scrape_of_every_instance_covers_every_copy() -> None:
    row = next(row for row in rows_of_the_log() if row["captured_at"] == "2026-11-22T13:58:00.713Z")
    measured = read_measurements(metrics=captured("04-warmup.i*"), end_offsets=[str(REAL / "changelog_ends.jsonl.gz")])
    found = with_measured_lags(row, measured)
    coverage = snapshot_from_row(found.row, "").coverage
    assert coverage is not None
    assert coverage.told(0).startswith("18 of 18 ")
    of_warmup = {lag["process_id"][:4]: lag["lag"] for lag in found.row["lags"] if lag["task_id"] in ("0_6", "0_3")}
    assert of_warmup["f9ef"] == 16_365  # the new instance's warm-up, 20 s after it was placed


@pytest.mark.parametrize(
    ("name", "positions", "failed"),
    [
        ("01-steady.i1", 7, False),
        ("01-steady.rules-kafka_streams_yml.i1", 7, True),
        ("01-steady.rules-kafka_streams_yml.i2", 9, True),
        ("01-steady.rules-streams_yml.i1", 0, True),
        ("01-steady.rules-streams_yml.i2", 0, True),
        ("01-steady.micrometer.i3", 0, False),
        ("09-active-restore2.i1", 8, False),
    ],
)
def test_every_export_is_read_and_what_it_lacks_is_told(name: str, positions: int, failed: bool) -> None:
    (file,) = captured(name)
    measured = read_measurements(metrics=[file])
    (scrape,) = measured.scrapes
    assert (len(scrape.positions), scrape.failed) == (positions, failed)
    answers = [note.code for note in measured.notes]
    assert ("scrape-failed" in answers, "positions-missing" in answers) == (failed, positions == 0)


def test_micrometer_calls_the_same_things_otherwise() -> None:
    (file,) = captured("04-warmup.i3")
    with gzip.open(file, "rt", encoding="utf-8") as content:
        jmx = content.read()
    renamed = jmx.replace("consumer_consumer_fetch_manager_metrics_", "consumer_fetch_manager_")
    (by_jmx,), (by_micrometer,) = (read_scrapes(["-"], io.BytesIO(text.encode()))[0] for text in (jmx, renamed))
    assert by_jmx.positions == by_micrometer.positions
    assert len(by_jmx.positions) == 8


def drained_at(
    decided_at: str, now: str | None, captures: str, gone: str, *, leave: bool = False, **config: int
) -> tuple[Drain, Drain]:
    """What a drain says by the leader's log alone, and with what was measured then."""
    row = {**next(row for row in rows_of_the_log() if row["captured_at"] == decided_at), "config": config}
    row.pop("known_until", None)
    measured = read_measurements(metrics=captured(captures), end_offsets=[str(REAL / "changelog_ends.jsonl.gz")])
    found = [
        drain(snapshot_from_row(item, ""), [gone], leave=leave, now_ms=None if now is None else parse_time(now))
        for item in (row, with_measured_lags(row, measured).row)
    ]
    return found[0], found[1]


def cold(tasks: Iterable[DrainedTask]) -> set[str]:
    return {str(task.task_id) for task in tasks if not task.caught_up}


def test_a_drain_names_the_tasks_that_the_leader_then_found_cold() -> None:
    """The other instance's copies were restored at 12,000 to 60,000 bytes a second."""
    alone, measured = drained_at("2026-11-22T14:00:25.784Z", "2026-11-22T14:00:43.626Z", "09-active-restore2.i?", "i1")
    of_others = {
        row["task"]: int(row["leader_lag"])
        for row in csv.DictReader(lines("validation.csv.gz"))
        if row["assign"] == "2026-11-22T14:01:01.844Z" and row["inst"] == "i4"
    }
    ran = {str(task.task_id) for task in measured.now} & of_others.keys()
    assert cold(measured.now) & ran == {task for task in ran if of_others[task] > 10_000}
    assert len(cold(measured.now)) == 12
    assert cold(alone.at_best) == set(), "without metrics nobody can tell which"
    assert cold(measured.now) <= cold(alone.now)


def test_a_drain_tells_a_standby_that_is_just_behind_the_limit() -> None:
    for limit, behind in ((800, {"1_0"}), (900, set())):
        moments = "2026-11-22T13:58:00.713Z", "2026-11-22T13:58:13.625Z"
        _, measured = drained_at(*moments, "04-warmup.i*", "i3", acceptable_recovery_lag=limit)
        assert cold(measured.now) == behind
        assert len(measured.now) == 6


#: When the other instance's copies had been assigned for 18 s, and restored slowly.
RESTORING = ("2026-11-22T14:00:25.784Z", "2026-11-22T14:00:43.626Z", "09-active-restore2.i?", "i1")


def test_no_clock_makes_caught_up_what_was_not_measured() -> None:
    """By when the group notices, a probing interval has passed since the copies were assigned."""
    alone, measured = drained_at(*RESTORING, probing_rebalance_interval_ms=60_000)
    assert len(cold(measured.now)) == 12
    assert len(cold(alone.now)) == 12, "nor by the metadata"


def told(drained: Drain) -> str:
    return next(note.message for note in drained.plan.assumptions if note.code == "copies-maybe-ready")


def test_the_rate_that_decides_is_what_is_missing_since_the_measurement() -> None:
    _, measured = drained_at(*RESTORING)
    missing = sum(task.restore_records or 0 for task in measured.now if not task.caught_up)
    assert " have caught up by 14:01:28 UTC is unknown (" in told(measured), "45s from the last scrape"
    rate = int(told(measured).partition("at least ")[2].partition(" ")[0].replace(",", ""))
    assert rate == pytest.approx(missing / 45, rel=0.15)  # by the session time-out; 0_2's copy restores too


def test_what_was_measured_just_before_is_as_it_was() -> None:
    """Who leaves is missed at once: only of copies that nobody measured may any have caught up."""
    _, measured = drained_at(*RESTORING, leave=True)
    assert cold(measured.at_best) == {"0_0", "0_7", "1_3"}
    assert len(cold(measured.now)) == 12
    assert " have caught up by 14:00:43 UTC is unknown (" in told(measured)
    assert "records behind at 14:00:25 UTC): they count as not caught up; they have if their" in told(measured)


def test_a_plan_begins_at_the_last_scrape() -> None:
    at = drained_at(RESTORING[0], None, *RESTORING[2:])
    assert " have caught up by 14:01:28 UTC is unknown (" in told(at[1]), "45s from the last scrape"


TOPOLOGY = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [a])
      --> P0
    Processor: P0 (stores: [A])
      --> none
      <-- KSTREAM-SOURCE-0000000000
   Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000003 (topics: [players])
      --> KTABLE-SOURCE-0000000004
    Processor: KTABLE-SOURCE-0000000004 (stores: [B])
      --> none
      <-- KSTREAM-SOURCE-0000000003
"""


def _with_source_topic(source: Path, target: Path) -> Path:
    """Write a file in which store B is restored from the topic ``players``, as topology.optimization=all does."""
    text = gzip.decompress(source.read_bytes()).decode()
    kept = [line for line in text.splitlines(keepends=True) if "m_app-B-changelog" not in line]
    target.write_bytes(gzip.compress("".join(kept).replace("m.app-B-changelog", "players").encode()))
    return target


def test_a_table_that_is_restored_from_its_source_is_measured(tmp_path: Path) -> None:
    row = next(row for row in rows_of_the_log() if row["captured_at"] == "2026-11-22T13:58:00.713Z")
    ends = REAL / "changelog_ends.jsonl.gz"
    own = read_measurements(metrics=captured("04-warmup.i*"), end_offsets=[str(ends)])
    scrapes = [str(_with_source_topic(Path(path), tmp_path / Path(path).name)) for path in captured("04-warmup.i*")]
    measured = read_measurements(
        metrics=scrapes,
        end_offsets=[str(_with_source_topic(ends, tmp_path / ends.name))],
        topology_of=lambda _of: read_topology(TOPOLOGY, "topology.txt"),
    )
    found, known = with_measured_lags(row, measured), with_measured_lags(row, own)
    assert found.row["lags"] == known.row["lags"]
    assert [task["end_offset_sum"] for task in found.row["tasks"]] == [
        task["end_offset_sum"] for task in known.row["tasks"]
    ]
    assert {note.code for note in found.warnings} - {note.code for note in known.warnings} == {UNREAD}
    committed = {("players", number): 10 for number in range(8)}
    limited = with_measured_lags(row, replace(measured, committed=committed))
    assert UNREAD not in [note.code for note in limited.warnings]
    by_copy = {(lag["process_id"], lag["task_id"]): lag for lag in limited.row["lags"]}
    for lag in known.row["lags"]:
        other = by_copy[lag["process_id"], lag["task_id"]]
        assert other["lag"] <= lag["lag"] if lag["task_id"].startswith("1") else other == lag


def _with_both(ends: Path, target: Path) -> Path:
    """Write end offsets of a cluster that still has the changelog of B, which ended long ago, beside ``players``."""
    text = gzip.decompress(ends.read_bytes()).decode()
    sets = [json.loads(line) for line in text.splitlines()]
    for found in sets:
        found["end"] |= {f"players-{number}": found["end"].get(f"m.app-B-changelog-{number}", 0) for number in range(8)}
        found["end"] |= {f"m.app-B-changelog-{number}": 7 for number in range(8)}
    target.write_text("".join(json.dumps(found) + "\n" for found in sets), encoding="utf-8")
    return target


@pytest.mark.parametrize("scraped", [False, True])
def test_a_changelog_that_is_left_over_beside_the_source_is_not_measured(tmp_path: Path, scraped: bool) -> None:
    row = next(row for row in rows_of_the_log() if row["captured_at"] == "2026-11-22T13:58:00.713Z")
    ends = REAL / "changelog_ends.jsonl.gz"
    scrapes = [str(_with_source_topic(Path(path), tmp_path / Path(path).name)) for path in captured("04-warmup.i*")]
    measured = read_measurements(
        metrics=scrapes if scraped else [],
        end_offsets=[str(_with_both(ends, tmp_path / "ends.jsonl"))],
        topology_of=lambda _of: read_topology(TOPOLOGY, "topology.txt"),
    )
    own = read_measurements(metrics=captured("04-warmup.i*") if scraped else [], end_offsets=[str(ends)])
    known = with_measured_lags(row, replace(own, topology_of=measured.topology_of))
    reuses = {**row, "config": {**row["config"], "topology_optimization": "all"}}
    found = with_measured_lags(reuses, measured)
    assert [task.get("end_offset_sum") for task in found.row["tasks"]] == [
        task.get("end_offset_sum") for task in known.row["tasks"]
    ]
    if scraped:  # what is restored tells as well
        assert found.row["lags"] == known.row["lags"] == with_measured_lags(row, measured).row["lags"]
    said = {note.code for note in with_measured_lags(row, measured).warnings}
    assert ("changelog-assumed" in said) is not scraped
    assert "changelog-assumed" not in {note.code for note in found.warnings}
