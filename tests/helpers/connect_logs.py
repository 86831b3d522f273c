"""Logs as Connect's workers write them, of rounds that were played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kstream_plan.assignors.java.text_maps import hash_map_order
from kstream_plan.designs.connect.items import Items, assigned_wire, read_wire
from kstream_plan.model.times import format_time
from tests.helpers.replayed_connect import Played, played

_HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
_COORDINATOR = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
_ASSIGNOR = "org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor"
#: A round that begins with the first generation of a recorded history is so much after 1970.
EPOCH_MS = 1_795_351_345_424


def written(rounds: Iterable[Played], *, group_id: str = "live", debug: bool = False, java: int = 17) -> dict[str, str]:
    """Return the log of every worker: by the process that it is of, whatever member id that has."""
    logs: dict[str, list[str]] = defaultdict(list)
    before: dict[str, Items] = {}
    offset, configured = 0, dict[str, int]()
    for round_ in rounds:
        offset += round_.cluster.task_counts != configured
        configured = dict(round_.cluster.task_counts)
        for member in round_.cluster.members:
            logs[member] += _lines(round_, member, group_id, before, offset, debug=debug, java=java)
        before = {member: worker.items for member, worker in round_.cluster.workers.items()}
    return {member: "\n".join(lines) + "\n" for member, lines in logs.items()}


def log_text(case: Mapping[str, Any], java: int = 17, *, debug: bool = False) -> dict[str, str]:
    """Return the logs of a recorded history's workers."""
    return written(played(case, java), debug=debug, java=java)


def _lines(
    item: Played, member: str, group_id: str, before: Mapping[str, Items], offset: int, *, debug: bool, java: int
) -> Iterable[str]:
    at, generation = item.round.at_ms + EPOCH_MS, item.round.generation
    worker = f"[Worker clientId=client-{member}, groupId={group_id}] "

    def line(level: str, logger: str, text: str) -> str:
        return f"[{format_time(at)[:-1].replace('.', ',').replace('T', ' ')}Z] {level} {worker}{text} ({logger}:255)"

    identity = f"Generation{{generationId={generation}, memberId='{member}', protocol='sessioned'}}"
    yield line("INFO", _COORDINATOR, f"Successfully joined group with generation {identity}")
    if debug and member == item.round.leader and not item.round.answer.error:
        tasks = [(name, number) for name, count in item.cluster.task_counts.items() for number in range(count)]
        configured = _both(Items(tuple(item.cluster.task_counts), tuple(tasks)))
        reported = [
            f"{one}={_both(read_wire(assigned_wire(before.get(one, Items()), java)))}"
            for one in hash_map_order(item.cluster.members)
        ]
        yield line("DEBUG", _ASSIGNOR, f"Configured assignments: {configured}")
        yield line("DEBUG", _ASSIGNOR, f"Received assignments: {{{', '.join(reported)}}}")
    if item.synced and member not in item.without:
        yield line("INFO", _HERDER, _answer(item, member, offset))


def _answer(item: Played, member: str, offset: int) -> str:
    answer, held = item.round.answer, item.cluster.workers[member].items
    report = Items() if answer.error else held
    revoked = answer.revoked_items[member]
    return (
        f"Joined group at generation {item.round.generation} with protocol version 2 and got assignment: "
        f"Assignment{{error={answer.error}, leader='{item.round.leader}', "
        f"leaderUrl='http://{item.round.leader}:8083/', "
        f"offset={offset}, connectorIds=[{', '.join(report.connectors)}], taskIds=[{_tasks(report)}], "
        f"revokedConnectorIds=[{', '.join(revoked.connectors)}], revokedTaskIds=[{_tasks(revoked)}], "
        f"delay={answer.delay_ms}}} with rebalance delay: {answer.delay_ms}"
    )


def _both(items: Items) -> str:
    return f"{{ connectorIds=[{', '.join(items.connectors)}], taskIds=[{_tasks(items)}]}}"


def _tasks(items: Items) -> str:
    return ", ".join(f"{name}-{number}" for name, number in items.tasks)
