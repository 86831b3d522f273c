"""Logs of Connect's workers as snapshots: what they hold, what their leader remembers, and what then happens."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.designs.connect.cluster import ConnectCluster
from kstream_plan.designs.connect.frozen import freeze, shift_times, table_bins, thaw
from kstream_plan.errors import SnapshotError
from kstream_plan.model import Snapshot
from kstream_plan.model.connect_group import ConnectGroup
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.connect_log.history import ConnectEntry, checked_row, read_connect_logs
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.benchmarks.replay_vectors import records
from tests.helpers.captured import REAL
from tests.helpers.connect_logs import EPOCH_MS, written
from tests.helpers.replayed_connect import Played, played
from tests.helpers.schemas import validator

LIVE = REAL / "connect"
LOGS = sorted(LIVE.glob("*.log*.gz"))
VECTORS = Path(__file__).parents[2] / "vectors"
#: What a frozen cluster's times are put later by.
_ZERO_MS = 10**15
#: What a log's snapshots may be wrong in, where they say so.
TOLD = {"order-assumed", "configuration-assumed", "memory-assumed"}


def live_logs(folder: Path, change: Callable[[str], str] = str) -> str:
    """The live workers' logs, changed, in a folder."""
    folder.mkdir(exist_ok=True)
    for log in LOGS:
        text = gzip.decompress(log.read_bytes()).decode()
        (folder / log.name.removesuffix(".gz")).write_text(change(text), encoding="utf-8")
    return str(folder)


def on_info(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if " DEBUG " not in line)


def dated(text: str) -> str:
    """The same as Kafka's own layout has it."""

    def line(match: re.Match[str]) -> str:
        at = format_time(EPOCH_MS + int(match[1]))[:-1].replace("T", " ").replace(".", ",")
        return f"[{at}Z] {match[2]} {match[4]} ({match[3]}:255)"

    return re.sub(r"^(\d+) \[[^\]]+\] (\w+) (\S+) - (.*)$", line, text, flags=re.MULTILINE)


def group_of(snapshot: Snapshot) -> ConnectGroup:
    assert isinstance(snapshot.state.memory, ConnectGroup)
    return snapshot.state.memory


def cluster_of(entry: ConnectEntry, at_ms: int, max_delay_ms: int) -> ConnectCluster:
    """The cluster of a snapshot, on a clock by which it was captured then."""
    row = checked_row(entry)
    validator("snapshot").validate(row)
    group = group_of(snapshot_from_row(row, "row"))
    bins = table_bins([worker.member_id for worker in group.workers])
    return thaw(shift_times(replace(group, bins=bins), _ZERO_MS - at_ms), max_delay_ms)


# --- the live cluster -------------------------------------------------------------------------------------------


def observed() -> dict[tuple[int, str], Mapping[str, Any]]:
    """What each worker logged of each generation."""
    lines = gzip.decompress((LIVE / "observed.jsonl.gz").read_bytes()).splitlines()
    found = [json.loads(line) for line in lines]
    return {(one["generation"], one["member_id"]): one for one in found}


def answers(rounds: Iterable[Played]) -> Iterator[tuple[tuple[int, str], dict[str, Any]]]:
    for round_ in rounds:
        for member, worker in round_.cluster.workers.items():
            revoked = round_.round.answer.revoked_items[member]
            yield (
                (round_.round.generation, member),
                {
                    "generation": round_.round.generation,
                    "member_id": member,
                    "leader": round_.round.leader,
                    "connectors": [*worker.items.connectors],
                    "tasks": [f"{name}-{number}" for name, number in worker.items.tasks],
                    "revoked_connectors": [*revoked.connectors],
                    "revoked_tasks": [f"{name}-{number}" for name, number in revoked.tasks],
                    "delay_ms": round_.round.answer.delay_ms,
                },
            )


def sequence() -> dict[str, Any]:
    return dict(json.loads((LIVE / "sequence.json").read_text(encoding="utf-8")))


def test_every_answer_of_the_live_cluster_follows_from_the_first_snapshot_of_its_logs() -> None:
    first, *_ = read_connect_logs([str(LIVE / "*.log*.gz")])
    case = sequence()
    rest = {**case, "start": 0, "max_rounds": 100, "protocol": "sessioned", "events": case["events"][1:]}
    follows = dict(answers(played(rest, 17, cluster_of(first, 0, case["max_delay"]))))
    expected = observed()
    assert len(expected) == 27
    assert {**follows, (1, first.row["instances"][0]["process_id"]): expected[1, _member(first)]} == expected


def _member(entry: ConnectEntry) -> str:
    return str(entry.row["instances"][0]["process_id"])


