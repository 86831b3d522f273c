"""A leader's log gives what the leader knew and what it decided, in whatever layout it comes."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.simulation.one_plan import assign_once
from kstream_plan.snapshots.leader_log.history import LogHistory, checked_rows, read_leader_logs
from kstream_plan.snapshots.leader_log.log_times import Moment
from kstream_plan.snapshots.leader_log.message_values import LogPlace
from kstream_plan.snapshots.leader_log.notes import notes_about
from kstream_plan.snapshots.leader_log.records import read_records
from kstream_plan.snapshots.rows.fields import parse_time, parse_time_us
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, log_layouts
from tests.helpers.recorded_events import generations
from tests.helpers.schemas import validator

#: What the assignor's own lines do not hold. The number is in a line of the leader's consumer, which was not captured.
NOT_IN_THE_LOG = {
    "row": {"generation", "config"},
    "task": {"source_partitions"},
    "instance": {"rack"},
    "consumer": {"group_instance_id", "protocols"},
    "decision": {"generation"},
}
#: What our rows have beside that.
MORE = {
    "row": {"group_protocol", "rates", "copies_since", "known_until"},
    "instance": {"started_at"},
    "lag": {"reported_at"},
}


def read(log: bytes, **options: Any) -> LogHistory:
    return read_leader_logs(["-"], stdin=io.BytesIO(log), **options)


def told(history: LogHistory, application_id: str | None = None) -> list[Any]:
    """The generations (of one application) wherever they are in the logs, whatever is logged after them and where."""
    return [
        entry._replace(
            place=LogPlace("", 0), row=without(dict(entry.row), {"known_until", "newer_rebalance"}), notes=()
        )
        for entry in history.entries
        if application_id in (None, entry.application_id)
    ]


def decisions(history: LogHistory) -> list[Any]:
    return [(entry.at_ms, entry.decision["decided"]) for entry in history.entries]


def without(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what a log cannot hold, its instances and lags in one order."""
    found = without(row, NOT_IN_THE_LOG["row"] | MORE["row"])
    found["tasks"] = [without(task, NOT_IN_THE_LOG["task"]) for task in row["tasks"]]
    found["instances"] = {
        instance["process_id"]: without(instance, NOT_IN_THE_LOG["instance"] | MORE["instance"] | {"consumers"})
        | {consumer["consumer_id"]: without(consumer, NOT_IN_THE_LOG["consumer"]) for consumer in instance["consumers"]}
        for instance in row["instances"]
    }
    found["lags"] = {
        (lag["process_id"], lag["task_id"]): without(lag, MORE["lag"]) | {"consumer_ids": sorted(lag["consumer_ids"])}
        for lag in row["lags"]
    }
    return found


def comparable_decision(observed: dict[str, Any]) -> dict[str, Any]:
    return without(observed, NOT_IN_THE_LOG["decision"]) | {"trigger": captured.trigger(observed)}


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_a_captured_log_gives_the_captured_inputs_and_decisions(scenario: str) -> None:
    history = read_leader_logs([str(captured.REAL / scenario / "leader.log.gz")])
    assert not history.incomplete
    inputs, observed = captured.rows(scenario, "inputs"), captured.rows(scenario, "observed")
    for entry, row, decision in zip(history.entries, inputs, observed, strict=True):
        assert comparable(dict(entry.row)) == comparable(row)
        assert comparable_decision(dict(entry.decision)) == comparable_decision(decision)


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_a_log_alone_foretells_its_own_decisions(scenario: str) -> None:
    """From the row of each generation follows the decision in the same log, thread by thread."""
    config = captured.rows(scenario, "inputs")[0]["config"]
    for entry in read(log_layouts.text(scenario).encode(), config=config).entries:
        snapshot = snapshot_from_row(entry.row, "log")
        group, decision = snapshot.state.group, assign_once(snapshot)
        assert captured.copies_alike(group, decision.consumers) == captured.decided(group, dict(entry.decision))
        assert decision.probing_rebalance == entry.decision["probing_rebalance"]


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_the_newest_row_knows_until_when_nothing_else_happened(scenario: str) -> None:
    *older, newest = read_leader_logs([str(captured.REAL / scenario / "leader.log.gz")]).entries
    assert not any("known_until" in entry.row for entry in older)
    lines = gzip.decompress((captured.REAL / scenario / "leader.log.gz").read_bytes()).decode().splitlines()
    logged = [match[0] for line in lines if (match := re.search(r"\d{4}-\d\d-\d\dT[\d:.]+Z", line[:60]))]
    assert newest.row["known_until"] == max(logged)


