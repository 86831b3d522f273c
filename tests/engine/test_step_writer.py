"""The engine's numbers of steps and reasons mean what they mean in the rows of a plan."""

from __future__ import annotations

from kstream_plan.plans.step_rows import KINDS, row_type
from kstream_plan.plans.steps import ReasonCode
from tests.helpers.engine_modes import both_modes, engine_module


@both_modes
def test_kinds_fields_and_reasons_are_those_of_rows(mode: str) -> None:
    writer = engine_module("step_writer", mode)
    assert tuple(kind.__name__ for kind in KINDS) == writer.KINDS
    assert set(writer.FIELDS) < set(row_type().names)
    assert all(ReasonCode(reason) for reason in writer.REASONS)
