"""Results of the public API as tables of Arrow, with what their JSON says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kstream_plan.answers.compare import COMPARE
from kstream_plan.comparison.alternatives import Outcomes
from kstream_plan.documents.plan.write import plan_document
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Simulation

if TYPE_CHECKING:
    import pyarrow as pa

_ROUND_FIGURES = ("instance_spread", "balance_factor", "subtopology_spread", "subtopology_task_spread")
_SEAT = ("process_id", "consumer_id", "role")


def table(name: str, result: Plan | Simulation | Outcomes) -> pa.Table:
    """Return the table ``rounds``, ``steps`` or ``alternatives`` of a result."""
    if isinstance(result, Outcomes):
        return _alternatives(result)
    rounds: Any = plan_document(result.plan if isinstance(result, Simulation) else result)["rounds"]
    return _rounds(rounds) if name == "rounds" else _steps(rounds)


def _table(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> pa.Table:
    """Return rows as a table of Arrow with these columns."""
    import pyarrow as pa  # noqa: PLC0415 - takes its time

    kinds = {"integer": pa.int64(), "text": pa.string(), "texts": pa.list_(pa.string()), "boolean": pa.bool_()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in types.items()])
    return pa.Table.from_pylist([{name: row.get(name) for name in types} for row in rows], schema)


def _rounds(rounds: Sequence[Mapping[str, Any]]) -> pa.Table:
    types = {
        **dict.fromkeys(("number", "generation", "at_ms"), "integer"),
        "trigger": "text",
        "phases": "texts",
        "probing_rebalance": "boolean",
        **dict.fromkeys(("steps", *_ROUND_FIGURES), "integer"),
    }
    return _table(({**entry, **entry["balance"], "steps": len(entry["steps"])} for entry in rounds), types)


def _steps(rounds: Sequence[Mapping[str, Any]]) -> pa.Table:
    seats = [f"{end}_{name}" for end in ("from", "to") for name in _SEAT]
    types = {
        "round": "integer",
        **dict.fromkeys(("kind", "task_id"), "text"),
        "task_ids": "texts",
        **dict.fromkeys(("process_id", *seats), "text"),
        "caught_up": "boolean",
        "restore_records": "integer",
        "reason": "text",
    }
    return _table(({"round": entry["number"], **_flat(step)} for entry in rounds for step in entry["steps"]), types)


def _flat(step: Mapping[str, Any]) -> dict[str, Any]:
    seats = {f"{end}_{name}": (step.get(end) or {}).get(name) for end in ("from", "to") for name in _SEAT}
    return {**step, **seats, "reason": step["reason"]["code"]}


def _alternatives(alternatives: Outcomes) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - takes its time

    rows, document = [], COMPARE.codec.to_json(alternatives)
    assert isinstance(document, dict)
    outcomes: Any = document["outcomes"]
    for outcome in outcomes:
        columns = {name: outcome[name] for name in ("fastest", "verdict", "duration_is", "floor_ms", "draws", "kept")}
        figures: dict[str, Any] = {}
        for name, value in outcome["figures"].items():
            ends = value if isinstance(value, dict) else {"": value}
            figures |= {f"{name}_{end}" if end else name: number for end, number in ends.items()}
        rows += [{**changes, **columns, **figures} for changes in outcome["alternatives"]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
