"""``follow`` and ``wait`` on the command line: a log that grows, a captured cluster, and a clock that a test sets."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.cli.commands import follow as follow_module
from kstream_plan.cli.commands import wait as wait_module
from kstream_plan.cli.commands.follow import FollowOptions, follow_group
from kstream_plan.cli.commands.wait import WaitOptions, wait_until
from kstream_plan.cli.output import OutputForm
from kstream_plan.errors import ClusterError
from kstream_plan.live.course import Stage
from kstream_plan.render.answers import to_json
from kstream_plan.snapshots.broker import kafka_cluster
from kstream_plan.snapshots.leader_log.log_stream import LogStream
from kstream_plan.snapshots.rows.fields import parse_time
from tests.helpers import recorded_events
from tests.helpers.captured import REAL, rows
from tests.helpers.captured_cluster import CapturedCluster
from tests.helpers.clocks import SetClock
from tests.helpers.recorded_events import BY_NAME
from tests.helpers.schemas import validator

Capture = pytest.CaptureFixture[str]
DRAIN = BY_NAME["drain"]
PROPERTIES = str(recorded_events.MORE / "bounce" / "app.properties")


class GrowingLog:
    """A log file that holds what had been logged at the clock's time."""

    def __init__(self, path: Path, now_ms: int) -> None:
        self.path = path
        self.clock = SetClock(now_ms, self.write)
        self.write(now_ms)

    def write(self, now_ms: int) -> None:
        self.path.write_bytes(recorded_events.log_until("bounce", now_ms).getvalue())
        os.utime(self.path, ns=(now_ms * 1_000_000, now_ms * 1_000_000))


@pytest.fixture
def log(tmp_path: Path) -> GrowingLog:
    return GrowingLog(tmp_path / "orders.log", DRAIN.at_ms)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(to_json(recorded_events.planned(DRAIN)) + "\n", encoding="utf-8")
    return path


def asked(kind: type[Any], log: GrowingLog, **more: Any) -> Any:
    return kind(leader_log=[str(log.path)], streams_config=[PROPERTIES], **more)


