"""Snapshots of running streams groups, from a broker on the wire."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.model.streams_group import BrokerGroup
from kstream_plan.snapshots.broker.describe_text import rows_from_text
from kstream_plan.snapshots.broker.topology_text import read_topology
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.wire_broker import WireBroker, serving, streams_group_answer

pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")

REAL = Path(__file__).parents[2] / "real" / "streams"
SETTINGS = {
    "streams.num.standby.replicas": "1",
    "streams.heartbeat.interval.ms": "5000",
    "streams.session.timeout.ms": "45000",
    "streams.initial.rebalance.delay.ms": "3000",
    "consumer.session.timeout.ms": "45000",
}
SINCE_4_3 = {**SETTINGS, "streams.assignment.interval.ms": "1000"}
TOPOLOGY: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "0": (("orders",), ("S8-A-changelog",)),
    "1": (("clicks",), ("S8-B-changelog", "S8-C-changelog")),
    "2": (("audit",), ()),
}
TOPICS = {"orders": 12, "clicks": 12, "audit": 6} | {f"S8-{store}-changelog": 12 for store in "ABC"}


def saved(text: str, release: str) -> dict[str, Any]:
    """The row of Kafka's own tool, whose members are in the order of the broker's table."""
    topology = read_topology((REAL / "topology.txt").read_text(), "topology.txt")
    ((row, _),) = rows_from_text(
        [("saved", (REAL / f"{text}.txt").read_text())],
        release,
        lambda _of: topology,
        lambda _of: {"num_standby_replicas": 1},
    )
    return row


def in_order(row: Mapping[str, Any]) -> list[str]:
    seats = [seat for instance in row["instances"] for seat in instance["consumers"]]
    return [seat["consumer_id"] for seat in sorted(seats, key=lambda seat: seat["position"])]


def broker(row: Mapping[str, Any], version: int = 0, **fields: Any) -> WireBroker:
    group_id = row["application_id"]
    topology = {
        name: (sources, [store.replace("S8", group_id) for store in stores])
        for name, (sources, stores) in TOPOLOGY.items()
    }
    topics = {name.replace("S8", group_id): count for name, count in TOPICS.items()}
    body = streams_group_answer(row, topology, version, **fields)
    return WireBroker(group_id, [body], newest=version, settings=SINCE_4_3, topics=topics, ends=2_000)


def asked(wire_broker: WireBroker, *options: str) -> tuple[int, str, str]:
    """The command's exit code, what it printed, and what it said."""
    with serving(wire_broker) as address:
        return run_command("snapshot", "--bootstrap-server", address, "--group", wire_broker.group_id, *options)


