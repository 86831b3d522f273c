"""Logs in the forms in which people have them give the rebalances that are in them, or say what is missing."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

import kstream_plan
from kstream_plan.errors import SnapshotError
from kstream_plan.model.not_modelled import RELEASE_NOT_MODELLED
from kstream_plan.snapshots.connect_log.history import checked_row, read_connect_logs
from kstream_plan.snapshots.leader_log.history import LogHistory, checked_rows, read_leader_logs
from kstream_plan.snapshots.leader_log.log_fields import HOST_FIELDS, TEXT_FIELDS, TIME_FIELDS
from kstream_plan.snapshots.leader_log.notes import notes_about
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

LOGS = Path(__file__).parents[1] / "logs_of_people"
#: When the logs were saved: a year that they do not name follows from it.
SAVED_S = 1_795_650_000  # 2026-11-26

#: The three rebalances that are in most of them: when, and the number of the generation.
TIMES = ("2026-11-21T13:00:38.479Z", "2026-11-21T13:00:38.969Z", "2026-11-21T13:01:42.220Z")
NUMBERS = (2, 3, 4)


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., list[str]]:
    """Puts logs into a folder, as they were when they were saved."""

    def save(*names: str, change: Callable[[str], str] = str) -> list[str]:
        for name in names:
            path = tmp_path / name
            path.write_bytes(change(gzip.decompress((LOGS / f"{name}.gz").read_bytes()).decode()).encode())
            os.utime(path, (SAVED_S, SAVED_S))
        return [str(tmp_path / name) for name in names]

    return save


def times(history: LogHistory) -> list[str]:
    return [entry.row["captured_at"] for entry in history.entries]


def numbers(history: LogHistory) -> list[int | None]:
    return [entry.decision.get("generation") for entry in history.entries]


def codes(history: LogHistory) -> set[str]:
    return {note.code for note in notes_about(history, history.entries[-1:])}


@pytest.mark.parametrize(
    "name",
    [
        "with-values.log",
        *("cp-lineno.log", "strimzi.log", "thread-after.log"),
        *("cw-filter.json", "gcp.json", "datadog.csv"),
        *("compactdate.log", "eu.log", "month.log", "rsyslog-iso.log", "rsyslog.log", "upgraded.log", "ver-3.3.1.log"),
    ],
)
def test_three_rebalances_are_in_it(name: str, saved: Callable[..., list[str]]) -> None:
    history = read_leader_logs(saved(name))
    assert (numbers(history), times(history)) == ([*NUMBERS], [*TIMES])
    assert not history.unread
    assert [entry.follows for entry in history.entries] == [False, True, True]


def test_all_of_them_say_the_same(saved: Callable[..., list[str]]) -> None:
    expected = [entry.decision["decided"] for entry in read_leader_logs(saved("cp-lineno.log")).entries]
    for path in sorted(LOGS.iterdir()):
        name = path.name.removesuffix(".gz")
        if name in ("ksqldb-cp7.0.log", "spring-2.7.2.log", "v32-1.log", "v32-2.log"):
            continue
        for entry in read_leader_logs(saved(name)).entries:
            hosts = json.loads(json.dumps(entry.decision["decided"]))
            for process in hosts.values():
                process["instance"] = None
            assert hosts in expected, name


@pytest.mark.parametrize("batch", [1, 1_000])
def test_opentelemetrys_json_is_read(batch: int, tmp_path: Path) -> None:
    texts = gzip.decompress((LOGS / "strimzi.log.gz").read_bytes()).decode()
    records = re.split(r"^(?=20\d\d-)", texts, flags=re.MULTILINE)[1:]
    times = [datetime.fromisoformat(f"{record[:19]}+00:00").timestamp() for record in records]
    logged = [
        {"timeUnixNano": f"{time:.0f}000000000", "body": {"stringValue": record.rstrip("\n")}}
        for time, record in zip(times, records, strict=True)
    ]
    pod = {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": "orders-1"}}]}
    path = tmp_path / "otel.json"
    batches = [logged[start : start + batch] for start in range(0, len(logged), batch)]
    documents = [{"resourceLogs": [{"resource": pod, "scopeLogs": [{"logRecords": some}]}]} for some in batches]
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    history = read_leader_logs([str(path)])
    assert numbers(history) == [*NUMBERS]
    assert not history.unread
    assert {instance.get("host") for instance in history.entries[-1].row["instances"]} >= {"orders-1"}


@pytest.mark.parametrize("name", ["cp-lineno.log", "with-values.log", "strimzi.log"])
def test_a_log_may_be_turned_round_line_by_line(name: str, saved: Callable[..., list[str]]) -> None:
    history = read_leader_logs(saved(name, change=lambda text: "\n".join(reversed(text.splitlines())) + "\n"))
    assert (numbers(history), times(history)) == ([*NUMBERS], [*TIMES])
    assert not history.unread


@pytest.mark.parametrize("name", ["shortyear.log", "journald.log"])
def test_times_in_whole_seconds_keep_the_order(name: str, saved: Callable[..., list[str]]) -> None:
    history = read_leader_logs(saved(name))
    assert numbers(history) == [*NUMBERS]
    assert times(history) == [f"{time[:19]}.000Z" for time in TIMES]
    assert ("year-assumed" in codes(history)) is (name == "journald.log")


def test_store_exports_name_the_pods(saved: Callable[..., list[str]]) -> None:
    for name, host in (("gcp.json", "orders-1"), ("datadog.csv", "node-1"), ("rsyslog.log", "node-1")):
        entry = read_leader_logs(saved(name)).entries[-1]
        assert {instance["host"] for instance in entry.row["instances"] if "host" in instance} == {host}


def test_settings_come_from_the_log_and_a_file_still_wins(saved: Callable[..., list[str]]) -> None:
    paths = saved("with-values.log")
    config = read_leader_logs(paths).entries[-1].row["config"]
    wanted = ("acceptable_recovery_lag", "max_warmup_replicas", "probing_rebalance_interval_ms", "num_standby_replicas")
    assert [config[name] for name in wanted] == [100, 6, 60_000, 0]
    history = read_leader_logs(paths, config={"max_warmup_replicas": 3})
    config = history.entries[-1].row["config"]
    assert [config[name] for name in wanted] == [100, 3, 60_000, 0]
    assert "settings-not-as-logged" in codes(history)
    assert "no-config" not in codes(history)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda line: f"orders-1 app {line}\n", id="stern"),
        pytest.param(lambda line: f'2026-11-21T12:59:00Z {{pod="orders-1"}} {line}\n', id="logcli"),
        pytest.param(lambda line: line + ("" if line.count("=") == 1 else "\n"), id="joined"),
        pytest.param(lambda line: line.replace("\t", "\\t") + ("\\n" if line.count("=") == 1 else "\n"), id="escaped"),
    ],
)
def test_settings_are_read_behind_prefixes(write: Callable[[str], str], saved: Callable[..., list[str]]) -> None:
    def change(text: str) -> str:
        begin, time, rest = text.partition("2026-11-21T13:00:38.476Z")
        begin = begin.replace("values: \n", "values: \\n") if "\\" in write("\t") else begin
        return "".join(map(write, begin.splitlines())) + "\n" + time + rest

    config = read_leader_logs(saved("with-values.log", change=change)).entries[-1].row["config"]
    assert (config["max_warmup_replicas"], config["acceptable_recovery_lag"]) == (6, 100)


def test_the_logger_behind_settings_on_one_line_is_no_value(saved: Callable[..., list[str]]) -> None:
    def change(text: str) -> str:
        begin, time, rest = text.partition("2026-11-21T13:00:38.476Z")
        return " ".join(begin.split("\n")).rstrip() + "\n" + time + rest

    config = read_leader_logs(saved("with-values.log", change=change)).entries[-1].row["config"]
    assert config["rack_aware_assignment_tags"] == []
    assert config["max_warmup_replicas"] == 6


def _started_twice(path: str, prefixes: tuple[str, str] = ("", "")) -> None:
    """Write a log in which an application starts twice, first with 2 warm-ups and then with 6."""
    text = Path(path).read_text(encoding="utf-8")
    begin, time, rest = text.partition("2026-11-21T13:00:38.476Z")
    other = begin.replace("max.warmup.replicas = 6", "max.warmup.replicas = 2").replace("12:59:00", "12:58:00")
    parts = zip((prefixes[0], prefixes[1], prefixes[1]), (other, begin, time + rest), strict=True)
    lines = [f"{prefix}{line}\n" for prefix, part in parts for line in part.splitlines()]
    Path(path).write_text("".join(lines), encoding="utf-8")


def test_instances_with_other_settings_are_told(saved: Callable[..., list[str]]) -> None:
    (path,) = saved("with-values.log")
    _started_twice(path, ("orders-1  | ", "orders-2  | "))
    history = read_leader_logs([path])
    (note,) = [note for note in notes_about(history, history.entries[-1:]) if note.code == "settings-differ"]
    assert note.message.startswith("instances log different values of max.warmup.replicas: 2 (")
    assert "6 is used" in note.message
    assert history.entries[-1].row["config"]["max_warmup_replicas"] == 6


@pytest.mark.parametrize(("prefix", "whose"), [("orders-1  | ", ""), ("", ", if this log is of one instance")])
def test_a_restart_with_other_settings_is_told_with_its_time(
    prefix: str, whose: str, saved: Callable[..., list[str]]
) -> None:
    (path,) = saved("with-values.log")
    _started_twice(path, (prefix, prefix))
    history = read_leader_logs([path])
    (note,) = [note for note in notes_about(history, history.entries[-1:]) if note.code == "settings-differ"]
    before, after = note.subjects
    assert note.message == (
        f"max.warmup.replicas is 6, logged since 2026-11-21 12:59:00 UTC ({after}), and was 2 before ({before}){whose}"
        ": 6 is used"
    )
    assert history.entries[-1].row["config"]["max_warmup_replicas"] == 6


def test_consumers_say_their_session_timeout(saved: Callable[..., list[str]]) -> None:
    values = (
        "2026-11-21T12:59:01.000Z INFO ConsumerConfig values: \n\tclient.id = orders-1-StreamThread-1-{which}\n"
        "\tgroup.id = orders\n\tsession.timeout.ms = {session}\n\tmax.poll.interval.ms = 900000\n\n"
    )
    both = values.format(which="consumer", session=20000) + values.format(which="restore-consumer", session=1)
    history = read_leader_logs(saved("with-values.log", change=lambda text: both + text))
    assert history.entries[-1].row["config"]["session_timeout_ms"] == 20_000
    assert "members-join-in-time" in codes(history)


@pytest.mark.parametrize(
    ("release", "words"),
    [("2.5.1", "older releases, as 2.5.1 is, decide otherwise"), ("4.5.0", "whether 4.5.0 does is unknown")],
)
def test_a_release_that_is_not_modelled_is_told(release: str, words: str, saved: Callable[..., list[str]]) -> None:
    started = f"2026-11-21T12:59:01.000Z INFO AppInfoParser - Kafka version: {release}\n"
    row = read_leader_logs(saved("with-values.log", change=lambda text: started + text)).entries[-1].row
    (note,) = [note for note in snapshot_from_row(row, "a").warnings if note.code == RELEASE_NOT_MODELLED]
    assert note.message.endswith(words)


def test_members_of_one_log_with_other_session_timeouts_are_told(saved: Callable[..., list[str]]) -> None:
    """Members of the generation that speak in one undivided log; the leader's value is used, whoever spoke last."""

    def values(second: int, process: str, session: int) -> str:
        return (
            f"2026-11-21T12:59:{second:02}.000Z INFO ConsumerConfig values: \n"
            f"\tclient.id = orders-{process}-StreamThread-1-consumer\n"
            f"\tgroup.id = orders\n\tsession.timeout.ms = {session}\n\n"
        )

    leader, other = "4e008b6e-87cd-4480-aca4-a9941a960de5", "d4faea3e-f02c-40fb-b366-12552f6849ec"
    gone = "00000000-0000-4000-8000-000000000000"
    said = values(1, gone, 30_000) + values(2, leader, 10_000) + values(3, other, 45_000)
    history = read_leader_logs(saved("with-values.log", change=lambda text: said + text))
    (note,) = [note for note in notes_about(history, history.entries[-1:]) if note.code == "settings-differ"]
    assert note.message.startswith("instances log different values of session.timeout.ms: 10000 (")
    assert "30000" not in note.message
    assert history.entries[-1].row["config"]["session_timeout_ms"] == 10_000

    restarted = values(1, gone, 30_000) + values(2, leader, 10_000)
    history = read_leader_logs(saved("with-values.log", change=lambda text: restarted + text))
    (note,) = [note for note in notes_about(history, history.entries[-1:]) if note.code == "settings-differ"]
    assert "and was 30000 before" in note.message


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        (
            r"(?s)\n\tapplication\.server =.*?(?=\n2026)",
            "a part of the configuration: Kafka's defaults are assumed (m",
        ),
        (r"StreamsConfig values:", "not contain the configuration: Kafka's defaults are assumed (acceptable"),
    ],
)
def test_settings_that_are_not_in_the_log_are_told(saved: Callable[..., list[str]], lost: str, words: str) -> None:
    consumer = (
        "2026-11-21T12:59:01.000Z INFO ConsumerConfig values: \n\tclient.id = orders-1-StreamThread-1-consumer\n"
        "\tgroup.id = orders\n\tsession.timeout.ms = 20000\n"
    )
    history = read_leader_logs(saved("with-values.log", change=lambda text: consumer + re.sub(lost, "", text)))
    (note,) = [note for note in notes_about(history, history.entries[-1:]) if note.code == "no-config"]
    assert words in note.message
    row = history.entries[-1].row
    assumed = [note for note in snapshot_from_row(row, "a").assumptions if note.code == "default-settings"]
    assert len(assumed) == ("acceptable_recovery_lag" not in row["config"])


