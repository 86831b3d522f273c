"""Random histories of random groups, until so many rebalances are simulated: how many of each kind, and what is broken.

usage: python tests/benchmarks/random_histories.py [--rebalances 1000000] [--first 0] [--seconds S]

Members join, leave, stop, return with their disk or without, are bounced and get other numbers of threads, rates and
settings change, with standbys, racks and client tags or without; every design, assignor and protocol has its turn. Of
every plan all invariants are checked. What is broken is printed with its seed, and the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import suppress

from kstream_plan.plans.invariants import broken_invariants
from tests.helpers.random_scenarios import WAYS, play_varied


def _played(seed: int) -> tuple[int, str, list[str]]:
    """Return how many rebalances a history has, how it ends, and what is broken."""
    try:
        result = play_varied(seed)
    except Exception as error:
        return 0, "failed", [f"{type(error).__name__}: {error}"]
    return len(result.rounds), result.verdict.kind, [str(offence) for offence in broken_invariants(result)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rebalances", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    started, done, broken, seed = time.process_time(), 0, 0, options.first
    verdicts: Counter[str] = Counter()
    of_way: Counter[int] = Counter()
    with suppress(KeyboardInterrupt):  # what was played by then is told
        while done < options.rebalances and time.process_time() - started < options.seconds:
            rounds, verdict, offences = _played(seed)
            done += rounds
            of_way[seed % len(WAYS)] += rounds
            verdicts[verdict] += 1
            broken += bool(offences)
            for offence in offences:
                print(f"seed {seed}: {offence}", flush=True)
            seed += 1
    spent = time.process_time() - started
    histories = seed - options.first
    each = f"{spent / done * 1000:.1f} ms each"
    print(f"{done:,} rebalances of {histories:,} histories in {spent:.0f} s, {each}: {broken} broken")
    print(", ".join(f"{kind} {number:,}" for kind, number in sorted(verdicts.items())))
    for place, way in enumerate(WAYS):
        item = f"{way.assignor} {way.protocol}" if way.design is None else way.design
        limit = f" max_learners {way.max_learners}" if way.design == "learner" else ""
        print(f"  {item}{limit}: {of_way[place]:,}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
