"""Saved text of Kafka's own tool about streams groups becomes rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.errors import SnapshotError
from kstream_plan.model.streams_group import BrokerGroup
from kstream_plan.snapshots.broker.describe_text import rows_from_text
from kstream_plan.snapshots.broker.topology_text import read_topology
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.designs.streams.test_plan_of_streams_group import stable

REAL = Path(__file__).parents[2] / "real" / "streams"
TOPOLOGY = read_topology((REAL / "topology.txt").read_text(), "topology.txt")


@pytest.mark.parametrize(("capture", "release"), [("k43", "4.3"), ("k44", "4.4")])
@pytest.mark.parametrize(("text", "epoch"), [("base", 8), ("scale-out", 12)])
def test_the_text_tells_what_the_broker_described(capture: str, release: str, text: str, epoch: int) -> None:
    saved = (REAL / f"{capture}-{text}.txt").read_text()
    ((row, notes),) = rows_from_text(
        [("saved", saved)], release, lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1}
    )
    assert notes == ()
    read, described = snapshot_from_row(row, "saved"), snapshot_from_row(stable(capture, epoch), "described")
    ordered, unordered = read.state.memory, described.state.memory
    assert isinstance(ordered, BrokerGroup)
    assert isinstance(unordered, BrokerGroup)
    assert (ordered.ordered, unordered.ordered) == (True, False)
    assert sorted(ordered.members, key=lambda of: of.member_id) == sorted(
        unordered.members, key=lambda of: of.member_id
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
    ("state", "members", "epochs", "told"),
    [
        ("k43-base.txt", "k43-scale-out.txt", (12, 12), None),  # the members' table is the newer one
        ("k43-scale-out.txt", "k43-base.txt", (12, 8), "Assigning"),
    ],
)
def test_tables_of_two_moments_are_told_and_the_members_count(
    state: str, members: str, epochs: tuple[int, int], told: str | None
) -> None:
    def table(file: str, option: str) -> str:
        lines = (REAL / file).read_text().splitlines(keepends=True)
        start = next(n for n, line in enumerate(lines) if line.startswith("$") and option in line)
        end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("$")), len(lines))
        return "".join(lines[start:end])

    texts = [("a", table(state, "--state")), ("b", table(members, "--members"))]
    ((row, notes),) = rows_from_text(texts, "4.3", lambda _of: TOPOLOGY, lambda _of: {"num_standby_replicas": 1})
    assert next(note.code for note in notes) == "two-moments"
    assert (row["generation"], row["target_epoch"], row["group_state"]) == (*epochs, told)
    assert "group-not-as-told" not in [note.code for note in snapshot_from_row(row, "saved").warnings]


def test_without_a_topology_standbys_tell_what_keeps_state() -> None:
    saved = (REAL / "k44-base.txt").read_text()
    ((row, notes),) = rows_from_text([("saved", saved)], "4.4", lambda _of: None, lambda _of: None)
    assert [note.code for note in notes] == ["stateful-by-standbys", "no-config"]
    assert row["config"] == {"streams_num_standby_replicas": 1}
    without = saved.replace("STANDBY", "ACTIVE")
    with pytest.raises(SnapshotError, match="does not tell which tasks are stateful"):
        rows_from_text([("saved", without)], "4.4", lambda _of: None, lambda _of: None)


def test_settings_of_the_application_are_told_to_have_no_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.properties"
    file.write_text("num.standby.replicas=2\nstreams.num.standby.replicas=1\n")
    base = ["--describe-text", str(REAL / "k43-base.txt"), "--broker-version", "4.3", "--streams-config", str(file)]
    assert run(["snapshot", *base]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["config"] == {"streams_num_standby_replicas": 1}
    assert "warning: num.standby.replicas: settings of the application have no effect in a streams group" in err


def test_the_command_writes_a_row_or_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    base = str(REAL / "k43-base.txt")
    assert run(["snapshot", "--describe-text", base]) == 2
    assert "Fix: give --broker-version, one of 4.2, 4.3, 4.4" in capsys.readouterr().err
    assert run(["snapshot", "--describe-text", base, "--broker-version", "4.3"]) == 0
    assert json.loads(capsys.readouterr().out)["group_protocol"] == "streams"