def _with(*lines: str) -> Callable[[str], str]:
    """Return a change that has the first instance's StreamsConfig say these lines too."""
    more = "".join(f"\n\t{line}" for line in lines)
    return lambda text: text.replace("StreamsConfig values: ", f"StreamsConfig values: {more}", 1)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("upgrade.from = 3.3", {"upgrade_from": "3.3"}),
        ("upgrade.from = null", {}),
        ("task.assignor.class = class com.acme.Mine", {"task_assignor_class": "com.acme.Mine"}),
        ("default.dsl.store = in_memory", {"default_dsl_store": "in_memory"}),
        ("default.dsl.store = rocksDB", {}),
        ("group.protocol = classic", {}),
    ],
)
def test_what_decides_stays_in_the_snapshot(saved: Callable[..., list[str]], line: str, kept: dict[str, str]) -> None:
    plain = read_leader_logs(saved("with-values.log")).entries[-1].row
    row = read_leader_logs(saved("with-values.log", change=_with(line))).entries[-1].row
    assert row["config"] == {**plain["config"], **kept}
    warnings = [note.code for note in snapshot_from_row(row, "a").warnings if note.code == "not-modelled"]
    assert bool(warnings) is any("dsl" not in name for name in kept)
    assert snapshot_from_row(row, "a").stores == ("in-memory" if "default_dsl_store" in kept else None)


