"""A simulation as JSON: its plan, and under ``simulation`` what is known beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from kstream_plan.documents.plan.write import Json, plan_document
from kstream_plan.model.scenario import Event
from kstream_plan.plans.simulated import Range, Simulation


def simulation_json(simulated: Simulation, *, full: bool = False) -> str:
    """Return the simulation as one line of ASCII, without the line end; ``full`` adds each round's outcome."""
    document = plan_document(simulated.plan, full=full) | {"simulation": _beside_the_plan(simulated)}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _beside_the_plan(simulated: Simulation) -> Json:
    draws = simulated.draws
    return {
        "draws": None if draws is None else {name: _plain(getattr(draws, name)) for name in draws.__dataclass_fields__},
        "events": [
            {
                "at_ms": outcome.event.at_ms,
                "kind": _kind(outcome.event),
                "process_ids": _process_ids(outcome.event),
                "rebalances": outcome.rebalances,
                "hops": outcome.hops,
                "cold_handovers": outcome.cold_handovers,
                "warm_ms": outcome.warm_ms,
                "balanced_ms": outcome.balanced_ms,
            }
            for outcome in simulated.events
        ],
        "cure": None if simulated.cure is None else asdict(simulated.cure),
        "what_ifs": [asdict(what_if) for what_if in simulated.what_ifs],
    }


def _plain(value: Range | Mapping[str, int | None] | int) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    return value._asdict() if isinstance(value, Range) else value


def _kind(event: Event) -> str:
    """Return the event's kind as a scenario file has it: ``produce_rate`` for ``ProduceRate``."""
    name = type(event).__name__
    if getattr(event, "crash", False):
        return "crash"
    return (
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        .lstrip("_")
        .removesuffix("_change")
    )


def _process_ids(event: Event) -> list[Json]:
    several = getattr(event, "process_ids", None)
    if several is not None:
        return list(several)
    if hasattr(event, "instances"):
        return [instance.process_id for instance in event.instances]
    one = getattr(event, "process_id", None)
    return [] if one is None else [one]
