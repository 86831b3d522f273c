"""Ctrl-C: one line, exit code 130, and no process left behind, whenever it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kstream_plan.cli import run
from tests.helpers.captured import REAL

SNAPSHOT = str(REAL / "scale-out" / "before.json")


def test_an_interrupt_during_the_imports_is_as_quiet_as_any() -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from kstream_plan.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kstream-plan: interrupted\n")


#: What Python lacks on Windows, as far as this package has it.
_WINDOWS = """
import os, signal, sys
import subprocess
os.name = 'nt'
sys.modules['fcntl'] = None
for module, names in ((os, ('getuid', 'killpg', 'sched_getaffinity')), (signal, ('SIGALRM', 'SIGKILL', 'setitimer'))):
    for name in names:
        delattr(module, name)
"""


@pytest.mark.parametrize("arguments", [[], ["--version"], ["assign", "x.json"]])
def test_on_windows_one_error_says_where_it_runs(arguments: list[str]) -> None:
    code = f"{_WINDOWS}from kstream_plan.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kstream-plan: error: it does not run on Windows. Fix: run it in WSL\n"


@pytest.mark.parametrize(
    "code", ["from kstream_plan import read", "import kstream_plan; kstream_plan.read(['x.json'])"]
)
def test_so_it_says_from_python(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"{_WINDOWS}{code}"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("ImportError: kstream-plan does not run on Windows. Fix: run it in WSL\n")


def test_an_interrupt_within_an_import_waits_for_its_end() -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "            print('still here')\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from kstream_plan.cli import main\n"
        "main()"
    )
    silent, other_end = os.pipe()
    try:
        command = [sys.executable, "-c", code, "show", "-"]
        done = subprocess.run(command, stdin=silent, capture_output=True, text=True, check=False, timeout=60)
    finally:
        os.close(silent)
        os.close(other_end)
    assert (done.returncode, done.stdout, done.stderr) == (130, "still here\n", "kstream-plan: interrupted\n")


@pytest.mark.parametrize(
    ("name", "code", "said"), [("SIGINT", 130, "kstream-plan: interrupted\n"), ("SIGTERM", 143, "")]
)
def test_a_signal_within_the_last_import_still_counts_at_the_end(name: str, code: int, said: str) -> None:
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'kstream_plan.cli.commands.schema':\n"
        f"            os.kill(os.getpid(), signal.{name})\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from kstream_plan.cli import main\n"
        "main()"
    )
    command = [sys.executable, "-c", program, "schema", "plan"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_after_the_answer_changes_nothing(name: str) -> None:
    program = (
        "import atexit, os, signal\n"
        "from kstream_plan.cli import main\n"
        f"atexit.register(lambda: os.kill(os.getpid(), signal.{name}))\n"
        "main()"
    )
    command = [sys.executable, "-c", program, "schema", "plan"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_within_the_text_of_a_program_is_as_any(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import kstream_plan.cli.application as application\n"
        "from kstream_plan.cli import main\n"
        "application.run_command = lambda _: exec('raise KeyboardInterrupt')\n"
        "main()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kstream-plan: interrupted\n")


@pytest.mark.parametrize(
    ("name", "code", "said"), [("SIGINT", 130, "kstream-plan: interrupted\n"), ("SIGTERM", 143, "")]
)
def test_a_signal_of_which_another_error_is_made_is_as_any(name: str, code: int, said: str) -> None:
    """PySpark cleans up after itself by what it may not have yet, whatever ends it."""
    program = (
        "import os, signal\n"
        "import kstream_plan.cli.application as application\n"
        "from kstream_plan.cli import main\n"
        "def read(_):\n"
        "    try:\n"
        f"        os.kill(os.getpid(), signal.{name})\n"
        "        connection = None\n"
        "    finally:\n"
        "        connection.close()\n"
        "application.run_command = read\n"
        "main()"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


_SIGNALLED = (
    "import os, signal, threading\n"
    "import kstream_plan.cli.application as application\n"
    "from kstream_plan.cli import main, signals\n"
    "signals._CLEANED_UP_SECONDS = 0.5\n"
    "def read(_):\n"
    "    try:\n"
    "        os.kill(os.getpid(), signal.SIGTERM)\n"
    "    finally:\n"
    "        {clean_up}\n"
    "application.run_command = read\n"
)


def test_a_process_ends_though_its_clean_up_does_not() -> None:
    program = _SIGNALLED.format(clean_up="threading.Event().wait()") + "main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_a_process_that_a_signal_ends_waits_for_no_end_of_pythons_own() -> None:
    hanging = "threading.Thread(target=threading.Event().wait).start()\nsignals._CLEANED_UP_SECONDS = 3600\nmain()"
    program = _SIGNALLED.format(clean_up="print('cleaned up', end='')") + hanging
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (143, "cleaned up", "")


def test_an_interrupt_outside_of_the_command_is_as_quiet_as_any(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperGroup.invoke", interrupted)
    assert run(["schema"]) == 130
    assert capsys.readouterr() == ("", "kstream-plan: interrupted\n")


def test_an_interrupt_while_java_starts_ends_java_too(tmp_path: Path) -> None:
    java, pids = tmp_path / "bin" / "java", tmp_path / "pids"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 60\n")
    java.chmod(0o755)
    command = [sys.executable, "-m", "kstream_plan", "assign", SNAPSHOT, "--set", f"java.home={tmp_path}"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=20) == ("", "kstream-plan: interrupted\n")
    assert process.returncode == 130
    (pid,) = pids.read_text().split()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.spark
def test_an_interrupt_while_spark_works_is_a_plain_one_and_ends_java() -> None:
    code = (
        "import os, signal\n"
        "from pyspark import SparkContext\n"
        "from kstream_plan.snapshots.spark.session import open_session\n"
        "try:\n"
        "    with open_session(little_work=True):\n"
        "        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "        java = SparkContext._gateway.proc\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt as interrupt:\n"
        "    assert interrupt.__context__ is None\n"
        "    assert java.poll() is not None\n"
        "    print('interrupted')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def wait_for(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
