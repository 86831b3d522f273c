"""Results of the public API in a notebook: as a part of a page, and as tables of Arrow with what the JSON says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kstream_plan.comparison.alternatives import Outcomes
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Simulation

if TYPE_CHECKING:
    import pyarrow as pa

_ROUND_FIGURES = ("instance_spread", "balance_factor", "subtopology_spread", "subtopology_task_spread")
_SEAT = ("process_id", "consumer_id", "role")


def show(view: str, result: object) -> Any:
    """Return a result as ``html``, or its table ``rounds``, ``steps`` or ``alternatives``."""
    if view == "html":
        return _html(result)
    if isinstance(result, Outcomes):
        return _alternatives(result)
    plan = result.plan if isinstance(result, Simulation) else result
    assert isinstance(plan, Plan)
    return _rounds(plan) if view == "rounds" else _steps(plan)


def _html(result: object) -> str:
    from kstream_plan.render.report.markup import section_html  # noqa: PLC0415 - only where something is shown
    from kstream_plan.render.report.sections import answer_section, compare_section  # noqa: PLC0415

    if isinstance(result, Outcomes):
        return section_html(compare_section(result))
    plan = result.plan if isinstance(result, Simulation) else result
    assert isinstance(plan, Plan)
    return section_html(answer_section(result, plan, is_single=False))


def _document(plan: Plan) -> Mapping[str, Any]:
    from kstream_plan.documents.plan.write import plan_document  # noqa: PLC0415 - only where a table is asked for

    return plan_document(plan)


def _rounds(plan: Plan) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - takes its time

    columns = {
        "number": pa.int64(),
        "generation": pa.int64(),
        "at_ms": pa.int64(),
        "trigger": pa.string(),
        "phases": pa.list_(pa.string()),
        "probing_rebalance": pa.bool_(),
        "steps": pa.int64(),
        **dict.fromkeys(_ROUND_FIGURES, pa.int64()),
    }
    rows = [
        {**entry, "steps": len(entry["steps"]), **{name: entry["balance"][name] for name in _ROUND_FIGURES}}
        for entry in _document(plan)["rounds"]
    ]
    return pa.Table.from_pylist([{name: row[name] for name in columns} for row in rows], pa.schema(columns))


def _steps(plan: Plan) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - takes its time

    columns = {
        "round": pa.int64(),
        "kind": pa.string(),
        "task_id": pa.string(),
        "task_ids": pa.list_(pa.string()),
        "process_id": pa.string(),
        **{f"{end}_{name}": pa.string() for end in ("from", "to") for name in _SEAT},
        "caught_up": pa.bool_(),
        "restore_records": pa.int64(),
        "reason": pa.string(),
    }
    rows = [{"round": entry["number"], **_flat(step)} for entry in _document(plan)["rounds"] for step in entry["steps"]]
    return pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows], pa.schema(columns))


def _flat(step: Mapping[str, Any]) -> dict[str, Any]:
    seats = {f"{end}_{name}": (step.get(end) or {}).get(name) for end in ("from", "to") for name in _SEAT}
    return {**step, **seats, "reason": step["reason"]["code"]}


def _alternatives(alternatives: Sequence[Any]) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - takes its time

    from kstream_plan.render.answers import to_json  # noqa: PLC0415

    rows = []
    for outcome in json.loads(to_json(alternatives))["outcomes"]:
        columns = {name: outcome[name] for name in ("fastest", "verdict", "duration_is", "floor_ms", "draws", "kept")}
        figures: dict[str, Any] = {}
        for name, value in outcome["figures"].items():
            ends = value if isinstance(value, dict) else {"": value}
            figures |= {f"{name}_{end}" if end else name: number for end, number in ends.items()}
        rows += [{**changes, **columns, **figures} for changes in outcome["alternatives"]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
