"""Temporary folders: gone at the end, and those of a killed run are deleted by a later one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kstream_plan.snapshots.files.content import temporary_folder


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder: Path) -> None:
    os.utime(folder, (0, 0))


def test_a_folder_is_gone_with_its_context(place: Path) -> None:
    with temporary_folder() as folder:
        (folder / "x").touch()
        assert folder.parent == place
    assert list(place.iterdir()) == []


def test_what_a_killed_run_leaves_is_deleted_by_a_later_one(place: Path) -> None:
    code = (
        "import time\n"
        "from kstream_plan.snapshots.files.content import temporary_folder\n"
        "with temporary_folder() as folder:\n"
        "    (folder / 'x').touch()\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(60)\n"
    )
    environment = {**os.environ, "TMPDIR": str(place)}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    aged(left)
    with temporary_folder():
        assert left.exists()  # in use
    process.send_signal(signal.SIGKILL)
    process.communicate()
    aged(left)
    with temporary_folder():
        assert not left.exists()


def test_what_is_new_or_not_of_this_kind_is_left_alone(place: Path) -> None:
    new, other = place / "kstream-plan-new", place / "kstream-plan-other"
    for folder in (new, other):
        folder.mkdir()
    (new / ".in-use").touch()
    aged(other)
    (place / "kstream-plan-link").symlink_to("/")
    with temporary_folder():
        assert new.exists()
        assert other.exists()


def test_a_folder_is_deleted_whole_though_a_signal_comes_meanwhile(tmp_path: Path) -> None:
    program = (
        "import os, shutil, signal, sys\n"
        "from kstream_plan.snapshots.files.content import temporary_folder\n"
        "signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))\n"
        "def rmdir(*arguments, original=os.rmdir, **options):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    original(*arguments, **options)\n"
        "with temporary_folder() as folder:\n"
        "    (folder / 'inside').mkdir()\n"
        "    os.rmdir = rmdir\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False, timeout=60)
    assert (done.returncode, list(tmp_path.iterdir())) == (143, [])
