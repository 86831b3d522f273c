"""Runs Kafka's own assignors (``oracle/``) on cases in the form of the recorded vectors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.helpers.kafka_jars import DEFAULT_VERSION, class_path

_SOURCES = [Path(__file__).parent / "oracle" / name for name in ("Oracle.java", "OracleThreads.java")]
_MAIN = "org.apache.kafka.streams.processor.internals.assignment.Oracle"


def ask(
    mode: str, cases: Iterable[dict[str, Any]], *options: str, kafka_version: str = DEFAULT_VERSION
) -> list[dict[str, Any]]:
    """Return the answer of a Kafka release to each case (``assign``, ``converge`` or ``bench``)."""
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    command = ["java", quiet, "-cp", class_path(_SOURCES, kafka_version), _MAIN, mode, *options]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise SystemExit(f"{answer['id']}: {answer['error']}")
    return answers
