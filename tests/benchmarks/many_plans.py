"""Reading 1,000 saved plans from one file, beside reading one of them a thousand times: CPU time and ratio.

usage: python tests/benchmarks/many_plans.py [--plans 1000]
"""

from __future__ import annotations

import argparse
import time

from kstream_plan.documents.plan.read import each_saved
from kstream_plan.documents.plan.write import plan_json
from tests.helpers import plan_cases

_TIMES = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=1_000)
    number = parser.parse_args().plans
    line = f"{plan_json(plan_cases.case('crash'))}\n".encode()
    one = sum(_cpu_of(line, 1) for _ in range(_TIMES)) / _TIMES
    together = _cpu_of(line * number, number)
    size = len(line) * number / 1e6
    print(f"{number:,} plans, {size:.0f} MB: {together:.2f} s, {together / number / one:.2f} x as long as one by one")


def _cpu_of(data: bytes, number: int) -> float:
    """Return the CPU seconds of reading so many plans, none of them kept."""
    before = time.process_time()
    assert sum(1 for _ in each_saved(data, "plans")) == number
    return time.process_time() - before


if __name__ == "__main__":
    main()
