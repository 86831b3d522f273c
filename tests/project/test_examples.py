"""Every file in ``examples`` runs."""

import ast
import json
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
def test_the_notebook_runs_cell_by_cell(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES[0].parent)
    notebook = json.loads((EXAMPLES[0].parent / "notebook.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    shown = [_shown("".join(cell["source"]), names) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    pages = [item for item in (getattr(one, "_repr_html_", None) for one in shown) if item is not None]
    assert [page().count("<svg") > 2 for page in pages] == [True, True]
    assert shown[2].num_rows == len(names["simulated"].plan.rounds)  # type: ignore[attr-defined]
    assert shown[3]
    assert shown[5].column("max.warmup.replicas").to_pylist() == ["2", "4", "8"]  # type: ignore[attr-defined]
    assert not [cell for cell in notebook["cells"] if cell.get("outputs")]


def _shown(source: str, names: dict[str, object]) -> object:
    """Run a cell and return what a notebook shows of it: what its last line is."""
    cell = ast.parse(source)
    last = cell.body.pop() if isinstance(cell.body[-1], ast.Expr) else None
    exec(compile(cell, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


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