@pytest.mark.parametrize("change", [str, on_info, dated, lambda text: on_info(dated(text))])
def test_from_each_snapshot_of_the_live_cluster_the_next_answers_follow(
    change: Callable[[str], str], tmp_path: Path
) -> None:
    entries = read_connect_logs([live_logs(tmp_path, change)], now_ms=1_795_351_461_000)
    case, expected = sequence(), observed()
    # rounds are played at these times of the sequence's clock
    times = [0, 1, 2, 3, 4, 5, 6, 10, 10, 20, 20, 30, 42.021, 70, 80]
    for entry, at_s, next_s in zip(entries, times, times[1:], strict=False):
        at_ms, next_ms = round(at_s * 1_000), round(next_s * 1_000)
        happens = [event for event in case["events"] if at_ms < event["at"] <= next_ms]
        rest = {**case, "start": at_ms, "max_rounds": 1, "protocol": "sessioned", "events": happens}
        begun = cluster_of(entry, at_ms, case["max_delay"])
        found = dict(answers(islice(played(rest, 17, begun), 1)))
        for key, answer in found.items():
            assert abs(answer.pop("delay_ms") - expected[key]["delay_ms"]) < 100, key
            assert answer == {name: value for name, value in expected[key].items() if name != "delay_ms"}
        assert {number for number, _ in found} == {entry.generation + 1}


def test_what_the_logs_do_not_tell_is_said(tmp_path: Path) -> None:
    debug, info = tmp_path / "debug", tmp_path / "info"
    debug.mkdir()
    info.mkdir()
    notes = [read_connect_logs([live_logs(debug)])[11].notes, read_connect_logs([live_logs(info, on_info)])[11].notes]
    codes = [[note.code for note in item] for item in notes]
    assert codes == [["no-config"], ["members-assumed", "no-config"]]
    assert "127.0.0.1:18083 to be gone" in notes[1][0].message
    assert "(40000)" in notes[0][0].message


def test_a_generation_of_two_leaders_dates_the_later_one(tmp_path: Path) -> None:
    """The last leader never says what time it is; the one before does, and both joined generation 14 at once."""
    entries = read_connect_logs([live_logs(tmp_path)])
    times = [entry.at_ms for entry in entries if entry.at_ms is not None]
    assert len(times) == len(entries)
    assert times == sorted(times)
    assert times[-1] - times[-2] == pytest.approx(45_438 - 33_350, abs=100)
    assert entries[-1].row["captured_at"] == format_time(times[-1])


def test_a_delay_that_runs_needs_a_date(tmp_path: Path) -> None:
    logs = live_logs(tmp_path, on_info)
    waiting = next(entry for entry in read_connect_logs([logs]) if entry.delay_ms)
    with pytest.raises(SnapshotError, match="a delay of 40 s runs") as error:
        checked_row(waiting)
    assert "--set now" in error.value.fix
    # the leader's last line was written 39.8 s after it had begun to wait
    of_now = next(entry for entry in read_connect_logs([logs], now_ms=1_795_351_453_907) if entry.delay_ms)
    assert of_now.at_ms == 1_795_351_453_907 - (108_483 - 68_455)
    captured = snapshot_from_row(checked_row(of_now), "row")
    assert {worker.joins_at_ms for worker in group_of(captured).workers} == {40_000 - 7}


# --- recorded histories -----------------------------------------------------------------------------------------


def _differences(entry: ConnectEntry, item: Played) -> list[str]:
    found, real = group_of(snapshot_from_row(checked_row(entry), "row")), freeze(item.cluster)
    held = {worker.member_id: worker.held for worker in real.workers}
    memory, expected = (
        next(one.memory for one in group.workers if one.member_id == group.leader) for group in (found, real)
    )
    assert entry.at_ms is not None
    ends = None if memory.scheduled_at_ms is None else memory.scheduled_at_ms + entry.at_ms - EPOCH_MS
    pairs = {
        "order": ([one.member_id for one in found.workers], [one.member_id for one in real.workers]),
        "counts": (dict(found.task_counts), dict(real.task_counts)),
        "leader": (found.leader, real.leader),
        "held": ({one.member_id: one.held for one in found.workers}, held),
        "ends": (ends, None if expected.scheduled_at_ms is None else expected.scheduled_at_ms + _ZERO_MS),
    }
    names = [name for name in memory.__slots__ if name != "scheduled_at_ms"]
    pairs |= {name: (getattr(memory, name), getattr(expected, name)) for name in names}
    return [name for name, (one, other) in pairs.items() if one != other]


