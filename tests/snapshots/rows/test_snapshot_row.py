"""One snapshot row → the model, rule by rule of the input contract. No Spark."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.documents.given_settings import GivenSettings
from kstream_plan.documents.streams_config import StreamsConfigFile
from kstream_plan.errors import SnapshotError
from kstream_plan.model import LATEST, UNKNOWN, Copy, Snapshot
from kstream_plan.model.settings import DEFAULT_SETTINGS, MAX_LONG, AssignmentConfig
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, connect_rows, streams_rows
from tests.helpers.snapshot_rows import P0, P1, ROW, changed, codes, copies, lag, read, row


def with_lags(*rows: dict[str, Any]) -> Snapshot:
    return read(row(lags=list(rows)))


# --- what is read ------------------------------------------------------------------------------------------------


def test_reads_the_whole_row() -> None:
    snapshot = read(row())
    state, group = snapshot.state, snapshot.state.group
    assert (group.application_id, state.generation, state.at_ms) == ("orders", 7, 0)
    assert snapshot.captured_at == "2026-11-21T12:00:00.000Z"
    assert [str(task.task_id) for task in group.tasks] == ["0_0", "1_0"]
    assert [instance.process_id for instance in group.instances] == [P1, P0], "8… sorts before 1…: signed halves"
    assert group.consumer_ids == ("orders-1-1", "orders-1-2", "orders-0-1")
    assert group.instances[1].client_tags == (("zone", "a"),)
    assert group.tasks[0].source_partitions[0].racks == ("a", "b")
    assert state.leader == 1
    assert [holding.active for holding in state.holdings] == [(0,), (), (1,)]
    assert [holding.standby for holding in state.holdings] == [(), (), (0,)]
    assert snapshot.config == AssignmentConfig(num_standby_replicas=1, rack_aware_assignment_tags=("zone",))
    assert snapshot.warnings == ()


def test_the_running_owner_without_a_row_is_latest_and_the_standby_as_far_as_it_reported() -> None:
    assert copies(read(row())) == {
        P1: Copy(0, LATEST, (0,), 0, consumer=0, active=True),
        P0: Copy(1, 1000, (2,), 1000, consumer=2),
    }


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
@pytest.mark.parametrize("kind", ["inputs", "before"])
def test_reads_captured_groups_without_a_warning(scenario: str, kind: str) -> None:
    if kind == "inputs":
        rows = captured.rows(scenario, "inputs")
    else:
        rows = [json.loads((captured.REAL / scenario / "before.json").read_text())]
    for item in rows:
        snapshot = read(item)
        assert snapshot.warnings == ()
        assert snapshot.state.generation == item["generation"]
        assert len(snapshot.state.group.stateful) == 24
        owned = sorted(task for holding in snapshot.state.holdings for task in holding.active)
        assert len(owned) == len(set(owned))


def test_only_four_fields_are_required() -> None:
    snapshot = read(
        {
            "application_id": "a",
            "tasks": [{"task_id": "0_0"}],
            "instances": [{"process_id": "p", "consumers": [{"consumer_id": "c"}]}],
        }
    )
    assert snapshot.config == AssignmentConfig()
    assert snapshot.captured_at is None
    assert snapshot.state.generation == 0
    assert snapshot.state.leader is None
    assert not snapshot.state.group.tasks[0].stateful
    assert snapshot.state.group.instances[0].consumers[0].protocols == ("cooperative",)


def test_null_and_absent_are_the_same() -> None:
    def without_nulls(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_nulls(item) for key, item in value.items() if item is not None}
        return [without_nulls(item) for item in value] if isinstance(value, list) else value

    nulls = row(captured_at=None, generation=None, config={"max_warmup_replicas": None}, lags=None, group_protocol=None)
    nulls["instances"][0] |= {"rack": None, "leader": None, "client_tags": None, "host": None}
    assert read(nulls) == read(without_nulls(nulls))


def test_an_application_without_tasks_is_fine() -> None:
    item = row(tasks=[], lags=[])
    for instance in item["instances"]:
        for consumer in instance["consumers"]:
            consumer.update(active=[], standby=[])
    assert read(item).state.copies == ()


def test_unknown_fields_are_ignored() -> None:
    item = row(new_field={"x": 1})
    item["tasks"][0]["note"] = "x"
    item["lags"][0]["seen"] = 1.5
    assert read(item) == read(row())


def test_an_empty_rack_is_none() -> None:
    assert read(changed("instances.0.rack", "")).state.group.instances[1].rack is None


# --- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("acceptable_recover_lag", "acceptable_recovery_lag"),
        ("max_warmup_replica", "max_warmup_replicas"),
        ("NUM_STANDBY_REPLICAS", "num_standby_replicas"),
    ],
)
def test_an_unknown_setting_is_a_warning_that_names_the_nearest(key: str, nearest: str) -> None:
    snapshot = read(row(config={key: 3}))
    assert snapshot.config == AssignmentConfig()
    assert [(note.code, note.subjects) for note in snapshot.warnings] == [("unknown-config-key", (key,))]
    assert snapshot.warnings[0].message.endswith(f"the nearest is {nearest}")


def test_settings_of_a_parquet_text_map_are_read_from_text() -> None:
    config = {"acceptable_recovery_lag": "5", "rack_aware_assignment_tags": "zone, cluster"}
    snapshot = read(row(config=config), config_as_text=True)
    assert snapshot.config.acceptable_recovery_lag == 5
    assert snapshot.config.rack_aware_assignment_tags == ("zone", "cluster")
    with pytest.raises(SnapshotError, match=r"acceptable_recovery_lag is .5., text where a whole number must be"):
        read(row(config=config))


# --- stateful tasks and their end offsets ------------------------------------------------------------------------


def test_a_setting_of_a_text_map_that_is_no_number_is_an_error() -> None:
    with pytest.raises(SnapshotError, match=r"config\.max_warmup_replicas is '9999"):
        read(row(config={"max_warmup_replicas": "9" * 5000}), config_as_text=True)


def test_settings_of_a_text_map_are_read_as_those_of_files() -> None:
    strategy = {"rack_aware_assignment_strategy": " min_traffic "}
    assert read(row(config=strategy), config_as_text=True).config.rack_aware_assignment_strategy == "min_traffic"
    with pytest.raises(SnapshotError, match=r"config\.max_warmup_replicas is 0, outside 1 to 2147483647"):
        read(row(config={"max_warmup_replicas": "0"}), config_as_text=True)


def end_of(task: dict[str, Any], *lags: dict[str, Any]) -> tuple[bool, int, bool]:
    item = row(tasks=[{"task_id": "0_0", **task}, {"task_id": "1_0"}], lags=list(lags))
    item["instances"][0]["consumers"][0]["standby"] = []
    read_task = read(item).state.group.tasks[0]
    return read_task.stateful, read_task.end_offset_sum, read_task.end_offset_known


def changelog(*ends: int | None) -> list[dict[str, Any]]:
    return [{"topic": "t", "partition": number, "end_offset": end} for number, end in enumerate(ends)]


def test_a_task_is_stateful_if_it_has_a_changelog_an_end_offset_or_a_lag_row() -> None:
    assert end_of({}) == (False, 0, True)
    assert end_of({"changelog_partitions": changelog(5)}) == (True, 5, True)
    assert end_of({"end_offset_sum": 0}) == (True, 0, True)
    assert end_of({}, lag(end_offset=9, offset=4)) == (True, 9, True)
    assert end_of({"stateful": False, "end_offset_sum": 0}) == (False, 0, True)
    assert end_of({"stateful": True, "end_offset_sum": 7}) == (True, 7, True)


def test_a_row_about_a_store_that_is_not_logged_makes_no_task_stateful() -> None:
    assert end_of({}, lag(store="cache", logged=False)) == (False, 0, True)


def test_a_stateful_task_of_which_nothing_is_logged_ends_at_0() -> None:
    unlogged = lag(store="m", logged=False)
    assert end_of({"stateful": True}, unlogged) == (True, 0, True)
    assert end_of({"stateful": True, "changelog_partitions": changelog(None)}, unlogged) == (True, MAX_LONG, False)
    assert end_of({"stateful": True}, unlogged, lag(store="a", lag=1)) == (True, MAX_LONG, False)


def test_the_end_offset_is_the_sum_over_the_changelogs_at_most_the_largest_long() -> None:
    assert end_of({"changelog_partitions": changelog(5, 6)}) == (True, 11, True)
    assert end_of({"changelog_partitions": changelog(MAX_LONG, 6)}) == (True, MAX_LONG, True)
    assert end_of({"changelog_partitions": changelog(5, 6), "end_offset_sum": 12}) == (True, 12, True)


def test_the_rows_tell_the_end_offset_if_nobody_else_does() -> None:
    assert end_of({}, lag(store="a", end_offset=9, offset=4), lag(store="b", end_offset=1, lag=0)) == (True, 10, True)
    assert end_of({}, lag(store="a", end_offset=9, offset=4), lag(P1, store="a", end_offset=12, lag=0))[1] == 12
    assert end_of({}, lag(store="a", end_offset=9, offset=4), lag(store="b", lag=0)) == (True, MAX_LONG, False)
    assert end_of({"end_offset_sum": 20}, lag(end_offset=9, offset=4)) == (True, 20, True)


def test_an_end_offset_that_nobody_tells_has_a_stand_in_and_a_warning() -> None:
    item = row(tasks=[{"task_id": "0_0", "stateful": True}, {"task_id": "1_0"}], lags=[])
    snapshot = read(item)
    task = snapshot.state.group.tasks[0]
    assert (task.end_offset_sum, task.end_offset_known) == (MAX_LONG, False)
    assert [(note.code, note.subjects) for note in snapshot.warnings] == [("end-offset-unknown", ("0_0",))]
    assert end_of({"changelog_partitions": changelog(5, None)}) == (True, MAX_LONG, False)


# --- from rows to lags -------------------------------------------------------------------------------------------


def standby_lag(*rows: dict[str, Any]) -> int | None:
    return copies(with_lags(*rows))[P0].lag


def test_lag_is_given_or_the_end_offset_less_what_the_logged_stores_have() -> None:
    assert standby_lag(lag(lag=5)) == 5
    assert standby_lag(lag(offset=149_990)) == 10
    assert standby_lag(lag(store="a", offset=100_000), lag(store="b", offset=49_000)) == 1000
    assert standby_lag(lag(store="a", lag=3), lag(store="b", lag=4)) == 7
    assert standby_lag(lag(store="a", lag=3), lag(store="b", offset=6, end_offset=10)) == 7
    assert standby_lag(lag(store="a", offset=149_000), lag(store="m", logged=False, offset=77)) == 1000


def test_only_rows_about_stores_that_are_not_logged_are_no_report() -> None:
    assert standby_lag(lag(store="m", logged=False)) is None
    assert copies(with_lags(lag(P1, store="m", logged=False)))[P1].lag == LATEST


def test_the_tasks_own_end_offset_beats_a_rows() -> None:
    assert standby_lag(lag(offset=149_000, end_offset=149_500)) == 1000


def test_the_row_about_the_whole_task_beats_rows_about_its_stores() -> None:
    assert standby_lag(lag(store="a", lag=3), lag(store=None, lag=9), lag(store="b", lag=4)) == 9


@pytest.mark.parametrize("column", ["lag", "offset"])
def test_markers_count_in_either_column(column: str) -> None:
    assert copies(with_lags(lag(P1, **{column: LATEST})))[P1].lag == LATEST
    unknown = copies(with_lags(lag(**{column: UNKNOWN})))[P0]
    assert (unknown.lag, unknown.remaining) == (UNKNOWN, 150_000)
    assert standby_lag(lag(store="a", **{column: 5}), lag(store="b", **{column: UNKNOWN})) == UNKNOWN
    mixed = with_lags(lag(P1, store="a", lag=LATEST), lag(P1, store="b", **{column: UNKNOWN}))
    assert copies(mixed)[P1].lag == UNKNOWN


@pytest.mark.parametrize("column", ["lag", "offset"])
def test_only_the_owner_runs_a_task(column: str) -> None:
    with pytest.raises(SnapshotError, match=f"lags say that '{P0}' runs task 0_0 .* '{P1}' has active: two running"):
        with_lags(lag(P0, **{column: LATEST}))
    item = row(lags=[lag(P0, **{column: LATEST})])
    item["instances"][1]["consumers"][0]["active"] = []
    snapshot = read(item)
    assert copies(snapshot)[P0].lag == 0
    assert [(note.code, note.subjects) for note in snapshot.warnings] == [("running-elsewhere", ("0_0",))]


@pytest.mark.parametrize("impossible", [{"lag": 150_001}, {"offset": 150_001}, {"lag": MAX_LONG}])
def test_a_lag_above_the_whole_sum_is_the_whole_sum_with_a_warning(impossible: dict[str, int]) -> None:
    snapshot = with_lags(lag(**impossible))
    assert copies(snapshot)[P0].lag == 150_000
    assert [(note.code, note.subjects) for note in snapshot.warnings] == [("lag-above-end", ("0_0",))]
    assert P0 in snapshot.warnings[0].message


def test_a_row_about_the_running_owner_counts_as_it_is() -> None:
    assert copies(with_lags(lag(P1, lag=70)))[P1] == Copy(0, 70, (0,), 70, consumer=0, active=True)


def test_an_assigned_copy_without_a_row_has_reported_nothing() -> None:
    assert copies(with_lags())[P0] == Copy(1, None, (), 150_000, consumer=2)


def test_a_row_about_a_task_that_is_not_assigned_there_is_left_over_state() -> None:
    item = row()
    item["instances"][0]["consumers"][0]["standby"] = []
    del item["lags"][0]["consumer_ids"]
    assert copies(read(item))[P0] == Copy(1, 1000, (2,), 1000, lost_at_ms=0)


def test_an_instance_without_row_or_assignment_has_no_copy() -> None:
    item = row(lags=[])
    item["instances"][0]["consumers"][0]["standby"] = []
    assert list(copies(read(item))) == [P1]


def test_the_reporters_are_those_named_else_the_holder_else_the_instances_first() -> None:
    def reporters(process_id: str, **fields: Any) -> tuple[int, ...]:
        return copies(with_lags(lag(process_id, lag=1, **fields)))[process_id].reporters

    assert reporters(P0) == (2,), "it holds the standby"
    assert reporters(P0, consumer_ids=None) == (2,)
    assert reporters(P0, consumer_ids=[]) == ()
    assert reporters(P1, consumer_ids=["orders-1-2", "orders-1-1"]) == (0, 1)
    assert reporters(P1) == (0,), "it runs the task"
    item = row(tasks=[*ROW["tasks"], {"task_id": "2_0"}], lags=[lag(P1, "2_0", lag=0)])
    assert copies(read(item), 2)[P1].reporters == (0,), "nobody holds it: the first"


def test_records_of_a_stateless_task_are_an_error() -> None:
    with pytest.raises(SnapshotError, match="5 records of task 1_0, which tasks say has no state"):
        with_lags(lag(P0, "1_0", lag=5))


def test_lags_of_a_stateless_task_are_ignored_with_a_warning() -> None:
    snapshot = with_lags(lag(P0, "1_0", lag=0))
    assert snapshot.state.copies[1] == ()
    assert codes(snapshot) == ["lag-of-stateless-task"]


@given(
    stores=st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 60_000), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
)
def test_offsets_add_up_whatever_their_order(stores: dict[str, int], order: random.Random) -> None:
    rows = [lag(store=store, offset=offset) for store, offset in stores.items()]
    order.shuffle(rows)
    behind = 150_000 - sum(stores.values())
    assert standby_lag(*rows) == (behind if behind >= 0 else 150_000)


# --- identity and order ------------------------------------------------------------------------------------------


def test_process_ids_are_compared_by_value_and_printed_in_lower_case() -> None:
    item = changed("instances.0.process_id", P0.upper())
    assert read(item) == read(row())
    with pytest.raises(SnapshotError, match=r"instances\[1\].process_id is '1d296588.*', which is there already"):
        read(changed("instances.1.process_id", P0.upper()))


def test_an_id_that_is_no_uuid_puts_the_whole_group_in_plain_text_order() -> None:
    item = row(lags=[])
    item["instances"].append({"process_id": "Zebra", "consumers": [{"consumer_id": "z"}]})
    assert [i.process_id for i in read(item).state.group.instances] == [P0, P1, "Zebra"]


def test_only_the_canonical_form_is_a_uuid() -> None:
    bare = uuid.UUID(P1).hex.upper()
    item = row(lags=[])
    item["instances"].append({"process_id": bare, "consumers": [{"consumer_id": "z"}]})
    assert [i.process_id for i in read(item).state.group.instances] == [P0, bare, P1], "plain text order"


def test_task_ids_are_compared_by_value() -> None:
    item = row(tasks=[{"task_id": "0_0"}, {"task_id": "00_00"}])
    with pytest.raises(SnapshotError, match=r"tasks\[1\].task_id is '0_0', which is there already"):
        read(item)
    named = {"task_id": "top__0_1", "end_offset_sum": 4}
    tasks = read(row(tasks=[named, *ROW["tasks"], {"task_id": "0_10"}, {"task_id": "0_2"}])).state.group.tasks
    assert [str(task.task_id) for task in tasks] == ["0_0", "0_2", "0_10", "1_0", "top__0_1"]


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0))
def test_the_order_of_anything_in_a_row_does_not_matter(seed: int) -> None:
    item = captured.rows("scale-out-standbys", "inputs")[12]
    order = random.Random(seed)

    def shuffle(value: Any) -> Any:
        if isinstance(value, dict):
            names = list(value)
            order.shuffle(names)
            return {name: shuffle(value[name]) for name in names}
        if isinstance(value, list):
            items = [shuffle(each) for each in value]
            order.shuffle(items)
            return items
        return value

    assert read(shuffle(item)) == read(item)


# --- times -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2026-11-21T12:00:00Z", "2026-11-21T12:00:00.000Z"),
        ("2026-11-21T12:00:00", "2026-11-21T12:00:00.000Z"),
        ("2026-11-21 12:00:00.5", "2026-11-21T12:00:00.500Z"),
        ("2026-11-21t12:00:00.1239999999z", "2026-11-21T12:00:00.123Z"),
        ("2026-11-21T12:00:00+05:30", "2026-11-21T06:30:00.000Z"),
        ("2026-11-21T00:00:00-01:00", "2026-11-21T01:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_times_are_rfc_3339_in_utc(text: str, normal: str) -> None:
    assert read(row(captured_at=text)).captured_at == normal


# --- speed -------------------------------------------------------------------------------------------------------


def large_row(tasks: int, instances: int) -> dict[str, Any]:
    """A group with an active, a standby and left-over state of every task."""
    ids = [f"{number % 50}_{number // 50}" for number in range(tasks)]
    names = [str(uuid.UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for number in range(instances)]
    members: list[dict[str, Any]] = [
        {
            "process_id": name,
            "consumers": [{"consumer_id": f"{name}-{c}", "active": [], "standby": []} for c in range(4)],
        }
        for name in names
    ]
    lags = []
    for number, task_id in enumerate(ids):
        members[number % instances]["consumers"][number % 4]["active"].append(task_id)
        members[(number + 1) % instances]["consumers"][number % 4]["standby"].append(task_id)
        holders = (names[(number + behind) % instances] for behind in (1, 2))
        lags += [{"process_id": holder, "task_id": task_id, "lag": 5} for holder in holders]
    listed = [{"task_id": task_id, "stateful": True, "end_offset_sum": 10**6} for task_id in ids]
    return {"application_id": "large", "tasks": listed, "instances": members, "lags": lags}


def test_a_large_group_is_read_whole() -> None:
    snapshot = read(large_row(2000, 60))
    assert sum(map(len, snapshot.state.copies)) == 6000


@pytest.mark.parametrize(
    ("config", "answer"),
    [(None, True), ({}, True), ({"max_warmup_replicas": None}, True), ({"balance_factor": 1}, False)],
)
def test_what_counts_where_a_snapshot_holds_no_settings_is_told(config: dict[str, Any] | None, answer: bool) -> None:
    snapshot = read(row(config=config))
    messages = [note.message for note in snapshot.assumptions if note.code == "default-settings"]
    assert ["max.warmup.replicas 2, num.standby.replicas 0, a probe every 10m" in one for one in messages] == [
        True
    ] * answer
    chosen = GivenSettings({"max_warmup_replicas": 3}).apply(snapshot, StreamsConfigFile({}))
    assert "default-settings" not in {note.code for note in chosen.assumptions}


@pytest.mark.parametrize("standbys", [None, 1])
def test_default_settings_of_a_streams_group_are_told(standbys: int | None) -> None:
    """The text of Kafka's tool has none: the number of standbys is that of its members."""
    seats = {"a": [{"consumer_id": "a1", "position": 0, "active": ["0_0"]}]}
    item = streams_rows.row("4.3", seats, {"0": (1, True, 1)})
    item["config"] = {} if standbys is None else {"streams_num_standby_replicas": standbys}
    [told] = [note.message for note in streams_rows.snapshot(item).assumptions if note.code == DEFAULT_SETTINGS]
    assert "streams.session.timeout.ms 45s" in told
    assert ("streams.num.standby.replicas 0" in told) is (standbys is None)
    item["config"] = {"streams_session_timeout_ms": 45_000}
    assert DEFAULT_SETTINGS not in {note.code for note in streams_rows.snapshot(item).assumptions}


def test_default_settings_of_workers_are_told() -> None:
    item = connect_rows.even()
    assert DEFAULT_SETTINGS not in {note.code for note in snapshot_from_row(item, "").assumptions}
    item["config"] = {"connect_protocol": "sessioned"}
    [told] = [note.message for note in snapshot_from_row(item, "").assumptions if note.code == DEFAULT_SETTINGS]
    assert "scheduled.rebalance.max.delay.ms 5m" in told
