"""A file that is passed where another one belongs is named, with where it belongs."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.snapshots.files.kinds import file_kind
from tests.helpers import plan_cases

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Each kind of file, as errors name it.
KINDS = {
    "a policy": EXAMPLES / "ci" / "policy.yaml",
    "a scenario": EXAMPLES / "scale-out" / "scenario.yaml",
    "a file of settings": EXAMPLES / "app.properties",
    "a log": EXAMPLES / "leader-log" / "orders.log",
    "a snapshot": EXAMPLES / "scale-out" / "snapshot.json",
}
#: Which kind a place takes, and the command line with another file there.
PLACES = {
    "a policy": ["check", "PLAN", "--policy", "FILE"],
    "a scenario": ["simulate", str(KINDS["a snapshot"]), "FILE"],
    "a file of settings": ["assign", str(KINDS["a snapshot"]), "--streams-config", "FILE"],
    "a saved plan": ["show", "FILE"],
    "a snapshot": ["assign", "FILE"],
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(plan_json(plan_cases.case("settled")) + "\n", encoding="utf-8")
    return path


def test_every_kind_is_known_by_its_text(plan: Path) -> None:
    for name, path in {**KINDS, "a saved plan": plan}.items():
        kind = file_kind(path.read_bytes())
        assert kind is not None
        assert kind.name == name


@pytest.mark.parametrize("text", [b"", b"hello", b"[1, 2]", b'{"name": "app"}', b"version: 1\n", b"\xff\xfe"])
def test_other_texts_are_of_no_kind(text: bytes) -> None:
    assert file_kind(text) is None


@pytest.mark.parametrize("wanted", PLACES)
@pytest.mark.parametrize("kind", [*KINDS, "a saved plan"])
def test_a_file_in_the_wrong_place_is_named(
    kind: str, wanted: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == wanted:
        return
    if (kind, wanted) == ("a saved plan", "a snapshot"):
        pytest.skip("found by Spark's reader")
    file = KINDS.get(kind, plan)
    names = {"FILE": str(file), "PLAN": str(plan)}
    assert run([names.get(word, word) for word in PLACES[wanted]]) == 1
    message = capsys.readouterr().err
    assert f"{file}" in message
    assert f": this is {kind}, not {wanted}. Fix: " in message
    assert len(message.splitlines()) == 1


#: What people pass by mistake: a text of each kind, and what its fix must tell.
OTHERS = {
    "a zip archive": (b"PK\x03\x04\x14\x00\x00\x00x", "unpack it"),
    "an archive that is not gzip": (b"BZh91AY&SYx", "unpack it"),
    "a PDF": (b"%PDF-1.7\nx", "text itself"),
    "a binary file": (bytes(range(256)), "text itself"),
    "a page of HTML": (b"<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head></html>\n", "curl -f"),
    "a thread dump": (b'Full thread dump OpenJDK 64-Bit Server VM:\n\n"main" #1 prio=5\n', "log"),
    "a table of kafka-consumer-groups.sh": (b"\nGROUP  TOPIC  PARTITION  LAG  CONSUMER-ID\no  t  0  1  -\n", "--group"),
    "a table of kafka-streams-groups.sh": (b"$ x\nGROUP  COORDINATOR (ID)  STATE  #MEMBERS\n", "snapshot FILE"),
    "a description of topics by kafka-topics.sh": (
        b"Topic: orders\tTopicId: x2JGX_c4T9\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: \n"
        b"\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n",
        "--bootstrap-server",
    ),
    "a list of kubectl": (
        b"NAME       READY   STATUS    RESTARTS   AGE\norders-0   1/1     Running   0\n",
        "kubectl logs",
    ),
    "a file of offsets": (b"orders:0:100\norders:1:200\n", "--metrics"),
    "a topology": (b"Topologies:\n   Sub-topology: 0\n    Source: a (topics: [b])\n      --> none\n", "--topology"),
    "a text of metrics": (b"# HELP x y\n# TYPE x gauge\nx 1\n", "--metrics"),
    "a resource of Kubernetes": (b"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 3}\n", "--streams-config"),
    "a file of Helm's values": (b"replicaCount: 3\nimage:\n  repository: orders\n", "helm template"),
    "a status of Kafka Connect": (
        b'{"name": "a", "connector": {"state": "RUNNING", "worker_id": "h:1"}, "tasks": []}',
        "snapshot FILE",
    ),
}
#: Places of inputs, and what they take of these.
TAKERS = {
    "a snapshot": (["assign", "FILE"], ()),
    "a policy": (["check", "SNAPSHOT", "--policy", "FILE"], ()),
    "a scenario": (["simulate", "SNAPSHOT", "FILE"], ()),
    "a saved plan": (["show", "FILE"], ("a binary file", "a status of Kafka Connect", "a resource of Kubernetes")),
    "a file of settings": (["assign", "SNAPSHOT", "--streams-config", "FILE"], ("a resource of Kubernetes",)),
    "what was measured": (
        ["assign", "SNAPSHOT", "--metrics", "FILE"],
        ("a text of metrics", "a file of offsets", "a page of HTML", "a file of Helm's values"),
    ),
    "a topology": (
        ["snapshot", "describe-text=TABLE", "--set", "broker.version=4.3", "--topology", "FILE"],
        ("a topology",),
    ),
    "a log": (["snapshot", "FILE"], ("a status of Kafka Connect", "a table of kafka-streams-groups.sh")),
    "a status of Kafka Connect": (
        ["snapshot", "connect-status=FILE"],
        ("a status of Kafka Connect", "a resource of Kubernetes"),
    ),
    "a table of kafka-streams-groups.sh": (
        ["snapshot", "describe-text=FILE", "--set", "broker.version=4.3"],
        ("a table of kafka-streams-groups.sh", "a table of kafka-consumer-groups.sh"),
    ),
}
TABLE = Path(__file__).parents[1] / "real" / "streams" / "k43-base.txt"


@pytest.mark.parametrize(
    "text",
    [
        b"spring:\n  kafka:\n    streams:\n      application-id: orders\n",
        b"spring.kafka.streams.application-id=orders\n",
        b"quarkus.kafka-streams.application-id=orders\n",
        b"kafka-streams.num.standby.replicas = 1\n",
    ],
)
def test_settings_of_frameworks_are_known(text: bytes) -> None:
    found = file_kind(text)
    assert found is not None
    assert found.name == "a file of settings"


@pytest.mark.parametrize("kind", OTHERS)
def test_what_people_pass_by_mistake_is_known(kind: str) -> None:
    found = file_kind(OTHERS[kind][0])
    assert found is not None
    assert found.name == kind
    assert OTHERS[kind][1] in found.fix


@pytest.mark.parametrize("place", TAKERS)
def test_it_is_named_wherever_it_does_not_belong(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, taken = TAKERS[place]
    file = tmp_path / "file"
    names = {"FILE": str(file), "SNAPSHOT": str(KINDS["a snapshot"]), "TABLE": str(TABLE)}
    for kind, (content, fix) in OTHERS.items():
        if kind not in taken:
            file.write_bytes(content)
            assert run([re.sub("^SNAPSHOT|FILE$|TABLE$", lambda match: names[match[0]], word) for word in command]) == 1
            said = " ".join(capsys.readouterr().err.split())
            assert f"error: {file}: this is {kind}, not {place}. Fix: " in said
            assert fix in said


def test_another_applications_topology_is_not_told_to_be_in_its_wrong_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "topology.txt"
    file.write_bytes(OTHERS["a topology"][0])
    command, _ = TAKERS["a topology"]
    assert run([word.replace("FILE", str(file)).replace("TABLE", str(TABLE)) for word in command]) == 1
    assert f"error: {file}: has no sub-topology 1. Fix: " in capsys.readouterr().err


def test_a_log_with_something_else_in_it_is_still_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.log"
    file.write_text("2026-03-01 10:00:00,000 INFO starting\nTopologies:\n   Sub-topology: 0\n")
    assert run(["snapshot", str(file)]) == 1
    assert "no decision of Kafka Streams" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["a policy", "a scenario", "a file of settings"])
def test_files_in_gzip_are_read(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"file{KINDS[kind].suffix}"
    file.write_bytes(gzip.compress(KINDS[kind].read_bytes()))
    names = {"PLAN": str(KINDS["a snapshot"]), "FILE": str(file)}
    assert run([names.get(word, word) for word in PLACES[kind]]) in (0, 3)
    assert "error" not in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_other_json_is_no_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.json"
    file.write_text('{"total": 1, "rows": []}')
    assert run(["assign", str(file)]) == 1
    assert "is JSON of something else, not a snapshot: it has 'rows', 'total'" in capsys.readouterr().err