def run_command(*arguments: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    return code, out.getvalue(), err.getvalue()


def row_of(wire_broker: WireBroker, *options: str) -> dict[str, Any]:
    code, out, err = asked(wire_broker, *options)
    assert code == 0, err
    row: dict[str, Any] = json.loads(out)
    return row


def refused(wire_broker: WireBroker, *options: str) -> str:
    """The one line that says what is wrong."""
    code, out, err = asked(wire_broker, *options)
    assert (code, out) == (1, ""), err
    assert len(err.splitlines()) == 1, err
    assert ". Fix: " in err
    return err


BASE = saved("k43-base", "4.3")


@pytest.mark.parametrize(("text", "version", "release"), [("k43-scale-out", 0, "4.3"), ("k44-base", 1, "4.4")])
def test_the_running_group_is_what_the_tool_printed(text: str, version: int, release: str) -> None:
    answer = saved(text, release)
    row = row_of(broker(answer, version))
    assert (row["broker_version"], row["generation"], row["group_state"]) == (release, answer["generation"], "Stable")
    assert in_order(row) == in_order(answer)
    live, printed = snapshot_from_row(row, "live"), snapshot_from_row(answer, "printed")
    assert isinstance(live.state.memory, BrokerGroup)
    assert live.state.memory == printed.state.memory
    assert live.state.holdings == printed.state.holdings
    assert live.config == printed.config
    ends = {str(task.task_id): (task.stateful, task.end_offset_sum) for task in live.state.group.tasks}
    assert (ends["0_0"], ends["1_11"], ends["2_5"]) == ((True, 2_000), (True, 4_000), (False, 0))


@pytest.mark.parametrize(
    ("newest", "settings", "options", "release"),
    [
        (0, SETTINGS, (), "4.2"),
        (0, SINCE_4_3, (), "4.3"),
        (1, SINCE_4_3, (), "4.4"),
        (0, SINCE_4_3, ("--set", "broker.version=4.2"), "4.2"),
        (1, SINCE_4_3, ("--set", "broker.version=4.3"), "4.3"),
        (2, SINCE_4_3, ("--set", "broker.version=4.4"), "4.4"),
    ],
)
def test_the_release_is_told_by_how_brokers_answer(
    newest: int, settings: Mapping[str, str], options: Sequence[str], release: str
) -> None:
    item = broker(BASE, min(newest, 1))
    item.newest, item.settings = newest, settings
    assert row_of(item, *options)["broker_version"] == release


def test_brokers_that_are_newer_are_not_taken_for_old_ones() -> None:
    item = broker(BASE, 1)
    item.newest = 2
    assert "its brokers are newer than 4.2, 4.3, 4.4, and may decide otherwise" in refused(item)


def test_the_group_s_settings_are_the_brokers_and_whoever_gives_others_is_told(tmp_path: Path) -> None:
    file = tmp_path / "app.properties"
    file.write_text("num.standby.replicas=2\nstreams.num.standby.replicas=2\nmax.poll.interval.ms=60000\n")
    item = broker(BASE)
    code, out, err = asked(item, "--streams-config", str(file))
    assert code == 0, err
    assert json.loads(out)["config"] == {
        "streams_num_standby_replicas": 1,
        "streams_heartbeat_interval_ms": 5_000,
        "streams_session_timeout_ms": 45_000,
        "streams_initial_rebalance_delay_ms": 3_000,
        "streams_assignment_interval_ms": 1_000,
        "max_poll_interval_ms": 60_000,
    }
    assert "the brokers' settings of the group are used: streams.num.standby.replicas=1 (2 is given)" in err
    assert "warning: num.standby.replicas: settings of the application have no effect in a streams group" in err
    assert "Give --streams-config" not in asked(broker(BASE))[2]


def test_settings_of_brokers_with_other_limits_are_taken() -> None:
    item = broker(BASE)
    item.settings = {**SINCE_4_3, "streams.heartbeat.interval.ms": "1000", "streams.num.standby.replicas": "4"}
    config = snapshot_from_row(row_of(item), "live").config
    assert (config.heartbeat_interval_ms, config.num_standby_replicas) == (1_000, 4)


def test_a_group_that_is_not_stable_is_told_and_can_be_planned() -> None:
    scaled = saved("k43-scale-out", "4.3")
    on_the_way = {**scaled, "group_state": "Reconciling", "generation": scaled["generation"] + 1}
    code, out, err = asked(broker(on_the_way))
    assert code == 0, err
    assert "the group is Reconciling: brokers do not show the progress of each member" in err
    memory = snapshot_from_row(json.loads(out), "live").state.memory
    assert isinstance(memory, BrokerGroup)
    assert (memory.state, memory.group_epoch, memory.target_epoch) == (
        "Reconciling",
        scaled["generation"] + 1,
        scaled["generation"],
    )


def test_offsets_of_directories_are_those_that_are_offsets() -> None:
    answer = saved("k44-base", "4.4")
    seat = answer["instances"][0]["consumers"][0]
    seat["task_offsets"] = [{"task_id": task, "offset": at} for task, at in (("0_4", 1_990), ("0_0", -2), ("7_0", 5))]
    row = row_of(broker(answer, 1))
    assert row["instances"][0]["consumers"][0]["task_offsets"] == [{"task_id": "0_4", "offset": 1_990}]


def test_members_of_another_topology_and_missing_changelogs_are_told() -> None:
    item = broker(BASE, topology_epoch=3)
    item.topics = {name: count for name, count in TOPICS.items() if name != "S8-A-changelog"}
    code, out, err = asked(item)
    assert code == 0, err
    assert "6 of 6 members run a topology other than the group's" in err
    assert "the cluster has no topic S8-A-changelog" in err
    assert [task["stateful"] for task in json.loads(out)["tasks"][:1]] == [True]


@pytest.mark.parametrize(
    ("row", "fields", "what"),
    [
        ({"group_state": "Empty"}, {}, "is empty: no instance is running"),
        ({}, {"assignor": "balanced"}, "is decided by the assignor 'balanced'; only sticky is modelled"),
        ({}, {"is_classic": True}, "of the classic protocol"),
        ({"application_id": "other"}, {}, "groups is not the one that was asked for"),
    ],
)
def test_what_cannot_be_planned_is_refused(row: Mapping[str, Any], fields: Mapping[str, Any], what: str) -> None:
    item = broker({**BASE, **row}, 1, **fields)
    item.group_id = "S8"
    assert what in refused(item)


def test_a_group_without_topology_or_topics_is_refused() -> None:
    item = broker(BASE)
    item.topics = {"orders": 12}
    assert "reads topic clicks in sub-topology 1, which the cluster does not have" in refused(item)
    item.answers = [streams_group_answer({**BASE, "group_state": "NotReady"}, {}, 0)]
    assert "has no topology yet, and is 'NotReady'" in refused(item)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (69, "is no longer a streams group: Group S8 is not a streams group"),
        (30, "access is denied. Fix: grant the principal Describe on the group"),
        (29, "access is denied. Fix: grant the principal Describe on the topics that the group reads and writes"),
        (35, "do not support that"),
        (42, "the request failed: Group S8"),
        (-1, "the request failed"),
        (999, "the request failed"),
    ],
)
def test_an_error_of_the_broker_is_one_error_with_its_fix(code: int, what: str) -> None:
    item = broker(BASE, error_code=code, error_message="Group S8 is not a streams group.")
    assert what in refused(item)


