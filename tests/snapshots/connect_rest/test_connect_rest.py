"""What REST says of a Connect group as a snapshot: exact in its counts, and asked for of nobody but who was named."""

from __future__ import annotations

import base64
import gzip
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.errors import ClusterError, SnapshotError, UsageError
from kstream_plan.model.answer import Answer
from kstream_plan.model.scenario import Join, Leave, Return, Scenario, Stop
from kstream_plan.plans import HandOver, NobodyRuns, Plan, Revoke
from kstream_plan.plans.timeline import timeline
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.connect_log.history import checked_row, read_connect_logs
from kstream_plan.snapshots.connect_rest.ask import Access, ask_status, checked_url, who_answers
from kstream_plan.snapshots.connect_rest.saved_forms import PATH
from kstream_plan.snapshots.connect_rest.status import StatusRow, row_of_status
from kstream_plan.snapshots.files.content import Limits, reading_within
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.captured import REAL
from tests.helpers.check_cases import NOW
from tests.helpers.connect_rows import worker
from tests.helpers.schemas import validator

LIVE = REAL / "connect"
SAVED = gzip.decompress((LIVE / "rest1.json.gz").read_bytes())
#: A certificate for 127.0.0.1 that nobody trusts, and its key.
CERTIFICATE = Path(__file__).parent / "server.pem"


def read(content: Any, **config: int) -> StatusRow:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    found = row_of_status(data, "rest.json", group_id="live", captured_at=None, config=config)
    validator("snapshot").validate(found.row)
    return found


# --- what an answer is ------------------------------------------------------------------------------------------


def _counts(plan: Plan) -> list[tuple[int, int, int, int]]:
    """Of every round when it is, and how many items stop, start, and are run by nobody."""
    return [
        (
            rnd.at_ms,
            sum(isinstance(step, Revoke) for step in rnd.steps),
            sum(isinstance(step, HandOver) for step in rnd.steps),
            sum(len(step.task_ids) for step in rnd.steps if isinstance(step, NobodyRuns)),
        )
        for rnd in plan.rounds
    ]


@pytest.mark.parametrize(
    "events",
    [
        lambda name: (Join(at_ms=0, instances=(worker("new"),)),),
        lambda name: (Stop(at_ms=0, process_ids=(name("127.0.0.1:18083"),), crash=True),),
        lambda name: (Leave(at_ms=0, process_ids=(name("127.0.0.1:18082"), name("127.0.0.1:18083"))),),
        lambda name: (
            Leave(at_ms=0, process_ids=(name("127.0.0.1:18083"),)),
            Return(at_ms=12_000, process_ids=(name("127.0.0.1:18083"),)),
        ),
    ],
)
def test_counts_are_those_of_the_logs(events: Callable[[Callable[[str], str]], tuple[Any, ...]]) -> None:
    logged = snapshot_from_row(checked_row(read_connect_logs([str(LIVE / "*.log*.gz")])[10]), "row")
    hosts = {instance.host: instance.process_id for instance in logged.state.group.instances}
    saved = snapshot_from_row(read(SAVED, scheduled_rebalance_max_delay_ms=40_000).row, "row")
    by_log = plan_checked(logged, scenario=Scenario(events=events(lambda host: hosts[host])))
    by_rest = plan_checked(saved, scenario=Scenario(events=events(str)))
    assert _counts(by_rest) == _counts(by_log)
    assert "counts-only" in {note.code for note in by_rest.assumptions}


def test_who_leads_is_not_known_and_counts_as_somebody_who_stays() -> None:
    saved = snapshot_from_row(read(SAVED).row, "row")
    for name in ("127.0.0.1:18081", "127.0.0.1:18082", "127.0.0.1:18083"):
        result = plan_checked(saved, scenario=Scenario(events=(Leave(at_ms=0, process_ids=(name,)),)))
        assert [at for at, *_ in _counts(result)] == [0, 300_000]