@pytest.mark.parametrize("debug", [True, False])
def test_of_recorded_histories_everything_is_known_or_said_not_to_be(debug: bool, tmp_path: Path) -> None:
    exact, answer = 0, 0
    for record in islice(records(VECTORS / "connect-sequences.jsonl.gz"), 6, None, 20):
        if record["in"]["protocol"] == "eager":
            continue
        rounds = {item.round.generation: item for item in played(record["in"], 17)}
        folder = tmp_path / record["in"]["id"]
        folder.mkdir()
        for place, text in enumerate(written(rounds.values(), debug=debug).values()):
            (folder / f"{place}.log").write_text(text, encoding="utf-8")
        for entry in read_connect_logs([str(folder)]) if rounds else ():
            if entry.problem is not None:
                continue
            differs = _differences(entry, rounds[entry.generation])
            exact += not differs
            answer += bool(differs)
            allowed = TOLD & {note.code for note in entry.notes}
            assert not differs or allowed, (record["in"]["id"], entry.generation, differs)
    assert exact > (10 if debug else 4) * max(answer, 1)


# --- one client id ----------------------------------------------------------------------------------------------


def in_one_stream(logs: Iterable[str], shuffled: Random) -> str:
    """The logs of workers that have one client id, mixed line by line: of each second in any order that logs allow."""
    found = list[str]()
    queues = [re.sub(r"clientId=client-[^,]+", "clientId=connect-1", text).splitlines() for text in logs]
    while any(queues):
        first = min(queue[0][:26] for queue in queues if queue)
        now = [queue for queue in queues if queue and queue[0][:26] == first]
        joining = [queue for queue in now if "Successfully joined" in queue[0]]
        found.append(shuffled.choice(joining or now).pop(0))
    return "\n".join(found) + "\n"


def _held(entry: ConnectEntry) -> dict[str, Any]:
    return {worker["process_id"]: (worker["held"], worker["leader"]) for worker in entry.row["instances"]}


def test_workers_of_one_client_id_in_one_stream_are_told_apart_or_said_to_be_mixed(tmp_path: Path) -> None:
    """No generation that can be planned from has other workers than their separate logs tell."""
    same, mixed = 0, 0
    for record in islice(records(VECTORS / "connect-sequences.jsonl.gz"), 6, None, 40):
        if record["in"]["protocol"] == "eager":
            continue
        rounds = {item.round.generation: item for item in played(record["in"], 17)}
        logs, folder = written(rounds.values()), tmp_path / record["in"]["id"]
        folder.mkdir()
        for place, text in enumerate(logs.values()):
            (folder / f"{place}.log").write_text(text, encoding="utf-8")
        (tmp_path / "one.log").write_text(in_one_stream(logs.values(), Random(same)), encoding="utf-8")
        if not rounds:
            continue
        separate = {entry.generation: entry for entry in read_connect_logs([str(folder)])}
        for entry in read_connect_logs([str(tmp_path / "one.log")]):
            mixed += "mixed in this log" in (entry.problem or "")
            if entry.problem is None and separate[entry.generation].problem is None:
                assert _held(entry) == _held(separate[entry.generation]), (record["in"]["id"], entry.generation)
                same += 1
    assert mixed > 10 * same > 0  # workers that begin together are never told apart


def test_workers_of_one_client_id_that_came_one_by_one_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "separate"
    folder.mkdir()
    separate = {
        read_connect_log.generation: read_connect_log
        for read_connect_log in read_connect_logs([live_logs(folder, lambda text: on_info(dated(text)))])
    }
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())]
    same = re.compile(r"clientId=[^,]+")
    (tmp_path / "one.log").write_text(in_one_stream([same.sub("clientId=c", text) for text in texts], Random(0)))
    told_apart = [
        read_connect_log
        for read_connect_log in read_connect_logs([str(tmp_path / "one.log")])
        if read_connect_log.problem is None
    ]
    assert [_held(item) for item in told_apart] == [_held(separate[item.generation]) for item in told_apart]
    assert len(told_apart) > 8


