"""Groups of which it was once said that all is safe: ``tests/safe``."""

from __future__ import annotations

import json
from pathlib import Path

from kstream_plan.model import Snapshot
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

SAFE = Path(__file__).parents[1] / "safe"


def safe_group(name: str) -> Snapshot:
    """Return the snapshot of one, by the path of its file."""
    return snapshot_from_row(json.loads((SAFE / name).read_text(encoding="utf-8")), name)
