"""How long the whole of ``diff OLD NEW`` on two saved plans takes, as a ratio to reading them.

Usage: ``python tests/benchmarks/diff.py [TASKS] [INSTANCES]`` (default 50000 200). The plans are those of one
scale-out with two settings, five rounds each. CPU time of this process; the plans are made and saved before.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from kstream_plan.comparison.diff import compare
from kstream_plan.comparison.sides import Pair
from kstream_plan.documents.plan.files import read_plan_file
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.documents.two_sides import DiffInput, read_pairs
from kstream_plan.render.answers import to_json, to_table
from kstream_plan.simulation.one_plan import plan
from tests.benchmarks.whole_plan import cpu_seconds, scale_out


def compared(pairs: list[Pair]) -> int:
    """Compare, and show the result both ways; return how many tasks moved."""
    found = [compare(pair.old, pair.new, pair.course) for pair in pairs]
    for comparison in found:
        to_table(comparison)
        to_json(comparison)
    return sum(comparison.totals.moved_tasks for comparison in found)


def main() -> None:
    """Print the figures."""
    tasks, instances = [int(text) for text in sys.argv[1:]] or (50_000, 200)
    snapshot = scale_out(tasks, instances, instances // 20, 20)
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old.json"), Path(folder, "new.json")
        for path, warmups in ((old, 20), (new, 1000)):
            config = replace(snapshot.config, max_warmup_replicas=warmups)
            path.write_text(plan_json(plan(replace(snapshot, config=config), max_rounds=5)) + "\n", encoding="utf-8")
        reading, _ = cpu_seconds(lambda: (read_plan_file(old), read_plan_file(new)))
        whole, moved = cpu_seconds(lambda: compared(read_pairs(DiffInput(str(old)), DiffInput(str(new)))))
        size = (old.stat().st_size + new.stat().st_size) / 1e6
    print(
        f"{tasks} tasks, {instances} instances, {size:.0f} MB: reading {reading:.2f} s, "
        f"reading, comparing and showing {whole:.2f} s: {whole / reading:.2f} times ({moved} tasks moved)"
    )


if __name__ == "__main__":
    main()
