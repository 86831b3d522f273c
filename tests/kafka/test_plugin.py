"""The plug-in is built, and decides as recorded, with the first and the newest release that takes it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.helpers import kafka_jars

pytestmark = pytest.mark.kafka

_VECTORS = Path(__file__).parents[1] / "vectors"


@pytest.mark.parametrize("version", ["3.8.0", "4.4.0"])
def test_its_tests_pass_and_its_decisions_are_as_recorded(version: str, tmp_path: Path) -> None:
    shutil.copytree(kafka_jars.PLUGIN, tmp_path, dirs_exist_ok=True)
    with kafka_jars.maven_s_turn():
        kafka_jars.package(tmp_path, version, f"-Dvectors={_VECTORS}", "-Dmaven.compiler.failOnWarning=true")
    reports = tmp_path / "target" / "surefire-reports"
    output = (reports / "io.kstreamplan.VectorsTest-output.txt").read_text(encoding="utf-8")
    assert re.findall(r"^(\d+) recorded (\w+) are the same$", output, re.MULTILINE) == [
        ("1500", "decisions"),
        ("150", "sequences"),
    ]
    assert len(list((tmp_path / "target").glob("*.jar"))) == 1
    figures = (reports / "io.kstreamplan.SpeedTest-output.txt").read_text(encoding="utf-8")
    seconds = re.findall(r"^(\d+) tasks, .* file: first .*, median ([\d.]+)s of CPU$", figures, re.MULTILINE)
    assert len(seconds) == 4