def _with(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(SAVED)
    change(answer["alpha"])
    return answer


def _state(state: str) -> dict[str, Any]:
    return _with(lambda item: item["status"]["tasks"][1].update(state=state))


def test_who_has_stopped_is_named_by_what_nobody_runs() -> None:
    answer = json.loads(SAVED)
    for entry in answer.values():
        for item in (entry["status"]["connector"], *entry["status"]["tasks"]):
            if item["worker_id"] == "127.0.0.1:18083":
                item["state"] = "UNASSIGNED"
    found = read(answer)
    (note,) = (note for note in found.notes if note.code == "unassigned")
    assert note.message.endswith("; 127.0.0.1:18083 is without work now: stopped, or back and waiting for the delay")
    assert "delay-unknown" in {note.code for note in snapshot_from_row(found.row, "row").warnings}


def test_a_failed_item_is_assigned_and_told() -> None:
    found = read(_state("FAILED"))
    captured = snapshot_from_row(found.row, "row")
    assert [note.code for note in captured.warnings] == ["failed-items", "delay-unknown"]
    assert sum(len(held.active) for held in captured.state.holdings) == 15


@pytest.mark.parametrize(
    ("answer", "code", "held"),
    [
        (_state("SLEEPING"), "unknown-state", 15),
        (_state("UNASSIGNED"), "unassigned", 14),
        (_with(lambda entry: entry["info"]["tasks"].pop()), "stale-status", 14),
        (_with(lambda item: item["status"]["tasks"].pop()), "unassigned", 14),
    ],
)
def test_what_is_odd_is_told(answer: dict[str, Any], code: str, held: int) -> None:
    found = read(answer)
    assert [note.code for note in found.notes] == ["rest-only", code]
    captured = snapshot_from_row(found.row, "row")
    assert sum(len(holding.active) for holding in captured.state.holdings) == held


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SAVED[:1000], "cut off, or no JSON: line 1"),
        (b"[" * 100_000, "cut off, or no JSON"),
        (b'{"\xff": 1}', "no UTF-8"),
        (["alpha"], "without expand=status&expand=info"),
        ({"error_code": 409, "message": "Cannot complete request"}, "is an error: 'Cannot complete"),
        ({}, "holds no connector"),
        (_with(lambda element: element.pop("info")), "'alpha': info is missing: it was asked for without expand=info"),
        (_with(lambda item: item.pop("status")), "without expand=status"),
        (_with(lambda of: of["info"]["tasks"].pop(0)), "not numbered from 0 on"),
        (
            _with(lambda member_of: member_of["status"]["connector"].pop("worker_id")),
            "status.connector.worker_id is missing",
        ),
        (_with(lambda of: of["status"]["tasks"][0].update(id="x")), r"status.tasks\[0\].id is 'x'"),
        (_with(lambda entry: entry["status"].update(tasks="x")), "status.tasks is 'x'"),
    ],
)
def test_another_answer_is_refused(content: Any, message: str) -> None:
    with pytest.raises(SnapshotError, match=message) as error:
        read(content)
    assert error.value.where == "rest.json"
    assert error.value.fix


# --- asking for it ----------------------------------------------------------------------------------------------


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None], *, tls: bool = False) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def says(content: bytes, status: int = 200, length: int | None = None, **headers: str) -> Callable[[Any], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def test_one_request_is_made_with_user_and_password() -> None:
    seen = list[tuple[str, str | None]]()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append((handler.path, handler.headers["Authorization"]))
        says(SAVED)(handler)

    with serving(answer) as url:
        assert ask_status(checked_url(f"{url}/below/"), Access(user_info="user:pässword")) == SAVED
    assert seen == [("/below" + PATH, f"Basic {base64.b64encode('user:pässword'.encode()).decode()}")]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (says(b"", 401), "answers with status 401"),
        (says(b"", 404), "answers with status 404"),
        (says(b"", 302, Location="http://other.example:8083/x?token=secret"), "redirect .302. to other.example"),
        (says(b"", 301, Location="http://[x"), "redirect .301. to another address"),
        (says(SAVED, length=len(SAVED) + 1), "broke off in the middle"),
        (says(SAVED * 20), "holds more than"),
        (lambda handler: handler.wfile.write(b"SSH-2.0\r\n"), "does not answer as HTTP does"),
        (lambda handler: handler.connection.close(), "answer|reached"),
    ],
)
def test_what_is_no_answer_is_told_without_a_secret(answer: Callable[[Any], None], message: str) -> None:
    with serving(answer) as url, reading_within(Limits(wait_ms=5_000, text_bytes=10_000)):
        with pytest.raises(ClusterError, match=message) as error:
            ask_status(checked_url(url), Access(user_info="user:secret"))
        assert error.value.where == url
        assert "secret" not in str(error.value)
        assert error.value.fix


