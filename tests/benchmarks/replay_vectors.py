"""Replays recorded decisions and histories through the functions that the commands use, and says which come out.

usage: python tests/benchmarks/replay_vectors.py FILE...

A file holds JSON Lines, plain or gzip, of any kind of ``tests/vectors``: the classic assignor's, streams groups',
Connect's, learner groups' or those of target files.
One line a file and release, and the first difference; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kstream_plan.assignors import ASSIGNORS
from tests.helpers import kafka_cases, planned_cases, replayed_connect, replayed_learner, replayed_streams

_OLD_JAVA, _NEW_JAVA = 17, 25


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def replays(record: Mapping[str, Any], path: Path) -> Iterator[tuple[str, str, tuple[Any, Any] | None]]:
    """Yield (release, id, first difference) of a record, once for each release that was recorded.

    The assignors ``sticky`` and ``fallback_prior`` of classic groups are not modelled, and passed over.
    """
    named = re.search(r"\d+\.\d+\.\d+", path.name)
    of_file = named and named[0]
    if "mode" in record:
        for release in record["out"]:
            yield release, record["case"]["id"], replayed_streams.difference(record, release)
    elif "in" in record:
        java = _NEW_JAVA if "java25" in path.name else _OLD_JAVA
        yield of_file or f"Java {java}", record["in"]["id"], replayed_connect.difference(record, java, of_file)
    elif "now_ms" in planned_cases.rounds_of(record)[0]:
        yield "target files", record["id"], planned_cases.difference(record)
    elif "kind" in record:
        yield record["kind"], record["id"], replayed_learner.difference(record)
    elif record["case"]["assignor"] == "high_availability":
        difference = _classic(record["case"], record["result"], of_file)
        yield of_file or "high-availability", record["case"]["id"], difference


def _classic(case: Mapping[str, Any], result: Mapping[str, Any], release: str | None) -> tuple[Any, Any] | None:
    assign = ASSIGNORS["high-availability"].of_release(release)
    rounds = kafka_cases.rounds_of(case, result) if "rounds" in result else [(case, result)]
    config, group = kafka_cases.config_of(case), kafka_cases.group_of(case)
    for given, recorded in rounds:
        state = kafka_cases.state_of(given, group)
        traced, split = "movements" in recorded, "threads" in recorded["clients"][0]
        decided = kafka_cases.rendered(group, assign(state, config), traced=traced, split=split)
        expected = kafka_cases.expected(group, recorded, traced=traced, split=split)
        if decided != expected:
            return decided, expected
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    differs = False
    for path in parser.parse_args().files:
        same: dict[str, int] = {}
        number: dict[str, int] = {}
        first: dict[str, str] = {}
        for record in records(path):
            for release, case_id, difference in replays(record, path):
                number[release] = number.get(release, 0) + 1
                same[release] = same.get(release, 0) + (difference is None)
                if difference is not None:
                    first.setdefault(
                        release, f"{case_id}: {difference[0]!r:.2000}\n  recorded: {difference[1]!r:.2000}"
                    )
        for release, item in number.items():
            print(f"{path.name}, {release}: {same[release]} of {item} identical")
            if release in first:
                print(f"  first difference: {first[release]}")
        differs = differs or same != number
    return int(differs)


if __name__ == "__main__":
    raise SystemExit(main())