def test_the_last_line_is_the_newest_of_all_instances_and_layouts() -> None:
    log = list(log_layouts.finished("scale-out"))
    for layout in log_layouts.LAYOUTS:
        entry = read(log_layouts.laid_out(log, layout), application_id="a").entries[-1]
        if entry.at_ms is not None:
            assert parse_time(entry.row["known_until"]) >= entry.at_ms, layout
    first, second = b"i1| 2026-11-22T12:00:09.000Z INFO x\n", b"i2| 2026-11-22T12:00:01.500Z INFO y\n"
    assert [record.logged_at for record in read_records(io.BytesIO(first + second), "log")] == [
        Moment(parse_time_us("2026-11-22T12:00:09.000Z"), zoned=True)
    ]


def test_copies_are_as_old_as_the_generations_before_tell() -> None:
    entries = read_leader_logs([str(captured.REAL / "scale-out" / "leader.log.gz")]).entries
    assert not any("since" in age for age in entries[0].row.get("copies_since", ()))
    for before, entry in pairwise(entries):
        copies = {
            (process_id, task_id)
            for process_id, item in before.decision["decided"].items()
            for held in item["consumers"].values()
            for task_id in (*held["standby"], *held["temporary"])
        }
        ages = {
            (age["process_id"], age["task_id"]): age["since"] for age in entry.row["copies_since"] if "since" in age
        }
        assert copies <= ages.keys()
        assert all(since <= before.decision["at"] for since in ages.values())
        was = {
            (instance["process_id"], task_id)
            for instance in before.row["instances"]
            for held in instance["consumers"]
            for task_id in (*held["active"], *held["standby"])
        }
        assert all(ages[copy] == before.decision["at"] for copy in copies - was)


def test_copies_that_are_neither_held_nor_reported_have_no_age() -> None:
    for entry in generations("big"):
        row = entry.row
        there = {(lag["process_id"], lag["task_id"]) for lag in row["lags"]}
        there |= {
            (instance["process_id"], task_id)
            for instance in row["instances"]
            for held in instance["consumers"]
            for task_id in (*held["active"], *held["standby"], *held["warmup"])
        }
        assert {(age["process_id"], age["task_id"]) for age in row.get("copies_since", ())} <= there


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_the_rows_keep_to_the_schema(scenario: str) -> None:
    for row in checked_rows(read(log_layouts.text(scenario).encode()).entries):
        validator("snapshot").validate(row)


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_with_the_settings_and_the_number_a_row_is_the_same_snapshot(scenario: str) -> None:
    log = log_layouts.laid_out(list(log_layouts.finished(scenario)), log_layouts.compose)
    rows = captured.rows(scenario, "inputs")
    history = read(log, config=rows[0]["config"])
    for entry, row in zip(history.entries, rows, strict=True):
        for task in row["tasks"]:
            del task["source_partitions"]
        found = {name: value for name, value in entry.row.items() if name != "copies_since"}
        result, known = snapshot_from_row(found, "log"), snapshot_from_row(row, "captured")
        assert result.state == known.state
        assert (result.config, result.captured_at) == (known.config, known.captured_at)


@cache
def _as_kafka_logs_it() -> list[dict[str, Any]]:
    return [entry.row for entry in read(log_layouts.text("scale-out-standbys").encode()).entries]


@pytest.mark.parametrize(
    ("layout", "names_hosts"), log_layouts.LAYOUTS.items(), ids=lambda item: getattr(item, "__name__", "")
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_layout_of_the_log_does_not_matter(
    layout: Callable[[log_layouts.Logged], list[str]], names_hosts: bool, end: str
) -> None:
    expected = deepcopy(_as_kafka_logs_it())
    history = read(log_layouts.laid_out(log_layouts.records("scale-out-standbys"), layout, end))
    if not names_hosts:
        assert not any("host" in instance for entry in history.entries for instance in entry.row["instances"])
        for row in expected:
            for instance in row["instances"]:
                del instance["host"]
    assert [entry.row for entry in history.entries] == expected


@cache
def _told_of_whole(layout: Callable[..., list[str]]) -> list[Any]:
    """What the beginning of a log tells whose lines nobody splits."""
    return told(read(log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], layout)))