def test_the_time_is_over_however_little_comes_at_a_time() -> None:
    def drips(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        try:
            for _ in range(200):
                handler.wfile.write(b"X: y\r\n")
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            return

    begun = time.monotonic()
    with serving(drips) as url, reading_within(Limits(wait_ms=300)):
        with pytest.raises(ClusterError, match=r"has not answered within 0\.3 s"):
            ask_status(checked_url(url), Access())
        assert time.monotonic() - begun < 10


def test_tls_is_checked() -> None:
    with serving(says(SAVED), tls=True) as url, pytest.raises(ClusterError, match="cannot be reached by TLS"):
        ask_status(checked_url(url), Access())
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    with serving(says(SAVED), tls=True) as url:
        assert ask_status(checked_url(url), Access(trusting)) == SAVED


@pytest.mark.parametrize(
    "url", ["ftp://a", "http://", "a:8083", "http://a:x", "http://a:8083/?x", "http://u:p@a", "http://a\n"]
)
def test_what_is_no_address_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError) as error:
        checked_url(url)
    assert url == "http://" or url not in str(error.value)


def test_a_running_worker_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    login, out = tmp_path / "client.properties", tmp_path / "connect.json"
    login.write_text("basic.auth.user.info=user:secret\n", encoding="utf-8")
    with serving(says(SAVED)) as url:
        assert run(["snapshot", "--connect-url", url, "--command-config", str(login), "--out", str(out)]) == 0
    row = json.loads(out.read_text(encoding="utf-8"))
    assert (row["exact"], row["application_id"], len(row["instances"])) == (False, "connect", 3)
    assert row["captured_at"] >= "2026"
    assert "REST does not show the leader" in capsys.readouterr().err


ABOUT = json.dumps({"version": "4.3.1", "commit": "1", "kafka_cluster_id": "c"}).encode()


def at(*addresses: str) -> bytes:
    """The saved answer of workers at other addresses."""
    saved = SAVED
    for number, address in enumerate(addresses, start=1):
        saved = saved.replace(f"127.0.0.1:1808{number}".encode(), address.encode())
    return saved


