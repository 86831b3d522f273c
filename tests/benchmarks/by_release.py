"""What differs between releases of Kafka: the same random cases, decided by the classes of each and by us.

usage: python tests/benchmarks/by_release.py [--kind streams|connect|groups] [--cases 2000] [--releases 3.1.2 3.2.3 …]

One line a release: how many cases we decide as it does, and how many it decides otherwise than the release before, of
those that both run. Settings that a release refuses count for none. Connect: decisions and, a tenth as many, histories.
Groups: targets of streams groups, which their broker decides.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.designs.streams.sticky import assign
from kstream_plan.model.releases import numbers_of
from tests.benchmarks.connect_cases import random_decision, random_sequence
from tests.benchmarks.connect_vs_kafka import oracle
from tests.benchmarks.differential import is_for
from tests.benchmarks.oracle_process import ask
from tests.benchmarks.random_cases import random_case
from tests.benchmarks.streams_cases import random_streams_case
from tests.benchmarks.streams_vs_broker import asked
from tests.helpers import kafka_cases, replayed_connect, replayed_streams

#: The last patch of every minor release, and 2.5.0 before it.
STREAMS = (
    *("2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1"),
    *("3.9.2", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
)
CONNECT = ("2.3.1", "2.4.1", "2.5.0", "2.5.1", *STREAMS)
GROUPS = ("4.2.1", "4.2.2", "4.3.1", "4.4.0")
_BATCH = 500

#: By case: what a release decides, and whether we do as well.
Decisions: TypeAlias = Mapping[str, tuple[str, bool]]


def of_streams(release: str, number: int) -> Decisions:
    """Return what the assignor of a release of Kafka Streams decides."""
    decide, decisions = ASSIGNORS["high-availability"].of_release(release), {}
    for first in range(0, number, _BATCH):
        cases = [
            case
            for case in map(random_case, range(first, min(first + _BATCH, number)))
            if is_for(release, case["config"])
        ]
        for case, answer in zip(cases, ask("assign", cases, "--no-timing", kafka_version=release), strict=True):
            state = kafka_cases.state_of(case)
            theirs = kafka_cases.expected(state.group, answer, traced=False)
            ours = kafka_cases.rendered(state.group, decide(state, kafka_cases.config_of(case)), traced=False)
            decisions[case["id"]] = json.dumps(theirs), ours == theirs
    return decisions


def of_connect(release: str, number: int) -> Decisions:
    """Return what the assignor of a release of Connect decides, and what histories come to."""
    return dict(_of_connect(release, number))


def _of_connect(release: str, number: int) -> Iterator[tuple[str, tuple[str, bool]]]:
    made: tuple[tuple[str, Callable[[int], dict[str, Any]], int], ...] = (
        ("assign", random_decision, number),
        ("sequence", random_sequence, number // 10),
    )
    for mode, make, seeds in made:
        for first in range(0, seeds, _BATCH):
            cases = [make(seed) for seed in range(first, min(first + _BATCH, seeds))]
            lines = "".join(json.dumps(case) + "\n" for case in cases)
            for case, answer in zip(cases, oracle([mode], lines, release), strict=True):
                same = replayed_connect.difference({"in": case, "out": dict(answer)}, 17, release) is None
                told = {name: answer.get(name) for name in ("members", "delay", "error", "final", "rounds")}
                for item in told["rounds"] or ():
                    for name in ("memory", "sha"):
                        item.pop(name, None)
                yield case["id"], (json.dumps(told), same)


def of_groups(release: str, number: int) -> Decisions:
    """Return the targets that a broker of a release comes to."""
    cases, by_current = [random_streams_case(seed) for seed in range(number)], numbers_of(release) >= (4, 4, 0)
    decisions = {}
    for case, answer in zip(cases, asked(cases, release, 1), strict=True):
        tasks, theirs = replayed_streams.tasks_of(case["topology"]), replayed_streams.sorted_targets(answer["members"])
        members = replayed_streams.assigned_members(case, tasks)
        target = assign(tasks, members, case["config"]["num_standby"], by_current=by_current)
        decisions[case["id"]] = json.dumps(theirs), replayed_streams.shown_targets(tasks, target) == theirs
    return decisions


#: By kind: what decides, and the releases that are asked.
KINDS: Mapping[str, tuple[Callable[[str, int], Decisions], tuple[str, ...]]] = {
    "streams": (of_streams, STREAMS),
    "connect": (of_connect, CONNECT),
    "groups": (of_groups, GROUPS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, default="streams")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--releases", nargs="+")
    options = parser.parse_args()
    decided, releases = KINDS[options.kind]
    releases = options.releases or releases
    print(f"{'release':8} {'cases':>6} {'as ours':>8} {'unlike the release before':>26}", flush=True)
    before: Decisions = {}
    differs = False
    for release in releases:
        now = decided(release, options.cases)
        ours = sum(same for _, same in now.values())
        both = now.keys() & before.keys()
        unlike = sum(now[case][0] != before[case][0] for case in both)
        share = f"{unlike} of {len(both)}" if both else "–"
        print(f"{release:8} {len(now):6} {ours:8} {share:>26}", flush=True)
        before, differs = now, differs or ours < len(now)
    if differs:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