#: Layouts that split long lines and say so → the same without splitting.
SPLIT = {
    log_layouts.cri: log_layouts.spring_boot,
    log_layouts.cri_of_json: log_layouts.logstash,
    log_layouts.docker: log_layouts.docker,
    log_layouts.docker_of_json: log_layouts.logstash,
}


@given(st.integers(1, 700) | st.integers(700, 20_000), st.sampled_from(list(SPLIT)))
@example(597, log_layouts.cri_of_json)  # a last part begins like JSON of its own
@example(404, log_layouts.cri_of_json)
@example(2000, log_layouts.docker_of_json)  # first parts do
@example(20, log_layouts.cri)  # no part has the words of a message
@example(20, log_layouts.docker)
@example(3, log_layouts.cri_of_json)
@example(1, log_layouts.docker_of_json)
@settings(max_examples=8, deadline=None)
def test_wherever_a_shipper_splits_and_says_so_the_log_is_whole(size: int, layout: Callable[..., list[str]]) -> None:
    records = log_layouts.records("scale-out-traffic")[:80]
    assert told(read(log_layouts.laid_out(records, partial(layout, size=size)))) == _told_of_whole(SPLIT[layout])


#: Layouts that split what is written wherever a block ends → the same without splitting.
IN_BLOCKS = {log_layouts.conmon: log_layouts.logback, log_layouts.conmon_of_json: log_layouts.logstash}


@given(st.just(8192) | st.integers(1, 8192), st.integers(0, 8191), st.sampled_from(list(IN_BLOCKS)))
@example(8192, 176, log_layouts.conmon)  # a block ends in the words of a message
@example(8192, 3632, log_layouts.conmon)
@example(8192, 808, log_layouts.conmon_of_json)
@settings(max_examples=20, deadline=None)
def test_wherever_blocks_end_the_log_is_whole(size: int, offset: int, layout: Callable[..., bytes]) -> None:
    records = log_layouts.records("scale-out-traffic")[:80]
    assert told(read(layout(records, size=size, offset=offset % size))) == _told_of_whole(IN_BLOCKS[layout])


def folded(text: str, width: int) -> bytes:
    """As a terminal or a mail program folds lines, without a word about it."""
    lines = (line[at : at + width] for line in text.splitlines() for at in range(0, max(1, len(line)), width))
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize("width", [155, 210, 260, 320])
def test_a_line_split_before_what_tells_it_is_joined_with_its_beginning(width: int) -> None:
    log = log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], log_layouts.logback)
    assert told(read(folded(log.decode(), width))) == told(read(log))


@given(st.integers(60, 700))
@settings(max_examples=20)
def test_wherever_lines_are_folded_nothing_is_made_up(width: int) -> None:
    """What cannot be joined, as the very words that tell a message may be split, is left out or refused."""
    records = log_layouts.records("scale-out-traffic")[:80]
    log = log_layouts.laid_out(records, log_layouts.logback)
    whole = [entry.decision for entry in read(log).entries]
    try:
        history = read(folded(log.decode(), width))
    except SnapshotError:
        return
    for entry in history.entries:
        (decision,) = [item for item in whole if item["decided"] == entry.decision["decided"]]
        assert entry.decision["probing_rebalance"] == decision["probing_rebalance"]
        assert entry.decision.get("at") in (None, decision["at"])


def test_a_first_part_that_says_so_is_joined_though_it_tells_nothing() -> None:
    """As of a long JSON line whose message is not its first field."""
    records = log_layouts.records("scale-out-traffic")[:80]
    log = log_layouts.laid_out(records, log_layouts.logstash).decode().splitlines()
    at = "2026-11-21T13:00:00.000000000Z stdout"
    lines = (f"{at} P {line[:40]}\n{at} F {line[40:]}\n" for line in log)
    assert told(read("".join(lines).encode())) == told(read("\n".join(log).encode()))