def test_a_mixed_first_generation_is_refused_with_what_would_do(tmp_path: Path) -> None:
    file = tmp_path / "connect.log"
    member = "Generation{{generationId=3, memberId='{0}', protocol='sessioned'}}"
    answer = (
        "Joined group at generation 3 with protocol version 2 and got assignment: Assignment{{error=0, leader='a', "
        "leaderUrl='http://h:8083/', offset=4, connectorIds=[{0}], taskIds=[{1}], revokedConnectorIds=[], "
        "revokedTaskIds=[], delay=0}} with rebalance delay: 0"
    )
    joined = [f"Successfully joined group with generation {member.format(name)}" for name in "ab"]
    texts = [*joined, answer.format("c", "c-0"), answer.format("", "c-1")]
    lines = [
        f"2026-03-01 12:00:0{at} INFO [Worker clientId=connect-1, groupId=g] {line}" for at, line in enumerate(texts)
    ]
    file.write_text("\n".join(lines) + "\n")
    (entry,) = read_connect_logs([str(file)])
    with pytest.raises(SnapshotError, match=r"workers of one client id are mixed in this log.* as a file of its own"):
        checked_row(entry)
    file.write_text("\n".join([lines[0], lines[2], lines[1], lines[3]]) + "\n")
    (entry,) = read_connect_logs([str(file)])
    assert {process: [item["items"] for item in held] for process, (held, _) in _held(entry).items()} == {
        "a": [[-1, 0]],
        "b": [[1]],
    }


# --- layouts ----------------------------------------------------------------------------------------------------


def _cri(text: str) -> str:
    """As a container runtime has it, long lines in parts."""
    found = []
    for line in text.splitlines():
        parts = [line[at : at + 200] for at in range(0, len(line), 200)] or [""]
        flags = ["P"] * (len(parts) - 1) + ["F"]
        found += [f"2026-11-22T12:42:00Z stdout {flag} {part}" for flag, part in zip(flags, parts, strict=True)]
    return "\n".join(found) + "\n"


@pytest.mark.parametrize(
    "laid_out",
    [
        lambda text: "".join(f"[pod/connect-0/connect] {line}" for line in text.splitlines(keepends=True)),
        lambda text: "".join(json.dumps({"message": line}) + "\n" for line in text.splitlines()),
        lambda text: "noise\r\n" + text.replace("\n", "\r\n"),
        _cri,
    ],
)
def test_what_stands_around_a_message_does_not_matter(laid_out: Callable[[str], str], tmp_path: Path) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    pairs = zip(
        read_connect_logs([live_logs(plain, on_info)]),
        read_connect_logs([live_logs(other, lambda text: laid_out(on_info(text)))]),
        strict=True,
    )
    for entry, same in pairs:
        expected, found = dict(entry.row), dict(same.row)
        assert [found.pop("captured_at", None), expected.pop("captured_at", None)][1] is None
        if not entry.delay_ms:
            assert found == expected


# --- bad logs ---------------------------------------------------------------------------------------------------


def read(folder: Path, **logs: str) -> list[ConnectEntry]:
    for name, text in logs.items():
        (folder / name).write_text(text, encoding="utf-8")
    return read_connect_logs([str(folder)])


def live(name: str) -> str:
    return on_info(gzip.decompress((LIVE / f"{name}.gz").read_bytes()).decode())


def test_one_worker_cannot_be_told_two_things_in_one_round(tmp_path: Path) -> None:
    log = live("w2.log")
    assert read(tmp_path, a=log, b=log, c=live("w1.log"))[8].problem is None
    with pytest.raises(SnapshotError, match="got another answer in generation 10") as error:
        read(tmp_path, d=log.replace("taskIds=[alpha-2, alpha-3, gamma-0", "taskIds=[alpha-2, gamma-0"))
    assert "line" in str(error.value)


def test_a_worker_that_is_back_under_a_new_id_is_another_one(tmp_path: Path) -> None:
    entries = read(tmp_path, a=live("w1.log"), b=live("w2.log"), c=live("w3.log.1") + live("w3.log"))
    assert [(entry.workers, entry.unassigned_count) for entry in entries[9:14]] == [
        (3, 5),
        (3, 0),
        (2, 5),
        (3, 5),
        (3, 0),
    ]


@pytest.mark.parametrize(
    ("logs", "generation", "message"),
    [
        (("w2.log",), 9, "the log of its leader is missing or cut .http://127.0.0.1:18081/"),
        (("w1.log", "w3.log.1", "w3.log"), 9, "the connector alpha and 6 more ran nowhere"),
        (("w1.log", "w2.log"), 14, "ran nowhere in it"),
    ],
)
def test_a_log_that_is_missing_is_noticed(logs: tuple[str, ...], generation: int, message: str, tmp_path: Path) -> None:
    entry = next(one for one in read(tmp_path, **{name: live(name) for name in logs}) if one.generation == generation)
    with pytest.raises(SnapshotError, match=message) as error:
        checked_row(entry)
    assert "--generation" in error.value.fix


