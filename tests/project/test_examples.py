"""Every file in ``examples`` runs."""

import subprocess
import sys
from pathlib import Path

import pytest

import kstream_plan

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.spark
@pytest.mark.xdist_group("processes with a Java of their own")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(path: Path) -> None:
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.spark
@pytest.mark.xdist_group("processes with a Java of their own")
def test_the_large_group_is_settled_by_its_own_plan(tmp_path: Path) -> None:
    maker, file = EXAMPLES[0].parent / "large" / "make_group.py", tmp_path / "group.json"
    sizes = ["--pods", "6", "--tasks", "24", "--subtopologies", "3"]
    subprocess.run([sys.executable, maker, file, *sizes], check=True)
    (snapshot,) = kstream_plan.read([str(file)])
    assert len(snapshot.state.group.instances) == 6
    assert all(len(copies) == 2 for copies in snapshot.state.copies)
    assert not kstream_plan.plan(snapshot).rounds