def as_cri(text: bytes, cuts: Sequence[int] = ()) -> bytes:
    """A line in the containers' own format, split after so many bytes."""
    places = pairwise([0, *cuts, len(text)])
    parts = [text[start:end] for start, end in places]
    flags = [b"P"] * len(cuts) + [b"F"]
    at = b"2026-11-21T13:00:00.000000000Z stdout"
    return b"".join(b"%b %b %b\n" % (at, flag, part) for flag, part in zip(flags, parts, strict=True))


def test_a_character_and_a_colour_may_be_split() -> None:
    log = log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], log_layouts.coloured)
    log = re.sub(rb"S7-(?=[0-9a-f-]{36}-StreamThread)", "Aufträge-".encode(), log)
    places = {b"Auftr\xc3": [], b"\x1b[2": []}  # type: ignore[var-annotated]
    lines = log.splitlines()
    for start, cuts in places.items():
        for line in lines:
            cuts.append([line.index(start) + len(start)] if start in line else [])
    expected = told(read(b"".join(as_cri(line) for line in lines)))
    assert {entry.application_id for entry in expected} == {"Aufträge"}
    for cuts in places.values():
        assert any(cuts)
        assert told(read(b"".join(as_cri(line, cut) for line, cut in zip(lines, cuts, strict=True)))) == expected


@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("inside", [0, 1, 3])
def test_a_header_on_its_own_line_and_its_message_may_be_split(before: int, inside: int) -> None:
    def two_lines(record: log_layouts.Logged) -> list[str]:
        return [f"{record.at}Z {record.level}", *record.message.split("\n")]

    lines = log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], two_lines).splitlines()
    expected = told(read(b"\n".join(lines)))
    assert expected[0].at_ms
    log = b"".join(
        as_cri(line, range(9, 9 + (before if re.match(rb"\d{4}-.* [A-Z]+$", line) else inside))) for line in lines
    )
    assert told(read(log)) == expected


def test_a_line_that_was_never_ended_is_nobody_else_s_fault() -> None:
    """As of a container that was killed; another stream's lines go on."""
    lines = log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], log_layouts.cri).splitlines(True)
    begun = b"2026-11-21T13:00:00.000000000Z stderr P unfinished\n"
    assert told(read(b"".join([begun, *lines]))) == told(read(b"".join(lines)))


def test_the_beginning_of_a_message_is_a_gap_where_its_rest_never_comes() -> None:
    line = as_cri(b"2026-11-21T13:00:00Z INFO x - Decided on assignment: {0_0", [40])
    others = as_cri(b"other").replace(b"stdout", b"stderr") * 3000
    log = log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], log_layouts.cri)
    for text in (
        log + line.splitlines(True)[0] + line.splitlines(True)[1].replace(b" F ", b" P "),
        log + line + others,
    ):
        history = read(text)
        assert history.unread[-1] == (LogPlace("standard input", log.count(b"\n") + 1), "its end is missing")
        assert told(history) == told(read(log))


def test_a_cut_line_is_nobody_else_s_fault() -> None:
    log = log_layouts.laid_out(log_layouts.records("scale-out-traffic")[:80], log_layouts.logstash)
    lines = log.splitlines(keepends=True)
    with_cuts = b"".join(b'{"message": "cut\n' + line for line in lines)
    assert told(read(with_cuts)) == told(read(log))


def test_a_leader_that_nobody_names_is_left_out() -> None:
    log = log_layouts.laid_out(
        [record._replace(thread="main") for record in log_layouts.records("scale-out-traffic")], log_layouts.log4j
    )
    history = read(re.sub(rb"stream-thread \[[^\]]*\] ", b"", log))
    assert {entry.decision["leader"] for entry in history.entries} == {None}
    assert not any("leader" in instance for entry in history.entries for instance in entry.row["instances"])