def test_what_the_leader_lists_has_to_be_there(tmp_path: Path) -> None:
    text = gzip.decompress((LIVE / "w1.log.gz").read_bytes()).decode()
    entries = {entry.generation: entry for entry in read(tmp_path, w1=text, w2=live("w2.log"))}
    problem = entries[13].problem
    assert problem is not None
    assert "the leader lists 3 workers" in problem


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", delay=0} with rebalance delay: 0", "", "its end is missing"),
        ("gamma-1], revokedC", "gamma-x], revokedC", "'gamma-x' is no task"),
        ("Generation{generationId=8, memberId='", "8 '", "before Kafka 2.6"),
    ],
)
def test_a_message_that_is_cut_is_a_gap_with_its_place(old: str, new: str, message: str, tmp_path: Path) -> None:
    log = live("w2.log")
    assert old in log
    entries = read(tmp_path, w1=live("w1.log"), w2=log.replace(old, new, 1))
    notes = {note.message for entry in entries for note in entry.notes if note.code == "unread-message"}
    assert len(notes) == 1
    assert message in notes.pop()
    assert [entry.generation for entry in entries if entry.problem is None]


def test_mixed_protocols_and_failed_rounds_cannot_be_planned_from(tmp_path: Path) -> None:
    mixed = live("w2.log").replace("with protocol version 2", "with protocol version 1")
    failed = live("w1.log").replace("error=0", "error=1")
    found = read(tmp_path, w1=failed, w2=mixed)
    assert found[2].problem is not None
    assert "it failed" in found[2].problem
    assert found[8].problem is not None
    assert "unlike protocols" in found[8].problem


def test_a_log_without_workers_is_refused(tmp_path: Path) -> None:
    consumer = live("w1.log").replace("[Worker clientId=", "[Consumer clientId=")
    with pytest.raises(SnapshotError, match="no rebalance of Kafka Connect's workers"):
        read(tmp_path, w1=consumer)


def test_java_and_the_delay_are_read_at_the_start(tmp_path: Path) -> None:
    begins = (
        "INFO WorkerInfo values:\n\tjvm.spec = Eclipse Adoptium, OpenJDK 64-Bit Server VM, 21.0.4, 21.0.4+7-LTS\n"
        "INFO DistributedConfig values:\n\tscheduled.rebalance.max.delay.ms = 60000\n"
    )
    first = read(tmp_path, w1=begins + live("w1.log"))[0]
    assert [instance["java"] for instance in first.row["instances"]] == [21]
    assert first.row["config"]["scheduled_rebalance_max_delay_ms"] == 60_000


# --- the command ------------------------------------------------------------------------------------------------


def test_a_history_leaves_out_what_cannot_be_planned_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = live_logs(tmp_path, on_info)
    assert run(["snapshot", logs, "--all"]) == 0
    shown = capsys.readouterr()
    generations = [json.loads(line)["generation"] for line in shown.out.splitlines()]
    assert generations == [*range(1, 12), 14, 15]
    assert "2 generations left out" in shown.err


def test_a_worker_s_log_is_no_snapshot_and_its_settings_are_no_application_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = live_logs(tmp_path / "logs", on_info)
    assert run(["assign", f"{logs}/w1.log"]) == 1
    assert f"kstream-plan snapshot {logs}/w1.log | " in capsys.readouterr().err
    settings = tmp_path / "app.properties"
    settings.write_text("application.id=x\nbootstrap.servers=a:1\n", encoding="utf-8")
    assert run(["snapshot", logs, "--streams-config", str(settings)]) == 1
    assert "holds no setting of a Connect worker" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    Path("kstream-plan.toml").write_text("streams-config = 'app.properties'", encoding="utf-8")
    assert run(["snapshot", logs, "--all"]) == 0, "it is for groups of Kafka Streams"
    settings.write_text("scheduled.rebalance.max.delay.ms=70000\n", encoding="utf-8")
    assert run(["snapshot", logs, "--all"]) == 0
    assert '"scheduled_rebalance_max_delay_ms": 70000' in capsys.readouterr().out


def test_the_list_says_where_workers_without_a_log_are_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "Or more, or less: workers whose logs are not there are not counted."
    logs = live_logs(tmp_path, on_info)
    assert run(["snapshot", logs, "--list"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert words in out
    assert "or more" in out.replace(words, "")
    assert run(["snapshot", live_logs(tmp_path), "--list"]) == 0
    assert "or more" not in capsys.readouterr().out


def test_the_list_says_what_cannot_be_planned_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w2.log").write_text(live("w2.log"), encoding="utf-8")
    assert run(["snapshot", str(tmp_path), "--list"]) == 0
    shown = capsys.readouterr().out
    assert "generation 8 cannot be planned from: the log of its leader is missing or cut" in " ".join(shown.split())
