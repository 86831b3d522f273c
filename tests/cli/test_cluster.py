"""Many applications on a cluster: what one machine says, whatever dies on the way; else one clear error, in time."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from kstream_plan.version import __version__
from tests.helpers.cluster import Cluster, cluster, kill
from tests.helpers.fleets import write_fleet

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.spark,
    pytest.mark.xdist_group("processes with a Java of their own"),
]

#: Work for long enough that something can be killed in the middle of it.
_MUCH = {"applications": 60, "tasks": 12, "seed": 9}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def _command(fleet: Path, master: str, out: Path, *conf: str) -> list[str]:
    settings = ["spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", *conf]
    arguments = [
        "assign",
        str(fleet),
        "--spark-conf",
        f"spark.master={master}",
        "--out",
        str(out),
        "--set",
        "out.format=jsonl",
        "-q",
    ]
    arguments += [word for setting in settings for word in ("--spark-conf", setting)]
    return [sys.executable, "-m", "kstream_plan", *arguments, "--output", "json"]


def _assign(fleet: Path, master: str, out: Path, *conf: str) -> subprocess.CompletedProcess[str]:
    command = _command(fleet, master, out, *conf)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@contextmanager
def _assigning(fleet: Path, master: str, out: Path, *conf: str) -> Iterator[subprocess.Popen[str]]:
    """The command while it works; it ends within the context."""
    with (out.parent / "said.json").open("w") as said:
        process = subprocess.Popen(_command(fleet, master, out, *conf), stdout=said, stderr=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _rows(results: Path) -> list[str]:
    return sorted(line for file in results.glob("part-*") for line in file.read_text().splitlines())


def _errors(said: str) -> list[str]:
    """The lines that are no warning: a slow machine is told that it is waited for."""
    return [line for line in said.splitlines() if not line.startswith("kstream-plan: warning: no executor")]


def test_a_cluster_says_what_this_machine_says(there: Cluster, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.jsonl"
    write_fleet(fleet, 6, tasks=4, seed=8)
    alone, spread = (
        _assign(fleet, item, tmp_path / name) for name, item in (("alone", "local[2]"), ("spread", there.url))
    )
    assert _errors(spread.stderr) == []
    assert spread.returncode == 0
    assert spread.stdout == alone.stdout
    assert spread.stdout.count("\n") == 6
    assert _rows(tmp_path / "spread") == _rows(tmp_path / "alone")


@pytest.mark.parametrize(
    "conf",
    ["spark.executor.memory=64g", "spark.executor.extraJavaOptions=-agentlib:nonsense"],
    ids=["nobody has so much memory", "executors die at once"],
)
def test_a_cluster_without_executors_is_not_waited_for_for_ever(there: Cluster, tmp_path: Path, conf: str) -> None:
    fleet = tmp_path / "fleet.jsonl"
    write_fleet(fleet, 6, tasks=4, seed=8)
    answer = _assign(fleet, there.url, tmp_path / "results", conf, "spark.kstream-plan.executorTimeout=3s")
    assert answer.returncode == 1
    assert answer.stdout == ""
    (error,) = _errors(answer.stderr)
    assert error.startswith("kstream-plan: error: no executor of the cluster has worked for 3 s. Fix: ")
    assert not (tmp_path / "results").exists()


#: What a worker's Python is like, as its ``sitecustomize`` and other files beside it, and what is said then.
_OTHER_PYTHONS = {
    "without the package": ({}, "kstream-plan is not installed for "),
    "another version of Python": (
        {
            "other_python.py": "import collections, sys\n"
            "version = collections.namedtuple('version', 'major minor micro releaselevel serial')\n"
            "sys.version_info = version(3, 99, 0, 'final', 0)\n",
            "starts.pth": "import other_python\n",
        },
        "they have another version of Python",
    ),
    "a Python too old for Spark": (
        {"other_python.py": "import sys\nsys.exit('SyntaxError')\n", "starts.pth": "import other_python\n"},
        "their Python does not start as a worker",
    ),
    "nowhere": (None, "Cannot run program"),
}


def _python(folder: Path, files: Mapping[str, str] | None) -> Path:
    """A Python that has nothing but these files; ``None``: there is none."""
    if files is not None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        for name, content in files.items():
            (packages / name).parent.mkdir(exist_ok=True)
            (packages / name).write_text(content)
    return folder / "bin" / "python"


@pytest.mark.parametrize("there_is", _OTHER_PYTHONS)
def test_workers_whose_python_cannot_run_the_package_are_one_error(
    there: Cluster, there_is: str, tmp_path: Path
) -> None:
    files, why = _OTHER_PYTHONS[there_is]
    fleet, python = tmp_path / "fleet.jsonl", _python(tmp_path / "python", files)
    write_fleet(fleet, 6, tasks=4, seed=8)
    answer = _assign(fleet, there.url, tmp_path / "results", f"spark.pyspark.python={python}")
    assert (answer.returncode, answer.stdout) == (1, "")
    (error,) = _errors(answer.stderr)
    assert re.match(r"kstream-plan: error: the executor(s| on 127\.0\.0\.1) cannot run this tool: ", error)
    assert f" cannot run this tool: {why}" in error
    assert f"Fix: install there what is installed here (pip install kstream-plan=={__version__})" in error
    assert "spark.pyspark.python=PATH" in error
    assert not (tmp_path / "results").exists()


#: Prints from where an executor and the driver load the compiled engine.
_COMPILED = """
import sys
from kstream_plan.engine import decision
from kstream_plan.snapshots.spark.executors import on_executors
from kstream_plan.snapshots.spark.session import open_context

