"""Two points of a history, as ``snapshot --all`` writes it, against what the leaders' logs and the broker told."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kstream_plan.comparison.changes import Comparison, InstanceChangeKind, Side, TaskClass
from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.protocol_view import protocol_view
from kstream_plan.documents.history import read_generations, read_stretches
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import TaskId
from kstream_plan.plans import Role
from kstream_plan.snapshots.broker.history import generations
from kstream_plan.snapshots.broker.source import group_history
from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.write import file_bytes
from tests.helpers import captured, snapshot_rows
from tests.helpers.captured_cluster import CapturedCluster, topology

NOW_MS = parse_time("2026-11-21T18:00:00.000Z")
PAIRS = [
    pytest.param(scenario, number, id=f"{scenario}-{number}")
    for scenario in captured.SCENARIOS
    for number in range(1, len(captured.rows(scenario, "inputs")))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The histories that ``snapshot --all`` writes of the captured logs, one file per scenario."""
    path = tmp_path_factory.mktemp("histories")
    for scenario in captured.SCENARIOS:
        log = str(captured.REAL / scenario / "leader.log.gz")
        rows = checked_rows(read_leader_logs([log], config={"acceptable_recovery_lag": 100}).entries)
        (path / f"{scenario}.jsonl.gz").write_bytes(file_bytes(rows, "x.jsonl.gz"))
    return path


def stretch(folder: Path, scenario: str, first: str | None, last: str | None) -> Any:
    (found,) = read_stretches(str(folder / f"{scenario}.jsonl.gz"), first, last)
    return found[:3]


@pytest.mark.parametrize(("scenario", "number"), PAIRS)
def test_consecutive_generations_differ_by_what_the_leader_said(folder: Path, scenario: str, number: int) -> None:
    """``observed`` holds the leader's own "assigned active" and "revoking active" lines of every generation."""
    observed = captured.rows(scenario, "observed")[number]
    found = compare(*stretch(folder, scenario, str(number), str(number + 1)))
    consumers = {
        consumer_id: of for process in observed["decided"].values() for consumer_id, of in process["consumers"].items()
    }
    assigned = {
        TaskId.parse(task): consumer_id
        for consumer_id, of in consumers.items()
        for task in set(of["active"]) - set(of["withheld"])
    }
    withheld = {TaskId.parse(task) for of in consumers.values() for task in of["withheld"]}
    changed = {change.task_id: change.to for change in found.tasks}
    assert {task for task, seat in changed.items() if seat is None} <= withheld
    for task_id, consumer_id in assigned.items():
        seat = changed.get(task_id)
        assert (seat.consumer_id if seat else _owner(found.old, task_id)) == consumer_id
    orphaned = {change.task_id for change in found.tasks if change.kind is TaskClass.ORPHANED}
    assert orphaned == {task for task in withheld if _owner(found.old, task) is not None}
    view = protocol_view(found.old, found.new)
    assert set(view.withheld) == withheld
    assert view.rejoin == bool(withheld)
    told = {task for member in view.members for task in member.revoked}
    assert told == {task for task in withheld if _owner(found.old, task) in found.new.group.consumer_ids}


def _owner(side: Side, task_id: TaskId) -> str | None:
    task = side.group.task_index[task_id]
    return next((side.group.consumer_ids[c] for c, held in enumerate(side.holdings) if task in held.active), None)


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_each_generation_is_what_the_broker_recorded(folder: Path, scenario: str) -> None:
    """The assignment bytes of every member in the group's metadata records."""
    cluster = CapturedCluster(scenario)
    recorded = {
        of.number: of.holdings
        for of in generations(cluster.group_id, cluster.group_records(cluster.group_id))
        if of.members
    }
    assert topology(scenario)
    numbers = [row["generation"] for row in captured.rows(scenario, "inputs")][1:]
    checked = 0
    for number in [*numbers, numbers[-1] + 1]:
        side = stretch(folder, scenario, str(number), str(number))[1]
        assert side.generation == number
        for consumer, consumer_id in enumerate(side.group.consumer_ids):
            held = recorded[number][consumer_id]
            roles = {
                role: {side.group.tasks[task].task_id for task in tasks}
                for role, tasks in zip(Role, side.holdings[consumer], strict=True)
            }
            assert roles[Role.ACTIVE] == set(held.active)
            assert roles[Role.STANDBY] | roles[Role.WARMUP] | roles[Role.TEMPORARY] == set(held.standby)
            checked += 1
    assert checked >= 4 * len(numbers)


