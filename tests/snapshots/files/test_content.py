"""What is read here: devices are refused, pipes are read where somebody writes, text up to a limit."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kstream_plan import snapshots
from kstream_plan.cli import run
from kstream_plan.documents.plan.files import is_plan_file, read_plan_file
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import KstreamPlanError
from kstream_plan.snapshots.files.content import Limits, at_hand, reading_within, standard_input, unpacked
from kstream_plan.snapshots.leader_log import lines
from kstream_plan.snapshots.leader_log.history import read_leader_logs
from kstream_plan.snapshots.leader_log.messages import MARKERS
from kstream_plan.snapshots.metrics.offsets import read_offsets
from tests.helpers import captured, plan_cases
from tests.helpers.snapshot_rows import row

PLAN = plan_json(plan_cases.case("settled")).encode()
LOG = (captured.REAL / "scale-out" / "leader.log.gz").read_bytes()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@contextmanager
def written(pipe: Path, content: bytes) -> Iterator[None]:
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    yield
    writer.join()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


#: Every way in which a file is named that is read here; snapshots are looked into here before Spark reads them.
NAMED = [
    ["show", "FILE"],
    ["check", "FILE"],
    ["check", "PLAN", "--policy", "FILE"],
    ["check", "PLAN", "--baseline", "FILE"],
    ["diff", "FILE", "PLAN"],
    ["diff", "PLAN", "FILE"],
    ["diff", "FILE", "--from", "1", "--to", "2"],
    ["assign", "FILE"],
    ["assign", "SNAPSHOT", "--metrics", "FILE"],
    ["assign", "PLAN", "--metrics", "FILE"],
    ["assign", "PLAN", "--streams-config", "FILE"],
    ["simulate", "PLAN", "FILE"],
    ["snapshot", "FILE"],
    ["snapshot", "LOG", "--set", "names=FILE"],
    ["snapshot", "LOG", "--metrics", "FILE"],
    ["snapshot", "LOG", "--streams-config", "FILE"],
    ["snapshot", "--bootstrap-server", "a:1", "--group", "g", "--topology", "FILE"],
    ["snapshot", "--bootstrap-server", "a:1", "--group", "g", "--command-config", "FILE"],
]


def filled(arguments: list[str], tmp_path: Path, file: str | Path) -> list[str]:
    (tmp_path / "plan.json").write_bytes(PLAN)
    (tmp_path / "leader.log").write_bytes(LOG)
    (tmp_path / "snapshot.json").write_text(json.dumps(row()))
    names = {
        "FILE": str(file),
        "names=FILE": f"names={file}",
        "PLAN": str(tmp_path / "plan.json"),
        "SNAPSHOT": str(tmp_path / "snapshot.json"),
        "LOG": str(tmp_path / "leader.log"),
    }
    return [names.get(argument, argument) for argument in arguments]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
@pytest.mark.parametrize("arguments", NAMED, ids=" ".join)
def test_a_device_is_refused(
    arguments: list[str], device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.search(r"is a device, not a file\. Fix: ", refused(capsys, *filled(arguments, tmp_path, device)))


@pytest.mark.parametrize("arguments", NAMED, ids=" ".join)
def test_a_pipe_that_nobody_writes_to_is_waited_for_so_long(
    arguments: list[str], tmp_path: Path, pipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *filled(arguments, tmp_path, pipe), "--set", "timeout=50ms")
    assert "cannot" in said
    assert re.search(
        r"no data has arrived in this pipe within 0\.05 s \(--set timeout\)\. Fix: (check|name a file) ", said
    )


@pytest.mark.parametrize("arguments", [["show", "FILE"], ["check", "FILE"], ["diff", "FILE", "PLAN"]], ids=" ".join)
def test_a_plan_is_read_from_a_pipe(
    arguments: list[str], tmp_path: Path, pipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with written(pipe, gzip.compress(PLAN)):
        assert run(filled(arguments, tmp_path, pipe)) in (0, 3)
    assert capsys.readouterr().err == ""


def test_settings_and_logs_are_read_from_a_pipe(tmp_path: Path, pipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with written(pipe, LOG):
        assert run(["snapshot", str(pipe), "--list"]) == 0
    with written(pipe, b"max.warmup.replicas=3\n"):
        assert run(filled(["snapshot", "LOG", "--streams-config", "FILE"], tmp_path, pipe)) == 0
    assert '"max_warmup_replicas": 3' in capsys.readouterr().out


@pytest.mark.spark
def test_a_snapshot_is_read_from_a_pipe(spark: object, pipe: Path) -> None:
    with written(pipe, gzip.compress(json.dumps(row()).encode())):
        assert [item.state.group.application_id for item in snapshots.read([str(pipe)])] == ["orders"]


def test_within_one_command_a_pipe_can_be_read_again(pipe: Path) -> None:
    with reading_within(Limits()), written(pipe, PLAN):
        assert is_plan_file(pipe)
        assert [plan.group.application_id for plan in read_plan_file(pipe)] == ["S1"]
        copy = at_hand(pipe)
        assert copy != str(pipe)
    assert not Path(copy).exists()


def test_standard_input_is_waited_for_so_long() -> None:
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as silent, open(write_end, "wb"), reading_within(Limits(wait_ms=50)):
        with pytest.raises(KstreamPlanError, match="standard input: cannot be read: no data has arrived"):
            standard_input(silent)
        with pytest.raises(KstreamPlanError, match="standard input: cannot be read: no data has arrived"):
            read_leader_logs(["-"], stdin=silent)
    with open("/dev/zero", "rb") as endless, pytest.raises(KstreamPlanError, match="it is a device"):
        standard_input(endless)
    with open(os.devnull, "rb") as nothing:
        assert standard_input(nothing) == b""


@pytest.mark.parametrize(
    "arguments", [["show", "FILE"], ["check", "FILE"], ["diff", "FILE", "PLAN"], ["snapshot", "FILE"]]
)
@pytest.mark.parametrize("packed", [True, False])
def test_so_much_text_is_read(
    arguments: list[str], packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PLAN + b" " * (3 << 20) if "snapshot" not in arguments else b"nothing\n" * (3 << 17)
    (tmp_path / "large").write_bytes(gzip.compress(text) if packed else text)
    said = refused(capsys, *filled(arguments, tmp_path, tmp_path / "large"), "--set", "max.text=2MiB")
    assert "cannot read the file: it holds" in said or "cannot be read: it holds" in said
    assert "it holds more than 2 MiB of text (--set max.text). Fix: check the" in said


def test_a_small_archive_does_not_fill_the_memory(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * (64 << 20)))
    with reading_within(Limits(text_bytes=1 << 20, packed_bytes=1 << 20)):
        with pytest.raises(OSError, match="it holds more than 1 MiB of text"):
            unpacked((tmp_path / "bomb.gz").read_bytes())
        with pytest.raises(KstreamPlanError, match="it holds more than 1 MiB of text"):
            read_offsets([str(tmp_path / "bomb.gz")])


def test_members_of_gzip_are_unpacked_one_after_the_other() -> None:
    assert unpacked(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    assert unpacked(b"plain") == b"plain"


def test_a_line_of_a_log_has_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 8 << 20)
    line = b"x\n" + MARKERS[0] + b"x" * (10 << 20)
    with pytest.raises(KstreamPlanError, match="standard input, line 2: a line is longer than 8 MiB"):
        read_leader_logs(["-"], stdin=io.BytesIO(line))
