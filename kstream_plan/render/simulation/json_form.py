"""A simulation as JSON: its plan, and under ``simulation`` what is known beside it."""

from __future__ import annotations

from kstream_plan.documents.plan.simulation import simulation_document
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.plans.simulated import Simulation


def simulation_json(simulation: Simulation, *, full: bool = False) -> str:
    """Return the simulation as one line of ASCII, without the line end; ``full`` adds each round's outcome."""
    return plan_json(simulation.plan, full=full, simulation=simulation_document(simulation))
