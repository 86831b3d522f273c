"""Golden files: what an output looked like when somebody last looked at it.

A missing file is a failure. After a change that is meant, look at the difference that
``KSTREAM_PLAN_WRITE_GOLDENS=1 pytest`` makes to ``tests/golden``, then commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"
WRITE = "KSTREAM_PLAN_WRITE_GOLDENS"


def assert_golden(name: str, text: str) -> None:
    """Compare ``text`` with the golden file ``name``, or write it if that was asked for."""
    path = FOLDER / name
    if os.environ.get(WRITE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing; look at the output and write it with {WRITE}=1"
    assert text == path.read_text(encoding="utf-8")