#: Release → how it says who takes part (``StreamsPartitionAssignor.assignTasksToClients``). The rest of what is needed
#: is worded alike in all of them: the sources of 3.2.0, 3.2.3, 3.3.2, 3.4.1, 3.5.2, 3.6.2, 3.7.2, 3.8.1, 3.9.1, 4.0.0,
#: 4.1.0, 4.2.0 and 4.3.1 were compared.
WORDINGS = {
    "3.2": "All members participating in this rebalance: \n",
    "3.3": "All members participating in this rebalance: \n",
    "3.4": "All members participating in this rebalance: \n",
    "3.5": "{nodes} client nodes and Optional[{consumers}] consumers participating in this rebalance: \n",
    "4.3": "{nodes} client nodes and {consumers} consumers participating in this rebalance: \n",
}
_PARTICIPATING = re.compile(r"(\d+) client nodes and (\d+) consumers participating in this rebalance: \n")


@pytest.mark.parametrize("release", WORDINGS)
def test_every_release_s_wording_is_understood(release: str) -> None:
    def worded(message: str) -> str:
        return _PARTICIPATING.sub(lambda match: WORDINGS[release].format(nodes=match[1], consumers=match[2]), message)

    original = log_layouts.records("scale-out-traffic")
    records = [record._replace(message=worded(record.message)) for record in original]
    if release < "3.5":  # the stateful tasks were on DEBUG, and the assignment was told in other words
        records = [record for record in records if not record.message.startswith(("Assigning stateful", "Assigned "))]
    log = log_layouts.laid_out(records, log_layouts.compose)
    expected = read(log_layouts.laid_out(original, log_layouts.compose))
    assert told(read(log)) == told(expected)
    assert read(log).unread == ()
    assert len(expected.entries) == 15


def test_a_log_of_before_client_tags_is_read_and_its_release_is_assumed() -> None:
    """``ClientState.toString`` has client tags since 3.2 (KIP-708); before, the split had one line less."""
    text = log_layouts.text("scale-out-traffic")
    without_tags = text.replace("clientTags: ([]) ", "")
    older = re.sub(r"(revoking active \{.*\})\n[^\t]*\t(assigned standby)", r"\1\t\2", without_tags)
    history, expected = read(older.encode()), read(text.encode())
    assert [entry.decision for entry in history.entries] == [entry.decision for entry in expected.entries]
    assert {entry.row["streams_version"] for entry in history.entries} == {"3.1"}
    assert "release-assumed" in {note.code for note in notes_about(history, history.entries)}


def test_the_logs_of_the_instances_may_come_in_any_order(tmp_path: Path) -> None:
    records = log_layouts.records("scale-out-standbys")
    for host in {record.host for record in records}:
        own = [record for record in records if record.host == host]
        (tmp_path / f"{host}.log").write_bytes(log_layouts.laid_out(own, log_layouts.log4j))
    expected = [entry.row for entry in read(log_layouts.text("scale-out-standbys").encode()).entries]
    files = sorted(map(str, tmp_path.glob("*.log")))
    for order in (files, files[::-1]):
        history = read_leader_logs(order)
        assert [entry.row for entry in history.entries] == expected  # hosts come from the files' names


def test_rotated_logs_of_the_instances_are_theirs(tmp_path: Path) -> None:
    records = log_layouts.records("scale-out-standbys")
    for host in {record.host for record in records}:
        own = [record for record in records if record.host == host]
        half = len(own) // 2
        (tmp_path / f"{host}.log").write_bytes(log_layouts.laid_out(own[half:], log_layouts.log4j))
        (tmp_path / f"{host}.log.1.gz").write_bytes(gzip.compress(log_layouts.laid_out(own[:half], log_layouts.log4j)))
    expected = [entry.row for entry in read(log_layouts.text("scale-out-standbys").encode()).entries]
    assert [entry.row for entry in read_leader_logs([str(tmp_path)]).entries] == expected


def test_without_times_the_order_is_the_log_s() -> None:
    def short(record: log_layouts.Logged) -> list[str]:
        return f"{record.at[11:]} {record.level} {record.message}".split("\n")

    history = read(log_layouts.laid_out(log_layouts.records("scale-out-traffic"), short))
    assert len(history.entries) == 15
    assert not any("captured_at" in entry.row or "rates" in entry.row for entry in history.entries)
    assert "no-times" in {note.code for note in notes_about(history, history.entries)}


