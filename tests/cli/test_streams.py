"""Streams that are closed or full, and places that cannot be written to: one line and an exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kstream_plan.cli import run
from tests.helpers.captured import REAL

SNAPSHOT = str(REAL / "scale-out" / "before.json")
COMMAND = f"{sys.executable} -m kstream_plan"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("schema plan >&-", 0, ""),
        ("--help >&-", 0, ""),
        ("schema plan <&- >/dev/null", 0, ""),
        ("show - <&-", 1, "standard input"),
        ("assign - <&-", 1, "standard input: is empty"),
        ("show nothing.json 2>&-", 1, ""),
        ("show - <&- >&- 2>&-", 1, ""),
        ("schema plan >/dev/full", 1, "standard output: cannot be written: No space left on device"),
        ("--help >/dev/full", 1, "standard output: cannot be written: No space left on device"),
        ("show --help >/dev/full", 1, "standard output: cannot be written: No space left on device"),
        ("--version >/dev/full", 1, "standard output: cannot be written: No space left on device"),
        ("show --nonsense >/dev/full 2>/dev/full", 2, ""),
    ],
)
def test_streams_may_be_closed_or_full(arguments: str, code: int, said: str) -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        f"{COMMAND} {arguments}", shell=True, capture_output=True, text=True, check=False, env=buffered
    )
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize(("path", "said"), [("file://[x", "is no path"), ("a" * 300, "does not exist")])
def test_what_is_no_path_is_an_error(path: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", path]) == 1
    assert said in capsys.readouterr().err


def test_a_place_that_is_none_is_an_error_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for place in (tmp_path / "a", tmp_path / ("a" * 300)):
        assert run(["assign", SNAPSHOT, "--out", str(place)]) == 1
        error = capsys.readouterr().err
        assert "cannot be written to: " in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_whose_exception_is_lost_ends_us_all_the_same(number: int, code: int) -> None:
    """As in a call of Py4J's, which makes a broken pipe of it."""
    program = (
        "import os\n"
        "from kstream_plan import cli, errors\n"
        "from kstream_plan.answers import formats\n"
        "def load(_kind):\n"
        "    try:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "    except BaseException:\n"
        "        raise errors.SparkError('could not read the input: Broken pipe') from None\n"
        "formats.load = load\n"
        "import sys\n"
        "sys.argv = ['kstream-plan', 'schema', 'plan']\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (code, "kstream-plan: interrupted\n" if code == 130 else "")
