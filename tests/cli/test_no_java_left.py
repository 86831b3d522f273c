"""However a run ends, its Java ends with it, and its temporary files are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from captured import REAL

pytestmark = pytest.mark.spark

SNAPSHOT = REAL / "scale-out" / "before.json"


def start(snapshot: Path, folder: Path) -> subprocess.Popen[str]:
    """A run whose Java can be told by ``folder``, where its temporary files are."""
    environment = {**os.environ, "TMPDIR": str(folder), "KSTREAM_PLAN_NO_CACHE": "1"}
    command = [sys.executable, "-m", "kstream_plan", "assign", str(snapshot)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def java_of(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"java.io.tmpdir={folder}" in path.read_text():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def wait_for_java(folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not java_of(folder):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_after_success(tmp_path: Path) -> None:
    process = start(SNAPSHOT, tmp_path)
    wait_for_java(tmp_path)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert java_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_after_an_error(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    broken = tmp_path / "input" / "broken.json"
    broken.write_text('{"application_id": "orders"')
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = start(broken, folder)
    wait_for_java(folder)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "ends in the middle of a row" in err
    assert java_of(folder) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "kstream-plan: interrupted\n"), (signal.SIGTERM, 143, "")],
    ids=["interrupt", "termination"],
)
@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_after_a_signal(number: signal.Signals, code: int, said: str, seconds: float, tmp_path: Path) -> None:
    process = start(SNAPSHOT, tmp_path)
    wait_for_java(tmp_path)
    time.sleep(seconds)
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", said)
    assert process.returncode == code
    assert java_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_after_a_kill_it_ends_by_itself(tmp_path: Path) -> None:
    process = start(SNAPSHOT, tmp_path)
    wait_for_java(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while java_of(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.1)