def compiled():
    def file(batch):
        from kstream_plan.engine import decision
        return [decision.__file__.encode()]
    return file

conf = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
with open_context(sys.argv[1], conf) as context, on_executors(context, compiled(), [b""]) as batch_run:
    print(decision.__file__, *(file.decode() for file in batch_run.fetched(lambda *_: None)))
"""


def test_executors_run_the_compiled_code_that_is_installed(there: Cluster) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _COMPILED, there.url], capture_output=True, text=True, check=True, timeout=300
    )
    of_driver, of_executor = answer.stdout.split()
    assert of_executor == of_driver


def test_executors_with_another_version_of_the_package_are_one_error(there: Cluster, tmp_path: Path) -> None:
    here = Path(sysconfig.get_path("purelib"))
    files = {
        "kstream_plan/__init__.py": "",
        "kstream_plan/version.py": "__version__ = '0.1.0'\n",
        "others.pth": f"{here}\n",
    }
    fleet, python = tmp_path / "fleet.jsonl", _python(tmp_path / "python", files)
    write_fleet(fleet, 6, tasks=4, seed=8)
    answer = _assign(fleet, there.url, tmp_path / "results", f"spark.pyspark.python={python}")
    assert (answer.returncode, answer.stdout) == (1, "")
    (error,) = _errors(answer.stderr)
    why = (
        f"kstream-plan 0.1.0 is installed for {python} on {platform.node()}, and {__version__} here. Fix: install there"
    )
    assert error.startswith(f"kstream-plan: error: the executors cannot run this tool: {why}")
    assert f"pip install kstream-plan=={__version__}" in error
    assert not (tmp_path / "results").exists()


def test_executors_that_are_killed_again_and_again_are_one_error(there: Cluster, tmp_path: Path) -> None:
    fleet, out = tmp_path / "fleet.jsonl", tmp_path / "results"
    write_fleet(fleet, **_MUCH)
    with _assigning(fleet, there.url, out, "spark.task.maxFailures=2") as process:
        while process.poll() is None:
            for executor in (*there.executors(0), *there.executors(1)):
                if there.is_at_work(executor):
                    kill(executor)
            time.sleep(0.05)
        assert process.returncode == 1
        assert process.stderr is not None
        (error,) = _errors(process.stderr.read())
        assert error.startswith("kstream-plan: error: executors died while they worked")
    assert not out.exists()


def test_whoever_is_killed_in_the_middle_changes_nothing(there: Cluster, tmp_path: Path) -> None:
    """First an executor, then a worker with its executor: what was done there is done again. No test comes after."""
    fleet, out = tmp_path / "fleet.jsonl", tmp_path / "results"
    write_fleet(fleet, **_MUCH)
    alone = _assign(fleet, "local[2]", tmp_path / "alone")
    there.all_executors_ended()
    before = there.executors_so_far()
    with _assigning(fleet, there.url, out) as process:
        kill(there.executor_at_work(0))
        kill(there.executor_at_work(1))
        there.workers[1].kill()
        assert process.wait(300) == 0
        assert there.executors_so_far() - before > 2
    assert (tmp_path / "said.json").read_text() == alone.stdout
    assert _rows(out) == _rows(tmp_path / "alone")
