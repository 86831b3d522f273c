"""Files of what was measured are told apart by content, with a mark where that does not tell."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.metrics.measured_files import MeasuredFile, lag_rows, measured_files, split_mark
from kstream_plan.snapshots.metrics.measurements import read_measurements

METRICS = """# HELP kafka_consumer_lead\nkafka_consumer_lead{client_id="a"} 4\n"""
SCRAPE, ENDS, STARTS, LAGS = "metrics", "end_offsets", "start_offsets", "store_lags"
#: Beginnings of files, and what they hold.
CONTENTS: dict[str, list[str]] = {
    METRICS: [SCRAPE],
    "# only a comment\n": [SCRAPE],
    "": [SCRAPE],
    '{"kafka.lag",client_id="x"} 4\n': [SCRAPE],
    "<html>": [SCRAPE],
    "orders-A-changelog:0:12\n": [ENDS],
    "\n\norders-A-changelog:0:\norders-A-changelog:1:7\n": [ENDS],
    '{"orders-A-changelog-0": 12}': [ENDS],
    '[{"topic": "a", "partition": 0, "offset": 3}]': [ENDS],
    '{"t": 1795355808, "end": {"a-0": 1}}\n{"t": 1795355818, "end": {"a-0": 2}}\n': [ENDS],
    '{"t": 1795355808, "start": {"a-0": 1}, "end": {"a-0": 1}}': [ENDS, STARTS],
    '{"time": 1795355808, "start_offsets": {"a": {"0": 1}}}': [STARTS],
    '{"host": {"A": {"0": {"currentOffsetPosition": 1, "endOffsetPosition": 2, "offsetLag": 1}}}}': [LAGS],
    "{}": [ENDS],
}


@pytest.mark.parametrize("form", ["plain", "gzip", "with a byte order mark"])
@pytest.mark.parametrize("content", CONTENTS)
def test_the_content_tells_what_a_file_holds(content: str, form: str, tmp_path: Path) -> None:
    data = content.encode("utf-8-sig" if form.startswith("with") else "utf-8")
    (tmp_path / "a.prom").write_text(METRICS)
    (tmp_path / "x").write_bytes(gzip.compress(data) if form == "gzip" else data)
    files = measured_files([str(tmp_path / "a.prom"), str(tmp_path / "x")])
    assert [kind for kind, names in files.items() for name in names if name.endswith("x")] == CONTENTS[content]


def test_a_folder_may_hold_all_of_it_and_a_mark_says_what_is_meant(tmp_path: Path) -> None:
    scrape, ends, starts = (str(tmp_path / name) for name in ("i1.prom", "ends.txt", "starts.txt"))
    Path(scrape).write_text(METRICS)
    Path(ends).write_text("a:0:5\n")
    assert measured_files([str(tmp_path)]) == {ENDS: [ends], SCRAPE: [scrape]}
    Path(starts).write_text("a:0:1\n")
    files = measured_files([f"{tmp_path}/*.prom", ends, f"start={starts}", "end=-"])
    assert files == {SCRAPE: [scrape], ENDS: [ends, "-"], STARTS: [starts]}
    assert measured_files(["-"]) == {SCRAPE: ["-"]}
    assert measured_files(["lags=-"]) == {LAGS: ["-"]}
    del files[ENDS][1]
    read = read_measurements(**files)
    assert (read.ends.newest(("a", 0)), read.starts.newest(("a", 0)), len(read.scrapes)) == (5, 1, 1)


def test_a_file_that_is_there_may_be_called_like_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert split_mark("start=x") == MeasuredFile("start", "x")
    Path("start=x").write_text(METRICS)
    assert split_mark("start=x") == MeasuredFile("", "start=x")
    assert split_mark("other=x") == MeasuredFile("", "other=x")


def _row(**more: object) -> str:
    return json.dumps({"application_id": "a", "process_id": "p", "task_id": "0_0", **more}) + "\n"


@pytest.mark.parametrize("form", ["lines", "list", "gzip", "parquet", "folder", "glob"])
def test_lag_rows_are_known_by_content_and_are_no_measurement_of_now(form: str, tmp_path: Path) -> None:
    file = tmp_path / "x"
    text = f"[{_row()}]" if form == "list" else _row(consumer_ids=["c"], lag=3) * 2
    data = gzip.compress(text.encode()) if form == "gzip" else b"PAR1\0" if form == "parquet" else text.encode()
    if form == "folder":
        (tmp_path / "_SUCCESS").touch()
        file = tmp_path / "date=2026-11-21" / "x"
        file.parent.mkdir()
    file.write_bytes(data)
    path = str({"folder": tmp_path, "glob": f"{tmp_path}/*"}.get(form, file))
    assert lag_rows([path]) == lag_rows([f"rows={path}"]) == [path]
    for given in (path, f"rows={path}"):
        with pytest.raises(SnapshotError, match="holds lag rows"):
            measured_files([given])


def test_what_is_no_lag_row_is_none(tmp_path: Path) -> None:
    snapshot = {"application_id": "a", "instances": [{"process_id": "p"}], "lags": [{"task_id": "0_0"}]}
    for name, text in {"a": METRICS, "b": "a:0:5\n", "c": json.dumps(snapshot), "d": ""}.items():
        (tmp_path / name).write_text(text)
        assert lag_rows([str(tmp_path / name)]) == []
    others = ["-", "nowhere", "http://h:9404/metrics", "lags=x", "start=x", str(tmp_path)]
    assert lag_rows([*others, "s3a://b/x", "rows=-", "file://[/x"]) == ["s3a://b/x", "-"]


def test_offsets_alone_tell_no_lag_and_what_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "ends.txt").write_text("a:0:5\n")
    with pytest.raises(SnapshotError, match=r"ends\.txt: holds offsets, and nothing tells where the copies are"):
        measured_files([str(tmp_path / "ends.txt")])
    with pytest.raises(SnapshotError, match="nowhere: does not exist"):
        measured_files([str(tmp_path / "nowhere")])
    assert measured_files([]) == {}