def test_a_setting_that_was_taken_out_at_a_restart_does_not_count(saved: Callable[..., list[str]]) -> None:
    (path,) = saved("with-values.log", change=_with("upgrade.from = null"))
    text = Path(path).read_text(encoding="utf-8")
    begin = text.partition("2026-11-21T13:00:38.476Z")[0]
    before = begin.replace("12:59:00", "12:58:00").replace("upgrade.from = null", "upgrade.from = 3.3")
    Path(path).write_text(before + text, encoding="utf-8")
    history = read_leader_logs([path])
    assert "upgrade_from" not in history.entries[-1].row["config"]
    (note,) = [note for note in notes_about(history, history.entries[-1:]) if note.code == "settings-differ"]
    assert note.message.startswith("upgrade.from is none, logged since ")
    assert "and was 3.3 before (" in note.message


def test_an_older_log_is_not_taken_for_the_newer_one(saved: Callable[..., list[str]]) -> None:
    """Files in the order of their names are not in the order of time."""
    assert times(read_leader_logs(saved("a-new.log", "z-old.log"))) == [*TIMES]
    undated = saved("a-new.log", "z-old.log", change=lambda text: text.replace("2026/11/21 ", ""))
    with pytest.raises(SnapshotError, match="its times have no date") as caught:
        read_leader_logs(undated)
    assert "--timestamps" in caught.value.fix


