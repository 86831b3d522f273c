"""What is read of Prometheus text, and what is told of text that is none."""

from __future__ import annotations

import gzip
import io
import resource
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.metrics.exposition import _parse, _parse_plain
from kstream_plan.snapshots.metrics.names import Meaning, meaning_of, store_label
from kstream_plan.snapshots.metrics.scrapes import Identity, Position, read_scrapes
from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers.metric_texts import SCRAPED, leads, position, text
from tests.helpers.snapshot_rows import P0

LEAD = "kafka_consumer_consumer_fetch_manager_metrics_records_lead"


def of_text(content: str | bytes) -> list:
    found, _ = read_scrapes(["-"], io.BytesIO(content.encode() if isinstance(content, str) else content))
    return found


def error_of(content: str | bytes) -> str:
    with pytest.raises(SnapshotError) as caught:
        of_text(content)
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        LEAD,
        "kafka_consumer_fetch_manager_records_lead",
        "kafka_consumer_records_lead",
        "kafka.consumer.records_lead",
        "org.apache.kafka.consumer.fetch.manager.records.lead",
        "org_apache_kafka_consumer_fetch_manager_records_lead",
    ],
)
def test_every_export_calls_the_position_by_the_same_end(name: str) -> None:
    assert meaning_of(name) is Meaning.LEAD


@pytest.mark.parametrize("name", [f"{LEAD}_avg", f"{LEAD}_min", "kafka_consumer_records_lag_max", "records_leader"])
def test_other_figures_with_like_names_are_not_taken_for_it(name: str) -> None:
    assert meaning_of(name) is None


@pytest.mark.parametrize(
    "line",
    [
        position("records_lead", "7.0"),
        position("records_lead", "7", naming="kafka_consumer_fetch_manager_{}", labels={"kafka_version": "4.3.1"}),
        position("records_lead", "7.0").replace('",topic', '", topic'),
        position("records_lead", "7.0").replace("} ", ",} "),
        position("records_lead", "7.0", labels={"client_type": "consumer"}),
        position("records_lead", "7.0").replace("client_id", "clientId"),
        position("records_lead", "7.0")
        .replace(f"{LEAD}{{", '{"kafka.consumer.records_lead",')
        .replace("client_id", '"client-id"'),
    ],
)
def test_a_position_is_read_in_every_spelling(line: str) -> None:
    (scrape,) = of_text(text([line]))
    assert scrape.positions == {(f"my.app-{P0}", ("my.app-A-changelog", 0)): Position(lead=7)}


def test_threads_and_doubled_topics_are_the_same_copy() -> None:
    line = position("records_lead", 7)
    doubled = line.replace('topic="my.app', 'topic="my_app')
    (scrape,) = of_text(text([line, doubled, position("records_lag", 3, thread="StreamThread-2")]))
    assert scrape.positions == {(f"my.app-{P0}", ("my.app-A-changelog", 0)): Position(7, 3)}


def test_main_consumers_are_passed_over() -> None:
    line = position("records_lead", 7).replace("-restore-consumer", "-consumer")
    assert of_text(text([line]))[0].positions == {}


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ([f"# captured {SCRAPED}"], SCRAPED),
        ([f"foo 1 {parse_time(SCRAPED)}"], SCRAPED),
        ([f"foo 1 {parse_time(SCRAPED) / 1000}"], SCRAPED),
        (["java_lang_Runtime_StartTime 1.7E12", "java_lang_Runtime_Uptime 5000.0"], "2023-11-14T22:13:25.000Z"),
        (["process_start_time_seconds 1.7E9", "process_uptime_seconds 5.0"], "2023-11-14T22:13:25.000Z"),
    ],
)
def test_when_it_was_scraped_is_told_by_itself(lines: list[str], at: str) -> None:
    assert of_text("\n".join([*lines, "foo 1", ""]))[0].at_ms == parse_time(at)