class TestFollow:
    def test_a_log_that_grows_is_followed_to_its_end(self, log: GrowingLog, capsys: Capture) -> None:
        options = asked(FollowOptions, log, every=5_000, give_up_after=3_600_000)
        course = follow_group(options, recorded_events.planned(DRAIN), log.clock)
        assert course is not None
        assert course.stage is Stage.AS_PLANNED
        shown = capsys.readouterr().out.splitlines()
        came = [line for line in shown if " came as planned (" in line]
        assert [line.split("Rebalance ")[1][:6] for line in came] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
        assert any(line.startswith("╭─ bounce: what was planned, and what happened") for line in shown)

    def test_json_has_a_line_for_each_event(self, log: GrowingLog, tmp_path: Path, capsys: Capture) -> None:
        saved = tmp_path / "said.json"
        options = asked(FollowOptions, log, give_up_after=3_600_000, output=OutputForm.JSON, out=saved)
        follow_group(options, recorded_events.planned(DRAIN), log.clock)
        documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        schema = validator("follow")
        for document in documents:
            schema.validate(document)
        assert documents[0]["event"] == "begin"
        assert documents[-1]["event"] == "end"
        validator("said-and-happened").validate(json.loads(saved.read_text(encoding="utf-8")))

    def test_nothing_happens_in_a_day_but_that_time_passes(self, log: GrowingLog, capsys: Capture) -> None:
        """An instance that was to leave does not: memory stays, and it is given up after a day."""
        clock = SetClock(DRAIN.at_ms)
        options = asked(FollowOptions, log, every=600_000, give_up_after=86_400_000)
        tracemalloc.start()
        course = follow_group(options, recorded_events.planned(DRAIN), clock)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert course is not None
        assert course.stage is Stage.GOES_ON
        assert len(clock.slept) == 144
        assert most < 12 << 20
        events, _, page = capsys.readouterr().out.partition("\n")
        assert "4 rebalances planned" in events
        assert page.startswith("╭─ bounce: followed ")

    @pytest.mark.parametrize(
        ("stage", "code"),
        [(Stage.AS_PLANNED, 0), (Stage.OTHERWISE, 3), (Stage.DOES_NOT_SETTLE, 4), (Stage.GOES_ON, 6)],
    )
    def test_how_it_ends_is_the_exit_code(
        self, stage: Stage, code: int, plan: Path, log: GrowingLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Ended:
            def __init__(self) -> None:
                self.stage = stage

        monkeypatch.setattr(follow_module, "follow_group", lambda *_: Ended())
        assert run(["follow", str(plan), "--leader-log", str(log.path)]) == code

    def test_a_plan_of_another_group_is_named(self, plan: Path, capsys: Capture) -> None:
        where = ["--bootstrap-server", "broker:9092", "--group", "payments"]
        assert run(["follow", str(plan), *where]) == 2
        assert "is a plan of bounce, not of payments" in capsys.readouterr().err


class TestWait:
    def test_it_says_why_not_when_that_changes_and_ends_once_it_holds(self, log: GrowingLog, capsys: Capture) -> None:
        log.clock.time_ms += 50_000  # the instance has gone
        log.write(log.clock.time_ms)
        options = asked(WaitOptions, log, condition="settled", give_up_after=3_600_000, trust_reports_of=86_400_000)
        assert wait_until(options, log.clock)
        lines = capsys.readouterr().out.splitlines()
        assert {line.split()[0] for line in lines} == {"NO", "YES"}
        assert len(lines) == len(set(lines))
        assert lines[-1].endswith("The group has settled")

    def test_it_has_to_hold_for_so_long(self, log: GrowingLog, capsys: Capture) -> None:
        options = asked(WaitOptions, log, condition="settled", hold_for=12_000, trust_reports_of=86_400_000)
        began_ms = log.clock.now_ms()
        assert wait_until(options, SetClock(began_ms))
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].endswith("The group has settled; waiting for 12s more")
        assert lines[-1].endswith("The group has settled")

    def test_what_a_rebalance_between_two_polls_broke_holds_anew(self, log: GrowingLog, capsys: Capture) -> None:
        """The group has settled at both, and an instance has gone in between."""
        began_ms, every_ms, hold_ms = log.clock.now_ms(), 120_000, 200_000
        clock = SetClock(began_ms, lambda now_ms: log.write(min(now_ms, began_ms + every_ms)))
        asked_for = {"every": every_ms, "hold_for": hold_ms, "trust_reports_of": 86_400_000}
        options = asked(WaitOptions, log, condition="settled", give_up_after=3_600_000, **asked_for)
        assert wait_until(options, clock)
        assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {"YES"}
        assert clock.now_ms() >= began_ms + every_ms + hold_ms

    def test_clocks_that_run_apart_are_noticed(self, log: GrowingLog, capsys: Capture) -> None:
        """This machine's clock is a minute behind the log's."""
        options = asked(WaitOptions, log, condition="settled", trust_reports_of=86_400_000, give_up_after=0)
        newest = recorded_events.read_leader_logs([str(log.path)]).entries[-1]
        assert newest.at_ms is not None
        assert wait_until(options, SetClock(newest.at_ms - 60_000))
        assert "clocks run apart" in capsys.readouterr().err

    @pytest.mark.parametrize(("ahead_ms", "holds"), [(50_000, True), (7_200_000, False)])
    def test_a_log_of_another_zone_does_not_tell_that_the_group_goes_on(
        self, ahead_ms: int, holds: bool, log: GrowingLog, capsys: Capture
    ) -> None:
        """Its times name no zone, and are two hours later than this machine's clock: nothing in it is ever old."""
        options = asked(WaitOptions, log, condition="settled", give_up_after=0)
        newest = recorded_events.read_leader_logs([str(log.path)]).entries[-1]
        assert wait_until(options, SetClock(parse_time(newest.row["known_until"]) - ahead_ms)) is holds
        shown = capsys.readouterr()
        assert "clocks run apart" in shown.err
        assert holds or shown.out.startswith("UNKNOWN  ")

    def test_after_a_time_it_is_given_up(
        self, log: GrowingLog, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setattr(wait_module, "SystemClock", lambda: SetClock(DRAIN.at_ms + 86_400_000))
        assert run(["wait", "settled", "--leader-log", str(log.path), "--give-up-after", "10m"]) == 6
        shown = capsys.readouterr()
        assert shown.out.startswith("UNKNOWN  ")
        assert len(shown.out.splitlines()) == 1, "the same reason is said once, whatever its durations are"
        assert "gave up after 10m" in shown.err

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (["settled"], "no running group is given"),
            (["settled", "--bootstrap-server", "b:1"], "needs one group"),
            (["settled", "--bootstrap-server", "b:1", "--group", "a", "--leader-log", "x"], "two sources"),
            (["settled", "--leader-log", "x", "--group", "a"], "does not go with --leader-log"),
            (["settled", "i1", "--leader-log", "x"], "about the group, not about i1"),
            (["safe-to-stop", "--leader-log", "x"], "needs an instance"),
            (["caught-up", "--leader-log", "x", "--restart", "40s"], "--restart goes with safe-to-restart"),
            (["settled", "--leader-log", "x", "--metrics", "-"], "is read once"),
            (["settled", "--leader-log", "x", "--metrics", "http://user:pw@host/"], "a user or a password"),
            (["settled", "--connect-url", "http://w:8083", "--metrics", "x"], "about Kafka Streams"),
            (["settled", "--leader-log", "x", "--set", "every=10ms"], "below 1s"),
            (["ready", "--leader-log", "x"], "is not one of settled"),
        ],
    )
    def test_wrong_usage_is_said(self, words: list[str], what: str, capsys: Capture) -> None:
        assert run(["wait", *words]) == 2
        assert what in " ".join(capsys.readouterr().err.replace("│", " ").split())

    @pytest.mark.parametrize("command", [["follow"], ["wait", "settled"]])
    def test_a_log_that_is_not_there_is_refused(self, command: list[str], tmp_path: Path, capsys: Capture) -> None:
        assert run([*command, "--leader-log", str(tmp_path / "app.log"), "--give-up-after", "1s"]) == 1
        assert "app.log: does not exist. Fix: check the path" in capsys.readouterr().err


