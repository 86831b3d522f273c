"""``check`` on a large saved plan, beside what it takes only to parse its JSON.

usage: python tests/benchmarks/check_saved_plan.py [--rounds 5000] [--tasks-each 555] [--file plan.json]

90 instances become 100, 555 stateful tasks each at first: 49,950 tasks, two warm-ups at a time. The plan is made first,
which takes a minute or two, and kept in ``--file`` if that is given. CPU time of whole processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases

_POLICY = Path(__file__).parents[2] / "examples/ci/policy.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5_000)
    parser.add_argument("--tasks-each", type=int, default=555)
    parser.add_argument("--file", type=Path, default=Path(tempfile.gettempdir(), "kstream-plan-large.json"))
    options = parser.parse_args()
    if not options.file.exists():
        _save(options.file, options.rounds, options.tasks_each)
    parsed = _cpu_of("-c", "import json, sys; json.loads(open(sys.argv[1], 'rb').read())", str(options.file))
    checked = _cpu_of("-m", "kstream_plan", "check", str(options.file), "--policy", str(_POLICY))
    print(f"json.loads {parsed:.2f} s, check {checked:.2f} s; 2 x json.loads + 2 s = {2 * parsed + 2:.2f} s")


def _cpu_of(*arguments: str) -> float:
    """Return the CPU seconds of a Python process, its start included."""
    before = os.times()
    done = subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 3)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _save(file: Path, rounds: int, tasks_each: int) -> None:
    snapshot = plan_cases.many_instances(old=90, new=10, tasks_each=tasks_each)
    snapshot = replace(snapshot, config=AssignmentConfig(max_warmup_replicas=2))
    file.write_text(plan_json(plan(snapshot, max_rounds=rounds)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
