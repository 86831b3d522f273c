"""Plan a scale-out from Python: read, decide once, plan to the end, compare, try other settings, check, save and load.

Run it with ``python examples/api.py``; it brings its own snapshot and needs Java for Spark, as every reading does.
"""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import kstream_plan

ORDERS_0, ORDERS_1 = "1d296588-571c-4eee-96be-fa395e3c536c", "8d296588-571c-4eee-96be-fa395e3c536c"

#: Six tasks with 150,000 records of state each, all on orders-0; orders-1 has just joined and holds nothing.
SNAPSHOT = {
    "application_id": "orders",
    "generation": 7,
    "captured_at": "2026-11-21T12:00:00Z",
    "config": {"probing_rebalance_interval_ms": 60_000},
    "tasks": [
        {
            "task_id": f"0_{partition}",
            "stateful": True,
            "end_offset_sum": 150_000,
            "source_partitions": [{"topic": "orders", "partition": partition}],
        }
        for partition in range(6)
    ],
    "instances": [
        {
            "process_id": ORDERS_0,
            "host": "orders-0",
            "consumers": [{"consumer_id": "orders-0-StreamThread-1", "active": [f"0_{n}" for n in range(6)]}],
        },
        {"process_id": ORDERS_1, "host": "orders-1", "consumers": [{"consumer_id": "orders-1-StreamThread-1"}]},
    ],
}


def main() -> None:
    """Show what the join leads to, and what more warm-ups at once would change."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "before.json")
        path.write_text(json.dumps(SNAPSHOT), encoding="utf-8")
        (snapshot,) = kstream_plan.read([str(path)])

        decision = kstream_plan.assign(snapshot)
        warming_up = sum(len(held.warmup) for held in decision.instances)
        print(f"The first decision warms up {warming_up} copies.\n")

        plan = kstream_plan.plan(snapshot)
        print(kstream_plan.to_table(plan))

        last = len(plan.rounds)
        before, after = kstream_plan.plan_side(plan, 0), kstream_plan.plan_side(plan)
        changes = kstream_plan.diff(before, after, kstream_plan.plan_course(plan, 0, last))
        print(kstream_plan.to_table(changes))

        for replicas in (1, 2, 3):
            config = kstream_plan.with_overrides(snapshot.config, {"max_warmup_replicas": replicas})
            other = kstream_plan.plan(kstream_plan.Snapshot(state=snapshot.state, config=config))
            print(f"max.warmup.replicas={replicas}: {other.summary.probing_rebalances} probes")

        more = kstream_plan.simulate(snapshot, kstream_plan.scale_out(snapshot.state.group, add=1))
        print(f"One more instance: settled after {more.plan.summary.duration_ms / 60_000:.0f} minutes or more.")

        policy = kstream_plan.Policy(defaults={"max_duration": kstream_plan.Limit(100_000)})
        standard = kstream_plan.Standard(policy, datetime(2026, 11, 21, 12, tzinfo=UTC))
        checked = kstream_plan.cures(kstream_plan.check(plan, standard), snapshot, standard)
        print(kstream_plan.to_table(kstream_plan.check_all([checked], standard.now)))

        saved = Path(folder, "plan.json")
        saved.write_text(kstream_plan.to_json(plan) + "\n", encoding="utf-8")
        (loaded,) = kstream_plan.load_plans(saved)
        print(f"Saved and loaded again: {loaded.verdict.kind} after {loaded.summary.rebalances} rebalances.")


if __name__ == "__main__":
    main()
