"""The image of ``examples/kubernetes`` reads and plans without the classes that it drops."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kstream_plan.snapshots.spark.java_process import sparks_jars

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCKERFILE = (EXAMPLES / "kubernetes" / "Dockerfile").read_text(encoding="utf-8")
_DROPPED = re.findall(r"\S+\.jar\b", DOCKERFILE)
_COMMANDS = """
import json, sys
from pathlib import Path
import kstream_plan.snapshots.spark.java_process as module
from kstream_plan.cli import run

every_jar, dropped = module.sparks_jars, json.loads(sys.argv[1])
module.sparks_jars = lambda: [jar for jar in every_jar() if not any(map(jar.match, dropped))]
for command in json.loads(sys.argv[2]):
    assert run(command) == 0, command
"""


def test_the_image_is_smaller_by_half_of_spark_and_prepared() -> None:
    sizes = {jar: jar.stat().st_size for jar in sparks_jars()}
    dropped = [jar for jar in sizes if any(map(jar.match, _DROPPED))]
    assert sum(sizes[jar] for jar in dropped) > 0.4 * sum(sizes.values())
    assert DOCKERFILE.rstrip().endswith("RUN kstream-plan prepare")


@pytest.mark.spark
@pytest.mark.xdist_group("archives of Java's classes")
def test_whatever_is_read_and_written_on_one_machine_needs_nothing_of_it(tmp_path: Path) -> None:
    lags = str(EXAMPLES / "lag-history" / "lags.parquet")
    commands = [
        ["assign", str(EXAMPLES / "scale-out" / "snapshot.json")],
        ["assign", str(EXAMPLES / "lag-history" / "snapshot.json"), "--metrics", lags],
        [
            "assign",
            str(EXAMPLES / "two-applications"),
            "--set",
            "out.format=parquet",
            "--out",
            str(tmp_path / "results"),
        ],
        ["fleet", str(tmp_path / "results")],
        ["history", lags],
    ]
    environment = {**os.environ, "KSTREAM_PLAN_NO_CACHE": "1"}
    given = [json.dumps(_DROPPED), json.dumps(commands)]
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS, *given], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
