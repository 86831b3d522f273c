"""Fleets of random applications of every kind: what is planned for all at once is what is planned for each alone."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kstream_plan.documents.plan.write import plan_json
from kstream_plan.planner.options import PlanOptions
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import connect_rows, streams_rows
from tests.helpers.fleets import fleet

#: Names that sort and are written in their own ways.
_LETTERS = "abzABZ019-._ é漢🙂"


def check_mixed_fleet(folder: Path, applications: int, seed: int, assign: Callable[[Sequence[str]], str]) -> None:
    """Plan a fleet by ``assign``, which is given arguments and returns stdout; its classic groups by learner, too.

    Results as a data set are always made by Spark's executors, however little work it is.
    """
    rows = mixed_fleet(applications, seed)
    classic = [row for row in rows if "group_protocol" not in row]
    assert 0 < len(classic) < len(rows)
    for design, some in ((None, rows), ("learner", classic)):
        file, results = folder / f"{design}.jsonl", folder / f"{design}-results"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in some))
        how = ["--quiet", "--output", "json", "--out", str(results), "--set", "out.format=jsonl"]
        said = assign([str(file), *how, *(() if design is None else ("--design", design))])
        alone = planned_alone(some, PlanOptions(design=design))
        assert said == alone, f"seed {seed}"
        saved = [json.loads(line) for part in results.glob("part-*") for line in part.read_text().splitlines()]
        saved.sort(key=lambda row: str(row["application_id"]))
        assert "".join(f"{row['plan']}\n" for row in saved) == alone, f"seed {seed}"


def mixed_fleet(applications: int, seed: int) -> list[dict[str, Any]]:
    """Make snapshot rows, in no order: about half of them classic."""
    rng = random.Random(f"mixed {seed}")
    rows = []
    for number in range(applications):
        name = f"{''.join(rng.choices(_LETTERS, k=rng.randint(1, 8)))}-{number}"
        rows.append(rng.choice([_classic, _classic, _streams, _connect])(rng, name))
    rng.shuffle(rows)
    return rows


def planned_alone(rows: Sequence[dict[str, Any]], options: PlanOptions) -> str:
    """What is planned for each application by itself, in this process: a line each, by application id."""
    plans = {row["application_id"]: plan_checked(snapshot_from_row(row, "row"), options) for row in rows}
    return "".join(f"{plan_json(plans[name])}\n" for name in sorted(plans))


def _classic(rng: random.Random, name: str) -> dict[str, Any]:
    (row,) = fleet(1, tasks=rng.randint(2, 12), seed=rng.getrandbits(32))
    config = {"num_standby_replicas": rng.randint(0, 2), "max_warmup_replicas": rng.randint(1, 4)}
    config["acceptable_recovery_lag"] = rng.choice([0, 1_000, 10_000])
    if rng.random() < 0.3:
        row["lags"] = []
    return {**row, "application_id": name, "config": config}


def _streams(rng: random.Random, name: str) -> dict[str, Any]:
    here = [f"m{number}" for number in range(rng.randint(1, 5))]
    topology = {str(item): (rng.randint(1, 8), rng.random() < 0.8, 10_000) for item in range(rng.randint(1, 3))}
    tasks = [task["task_id"] for task in streams_rows.tasks(topology)]
    rng.shuffle(tasks)
    holders = here[: rng.randint(1, len(here))]
    seats = {
        process: [
            {
                "consumer_id": f"{process}-1",
                "position": place,
                "active": tasks[place :: len(holders)] if process in holders else [],
            }
        ]
        for place, process in enumerate(here)
    }
    standbys, release = rng.randint(0, 2), rng.choice(["4.2", "4.3", "4.4"])
    return streams_rows.row(release, seats, topology, standbys=standbys, application_id=name)


def _connect(rng: random.Random, name: str) -> dict[str, Any]:
    here = [f"w{number}" for number in range(rng.randint(1, 5))]
    configured = {f"c{number}": rng.randint(0, 8) for number in range(rng.randint(1, 4))}
    held: dict[str, dict[str, list[int]]] = {worker: {} for worker in here}
    for connector, tasks in configured.items():
        for item in range(-1, tasks):
            held[rng.choice(here)].setdefault(connector, []).append(item)
    delay = {"scheduled_rebalance_max_delay_ms": rng.choice([0, 60_000, 300_000])}
    return connect_rows.row(configured, held, config=delay, application_id=name)
