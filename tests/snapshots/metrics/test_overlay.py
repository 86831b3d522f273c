"""Measured lags over a group's metadata."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.snapshots.broker.topology_text import read_topology
from kstream_plan.snapshots.metrics.measurements import Measurements, with_asked_offsets
from kstream_plan.snapshots.metrics.offsets import read_offsets
from kstream_plan.snapshots.metrics.overlay import Overlaid, _join_lag, with_measured_lags
from kstream_plan.snapshots.metrics.scrapes import Scrape, read_scrapes
from kstream_plan.snapshots.metrics.store_lags import read_store_lags
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.metric_texts import GROUP, SCRAPED, lags, leads, position, text
from tests.helpers.snapshot_rows import P0, P1

BOTH = {("A", 0): 900, ("B", 0): 990, ("A", 1): 1_000, ("B", 1): 1_000}
ENDS = {f"my.app-{store}-changelog-{number}": 1_000 for store in "AB" for number in (0, 1)}


def scrapes(*contents: str) -> list[Scrape]:
    return [scrape for content in contents for scrape in read_scrapes(["-"], io.BytesIO(content.encode()))[0]]


def offsets(ends: Any, at: str = SCRAPED):
    return read_offsets(["-"], io.BytesIO(json.dumps({"t": at, "end": ends}).encode()))


def overlaid(*contents: str, row: dict[str, Any] = GROUP, **measured: Any) -> Overlaid:
    return with_measured_lags(row, Measurements(scrapes=tuple(scrapes(*contents)), **measured))


def lag_of(found: Overlaid, task_id: str = "0_0", process_id: str = P0) -> dict[str, Any]:
    (lag,) = [lag for lag in found.row["lags"] if (lag["process_id"], lag["task_id"]) == (process_id, task_id)]
    return lag


def codes(found: Overlaid) -> list[str]:
    return [note.code for note in found.warnings]


def coverage(found: Overlaid) -> str:
    snapshot = snapshot_from_row(found.row, "")
    assert snapshot.coverage is not None
    return snapshot.coverage.told(snapshot.known_until_ms)


def test_a_lag_is_the_sum_over_stores_of_end_minus_position() -> None:
    found = overlaid(text(leads(BOTH)), ends=offsets(ENDS))
    assert lag_of(found) == {
        "process_id": P0,
        "task_id": "0_0",
        "store": None,
        "lag": 110,
        "source": "metrics",
        "reported_at": SCRAPED,
        "consumer_ids": [GROUP["instances"][0]["consumers"][0]["consumer_id"]],
    }
    assert coverage(found) == "2 of 2 copies measured 0s ago, 0 as of the last join"


def test_a_position_counts_from_the_start_of_its_partition() -> None:
    starts = offsets({"my.app-A-changelog-0": 60, "my.app-B-changelog-0": 10})
    assert lag_of(overlaid(text(leads(BOTH)), ends=offsets(ENDS), starts=starts))["lag"] == 40


def test_no_store_makes_up_for_another() -> None:
    ahead = {("A", 0): 1_050, ("B", 0): 990}
    assert lag_of(overlaid(text(leads(ahead)), ends=offsets(ENDS)))["lag"] == 10


@pytest.mark.parametrize("has_decision", [False, True])
@pytest.mark.parametrize(("reported", "measured"), [(5_000, 0), (0, 1_800)])
def test_what_was_reported_after_the_scrape_counts(reported: int, measured: int, has_decision: bool) -> None:
    """The instance lost its disk, or restored, and joined again: its report is the newer one."""
    lag = {"process_id": P0, "task_id": "0_0", "lag": reported}
    row = {**GROUP, "lags": [lag if has_decision else {**lag, "reported_at": GROUP["captured_at"]}]}
    if has_decision:
        row["decision"] = {"at": GROUP["captured_at"], "generation": 1}
    before = text(leads({("A", 0): 1_000 - measured // 2, ("B", 0): 1_000 - measured // 2}), "2026-11-21T11:59:30Z")
    found = overlaid(before, ends=offsets(ENDS, "2026-11-21T11:59:30Z"), row=row)
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (reported, "join")
    assert "measured-before-reported" in codes(found)


@pytest.mark.parametrize(("started", "counts"), [("2026-11-21T11:59:00Z", True), ("2026-11-21T11:59:45Z", False)])
def test_what_was_scraped_before_the_process_started_is_of_an_earlier_one(started: str, counts: bool) -> None:
    """It has the client id of the process before it, and no copy of it has been reported."""
    instances = [{**instance, "started_at": started} for instance in GROUP["instances"]]
    at = "2026-11-21T11:59:30Z"
    before = text(leads(dict.fromkeys(BOTH, 1_000)), at)
    found = overlaid(before, ends=offsets(ENDS, at), row={**GROUP, "instances": instances, "lags": []})
    assert bool(found.row["lags"]) is counts
    assert ("measured-before-reported" in codes(found)) is not counts


def test_a_copy_with_a_store_missing_keeps_what_the_last_join_told() -> None:
    found = overlaid(text(leads({("A", 0): 900, ("A", 1): 1_000, ("B", 1): 1_000})), ends=offsets(ENDS))
    assert lag_of(found) == {**GROUP["lags"][0], "source": "join"}
    assert coverage(found) == "1 of 2 copies measured 0s ago, 1 as of the last join"


def test_without_end_offsets_only_the_least_is_known() -> None:
    row = {**GROUP, "tasks": [{**task, "changelog_partitions": []} for task in GROUP["tasks"]]}
    labels = 'thread_id="x",rocksdb_state_id="{}",task_id="0_0"'
    stores = [f"kafka_streams_stream_state_metrics_put_rate{{{labels.format(store)}}} 0.0" for store in "AB"]
    above = overlaid(text([*lags({("A", 0): 30, ("B", 0): 40}), *stores]), row=row)
    assert (lag_of(above)["lag"], lag_of(above)["source"]) == (70, "metrics, at least")
    assert coverage(above) == "0 of 2 copies measured, 1 with only a lower bound 0s ago, 1 as of the last join"
    below = overlaid(text([*lags({("A", 0): 0, ("B", 0): 0}), *stores]), row=row)
    assert lag_of(below) == {**GROUP["lags"][0], "source": "join"}, "the least proves nothing but that one is behind"
    assert "lags-at-least" in codes(below)
    snapshot = snapshot_from_row(above.row, "")
    assert {str(snapshot.state.group.tasks[task].task_id) for task, _ in snapshot.least_lags} == {"0_0"}


@pytest.mark.parametrize("lines", [[], leads(dict.fromkeys(BOTH, float("nan")))])
def test_that_nothing_was_measured_is_told(lines: list[str]) -> None:
    found = overlaid(text(["kafka_consumer_records_lead_max 1", *lines]), ends=offsets(ENDS))
    assert next(note.message for note in found.warnings if note.code == "nothing-measured") == (
        "0 of 2 copies measured: only the lags of the last join are known"
    )
    assert "nothing-measured" not in codes(overlaid(text(leads(BOTH)), ends=offsets(ENDS)))


def test_the_least_is_nothing_to_go_by_for_a_copy_that_has_reported_nothing() -> None:
    row = {**GROUP, "lags": [], "tasks": [{**task, "changelog_partitions": None} for task in GROUP["tasks"]]}
    topology = read_topology(
        "Topologies:\n   Sub-topology: 0\n    Source: s (topics: [in])\n      --> p\n"
        "    Processor: p (stores: [A, B])\n      --> none\n      <-- s\n",
        "topology.txt",
    )
    found = overlaid(text(lags({("A", 0): 0, ("B", 0): 0})), row=row, topology_of=lambda _: topology)
    assert found.row["lags"] == []


def test_end_offsets_from_before_the_scrape_tell_the_least_only() -> None:
    old = offsets(ENDS, "2026-11-21T11:59:40Z")
    found = overlaid(text(leads({**BOTH, ("A", 0): 0})), ends=old)
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (1_010, "metrics, at least")
    apart = next(note.message for note in found.warnings if note.code == "offsets-apart")
    assert (
        apart == "the end offsets were read 20s before the scrape: what was written in between is missing in the lags"
    )


def test_the_error_of_later_end_offsets_is_told_with_the_rate() -> None:
    lines = [{"t": 10, "end": dict.fromkeys(ENDS, 0)}, {"t": 40, "end": dict.fromkeys(ENDS, 300)}]
    ends = read_offsets(["-"], io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
    found = overlaid(
        text(leads(dict.fromkeys(BOTH, 0)), "1970-01-01T00:00:06Z"),
        ends=ends,
        row={**GROUP, "captured_at": None, "lags": []},
    )
    apart = next(note.message for note in found.warnings if note.code == "offsets-apart")
    assert apart == (
        "the end offsets were read 4s after the scrape: what was written in between counts as lag, "
        "up to 80 records of a task"
    )


def ends_at(**ends: int) -> Any:
    """End offsets of every partition at times of a day, ``t120000=1_000`` at noon."""
    return read_offsets(
        ["-"],
        io.BytesIO(
            "\n".join(
                json.dumps({"t": f"2026-11-21T{at[1:3]}:{at[3:5]}:{at[5:]}Z", "end": dict.fromkeys(ENDS, end)})
                for at, end in ends.items()
            ).encode()
        ),
    )


def test_the_error_of_a_scrape_between_two_looks_at_the_end_offsets_is_told() -> None:
    found = overlaid(text(leads(BOTH)), ends=ends_at(t115959=980, t120001=1_020))
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (110, "metrics")
    answer = next(note.message for note in found.warnings if note.code == "offsets-between")
    assert answer == (
        "scrapes were taken between two readings of the end offsets, up to 2s apart: lags are the true ones give or "
        "take what was written in between, up to 80 records of a task"
    )
    assert "offsets-apart" not in codes(found)


def test_between_two_looks_that_are_far_apart_the_later_one_counts() -> None:
    """What was written before the scrape and what after it, nobody knows."""
    found = overlaid(text(leads(BOTH)), ends=ends_at(t115000=0, t120300=3_000))
    assert lag_of(found)["lag"] == 4_110
    assert "offsets-apart" in codes(found)


def test_a_rate_that_the_snapshot_has_tells_the_error_of_later_end_offsets() -> None:
    rates = {"produce": [{"task_id": "0_0", "records_per_second": 5.0}]}
    found = overlaid(text(leads(BOTH)), ends=offsets(ENDS, "2026-11-21T12:00:04Z"), row={**GROUP, "rates": rates})
    apart = next(note.message for note in found.warnings if note.code == "offsets-apart")
    assert apart.endswith("counts as lag, up to 20 records of a task")


def untold(*lines: str, at: str = SCRAPED) -> list[Scrape]:
    """A file that does not say when it was scraped, and was written at a time."""
    return [replace(scrape, at_ms=parse_time(at), has_own_time=False) for scrape in scrapes(text(lines, "no time"))]


def test_a_file_that_was_written_after_the_end_offsets_tells_the_least_only() -> None:
    """A scrape without a time is of when the file was written, or before: what it rests on may be either's."""
    old = offsets(ENDS, "2026-11-21T11:55:00Z")
    found = with_measured_lags(GROUP, Measurements(tuple(untold(*leads(BOTH))), ends=old))
    assert lag_of(found)["source"] == "metrics, at least"
    assert "lags-untimed" in codes(found)


