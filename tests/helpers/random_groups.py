"""Random groups as rows, with what is asked of them: every kind of fact that decides whether a start is warm."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from kstream_plan.model import UNKNOWN, Rates, Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: When snapshots are taken.
TAKEN = datetime(2026, 11, 22, 12, tzinfo=UTC)
TAKEN_MS = round(TAKEN.timestamp() * 1000)
_IDS = tuple(f"{number}0000000-0000-4000-8000-00000000000{number}" for number in range(1, 6))
_MINUTE = 60_000


@dataclass(frozen=True, kw_only=True)
class Given:
    """A group and what is given beside it.

    Attributes:
        row: the snapshot.
        restore: ``--restore-rate``; ``None``: not given.
        produce: ``--set produce.rate``, likewise.
        later_ms: ``--set now``, counted from when the snapshot was taken; ``None``: not given.
        trust_ms: ``--set trust.reports.of``.
    """

    row: dict[str, Any]
    restore: float | None = None
    produce: float | None = None
    later_ms: int | None = 0
    trust_ms: int = _MINUTE

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot, with the rates that are given."""
        rates = Rates(restore_per_instance=self.restore, produce_per_task=self.produce)
        return replace(snapshot_from_row(self.row, "random"), rates=rates)

    @property
    def busiest(self) -> str:
        """The host that runs the most stateful tasks: the one to be stopped."""

        def stateful(instance: dict[str, Any]) -> int:
            return sum(task[0] == "0" for consumer in instance["consumers"] for task in consumer["active"])

        host: str = max(self.row["instances"], key=stateful)["host"]
        return host

    @property
    def options(self) -> PlanOptions:
        """When it is asked, and what counts as true then."""
        now_ms = None if self.later_ms is None else TAKEN_MS + self.later_ms
        return PlanOptions(now_ms=now_ms, trust_ms=self.trust_ms)

    def with_row(self, **changes: Any) -> Given:
        """Return the same with other fields of the row; ``None`` leaves a field out."""
        row = {name: value for name, value in {**self.row, **changes}.items() if value is not None}
        return replace(self, row=row)