def test_without_dates_nothing_is_paired_across_files(saved: Callable[..., list[str]]) -> None:
    """A decision at the end of one file, and splits at the beginning of another."""
    (path,) = saved("eu.log", change=lambda text: text.replace("21.11.2026 ", ""))
    lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
    decided = [number for number, line in enumerate(lines) if "Decided on" in line]
    rest = Path(path).with_name("rest.log")
    rest.write_text("".join(lines[decided[1] + 1 :]), encoding="utf-8")
    Path(path).write_text("".join(lines[: decided[1] + 1]), encoding="utf-8")
    with pytest.raises(SnapshotError, match="its times have no date"):
        read_leader_logs([path, str(rest)])
    (last,) = read_leader_logs([str(rest)]).entries
    (first,) = read_leader_logs([path]).entries
    assert (first.decision.get("generation"), last.decision["generation"]) == (2, 4)


def test_a_date_that_may_be_two_asks_which(saved: Callable[..., list[str]]) -> None:
    paths = saved("eu.log", change=lambda text: text.replace("21.11.2026", "03/04/2025"))
    with pytest.raises(SnapshotError, match="the order of day, month and year") as caught:
        read_leader_logs(paths)
    assert caught.value.fix == "say which: --set log.dates=dmy or --set log.dates=mdy"
    for order, date in (("dmy", "2025-04-03"), ("mdy", "2025-03-04")):
        assert [time[:10] for time in times(read_leader_logs(paths, dates=order))] == [date] * 3


