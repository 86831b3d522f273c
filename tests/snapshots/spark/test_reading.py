"""Reading through Spark: every form, every bad input, and the same result whatever the order."""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import SnapshotError, SparkError, UsageError
from kstream_plan.model import LATEST, Snapshot
from kstream_plan.snapshots import read, reading
from kstream_plan.snapshots.files.content import Limits, reading_within
from kstream_plan.snapshots.files.newest_rows import selection
from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.lag_history import HistoryRow, LagHistory, StoreHistory, StoreInterval
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import captured, plan_cases
from tests.helpers.snapshot_rows import P0, P1, changed, copies, lag, row

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

NOON = "2026-11-21T12:00:00Z"


def at(time: str | None = NOON, generation: int = 7, application_id: str = "orders") -> dict[str, Any]:
    return row(captured_at=time, generation=generation, application_id=application_id)


def lines(rows: list[Any]) -> bytes:
    return "".join(f"{json.dumps(item)}\n" for item in rows).encode()


def save(path: Path, content: bytes | list[Any]) -> str:
    path.write_bytes(content if isinstance(content, bytes) else lines(content))
    return str(path)


def only(*paths: str | Path, **how: Any) -> Snapshot:
    (snapshot,) = read([str(path) for path in paths], **how)
    assert isinstance(snapshot, Snapshot)
    return snapshot


def generations(*paths: str | Path, **how: Any) -> dict[str, int]:
    outcomes = read([str(path) for path in paths], **how)
    assert all(isinstance(outcome, Snapshot) for outcome in outcomes)
    return {o.state.group.application_id: o.state.generation for o in outcomes if isinstance(o, Snapshot)}


def refused(*paths: str | Path, **how: Any) -> str:
    """The text of the one error that reading raises."""
    with pytest.raises(SnapshotError) as caught:
        read([str(path) for path in paths], **how)
    said = str(caught.value)
    assert said.isprintable()
    assert caught.value.fix
    assert "Exception" not in said
    assert "\tat " not in said
    return said


# --- forms ------------------------------------------------------------------------------------------------------

EXPECTED = snapshot_from_row(row(), "")


