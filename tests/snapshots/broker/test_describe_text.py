"""Saved text of Kafka's own tool about streams groups becomes rows."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.cli import run
from kstream_plan.errors import SnapshotError
from kstream_plan.model.streams_group import BrokerGroup
from kstream_plan.snapshots.broker.describe_text import rows_from_text
from kstream_plan.snapshots.broker.topology_text import read_topology
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.designs.streams.test_plan_of_streams_group import stable

REAL = Path(__file__).parents[2] / "real" / "streams"
TABLES = Path(__file__).parent / "tables"
_LOG, _VERBOSE = "snapshot FILE", "--group orders --members --verbose"
TOPOLOGY = read_topology((REAL / "topology.txt").read_text(), "topology.txt")


@pytest.mark.parametrize(("capture", "release"), [("k43", "4.3"), ("k44", "4.4")])
@pytest.mark.parametrize(("text", "epoch"), [("base", 8), ("scale-out", 12)])
def test_the_text_tells_what_the_broker_described(capture: str, release: str, text: str, epoch: int) -> None:
    saved = (REAL / f"{capture}-{text}.txt").read_text()
    ((row, notes),) = rows_from_text(
        [("saved", saved)], release, lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1}
    )
    assert [note.code for note in notes] == (["assignor-unknown"] if release == "4.4" else [])
    read, described = snapshot_from_row(row, "saved"), snapshot_from_row(stable(capture, epoch), "described")
    ordered, unordered = read.state.memory, described.state.memory
    assert isinstance(ordered, BrokerGroup)
    assert isinstance(unordered, BrokerGroup)
    assert (ordered.ordered, unordered.ordered) == (True, False)
    assert sorted(ordered.members, key=lambda entry: entry.member_id) == sorted(
        unordered.members, key=lambda item: item.member_id
    )
    assert tuple(read.state.holdings) == tuple(described.state.holdings)
    assert [task.stateful for task in read.state.group.tasks] == [task.stateful for task in described.state.group.tasks]
    assert read.config == described.config


def test_tables_may_come_in_any_order_and_from_several_files() -> None:
    lines = (REAL / "k43-base.txt").read_text().splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith("$")]
    parts = ["".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]

    def row_of(texts: list[str]) -> object:
        return rows_from_text([("saved", text) for text in texts], "4.3", lambda _of: TOPOLOGY, lambda _of: None)

    assert row_of(parts) == row_of(parts[::-1]) == row_of(["".join(parts)])


@pytest.mark.parametrize(
    ("state", "members", "epochs", "answer"),
    [
        ("k43-base.txt", "k43-scale-out.txt", (12, 12), None),  # the members' table is the newer one
        ("k43-scale-out.txt", "k43-base.txt", (12, 8), "Assigning"),
    ],
)
def test_tables_of_two_moments_are_told_and_the_members_count(
    state: str, members: str, epochs: tuple[int, int], answer: str | None
) -> None:
    def table(file: str, option: str) -> str:
        lines = (REAL / file).read_text().splitlines(keepends=True)
        start = next(n for n, line in enumerate(lines) if line.startswith("$") and option in line)
        end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("$")), len(lines))
        return "".join(lines[start:end])

    texts = [("a", table(state, "--state")), ("b", table(members, "--members"))]
    ((row, notes),) = rows_from_text(texts, "4.3", lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1})
    assert next(note.code for note in notes) == "two-moments"
    assert (row["generation"], row["target_epoch"], row["group_state"]) == (*epochs, answer)
    assert "group-not-as-told" not in [note.code for note in snapshot_from_row(row, "saved").warnings]


@pytest.mark.parametrize("files", [("k43-base.txt", "k43-scale-out.txt"), ("k43-scale-out.txt", "k43-base.txt")])
def test_of_texts_of_two_moments_the_newer_one_counts_in_whatever_order(files: tuple[str, str]) -> None:
    def rows_of(*names: str) -> Any:
        texts = [(name, (REAL / name).read_text()) for name in names]
        return rows_from_text(texts, "4.3", lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1})

    ((alone, _),), ((row, notes),) = rows_of("k43-scale-out.txt"), rows_of(*files)
    assert row == alone
    assert [note.code for note in notes] == ["members-again"]
    assert "target 12 counts" in notes[0].message


def test_without_a_topology_standbys_tell_what_keeps_state() -> None:
    saved = (REAL / "k44-base.txt").read_text()
    ((row, notes),) = rows_from_text([("saved", saved)], "4.4", lambda _of: None, lambda _of: None)
    assert [note.code for note in notes] == ["stateful-by-standbys", "no-config", "assignor-unknown"]
    assert row["config"] == {"streams_num_standby_replicas": 1}
    without = saved.replace("STANDBY", "ACTIVE")
    with pytest.raises(SnapshotError, match="does not tell which tasks are stateful"):
        rows_from_text([("saved", without)], "4.4", lambda _of: None, lambda _of: None)


def test_settings_of_the_application_are_told_to_have_no_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.properties"
    file.write_text("num.standby.replicas=2\nstreams.num.standby.replicas=1\n")
    base = [str(REAL / "k43-base.txt"), "--set", "broker.version=4.3", "--streams-config", str(file)]
    assert run(["snapshot", *base]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["config"] == {"streams_num_standby_replicas": 1}
    assert "warning: num.standby.replicas: settings of the application have no effect in a streams group" in err


@pytest.mark.parametrize(("name", "warned"), [("sticky", False), ("ours", True)])
def test_another_assignor_in_the_groups_settings_is_warned_of(
    name: str, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "group.properties"
    settings.write_text(f"streams.num.standby.replicas=1\nstreams.assignor.name={name}\n")
    given = ["--set", "broker.version=4.4", "--streams-config", str(settings)]
    assert run(["snapshot", str(REAL / "k43-base.txt"), *given]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["config"].get("streams_assignor_name") == (name if warned else None)
    warnings = {note.message for note in snapshot_from_row(row, "x").warnings if note.code == "not-modelled"}
    message = "streams.assignor.name is ours: it assigns tasks, not sticky, which the plan goes by"
    assert warnings == ({message} if warned else set())


def test_the_command_writes_a_row_or_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    base = str(REAL / "k43-base.txt")
    assert run(["snapshot", base]) == 2
    assert "Fix: give --set broker.version, one of 4.2, 4.3, 4.4" in capsys.readouterr().err
    assert run(["snapshot", base, "--set", "broker.version=4.3"]) == 0
    assert json.loads(capsys.readouterr().out)["group_protocol"] == "streams"


def _rows(text: str, release: str = "4.3") -> list[Any]:
    return rows_from_text([("saved", text)], release, lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1})


class TestKafkaToolsTables:
    """Tables are known by their columns, wherever they stand; what is missing is told."""

    @pytest.mark.parametrize(
        ("file", "codes"),
        [
            ("assignor44.txt", []),
            ("nonverbose.txt", ["assignor-unknown", "no-epochs"]),
            ("onlymembers.txt", ["no-state"]),
        ],
    )
    def test_they_tell_what_verbose_tables_tell(self, file: str, codes: list[str]) -> None:
        ((row, notes),) = _rows((TABLES / file).read_text(), "4.4")
        ((whole, _),) = _rows((REAL / "k43-base.txt").read_text(), "4.4")
        assert [note.code for note in notes] == codes
        for field in ("tasks", "application_id"):
            assert row[field] == whole[field]
        holdings = [snapshot_from_row(item, "saved").state.holdings for item in (row, whole)]
        assert list(holdings[0]) == list(holdings[1])

    def test_another_assignor_is_refused_as_when_the_broker_names_it(self) -> None:
        text = (TABLES / "assignor44.txt").read_text().replace("sticky ", "range  ")
        with pytest.raises(SnapshotError, match=r"decided by the assignor 'range'; only sticky is modelled"):
            _rows(text, "4.4")

    @pytest.mark.parametrize("assignor", ["-     ", "      "])
    def test_an_assignor_that_is_not_named_is_told(self, assignor: str) -> None:
        text = (TABLES / "assignor44.txt").read_text().replace("sticky", assignor)
        ((_, notes),) = _rows(text, "4.4")
        assert [note.code for note in notes] == ["assignor-unknown"]

    def test_a_member_of_the_classic_protocol_is_refused(self) -> None:
        text = (REAL / "k43-base.txt").read_text().replace(" streams ", " classic ", 1)
        with pytest.raises(SnapshotError, match="of the classic protocol"):
            _rows(text)

    def test_without_targets_a_stable_group_holds_what_it_is_to_hold(self) -> None:
        text = _without_targets((TABLES / "nonverbose.txt").read_text())
        ((row, notes),) = _rows(text)
        assert [note.code for note in notes] == ["no-targets", "no-epochs"]
        assert "--group S8 --members --verbose" in notes[-1].message
        ((whole, _),) = _rows((REAL / "k43-base.txt").read_text())
        groups = [snapshot_from_row(item, "saved").state.memory for item in (row, whole)]
        targets = [{member.member_id: member.target for member in group.members} for group in groups]  # type: ignore[union-attr]
        assert targets[0] == targets[1]

    @pytest.mark.parametrize(
        ("edit", "reason"),
        [
            (("Stable     ", "Reconciling"), "the group is Reconciling"),
            (("COORDINATOR (ID)", "NOTHING"), "--state is missing"),
        ],
    )
    def test_without_targets_any_other_group_is_refused(self, edit: tuple[str, str], reason: str) -> None:
        text = _without_targets((TABLES / "nonverbose.txt").read_text()).replace(*edit)
        with pytest.raises(SnapshotError, match=f"without --verbose, and {reason}"):
            _rows(text)

    def test_text_around_tables_is_passed_over(self) -> None:
        lines = (REAL / "k43-base.txt").read_text().splitlines()
        prompts = [line.replace("$ ", "[root@broker-1 ~]# ") if line.startswith("$") else line for line in lines]
        quoted = "\n".join(["Hi,", "here is what we have:", *(f"tools-1  | {line}" for line in prompts), "Thanks"])
        assert _rows(quoted) == _rows("\n".join(lines))

    def test_a_cut_line_is_no_end_of_a_table(self) -> None:
        lines = (REAL / "k43-base.txt").read_text().splitlines()
        for number in (2, 4):
            cut = [*lines[:number], lines[number][:60], *lines[number + 1 :]]
            with pytest.raises(SnapshotError, match="cannot be read") as error:
                _rows("\n".join(cut))
            assert error.value.where == f"saved, line {number + 1}"

    @pytest.mark.parametrize(
        ("text", "what", "fix"),
        [
            (
                "GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS \norders a-1 /10.0.0.1 a 3\n",
                "a group of consumers",
                _LOG,
            ),
            (
                "\nGROUP TOPIC PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG CONSUMER-ID HOST CLIENT-ID\n"
                "orders t 0 1 2 1 - - -",
                "a group of consumers",
                _LOG,
            ),
            (
                "GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS\norders b:9092 (1) stream Stable 3",
                "a group of consumers",
                _LOG,
            ),
            (
                "GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS\norders b:9092 (1) range Stable 3",
                "with the assignor 'range', not stream: it is not one of Kafka Streams",
                "give the group of a Kafka Streams application",
            ),
            (
                "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS MEMBER-EPOCH ASSIGNMENT\norders a /1 a 1 2 t:0",
                "a share group",
                "kafka-streams-groups.sh --list",
            ),
            ("GROUP MEMBER PROCESS CLIENT-ID\norders m p c\nACTIVE-TASKS:: 0: [[0]]", "before 4.2", _VERBOSE),
            ("GROUP  STATE\norders  Stable\n", "a list of groups", _VERBOSE),
            (
                "GROUP  COORDINATOR (ID)  STATE  #MEMBERS\norders  b:9092 (1)  Stable  3\n",
                "not its members",
                "--members",
            ),
        ],
        ids=["members", "offsets", "state", "range", "share", "early", "list", "no-members"],
    )
    def test_other_tables_are_named_with_what_is_needed(self, text: str, what: str, fix: str) -> None:
        with pytest.raises(SnapshotError, match=what) as error:
            _rows(text)
        assert fix in str(error.value.fix)


def _without_targets(text: str) -> str:
    """Return the text of a tool that was asked without --verbose."""
    return re.sub(r" TARGET-ACTIVE: .*", "", text)


@pytest.mark.parametrize(
    "encode",
    [lambda text: text.encode("utf-16"), lambda text: gzip.compress(text.encode("utf-8-sig"))],
    ids=["utf-16", "gzip"],
)
def test_text_is_read_as_shells_and_people_save_it(
    encode: Callable[[str], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, source in (("group.txt", "k43-base.txt"), ("topology.txt", "topology.txt")):
        (tmp_path / name).write_bytes(encode((REAL / source).read_text()))
    options = [str(tmp_path / "group.txt"), "--topology", str(tmp_path / "topology.txt")]
    assert run(["snapshot", *options, "--set", "broker.version=4.3"]) == 0
    assert json.loads(capsys.readouterr().out)["application_id"] == "S8"