def test_one_date_that_tells_settles_the_others(saved: Callable[..., list[str]]) -> None:
    first = "25/03/2025 09:00:00 INFO App: started\n"
    paths = saved("eu.log", change=lambda text: first + text.replace("21.11.2026", "03/04/2025"))
    assert times(read_leader_logs(paths))[0][:10] == "2025-04-03"


def test_one_cut_message_is_a_gap(saved: Callable[..., list[str]]) -> None:
    history = read_leader_logs(saved("one-cut.log"))
    assert numbers(history) == [3, 4]
    assert [place.line for place, _ in history.unread] == [9]
    assert "unread-message" in codes(history)
    history = read_leader_logs(saved("head-midmsg.log"))
    assert numbers(history) == [2, 3]
    assert "newer-rebalance-unread" in codes(history)
    assert "known_until" not in history.entries[-1].row


def test_another_application_of_an_older_release_stays_apart(saved: Callable[..., list[str]]) -> None:
    history = read_leader_logs(saved("upgraded.log"))
    assert {entry.application_id for entry in history.entries} == {"orders"}
    assert len(history.incomplete) == 1


def test_logs_of_before_3_2_are_read(saved: Callable[..., list[str]]) -> None:
    history = read_leader_logs(saved("spring-2.7.2.log"))
    (entry,) = history.entries
    assert (entry.application_id, times(history)) == ("app", ["2022-02-26T14:53:44.395Z"])
    assert "release-assumed" in codes(history)
    (entry,) = read_leader_logs(saved("ksqldb-cp7.0.log")).entries  # the one task goes to the first of two consumers
    (decided,) = entry.decision["decided"].values()
    assert [consumer["active"] for _, consumer in sorted(decided["consumers"].items())] == [["0_0"], []]


