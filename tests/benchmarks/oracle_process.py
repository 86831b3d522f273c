"""Runs Kafka's own assignors (``oracle/``) on cases in the form of the recorded vectors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kstream_plan.model.releases import numbers_of
from tests.helpers.kafka_jars import DEFAULT_VERSION, class_path

_ORACLES = Path(__file__).parent / "oracle"
_PACKAGE = "org.apache.kafka.streams.processor.internals.assignment"


def tells_movements(kafka_version: str) -> bool:
    """Tell whether a release's target before movements, and each movement, can be had beside what it decides."""
    return numbers_of(kafka_version) >= (3, 8, 0)


def ask(
    mode: str, cases: Iterable[dict[str, Any]], *options: str, kafka_version: str = DEFAULT_VERSION
) -> list[dict[str, Any]]:
    """Return the answer of a Kafka release to each case (``assign``, ``converge`` or ``bench``)."""
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    names, (major, minor, _) = ["Oracle", "OracleThreads"], numbers_of(kafka_version)
    if not tells_movements(kafka_version):
        assert mode == "assign", f"of {kafka_version} only decisions can be had"
        names = ["EarlierOracle", *(["EarlierRacks"] if (major, minor) >= (3, 6) else [])]
    jars = class_path([_ORACLES / f"{name}.java" for name in names], kafka_version)
    command = ["java", quiet, "-cp", jars, f"{_PACKAGE}.{names[0]}", mode, *options]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise SystemExit(f"{answer['id']}: {answer['error']}")
    return answers
