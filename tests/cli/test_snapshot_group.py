"""``snapshot`` of a running group on the command line; the cluster is a captured one."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.errors import ClusterError
from kstream_plan.snapshots.broker import kafka_cluster
from tests.helpers import metric_texts
from tests.helpers.captured import REAL, rows
from tests.helpers.captured_cluster import CapturedCluster
from tests.helpers.goldens import assert_golden

SCENARIO = "scale-out-standbys"
DESCRIBED = next(row for row in rows(SCENARIO, "describe-groups") if row["generation"] == 7)
TOPOLOGY = str(REAL / SCENARIO / "topology.txt")
GROUP = ("--bootstrap-server", "broker:9092", "--group", "S2b")


class OnTheNetwork(CapturedCluster):
    """The captured cluster behind the real one's constructor; remembers how it was reached."""

    reached: tuple[str, dict[str, Any]]

    def __init__(self, servers: str, arguments: dict[str, Any], _wait_ms: int) -> None:
        super().__init__(SCENARIO)
        type(self).reached = (servers, dict(arguments))

    def streams_groups(self) -> list[str]:
        return ["S2b", "gone", "payments"]

    def describe_group(self, group_id: str) -> Any:
        if group_id == "gone":
            raise ClusterError("does not exist on this cluster", where="group gone")
        self._described = DESCRIBED
        return super().describe_group(group_id)

    def group_records(self, group_id: str) -> Any:
        """Without the last one, by which the group is empty."""
        return iter(list(super().group_records(group_id))[:-1])

    def __enter__(self) -> OnTheNetwork:
        return self

    def __exit__(self, *failure: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_cluster, "KafkaCluster", OnTheNetwork)


