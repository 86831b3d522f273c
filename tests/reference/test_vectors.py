"""The reference decides as was recorded of Kafka, to the last task and in Kafka's order on every consumer."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import kafka_cases, literal_rack_graph
from tests.reference import high_availability_task_assignor, streams_partition_assignor, task_movement
from tests.reference.cases import Case, decide
from tests.reference.client_state import ProcessId, TaskId
from tests.reference.constrained_priority_set import ConstrainedPrioritySet
from tests.reference.java_collections import HashSet, PriorityQueue, TreeBinError
from tests.reference.streams_partition_assignor import assign_tasks_to_threads

#: file, cases that the reference decides, rounds of them
COVERED = [
    ("single", 348, 348),
    ("single-uuid", 500, 500),
    ("awkward", 122, 122),
    ("converge", 120, 1206),
    ("tags-and-racks", 112, 112),
]
#: files of other rules
NOT_COVERED_FILES = {
    "classic-2.8.2": "older releases of the assignor",
    "classic-3.1.2": "older releases of the assignor",
    "classic-3.2.3": "older releases of the assignor",
    "classic-3.5.2": "older releases of the assignor",
    "connect-2.3.1": "Connect's assignor",
    "connect-2.4.1": "Connect's assignor",
    "connect-2.5.1": "Connect's assignor",
    "connect-3.2.3": "Connect's assignor",
    "connect-3.3.2": "Connect's assignor",
    "connect-3.5.1": "Connect's assignor",
    "connect-decisions": "Connect's assignor",
    "connect-java25": "Connect's assignor",
    "connect-sequences": "Connect's assignor",
    "learner": "KIP-441's draft, which Kafka's code has not",
    "planned-decisions": "the assignor that follows a target file",
    "planned-sequences": "the assignor that follows a target file",
    "streams-converge": "the brokers' assignor of streams groups",
    "streams-single": "the brokers' assignor of streams groups",
}
#: cases of covered files, by what is in them
NOT_COVERED_CASES = {
    "legacy": "the assignors sticky and fallback_prior, which kstream-plan does not model",
    "never ends": "Kafka itself never ends: costs overflow 32 bits",
    "tree bins": "bins of a hash table become trees; their order is compared with java-orders elsewhere",
}
#: fields of results that are not of the decision: what was read of the input
DERIVED = {"derived_prev_active", "derived_prev_standby"}


def _not_covered(case: Case) -> str | None:
    """Return the key of NOT_COVERED_CASES that a case falls under."""
    if case["assignor"] != "high_availability":
        return "legacy"
    if case["id"].endswith("never-ends"):
        return "never ends"
    return "tree bins" if case["id"] in {f"tags-and-racks-{number}-tags" for number in range(118, 126)} else None


def _rounds(name: str) -> Iterator[tuple[Case, dict[str, Any]]]:
    for case, result in kafka_cases.recorded(name):
        if _not_covered(case) is None:
            yield from kafka_cases.rounds_of(case, result) if "history" in result else [(case, result)]


def _recorded_part(decided: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """Return of a decision what was recorded; warm-ups were where movements were."""
    traced = "movements" in recorded
    keys = set(recorded["clients"][0]) - DERIVED - ({"warmup"} if not traced else set())
    rows = [{key: row[key] for key in keys} for row in decided["clients"]]
    part = {"followup_probing_rebalance": decided["followup_probing_rebalance"], "clients": rows}
    return part | {"movements": decided["movements"]} if traced else part


@pytest.mark.parametrize(("name", "number", "rounds"), COVERED)
def test_every_recorded_decision_comes_out(name: str, number: int, rounds: int) -> None:
    ids = []
    for case, recorded in _rounds(name):
        assert _recorded_part(decide(case), recorded) == _recorded_part(recorded, recorded), case["id"]
        ids.append(case["id"])
    assert (len(set(ids)), len(ids)) == (number, rounds)


def test_what_is_not_covered_is_what_the_lists_name() -> None:
    covered = {name for name, *_ in COVERED}
    files = {path.name.removesuffix(".jsonl.gz") for path in kafka_cases.VECTORS.glob("*.jsonl.gz")}
    assert files == covered | NOT_COVERED_FILES.keys()
    left_out: dict[str, int] = dict.fromkeys(NOT_COVERED_CASES, 0)
    for name in covered:
        for case, result in kafka_cases.recorded(name):
            reason = _not_covered(case)
            assert (reason == "never ends") == (result is None)
            if reason is not None:
                left_out[reason] += 1
            if reason == "tree bins":
                with pytest.raises(TreeBinError):
                    decide(case)
    assert left_out == {"legacy": 52, "never ends": 6, "tree bins": 8}


def test_the_reference_imports_nothing_of_what_it_judges() -> None:
    paths = [path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")]
    for path in [*paths, Path(str(literal_rack_graph.__file__))]:
        assert not re.search("^(from|import) kstream_plan", path.read_text(encoding="utf-8"), re.MULTILINE), path


def test_hash_sets_iterate_as_javas_until_bins_become_trees() -> None:
    recorded = json.loads(gzip.decompress((kafka_cases.VECTORS / "java-orders.json.gz").read_bytes()))["hash_tables"]
    compared = 0
    for case in recorded:
        try:
            table = HashSet(map(TaskId.parse, case["put"]))
        except TreeBinError:
            continue
        assert [task.text for task in table] == case["order"], case["name"]
        compared += 1
    assert 0 < compared < len(recorded)


def _ties_by_reversed_id(self: ConstrainedPrioritySet, constraint: Any, weight: Any) -> None:
    self.constraint, self.unique_clients = constraint, set()
    self.clients_by_task_load = PriorityQueue(lambda client: (weight(client), -client.most, -client.least))


def _equal_lags_by_reversed_id(tasks: Any, clients: Any) -> dict[TaskId, list[ProcessId]]:
    key = lambda client, task: (clients[client].lag_for(task), -client.most, -client.least)  # noqa: E731
    return {task: sorted(clients, key=partial(key, task=task)) for task in tasks}


def _least_now(queue: PriorityQueue[Any]) -> Any:
    return queue.queue.pop(queue.queue.index(min(queue.queue, key=queue.key)))


def _split_anew(tasks: Any, stateful: bool, consumers: Any, state: Any, load: Any) -> dict[str, list[TaskId]]:
    return assign_tasks_to_threads(tasks, stateful, consumers, state, {})


#: where, which function, and a rule that chooses otherwise between equals
OTHER_RULES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "equal loads by reversed id": (ConstrainedPrioritySet, "__init__", _ties_by_reversed_id),
    "equal lags by reversed id": (
        high_availability_task_assignor,
        "tasks_to_client_by_lag",
        _equal_lags_by_reversed_id,
    ),
    "least loaded now": (PriorityQueue, "poll", _least_now),
    "refused clients in order": (ConstrainedPrioritySet, "offer_all", lambda self, c: [*map(self.offer, sorted(c))]),
    "hash sets in order": (
        HashSet,
        "__iter__",
        lambda self: iter(sorted(task for chain in self.table for task in chain)),
    ),
    "tasks left over in order": (PriorityQueue, "__iter__", lambda self: iter(sorted(self.queue))),
    "movements by task alone": (task_movement, "movement_order", lambda movement: movement.task),
    "threads' load anew": (streams_partition_assignor, "assign_tasks_to_threads", _split_anew),
}


@pytest.mark.parametrize("rule", OTHER_RULES)
def test_another_rule_between_equals_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*OTHER_RULES[rule])
    assert any(
        _recorded_part(decide(case), recorded) != _recorded_part(recorded, recorded)
        for case, recorded in _rounds("awkward")
    )