def test_when_it_was_scraped_is_else_when_the_file_was_written(tmp_path: Path) -> None:
    file = tmp_path / "one.prom"
    file.write_text("foo 1\n")
    assert abs(read_scrapes([str(file)])[0][0].at_ms - time.time() * 1000) < 60_000  # type: ignore[operator]


def test_the_process_is_told_by_client_state_wherever_it_stands() -> None:
    labels = f'application_id="my.app",client_id="two",process_id="{P0}"'
    (by_label,) = of_text(text([f"kafka_streams_stream_metrics_client_state{{{labels}}} 2.0"]))
    assert by_label.identities == {"two": Identity(P0, "my.app")}
    name = f"kafka_streams_stream_metrics_process_id_{P0.replace('-', '_')}_application_id_my_app_client_state"
    (by_name,) = of_text(text([f'{name}{{client_id="two"}} 2.0']))
    assert by_name.identities == {"two": Identity(P0, "my_app")}


def test_stores_are_told_by_the_labels_of_their_metrics() -> None:
    line = b'kafka_streams_stream_state_metrics_put_rate{rocksdb_window_state_id="A",task_id="0_1",thread_id="x"} 0.0'
    assert store_label(line) == ("0_1", "A", True, False)
    assert store_label(line.replace(b"window_", b"")) == ("0_1", "A", False, False)
    assert store_label(b'{record_cache_id="A",task_id="0_1",thread_id="x"') == ("0_1", "A", False, None)
    assert store_label(line.replace(b"rocksdb", b"in_memory")) == ("0_1", "A", True, True)
    by_rules = b'{store_name="A",store_type="rocksdb-window",task_id="0_1",thread_id="x"'
    assert store_label(by_rules) == ("0_1", "A", True, False)
    assert store_label(b'{task_id="0_1",thread_id="x"') is None


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "-1.0"])
def test_what_is_no_position_counts_as_none_and_is_told(value: str) -> None:
    (scrape,) = of_text(text([position("records_lead", value)]))
    assert scrape.positions == {}
    assert len(scrape.odd) == 1


def test_several_instances_in_one_file_are_told_apart_by_any_label() -> None:
    lines = [position("records_lead", n, client="same", labels={"pod": f"p{n}"}) for n in (1, 2)]
    assert [scrape.place for scrape in of_text(text(lines))] == ["standard input, pod 'p1'", "standard input, pod 'p2'"]


def test_two_instances_that_nothing_tells_apart_are_an_error() -> None:
    lines = [position("records_lead", n, client="same") for n in (1, 2)]
    message = "holds two instances that look the same: client id 'same' has two positions in my.app-A-changelog-0"
    assert message in error_of(text(lines))
    states = [f'x_client_state{{client_id="same",process_id="{n}"}} 2' for n in (1, 2)]
    assert "client id 'same' belongs to two processes" in error_of(text(states))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("# HELP foo bar\n", "is no Prometheus text: line 1 is only comments"),
        ("<!DOCTYPE html>\n<html></html>\n", "is a page of HTML: line 1 is '<!DOCTYPE html>'"),
        ('{"status": 404}\n', "is no Prometheus text: line 1"),
        ("foo 1\n" + position("records_lead", 7)[:-20], "ends in the middle of line 2"),
        ("foo 1\n" + position("records_lead", "x") + "\n", "line 2: is no line of Prometheus text"),
        ("foo 1\n" + "x" * 100_000, "has a line without end"),
        (gzip.compress(text(leads({("A", 0): 1.0})).encode(), mtime=0)[:-12], "ends in the middle of what is zipped"),
    ],
)
def test_what_is_no_scrape_is_told(content: str | bytes, message: str) -> None:
    assert message in error_of(content)


def test_the_failing_endpoint_of_micrometer_is_told() -> None:
    answer = b'{"status":500,"message":"-1.0: counters cannot have a negative value"}'
    scrapes, notes = read_scrapes(["-"], io.BytesIO(answer))
    assert scrapes == []
    assert [note.code for note in notes] == ["micrometer-failed"]
    assert "kafka.stream.state.number.open.files" in notes[0].message