class TestLogThatEnds:
    @pytest.mark.parametrize("command", [["follow", "PLAN"], ["wait", "settled"]])
    def test_it_is_said_where_it_ended(
        self, command: list[str], plan: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Piped:
            buffer = recorded_events.log_until("bounce", DRAIN.at_ms + 50_000)

        monkeypatch.setattr("sys.stdin", Piped)
        words = [str(plan) if word == "PLAN" else word for word in command]
        assert run([*words, "--leader-log", "-", "--set", "every=1s"]) == 1
        shown = capsys.readouterr()
        assert "ended before what is waited for" in shown.err
        assert command[0] == "wait" or "Rebalance 1 of 4 came as planned" in shown.out, "what came is said before"

    def test_one_that_holds_no_rebalance_is_said(self, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        class Piped:
            buffer = io.BytesIO(b"nothing of Kafka Streams\n")

        monkeypatch.setattr("sys.stdin", Piped)
        assert run(["wait", "settled", "--leader-log", "-", "--set", "every=1s"]) == 1
        assert "error: " in capsys.readouterr().err


class Away(CapturedCluster):
    """A captured cluster that does not answer at some of the times that it is asked."""

    asked = 0
    away: tuple[int, ...] = ()
    connections = 0

    def __init__(self, _servers: str, _arguments: dict[str, Any], _wait_ms: int) -> None:
        described = next(row for row in rows("scale-out-standbys", "describe-groups") if row["generation"] == 7)
        super().__init__("scale-out-standbys", described)
        type(self).connections += 1

    def describe_group(self, group_id: str) -> Any:
        type(self).asked += 1
        if type(self).asked in type(self).away:
            raise ClusterError("does not answer", where="broker:9092")
        return super().describe_group(group_id)

    def group_records(self, group_id: str, from_offset: int = 0) -> Iterator[Any]:
        records = list(super().group_records(group_id))[:-1]
        return iter([record for record in records if record.offset >= from_offset])

    def __exit__(self, *failure: object) -> None:
        pass


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> type[Away]:
    monkeypatch.setattr(kafka_cluster, "KafkaCluster", Away)
    monkeypatch.setattr(Away, "asked", 0)
    monkeypatch.setattr(Away, "connections", 0)
    return Away


class TestBrokers:
    GROUP = ("--bootstrap-server", "broker:9092", "--group", "S2b")

    def options(self, kind: type[Any], **more: Any) -> Any:
        topology = [str(REAL / "scale-out-standbys" / "topology.txt")]
        return kind(bootstrap_server="broker:9092", group=["S2b"], topology=topology, **more)

    def test_a_broker_that_is_away_is_told_and_waited_for(self, network: type[Away], capsys: Capture) -> None:
        network.away = (2, 3)
        options = self.options(WaitOptions, condition="caught-up", give_up_after=60_000)
        clock = SetClock(rows("scale-out-standbys", "describe-groups")[-1].get("at_ms", 1_763_730_000_000))
        assert not wait_until(options, clock)
        lines = capsys.readouterr().out.splitlines()
        assert any("does not answer" in line and line.startswith("UNKNOWN") for line in lines)
        assert network.connections == 3, "one connection, and a new one after each failure"

    def test_a_broker_that_never_answered_is_an_error(self, network: type[Away], capsys: Capture) -> None:
        network.away = (1,)
        assert run(["wait", "settled", *self.GROUP]) == 1
        assert "does not answer" in capsys.readouterr().err


class TestStream:
    def test_a_stream_is_kept_from_its_beginning_and_its_end(self) -> None:
        lines = [f"line {number:06}\n".encode() for number in range(300_000)]
        stream = LogStream(io.BytesIO(b"".join(lines)), tail_bytes=100_000)
        while not stream.ended:
            pass
        kept = stream.so_far().read()
        assert stream.size == sum(map(len, lines))
        assert len(kept) <= (1 << 20) + 2 * 100_000 + 20
        assert kept.startswith(lines[0])
        assert kept.endswith(lines[-1])
        assert {len(line) for line in kept.splitlines(keepends=True)} == {len(lines[0])}

    def test_a_line_that_is_not_whole_yet_is_not_read(self) -> None:
        reading, writing = os.pipe()
        stream = LogStream(os.fdopen(reading, "rb"))
        os.write(writing, b"one\ntw")
        while stream.size < 6:
            pass
        assert stream.so_far().read() == b"one\n"
        os.close(writing)
        while not stream.ended:
            pass
        assert stream.so_far().read() == b"one\ntw"


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["wait", "settled", "--poll", "5s"], "kstream-plan wait settled --set every=5s"),
        (["follow", "--interval", "5s"], "kstream-plan follow --set every=5s"),
        (["follow", "--brokers=b:9092"], "kstream-plan follow --bootstrap-server=b:9092"),
        (["wait", "settled", "--give-up", "3m"], "kstream-plan wait settled --give-up-after 3m"),
        (["wait", "settled", "--output", "json"], "see kstream-plan wait --help"),
    ],
)
def test_an_option_under_another_tool_s_name_is_the_one_that_is_meant(
    words: list[str], fix: str, capsys: Capture
) -> None:
    assert run(words) == 2
    error = capsys.readouterr().err
    assert error.endswith(f"Fix: {fix}\n")
    assert "Possible options" not in error, "what is merely spelled alike is not meant"