def test_a_split_that_does_not_follow_is_missed(saved: Callable[..., list[str]]) -> None:
    two = saved("ksqldb-cp7.0.log", change=lambda text: text.replace("([0_0])", "([0_0, 0_1])").replace(": 1]", ": 2]"))
    with pytest.raises(SnapshotError, match="no rebalance is there from beginning to end"):
        read_leader_logs(two)


@pytest.mark.parametrize(("name", "release"), [("ver-3.3.1.log", "3.3.1"), ("spring-2.7.2.log", "3.1")])
def test_a_plan_goes_by_the_older_release(name: str, release: str, saved: Callable[..., list[str]]) -> None:
    (row,) = checked_rows(read_leader_logs(saved(name)).entries[-1:])
    snapshot = snapshot_from_row(row, name)
    assert snapshot.streams_version == release
    assert RELEASE_NOT_MODELLED not in {note.code for note in snapshot.warnings}


def test_so_it_is_of_workers_of_connect(saved: Callable[..., list[str]]) -> None:
    (entry,) = read_connect_logs(saved("v32-1.log", "v32-2.log"))
    snapshot = snapshot_from_row(checked_row(entry), "row")
    assert snapshot.streams_version == "3.2.3"
    assert RELEASE_NOT_MODELLED not in {note.code for note in snapshot.warnings}


#: Names under which stores export a record that has no time of its own: when, by which pod, and what.
EXPORTS: dict[str, Callable[[str, str], dict[str, str]]] = {
    "Graylog": lambda at, text: {"timestamp": at, "source": "pod-1", "message": text[:200], "full_message": text},
    "Sumo Logic": lambda at, text: {"_messagetime": at, "_sourcehost": "pod-1", "_raw": text},
    "Datadog": lambda at, text: {"Date": at, "Host": "node-7", "Pod Name": "pod-1", "Content": text},
    "Axiom": lambda at, text: {"data.time": at, "data.pod": "pod-1", "data.message": text},
    "OpenSearch": lambda at, text: {
        "_index": "a",
        "_source.@timestamp": at,
        "_source.kubernetes.pod_name": "pod-1",
        "_source.message": text,
    },
    "Grafana": lambda at, text: {"Date": at, "labels": '{"app": "orders", "pod": "pod-1"}', "Line": text},
    "Better Stack": lambda at, text: {"dt": at, "raw": json.dumps({"message": text, "host": "pod-1"})},
}