def snapshot(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert run(["snapshot", *arguments]) == code
    captured_text = capsys.readouterr()
    return captured_text.out, captured_text.err


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "app.properties"
    path.write_text("acceptable.recovery.lag = 100\nnum.standby.replicas = 1\n")
    return str(path)


def test_a_running_group(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown, said = snapshot(capsys, *GROUP, "--topology", TOPOLOGY, "--streams-config", config)
    row = json.loads(shown)
    assert (row["application_id"], row["generation"]) == ("S2b", 7)
    assert row["config"] == {"acceptable_recovery_lag": 100, "num_standby_replicas": 1}
    assert all("end_offset_sum" in task for task in row["tasks"] if task["stateful"])
    assert said.splitlines() == [
        "kstream-plan: warning: a running group does not show when its members reported their offsets: copies that "
        "have caught up by now may look behind; --set offsets.topic=true reads the time"
    ]
    assert OnTheNetwork.reached == ("broker:9092", {})


@pytest.mark.parametrize("topology", [("--topology", TOPOLOGY), ()])
def test_a_running_group_is_asked_for_the_offsets_of_what_was_measured(
    topology: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = json.loads(snapshot(capsys, *GROUP, "--topology", TOPOLOGY)[0])
    held = (
        (i, consumer, task) for i in row["instances"] for consumer in i["consumers"] for task in consumer["standby"]
    )
    instance, consumer, task = next(copy for copy in held if copy[2].startswith("1_"))
    client, number = consumer["consumer_id"].split("-StreamThread-")[0], task.partition("_")[2]
    ends = DESCRIBED["changelogEndOffsets"]
    lines = [
        metric_texts.position(
            "records_lead", ends[f"S2b-{store}-changelog"][number] - 7, client=client, partition=number
        ).replace("my.app-A", f"S2b-{store}")
        for store in "BC"
    ]
    store = 'kafka_streams_stream_state_metrics_put_rate{rocksdb_state_id="%s",task_id="1_0"} 0.0'
    (tmp_path / "one.prom").write_text(metric_texts.text([*lines, *(store % name for name in "BC")]))
    shown, said = snapshot(capsys, *GROUP, *topology, "--metrics", str(tmp_path))
    measured = [lag for lag in json.loads(shown)["lags"] if lag["source"] == "metrics"]
    assert [(lag["process_id"], lag["task_id"], lag["lag"]) for lag in measured] == [(instance["process_id"], task, 14)]
    assert "S2b: 1 of " in said


def test_what_is_left_out_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = snapshot(capsys, *GROUP)
    assert [line.partition("warning: ")[2].split(":")[0] for line in said.splitlines()] == [
        "a running group does not show when its members reported their offsets",
        "without --topology the changelogs are unknown of 2 stateful subtopologies",
        "a group does not tell its application's configuration",
    ]


def test_the_list_of_the_group_s_generations(capsys: pytest.CaptureFixture[str]) -> None:
    shown, said = snapshot(capsys, *GROUP, "--set", "offsets.topic=true", "--list")
    assert said == ""
    assert_golden("history/offsets-topic.txt", shown)
    part, _ = snapshot(capsys, *GROUP, "--set", "offsets.topic=true", "--list", "--from", "2026-11-21T13:05:00Z")
    assert part.splitlines()[2] == shown.splitlines()[2]
    assert 1 < len(part.splitlines()) < len(shown.splitlines())


def rows_of(shown: str) -> dict[str, dict[str, Any]]:
    return {row["application_id"]: row for row in map(json.loads, shown.splitlines())}


def test_several_groups_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    shown, said = snapshot(capsys, *GROUP, "--group", "payments", "--group", "S2b")
    assert list(rows_of(shown)) == ["S2b", "payments"]
    warnings = [line.removeprefix("kstream-plan: warning: ").split(":")[0] for line in said.splitlines()]
    assert list(dict.fromkeys(warnings)) == ["S2b", "payments"]
    turned = snapshot(capsys, *GROUP[:2], "--group", "payments", *GROUP[2:])[0]
    assert list(rows_of(turned)) == ["payments", "S2b"]


def test_one_group_that_fails_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "groups.jsonl"
    options = (*GROUP[:2], "--group", "*", "--out", str(out))
    shown, said = snapshot(capsys, *options, code=1)
    assert shown == ""
    assert "kstream-plan: error: group gone: does not exist on this cluster\n" in said
    assert list(rows_of(out.read_text())) == ["S2b", "payments"]
    assert snapshot(capsys, *GROUP[:2], "--group", "gone", code=1)[0] == ""


def test_all_groups_where_none_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(OnTheNetwork, "streams_groups", lambda _: [])
    shown, said = snapshot(capsys, *GROUP[:2], "--group", "*", code=1)
    assert shown == ""
    assert said.startswith("kstream-plan: error: broker:9092: no group of Kafka Streams runs there. Fix: start")


def test_a_group_given_twice_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    alone, twice = (
        snapshot(capsys, *GROUP, *again, "--set", "offsets.topic=true", "--list")[0].partition("\nNext: ")[0]
        for again in ([], ["--group", "S2b"])
    )
    assert alone == twice


@pytest.mark.parametrize("folder", [True, False])
def test_each_group_has_its_own_topology_and_settings(
    folder: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, standbys in (("S2b", 1), ("payments", 2)):
        (tmp_path / f"{name}.properties").write_text(f"num.standby.replicas={standbys}\n")
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "S2b.txt").write_text(Path(TOPOLOGY).read_text())
    given = [
        *("--streams-config", str(tmp_path) if folder else f"S2b={tmp_path}/S2b.properties"),
        *("--topology", str(tmp_path / "topologies") if folder else f"S2b={TOPOLOGY}"),
        *(() if folder else ("--streams-config", str(tmp_path / "payments.properties"))),
    ]
    found = rows_of(snapshot(capsys, *GROUP, "--group", "payments", *given)[0])
    assert {name: row["config"]["num_standby_replicas"] for name, row in found.items()} == {"S2b": 1, "payments": 2}
    assert all("end_offset_sum" in task for task in found["S2b"]["tasks"] if task["stateful"])
    assert not any("end_offset_sum" in task for task in found["payments"]["tasks"])


def test_what_is_given_for_nobody_is_told(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = snapshot(capsys, *GROUP, "--streams-config", f"orders={config}")[1]
    assert "warning: --streams-config orders=… is for an application that is not there\n" in said
    assert "Give --streams-config" in said
    for name in ("S2b.properties", "S2b.yaml"):
        (tmp_path / name).write_text("num.standby.replicas: 1\n")
    said = snapshot(capsys, *GROUP, "--streams-config", str(tmp_path), code=2)[1]
    assert "S2b.properties and S2b.yaml are both named 'S2b'" in said


def test_the_history_of_a_group_as_a_file(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "history.jsonl.gz"
    options = (
        "--set",
        "offsets.topic=true",
        "--all",
        "--topology",
        TOPOLOGY,
        "--streams-config",
        config,
        "--out",
        str(out),
    )
    shown, said = snapshot(capsys, *GROUP, *options)
    written = [json.loads(line) for line in gzip.decompress(out.read_bytes()).splitlines()]
    known = rows(SCENARIO, "inputs")
    name = written[0]["application_id"]
    assert (shown, said) == ("", f"kstream-plan: wrote {len(written)} snapshots of {name} to {out}\n")
    assert [row["generation"] for row in written] == [*(row["generation"] for row in known), len(known)]
    assert written[-1]["rates"]


def test_one_moment_of_the_past(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A record is written some milliseconds after the decision that it holds."""
    following, known = rows(SCENARIO, "inputs")[6], rows(SCENARIO, "inputs")[5]
    options = ("--set", "offsets.topic=true", "--as-of", following["captured_at"], "--streams-config", config)
    row = json.loads(snapshot(capsys, *GROUP, *options)[0])
    assert row["generation"] == known["generation"]
    assert known["captured_at"] <= row["captured_at"] < following["captured_at"]


def test_a_configuration_that_is_given_is_not_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.properties"
    path.write_text("application.id=orders\n")
    said = snapshot(capsys, *GROUP, "--streams-config", str(path))[1]
    assert f"warning: {path} sets nothing that the assignor goes by: Kafka's defaults will count\n" in said
    assert "Give --streams-config" not in said
    assert "Give --streams-config" in snapshot(capsys, *GROUP)[1]


def test_names_are_given_by_process_client_or_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row, *_) = [json.loads(line) for line in snapshot(capsys, *GROUP)[0].splitlines()]
    first, second, *_ = row["instances"]
    client = second["consumers"][0]["consumer_id"].split("-StreamThread-")[0]
    names = tmp_path / "names.yaml"
    names.write_text(
        f"127.0.0.1: one-machine\n{first['process_id']}: {{host: orders-0, rack: a}}\n{client}: {{rack: b}}\ngone: x\n"
    )
    shown, said = snapshot(capsys, *GROUP, "--set", f"names={names}")
    row = json.loads(shown)
    assert "no instance has a name that --set names gives, gone first" in said
    assert [(instance["host"], instance["rack"]) for instance in row["instances"]][:3] == [
        ("orders-0", "a"),
        ("one-machine", "b"),
        ("one-machine", None),
    ]


def test_the_command_config_says_how_to_log_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=PLAINTEXT\nclient.id=ops\n")
    snapshot(capsys, *GROUP, "--command-config", str(path))
    assert OnTheNetwork.reached[1] == {"security_protocol": "PLAINTEXT", "client_id": "ops"}


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "no source of a snapshot is given"),
        (("--group", "S2b"), "--group is about a running group"),
        ((__file__, "--set", "offsets.topic=true"), "--set offsets.topic is about a running group"),
        (("--bootstrap-server", "b:1"), "--bootstrap-server needs a group"),
        ((*GROUP, "x.log"), "a log and a cluster are two sources"),
        ((*GROUP, "more.log"), "a log and a cluster are two sources"),
        ((*GROUP, "--application-id", "S2b"), "--group names the application already"),
        ((*GROUP, "--list"), "--list is about a history"),
        ((*GROUP, "--as-of", "2026-11-21T13:05:00Z"), "--as-of is about a history"),
        ((*GROUP, "--set", "offsets.topic=true", "--from", "noon"), "--from: 'noon' is not a time"),
        ((*GROUP, "--set", "offsets.topic=true", "--as-of", "noon"), "--as-of: 'noon' is not a time"),
        ((*GROUP, "--group", "*"), "--group '*' takes in every --group"),
        (("--group", "*"), "--group is about a running group"),
        ((*GROUP, "--group", "b", "--topology", TOPOLOGY), "a topology is of one application"),
        (("--bootstrap-server", "b:1", "--group", "*", "--topology", TOPOLOGY), "a topology is of one application"),
        ((*GROUP, "--topology", TOPOLOGY, "--topology", TOPOLOGY), "--topology: is given more than once"),
        ((*GROUP, "--topology", f"a={TOPOLOGY}", "--topology", f"a={TOPOLOGY}"), "--topology: is given more than once"),
        (("--group", "S2b", "--bootstrap-server", ""), "--bootstrap-server: '' is no HOST:PORT"),
        (("--group", "S2b", "--bootstrap-server", "broker"), "--bootstrap-server: 'broker' is no HOST:PORT"),
        (("--group", "S2b", "--bootstrap-server", "b:1,c:x"), "--bootstrap-server: 'c:x' is no HOST:PORT"),
        (("--group", "S2b", "--bootstrap-server", "b:65536"), "--bootstrap-server: 'b:65536' is no HOST:PORT"),
        (
            (*GROUP, "--set", "offsets.topic=true", "--all", "--as-of", "2026-11-21T13:05:00Z"),
            "--as-of is about one snapshot",
        ),
    ],
)
def test_options_that_do_not_go_together(
    arguments: tuple[str, ...], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, said = snapshot(capsys, *arguments, code=2)
    assert shown == ""
    assert said.startswith(f"kstream-plan: error: {what}")
    assert ". Fix: " in said


def test_a_topology_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.txt"
    said = snapshot(capsys, *GROUP, "--topology", str(path), code=1)[1]
    assert said == (
        f"kstream-plan: error: --topology {path}: cannot be read: No such file or directory. "
        "Fix: name a file that the text of Topology.describe() was written to\n"
    )


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "kafka", None)
    assert snapshot(capsys, *GROUP, code=1)[1] == (
        "kstream-plan: error: a cluster cannot be asked: kafka-python is not installed. "
        "Fix: pip install 'kstream-plan[kafka]'\n"
    )
