"""Answers of Connect's REST interface are read however they were saved, or named as what they are."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.connect_rest.status import StatusRow, row_of_status
from tests.snapshots.connect_rest.test_connect_rest import SAVED

WHOLE: dict[str, Any] = json.loads(SAVED)
TEXT = json.dumps(WHOLE)
STATUSES = [parts["status"] for parts in WHOLE.values()]
INFOS = [parts["info"] for parts in WHOLE.values()]
HEADERS = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nServer: Jetty(9.4)\r\n\r\n"


def _read(content: str | bytes) -> StatusRow:
    data = content.encode() if isinstance(content, str) else content
    return row_of_status(data, "file", group_id="g", captured_at=None, config={})


def _resource(status: Any, cluster: str = "c") -> Any:
    metadata = {"name": status["name"], "labels": {"strimzi.io/cluster": cluster}}
    resource = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaConnector", "metadata": metadata}
    return {**resource, "status": {"connectorStatus": status}}


def _lines(documents: list[Any]) -> str:
    return "\n".join(map(json.dumps, documents))


VERBOSE = (
    f"* Connected to x\n> GET / HTTP/1.1\n>\n< HTTP/1.1 200 OK\n<\n{{ [4 bytes data]\n{TEXT}\n* Connection #0 left\n"
)
WHOLE_FORMS: dict[str, str | bytes] = {
    "pretty": json.dumps(WHOLE, indent=2),
    "coloured by jq": "\x1b[1;39m" + json.dumps(WHOLE, indent=2).replace('": ', '"\x1b[0m\x1b[1;39m: ') + "\x1b[0m",
    "windows": json.dumps(WHOLE, indent=2).replace("\n", "\r\n"),
    "PowerShell": TEXT.encode("utf-16"),
    "curl -i": HEADERS + TEXT,
    "redirected": "HTTP/1.1 302 Found\r\nLocation: x\r\n\r\n" + HEADERS + TEXT,
    "curl -v": VERBOSE,
    "progress": f"  % Total  % Received\n\r 0 0 --:--:-- 0\r100 9 --:--:-- 12\n{TEXT}",
    "prompt": f"root@connect:/# curl -s x | jq\n{json.dumps(WHOLE, indent=2)}\nroot@connect:/# \n",
    "kubectl exec": f'Defaulted container "connect" out of: connect, init (init)\n{TEXT}',
    "jq pairs": json.dumps([{"key": name, "value": parts} for name, parts in WHOLE.items()]),
    "jq list": json.dumps(list(WHOLE.values())),
    "twice": f"{TEXT}\n{TEXT}",
    "wrapped": json.dumps({"status": 200, "json": WHOLE}),
    "YAML": yaml.safe_dump(WHOLE),
    "page of HTML": TEXT.replace('"', "&quot;"),
    "printed by Python": str(WHOLE),
    "list printed by Python": str(list(WHOLE.values())),
    "one name a line": _lines([{name: parts} for name, parts in WHOLE.items()]),
}


@pytest.mark.parametrize("form", WHOLE_FORMS)
def test_a_whole_answer_is_read_in_every_form(form: str) -> None:
    assert _read(WHOLE_FORMS[form]) == _read(SAVED)


SINGLE_FORMS: dict[str, Callable[[list[Any]], str]] = {
    "lines": _lines,
    "echoed": lambda statuses: "\n".join(f"== {each['name']} ==\n{json.dumps(each, indent=1)}" for each in statuses),
    "curl -i of each": lambda statuses: "\n".join(HEADERS + json.dumps(each) for each in statuses),
    "Strimzi": lambda statuses: yaml.safe_dump_all(map(_resource, statuses)),
    "Strimzi's list": lambda statuses: yaml.safe_dump(
        {"apiVersion": "v1", "kind": "List", "items": [*map(_resource, statuses)]}
    ),
}


@pytest.mark.parametrize("form", SINGLE_FORMS)
def test_statuses_one_by_one_are_read_in_every_form(form: str) -> None:
    found = _read(SINGLE_FORMS[form](STATUSES))
    assert found.row["instances"] == _read(SAVED).row["instances"]
    assert found.notes[0].code == "connectors-by-status"


def test_statuses_and_infos_belong_together_by_name() -> None:
    assert _read(_lines([*STATUSES, *INFOS])).row == _read(SAVED).row


def test_names_with_statuses_lack_the_infos() -> None:
    found = _read(json.dumps({status["name"]: status for status in STATUSES}))
    assert found.notes[0].code == "tasks-by-status"


def _mirror_maker(status: Any, name: str = "mm") -> Any:
    resource = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaMirrorMaker2", "metadata": {"name": name}}
    return {**resource, "spec": {"replicas": 2}, "status": status}


@pytest.mark.parametrize("is_list", [False, True])
def test_the_statuses_of_a_mirror_maker_resource_are_all_of_its_group(is_list: bool) -> None:
    resource = _mirror_maker({"connectors": STATUSES, "replicas": 2})
    found = _read(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [resource]} if is_list else resource))
    assert found.row["instances"] == _read(SAVED).row["instances"]
    assert found.notes[0].code == "tasks-by-status"


@given(st.integers(1, 2_000))
def test_what_is_cut_off_is_never_fewer_connectors(cut: int) -> None:
    lines = json.dumps(WHOLE, indent=1).splitlines(keepends=True)
    place = 1 + cut % (len(lines) - 2)
    for text in ("".join(lines[place:]), "".join(lines[:place])):
        with pytest.raises(SnapshotError) as error:
            _read(text)
        assert error.value.fix


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps(STATUSES[0]), "the status of one connector"),
        (yaml.safe_dump(_resource(STATUSES[0])), "the status of one connector"),
        (_lines([_resource(each, str(number)) for number, each in enumerate(STATUSES)]), "several Connect clusters"),
        (_lines([*STATUSES, {**STATUSES[0], "type": "other"}]), "two answers about 'alpha' that differ"),
        (_lines([WHOLE, {"z": {"status": {**STATUSES[0], "name": "z"}, "info": INFOS[0]}}]), "of several groups"),
        (_lines([*STATUSES, {"error_code": 404, "message": "No status"}]), "is an error: 'No status'"),
        ('{"version": "3.6.0", "commit": "x", "kafka_cluster_id": "y"}', "the version of a worker"),
        ('[{"class": "x", "type": "sink", "version": "1"}]', "the plugins of a worker"),
        ('{"id": 0, "state": "RUNNING", "worker_id": "a:8083"}', "the status of one task"),
        (yaml.safe_dump(_mirror_maker({"replicas": 2})), "KafkaMirrorMaker2 without status.connectors"),
        (
            _lines([_mirror_maker({"connectors": [each]}, str(number)) for number, each in enumerate(STATUSES)]),
            "several",
        ),
        ("kind: KafkaConnect\napiVersion: kafka.strimzi.io/v1beta2\n", "KafkaConnect"),
        ("< HTTP/1.1 503 Unavailable\n", "code 503"),
        ("a:\n- [\n", "no YAML"),
    ],
)
def test_anything_else_is_named(content: str, words: str) -> None:
    with pytest.raises(SnapshotError) as error:
        _read(content)
    assert words in str(error.value)
    assert error.value.fix