def test_the_leader_moves_from_one_log_to_another(tmp_path: Path) -> None:
    """The second half is told by another instance, as after a change of leaders."""
    records = log_layouts.records("scale-out-traffic")
    half = next(place for place, record in enumerate(records) if record.at > "2026-11-21T13:10")
    (tmp_path / "b.log").write_bytes(log_layouts.laid_out(records[:half], log_layouts.compose))
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(log_layouts.laid_out(records[half:], log_layouts.logstash)))
    whole = read(log_layouts.laid_out(records, log_layouts.compose))
    assert told(read_leader_logs([str(tmp_path)])) == told(whole)


def test_a_log_that_is_given_twice_counts_once(tmp_path: Path) -> None:
    log = log_layouts.text("scale-out").encode()
    (tmp_path / "a.log").write_bytes(log)
    (tmp_path / "b.log").write_bytes(log)
    assert told(read_leader_logs([str(tmp_path)])) == told(read(log))


def test_two_applications_in_one_log_are_told_apart() -> None:
    both = sorted(
        log_layouts.records("scale-out-traffic") + log_layouts.records("scale-out-standbys"), key=lambda item: item.at
    )
    history = read(log_layouts.laid_out(both, log_layouts.log4j))
    for scenario, application_id in (("scale-out-traffic", "S7"), ("scale-out-standbys", "S2b")):
        alone = read(log_layouts.laid_out(log_layouts.records(scenario), log_layouts.log4j))
        assert told(history, application_id) == told(alone)


def test_the_number_of_a_generation_comes_from_the_leader_s_consumer() -> None:
    log = log_layouts.laid_out(list(log_layouts.finished("scale-out")), log_layouts.spring_boot)
    history = read(log)
    assert [entry.row["generation"] for entry in history.entries] == list(range(23))
    assert [entry.decision["generation"] for entry in history.entries] == list(range(1, 24))


def test_a_number_without_its_decision_is_nobody_else_s() -> None:
    """As after a rebalance in which the end offsets could not be had: another assignor decides, and says nothing."""
    records = list(log_layouts.finished("scale-out-traffic"))
    numbers = [place for place, record in enumerate(records) if "Finished assignment for group" in record.message]
    kept = [
        record
        for place, record in enumerate(records)
        if place != numbers[3] and not (numbers[3] < place < numbers[4] and "Decided on" in record.message)
    ]
    history = read(log_layouts.laid_out(kept, log_layouts.compose))
    found = [entry.row.get("generation") for entry in history.entries]
    assert found == [0, 1, 2, 3, *range(5, 15)]
    assert [entry.decision.get("generation") for entry in history.entries][:5] == [1, 2, 3, None, 6]
    assert {note.code for note in notes_about(history, history.entries)} >= {"incomplete-generation"}


def test_application_server_names_the_host() -> None:
    log = log_layouts.text("scale-out-traffic").replace("hostInfo=null", "hostInfo=HostInfo{host='h', port=80}")
    history = read(re.sub(r"^i\d\| ", "", log, flags=re.MULTILINE).encode())
    assert {instance["host"] for entry in history.entries for instance in entry.row["instances"]} == {"h"}


def test_a_missing_generation_is_noticed() -> None:
    records = log_layouts.records("scale-out-standbys")
    starts = [place for place, record in enumerate(records) if "participating in this" in record.message]
    history = read(log_layouts.laid_out(records[: starts[5]] + records[starts[6] :], log_layouts.compose))
    assert [entry.follows for entry in history.entries[:7]] == [False, True, True, True, True, False, True]
    assert "no-generation-before" in {note.code for note in notes_about(history, history.entries[5:6])}


@given(st.data())
def test_a_log_cut_between_two_lines_is_read_as_far_as_it_goes(data: st.DataObject) -> None:
    records = log_layouts.records("scale-out-traffic")
    first = data.draw(st.integers(0, len(records) - 1))
    last = data.draw(st.integers(first, len(records)))
    log = log_layouts.laid_out(records[first:last], log_layouts.compose)
    whole = {row["captured_at"]: row["tasks"] for row in captured.rows("scale-out-traffic", "inputs")}
    try:
        history = read(log)
    except SnapshotError:
        return  # no rebalance is whole in it, or it begins or ends in the middle of one message
    for entry in history.entries:
        tasks = [without(task, NOT_IN_THE_LOG["task"]) for task in whole[entry.row["captured_at"]]]
        assert entry.row["tasks"] == tasks
    checked_rows(history.entries)