def test_endpoints_that_failed_are_told_once(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.prom").write_bytes(b'{"message":"-1.0: counters cannot have a negative value"}')
    _, (note,) = read_scrapes([str(tmp_path)])
    assert "0.prom and 2 more are the answers of endpoints that failed" in note.message


def test_folders_and_patterns_are_read_each_file_once(tmp_path: Path) -> None:
    for name in ("one.prom", "two.txt"):
        (tmp_path / name).write_text(text(leads({("A", 0): 1.0})))
    (tmp_path / "three.prom.gz").write_bytes(gzip.compress(text(leads({("A", 0): 2.0})).encode()))
    (tmp_path / ".hidden").write_text("<html>")
    found, _ = read_scrapes([str(tmp_path), str(tmp_path / "*.prom"), str(tmp_path / "one.prom")])
    assert [Path(scrape.place).name for scrape in found] == ["one.prom", "three.prom.gz", "two.txt"]
    for missing, message in (("nowhere", "does not exist"), ("*.html", "matches no file")):
        with pytest.raises(SnapshotError, match=message):
            read_scrapes([str(tmp_path / missing)])


def test_a_large_scrape_needs_memory_for_what_counts_only(tmp_path: Path) -> None:
    file = tmp_path / "large.prom"
    other = "".join(f'kafka_streams_stream_task_metrics_process_rate{{task_id="0_{n}"}} {n}.0\n' for n in range(20_000))
    with file.open("w") as out:
        out.write(text(leads({("A", 0): 5.0})))
        for _ in range(8):
            out.write(other)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (scrape,), _ = read_scrapes([str(file)])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000
    assert list(scrape.positions.values()) == [Position(lead=5)]


@given(st.binary(max_size=300))
def test_whatever_is_given_is_read_or_told(content: bytes) -> None:
    for result in (content, b"foo 1\n" + content):
        with suppress(SnapshotError):
            of_text(result)


@given(st.text(alphabet='kafka_records_lead{}="\\,.0123456789-restore-consumer \n', max_size=200))
def test_whatever_a_line_looks_like_it_is_read_or_told(line: str) -> None:
    with suppress(SnapshotError):
        of_text(text([position("records_lead", 1), line]))


_NAMES = st.sampled_from([LEAD, "a:b", "__name__", "_x", "client_id", "topic", "x-y", ""])
_VALUES = st.text(alphabet='abc-_.=,"\\{}# é1', max_size=8)
_NUMBERS = st.one_of(
    st.floats().map(str), st.integers().map(str), st.sampled_from(["+5", "1E5", "1_0", "", "5.", ".5", "1 2", "0x1"])
)


@given(_NAMES, st.lists(st.tuples(_NAMES, _VALUES), max_size=3), st.sampled_from(["", ",", " "]), _NUMBERS)
def test_plain_lines_are_read_as_the_library_reads_them(
    name: str, labels: list[tuple[str, str]], end: str, value: str
) -> None:
    inner = ",".join(f'{key}="{label}"' for key, label in labels)
    line = f"{name}{{{inner}{end}}} {value}".encode()
    if (quick := _parse_plain(line)) is not None:
        assert quick == _parse(line)


def test_what_exporters_write_is_plain() -> None:
    assert _parse_plain(position("records_lead", 1).strip().encode()) == _parse(
        position("records_lead", 1).strip().encode()
    )
    assert _parse_plain(b'a{b="1",c="x y",} 2.0E3') == ("a", {"b": "1", "c": "x y"}, 2000.0, None)


def test_a_pipe_that_does_not_say_when_it_was_is_told() -> None:
    def notes_of(content: str) -> list[str]:
        return [note.code for note in read_scrapes(["-"], io.BytesIO(content.encode()), 5_000)[1]]

    line = position("records_lead", 1)
    assert notes_of(line + "\n") == ["scrape-piped"]
    assert notes_of(f"# 2026-11-22T13:57:20Z\n{line}\n") == []
