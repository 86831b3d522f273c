"""Plays in other processes: what nobody wants any more is over at once."""

from __future__ import annotations

import multiprocessing
import signal
import time
from functools import partial
from pathlib import Path

from kstream_plan.simulation.processes import SideBySide


def _goes_on(folder: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(folder, "begun").touch()
    time.sleep(20)
    Path(folder, "over").touch()


def test_what_was_begun_ends_with_the_context_whatever_it_makes_of_a_termination(tmp_path: Path) -> None:
    others = set(multiprocessing.active_children())
    with SideBySide(2) as side_by_side:
        side_by_side.begin([partial(_goes_on, str(tmp_path))])
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not (tmp_path / "over").exists()
    assert set(multiprocessing.active_children()) <= others