@pytest.mark.parametrize("what", ["Decided on", "participating", "per-consumer"])
@pytest.mark.parametrize("missing", [1, 50])
def test_a_cut_message_is_a_gap_and_the_rest_counts(what: str, missing: int) -> None:
    lines = log_layouts.text("scale-out").splitlines(keepends=True)
    whole = decisions(read("".join(lines).encode()))
    start = next(number for number, line in enumerate(lines) if what in line)
    end = start + {"Decided on": 0, "participating": 3, "per-consumer": 5}[what]
    lines[end] = lines[end][: -missing - 1] + "\n"
    history = read("".join(lines).encode())
    assert [place for place, _ in history.unread] == [LogPlace("standard input", start + 1)]
    kept = whole if what == "participating" else whole[1:]  # who takes part is in the split as well
    assert decisions(history) == kept
    assert "unread-message" in {note.code for note in notes_about(history, history.entries)}


def test_a_newer_rebalance_that_cannot_be_read_is_told_and_nothing_is_known_until_the_end() -> None:
    lines = log_layouts.text("scale-out").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if "Decided on" in line)
    lines[last] = lines[last][:900] + "\n"
    history = read("".join(lines).encode())
    whole = read(log_layouts.text("scale-out").encode())
    assert history.entries[-1].decision == whole.entries[-2].decision
    assert "known_until" not in history.entries[-1].row
    assert "newer-rebalance-unread" in {note.code for note in notes_about(history, history.entries[-1:])}


def test_what_only_talks_like_the_assignor_is_passed_over() -> None:
    """Nobody's log is refused for words in it."""
    words = (
        "Decided on assignment: homework 7",
        "All hands participating in this rebalance:",
        "order Decided on assignment of Client x",
        "No followup rebalance was requested",
        "the disk had endOffsetSum=3",
        "Finished assignment for group at generation x",
    )
    lines = log_layouts.text("scale-out-traffic").splitlines(keepends=True)
    for number, word in enumerate(words * 50):
        lines.insert(number * 7, f"i9| 2026-11-21T13:00:00.000Z [main] INFO com.example.School - {word}\n")
    assert told(read("".join(lines).encode())) == told(read(log_layouts.text("scale-out-traffic").encode()))


def test_a_cut_json_line_is_a_gap_with_its_place() -> None:
    lines = log_layouts.laid_out(log_layouts.records("scale-out"), log_layouts.logstash).splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if b"Decided on" in line)
    lines[start] = lines[start][:900] + b"\n"
    history = read(b"".join(lines))
    assert [place for place, _ in history.unread] == [LogPlace("standard input", start + 1)]


def test_damaged_gzip_is_refused() -> None:
    packed = gzip.compress(log_layouts.text("scale-out").encode())
    for broken in (packed[:-9], packed[:3000], packed[:2000] + b"\0\0\0\0" + packed[2004:]):
        with pytest.raises(SnapshotError, match="damaged gzip"):
            read(broken)


def test_a_log_without_a_decision_says_what_to_give() -> None:
    with pytest.raises(SnapshotError, match="no decision of Kafka Streams' HighAvailabilityTaskAssignor") as caught:
        read(b"2026-11-21T13:00:00Z INFO started\n")
    assert "on level INFO" in caught.value.fix


def test_times_without_a_zone_are_taken_for_utc_and_said_so() -> None:
    history = read(log_layouts.laid_out(log_layouts.records("scale-out"), log_layouts.log4j))
    assert history.entries[0].row["captured_at"] == "2026-11-21T13:00:17.593Z"
    codes = [note.code for note in notes_about(history, history.entries[-1:])]
    assert codes == ["no-time-zone", "no-config", "no-generation", "no-hosts"]