@pytest.mark.parametrize("missing", [(), (3,), (3, 4, 5), (8,)])
def test_what_happened_in_generations_that_a_history_lacks_is_unknown(
    folder: Path, missing: tuple[int, ...], tmp_path: Path
) -> None:
    """A task may have started cold in one of them, and paused for as long as they lasted."""
    lines = gzip.decompress((folder / "scale-out-standbys.jsonl.gz").read_bytes()).splitlines()
    rows = [{**json.loads(line), "generation": place} for place, line in enumerate(lines)]
    (tmp_path / "part.jsonl.gz").write_bytes(
        file_bytes([row for row in rows if row["generation"] not in missing], "part.jsonl.gz")
    )
    found = compare(*stretch(tmp_path, "part", "2", "7"))
    is_whole = not {*range(3, 7)} & {*missing}
    assert (found.untold == 0, found.is_history, found.totals.pause_is == "seen") == (is_whole, is_whole, is_whole)
    starts = sum(change.start is not None for change in found.tasks)
    assert found.cold_starts[1] == (found.cold_starts[0] if is_whole else starts)


def test_a_point_is_a_generation_or_a_time(folder: Path) -> None:
    at = [row["captured_at"] for row in captured.rows("scale-out", "inputs")]
    assert at[1] < "2026-11-21T13:00:38.500Z" < at[2]
    for first, last in [("2", "4"), ("2026-11-21T13:00:38.500Z", "2026-11-21T13:01:42.900Z"), (at[1], at[3])]:
        old, new, _ = stretch(folder, "scale-out", first, last)
        assert (old.generation, new.generation) == (2, 4)
    old, new, _ = stretch(folder, "scale-out", None, None)
    assert (old.generation, new.generation) == (0, 23)


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("2026-11-21T12:00:00Z", "2026-11-21T12:30:00Z", "holds nothing by '2026-11-21T12:30:00Z'"),
        (None, "2026-11-20T13:00:00Z", "holds nothing by '2026-11-20T13:00:00Z'"),
        ("2026-11-21T14:00:00Z", None, "holds nothing after '2026-11-21T14:00:00Z'"),
        ("2026-11-21T14:00:00Z", "2026-11-21T15:00:00Z", "holds nothing after '2026-11-21T14:00:00Z'"),
    ],
)
def test_a_time_that_the_history_does_not_reach_is_an_error(
    folder: Path, first: str | None, last: str | None, message: str
) -> None:
    with pytest.raises(SnapshotError, match=message) as raised:
        stretch(folder, "scale-out", first, last)
    at = [row["captured_at"] for row in captured.rows("scale-out", "inputs")]
    assert f"it holds {at[0]} to {at[-1]}: choose another --" in raised.value.fix


def test_who_takes_part_in_a_generation_has_joined_it(folder: Path) -> None:
    found = compare(*stretch(folder, "scale-out", "2", "4"))
    assert found.instances == ()
    assert len(compare(*stretch(folder, "scale-out", "1", "2")).instances) == 2


def test_a_lost_member_s_tasks_start_where_their_standbys_are(folder: Path) -> None:
    found = compare(*stretch(folder, "scale-out-standbys", "23", "24"))
    names = {of.process_id: of.consumers[0].consumer_id for of in found.old.group.instances}
    assert [change.kind for change in found.instances] == [InstanceChangeKind.LEFT]
    assert found.instances[0].process_id in names
    lost = [of for of in found.tasks if of.from_ and of.from_.process_id == found.instances[0].process_id]
    assert {of.kind for of in lost} == {TaskClass.PROMOTED, TaskClass.WARM, TaskClass.STATELESS_MOVED}
    assert {of.pause_ms for of in lost} == {0}, "since when it was gone is not told"
    assert found.totals.pause_is == "floor"
    assert [note.code for note in found.remarks.warnings] == ["left-before"]


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_the_offsets_topic_tells_the_same_as_the_leader_s_log(folder: Path, scenario: str, tmp_path: Path) -> None:
    cluster = CapturedCluster(scenario)
    taken = group_history(
        cluster, cluster.group_id, topology(scenario), NOW_MS, lambda _: True, newest_only=False, config={}
    )
    (tmp_path / "history.jsonl").write_bytes(file_bytes(taken.rows, "x.jsonl"))
    for number in range(1, 12):
        points = str(number), str(number + 1)
        (broker,) = read_stretches(str(tmp_path / "history.jsonl"), *points)
        found, told = compare(*broker[:3]), compare(*stretch(folder, scenario, *points))
        assert _actives(found) == _actives(told)


