"""Tasks that count as caught up and restore all the same before they run are told: no pause counts that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kstream_plan.model import Rates
from kstream_plan.model.answer import Answer
from kstream_plan.plans import Plan
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Limit, Policy
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured, captured_scenarios
from tests.helpers.check_cases import NOW


def _told(made: Plan) -> list[str]:
    return [note.message for note in made.warnings if note.code == "restores-within-limit"]


@pytest.mark.parametrize(
    ("limit", "rates", "told"),
    [
        (100, Rates(restore_per_instance=100.0), False),
        (10_000, Rates(), True),
        (10_000, Rates(restore_per_instance=100.0), True),
        (10_000, Rates(restore_per_instance=10_000_000.0), False),
    ],
)
def test_an_empty_copy_that_counts_as_caught_up_is_told(limit: int, rates: Rates, told: bool) -> None:
    joined = captured.join("scale-out")
    made = plan(replace(joined, rates=rates, config=replace(joined.config, acceptable_recovery_lag=limit)))
    assert bool(_told(made)) is told
    caveats = check_plan(made, Standard(Policy(), NOW)).caveats
    assert ("restores-within-limit" in {note.code for note in caveats}) is told
    if told and rates.any_restore:
        (message,) = _told(made)
        assert "restore up to 4,000 records (" in message


def test_a_drain_calls_nothing_warm_that_begins_on_an_empty_disk() -> None:
    before = captured_scenarios.before("scale-out")
    lenient = replace(
        before,
        config=replace(before.config, acceptable_recovery_lag=10_000),
        rates=Rates(restore_per_instance=100.0),
    )
    process_id = before.state.group.instances[0].process_id
    drained = drain(lenient, (process_id,))
    assert "restores-within-limit" in [doubt.code for doubt in drained.doubts]
    assert drained.answer is Answer.NO
    least, most = drained.how_many_cold
    assert least == 0 < most


@pytest.mark.parametrize(
    ("limit_ms", "rate", "answer"),
    [(10_000, 100.0, Answer.NO), (600_000, 100.0, Answer.YES), (10_000, None, Answer.UNKNOWN)],
)
@pytest.mark.parametrize("rule", ["max_pause_per_task", "max_pause_per_handover"])
def test_rules_about_pauses_include_what_is_restored_within_the_limit(
    rule: str, limit_ms: int, rate: float | None, answer: Answer
) -> None:
    """Tasks start with up to 4,000 records to restore: 40s at 100 records a second."""
    joined = captured.join("scale-out")
    config = replace(joined.config, acceptable_recovery_lag=10_000)
    made = plan(replace(joined, rates=Rates(restore_per_instance=rate), config=config, stores="persistent"))
    assert made.summary.cold_handovers == 0
    assert check_plan(made, Standard(Policy({rule: Limit(limit_ms)}), NOW)).answer is answer