def test_a_file_without_a_time_never_beats_a_scrape_that_has_one() -> None:
    """Its file may have been copied long after it was scraped, and then look newer than it is."""
    copied = untold(*leads(dict.fromkeys(BOTH, 1_000)), at="2026-11-21T12:00:05Z")
    timed = scrapes(text(leads(BOTH)))
    for both in ([*copied, *timed], [*timed, *copied]):
        found = with_measured_lags(GROUP, Measurements(tuple(both), ends=offsets(ENDS)))
        assert (lag_of(found)["lag"], lag_of(found)["reported_at"]) == (110, SCRAPED)
        assert "scrape-untimed-left-out" in codes(found)
        assert "restore" not in found.row.get("rates", {}), "nothing tells how far apart the two are"


def test_a_scrape_without_a_time_is_not_taken_for_one_of_the_end_offsets_time() -> None:
    files = untold(*leads(BOTH), *lags(dict.fromkeys(BOTH, 0)))
    for at in ("2026-11-21T11:49:00Z", "2026-11-21T12:11:00Z"):
        found = with_measured_lags(GROUP, Measurements(tuple(files), ends=offsets(ENDS, at)))
        assert (lag_of(found)["lag"], lag_of(found)["source"]) == (110, "metrics, at least")
        assert "reported_at" not in lag_of(found)
        assert "lags-untimed" in codes(found)
        assert "0 s ago" not in coverage(found)


