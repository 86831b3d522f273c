"""A plan's end as a snapshot row, to plan on from there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kstream_plan.errors import PlanFileError
from kstream_plan.model import Holding, Instance, Partition
from kstream_plan.model.settings import RELEASE
from kstream_plan.model.times import format_time
from kstream_plan.plans import Plan
from kstream_plan.plans.end import EndCopy, EndInstance, EndRate, PlanEnd
from kstream_plan.snapshots.rows.times import parse_time


def end_snapshot(plan: Plan) -> dict[str, Any]:
    """Return the row of a snapshot of a plan's end: the group as its last decision found it, and that decision.

    Raises:
        PlanFileError: the plan does not tell, for an earlier version saved it, or its design goes on in a way of its
            own.
    """
    end, group = plan.end, plan.group
    if end is None:
        raise PlanFileError(
            "this plan does not contain its end",
            where=f"application {group.application_id!r}",
            fix="save it again with this version; only plans of the classic protocol can be planned on",
            application_id=group.application_id,
        )
    at = _At(end)
    row: dict[str, Any] = {
        "format_version": "1.0",
        "application_id": group.application_id,
        "group_protocol": "classic",
        "generation": plan.rounds[-1].generation - 1 if plan.rounds else plan.generation,
        "config": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(plan.config_of(len(plan.rounds))).items()
            if value is not None and name != RELEASE  # groups of another kind have what is None
        },
        "tasks": _tasks(plan, end),
        "instances": [_instance(plan, of, at) for of in end.instances],
        "lags": [_lag(copy, at, end.at_ms) for copy in end.copies if copy.lag is not None],
        "copies_since": [age for copy in _said_in_full(plan, end) if len(age := _age(copy, at)) > 2],
        "rates": {
            "restore": [_rate(rate, "process_id") for rate in end.restore],
            "produce": [_rate(rate, "task_id") for rate in end.produce],
        },
    }
    if at.known:
        row["captured_at"] = at.time(end.at_ms)
    if end.stores is not None:
        row["stores"] = end.stores
    if end.streams_version is not None:
        row["streams_version"] = end.streams_version
    if end.goes_on:
        row["decision"] = _decision(plan, end, at)
    return row


class _At:
    """Says times of the plan's clock as snapshots do, as far as that is known."""

    def __init__(self, end: PlanEnd) -> None:
        self._zero_ms = None if end.begins_at is None else parse_time(end.begins_at)
        self.known = self._zero_ms is not None

    def time(self, at_ms: int) -> str:
        assert self._zero_ms is not None
        return format_time(self._zero_ms + at_ms)

    def field(self, name: str, at_ms: int | None) -> dict[str, str]:
        return {} if at_ms is None or not self.known else {name: self.time(at_ms)}