def test_a_worker_that_is_gone_in_the_middle_of_a_delay_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a killed worker ran still shows as running there: only its own address tells that it has gone."""
    seen, workers, out = list[str | None](), list[str](), tmp_path / "connect.json"
    login = tmp_path / "client.properties"
    login.write_text("basic.auth.user.info=user:secret\n", encoding="utf-8")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/":
            seen.append(handler.headers["Authorization"])
            says(ABOUT)(handler)
        else:
            says(at(*workers))(handler)

    with serving(answer) as first, serving(says(b"{}", 401)) as second, serving(says(ABOUT)) as third:
        workers += [url.removeprefix("http://") for url in (first, second, third)]
        asked = ["snapshot", "--connect-url", first, "--command-config", str(login), "--out", str(out)]
        assert run(asked) == 0
        captured = snapshot_from_row(json.loads(out.read_text(encoding="utf-8")), "row")
        assert [note.code for note in captured.warnings] == ["delay-unknown"]
        assert "a worker that was killed and has restarted since" in captured.warnings[0].message
    third = third.removeprefix("http://")
    with serving(answer) as first, serving(says(b"{}", 401)) as second:
        workers[:2] = [url.removeprefix("http://") for url in (first, second)]
        asked[2] = first
        assert run(asked) == 0
    row = json.loads(out.read_text(encoding="utf-8"))
    validator("snapshot").validate(row)
    assert {instance["process_id"]: instance["answered"] for instance in row["instances"]} == {
        workers[0]: True,
        workers[1]: True,
        third: False,
    }
    silent, unknown = snapshot_from_row(row, "row").warnings
    assert (silent.code, unknown.code) == ("worker-silent", "delay-unknown")
    assert third in silent.message
    assert len(silent.subjects) == 5
    assert seen == [None, None]  # a login goes to nobody who was not named
    assert "user and password of --command-config are sent over http" in capsys.readouterr().err
    assert run(["assign", str(out)]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "No delay runs by now" not in page
    assert f"No answer from {third}: gone, or not reachable from here. 5 connectors and tasks" in page


def test_the_settings_of_a_worker_are_those_of_its_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings, unknown = tmp_path / "worker.properties", "Kafka's defaults will count"
    settings.write_text("group.id=connect\nscheduled.rebalance.max.delay.ms=40000\n", encoding="utf-8")
    with serving(says(SAVED)) as url:
        for command in ("snapshot", "wait settled --give-up-after 0s --set timeout=100ms"):
            words = [*command.split(), "--connect-url", url]
            run(words)
            assert f"{unknown} (scheduled.rebalance.max.delay.ms 300000" in capsys.readouterr().err
            for option in ("--streams-config", "--connect-config"):
                run([*words, option, str(settings)])
                error = capsys.readouterr().err
                assert unknown not in error
                assert (f"warning: {option} goes with" in error) == (option == "--connect-config")


def test_another_address_is_asked_if_one_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "connect.json"
    with serving(says(b"")) as gone:
        pass
    with serving(says(SAVED)) as url:
        assert run(["snapshot", "--connect-url", gone, "--connect-url", url, "--out", str(out)]) == 0
        assert "the next --connect-url is asked" in capsys.readouterr().err
        assert run(["snapshot", "--connect-url", url, "--connect-url", gone, "--out", str(out)]) == 0
    assert run(["snapshot", "--connect-url", gone, "--connect-url", gone]) == 1


@pytest.mark.parametrize(
    ("answer", "there"),
    [
        (says(ABOUT), True),
        (says(b"", 401), True),
        (says(b"", 403), True),
        (says(b"<html>"), False),
        (says(b"[]"), False),
        (says(b'{"version": "1"}'), False),
        (says(b"", 302, Location="http://other.example:8083/"), False),
        (lambda handler: handler.wfile.write(b"SSH-2.0\r\n"), False),
        (lambda handler: handler.connection.close(), False),
    ],
)
def test_only_a_worker_counts_as_one_that_is_there(answer: Callable[[Any], None], there: bool) -> None:
    with serving(answer) as url:
        worker_id = url.removeprefix("http://")
        assert who_answers([worker_id, "no address"], "http", None) == {worker_id: there, "no address": False}


def test_unassigned_items_are_told_as_such() -> None:
    captured = snapshot_from_row(read(_state("UNASSIGNED")).row, "row")
    (note,) = captured.warnings
    assert note.code == "delay-unknown"
    assert note.subjects == ("alpha-1",)
    assert "1 of 15 connectors and tasks are unassigned (alpha-1)" in note.message
    (running,) = snapshot_from_row(read(_state("RUNNING")).row, "row").warnings
    assert (running.code, running.subjects) == ("delay-unknown", ())
    for item, unknown in ((captured, True), (snapshot_from_row(read(_state("RUNNING")).row, "row"), False)):
        facts = {fact.key: fact.value for fact in page_of(plan_checked(item)).facts}
        assert facts.get("duration", "").endswith(", or unknown") == unknown
        assert facts.get("pause", "").endswith("or unknown") == unknown


def test_what_is_unassigned_when_the_plan_begins_pauses_until_all_have_heard_of_the_first_rebalance() -> None:
    """Without a delay nothing else is unknown of it: what is paused then breaks the rules about pauses."""
    captured = snapshot_from_row(read(_state("UNASSIGNED"), scheduled_rebalance_max_delay_ms=0).row, "row")
    found = plan_checked(captured)
    assert [(str(pause.task_id), pause.length_ms) for pause in found.pauses] == [("alpha-1", 3_000)]
    assert [(level.at_ms, level.number) for level in timeline(found).still][-2:] == [(0, 1), (3_000, 0)]
    for rule, kept, limit in (("max_paused_tasks_at_once", 1, 0), ("max_pause_per_task", 3_000, 2_999)):
        answers = [check_plan(found, Standard(Policy({rule: Limit(most)}), NOW)).answer for most in (kept, limit)]
        assert answers == [Answer.YES, Answer.NO]


@pytest.mark.parametrize(
    "arguments",
    [
        ["connect-status=x", "connect-log=y"],
        ["connect-status=x", "--list"],
        ["connect-status=x", "--command-config", "y"],
        ["--connect-url", "http://a:1", "--generation", "1"],
        ["connect-log=x", "--topology", "y"],
        ["connect-log=x", "--generation", "1", "--all"],
        ["connect-status=x", "y"],
        ["connect-log=x", "--connect-url", "http://a:1"],
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", *arguments]) == 2
    assert "Fix:" in capsys.readouterr().err


SAVED_FORMS = Path(__file__).parent / "saved"


def _row_of(content: bytes) -> StatusRow:
    return row_of_status(content, "file", group_id="connect", captured_at=None, config={})


class TestFormsThatPeopleSave:
    """Statuses are read where they suffice, else named as what they are, with the request that is needed."""

    def test_headers_of_curl_do_not_matter(self) -> None:
        assert _row_of((SAVED_FORMS / "curl-i.json").read_bytes()) == _row_of((SAVED_FORMS / "full.json").read_bytes())

    def test_without_info_tasks_are_those_with_a_status(self) -> None:
        found, whole = (_row_of((SAVED_FORMS / name).read_bytes()) for name in ("status-only.json", "full.json"))
        assert found.row == whole.row
        assert [note.code for note in found.notes] == ["tasks-by-status", *(note.code for note in whole.notes)]

    def test_without_info_a_task_without_a_status_is_noticed(self) -> None:
        answer = json.loads((SAVED_FORMS / "status-only.json").read_bytes())
        answer["orders-sink"]["status"]["tasks"].pop(0)
        with pytest.raises(SnapshotError, match=r"status\.tasks are not numbered from 0 on"):
            _row_of(json.dumps(answer).encode())

    @pytest.mark.parametrize("separator", ["\n", ",", "list", "kubernetes"])
    def test_statuses_of_several_connectors_are_read(self, separator: str) -> None:
        statuses = [json.loads(line) for line in (SAVED_FORMS / "concat-status.json").read_text().splitlines()]
        content = separator.join(map(json.dumps, statuses))
        if separator == "list":
            content = json.dumps(statuses)
        elif separator == "kubernetes":
            items = [
                {"kind": "KafkaConnector", "apiVersion": "v1", "metadata": {}, "status": {"connectorStatus": status}}
                for status in statuses
            ]
            content = json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
        found = _row_of(content.encode())
        assert [connector["name"] for connector in found.row["connectors"]] == ["b", "orders-sink"]
        assert found.notes[0].code == "connectors-by-status"

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            ((SAVED_FORMS / "one-status.json").read_text(), "the status of one connector, 'orders-sink'"),
            ((SAVED_FORMS / "strimzi-cr.json").read_text(), "the status of one connector, 'orders-sink'"),
            ('["a", "b"]', "lists names only"),
            ('{"name": "a", "config": {"tasks.max": "2"}, "tasks": [], "type": "sink"}', "the configuration of 'a'"),
            ('[{"id": {"connector": "a", "task": 0}, "config": {}}]', "are the tasks of one connector"),
            ('{"kind": "KafkaConnector", "apiVersion": "v1", "metadata": {}}', "without status.connectorStatus"),
            ("apiVersion: v1\nkind: KafkaConnector\n", "without status.connectorStatus"),
            ("", "is empty"),
            ('{"total": 1, "rows": []}', "is JSON of something else, not a status: it has 'rows', 'total'"),
            ('{"kind": "KafkaConnect", "apiVersion": "v1", "metadata": {}}', "nor a KafkaConnector"),
            ("HTTP/1.1 502 Bad Gateway\r\nServer: x\r\n\r\n<html></html>", "an HTTP answer with code 502"),
            ('HTTP/1.1 409 Conflict\r\nServer: x\r\n\r\n{"error_code": 409, "message": "no"}', "is an error: 'no'"),
        ],
    )
    def test_anything_else_is_named(self, content: str, what: str) -> None:
        with pytest.raises(SnapshotError, match=re.escape(what)) as error:
            _row_of(content.encode())
        assert error.value.fix
