"""Reads recorded cases (what Kafka's own assignor was given and what it decided) into the model and back.

The case and result format is described in ``vectors/README.md``.
"""

import gzip
import json
from pathlib import Path

from kstream_plan.model import (
    LATEST,
    UNKNOWN,
    Consumer,
    Copy,
    Group,
    GroupState,
    Holding,
    Instance,
    Partition,
    Task,
    TaskId,
)
from kstream_plan.model.settings import CONFIG_NAMES, AssignmentConfig

VECTORS = Path(__file__).parents[1] / "vectors"


def recorded(name):
    """Yield (case, result) of one file of vectors."""
    with gzip.open(VECTORS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["case"], record["result"]


def config_of(case):
    known = {k: v for k, v in case["config"].items() if k in CONFIG_NAMES and v is not None}
    if "rack_aware_assignment_tags" in known:
        known["rack_aware_assignment_tags"] = tuple(known["rack_aware_assignment_tags"])
    return AssignmentConfig(**known)


def _partitions(rows, subtopology, partition, kind):
    if not rows:
        return (Partition(f"{kind}-{subtopology}", partition),)
    return tuple(
        Partition(r["topic"], r["partition"], None if r.get("racks") is None else tuple(r["racks"])) for r in rows
    )


def group_of(case):
    tasks = []
    for row in case["tasks"]:
        task_id = TaskId.parse(row["id"])
        stateful = bool(row.get("stateful"))
        tasks.append(
            Task(
                task_id=task_id,
                stateful=stateful,
                end_offset_sum=row.get("end_offset_sum", 0) if stateful else 0,
                source_partitions=_partitions(
                    row.get("source_partitions"), task_id.subtopology, task_id.partition, "source"
                ),
                changelog_partitions=_partitions(
                    row.get("changelog_partitions"), task_id.subtopology, task_id.partition, "changelog"
                )
                if stateful
                else (),
            )
        )
    instances = [
        Instance(
            process_id=row["process_id"],
            consumers=tuple(Consumer(consumer_id=c) for c in row["consumers"]),
            rack=row.get("rack_id"),
            client_tags=tuple((row.get("client_tags") or {}).items()),
        )
        for row in case["clients"]
    ]
    return Group.of(case.get("id", "case"), tasks, instances)


def reported_by_consumer(row):
    """Consumer id → the tasks it reported a lag of, as the recording program dealt them."""
    lags = row.get("task_lags") or {}
    consumers = sorted(row["consumers"])
    order = lambda ids: sorted(ids, key=lambda text: TaskId.parse(text).sort_key)  # noqa: E731
    everything = set(lags) | set(row.get("prev_active") or ()) | set(row.get("prev_standby") or ())
    if row.get("prev_tasks_by_consumer") is not None:
        by = {c: set(row["prev_tasks_by_consumer"].get(c, ())) for c in consumers}
        by[consumers[0]] |= everything - set().union(*by.values())
    else:
        by = {c: set() for c in consumers}
        for n, task in enumerate(order(everything)):
            by[consumers[n % len(consumers)]].add(task)
    return {c: {t for t in tasks if t in lags} for c, tasks in by.items()}


def state_of(case, group=None):
    group = group or group_of(case)
    consumer_index = [{group.consumer_ids[k]: k for k in block} for block in group.consumers_of]
    copies = [[] for _ in group.tasks]
    for row in case["clients"]:
        instance = group.instance_index[row["process_id"]]
        reporters = {}
        for consumer, tasks in reported_by_consumer(row).items():
            for task in tasks:
                reporters.setdefault(task, []).append(consumer_index[instance][consumer])
        for text, lag in (row.get("task_lags") or {}).items():
            task = group.task_index.get(TaskId.parse(text))
            if task is not None and group.tasks[task].stateful:
                copies[task].append(Copy(instance, lag, tuple(sorted(reporters.get(text, ())))))
    return GroupState(
        group=group,
        generation=1,
        at_ms=0,
        holdings=tuple(Holding() for _ in group.consumer_ids),
        copies=tuple(tuple(sorted(rows)) for rows in copies),
    )


def next_case(case, round_result):
    """The input of the round after ``round_result``: the rule of the recording harness (vectors/README.md)."""
    end = {t["id"]: t.get("end_offset_sum", 0) for t in case["tasks"] if t.get("stateful")}
    rate = case.get("restore_rate_per_round", -1)
    rate = -1 if rate is None else rate
    decided = {row["process_id"]: row for row in round_result["clients"]}
    clients = []
    for row in case["clients"]:
        after, before = decided[row["process_id"]], row.get("task_lags") or {}
        lags = {
            t: LATEST if case.get("active_offset", "latest") == "latest" else 0 for t in after["active"] if t in end
        }
        for t in after["standby"]:
            lag = before.get(t, end[t])
            lag = end[t] if lag == UNKNOWN else max(lag, 0)
            lags[t] = 0 if rate < 0 else max(0, lag - rate)
        by = {c: list(x["active"]) + list(x["standby"]) for c, x in after["threads"].items()}
        clients.append(
            row
            | {"task_lags": lags, "prev_active": after["active"], "prev_standby": after["standby"]}
            | {"prev_tasks_by_consumer": by}
        )
    return case | {"clients": clients}


def rounds_of(case, result):
    """Yield (input, recorded result) of every round of a recorded convergence."""
    for round_result in result["history"]:
        yield case, round_result
        case = next_case(case, round_result)


def rendered(group, assignment, *, traced=True, split=True):
    """An assignment in the recorded result's form (what was not recorded is left out), clients in Kafka's order."""

    def ids(tasks):
        return [str(group.tasks[t].task_id) for t in sorted(tasks)]

    rows = []
    for i, held in enumerate(assignment.instances):
        row = {"process_id": group.instances[i].process_id, "active": ids(held.active)}
        row["standby"] = ids(held.standby + held.warmup)
        if traced:
            row["warmup"] = ids(held.warmup)
            row["target_active"] = ids(assignment.target.active[i])
            row["target_standby"] = ids(assignment.target.standby[i])
        if split:
            row["threads"] = {
                group.consumer_ids[k]: {
                    "active": ids(assignment.consumers[k].active),
                    "standby": ids(assignment.consumers[k].standby + assignment.consumers[k].warmup),
                }
                for k in group.consumers_of[i]
            }
        rows.append(row)
    out = {"followup_probing_rebalance": assignment.probing_rebalance, "clients": rows}
    if traced:
        out["movements"] = [
            {
                "task": str(group.tasks[m.task].task_id),
                "kind": m.kind,
                "how": m.how,
                "source": group.instances[m.source].process_id,
                "destination": group.instances[m.destination].process_id,
                "warmup": m.warmup,
            }
            for m in assignment.movements
        ]
    return out


def expected(group, result, *, traced=True, split=True):
    """The recorded result in the same form, task lists sorted (the order inside a thread is not modelled)."""

    def ids(tasks):
        return sorted(tasks, key=lambda text: TaskId.parse(text).sort_key)

    keys = ["active", "standby"] + (["warmup", "target_active", "target_standby"] if traced else [])
    rows = []
    for row in sorted(result["clients"], key=lambda r: group.instance_index[r["process_id"]]):
        out = {"process_id": row["process_id"]} | {key: ids(row[key]) for key in keys}
        if split:
            out["threads"] = {c: {k: ids(x[k]) for k in ("active", "standby")} for c, x in row["threads"].items()}
        rows.append(out)
    out = {"followup_probing_rebalance": result["followup_probing_rebalance"], "clients": rows}
    if traced:
        out["movements"] = result["movements"]
    return out