@pytest.mark.parametrize("ends", [0, 100, 999])
def test_end_offsets_below_what_the_scrape_itself_says_never_count_as_caught_up(ends: int) -> None:
    content = text([*leads(BOTH), *lags(dict.fromkeys(BOTH, 200))])
    found = overlaid(content, ends=offsets(dict.fromkeys(ENDS, ends)))
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (400, "metrics, at least")
    assert "lags-ends-below" in codes(found)


def test_what_is_written_while_both_are_looked_up_is_no_contradiction() -> None:
    content = text([*leads(BOTH), *lags({**dict.fromkeys(BOTH, 0), ("A", 0): 150})])
    found = overlaid(content, ends=offsets(ENDS))
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (160, "metrics"), "what the scrape says is a floor"


@pytest.mark.parametrize("position", [16_000, 10**18])
@pytest.mark.parametrize("ends", [0, 1_600])
def test_a_position_that_the_end_cannot_have_reached_is_an_error(position: int, ends: int) -> None:
    with pytest.raises(SnapshotError, match=r"in my_app-A-changelog-0, .* the end offsets are of another time or clu"):
        overlaid(text(leads({**BOTH, ("A", 0): position})), ends=offsets(dict.fromkeys(ENDS, ends)))


def test_a_start_above_its_end_is_an_error() -> None:
    with pytest.raises(SnapshotError, match="of my_app-A-changelog-0 the start offset is 1,001, above its end offset"):
        overlaid(text(leads(BOTH)), ends=offsets(ENDS), starts=offsets({"my.app-A-changelog-0": 1_001}))


def test_start_offsets_of_after_the_scrape_tell_the_least_only() -> None:
    later = offsets({**dict.fromkeys(ENDS, 0), "my.app-A-changelog-0": 100}, "2026-11-21T12:01:00Z")
    found = overlaid(text(leads(BOTH)), ends=offsets(ENDS), starts=later)
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (50, "join"), "10 is the least, which proves nothing"
    assert "lags-starts-late" in codes(found)
    assert lag_of(found, "0_1")["source"] == "metrics", "what starts at 0 has lost nothing"


def test_the_end_offsets_of_the_snapshot_itself_count() -> None:
    found = overlaid(text(leads(BOTH)))
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (110, "metrics")


