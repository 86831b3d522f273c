"""What ``snapshot --out`` says it wrote of a Connect group is told in Connect's words."""

from pathlib import Path

import pytest

from kstream_plan.cli import run

LOGS = Path(__file__).parents[3] / "examples" / "connect"


def test_workers_connectors_and_tasks_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [str(LOGS / f"worker-{number}.log") for number in (2, 3)]
    assert run(["snapshot", *logs, "--out", str(tmp_path / "workers.json")]) == 0
    assert "wrote live, generation 15 (2 workers, 3 connectors, 12 tasks) to" in capsys.readouterr().err