def parquet(path: Path, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> str:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


FORMS: dict[str, bytes] = {
    "lines.jsonl": lines([row()]),
    "document.json": json.dumps(row(), indent=2).encode(),
    "windows.json": json.dumps(row(), indent=2).replace("\n", "\r\n").encode(),
    "one-line.json": json.dumps(row()).encode(),
    "array.json": json.dumps([row()], indent=1).encode(),
    "one-line-array.json": json.dumps([row()]).encode(),
    "blank-lines.jsonl": b"\n\n  \n" + lines([row()]) + b"\n \t\n",
    "byte-order-mark.json": b"\xef\xbb\xbf" + json.dumps(row(), indent=2).encode(),
    "byte-order-mark.jsonl": b"\xef\xbb\xbf" + lines([row()]),
    "zipped.jsonl.gz": gzip.compress(lines([row()])),
    "zipped.json.gz": gzip.compress(json.dumps(row(), indent=2).encode()),
    "zipped array.json.gz": gzip.compress(json.dumps([row()], indent=2).encode()),
    "zipped-without-saying-so.json": gzip.compress(lines([row()])),
    "not-zipped.gz": lines([row()]),
    "not-zipped.bz2": lines([row()]),
    "[glob]*?{a,b}.json": lines([row()]),
    "a,b.json": lines([row()]),
    "per%20cent #1: ünï.json": lines([row()]),
    "_hidden.json": lines([row()]),
    "no-extension": lines([row()]),
}
PLAIN_FORMS = [name for name, content in FORMS.items() if not content.startswith(b"\x1f\x8b")]


@pytest.fixture(scope="module")
def forms_read(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> dict[str, Snapshot]:
    """What is read from a folder of all forms, by the name of the file, which is the application's id in it too."""
    folder = tmp_path_factory.mktemp("forms")
    paths = [save(folder / name, FORMS[name].replace(b"orders", name.encode())) for name in PLAIN_FORMS]
    paths += [
        save(folder / name, gzip.compress(gzip.decompress(FORMS[name]).replace(b"orders", name.encode())))
        for name in FORMS
        if name not in PLAIN_FORMS
    ]
    return {s.state.group.application_id: s for s in read(paths) if isinstance(s, Snapshot)}


@pytest.mark.parametrize("name", FORMS)
def test_the_forms_of_json_are_told_apart_by_looking(name: str, forms_read: dict[str, Snapshot]) -> None:
    expected = json.loads(json.dumps(row()).replace("orders", name))
    assert forms_read[name] == snapshot_from_row(expected, "")


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    item = row()
    item["captured_at"] = None
    small = pa.Table.from_pylist([item])
    times = pa.array([1_795_262_400_000_000], pa.timestamp("us", tz="UTC"))
    position = small.schema.get_field_index("captured_at")
    pq.write_table(small.set_column(position, "captured_at", times), tmp_path / "typed.parquet")
    assert only(tmp_path / "typed.parquet") == EXPECTED
    assert only(parquet(tmp_path / "text.parquet", [row()])) == EXPECTED
    naive = pa.array([1_795_262_400_000], pa.timestamp("ms"))
    pq.write_table(small.set_column(position, "captured_at", naive), tmp_path / "no-extension")
    assert only(tmp_path / "no-extension") == EXPECTED


def test_parquet_files_may_differ_in_the_width_of_their_numbers(tmp_path: Path) -> None:
    for name, width in (("a", pa.int32()), ("b", pa.int64())):
        rows = [{**at(application_id=name), "generation": None}]
        table = pa.Table.from_pylist(rows).drop_columns(["generation"])
        pq.write_table(table.append_column("generation", pa.array([5], width)), tmp_path / f"{name}.parquet")
    assert generations(tmp_path) == {"a": 5, "b": 5}


def test_parquet_settings_may_be_a_map(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row()]).drop_columns(["config"])
    for kind, config in (
        (pa.int32(), [("max_warmup_replicas", 5), ("max_warmup_replica", 6)]),
        (
            pa.string(),
            [("max_warmup_replicas", "5"), ("max_warmup_replica", "6"), ("rack_aware_assignment_tags", "x,y")],
        ),
    ):
        column = pa.array([config], pa.map_(pa.string(), kind))
        pq.write_table(table.append_column("config", column), tmp_path / f"{kind}.parquet")
        snapshot = only(tmp_path / f"{kind}.parquet")
        assert snapshot.config.max_warmup_replicas == 5
        assert [note.code for note in snapshot.warnings] == ["unknown-config-key"]
    assert snapshot.config.rack_aware_assignment_tags == ("x", "y")


def test_a_row_made_of_json_and_parquet_files_together(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", [at(application_id="a")])
    save(tmp_path / "b.json", json.dumps(at(application_id="b"), indent=1).encode())
    save(tmp_path / "c.jsonl.gz", gzip.compress(lines([at(application_id="c")])))
    assert list(generations(tmp_path)) == ["a", "b", "c"]


def test_standard_input_is_read_as_any_file(tmp_path: Path) -> None:
    assert only("-", stdin=io.BytesIO(json.dumps(row(), indent=1).encode())) == EXPECTED
    assert only("-", stdin=io.BytesIO(gzip.compress(lines([row()])))) == EXPECTED
    assert refused("-", stdin=io.BytesIO(b"")).startswith("standard input: is empty")
    assert refused("-", stdin=io.BytesIO(b"{} x")).startswith("standard input: goes on after the end")


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_captured_groups_are_read(scenario: str) -> None:
    folder = captured.REAL / scenario
    newest = captured.inputs(scenario)[-1]
    assert replace(only(folder / "inputs.jsonl.gz"), stores="persistent") == newest
    assert only(folder / "before.json").state.generation == 1
    second = captured.inputs(scenario)[2]
    assert only(folder / "inputs.jsonl.gz", as_of=second.captured_at) == replace(second, stores=None)


# --- paths ------------------------------------------------------------------------------------------------------


def test_folders_globs_and_several_paths(tmp_path: Path) -> None:
    deep = tmp_path / "one" / "two"
    deep.mkdir(parents=True)
    save(deep / "a.json", [at(application_id="a")])
    save(tmp_path / "one" / "b.json", [at(application_id="b")])
    save(tmp_path / "one" / "_SUCCESS", b"")
    save(tmp_path / "one" / ".part.crc", b"junk")
    assert list(generations(tmp_path)) == ["a", "b"]
    assert list(generations(tmp_path / "*" / "*.json")) == ["b"]
    assert list(generations(tmp_path / "**" / "*.json")) == ["a", "b"]
    assert list(generations(deep / "a.json", tmp_path / "one" / "b.json")) == ["a", "b"]
    assert list(generations(f"file://{deep}/a.json")) == ["a"]


def test_the_same_file_matched_twice_is_read_once(tmp_path: Path) -> None:
    path = save(tmp_path / "a.json", [row()])
    (tmp_path / "link.json").symlink_to(path)
    assert only(path, tmp_path, tmp_path / "*.json", f"file:{path}", tmp_path / "." / "a.json") == EXPECTED


# --- which row counts -------------------------------------------------------------------------------------------


def test_the_newest_row_by_time_then_generation_counts(tmp_path: Path) -> None:
    path = save(
        tmp_path / "history.jsonl",
        [
            at("2026-11-21T12:00:00Z", 3),
            at("2026-11-21T13:00:00+02:00", 9),
            at("2026-11-21T12:00:00.000", 5),
            at(None, 99),
            at("2026-11-21T11:59:59.999999Z", 8),
        ],
    )
    assert generations(path) == {"orders": 5}
    assert generations(path, as_of="2026-11-21T11:59:59.999999Z") == {"orders": 8}
    assert generations(path, as_of="2026-11-21T11:59:59Z") == {"orders": 9}
    assert generations(path, as_of="2026-11-21T12:59:59+02:00") == {"orders": 99}, (
        "a row without a time is never excluded"
    )


def test_bad_rows_of_what_is_not_selected_do_not_matter(tmp_path: Path) -> None:
    path = save(
        tmp_path / "history.jsonl",
        [at(), {**at("2026-11-21T11:00:00Z"), "tasks": "junk"}, {"application_id": "other", "instances": 5}],
    )
    assert generations(path, application_ids=["orders"]) == {"orders": 7}


def test_a_time_or_generation_that_cannot_be_read_might_be_the_newest(tmp_path: Path) -> None:
    bad_time = save(tmp_path / "time.jsonl", [at(), at("yesterday")])
    assert "captured_at is 'yesterday', not a time" in refused(bad_time)
    assert "captured_at is 'yesterday', not a time" in refused(bad_time, as_of=NOON)
    bad_generation = save(tmp_path / "generation.jsonl", [at(), {**at(), "generation": 1.5}])
    assert "generation is 1.5, a number with a fraction" in refused(bad_generation)


def test_two_rows_of_one_time_and_generation_are_an_error(tmp_path: Path) -> None:
    save(tmp_path / "a.json", [at(), at(generation=6)])
    save(tmp_path / "b.json", [at("2026-11-21T13:00:00+01:00")])
    said = refused(tmp_path)
    assert f"{tmp_path}/a.json and {tmp_path}/b.json: application 'orders': has 2 snapshots" in said
    assert "2026-11-21T12:00:00.000Z, generation 7" in said


def test_globs_select_applications_and_each_has_to_match(tmp_path: Path) -> None:
    ids = ["orders", "Orders", "orders-eu", "orders[1]", "a.b", "a+b"]
    path = save(tmp_path / "fleet.jsonl", [at(application_id=name) for name in ids])

    def matched(*globs: str) -> list[str]:
        return list(generations(path, application_ids=globs))

    assert matched("orders") == ["orders"]
    assert matched("orders*") == ["orders", "orders-eu", "orders[1]"]
    assert matched("[oO]rders", "a.b") == ["Orders", "a.b", "orders"]
    assert matched("?+b") == ["a+b"]
    assert matched("orders[[]1]") == ["orders[1]"]
    assert matched() == sorted(ids)
    said = refused(path, application_ids=["orders", "ordesr"])
    assert "no application matches 'ordesr'" in said
    assert "the input holds 'Orders', 'a+b', 'a.b', 'orders', 'orders-eu', 'orders[1]'" in said


def test_nothing_early_enough_is_an_error(tmp_path: Path) -> None:
    said = refused(save(tmp_path / "a.json", [at()]), as_of="2026-11-21T11:00:00Z")
    assert said == f"{tmp_path}/a.json: holds no snapshot at or before 2026-11-21T11:00:00.000Z. Fix: check --as-of"
    assert f"{tmp_path}/none.json: holds no snapshot" in refused(save(tmp_path / "none.json", b"[ ]"))
    with pytest.raises(UsageError, match="--as-of: '13:00' is a time of day without its date"):
        read([str(tmp_path)], as_of="13:00")
    with pytest.raises(UsageError, match="'noon' is not a time"):
        read([str(tmp_path)], as_of="noon")
    with pytest.raises(UsageError, match=r"--as-of: '0001-01-01T00:00:00.01:00' is not a time"):
        read([str(tmp_path)], as_of="0001-01-01T00:00:00+01:00")


def test_keep_going_returns_errors_beside_the_good(tmp_path: Path) -> None:
    save(
        tmp_path / "fleet.jsonl",
        [at(application_id="a"), {**at(application_id="b"), "tasks": 5}, at(application_id="c")],
    )
    save(tmp_path / "cut.json", b'{"application_id": "x", "tasks": [')
    save(tmp_path / "junk.json", b"\x00\x01")
    zipped = gzip.compress(b"".join(random.Random(n).randbytes(99) for n in range(40_000)))
    save(tmp_path / "cut.jsonl.gz", gzip.compress(b'{"application_id": "z"}\n')[:-9] + zipped[:100])
    outcomes = read([str(tmp_path)], keep_going=True)
    answers = [o.application_id if isinstance(o, SnapshotError) else o.state.group.application_id for o in outcomes]
    assert answers == [None, None, None, "a", "b", "c"]
    assert [isinstance(outcome, Snapshot) for outcome in outcomes] == [False, False, False, True, False, True]
    assert refused(tmp_path)


def _parquet_of(folder: Path, files: int) -> list[dict[str, Any]]:
    """Save a snapshot a file, and return them."""
    rows = [at(application_id=f"{number:02d}") for number in range(files)]
    for snapshot in rows:
        pq.write_table(pa.Table.from_pylist([snapshot]), folder / f"{snapshot['application_id']}.parquet")
    return rows


def _jobs(spark: Any) -> list[Any]:
    jvm = spark._jvm
    jobs = spark._jsc.sc().statusStore().jobsList(jvm.java.util.ArrayList())
    return list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(jobs))


def _read_and_work(folder: Path, spark: Any) -> tuple[list[str], list[SnapshotError], list[int]]:
    """The applications, the errors, and how many tasks each of Spark's jobs had."""
    before = len(_jobs(spark))
    outcomes = read([str(folder)], keep_going=True)
    jobs = sorted(_jobs(spark), key=lambda job: int(job.jobId()))[before:]
    apps = [o.state.group.application_id for o in outcomes if isinstance(o, Snapshot)]
    errors = [o for o in outcomes if isinstance(o, SnapshotError)]
    return apps, errors, [job.numTasks() for job in jobs]


def test_one_of_many_parquet_files_with_another_column_is_found_in_few_jobs(tmp_path: Path, spark: Any) -> None:
    rows = _parquet_of(tmp_path, 64)
    broken = tmp_path / "40.parquet"
    pq.write_table(pa.Table.from_pylist([{**rows[40], "generation": "seven"}]), broken)
    apps, (error,), tasks = _read_and_work(tmp_path, spark)
    assert apps == [f"{number:02d}" for number in range(64) if number != 40]
    assert str(error).startswith(f"{broken}: column generation is of type string")
    assert len(tasks) < 40


def test_one_of_many_parquet_files_that_is_cut_costs_no_pass(tmp_path: Path, spark: Any) -> None:
    _parquet_of(tmp_path, 40)
    broken = tmp_path / "20.parquet"
    broken.write_bytes(broken.read_bytes()[:-30])
    apps, (error,), tasks = _read_and_work(tmp_path, spark)
    assert len(apps) == 39
    assert str(error).startswith(f"{broken}: begins like Parquet but is not a whole Parquet file")
    broken.unlink()
    assert _read_and_work(tmp_path, spark) == (apps, [], tasks)


def test_looking_up_many_files_takes_no_task_for_each(tmp_path: Path, spark: Any) -> None:
    for number in range(80):
        save(tmp_path / f"{number:02d}.json", [at(application_id=f"{number:02d}")])
    apps, errors, tasks = _read_and_work(tmp_path, spark)
    assert (len(apps), errors) == (80, [])
    assert sum(tasks) < 80


def test_little_json_needs_no_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting Spark SQL takes as long as starting Java and Spark."""
    monkeypatch.setattr("kstream_plan.snapshots.spark.session.sql_session", lambda _context: pytest.fail("started"))
    assert only(save(tmp_path / "a.json", [row()])) == EXPECTED


def test_little_parquet_needs_no_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Spark SQL thirty tasks took three times the CPU time of JSON."""
    monkeypatch.setattr("kstream_plan.snapshots.spark.newest_snapshots.sql_session", lambda _: pytest.fail("started"))
    assert only(parquet(tmp_path / "a.parquet", [row()])) == EXPECTED


_TABLES = {
    "a map of texts": pa.table(
        {
            **{name: [value] for name, value in row().items() if name != "config"},
            "config": pa.array([[("max.warmup.replicas", "4")]], pa.map_(pa.string(), pa.string())),
        }
    ),
    "an empty map": pa.table(
        {
            **{name: [value] for name, value in row().items() if name != "config"},
            "config": pa.array([[]], pa.map_(pa.string(), pa.int64())),
        }
    ),
    "times with a zone": pa.table(
        {
            **{name: [value, value] for name, value in row().items() if name != "captured_at"},
            "captured_at": pa.array(
                [1_774_000_000_123_456, 1_774_000_060_000_000], pa.timestamp("us", "Europe/Berlin")
            ),
        }
    ),
    "times without a zone": pa.table(
        {
            **{name: [value, value] for name, value in row().items() if name != "captured_at"},
            "captured_at": pa.array([1_774_000_000_123, None], pa.timestamp("ms")),
        }
    ),
    "nulls, and columns that do not count": pa.table(
        {**{name: [value] for name, value in row().items()}, "note": [b"x"], "day": [date(2026, 11, 21)]}
    ),
    "two applications": pa.Table.from_pylist([at(application_id='ä\x1f"\\'), row(application_id="b")]),
}


@pytest.mark.parametrize("name", _TABLES)
def test_little_and_much_parquet_are_read_alike(
    name: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(_TABLES[name], tmp_path / "a.parquet")
    little = read([str(tmp_path)])
    monkeypatch.setattr(reading, "LITTLE_BYTES", 0)
    much = read([str(tmp_path)])
    assert [replace(outcome, older=None) for outcome in little if isinstance(outcome, Snapshot)] == [*much]


def test_many_files_of_little_json_are_read_with_sql(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file that Java sends as it is takes as long as there are files: a thousand took a minute."""
    from kstream_plan.snapshots.spark import newest_snapshots

    monkeypatch.setattr(reading, "A_FEW", 2)
    for number in range(3):
        save(tmp_path / f"{number}.json", [at(application_id=f"{number}")])
    few = read([str(tmp_path / "0.json"), str(tmp_path / "1.json")])
    monkeypatch.setattr(newest_snapshots, "newest_little_snapshots", lambda *_given: pytest.fail("one by one"))
    assert [found for found in read([str(tmp_path)]) if found in few] == [*few]


@pytest.mark.parametrize("folder", ["a,b", "a:b", "a{b}", "a%20b"])
def test_temporary_files_may_be_anywhere(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that Spark would take for another one goes by a link in there, and what is piped by a copy."""
    (tmp_path / folder).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / folder))
    assert only(save(tmp_path / "a b.json", [row()])) == EXPECTED
    assert read(["-"], stdin=io.BytesIO(lines([row()])))[0] == EXPECTED


def test_little_zipped_json_has_no_limit_of_text(tmp_path: Path) -> None:
    with reading_within(Limits(text_bytes=100)):
        assert only(save(tmp_path / "a.json.gz", gzip.compress(lines([row()])))) == EXPECTED


# --- bad input --------------------------------------------------------------------------------------------------

_ANYTHING = random.Random(0)
LONG_ZIP = gzip.compress("\n".join(f'{{"x": {_ANYTHING.random()}}}' for _ in range(130_000)).encode(), compresslevel=1)

#: Content of a file and what the error says about it.
BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "zipped nothing": (gzip.compress(b""), "is empty"),
    "words": (b"hello there", "is neither JSON nor Parquet: it begins with 'hello there'"),
    "escape": (b"\x1b[31mhello", r"it begins with '\x1b[31mhello'"),
    "policy": (
        b"# limits\nversion: 1\ndefaults:\n",
        "this is a policy, not a snapshot. Fix: pass it with --policy",
    ),
    "scenario": (b"version: 1\nevents: []\n", "this is a scenario, not a snapshot. Fix: pass it with --scenario"),
    "topology": (
        b"Topologies:\n   Sub-topology: 0\n",
        "this is a topology, not a snapshot. Fix: pass it with --topology",
    ),
    "number": (b"17", "is neither JSON nor Parquet"),
    "binary junk": (bytes(range(256)), "this is a binary file, not a snapshot"),
    "utf-16": (json.dumps(row()).encode("utf-16"), "is neither JSON nor Parquet"),
    "not utf-8": (json.dumps(row()).encode().replace(b"orders-0", b"\xff"), "is not UTF-8"),
    "not utf-8 in an array": (json.dumps([row()]).encode().replace(b"orders-0", b"\xff"), "is not UTF-8"),
    "cut document": (json.dumps(row(), indent=1).encode()[:-40], "ends in the middle of a row"),
    "cut line": (lines([row()])[:-40], "ends in the middle of a row"),
    "cut array": (json.dumps([row()]).encode()[:-40], "ends in the middle of a row"),
    "cut last line": (lines([row(), at(application_id="b")])[:-40], "ends in the middle of a row"),
    "first line is broken": (b'{"a": 1, "b"\n' + lines([row()]), "is not JSON"),
    "two documents": (json.dumps(row(), indent=1).encode() * 2, "goes on after the end of a JSON document"),
    "two on a line": (json.dumps(row()).encode() * 2, "goes on after the end of a JSON document"),
    "array and more": (json.dumps([row()]).encode() + b" {}", "goes on after the end of a JSON document"),
    "single quotes": (str(row()).encode(), "is not JSON: Expecting property name"),
    "null in array": (b"[null]", "holds null where a snapshot row, an object, must be"),
    "list in lines": (lines([row()]) + b"[1]\n", "holds a list where a snapshot row"),
    "deep": (b'{"x":' * 100_000, "cannot be read as JSON"),
    "long number": (b'{"application_id": "a", "generation": ' + b"9" * 5000 + b"}", "cannot be read as JSON"),
    "name twice": (lines([row()]).replace(b'"tasks":', b'"tasks": [], "tasks":'), "name 'tasks' is there twice in one"),
    "name twice in an array": (
        b"[" + lines([row()]).strip().replace(b'"host":', b'"host": "x", "host":') + b"]",
        "the name 'host' is there twice in one object",
    ),
    "cut gzip": (gzip.compress(lines([row()]))[:-20], "is a damaged gzip file"),
    "cut long gzip": (LONG_ZIP[: len(LONG_ZIP) - 1000], "is a damaged gzip file"),
    "gzip of junk": (b"\x1f\x8b" + b"junk" * 10, "is a damaged gzip file"),
    "gzip with a wrong sum": (gzip.compress(lines([row()]))[:-8] + b"12345678", "is a damaged gzip file"),
    "parquet in gzip": (gzip.compress(b"PAR1xxxx"), "is Parquet inside gzip"),
    "cut parquet": (b"PAR1" + b"junk" * 10, "begins like Parquet but is not a whole Parquet file"),
    "no application": (lines([{"tasks": []}]), "application_id is missing"),
    "application is a number": (
        lines([{**row(), "application_id": 5}]),
        "application_id is 5, a whole number where text",
    ),
    "fraction": (lines([changed("tasks.0.end_offset_sum", 1.0)]), "tasks[0].end_offset_sum is 1.0, a number with"),
    "exponent": (lines([row()]).replace(b": 150000,", b": 1e5,"), "tasks[0].end_offset_sum is 100000.0, a number with"),
    "65 bits": (lines([changed("tasks.0.end_offset_sum", 2**64)]), "which does not fit into 64 bits"),
    "word": (lines([changed("tasks.0.end_offset_sum", "many")]), "tasks[0].end_offset_sum is 'many', text where"),
    "number for text": (lines([changed("instances.0.host", 5)]), "instances[0].host is 5, a whole number where text"),
    "null": (lines([changed("instances.0.process_id", None)]), "instances[0].process_id is null where text must be"),
    "missing": (lines([changed("tasks.0", {})]), "tasks[0].task_id is missing"),
    "major": (lines([row(format_version="2.0")]), "format_version is '2.0'"),
    "saved plan": (plan_json(plan_cases.case("settled")).encode(), "is a saved plan, not a snapshot. Fix: give its"),
    "zipped plan": (gzip.compress(plan_json(plan_cases.case("settled")).encode()), "is a saved plan, not a snapshot"),
    "plan beside a snapshot": (lines([row(), row(kind="plan", captured_at=None)]), "is a saved plan, not a snapshot"),
    "snapshot that says plan": (lines([row(kind="plan")]), "is a saved plan, not a snapshot"),
    "diff": (lines([row(), row(kind="diff")]), "is a comparison that kstream-plan diff wrote, not a snapshot"),
    "upgrade": (lines([{"kind": "upgrade"}]), "is an upgrade that kstream-plan upgrade wrote, not a snapshot"),
    "check": (lines([row(), {"kind": "check"}]), "is a report of kstream-plan check, not a snapshot"),
    "drain": (json.dumps([{"kind": "drain"}]).encode(), "is an answer of kstream-plan drain, not a snapshot"),
    "setting": (lines([row(config={"max_warmup_replicas": 0})]), "config.max_warmup_replicas is 0, outside 1 to"),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> dict[str, SnapshotError]:
    """What is said about each of the bad files, all read at once beside a good one."""
    folder = tmp_path_factory.mktemp("bad")
    # a folder's empty files are passed over, so every file is named
    paths = {name: str(folder / f"{name}.json") for name in BAD_FILES if name != "empty"}
    for name, path in paths.items():
        save(Path(path), BAD_FILES[name][0].replace(b'"orders"', json.dumps(name).encode()))
    outcomes = read([*paths.values(), save(folder / "good.json", [row()])], keep_going=True)
    assert EXPECTED in outcomes
    errors = (outcome for outcome in outcomes if isinstance(outcome, SnapshotError))
    return {error.where.partition(".json")[0].rpartition("/")[2]: error for error in errors}


@pytest.mark.parametrize("name", [name for name in BAD_FILES if name != "empty"])
def test_bad_input_is_one_clear_error(name: str, errors: dict[str, SnapshotError]) -> None:
    said = str(errors[name])
    assert BAD_FILES[name][1] in said
    assert said.isprintable()
    assert errors[name].fix
    assert "Exception" not in said


@pytest.mark.parametrize("name", ["cut document", "cut long gzip", "cut parquet", "word"])
def test_bad_input_is_raised_unless_told_to_keep_going(name: str, tmp_path: Path) -> None:
    path = save(tmp_path / "input.json", BAD_FILES[name][0])
    assert refused(path).startswith(f"{path}: ")


@pytest.mark.parametrize("name", ["cut line", "exponent", "not utf-8"])
def test_bad_input_is_found_in_gzip_too(name: str, tmp_path: Path) -> None:
    content, what = BAD_FILES[name]
    assert what in refused(save(tmp_path / "input.json.gz", gzip.compress(content)))


@pytest.mark.parametrize("while_it_reads", [False, True])
def test_a_file_that_is_gone_when_spark_reads_it_is_one_clear_error(
    while_it_reads: bool, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Java fails at while it sends what it has read, it says nothing of."""
    from kstream_plan.snapshots.spark import newest_snapshots

    gone = Input(str(tmp_path / "gone.json"), "gone.json", Form.LINES)
    if while_it_reads:
        monkeypatch.setattr(newest_snapshots, "_read_by_spark", lambda _context, _files: {})
    with pytest.raises(SnapshotError, match=r"^gone\.json: cannot be read: .* Fix: check the file"):
        newest_snapshots.newest_little_snapshots(spark.sparkContext, [gone], selection((), None))


@pytest.mark.parametrize("little_bytes", [0, 1 << 30])
def test_an_array_that_is_no_utf_8_is_not_mended(
    little_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LITTLE_BYTES", little_bytes)
    said = refused(save(tmp_path / "input.json", BAD_FILES["not utf-8 in an array"][0]))
    assert "is not UTF-8: invalid start byte at byte 591" in said


def test_paths_are_checked_before_spark_is_asked(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing.json").endswith("nothing.json: does not exist. Fix: check the path")
    assert "matches no file" in refused(tmp_path / "*.json")
    assert "is a folder without a file to read" in refused(tmp_path)
    assert "is empty" in refused(save(tmp_path / "empty.json", b""))
    good = save(tmp_path / "a.json", [row()])
    assert "does not exist" in refused(good, lags=[str(tmp_path / "lags.json")])
    with pytest.raises(UsageError, match="is one path"):
        read(str(good))
    with pytest.raises(UsageError, match="no snapshot is given"):
        read([])
    with pytest.raises(UsageError, match="standard input is given twice"):
        read(["-"], lags=["-"])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("generation", pa.array([7.0])),
        ("generation", pa.array([7]).cast(pa.decimal128(20, 0))),
        ("captured_at", pa.array([7])),
    ],
)
def test_parquet_columns_of_another_type_are_an_error(column: str, value: pa.Array, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row()])
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, value), tmp_path / "a.parquet")
    said = refused(tmp_path / "a.parquet")
    assert f"column {column} is of type " in said
    assert " where " in said


def _in_nanoseconds(rows: list[dict[str, Any]], zone: str | None) -> pa.Table:
    """Rows with their times as pandas writes them."""
    table, times = pa.Table.from_pylist(rows), pa.timestamp("ns", zone)
    at = table.column("captured_at").to_pylist()
    moments = pa.array([None if one is None else parse_time(one) * 1_000_000 + 999_999 for one in at], pa.int64())
    return table.set_column(table.schema.get_field_index("captured_at"), "captured_at", moments.cast(times))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_parquet_times_may_be_in_nanoseconds_as_pandas_writes_them(zone: str | None, tmp_path: Path) -> None:
    pq.write_table(_in_nanoseconds([row()], zone), tmp_path / "a.parquet")
    assert only(tmp_path / "a.parquet") == EXPECTED
    parquet(tmp_path / "b.parquet", [at("2026-11-21T13:00:00Z", 8)])
    pq.write_table(_in_nanoseconds([at("2026-11-21T14:00:00Z", 9)], zone), tmp_path / "c.parquet")
    assert only(tmp_path).state.generation == 9


def test_parquet_times_in_nanoseconds_inside_of_rows_are_read_too(tmp_path: Path) -> None:
    began = "2026-11-21T11:00:00.123Z"
    expected = snapshot_from_row(changed("instances.0.started_at", began), "")
    item = changed("instances.0.started_at", datetime.fromisoformat(began))
    schema = pa.Table.from_pylist([item]).schema
    fields = [
        field.with_type(pa.timestamp("ns", "UTC")) if field.name == "started_at" else field
        for field in schema.field("instances").type.value_type
    ]
    schema = schema.set(schema.get_field_index("instances"), pa.field("instances", pa.list_(pa.struct(fields))))
    parquet(tmp_path / "a.parquet", [item], schema)
    assert only(tmp_path / "a.parquet") == expected


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_lags_may_have_times_in_nanoseconds(zone: str | None, tmp_path: Path) -> None:
    rows = [
        lag(application_id="orders", captured_at=time, lag=records)
        for time, records in ((NOON, 4), ("2026-11-21T11:59:00Z", 99))
    ]
    expected = only(save(tmp_path / "a.json", [row()]), lags=[parquet(tmp_path / "text.parquet", rows)])
    pq.write_table(_in_nanoseconds(rows, zone), tmp_path / "lags.parquet")
    assert only(tmp_path / "a.json", lags=[str(tmp_path / "lags.parquet")]) == expected


def test_parquet_columns_that_differ_in_case_only_are_named(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row()])
    twice = table.append_column("Captured_At", pa.array([NOON]))
    pq.write_table(twice, tmp_path / "a.parquet")
    assert f"{tmp_path / 'a.parquet'}: columns 'captured_at' and 'Captured_At' differ in case only" in refused(
        tmp_path / "a.parquet"
    )
    pq.write_table(
        table.rename_columns([name.replace("captured_at", "Captured_At") for name in table.column_names]),
        tmp_path / "a.parquet",
    )
    assert "column Captured_At differs from captured_at in case only" in refused(tmp_path / "a.parquet")
    inside = [changed("instances.0.Host", "a")]
    assert "columns 'host' and 'Host' differ in case only" in refused(parquet(tmp_path / "a.parquet", inside))
    parquet(tmp_path / "good.parquet", [at(application_id="good")])
    outcomes = read([str(tmp_path)], keep_going=True)
    assert sorted(isinstance(outcome, Snapshot) for outcome in outcomes) == [False, True]


def test_a_spark_that_reads_no_nanoseconds_says_so(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LITTLE_BYTES", 0)
    pq.write_table(_in_nanoseconds([row()], "UTC"), tmp_path / "a.parquet")
    setting = "spark.sql.legacy.parquet.nanosAsLong"
    spark.conf.set(setting, "false")
    try:
        said = refused(tmp_path / "a.parquet")
    finally:
        spark.conf.set(setting, "true")
    assert f"{tmp_path / 'a.parquet'}: column 'captured_at' is a time in nanoseconds" in said
    assert setting in said


def test_parquet_columns_inside_are_checked_too(tmp_path: Path) -> None:
    item = changed("tasks.0.end_offset_sum", 1.0)
    said = refused(parquet(tmp_path / "a.parquet", [item]))
    assert "column tasks[].end_offset_sum is of type double, where long or integer must be" in said
    assert "column config.max_warmup_replicas is of type double" in refused(
        parquet(tmp_path / "b.parquet", [row(config={"max_warmup_replicas": 2.0})])
    )


def test_a_scheme_that_spark_does_not_know_is_a_spark_error() -> None:
    with pytest.raises(SparkError, match="nosuch"):
        read(["nosuch://bucket/snapshot.json"])


def test_paths_of_other_file_systems_go_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kstream_plan.snapshots.files.sources.local_path", lambda path: None)
    save(tmp_path / "a.json", json.dumps(at(application_id="a"), indent=1).encode())
    save(tmp_path / "b.jsonl.gz", gzip.compress(lines([at(application_id="b")])))
    parquet(tmp_path / "c.parquet", [at(application_id="c")])
    save(tmp_path / "_SUCCESS", b"")
    assert list(generations(f"file://{tmp_path}")) == ["a", "b", "c"]
    assert list(generations(f"file://{tmp_path}/*.json*")) == ["a", "b"]
    assert "does not exist or holds no file" in refused(f"file://{tmp_path}/nothing")
    save(tmp_path / "d.json", b"junk")
    assert "d.json: is neither JSON nor Parquet" in refused(f"file://{tmp_path}")
    assert list(generations(f"file://{tmp_path}/[abc]*")) == ["a", "b", "c"]


# --- the same result, whatever the order ------------------------------------------------------------------------


def fleet() -> list[dict[str, Any]]:
    return [
        at(f"2026-11-21T1{hour}:00:00Z", generation, name)
        for name in ("a", "b", "c")
        for hour in range(3)
        for generation in (1, 2)
    ]


def forms() -> list[Callable[[Path, list[dict[str, Any]]], None]]:
    return [
        lambda path, rows: path.with_suffix(".jsonl").write_bytes(lines(rows)) and None,
        lambda path, rows: path.with_suffix(".gz").write_bytes(gzip.compress(lines(rows))) and None,
        lambda path, rows: path.with_suffix(".json").write_text(json.dumps(rows, indent=1)) and None,
        lambda path, rows: parquet(path.with_suffix(".parquet"), rows) and None,
    ]


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.randoms(use_true_random=False), files=st.integers(1, 5))
def test_the_order_of_rows_files_and_partitions_does_not_matter(
    order: random.Random, files: int, tmp_path_factory: pytest.TempPathFactory, spark: Any
) -> None:
    folder = tmp_path_factory.mktemp("fleet")
    rows = fleet()
    order.shuffle(rows)
    for number in range(files):
        part = rows[number::files]
        if part:
            order.choice(forms())(folder / f"{order.randrange(10**9)}-{number}", part)
    spark.conf.set("spark.sql.shuffle.partitions", order.choice([1, 2, 7]))
    spark.conf.set("spark.sql.files.maxPartitionBytes", order.choice(["1k", "128m"]))
    try:
        outcomes = read([str(folder)])
    finally:
        spark.conf.unset("spark.sql.shuffle.partitions")
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert outcomes == tuple(snapshot_from_row(at("2026-11-21T12:00:00Z", 2, name), "") for name in ("a", "b", "c"))


odd_values = st.sampled_from(
    [
        None,
        "",
        NOON,
        "2026-11-21T13:00:00+02:00",
        "2026-11-21 12:00:00.0000001",
        "2026-11-21",
        "12:00",
        7,
        "7",
        7.0,
        True,
    ]
)
generation_values = st.sampled_from([None, 0, 7, 8, -1, 7.5, "8", " 8 ", "x", 2**63 - 1, 2**63, True, [7]])
odd_rows = st.one_of(
    st.fixed_dictionaries(
        {"application_id": st.sampled_from(["a", "b", "c*", 7, None]), "n": st.integers(0, 3)},
        optional={
            "captured_at": odd_values,
            "generation": generation_values,
            "kind": st.sampled_from(["plan", "check", "x", 5, None, ["plan"]]),
        },
    ).map(json.dumps),
    st.sampled_from(["{", "5", "null", "[1]", '"a"', '{"application_id": "a"} x']),
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    files=st.lists(st.lists(odd_rows, min_size=1, max_size=6), min_size=1, max_size=2),
    globs=st.sampled_from([(), ("a",), ("[ab]", "c*"), ("7",)]),
    as_of=st.sampled_from([None, NOON, "2026-11-21T11:30:00Z"]),
)
def test_little_and_much_input_are_read_by_the_same_rule(
    files: list[list[str]],
    globs: tuple[str, ...],
    as_of: str | None,
    tmp_path_factory: pytest.TempPathFactory,
    spark: Any,
) -> None:
    from kstream_plan.snapshots.spark.newest_snapshots import newest_little_snapshots, newest_snapshots

    folder = tmp_path_factory.mktemp("odd")
    inputs = []
    for number, texts in enumerate(files):
        path = folder / f"{number}.json"
        path.write_text("\n".join(texts) + "\n")
        inputs.append(Input(str(path), path.name, Form.LINES))
    wanted = selection(globs, as_of)
    long = [one._replace(long_rows=True) for one in inputs]
    little, read_here, much = (
        {text for text in choose(item, wanted) if text.application_id is None or wanted.wants(text.application_id)}
        for choose, item in (
            (partial(newest_little_snapshots, spark.sparkContext), inputs),
            (partial(newest_little_snapshots, spark.sparkContext), long),
            (partial(newest_snapshots, spark), inputs),
        )
    )
    assert little == read_here
    assert {text._replace(older=None) for text in little} == much, "in much input nobody counts what is older"


@pytest.mark.parametrize("little", [True, False])
def test_several_generations_tell_of_copies_that_come_no_closer(
    little: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not little:
        monkeypatch.setattr(reading, "LITTLE_BYTES", 0)
    times = ["2026-11-21T11:40:00Z", "2026-11-21T11:50:00Z", NOON]
    rows = [{**at(time, number), "lags": [lag(lag=40_000)]} for number, time in enumerate(times)]
    snapshot = only(save(tmp_path / "history.jsonl", [*rows, at(None), {**at(times[1]), "tasks": 5}]))
    assert [note.code for note in snapshot.warnings] == ["comes-no-closer"]
    assert list(snapshot.no_closer_ms.values()) == [600_000]
    falls = [{**row, "lags": [lag(lag=40_000 - 10_000 * number)]} for number, row in enumerate(rows)]
    assert not only(save(tmp_path / "falls.jsonl", falls)).warnings
    assert not only(save(tmp_path / "one.jsonl", rows[-1:])).warnings
    lags = save(tmp_path / "lags.jsonl", [{**lag(lag=40_000), "application_id": "orders", "captured_at": NOON}])
    with_lags = only(tmp_path / "history.jsonl", lags=[lags])
    assert not with_lags.no_closer_ms, "lag snapshots stand in for the rows' own"


@pytest.mark.parametrize("indent", [None, 1])
def test_rows_that_are_long_need_no_memory_of_java(
    indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LITTLE_BYTES", 0)
    monkeypatch.setattr(
        "kstream_plan.snapshots.spark.newest_snapshots._read_by_spark", lambda _context, files: dict(files)
    )
    path = save(tmp_path / "long.json", (json.dumps(row(note="x" * (2 << 20)), indent=indent) + "\n").encode())
    [snapshot] = read([str(path)])
    assert isinstance(snapshot, Snapshot)
    assert snapshot.state.group.application_id == "orders"


def test_the_elements_of_an_array_are_rows_whatever_reads_them(tmp_path: Path, spark: Any) -> None:
    from kstream_plan.snapshots.spark.newest_snapshots import newest_little_snapshots, newest_snapshots

    path = tmp_path / "array.json"
    rows = [at(generation=number, application_id=name) for number in (1, 2) for name in ("a", "b[,]", 'c"\\"')]
    for text in (json.dumps(rows, indent=1), " [ ]", json.dumps(rows)[:-1], json.dumps(rows) + "x"):
        path.write_text(text)
        inputs = [Input(str(path), path.name, Form.DOCUMENT)]
        long = [one._replace(long_rows=True) for one in inputs]
        little, read_here, much = (
            sorted((text.application_id or "", text.text) for text in choose(item, selection((), None)))
            for choose, item in (
                (partial(newest_little_snapshots, spark.sparkContext), inputs),
                (partial(newest_little_snapshots, spark.sparkContext), long),
                (partial(newest_snapshots, spark), inputs),
            )
        )
        assert little == read_here
        assert [name for name, _ in little] == [name for name, _ in much]
        if text.endswith("]") and little:
            assert [json.loads(one) for _, one in little] == [json.loads(one) for _, one in much]


# --- lag snapshots ----------------------------------------------------------------------------------------------


def flat(time: str | None, process_id: str = P0, task_id: str = "0_0", **fields: Any) -> dict[str, Any]:
    return {"application_id": "orders", "captured_at": time, **lag(process_id, task_id, **fields)}


def minute(number: int, second: int = 0) -> str:
    return f"2026-11-21T11:{number:02d}:{second:02d}Z"


@pytest.fixture
def snapshot(tmp_path: Path) -> Iterator[str]:
    return save(tmp_path / "snapshot.json", [at()])  # type: ignore[return-value]


def standby_lag(snapshot: str, *rows: dict[str, Any], **how: Any) -> int | None:
    lags = save(Path(snapshot).with_name("lags.jsonl"), list(rows))
    return copies(only(snapshot, lags=[lags], **how))[P0].lag


def test_the_newest_row_about_every_store_within_the_tolerance_counts(snapshot: str) -> None:
    rows = [
        flat(minute(58), store="a", lag=50),
        flat("2026-11-21T12:00:59Z", store="a", lag=10),
        flat("2026-11-21T12:02:00Z", store="a", lag=5),
        flat(minute(55), store="b", lag=7),
        flat(None, store="b", lag=999),
    ]
    assert standby_lag(snapshot, *rows) == 17
    assert standby_lag(snapshot, *rows, lags_tolerance_ms=0) == 57
    assert standby_lag(snapshot, *rows, lags_tolerance_ms=120_000) == 12
    assert standby_lag(snapshot, rows[-1]) == 999, "a row without a time is older than any other"


@pytest.mark.parametrize("tolerance", [2**53, 2**63 - 1])
def test_any_tolerance_will_do(snapshot: str, tolerance: int) -> None:
    late = flat(minute(30), lag=3)
    assert standby_lag(snapshot, late, lags_tolerance_ms=tolerance) == 3


def test_process_ids_are_compared_by_value(snapshot: str) -> None:
    assert standby_lag(snapshot, flat(minute(58), lag=50), flat(minute(59), P0.upper(), lag=8)) == 8


def test_a_snapshot_without_a_time_takes_the_newest_rows(tmp_path: Path) -> None:
    path = save(tmp_path / "snapshot.json", [at(None)])
    assert standby_lag(path, flat(minute(58), lag=50), flat("2030-01-01T00:00:00Z", lag=8)) == 8


def test_no_row_early_enough_is_an_error_that_names_both_times(snapshot: str, tmp_path: Path) -> None:
    late = save(tmp_path / "late.jsonl", [flat("2026-11-21T13:00:00Z", lag=5), flat("2026-11-21T12:30:00Z", lag=5)])
    said = refused(snapshot, lags=[late])
    assert "was captured at 2026-11-21T12:00:00.000Z, but its first lag row is of 2026-11-21T12:30:00.000Z" in said
    other = save(tmp_path / "other.jsonl", [{**flat(NOON, lag=5), "application_id": "x"}])
    assert "has no row in the lag snapshots" in refused(snapshot, lags=[other])


def test_bad_lag_rows_count_only_if_they_are_selected(snapshot: str) -> None:
    assert standby_lag(snapshot, flat(minute(58), lag=1.5), flat(minute(59), lag=4)) == 4
    lags = Path(snapshot).with_name("bad.jsonl")
    for bad, what in (
        (flat(minute(59), lag=1.5), "lag is 1.5, a number with a fraction"),
        (flat(minute(59), lag=2**64), "which does not fit into 64 bits"),
        (flat(minute(59), lag="3"), "lag is '3', text where a whole number must be"),
        (flat("yesterday", lag=3), "captured_at is 'yesterday', not a time"),
        (flat(minute(59), P1, "9_9", lag=3), "task_id is '9_9', which is not in tasks"),
        (flat(minute(59), lag=3, offset=4), "offset is 4 beside a lag of 3"),
        ({"application_id": "orders", "captured_at": minute(59), "lag": 3}, "process_id is missing"),
        ({"captured_at": minute(59), "lag": 3}, "a lag row has no application_id"),
        ({"kind": "plan", "application_id": "orders"}, "is a saved plan, not a snapshot"),
        ({"captured_at": minute(59), "kind": "plan", "application_id": "orders"}, "is a saved plan, not a snapshot"),
        ({"captured_at": minute(59), "kind": "check"}, "is a report of kstream-plan check, not a snapshot"),
    ):
        save(lags, [bad, flat(minute(58), store="s", lag=4)])
        assert what in refused(snapshot, lags=[str(lags)]), bad
    save(lags, lines([flat(minute(59), lag=3)]) + b'{"application_id": "orders", "la\n')
    assert "bad.jsonl: ends in the middle of a row" in refused(snapshot, lags=[str(lags)])


def test_two_rows_about_one_store_at_one_time_are_an_error(snapshot: str, tmp_path: Path) -> None:
    lags = save(tmp_path / "lags.jsonl", [flat(minute(59), lag=1), flat(minute(59), lag=2)])
    assert "is there twice with the same time" in refused(snapshot, lags=[lags])


def test_a_history_gives_rates(snapshot: str, tmp_path: Path) -> None:
    history = [
        flat(minute(50), lag=60_000, end_offset=100_000),
        flat(minute(50, 10), lag=50_000, end_offset=100_100),
        flat(minute(50, 20), lag=50_050, end_offset=100_200),
        flat(minute(50, 30), lag=20_000, end_offset=100_300),
        flat(minute(50, 40), lag=0, end_offset=100_400),
        flat(minute(50, 50), lag=LATEST, end_offset=100_500),
        flat(minute(50), P1, offset=100_000, end_offset=100_000),
        flat(minute(50, 40), P1, offset=100_400, end_offset=100_400),
    ]
    lags = save(tmp_path / "lags.jsonl", history)
    rates = only(snapshot, lags=[lags]).rates
    assert dict(rates.restore) == {1: ((10_000 + 100) + (20_000 + 100)) / 20}, "between 50 and 30,150 in 10 s"
    assert dict(rates.restore_intervals) == {1: 4}, "the last one is only a bound, but above the others' median"
    assert dict(rates.produce) == {0: 10.0}
    assert dict(only(snapshot, lags=[lags], as_of=NOON, lags_tolerance_ms=0).rates.produce) == {0: 10.0}


def test_offsets_give_the_same_rates_as_lags(snapshot: str, tmp_path: Path) -> None:
    ends = [100_000, 100_100, 100_150, 100_150]
    behind = [90_000, 50_000, 52_000, 0]
    times = [minute(n) for n in range(4)]
    by_lag = [flat(t, store="s", lag=b, end_offset=e) for t, b, e in zip(times, behind, ends, strict=True)]
    by_offset = [flat(t, store="s", offset=e - b, end_offset=e) for t, b, e in zip(times, behind, ends, strict=True)]
    first = only(snapshot, lags=[save(tmp_path / "lag.jsonl", by_lag)]).rates
    second = only(snapshot, lags=[parquet(tmp_path / "offset.parquet", by_offset)]).rates
    assert (dict(first.restore), dict(first.produce)) == (dict(second.restore), dict(second.produce))
    assert dict(first.restore) == {1: ((40_000 + 100) / 60 + 52_000 / 60) / 2}, "the bound is above what was measured"
    assert dict(first.produce) == {0: 50 / 60}, "of 100, 50 and 0 a minute"


def _interval(number: int) -> StoreInterval:
    ends = [90_000 + 11 * n for n in (number - 1, number)]
    behind = [end - 1000 * n - 7 for end, n in zip(ends, (number - 1, number), strict=True)]
    return StoreInterval(parse_time(minute(number)), 60_000, *behind, *ends)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.randoms(use_true_random=False), files=st.integers(1, 4))
def test_the_order_of_lag_rows_and_files_does_not_matter(
    order: random.Random, files: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("lags")
    rows = [
        flat(minute(number), store=store, offset=1000 * number + 7, end_offset=90_000 + 11 * number)
        for number in range(30, 50)
        for store in ("a", "b")
    ]
    last = [HistoryRow(item, "") for item in rows if item["captured_at"] == minute(49)]
    intervals = [_interval(number) for number in range(40, 50)]
    stores = [StoreHistory(P0, "0_0", store, tuple(intervals)) for store in ("a", "b")]
    expected = snapshot_from_row(at(), "", lags=LagHistory(last, stores))
    save(folder / "snapshot.json", [at()])
    order.shuffle(rows)
    parts = folder / "parts"
    parts.mkdir()
    for number in range(files):
        order.choice(forms())(parts / f"{order.randrange(10**9)}-{number}", rows[number::files])
    assert only(folder / "snapshot.json", lags=[str(parts)]) == expected


def _year_of_lags(folder: Path, times_a_day: int = 12) -> None:
    """A folder for each day of a year that ends at noon, a copy's lag and end offset every two hours in it."""
    schema = pa.schema([(name, pa.string()) for name in ("application_id", "process_id", "task_id")])
    for name, kind in (("captured_at", pa.timestamp("us", "UTC")), ("lag", pa.int64()), ("end_offset", pa.int64())):
        schema = schema.append(pa.field(name, kind))
    last = parse_time(NOON)
    for days_ago in range(-3, 365):
        day = last // 86_400_000 - days_ago
        times = [day * 86_400_000 + n * (86_400_000 // times_a_day) for n in range(times_a_day)]
        rows = [
            {
                "application_id": application_id,
                "process_id": process_id,
                "task_id": "0_0",
                "captured_at": datetime.fromtimestamp(at_ms / 1000, UTC),
                "lag": (last - at_ms) // 1000 if process_id == P0 else 0,
                "end_offset": at_ms // 1000,
            }
            for at_ms in times
            for application_id in ("orders", "payments")
            for process_id in (P0, P1)
        ]
        part = folder / f"date={datetime.fromtimestamp(day * 86_400, UTC):%Y-%m-%d}" / "part.parquet"
        part.parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), part)


def _scanned(spark: Any) -> dict[str, list[int]]:
    """What Spark's own metrics say of every scan of Parquet so far: by name, of each scan."""
    store = spark._jsparkSession.sharedState().statusStore()
    found: dict[str, list[int]] = {"number of files read": [], "number of output rows": []}
    executions = store.executionsList()
    for number in range(executions.size()):
        execution = executions.apply(number).executionId()
        values, nodes = store.executionMetrics(execution), store.planGraph(execution).allNodes()
        for at in range(nodes.size()):
            metrics = nodes.apply(at).metrics()
            for one in range(metrics.size() if nodes.apply(at).name().startswith("Scan parquet") else 0):
                metric = metrics.apply(one)
                if metric.name() in found:
                    found[metric.name()].append(int(values.apply(metric.accumulatorId()).replace(",", "")))
    return found


def test_the_newest_lags_of_a_year_of_days_are_read_from_two_of_them(snapshot: str, tmp_path: Path, spark: Any) -> None:
    year = tmp_path / "year"
    _year_of_lags(year)
    before = len(_scanned(spark)["number of output rows"])
    found = only(snapshot, lags=[str(year)], lags_tolerance_ms=0)
    assert copies(found)[P0].lag == 0
    assert dict(found.rates.produce) == {0: 1.0}
    scans = {name: values[before:] for name, values in _scanned(spark).items()}
    assert scans["number of output rows"], "Spark says what it has read"
    assert max(scans["number of output rows"]) <= 2 * 12 * 4, "the rows of two days at most"
    assert max(scans["number of files read"]) <= 3, "another time zone's name of a day is opened, too"
    assert only(snapshot, lags=[str(year / "*" / "*.parquet")], lags_tolerance_ms=0) == found


def test_a_copy_that_is_assigned_is_looked_for_as_far_back_as_there_are_rows(snapshot: str, tmp_path: Path) -> None:
    often = [flat(minute(number), P1, offset=1, end_offset=150_000) for number in range(20)]
    long_ago = flat("2026-03-01T00:00:00Z", lag=77)
    texts = ("application_id", "captured_at", "process_id", "task_id", "store")
    numbers = ("lag", "offset", "end_offset")
    schema = pa.schema([*((name, pa.string()) for name in texts), *((name, pa.int64()) for name in numbers)])
    assert copies(only(snapshot, lags=[parquet(tmp_path / "lags.parquet", [*often, long_ago], schema)]))[P0].lag == 77
    assert standby_lag(snapshot, *often, long_ago) == 77
    recent = flat("2026-11-20T13:00:00Z", store="b", lag=4)
    stores = [*often, recent, flat("2026-11-01T00:00:00Z", store="gone", lag=5_000)]
    assert standby_lag(snapshot, *stores) == 4, "the copy was heard of within the last day, that store was not"
    assert copies(only(snapshot, lags=[parquet(tmp_path / "stores.parquet", stores, schema)]))[P0].lag == 4


def test_lags_of_long_before_the_snapshot_count_as_those_of_their_day_do(snapshot: str, tmp_path: Path) -> None:
    rows = [flat(f"2026-05-01T00:{n:02d}:00Z", lag=1_000 - n, end_offset=100_000 + 60 * n) for n in range(30)]
    found = only(snapshot, lags=[parquet(tmp_path / "lags.parquet", rows)])
    assert copies(found)[P0].lag == 971
    assert dict(found.rates.produce) == {0: 1.0}
    assert only(snapshot, lags=[save(tmp_path / "lags.jsonl", rows)]) == found


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_rates_over_a_time_are_of_up_to_sixty_intervals_in_it(form: str, snapshot: str, tmp_path: Path) -> None:
    growth = [*([0] * 20), *([600] * 100)]  # records in ten seconds
    ends = [1_000 + sum(growth[:n]) for n in range(len(growth) + 1)]
    first = parse_time(NOON) - 10_000 * (len(growth))
    rows = [
        flat(datetime.fromtimestamp((first + 10_000 * n) / 1000, UTC).isoformat(), offset=end, end_offset=end)
        for n, end in enumerate(ends)
    ]
    make = {"json": lambda: save(tmp_path / "lags.jsonl", rows), "parquet": lambda: parquet(tmp_path / "lags", rows)}
    lags = [make[form]()]
    usual = only(snapshot, lags=lags).rates
    assert (dict(usual.produce), dict(usual.produce_intervals)) == ({0: 60.0}, {0: 10})
    short = only(snapshot, lags=lags, rates_over_ms=100_000).rates
    assert (dict(short.produce), dict(short.produce_intervals)) == ({0: 60.0}, {0: 10})
    hour = only(snapshot, lags=lags, rates_over_ms=3_600_000).rates
    assert dict(hour.produce_intervals) == {0: 20}, "a minute is a sixtieth of an hour: twenty of them have rows"
    assert dict(hour.produce) == {0: 60.0}, "3.3 minutes were idle, 16.7 were not"