def at(ms: int) -> str:
    """Return a time, counted from when snapshots are taken, as rows have it."""
    return (TAKEN + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ms_of(time: str) -> int:
    """Return a time of a row in milliseconds since 1970."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)


def randoms() -> st.SearchStrategy[random.Random]:
    """Sources of chance; much faster than Hypothesis's own, which it can shrink."""
    return st.integers(0, 2**32 - 1).map(random.Random)


def groups() -> st.SearchStrategy[Given]:
    """Two to four instances, up to two standbys, up to four stateful tasks; everything else may be or not."""
    return randoms().map(random_group)


def random_group(rng: random.Random) -> Given:
    """Return the group that a source of chance makes."""
    limit = rng.choice([10_000, 100, 0])
    standbys = rng.choice([1, 0, 2])
    instances = _instances(rng)
    tasks = [
        {"task_id": f"0_{number}", "stateful": True, "end_offset_sum": rng.choice([1_000_000, 20_000, 5_000, 0])}
        for number in range(rng.randint(1, 4))
    ]
    lags, ages = _placed(rng, tasks, instances, standbys, limit)
    stateless = [{"task_id": f"1_{number}", "stateful": False} for number in range(rng.choice([0, 0, 2]))]
    for task in stateless:
        rng.choice(_consumers(instances))["active"].append(task["task_id"])
    row: dict[str, Any] = {
        "format_version": "1.0",
        "application_id": "random",
        "generation": 5,
        "captured_at": at(0),
        "config": {"acceptable_recovery_lag": limit, "num_standby_replicas": standbys, "max_warmup_replicas": 2},
        "tasks": tasks + stateless,
        "instances": instances,
        "lags": lags,
    }
    row |= {"copies_since": ages} if ages else {}
    row |= _beside(rng)
    if row.get("stores") == "in-memory":  # nothing is left over of these
        row["lags"] = [report for report in lags if _is_standby(instances, report)]
        row.pop("copies_since", None)
    return Given(
        row=row,
        restore=rng.choice([None, None, 50.0, 5_000.0]),
        produce=rng.choice([None, None, 0.0, 20.0, 1_000.0]),
        later_ms=rng.choice([0, None, 1_000, 30_000, 61_000, 5 * _MINUTE, 60 * _MINUTE]),
        trust_ms=rng.choice([_MINUTE, _MINUTE, 0, 1_440 * _MINUTE]),
    )


def _instances(rng: random.Random) -> list[dict[str, Any]]:
    ids = rng.sample(_IDS, rng.randint(2, 4))
    found = []
    for number, process_id in enumerate(ids):
        static = rng.random() < 0.2
        consumers = [
            {
                "consumer_id": f"i{number}-StreamThread-{thread}",
                "active": [],
                "standby": [],
                **({"group_instance_id": f"i{number}-{thread}"} if static else {}),
            }
            for thread in range(1, 1 + rng.choice([1, 2, 3]))
        ]
        instance: dict[str, Any] = {"process_id": process_id, "host": f"i{number}", "consumers": consumers}
        if rng.random() < 0.1:
            instance["started_at"] = at(-rng.choice([30_000, 10 * _MINUTE]))
        found.append(instance)
    return found


def _is_standby(instances: Sequence[dict[str, Any]], report: dict[str, Any]) -> bool:
    """Tell whether a report is of a copy that an instance is assigned."""
    return any(
        report["task_id"] in consumer["standby"]
        for instance in instances
        for consumer in instance["consumers"]
        if instance["process_id"] == report["process_id"]
    )


def _consumers(instances: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [consumer for instance in instances for consumer in instance["consumers"]]


def _placed(
    rng: random.Random, tasks: Sequence[dict[str, Any]], instances: list[dict[str, Any]], standbys: int, limit: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Place the stateful tasks; return what is reported of copies, and how old left-over ones are."""
    lags, ages, dated = list[dict[str, Any]](), list[dict[str, Any]](), rng.random() < 0.85
    for task in tasks:
        owner, *others = rng.sample(instances, len(instances))
        rng.choice(owner["consumers"])["active"].append(task["task_id"])
        for place, instance in enumerate(others):
            is_standby = place < standbys and rng.random() < 0.9
            if is_standby:
                rng.choice(instance["consumers"])["standby"].append(task["task_id"])
            if rng.random() < (0.85 if is_standby else 0.2):
                lags.append(_report(rng, task, instance["process_id"], limit, dated=dated))
                if not is_standby and rng.random() < 0.5:
                    since_ms = rng.choice([30_000, 5 * _MINUTE])
                    age = {"process_id": instance["process_id"], "task_id": task["task_id"], "since": at(-since_ms)}
                    age |= {"made_at": at(-since_ms - _MINUTE)} if rng.random() < 0.5 else {}
                    ages.append(age)
    return lags, ages


def _report(rng: random.Random, task: dict[str, Any], process_id: str, limit: int, *, dated: bool) -> dict[str, Any]:
    """Return what is reported of a copy; all reports of a group are ``dated``, or none is."""
    whole = task["end_offset_sum"]
    lag = min(rng.choice([0, 0, limit // 2, limit, limit + 1, whole // 2, whole]), whole)
    report: dict[str, Any] = {"process_id": process_id, "task_id": task["task_id"]}
    kind = rng.choice(["lag", "lag", "lag", "offset", "unknown", "metrics", "at-least"])
    if kind == "unknown":
        report["lag"] = UNKNOWN
    elif kind == "offset":  # that far behind when it was reported, and the changelog has grown since
        grown = min(rng.choice([0, 500, 20_000]), whole - lag)
        report |= {"offset": whole - grown - lag, "end_offset": whole - grown}
    else:
        report["lag"] = lag
    if kind in ("metrics", "at-least"):
        report["source"] = "metrics" if kind == "metrics" else "metrics, at least"
    if dated:
        report["reported_at"] = at(-rng.choice([0, 0, 0, 20_000, 5 * _MINUTE, 1_440 * _MINUTE]))
    return report


def _beside(rng: random.Random) -> dict[str, Any]:
    """Return what may be known of the group beside who has what."""
    found: dict[str, Any] = {}
    stores = rng.choice([None, "persistent", "persistent", "in-memory"])
    version = rng.choice([None, "4.3.1", "4.0.0"])
    if stores is not None:
        found["stores"] = stores
    if version is not None:
        found["streams_version"] = version
    if rng.random() < 0.25:
        decided_ms = rng.choice([0, 5_000, 20 * _MINUTE])
        found["decision"] = {"at": at(-decided_ms)}
    if rng.random() < 0.1:
        found["measuring_failed"] = True
    return found


def copied(given: Given) -> Given:
    """Return the same with a row of its own, to be changed."""
    return replace(given, row=copy.deepcopy(given.row))
