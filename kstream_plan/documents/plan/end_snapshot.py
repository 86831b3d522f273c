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
from kstream_plan.snapshots.rows.fields import parse_time


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
    clock = _PlanClock(end)
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
        "instances": [_instance(plan, instance, clock) for instance in end.instances],
        "lags": [_lag(copy, clock, end.at_ms) for copy in end.copies if copy.lag is not None],
        "copies_since": [age for copy in _copies_in_full(plan, end) if len(age := _age(copy, clock)) > 2],
        "rates": {
            "restore": [_rate(rate, "process_id") for rate in end.restore],
            "produce": [_rate(rate, "task_id") for rate in end.produce],
        },
    }
    if clock.is_known:
        row["captured_at"] = clock.time(end.at_ms)
    if end.stores is not None:
        row["stores"] = end.stores
    if end.streams_version is not None:
        row["streams_version"] = end.streams_version
    if end.goes_on:
        row["decision"] = _decision(plan, end, clock)
    return row


class _PlanClock:
    """Converts times of the plan's clock to those of snapshots, as far as they are known."""

    def __init__(self, end: PlanEnd) -> None:
        self._zero_ms = None if end.begins_at is None else parse_time(end.begins_at)
        self.is_known = self._zero_ms is not None

    def time(self, at_ms: int) -> str:
        assert self._zero_ms is not None
        return format_time(self._zero_ms + at_ms)

    def field(self, name: str, at_ms: int | None) -> dict[str, str]:
        return {} if at_ms is None or not self.is_known else {name: self.time(at_ms)}


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
        {"topic": partition.topic, "partition": partition.partition}
        | ({} if partition.racks is None else {"racks": list(partition.racks)})
        for partition in partitions
    ]


def _instance(plan: Plan, end: EndInstance, clock: _PlanClock) -> dict[str, Any]:
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
                "consumer_id": consumer.consumer_id,
                "group_instance_id": consumers[consumer.consumer_id].group_instance_id,
                "protocols": list(consumers[consumer.consumer_id].protocols),
                "active": list(consumer.active),
                "standby": list(consumer.standby),
                "warmup": list(consumer.warmup),
            }
            for consumer in end.consumers
        ],
        **clock.field("started_at", end.started_ms),
    }


def _lag(copy: EndCopy, clock: _PlanClock, end_ms: int) -> dict[str, Any]:
    return {
        "process_id": copy.process_id,
        "task_id": copy.task_id,
        "lag": copy.lag,
        "consumer_ids": list(copy.consumer_ids),
        **clock.field("reported_at", end_ms),
    }


def _copies_in_full(plan: Plan, end: PlanEnd) -> Iterator[EndCopy]:
    """Yield the copies; a running one that was never reported has what it restores, even if that is everything."""
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


def _age(copy: EndCopy, clock: _PlanClock) -> dict[str, Any]:
    age: dict[str, Any] = {"process_id": copy.process_id, "task_id": copy.task_id}
    age |= clock.field("since", copy.since_ms) | clock.field("made_at", copy.made_ms)
    return age if copy.to_restore is None else age | {"to_restore": copy.to_restore}


def _rate(rate: EndRate, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {name: rate.of, "records_per_second": rate.per_second}
    row |= {"intervals": rate.intervals} if rate.intervals else {}
    row |= {"source": rate.source} if rate.source else {}
    return row | ({"at_least": True} if rate.at_least else {})


def _decision(plan: Plan, end: PlanEnd, clock: _PlanClock) -> dict[str, Any]:
    last, group = plan.rounds[-1], plan.group
    decided_holdings, assigned_holdings = tuple(last.decided), tuple(last.assigned)
    leader = next((instance.process_id for instance in end.instances if instance.leader), None)
    instances: dict[str, Any] = {}
    for instance in end.instances:
        index = group.instance_index[instance.process_id]
        seats = [group.consumer_index[instance.process_id, consumer.consumer_id] for consumer in instance.consumers]
        instance_holdings = [decided_holdings[seat] for seat in seats]
        instances[instance.process_id] = {
            "instance": group.instances[index].host,
            "active": _names(plan, [task for holding in instance_holdings for task in holding.active]),
            "standby": _names(
                plan, [task for holding in instance_holdings for task in (*holding.standby, *holding.warmup)]
            ),
            "consumers": {
                group.consumer_ids[seat]: _seat(plan, decided_holdings[seat], assigned_holdings[seat]) for seat in seats
            },
        }
    return {
        "generation": last.generation,
        "trigger": str(last.trigger),
        "leader": leader,
        "probing_rebalance": last.probing_rebalance,
        "decided": instances,
        **clock.field("at", end.at_ms),
    }


def _seat(plan: Plan, decided_holding: Holding, assigned_holding: Holding) -> dict[str, list[str]]:
    return {
        "active": _names(plan, decided_holding.active),
        "withheld": _names(plan, sorted(set(decided_holding.active) - set(assigned_holding.active))),
        "standby": _names(plan, decided_holding.standby),
        "warmup": _names(plan, decided_holding.warmup),
        "temporary": _names(plan, assigned_holding.temporary),
    }


def _names(plan: Plan, tasks: Sequence[int]) -> list[str]:
    return [str(plan.group.tasks[task].task_id) for task in sorted(tasks)]
