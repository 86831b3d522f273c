"""What executors on other machines are sent: the whole package, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import kstream_plan
from kstream_plan.snapshots.spark.shipped import package_archive


def test_the_package_runs_from_its_archive(tmp_path: Path) -> None:
    archive = package_archive(tmp_path)
    source = Path(kstream_plan.__file__).parent
    sent = {name for name in ZipFile(archive).namelist() if name.endswith(".py")}
    assert sent == {str(path.relative_to(source.parent)) for path in source.rglob("*.py")}
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "from kstream_plan.cli.actions import check_snapshots, plan\nimport kstream_plan.cli.commands.drain\n"
        "print(kstream_plan.__file__)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.startswith(str(archive))