@pytest.mark.parametrize("store", EXPORTS)
def test_exports_of_further_stores_are_read(store: str, tmp_path: Path) -> None:
    texts = gzip.decompress((LOGS / "strimzi.log.gz").read_bytes()).decode()
    records = [record.rstrip("\n") for record in re.split(r"^(?=20\d\d-)", texts, flags=re.MULTILINE)[1:]]
    rows = [EXPORTS[store](f"{record[:10]}T{record[11:23]}Z".replace(",", "."), record[24:]) for record in records]
    path = tmp_path / "export.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(reversed(rows))
    history = read_leader_logs([str(path)])
    assert (numbers(history), times(history)) == ([*NUMBERS], [*TIMES])
    assert {instance.get("host") for instance in history.entries[-1].row["instances"]} >= {"pod-1"}
    path.with_suffix(".json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert times(read_leader_logs([str(path.with_suffix(".json"))])) == [*TIMES]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("timestamp,pod\n2026-11-21T13:00:38Z,orders-1\n", "without a column of messages: it has timestamp, pod"),
        ("timestamp,message\n", "is CSV of no record"),
    ],
)
def test_csv_without_messages_is_named(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(text)
    with pytest.raises(SnapshotError, match=words) as error:
        read_leader_logs([str(path)])
    assert error.value.fix == "export it again with its messages, for a time with a rebalance"


def test_of_two_columns_of_one_name_the_one_with_the_messages_counts(saved: Callable[..., list[str]]) -> None:
    paths = saved("datadog.csv")
    rows = list(csv.reader(Path(paths[0]).read_text().splitlines(keepends=True)))
    with Path(paths[0]).open("w", newline="") as file:
        csv.writer(file).writerows([*row, rows[0][-1] if not number else "x"] for number, row in enumerate(rows))
    assert times(read_leader_logs(paths)) == [*TIMES]


def test_a_log_whose_line_ends_are_lost_is_to_be_saved_with_them(saved: Callable[..., list[str]]) -> None:
    paths = saved("strimzi.log", change=lambda text: text.replace("\n", "\r"))
    with pytest.raises(SnapshotError, match="stands in one line with others") as error:
        read_leader_logs(paths)
    assert error.value.fix == "save the log again with its line ends"


def test_the_page_names_fields_that_are_read_in_the_order_in_which_they_count() -> None:
    page = (Path(kstream_plan.__file__).parent / "pages" / "kubernetes-logs.md").read_text(encoding="utf-8")
    (_, text, time, pod) = " ".join(page.split()).partition("- **Line ends**")[0].rsplit(" in `", 3)
    for words, table in ((text, TEXT_FIELDS), (time, TIME_FIELDS), (pod, HOST_FIELDS)):
        named = [name.lower() for name in f"`{words}".split("`")[1::2]]
        assert len(named) > 4
        assert [table.index(name) for name in named] == sorted(table.index(name) for name in named)


def test_signs_of_html_in_a_log_are_read(saved: Callable[..., list[str]]) -> None:
    process = "8772d290-3ede-4e2d-aa72-8c0277e14a59"
    hosts = f"INFO Constructed client metadata {{{process}=ClientMetadata{{hostInfo=HostInfo{{host='a', port=1}}}}\n"
    signs = (("&", "&amp;"), ("'", "&#39;"), (">", "&gt;"), ('"', "&quot;"))

    def escaped(text: str) -> str:
        return "".join(dict(signs).get(sign, sign) for sign in text)

    plain = read_leader_logs(saved("cp-lineno.log", change=lambda text: hosts + text)).entries
    found = read_leader_logs(saved("cp-lineno.log", change=lambda text: escaped(hosts + text))).entries
    assert [(entry.row, entry.decision) for entry in found] == [(entry.row, entry.decision) for entry in plain]
    assert {instance.get("host") for instance in plain[-1].row["instances"]} == {"a", None}


def _records(path: str, fields: Callable[[str], dict[str, object]], *, is_list: bool) -> None:
    """Write a log as JSON, a record a line or in one list."""
    text = Path(path).read_text(encoding="utf-8")
    rows = [fields(record) for record in re.split(r"^(?=20\d\d-)", text, flags=re.MULTILINE)[1:]]
    lines = json.dumps(rows) if is_list else "".join(f"{json.dumps(row)}\n" for row in rows)
    Path(path).write_text(lines, encoding="utf-8")


@pytest.mark.parametrize("is_list", [True, False])
def test_json_without_a_field_of_messages_names_its_fields(is_list: bool, saved: Callable[..., list[str]]) -> None:
    paths = saved("strimzi.log")
    _records(paths[0], lambda text: {"timestamp": text[:23], "eventData": "started"}, is_list=is_list)
    with pytest.raises(SnapshotError, match="have timestamp, eventData; looked for are message, msg") as error:
        read_leader_logs(paths)
    assert "export it again" in error.value.fix
    with pytest.raises(SnapshotError, match="no field with a message"):
        read_connect_logs(paths)


@pytest.mark.parametrize("is_list", [True, False])
def test_messages_in_a_field_of_any_name_are_read(is_list: bool, saved: Callable[..., list[str]]) -> None:
    paths = saved("strimzi.log")
    _records(paths[0], lambda text: {"timestamp": text[:23], "event": {"payload": [text]}}, is_list=is_list)
    assert numbers(read_leader_logs(paths)) == [*NUMBERS]


def test_a_log_of_the_other_kind_is_named(saved: Callable[..., list[str]]) -> None:
    with pytest.raises(SnapshotError, match=r"is a log of Kafka Streams, and no rebalance of Kafka Connect") as error:
        read_connect_logs(saved("strimzi.log"))
    assert "snapshot leader-log=" in error.value.fix
    with pytest.raises(SnapshotError, match=r"is a log of Kafka Connect's workers, and no decision") as error:
        read_leader_logs(saved("v32-1.log"))
    assert "snapshot connect-log=" in error.value.fix


def test_a_log_of_the_other_kind_is_named_from_standard_input(saved: Callable[..., list[str]]) -> None:
    streams, connect = (Path(saved(name)[0]).read_bytes() for name in ("strimzi.log", "v32-1.log"))
    with pytest.raises(SnapshotError, match=r"is a log of Kafka Streams, and no rebalance of Kafka Connect") as error:
        read_connect_logs(["-"], stdin=io.BytesIO(gzip.compress(streams)))
    assert error.value.fix.endswith("snapshot leader-log=-")
    with pytest.raises(SnapshotError, match=r"is a log of Kafka Connect's workers, and no decision") as error:
        read_leader_logs(["-"], stdin=io.BytesIO(connect))
    assert error.value.fix.endswith("snapshot connect-log=-")


def test_a_log_in_latin_1_is_read(saved: Callable[..., list[str]]) -> None:
    paths = saved("strimzi.log")
    text = Path(paths[0]).read_text(encoding="utf-8").replace("INFO ", "INFO [Gr\u00f6\u00dfe] ")
    Path(paths[0]).write_bytes(text.encode("latin-1"))
    assert numbers(read_leader_logs(paths)) == [*NUMBERS]


def test_sources_one_after_the_other_may_each_be_newest_first(saved: Callable[..., list[str]]) -> None:
    logs = [gzip.decompress((LOGS / f"v32-{number}.log.gz").read_bytes()).decode() for number in (1, 2)]
    rows = [
        {"timestamp": f"{line[:10]}T{line[11:19]}.{line[20:23]}Z", "message": line, "pod": f"connect-{number}"}
        for number, log in enumerate(logs, 1)
        for line in log.splitlines()[::-1]
    ]
    (path,) = saved("v32-1.log")
    Path(path).write_text(json.dumps({"events": rows}), encoding="utf-8")
    (entry,) = read_connect_logs([path])
    assert entry.workers == 2


def test_a_document_without_messages_names_the_fields_of_its_records(saved: Callable[..., list[str]]) -> None:
    (path,) = saved("v32-1.log")
    Path(path).write_text('{"took": 3, "events": [{"when": 1, "what": "x"}]}', encoding="utf-8")
    with pytest.raises(SnapshotError, match="they have when, what; looked for"):
        read_leader_logs([path])


@pytest.mark.parametrize(
    "prefix", ["261121|", "21.11.26|", "2026-11-21 | ", "1795266038479|", "info | ", "I | ", "Warning|"]
)
def test_a_date_or_a_level_before_a_line_is_no_host(prefix: str, saved: Callable[..., list[str]]) -> None:
    paths = saved("strimzi.log", change=lambda text: re.sub("^(?=20)", prefix, text, flags=re.MULTILINE))
    history = read_leader_logs(paths)
    assert numbers(history) == [*NUMBERS]
    assert not [instance for instance in history.entries[-1].row["instances"] if "host" in instance]
    assert "no-hosts" in codes(history)


@pytest.mark.parametrize("host", ["orders-1", "i-0abc12", "e2", "10.0.0.7", "w.example.com"])
def test_a_name_before_a_line_is_a_host(host: str, saved: Callable[..., list[str]]) -> None:
    def change(text: str) -> str:
        return "".join(f"{host}  | {line}" for line in text.splitlines(keepends=True))

    entry = read_leader_logs(saved("strimzi.log", change=change)).entries[-1]
    assert {instance["host"] for instance in entry.row["instances"] if "host" in instance} == {host}