def _actives(found: Comparison) -> list[Any]:
    """What the broker tells as well: it does not know temporary standbys from others."""
    return [change[:4] for change in found.tasks if change.kind is not TaskClass.STAYED]


def test_the_decision_behind_the_last_row_is_a_generation_too(folder: Path) -> None:
    observed = captured.rows("scale-out", "observed")[-1]
    side = stretch(folder, "scale-out", "1", None)[1]
    assert side.generation == observed["generation"] == 23
    assert captured.copies_alike(side.group, side.holdings) == captured.assigned(side.group, observed)


def test_a_document_and_standard_input_are_read_too(folder: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((folder / "scale-out.jsonl.gz").read_bytes())
    path = tmp_path / "history.json"
    path.write_text(f"[{','.join(lines.decode().splitlines())}]", encoding="utf-8")
    (document,) = read_stretches(str(path), "2", "4")
    (piped,) = read_stretches("-", "2", "4", stdin=io.BytesIO(lines))
    assert (
        compare(*document[:3]).tasks
        == compare(*piped[:3]).tasks
        == compare(*stretch(folder, "scale-out", "2", "4")).tasks
    )


@pytest.mark.parametrize(
    ("first", "last", "error", "message"),
    [
        ("99", None, SnapshotError, "holds no generation 99.*generations 0 to 23"),
        ("soon", None, UsageError, "--from: 'soon' is not a time. Fix: give a generation like 7, or a time like"),
        ("13:00", None, UsageError, "--from: '13:00' is a time of day without its date"),
        ("7", "4", UsageError, "--from is after --to"),
    ],
)
def test_a_bad_point_is_told(folder: Path, first: str, last: str | None, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        stretch(folder, "scale-out", first, last)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"PAR1....", "read as JSON, this is Parquet"),
        (b'{"application_id": "a"', "is not JSON|ends in the middle"),
        (b"[1]", "no snapshot row"),
        (b'{"application_id": "a", "application_id": "b"}', "the name 'application_id' is there twice in one object"),
        (b'[{"application_id": "a", "application_id": "b"}]', "the name 'application_id' is there twice in one object"),
        (b'{"kind": "plan", "application_id": "a"}', "a saved plan, not a history.*--set old.round"),
        (gzip.decompress((captured.REAL / "scale-out" / "leader.log.gz").read_bytes()), "a log, not a history"),
        (b"\x1f\x8b\x00", "damaged gzip"),
        (b'{"application_id": "a", "tasks": [], "instances": [{"process_id": "p"}]}', "consumers"),
    ],
)
def test_a_damaged_history_is_told(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=message):
        read_stretches(str(path), None, None)


def test_a_decision_in_another_form_is_told(folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in gzip.decompress((folder / "scale-out.jsonl.gz").read_bytes()).splitlines()]
    rows[-1]["decision"] = {"decided": [1]}
    path = tmp_path / "history.jsonl"
    path.write_bytes(file_bytes(rows, "x.jsonl"))
    with pytest.raises(SnapshotError, match=r"decision.decided\[0\] is 1, a whole number"):
        read_stretches(str(path), "1", None)
    assert read_stretches(str(path), "1", "2")


def test_an_application_that_the_history_does_not_hold(folder: Path) -> None:
    with pytest.raises(SnapshotError, match=r"no application matches.*the input holds 'S1'"):
        read_stretches(str(folder / "scale-out.jsonl.gz"), None, None, ("payments",))


def test_a_generation_knows_of_its_copies_that_come_no_closer(tmp_path: Path) -> None:
    def row(minute: int, lag: int) -> dict[str, Any]:
        held = {"consumers": {"orders-0-1": {"active": ["1_0"], "standby": ["0_0"]}}}
        decision = {"generation": 8 + minute, "decided": {snapshot_rows.P0: held}}
        return snapshot_rows.row(
            captured_at=f"2026-11-21T12:{minute:02}:00Z",
            generation=7 + minute,
            lags=[snapshot_rows.lag(lag=lag)],
            decision=decision,
        )

    path = tmp_path / "history.jsonl"
    rows = [row(0, 40_000), row(10, 41_000), row(20, 30_000), {**row(21, 5), "tasks": 7}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    still = {
        number: [list(one.no_closer_ms.values()) for one in read_generations(str(path), number)]
        for number in (8, 18, 28)
    }
    assert still == {8: [[]], 18: [[600_000]], 28: [[]]}
