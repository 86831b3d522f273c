"""What comes from outside: a time that is still to come can be looked at without going there."""

from __future__ import annotations

from kstream_plan.model import Rates
from kstream_plan.model.scenario import ProduceRate, RestoreRate
from kstream_plan.planner.external_events import ExternalEvents
from kstream_plan.plans import Outage
from tests.helpers.relay import group_of


def test_looking_ahead_changes_nothing() -> None:
    paces = (
        RestoreRate(at_ms=2_000, per_second=20.0, process_ids=("m1",)),
        ProduceRate(at_ms=3_000, per_second=7.0),
        RestoreRate(at_ms=9_000, per_second=30.0),
    )
    group, outages = group_of(m1="a", m2="b").state.group, (Outage("m2", 1_000, 4_000),)
    outside = ExternalEvents(group, Rates(restore_per_instance=10.0), (), outages, paces)
    answers = [
        (
            span.elapsed_ms,
            [span.rates.restore_rate(i) for i in range(2)],
            span.rates.produce_rate(0),
            set(span.stopped_instances),
        )
        for span in outside.spans_ahead(0, 5_000)
    ]
    assert answers == [
        (1_000, [10.0, 10.0], 0.0, set()),
        (1_000, [10.0, 10.0], 0.0, {1}),
        (1_000, [20.0, 10.0], 0.0, {1}),
        (1_000, [20.0, 10.0], 7.0, {1}),
        (1_000, [20.0, 10.0], 7.0, set()),
    ]
    assert outside.rates.restore_rate(0) == 10.0
    assert outside.spans_ahead(0, 10_000)[-1].rates.restore_rate(1) == 30.0
    assert outside.spans_ahead(0, 5_000) == outside.spans(0, 5_000)