def test_a_coordinator_that_moves_is_waited_for() -> None:
    item = broker(BASE)
    moved = streams_group_answer(BASE, {}, 0, error_code=16)
    item.answers, item.coordinator = [moved, moved, *item.answers], (0, 0, 15, 0)
    assert row_of(item)["generation"] == BASE["generation"]
    assert item.asked.count("FindCoordinator") == 4
    item.answers = [moved]
    started = time.monotonic()
    assert "group S8" in (said := refused(item, "--set", "timeout=1s"))
    assert "its coordinator is not ready" in said
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("silent", ["StreamsGroupDescribe", "DescribeConfigs", "FindCoordinator", "ListOffsets"])
def test_silence_costs_no_more_than_the_limit(silent: str) -> None:
    item = broker(BASE)
    item.silent = frozenset({silent})
    started = time.monotonic()
    assert "no answer within 1 s (--set timeout)" in refused(item, "--set", "timeout=1s")
    assert time.monotonic() - started < 10


def test_a_broker_that_does_not_know_streams_groups_is_told() -> None:
    item = broker(BASE)
    item.newest = None
    assert "the brokers do not support that" in refused(item)


def test_settings_that_are_not_told_are_an_error() -> None:
    item = broker(BASE)
    item.settings_error = 30
    assert "grant the principal DescribeConfigs on the group" in refused(item)
    item.settings_error, item.settings = 0, {**SINCE_4_3, "streams.num.standby.replicas": "many"}
    assert "config.streams_num_standby_replicas is 'many', text where a whole number must be" in refused(item)


def test_an_answer_that_is_damaged_is_one_error() -> None:
    chance, item = random.Random(7), broker(BASE)
    (sound,) = item.answers
    with serving(item) as address:
        for _ in range(25):
            at = chance.randrange(len(sound))
            item.answers, item.asked = [sound[:at] + chance.randbytes(2) * chance.randrange(2)], []
            code, out, err = run_command("snapshot", "--bootstrap-server", address, "--group", "S8")
            assert (code, out) == (1, ""), (at, out)
            assert "the answer to StreamsGroupDescribe cannot be read: " in err
            assert len(err.splitlines()) == 1


def test_an_answer_about_another_group_is_one_error() -> None:
    item = broker(BASE)
    with serving(item) as address:
        code, _, err = run_command("snapshot", "--bootstrap-server", address, "--group", "other")
    assert code == 1
    assert "group other at 127.0.0.1" in err
    assert "the answer is for another request" in err


def test_all_groups_are_those_of_either_protocol() -> None:
    item = broker(BASE)
    with serving(item) as address:
        code, out, err = run_command("snapshot", "--bootstrap-server", address, "--group", "*")
        assert code == 0, err
        assert [json.loads(line)["application_id"] for line in out.splitlines()] == ["S8"]
        item.listed = ("streams", "Empty")
        code, out, err = run_command("snapshot", "--bootstrap-server", address, "--group", "*")
        assert (code, out) == (1, "")
        assert "no group of Kafka Streams runs there" in err
        item.listed = ("", "")
        assert "does not exist on this cluster" in refused(item)


def test_names_go_by_client_ids(tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    process_id = BASE["instances"][0]["process_id"]
    names.write_text(f"S8-{process_id}: {{host: pod-0, rack: a}}\n")
    first = row_of(broker(BASE), "--set", f"names={names}")["instances"][0]
    assert (first["process_id"], first["host"], first["rack"]) == (process_id, "pod-0", "a")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (
            ("--bootstrap-server", "a:1", "--group", "S8", "--set", "broker.version=4.1"),
            "'4.1' is no release of brokers",
        ),
        ((__file__, "--set", "broker.version=4.3"), "--set broker.version is about a running group"),
    ],
)
def test_a_release_goes_with_a_running_group(options: Sequence[str], what: str) -> None:
    code, _, err = run_command("snapshot", *options)
    assert code == 2
    assert what in err


@pytest.mark.parametrize(("version", "encoded"), [(0, "02086772c3b6c39f650000"), (1, "02086772c3b6c39f65000000")])
def test_the_question_is_what_kafka_s_own_class_writes(version: int, encoded: str) -> None:
    from kstream_plan.snapshots.broker.messages import StreamsGroupDescribeRequest

    request = StreamsGroupDescribeRequest(group_ids=["größe"])
    assert bytes(request.encode(version=version)).hex() == encoded


def test_a_topology_that_is_given_as_well_is_told_to_be_unused() -> None:
    item = broker(saved("k43-base", "4.3"))
    with_one = asked(item, "--topology", str(REAL / "topology.txt"))
    code, out, said = asked(item)
    assert (with_one[0], code) == (0, 0)
    assert "warning: --topology is not used for S8: the brokers tell the topology of a streams group" in with_one[2]
    assert "--topology" not in said
    assert {**json.loads(with_one[1]), "captured_at": ""} == {**json.loads(out), "captured_at": ""}
