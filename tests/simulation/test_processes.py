"""Plays in other processes: what nobody wants any more is over at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kstream_plan.simulation.processes import Runner, in_processes


def _goes_on(folder: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(folder, "begun").touch()
    time.sleep(20)
    Path(folder, "over").touch()


def test_what_was_begun_ends_with_the_context_whatever_it_makes_of_a_termination(tmp_path: Path) -> None:
    others = set(multiprocessing.active_children())
    with Runner(2) as side_by_side:
        side_by_side.begin([partial(_goes_on, str(tmp_path))])
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not (tmp_path / "over").exists()
    assert set(multiprocessing.active_children()) <= others


#: Plays side by side, and is sent a termination as soon as a process has been started: all of its group, or it alone.
_ENDED_AT_A_START = """
import os, signal, sys, time
from functools import partial
from multiprocessing import util

from kstream_plan.cli import signals
from kstream_plan.simulation.processes import Runner

def started(path, words, inherited, start=util.spawnv_passfds, end=getattr(os, sys.argv[1])):
    pid = start(path, words, inherited)
    if "--multiprocessing-fork" in words:
        end(os.getpid(), signal.SIGTERM)
    return pid

if __name__ == "__main__":
    os.setpgrp()
    util.spawnv_passfds = started
    signals.take_over()
    with Runner(3) as side_by_side:
        side_by_side.begin([partial(len, b" " * 1_000_000), partial(time.sleep, 60)])
        time.sleep(60)
"""


@pytest.mark.parametrize("whom", ["kill", "killpg"])
def test_a_termination_while_processes_are_started_ends_all_of_them_quietly(whom: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_ENDED_AT_A_START, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = [sys.executable, str(script), whom]
    ended = subprocess.run(words, check=False, env=environment, capture_output=True, text=True, timeout=50)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "")


def _killed_elsewhere(folder: str, number: int) -> int:
    if multiprocessing.parent_process() is not None:
        Path(folder, "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return number


def test_what_is_left_by_a_killed_process_is_played_here(tmp_path: Path) -> None:
    """It is noticed by the thread that would have the next one played elsewhere, while there is much to play."""
    assert list(in_processes(partial(_killed_elsewhere, str(tmp_path)), 60, 2)) == list(range(60))
    assert (tmp_path / "killed").exists()


#: What this process has played.
_here: list[int] = []


def _killed_in_its_second(number: int) -> int:
    if number and multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    _here.append(number)
    time.sleep(0.05)
    return number


def test_what_a_killed_process_leaves_is_played_when_it_is_asked_for_not_after_all_others() -> None:
    outcomes = in_processes(_killed_in_its_second, 400, 2)
    assert [next(outcomes) for _ in range(100)] == list(range(100))
    outcomes.close()  # type: ignore[attr-defined]
    assert len(_here) < 300


def _waits_elsewhere(seconds: float) -> float:
    if multiprocessing.parent_process() is not None:
        time.sleep(seconds)
    return seconds


def test_what_was_begun_in_vain_is_not_waited_for() -> None:
    with Runner(2) as side_by_side:
        side_by_side.begin([partial(_waits_elsewhere, 600.0)])
        assert side_by_side([partial(_waits_elsewhere, 0.0), partial(_waits_elsewhere, 0.1)]) == [0.0, 0.1]


def test_what_is_surely_asked_for_later_is_not_in_the_way() -> None:
    surely = [partial(_waits_elsewhere, 0.2), partial(_waits_elsewhere, 0.3)]
    with Runner(2) as side_by_side:
        side_by_side.begin(surely, surely=True)
        [other] = side_by_side([_by_whom_alone])
        assert (other, side_by_side([*surely, *surely])) == (os.getpid(), [0.2, 0.3, 0.2, 0.3])
        assert side_by_side([surely[0]]) == [0.2], "what was begun may be asked for again"


@pytest.mark.parametrize("asked", [[], [partial(_waits_elsewhere, 0.0)]])
def test_what_is_surely_asked_for_later_goes_on_beside_what_was_begun_in_vain(
    asked: list[Callable[[], float]],
) -> None:
    surely = [partial(_slowly_by_whom, number) for number in range(4)]
    with Runner(3) as side_by_side:
        side_by_side.begin(surely, surely=True)
        side_by_side.begin([partial(_waits_elsewhere, 600.0)])
        assert side_by_side(asked) == [0.0] * len(asked)
        assert set(side_by_side(surely)) - {os.getpid()}


def _slowly_by_whom(_number: int) -> int:
    time.sleep(0.3)
    return os.getpid()


def _by_whom_alone() -> int:
    return os.getpid()


def _by_whom(_number: int) -> int:
    return os.getpid()


def test_this_process_plays_too_where_there_are_more_processes_than_plays() -> None:
    assert os.getpid() in set(in_processes(_by_whom, 2, 4))


#: Is interrupted, or ended, while it plays, and others do.
_ENDED_WHILE_IT_PLAYS = """
import os, signal, sys, threading, time
from multiprocessing import active_children

from kstream_plan.simulation.processes import in_processes

def play(number):
    time.sleep(0.1)
    return number

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(2, os.kill, (os.getpid(), getattr(signal, sys.argv[1]))).start()
    try:
        for _ in in_processes(play, 10_000, 2):
            pass
    except (KeyboardInterrupt, SystemExit) as error:
        print(type(error).__name__, active_children())
"""


@pytest.mark.parametrize(("ended_by", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "SystemExit")])
def test_who_is_ended_while_playing_ends_the_others(ended_by: str, raised: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_ENDED_WHILE_IT_PLAYS, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = [sys.executable, str(script), ended_by]
    ended = subprocess.run(words, check=False, env=environment, capture_output=True, text=True, timeout=50)
    assert (ended.stdout, ended.stderr) == (f"{raised} []\n", "")


#: Its processes are killed as soon as they have been started, before they can have heard what to play; with "at once",
#: that is noticed before the next one is told.
_KILLED_AT_A_START = """
import os, signal, sys, time
from functools import partial
from multiprocessing import spawn, util

from kstream_plan.simulation.processes import Runner, in_processes

def started(path, words, inherited, start=util.spawnv_passfds):
    pid = start(path, words, inherited)
    if "--multiprocessing-fork" in words:
        os.kill(pid, signal.SIGKILL)
    return pid

def told(name, tell=spawn.get_preparation_data):
    if sys.argv[1] == "at once":
        time.sleep(0.5)
    return tell(name)

def length(of, number):
    return len(of) + number

if __name__ == "__main__":
    util.spawnv_passfds, spawn.get_preparation_data = started, told
    play = partial(length, b" " * 1_000_000)
    plays = [partial(play, 0), partial(play, 1)]
    with Runner(2) as side_by_side:
        side_by_side.begin(plays)
        print(side_by_side(plays), list(in_processes(play, 2, 2)))
"""


@pytest.mark.parametrize("noticed", ["later", "at once"])
def test_what_a_process_was_to_play_that_is_killed_at_its_start_is_played_here(noticed: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_KILLED_AT_A_START, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TMPDIR": str(tmp_path),
    }
    words = [sys.executable, str(script), noticed]
    ended = subprocess.run(words, check=False, env=environment, capture_output=True, text=True, timeout=50)
    assert (ended.stdout, ended.stderr) == ("[1000000, 1000001] [1000000, 1000001]\n", "")
    assert [*tmp_path.iterdir()] == [script]