class _Cluster:
    """A cluster that has two of the changelogs."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def topics(self, names: Sequence[str]) -> dict[str, tuple[tuple[str | None, ...], ...]]:
        self.asked += names
        return {f"my.app-{store}-changelog": ((None,), (None,)) for store in "AB"}

    def end_offsets(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(partitions, 2_000)

    def start_offsets(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(partitions, 500)


def test_a_cluster_is_asked_for_the_offsets_of_what_was_measured() -> None:
    cluster: Any = _Cluster()
    other = position("records_lead", 5, client="other-1").replace("my.app-A", "other-A")
    measured = Measurements(scrapes=tuple(scrapes(text([*leads(BOTH), other]))))
    asked = with_asked_offsets(measured, cluster, "my.app", parse_time(SCRAPED) + 4_000)
    assert cluster.asked == ["my.app-A-changelog", "my.app-B-changelog"]
    found = with_measured_lags(GROUP, asked)
    assert lag_of(found)["lag"] == 600 + 510
    assert "offsets-apart" in codes(found)
    assert "start-offsets-unknown" not in codes(found)
    given_by_hand = replace(measured, ends=offsets(ENDS))
    assert with_asked_offsets(given_by_hand, cluster, "my.app", 0) is given_by_hand


def test_a_cluster_is_asked_for_what_was_committed_of_a_source_that_is_restored() -> None:
    class Cluster(_Cluster):
        def committed_offsets(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
            assert group_id == "my.app"
            return {partitions[0]: 7}

    cluster: Any = Cluster()
    measured = Measurements(scrapes=tuple(scrapes(text(leads(BOTH)))))
    asked = with_asked_offsets(measured, cluster, "my.app", 0, {"my.app-A-changelog"})
    assert set(asked.committed.values()) == {7, 0}
    assert {topic for topic, _ in asked.committed} == {"my_app-A-changelog"}


def test_running_actives_are_caught_up_whatever_lingers_of_them() -> None:
    lingering = [*leads(dict.fromkeys(BOTH, 5), client="two"), *lags(dict.fromkeys(BOTH, 0), client="two")]
    found = overlaid(text(lingering), ends=offsets(ENDS))
    assert found.row["lags"] == [{**lag, "source": "join"} for lag in GROUP["lags"]]
    assert "measured-not-assigned" not in codes(found)


def test_an_active_that_restores_has_the_lag_that_was_measured() -> None:
    remaining = 'kafka_stream_task_restore_remaining_records_total{task_id="0_0",thread_id="two-StreamThread-1"} 7'
    found = overlaid(text([*leads(dict.fromkeys(BOTH, 5), client="two"), remaining]), ends=offsets(ENDS))
    assert lag_of(found, process_id=P1)["lag"] == 1_990
    (copy_of_owner,) = [c for c in snapshot_from_row(found.row, "").state.copies[0] if c.active]
    assert copy_of_owner.lag == 1_990


def test_left_over_state_is_known_to_the_metadata_only() -> None:
    row = copy.deepcopy(GROUP)
    row["instances"][0]["consumers"][0]["standby"] = ["0_1"]
    found = overlaid(text(leads(BOTH)), row=row, ends=offsets(ENDS))
    assert lag_of(found) == {**GROUP["lags"][0], "source": "join"}
    assert "measured-not-assigned" in codes(found)


def test_what_a_known_decision_has_placed_counts_as_assigned() -> None:
    row = copy.deepcopy(GROUP)
    row["instances"][0]["consumers"][0]["standby"] = ["0_1"]
    consumer = row["instances"][0]["consumers"][0]["consumer_id"]
    held = {"active": [], "standby": ["0_0", "0_1"], "temporary": [], "withheld": []}
    by_id = {P0: {"active": [], "standby": ["0_0"], "consumers": {consumer: held}}}
    as_parquet = [{"process_id": P0, "consumers": [{"consumer_id": consumer, **held}]}]
    for decided in (by_id, as_parquet):
        found = overlaid(text(leads(BOTH)), row={**row, "decision": {"decided": decided}}, ends=offsets(ENDS))
        assert lag_of(found)["source"] == "metrics"
        assert coverage(found) == "2 of 2 copies measured 0s ago, 0 as of the last join"


def test_tasks_get_the_end_offsets_of_now() -> None:
    found = overlaid(text(leads(BOTH)), ends=offsets(dict.fromkeys(ENDS, 1_500)))
    assert [task["end_offset_sum"] for task in found.row["tasks"]] == [3_000, 3_000]
    assert found.row["tasks"][0]["changelog_partitions"][0]["end_offset"] == 1_500


@pytest.mark.parametrize(
    "scrape",
    [
        text(leads(BOTH)),
        text([*leads(BOTH, client="own"), f'x_client_state{{client_id="own",process_id="{P0}"}} 2']),
        text([*leads(BOTH, client="own"), f'x_client_state{{client_id="own",process_id="{P0.upper()}"}} 2']),
    ],
)
def test_an_instance_is_found_by_its_client_id_or_its_process(scrape: str) -> None:
    assert lag_of(overlaid(scrape, ends=offsets(ENDS)))["source"] == "metrics"


@pytest.mark.parametrize("client", [f"my.app-{P0}", "one"])
def test_a_static_member_is_found_by_its_default_client_id_or_its_host(client: str) -> None:
    row = copy.deepcopy(GROUP)
    row["instances"][0]["consumers"][0]["consumer_id"] = f"static-1-{P1}"
    assert lag_of(overlaid(text(leads(BOTH, client=client)), row=row, ends=offsets(ENDS)))["source"] == "metrics"


def test_the_same_client_id_on_two_instances_needs_the_process() -> None:
    row = copy.deepcopy(GROUP)
    for instance in row["instances"]:
        instance["consumers"][0]["consumer_id"] = f"same-StreamThread-1-consumer-{instance['process_id']}"
    states = [f'x_client_state{{client_id="same",process_id="{process}"}} 2' for process in (P0, P1)]
    files = [text([*leads(BOTH, client="same"), state]) for state in states]
    assert lag_of(overlaid(*files, row=row, ends=offsets(ENDS)))["source"] == "metrics"
    with pytest.raises(SnapshotError, match="client id 'same' is that of 2 instances, and no process id is published"):
        overlaid(text(leads(BOTH, client="same")), row=row, ends=offsets(ENDS))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [*leads(BOTH), f'x_client_state{{client_id="my.app-{P0}",process_id="gone",application_id="my.app"}} 2'],
            "is of process 'gone', which the group 'my.app' does not have",
        ),
        (leads(BOTH, client="my.app-gone"), "is of client 'my.app-gone', which the group 'my.app' does not have"),
        (leads({("C", 0): 1}), "restores my.app-C-changelog-0, which is no changelog of the group 'my.app'"),
        (leads({("A", 7): 1}), "restores my.app-A-changelog-7, which is no changelog of the group 'my.app'"),
    ],
)
def test_what_the_group_does_not_have_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        overlaid(text(lines), ends=offsets(ENDS))
    assert message in str(caught.value)
    assert caught.value.application_id == "my.app"


def test_other_applications_in_the_same_scrape_are_passed_over() -> None:
    other = position("records_lead", 5, client="other-1").replace("my.app-A", "other-A")
    named = 'x_client_state{client_id="theirs",process_id="x",application_id="theirs"} 2'
    theirs = position("records_lead", 5, client="theirs").replace("my.app-A", "theirs-A")
    found = overlaid(text([*leads(BOTH), other, theirs, named]), ends=offsets(ENDS))
    assert lag_of(found)["source"] == "metrics"


def test_a_scrape_that_is_wholly_of_another_application_is_named() -> None:
    named = 'x_client_state{client_id="theirs",process_id="x",application_id="other.app"} 2'
    theirs = position("records_lead", 5, client="theirs").replace("my.app-A", "other.app-A")
    found = overlaid(text([theirs, named]), text(leads(BOTH)), ends=offsets(ENDS))
    (note,) = [note for note in found.warnings if note.code == "scrape-of-others"]
    assert note.message == (
        "1 scrape has nothing of 'my.app' but only of application 'other.app': standard input first"
    )
    assert "scrape-of-others" not in codes(overlaid(text([*leads(BOTH), theirs, named]), ends=offsets(ENDS)))


def test_end_offsets_of_another_application_are_named() -> None:
    found = overlaid(text(leads(BOTH)), ends=offsets({"other.app-A-changelog-0": 1_000}))
    (note,) = [note for note in found.warnings if note.code == "end-offsets-of-others"]
    assert note.message == ("standard input has end offsets of no changelog of my.app, but of other_app-A-changelog")


def test_a_scrape_of_an_instance_that_left_long_before_is_left_out() -> None:
    before = text(leads(BOTH, client="my.app-gone"), "2026-11-21T11:50:00Z")
    found = overlaid(before, text(leads(BOTH)), ends=offsets(ENDS))
    assert "scrape-of-departed" in codes(found)


def test_two_scrapes_of_one_moment_must_agree() -> None:
    with pytest.raises(SnapshotError, match="are of the same time and of process"):
        overlaid(text(leads(BOTH)), text(leads({**BOTH, ("A", 0): 1})), ends=offsets(ENDS))


def test_the_newest_scrape_counts_and_two_give_the_restore_rate() -> None:
    first = text(leads(dict.fromkeys(BOTH, 0)), "2026-11-21T11:59:50Z")
    second = text(leads({**dict.fromkeys(BOTH, 100), ("A", 1): 1_000, ("B", 1): 1_000}), SCRAPED)
    ends = [
        json.dumps({"t": at, "end": dict.fromkeys(ENDS, end)})
        for at, end in (("2026-11-21T11:59:50Z", 980), (SCRAPED, 1_000))
    ]
    found = overlaid(first, second, ends=read_offsets(["-"], io.BytesIO("\n".join(ends).encode())))
    assert lag_of(found)["lag"] == 1_800
    rates = found.row["rates"]
    assert rates["produce"] == [
        {"task_id": task, "records_per_second": 4.0, "intervals": 1, "source": "metrics"} for task in ("0_0", "0_1")
    ]
    restored = {"process_id": P0, "records_per_second": 20.0, "intervals": 1, "source": "metrics"}
    assert rates["restore"] == [restored], "0_1 caught up on the way"


def test_files_without_a_time_give_no_rate() -> None:
    """Copied one after the other they would tell any."""
    behind = dict.fromkeys(BOTH, 500)
    files = [
        untold(*leads(dict.fromkeys(BOTH, records)), *lags(behind), at=f"2026-11-21T11:59:{second}Z")[0]
        for records, second in ((100, 40), (300, 50))
    ]
    found = with_measured_lags(GROUP, Measurements(tuple(files), ends=offsets(ENDS)))
    assert "restore" not in found.row.get("rates", {})
    assert lag_of(found)["lag"] == 1_400, "of the later file"
    timed = [replace(scrape, has_own_time=True) for scrape in files]
    assert "restore" in with_measured_lags(GROUP, Measurements(tuple(timed), ends=offsets(ENDS))).row["rates"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["jmx_scrape_error 1.0"], "scrape-failed"),
        (["kafka_consumer_records_lead_max 1"], "positions-missing"),
        (
            ['kafka_streams_stream_task_metrics_update_total{task_id="0_0"} 0.0', *leads(BOTH)],
            "debug-metrics-unrecorded",
        ),
        ([position("records_lead", "NaN")], "odd-positions"),
    ],
)
def test_every_trap_is_told(lines: list[str], code: str) -> None:
    from kstream_plan.snapshots.metrics.traps import notes_about_scrapes

    assert code in [note.code for note in notes_about_scrapes(scrapes(text(lines)))]


def test_a_scrape_without_a_time_is_told() -> None:
    from kstream_plan.snapshots.metrics.traps import notes_about_scrapes

    assert [note.code for note in notes_about_scrapes(untold(*leads(BOTH)))] == ["scrape-untimed"]
    assert notes_about_scrapes(scrapes(text(leads(BOTH)))) == []


def test_old_scrapes_are_told() -> None:
    found = overlaid(text(leads(BOTH), "2026-11-21T11:40:00Z"), ends=offsets(ENDS, "2026-11-21T11:40:00Z"))
    assert "scrape-old" in codes(found)
    young = overlaid(text(leads(BOTH), "2026-11-21T11:55:00Z"), ends=offsets(ENDS, "2026-11-21T11:55:00Z"))
    assert "scrape-old" not in codes(young)
    later = overlaid(text(leads(BOTH)), ends=offsets(ENDS), now_ms=parse_time(SCRAPED) + 601_000)
    assert "scrape-old" in codes(later), "by --set now"


def test_windowed_stores_without_start_offsets_are_named() -> None:
    windowed = (
        'kafka_streams_stream_state_metrics_put_rate{rocksdb_window_state_id="A",task_id="0_0",thread_id="x"} 0.0'
    )
    found = overlaid(text([*leads(BOTH), windowed]), ends=offsets(ENDS))
    (note,) = [note for note in found.warnings if note.code == "start-offsets-unknown"]
    assert "0_0 are (windowed)" in note.message
    known = overlaid(text([*leads(BOTH), windowed]), ends=offsets(ENDS), starts=offsets(dict.fromkeys(ENDS, 0)))
    assert "start-offsets-unknown" not in codes(known)


def test_instances_without_a_scrape_are_named() -> None:
    (note,) = [n for n in overlaid(text(leads(BOTH)), ends=offsets(ENDS)).warnings if n.code == "not-scraped"]
    assert note.message.startswith("1 of 2 instances has no scrape, two first")


def store_lags(document: Any, **row: Any) -> Overlaid:
    said = read_store_lags(["-"], io.BytesIO(json.dumps(document).encode()), 1_795_262_400_000)
    return with_measured_lags({**GROUP, **row}, Measurements(store_lags=said))


@pytest.mark.parametrize("name", [P0, P0.upper(), "one", "one:8080", f"my.app-{P0}"])
def test_store_lags_of_the_application_itself_count(name: str) -> None:
    found = store_lags({name: {"A": {"0": {"offsetLag": 3}}, "B": {"0": {"offsetLag": 4}, "1": {"offsetLag": 9}}}})
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (7, "metrics")
    assert lag_of(found, "0_1")["source"] == "join", "a store is missing"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"nowhere": {}}, "names 'nowhere', which is no instance of the group 'my.app'"),
        (
            {"one": {"C": {"0": {"offsetLag": 3}}}},
            "of 'one' has store 'C', partition 0, and no task of the group 'my.app' has such a changelog",
        ),
    ],
)
def test_store_lags_of_what_the_group_does_not_have_are_named(document: Any, message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        store_lags(document)
    assert message in str(caught.value)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("later_ms", "kind"), [(30_000, "stores"), (0, "stores"), (30_000, "scrape")])
def test_of_two_measurements_the_later_one_counts_in_whatever_order(
    order: tuple[int, int], later_ms: int, kind: str
) -> None:
    """Of one time the worse one does."""
    at_ms = parse_time(SCRAPED)
    said = [
        read_store_lags(
            ["-"],
            io.BytesIO(json.dumps({"one": {store: {"0": {"offsetLag": lag}} for store in "AB"}}).encode()),
            at_ms + late_ms,
        )
        for lag, late_ms in ((0, 0), (500, later_ms))
    ]
    if kind == "stores":
        found = with_measured_lags(GROUP, Measurements(store_lags=(*said[order[0]], *said[order[1]])))
        assert lag_of(found)["lag"] == 1_000
        return
    later = text(leads(dict.fromkeys(BOTH, 500)), "2026-11-21T12:00:30.000Z")
    ends = offsets(ENDS, "2026-11-21T12:00:30.000Z")
    assert lag_of(overlaid(later, ends=ends, store_lags=said[0]))["lag"] == 1_000
    assert lag_of(overlaid(text(leads(dict.fromkeys(BOTH, 1_000))), ends=offsets(ENDS), store_lags=said[1]))["lag"] == (
        1_000
    )


def test_a_topology_tells_which_task_a_store_is_of() -> None:
    bare = {**GROUP, "tasks": [{**task, "changelog_partitions": None} for task in GROUP["tasks"]]}
    document = {"one": {store: {"0": {"offsetLag": 3}} for store in "AB"}}
    said = read_store_lags(["-"], io.BytesIO(json.dumps(document).encode()), parse_time(SCRAPED))
    with pytest.raises(SnapshotError, match=r"its task in the group 'my.app' is unknown.*give --topology"):
        with_measured_lags(bare, Measurements(store_lags=said))
    sub = "Topologies:\n   Sub-topology: 0\n    Source: s (topics: [in])\n      --> p\n"
    for stores, lag in (("A, B", 6), ("C", None)):
        topology = read_topology(f"{sub}    Processor: p (stores: [{stores}])\n      --> none\n      <-- s\n", "")
        measured = Measurements(store_lags=said, topology_of=lambda _, item=topology: item)
        if lag is None:
            with pytest.raises(SnapshotError, match="--topology"):
                with_measured_lags(bare, measured)
        else:
            assert lag_of(with_measured_lags(bare, measured))["lag"] == lag


@given(
    st.dictionaries(st.sampled_from(list(BOTH)), st.integers(0, 3_000)),
    st.dictionaries(st.sampled_from(sorted(ENDS)), st.integers(0, 3_000)),
    st.dictionaries(st.sampled_from(list(BOTH)), st.integers(0, 3_000)),
)
def test_whatever_was_measured_no_copy_looks_better_than_it_can_be(
    positions: dict[tuple[str, int], int], ends: dict[str, int], behind: dict[tuple[str, int], int]
) -> None:
    row = {**GROUP, "captured_at": None, "tasks": [{**t, "end_offset_sum": 9_000} for t in GROUP["tasks"]]}
    content = text(["foo 1", *leads(positions), *lags(behind)])
    found = overlaid(content, row=row, ends=offsets(ends)) if ends else overlaid(content, row=row)
    for task in ("0", "1"):
        lag = lag_of(found, f"0_{task}")
        keys = [("A", int(task)), ("B", int(task))]
        known = [ends.get(f"my.app-{store}-changelog-{task}") if ends else 1_000 for store in "AB"]
        if lag["source"] == "metrics":
            at = zip(known, keys, strict=True)
            assert lag["lag"] == sum(max(end - positions[key], behind.get(key, 0), 0) for end, key in at)
        elif lag["source"] == "metrics, at least":
            assert lag["lag"] >= 50
        else:
            assert lag["lag"] == 50
    snapshot_from_row(found.row, "")


@pytest.mark.parametrize("known", [True, False], ids=["stores known", "stores by their metrics"])
@pytest.mark.parametrize("stores_first", [True, False])
def test_what_is_cut_off_at_a_lines_end_is_not_measured(known: bool, stores_first: bool) -> None:
    row = GROUP if known else {**GROUP, "tasks": [{**task, "changelog_partitions": []} for task in GROUP["tasks"]]}
    named = 'kafka_streams_stream_state_metrics_put_rate{{thread_id="x",rocksdb_state_id="{}",task_id="0_0"}} 0.0'
    positions, stores = (
        [*leads(BOTH), *lags({k: 1_000 - v for k, v in BOTH.items()})],
        [named.format(store) for store in "AB"],
    )
    whole = [*stores, *positions] if stores_first else [*positions, *stores]
    full = overlaid(text(whole), ends=offsets(ENDS), row=row)
    for kept in range(1, len(whole)):
        if not known and not stores_first:  # positions of changelogs that nobody tells the task of
            with pytest.raises(SnapshotError):
                overlaid(text(whole[:kept]), ends=offsets(ENDS), row=row)
            continue
        cut = overlaid(text(whole[:kept]), ends=offsets(ENDS), row=row)
        for task_id, joined in (("0_0", GROUP["lags"][0]), ("0_1", GROUP["lags"][1])):
            found, true = lag_of(cut, task_id), lag_of(full, task_id)
            if found["source"] == "metrics":
                assert found["lag"] == true["lag"], (kept, task_id)
            else:
                assert found["lag"] in (true["lag"], joined["lag"]), (kept, task_id)
                assert found["source"] in ("metrics, at least", "join")


@pytest.mark.parametrize(
    ("reported", "least"),
    [
        ({"lag": 30}, 30),
        ({"lag": 0}, 0),
        ({"lag": -2}, 0),
        ({"lag": -3}, MAX_LONG),
        ({"lag": None, "offset": 990, "end_offset": 1_000}, 10),
        ({"lag": None, "offset": 1_010, "end_offset": 1_000}, 0),
        ({"lag": None, "offset": 990, "end_offset": None}, 40),
        ({"lag": None, "offset": -3, "end_offset": 1_000}, MAX_LONG),
        ({"lag": None, "offset": -2, "end_offset": 1_000}, 0),
    ],
)
def test_an_unknown_report_is_as_far_behind_as_anything_can_be(reported: dict[str, Any], least: int) -> None:
    assert _join_lag([reported], 1_030) == least
    assert _join_lag([reported, {"lag": 5}], 1_030) == least + 5


def test_nothing_reported_or_no_end_is_as_far_behind_as_anything_can_be() -> None:
    assert _join_lag([], 1_030) == MAX_LONG
    assert _join_lag([{"lag": None, "offset": 5}], None) == MAX_LONG


def test_the_least_does_not_make_an_unknown_copy_look_caught_up() -> None:
    lags_of = [{**lag, "lag": -3, "offset": None} for lag in GROUP["lags"]]
    row = {**GROUP, "lags": lags_of, "tasks": [{**task, "changelog_partitions": []} for task in GROUP["tasks"]]}
    labels = 'thread_id="x",rocksdb_state_id="{}",task_id="0_0"'
    stores = [f"kafka_streams_stream_state_metrics_put_rate{{{labels.format(store)}}} 0.0" for store in "AB"]
    found = overlaid(text([*lags({("A", 0): 30, ("B", 0): 40}), *stores]), row=row)
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (-3, "join")


def store_metric(store: str, *, task_id: str = "0_0", kind: str = "rocksdb") -> str:
    """One series of a store."""
    labels = f'{kind}_state_id="{store}",task_id="{task_id}",thread_id="x"'
    return f"kafka_streams_stream_state_metrics_put_rate{{{labels}}} 0.0"


@pytest.mark.parametrize(
    ("stores", "kept"),
    [
        ([store_metric("A"), store_metric("B")], "persistent"),
        ([store_metric("A", kind="in_memory"), store_metric("B", kind="in_memory")], "in-memory"),
        ([store_metric("A"), store_metric("B", kind="in_memory")], "mixed"),
        ([store_metric("A"), store_metric("Z", task_id="9_9", kind="in_memory")], "persistent"),
        ([store_metric("Z", task_id="9_9", kind="in_memory")], None),
        ([store_metric("A", kind="record_cache"), store_metric("B")], "persistent"),
        ([], None),
    ],
)
def test_the_metrics_of_the_group_s_own_stores_tell_where_they_are(stores: list[str], kept: str | None) -> None:
    found = overlaid(text([*leads(BOTH), *stores]), ends=offsets(ENDS))
    assert found.row.get("stores") == kept
    assert snapshot_from_row(found.row, "").stores == kept
    answer = overlaid(text(leads(BOTH)), ends=offsets(ENDS), row={**GROUP, "stores": "in-memory"})
    assert answer.row["stores"] == "in-memory", "what no metric tells stays as the snapshot says"


def input_lag(topic: str, partition: int, records: int, thread: int = 1, client: str = f"my.app-{P0}") -> str:
    """The lag of a stream thread, by one partition of its input."""
    labels = f'client_id="{client}-StreamThread-{thread}-consumer",topic="{topic}",partition="{partition}"'
    return f"kafka_consumer_consumer_fetch_manager_metrics_records_lag{{{labels}}} {records}"


def test_the_input_that_waits_is_that_of_the_newest_scrape_of_the_group_s_own_threads() -> None:
    sources = [[{"topic": f"my.{name}", "partition": n} for name in ("in", "more")] for n in (0, 1)]
    tasks = [{**task, "source_partitions": item} for task, item in zip(GROUP["tasks"], sources, strict=True)]
    row = {**GROUP, "tasks": [*tasks, {"task_id": "1_0", "stateful": False}]}
    before = text([*leads(BOTH), input_lag("my.in", 0, 900)], "2026-11-21T11:59:00Z")
    now = text([*leads(BOTH), input_lag("my.in", 0, 30), input_lag("my.more", 0, 4), input_lag("my.other", 1, 7)])
    for files in ((before, now), (now, before)):
        waits = [task.get("input_lag") for task in overlaid(*files, row=row, ends=offsets(ENDS)).row["tasks"]]
        assert waits == [34, None, None]
    others = overlaid(text([*leads(BOTH), input_lag("my.in", 0, 5, client="theirs")]), row=row, ends=offsets(ENDS))
    assert not any("input_lag" in task for task in others.row["tasks"])
    most = overlaid(
        text([*leads(BOTH), *(input_lag(f"my.{name}", 0, MAX_LONG) for name in ("in", "more"))]),
        row=row,
        ends=offsets(ENDS),
    )
    assert most.row["tasks"][0]["input_lag"] == MAX_LONG


@pytest.mark.parametrize("role", ["standby", "warmup", "temporary"])
def test_every_kind_of_copy_that_is_assigned_is_measured(role: str) -> None:
    row = copy.deepcopy(GROUP)
    row["instances"][0]["consumers"][0] |= {"standby": [], role: ["0_0", "0_1"]}
    found = overlaid(text(leads(BOTH)), row=row, ends=offsets(ENDS))
    assert (lag_of(found)["lag"], lag_of(found)["source"]) == (110, "metrics")
    assert "measured-not-assigned" not in codes(found)


def test_what_was_measured_before_keeps_its_source() -> None:
    row = {**GROUP, "lags": [{**lag, "source": "metrics"} for lag in GROUP["lags"]]}
    found = overlaid(text(["kafka_consumer_records_lead_max 1"]), row=row)
    assert [lag["source"] for lag in found.row["lags"]] == ["metrics", "metrics"]


def test_that_measuring_failed_is_told_as_long_as_nothing_was_measured() -> None:
    nothing = text(["kafka_consumer_records_lead_max 1"])
    failed = overlaid(nothing)
    assert failed.row["measuring_failed"] is True
    assert snapshot_from_row(failed.row, "").measuring_failed
    mended = overlaid(text(leads(BOTH)), row=failed.row, ends=offsets(ENDS))
    assert "measuring_failed" not in mended.row
    row = copy.deepcopy(GROUP)
    row["instances"][0]["consumers"][0]["standby"] = []
    assert "measuring_failed" not in overlaid(nothing, row=row).row, "there is nothing to measure"


LATER = "2026-11-21T12:00:07.000Z"


@pytest.mark.parametrize(
    ("times", "until"),
    [
        ({"captured_at": SCRAPED}, LATER),
        ({"captured_at": SCRAPED, "known_until": SCRAPED}, LATER),
        ({"captured_at": LATER}, None),
        ({"captured_at": SCRAPED, "known_until": "2026-11-21T12:00:07.001Z"}, "2026-11-21T12:00:07.001Z"),
        ({"captured_at": None}, None),
    ],
)
def test_a_row_is_known_until_the_last_scrape_that_tells_its_time(times: dict[str, Any], until: str | None) -> None:
    files = (text(leads(BOTH)), text(leads(BOTH), LATER))
    found = overlaid(*files, row={**GROUP, **times}, ends=offsets(ENDS, LATER))
    assert found.row.get("known_until") == until
    copied = Measurements(tuple(untold(*leads(BOTH), at=LATER)), ends=offsets(ENDS, LATER))
    assert with_measured_lags(GROUP, copied).row.get("known_until") is None, "the time of a file proves nothing"


def test_the_ends_of_now_count_where_a_task_has_no_fewer_records_than_before() -> None:
    shifted = {**ENDS, "my.app-A-changelog-0": 900, "my.app-B-changelog-0": 1_100, "my.app-A-changelog-1": 999}
    found = overlaid(text(leads({**BOTH, ("A", 1): 999})), ends=offsets(shifted))
    by_partition = [
        [changelog_partition["end_offset"] for changelog_partition in task["changelog_partitions"]]
        for task in found.row["tasks"]
    ]
    assert by_partition == [[900, 1_100], [1_000, 1_000]]
    assert [task["end_offset_sum"] for task in found.row["tasks"]] == [2_000, 2_000]


def test_all_instances_without_a_scrape_are_counted_and_store_lags_stand_for_scrapes() -> None:
    found = overlaid(text(["kafka_consumer_records_lead_max 1"]))
    (note,) = [note for note in found.warnings if note.code == "not-scraped"]
    assert note.message == "2 of 2 instances have no scrape, one first: the lags of their last join are used"
    assert note.subjects == ("one", "two")
    row = copy.deepcopy(GROUP)
    del row["instances"][1]["host"]
    (note,) = [note for note in overlaid(text(leads(BOTH)), row=row).warnings if note.code == "not-scraped"]
    assert note.subjects == (P1,)
    assert "not-scraped" not in codes(store_lags({"one": {"A": {"0": {"offsetLag": 3}}, "B": {"0": {"offsetLag": 4}}}}))


def test_copies_that_were_measured_where_nobody_is_assigned_them_are_counted() -> None:
    row = copy.deepcopy(GROUP)
    row["instances"][0]["consumers"][0]["standby"] = []
    (note,) = [
        n
        for n in overlaid(text(leads(BOTH)), row=row, ends=offsets(ENDS)).warnings
        if n.code == "measured-not-assigned"
    ]
    assert note.subjects == ("0_0", "0_1")
    assert note.message == (
        "2 measured copies are not assigned where they were measured, task 0_0 first: the group has rebalanced "
        "between snapshot and metrics; the lags of the last join are used"
    )


def test_lags_stand_in_the_order_of_the_row_and_those_of_silent_copies_after_them() -> None:
    row = {**GROUP, "lags": [{"process_id": P1, "task_id": "0_1", "lag": -2}, GROUP["lags"][1]]}
    found = overlaid(text(leads(BOTH)), row=row, ends=offsets(ENDS))
    assert [(lag["process_id"], lag["task_id"]) for lag in found.row["lags"]] == [(P1, "0_1"), (P0, "0_1"), (P0, "0_0")]


def test_the_ends_are_those_of_the_newest_moment_that_is_known_of_the_copies() -> None:
    """What was looked up later, when nobody had scraped, is not known of them."""
    found = overlaid(text(leads(BOTH)), ends=ends_at(t115959=1_980, t120001=2_020))
    assert [task["end_offset_sum"] for task in found.row["tasks"]] == [4_000, 4_000]


def test_the_topology_is_that_of_the_row_s_own_application() -> None:
    asked: list[str] = []
    overlaid(text(leads(BOTH)), topology_of=asked.append)
    assert asked == ["my.app"]
