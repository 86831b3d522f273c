"""Reads recorded decisions of the class that follows a target file into the model and back."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kstream_plan.assignors.planned.decide import Followed, PlannedDecision, decide
from kstream_plan.assignors.planned.members import NO_LAG, Member, MembersAndTasks

VECTORS = Path(__file__).parents[1] / "vectors"


@cache
def recorded(name: str) -> list[dict[str, Any]]:
    """Return the records of one file of vectors."""
    with gzip.open(VECTORS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))


def rounds_of(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a sequence's decisions, or the only one of a record."""
    return record.get("rounds", [record])


def content_of(case: Mapping[str, Any]) -> bytes | None:
    """Return what was in the file."""
    if "file_base64" in case:
        return base64.b64decode(case["file_base64"])
    if case["file"] is None:
        return None
    content: bytes = case["file"].encode()
    return content + b"\n" * (case.get("file_padded", 0) - len(content))


def group_of(case: Mapping[str, Any]) -> MembersAndTasks:
    """Return the group of a case."""
    given = case["group"]
    stateful = set(given["stateful"])
    numbers = sorted(tuple(map(int, name.split("_"))) for name in [*given["stateful"], *given["stateless"]])
    names = [f"{subtopology}_{partition}" for subtopology, partition in numbers]
    index = {name: task for task, name in enumerate(names)}
    lags = np.full((len(names), len(given["members"])), NO_LAG, dtype=np.int64)
    for place, member in enumerate(given["members"]):
        for name, lag in member["lags"].items():
            lags[index[name], place] = lag
    config = given["config"]
    return MembersAndTasks(
        application=given["application"],
        leader=given["leader"],
        task_ids=tuple(names),
        subtopologies=tuple(subtopology for subtopology, _ in numbers),
        stateful=tuple(task for task, name in enumerate(names) if name in stateful),
        members=tuple(
            Member(
                process_id=member["id"],
                threads=member["threads"],
                owned=frozenset(index[name] for name in member["owned"]),
                state=frozenset(index[name] for name in member["state"]),
                tags=member["tags"],
                host=member["host"],
                consumer_ids=tuple(member["consumers"]),
            )
            for member in given["members"]
        ),
        lags=lags,
        acceptable_recovery_lag=config["acceptable_recovery_lag"],
        max_warmup_replicas=config["max_warmup_replicas"],
        num_standby_replicas=config["num_standby_replicas"],
        probing_rebalance_interval_ms=config["probing_rebalance_interval_ms"],
        rack_aware_assignment_tags=tuple(config["tags"]),
    )


def decided(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decision of a case in the form of the record."""
    group = group_of(case)
    return rendered(group, *decide(group, content_of(case), case["now_ms"]))


def rendered(group: MembersAndTasks, followed: Followed, decision: PlannedDecision) -> dict[str, Any]:
    """Return a decision in the form of a record."""
    ids = [member.process_id for member in group.members]
    names = group.task_ids
    copies = [(task, place) for task, places in enumerate(decision.standby) for place in places]
    on = decision.follow_up_on
    return {
        "mode": "balanced" if followed.plan is None else "plan",
        "why": followed.refusal or followed.plan,
        "slots": {name: ids[place] for name, place in followed.target.slots},
        "active": _by_process(group, enumerate(decision.running)),
        "standby": _by_process(group, sorted([*copies, *decision.warmups])),
        "warm": [[names[task], ids[place]] for task, place in decision.warmups],
        "waiting": [names[task] for task in decision.tasks_waiting],
        "standbys_waiting": [[names[task], ids[place]] for task, place in decision.standbys_waiting],
        "followup_ms": decision.follow_up_ms,
        "followup_on": None if on is None else ids[on],
    }


def difference(record: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return the first decision that differs from what was recorded, and the record."""
    for case in rounds_of(record):
        if (made := decided(case)) != case["decision"]:
            return made, case["decision"]
    return None


def _by_process(group: MembersAndTasks, places: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> dict[str, Any]:
    held: dict[str, list[str]] = {member.process_id: [] for member in group.members}
    for task, place in places:
        held[group.members[place].process_id].append(group.task_ids[task])
    return held