def test_what_a_log_does_not_tell_comes_from_elsewhere() -> None:
    log = log_layouts.text("scale-out").encode()
    alone = read(log)
    ids = {instance["host"]: instance["process_id"] for instance in alone.entries[-1].row["instances"]}
    names = {"i1": {"rack": "a"}, ids["i2"]: {"host": "orders-1", "rack": "b"}, "nobody": {"host": "x"}}
    history = read(log, names=names, config={"num_standby_replicas": 0})
    found = {
        instance["process_id"]: (instance["host"], instance.get("rack"))
        for instance in history.entries[-1].row["instances"]
    }
    assert found[ids["i1"]] == ("i1", "a")
    assert found[ids["i2"]] == ("orders-1", "b")
    assert history.unused_names == ("nobody",)
    assert [note.code for note in notes_about(history, history.entries[-1:])] == ["unused-names", "no-generation"]


def test_a_client_id_is_a_host_and_hides_the_application() -> None:
    log = re.sub(
        r"S1-([0-9a-f]{4})[0-9a-f-]{32}-StreamThread", r"orders-\1-StreamThread", log_layouts.text("scale-out")
    )
    log = log.replace("i1| ", "").replace("i2| ", "").replace("i3| ", "").replace("i4| ", "").replace("i5| ", "")
    with pytest.raises(SnapshotError, match="the application's id is not in the log"):
        read(log.encode())
    history = read(log.encode(), application_id="orders")
    instances = history.entries[-1].row["instances"]
    assert {instance["host"] for instance in instances} == {
        f"orders-{instance['process_id'][:4]}" for instance in instances
    }
    assert [instance["leader"] for instance in instances].count(True) == 1


def test_an_end_offset_that_nobody_tells_is_left_out_with_a_warning() -> None:
    log = log_layouts.text("scale-out-traffic")
    entry = read(log.encode()).entries[1]
    alone = re.sub(r"taskLagTotals: \(\[.*?\]\)", lambda match: re.sub(r"=\d+", "=-3", match[0]), log)
    history = read(alone.encode())
    assert all("end_offset_sum" not in task for task in history.entries[1].row["tasks"])
    assert "end_offset_sum" in entry.row["tasks"][0]
    assert "no-end-offsets" in {note.code for note in notes_about(history, history.entries[1:2])}


def test_more_than_the_end_offset_was_reported() -> None:
    """``ClientState.computeTaskLags``: the lag is then the whole sum, which the leader's warning tells."""
    log = log_layouts.text("scale-out")
    process_id = read(log.encode()).entries[1].row["instances"][0]["process_id"]
    warning = (
        f"i2| 2026-11-21T13:00:38.400Z [x] WARN ClientState - Task 0_1 had endOffsetSum=1999 smaller than "
        f"offsetSum=2500 on member {process_id}. This probably means the task is corrupted, which in turn indicates\n"
    )
    lines = log.splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if "5 client nodes" in line)
    history = read("".join([*lines[:place], warning, *lines[place:]]).encode())
    ends = {task["task_id"]: task.get("end_offset_sum") for task in history.entries[1].row["tasks"]}
    assert (ends["0_1"], ends["0_0"]) == (1999, 2000)


def test_rows_are_plain_json() -> None:
    for entry in read(log_layouts.text("scale-out-traffic").encode()).entries:
        assert json.loads(json.dumps(entry.row)) == entry.row
        assert json.loads(json.dumps(entry.decision)) == entry.decision


def test_a_split_with_other_tasks_than_were_decided_is_not_of_the_decision() -> None:
    log = log_layouts.text("scale-out")
    entry = read(log.encode()).entries[1]
    first, second = (
        instance["consumers"][0] for instance in entry.row["instances"] if instance["host"] in ("i1", "i2")
    )
    (owned, *_), start = first["active"], "prev owned active {"
    lines = log.splitlines(keepends=True)
    place = [number for number, line in enumerate(lines) if start in line and second["consumer_id"] in line][1]
    lines[place] = lines[place].replace(f"{second['consumer_id']}=[", f"{second['consumer_id']}=[{owned}, ")
    history = read("".join(lines).encode())
    whole = decisions(read(log.encode()))
    assert len(history.entries) == len(whole) - 1
    assert all(each in whole for each in decisions(history))
    assert history.incomplete
