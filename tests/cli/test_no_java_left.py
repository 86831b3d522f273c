"""However a run ends, its Java ends with it, and its temporary files are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.captured import REAL

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("processes with a Java of their own")]

SNAPSHOT = REAL / "scale-out" / "before.json"


def start(snapshot: Path, folder: Path) -> subprocess.Popen[str]:
    """A run whose Java can be told by ``folder``, where its temporary files are."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "kstream_plan", "assign", str(snapshot)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def java_of(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"java.io.tmpdir={folder}" in (process / "cmdline").read_text():
                found.append(process.name)
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


#: Stands between a started process and who started it, where nobody knows its number yet.
INTERRUPTED_START = """
import signal, subprocess, sys

class Interrupted(subprocess.Popen):
    def __init__(self, command, *arguments, **options):
        super().__init__(command, *arguments, **options)
        if "pyspark-shell" in command:
            print("started")
            signal.raise_signal(getattr(signal, sys.argv[1]))

subprocess.Popen = Interrupted
from kstream_plan.snapshots.spark.session import open_session

try:
    with open_session(little_work=True):
        pass
except BaseException as interrupt:
    print(type(interrupt).__name__)
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.parametrize("by_script", [False, True])
@pytest.mark.parametrize(("name", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "SystemExit")])
def test_after_a_signal_while_java_is_being_started(name: str, raised: str, by_script: bool, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    if by_script:
        environment["SPARK_SUBMIT_OPTS"] = f"-Djava.io.tmpdir={tmp_path}"
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED_START, name],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["started\n", f"{raised}\n"]
    assert java_of(tmp_path) == []
    process.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_call_of_java_says_nothing(tmp_path: Path) -> None:
    program = """
import signal
from kstream_plan.snapshots.spark.session import open_session

signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    with open_session(little_work=True) as spark:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        spark._jvm.java.lang.Thread.sleep(60_000)
except KeyboardInterrupt:
    print("interrupted")
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    assert java_of(tmp_path) == []


def test_after_a_kill_it_ends_by_itself(tmp_path: Path) -> None:
    process = start(SNAPSHOT, tmp_path)
    wait_for_java(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while java_of(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.1)