def _tasks(plan: Plan, end: PlanEnd) -> list[dict[str, Any]]:
    partitions = {task.task_id: (task.source_partitions, task.changelog_partitions) for task in end.tasks}
    unprocessed, rows = dict(end.unprocessed), []
    for task in plan.group.tasks:
        task_id = str(task.task_id)
        sources, changelogs = partitions.get(task_id, (task.source_partitions, ()))
        row: dict[str, Any] = {"task_id": task_id, "stateful": task.stateful}
        if task.stateful and task.end_offset_known:
            row["end_offset_sum"] = task.end_offset_sum
        row["source_partitions"] = _partitions(sources)
        if changelogs:
            row["changelog_partitions"] = _partitions(changelogs)
        if task_id in unprocessed:  # a record of input is taken to write one to each changelog
            row["input_lag"] = -(-unprocessed[task_id] // max(1, len(changelogs)))
        rows.append(row)
    return rows


def _partitions(partitions: Sequence[Partition]) -> list[dict[str, Any]]:
    return [
        {"topic": of.topic, "partition": of.partition} | ({} if of.racks is None else {"racks": list(of.racks)})
        for of in partitions
    ]


def _instance(plan: Plan, end: EndInstance, at: _At) -> dict[str, Any]:
    instance: Instance = plan.group.instances[plan.group.instance_index[end.process_id]]
    consumers = {consumer.consumer_id: consumer for consumer in instance.consumers}
    return {
        "process_id": end.process_id,
        "host": instance.host,
        "rack": instance.rack,
        "client_tags": dict(instance.client_tags),
        "leader": end.leader,
        "consumers": [
            {
                "consumer_id": of.consumer_id,
                "group_instance_id": consumers[of.consumer_id].group_instance_id,
                "protocols": list(consumers[of.consumer_id].protocols),
                "active": list(of.active),
                "standby": list(of.standby),
                "warmup": list(of.warmup),
            }
            for of in end.consumers
        ],
        **at.field("started_at", end.started_ms),
    }


def _lag(copy: EndCopy, at: _At, end_ms: int) -> dict[str, Any]:
    return {
        "process_id": copy.process_id,
        "task_id": copy.task_id,
        "lag": copy.lag,
        "consumer_ids": list(copy.consumer_ids),
        **at.field("reported_at", end_ms),
    }


def _said_in_full(plan: Plan, end: PlanEnd) -> Iterator[EndCopy]:
    """Yield the copies; of one that runs and was never reported what it has to restore is said even if that is all."""
    runs = {
        (instance.process_id, task_id)
        for instance in end.instances
        for consumer in instance.consumers
        for task_id in consumer.active
    }
    whole = {str(task.task_id): task.end_offset_sum for task in plan.group.tasks}
    for copy in end.copies:
        is_silent = copy.lag is None and copy.to_restore is None and (copy.process_id, copy.task_id) in runs
        yield copy._replace(to_restore=whole[copy.task_id]) if is_silent else copy


def _age(copy: EndCopy, at: _At) -> dict[str, Any]:
    age: dict[str, Any] = {"process_id": copy.process_id, "task_id": copy.task_id}
    age |= at.field("since", copy.since_ms) | at.field("made_at", copy.made_ms)
    return age if copy.to_restore is None else age | {"to_restore": copy.to_restore}


def _rate(rate: EndRate, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: rate.of, "records_per_second": rate.per_second}
    found |= {"intervals": rate.intervals} if rate.intervals else {}
    found |= {"source": rate.source} if rate.source else {}
    return found | ({"at_least": True} if rate.at_least else {})


def _decision(plan: Plan, end: PlanEnd, at: _At) -> dict[str, Any]:
    last, group = plan.rounds[-1], plan.group
    decided, assigned = tuple(last.decided), tuple(last.assigned)
    leader = next((of.process_id for of in end.instances if of.leader), None)
    instances: dict[str, Any] = {}
    for instance in end.instances:
        index = group.instance_index[instance.process_id]
        seats = [group.consumer_index[instance.process_id, of.consumer_id] for of in instance.consumers]
        together = [decided[seat] for seat in seats]
        instances[instance.process_id] = {
            "instance": group.instances[index].host,
            "active": _names(plan, [task for held in together for task in held.active]),
            "standby": _names(plan, [task for held in together for task in (*held.standby, *held.warmup)]),
            "consumers": {group.consumer_ids[seat]: _seat(plan, decided[seat], assigned[seat]) for seat in seats},
        }
    return {
        "generation": last.generation,
        "trigger": str(last.trigger),
        "leader": leader,
        "probing_rebalance": last.probing_rebalance,
        "decided": instances,
        **at.field("at", end.at_ms),
    }


def _seat(plan: Plan, decided: Holding, assigned: Holding) -> dict[str, list[str]]:
    return {
        "active": _names(plan, decided.active),
        "withheld": _names(plan, sorted(set(decided.active) - set(assigned.active))),
        "standby": _names(plan, decided.standby),
        "warmup": _names(plan, decided.warmup),
        "temporary": _names(plan, assigned.temporary),
    }


def _names(plan: Plan, tasks: Sequence[int]) -> list[str]:
    return [str(plan.group.tasks[task].task_id) for task in sorted(tasks)]
