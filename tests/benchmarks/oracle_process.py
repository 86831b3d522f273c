"""Runs Kafka's own assignors (``oracle/``) on cases in the form of the recorded vectors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RUN = Path(__file__).parent / "oracle" / "run.sh"


def ask(mode: str, cases: Iterable[dict[str, Any]], *options: str) -> list[dict[str, Any]]:
    """Return Kafka's answer to each case (``assign``, ``converge`` or ``bench``)."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([str(RUN), mode, *options], input=lines, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise SystemExit(f"{answer['id']}: {answer['error']}")
    return answers
