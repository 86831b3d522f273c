"""The planner's own rules: what a plan claims, when it ends, and what it says it does not know."""

from __future__ import annotations

from dataclasses import replace
from typing import get_type_hints

import pytest

from kstream_plan import plans
from kstream_plan.engine.cycle_detection import Probes
from kstream_plan.model import LATEST, UNKNOWN, Copy, GroupState, Holding, Rates, Snapshot, Task, starting_state
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.planner import leader_settings, membership_timeline
from kstream_plan.planner.digest import input_digest
from kstream_plan.planner.options import PlanKeywords, PlanOptions
from kstream_plan.plans import HandOver, Phase, Trigger
from kstream_plan.render.answers import page_of
from kstream_plan.simulation.one_plan import plan
from tests.helpers import captured
from tests.helpers.small_groups import group, state

#: i1 runs both stateful tasks; i2 and i3 have just joined
JOIN = state(
    group(stateless=0),
    {0: Holding((0,)), 1: Holding((1,))},
    {0: (Copy(0, LATEST, (0,), 0, 0, True),), 1: (Copy(0, LATEST, (1,), 0, 1, True),)},
)
CONFIG = AssignmentConfig(acceptable_recovery_lag=100)


def _snapshot(
    group_state: GroupState = JOIN, rates: Rates | None = None, config: AssignmentConfig = CONFIG
) -> Snapshot:
    return Snapshot(state=group_state, config=config, rates=rates or Rates(), captured_at="2026-11-21T12:00:00.000Z")


def _codes(notes: tuple[tuple[str, str, tuple[str, ...]], ...]) -> set[str]:
    return {note[0] for note in notes}


def test_options_may_be_given_together_or_one_by_one() -> None:
    eager = PlanOptions(protocol="eager", bounds=True)
    assert plan(_snapshot(), eager) == plan(_snapshot(), protocol="eager", bounds=True)
    assert plan(_snapshot(), eager, protocol="cooperative") == plan(_snapshot(), bounds=True)
    with pytest.raises(TypeError, match="rounds"):
        plan(_snapshot(), rounds=3)  # type: ignore[call-arg]


def test_every_option_may_be_given_on_its_own() -> None:
    modules = starting_state, leader_settings, membership_timeline, plans
    names = {name: value for module in modules for name, value in vars(module).items()}
    assert get_type_hints(PlanKeywords, localns=names) == get_type_hints(PlanOptions, localns=names)


def test_one_known_rate_does_not_make_the_whole_plan_an_estimate() -> None:
    result = plan(_snapshot(rates=Rates(restore_of={0: 1e5})))
    assert result.summary.duration_is == "probes"
    assert "no-restore-rate" in _codes(result.assumptions)


def test_with_every_rate_that_is_needed_known_the_plan_is_an_estimate() -> None:
    result = plan(_snapshot(rates=Rates(restore_per_instance=1e5)))
    assert result.summary.duration_is == "estimate"
    assert "no-restore-rate" not in _codes(result.assumptions)


def test_an_estimate_says_that_nobody_knows_what_is_written_meanwhile() -> None:
    unknown, known = Rates(restore_per_instance=1e5), Rates(restore_per_instance=1e5, produce_per_task=0.0)
    assert "no-produce-rate" in _codes(plan(_snapshot(rates=unknown)).assumptions)
    assert "no-produce-rate" not in _codes(plan(_snapshot(rates=known)).assumptions)
    assert "no-produce-rate" not in _codes(plan(_snapshot()).assumptions)
    stateless = state(group(stateful=0, stateless=6), {0: Holding(tuple(range(6)))}, {})
    assert "no-produce-rate" not in _codes(plan(_snapshot(stateless, unknown)).assumptions)


def test_where_nothing_is_restored_no_rate_is_needed_to_know_the_time() -> None:
    result = plan(_snapshot(state(group(stateful=0, stateless=6), {0: Holding(tuple(range(6)))}, {})))
    assert result.rounds
    assert result.summary.duration_is == "estimate"
    assert "no-restore-rate" not in _codes(result.assumptions)


def test_a_copy_under_way_at_a_rate_nobody_knows_makes_no_estimate() -> None:
    warming = (*JOIN.copies[0], Copy(2, 1000, (3,), 1000, 3))
    holdings = {0: Holding((0,)), 1: Holding((1,)), 3: Holding(warmup=(0,))}
    item = state(JOIN.group, holdings, {0: warming, 1: JOIN.copies[1]})
    rates = Rates(restore_of={0: 1e5, 1: 1e5})
    result = plan(_snapshot(item, rates, replace(CONFIG, max_warmup_replicas=1)))
    assert result.summary.duration_is == "probes"
    assert [note.subjects for note in result.assumptions if note.code == "no-restore-rate"] == [("0_0",)]


def test_what_is_under_way_at_a_rate_nobody_knows_is_told() -> None:
    warming = (*JOIN.copies[1], Copy(1, 1000, (2,), 1000, 2))
    holdings = {0: Holding((0,)), 1: Holding((1,)), 2: Holding(warmup=(1,))}
    result = plan(_snapshot(state(JOIN.group, holdings, {0: JOIN.copies[0], 1: warming})))
    assert result.summary.restored_records == 0
    assert result.summary.duration_is == "probes"
    assert "the restore rate is unknown" in " ".join(page_of(result).sentences)


def test_a_start_without_a_copy_restores_its_state_within_the_limit_too() -> None:
    result = plan(_snapshot(config=replace(CONFIG, acceptable_recovery_lag=1_000)))
    assert (result.summary.moves, result.summary.warmups, result.summary.cold_handovers) == (1, 0, 0)
    assert result.summary.restored_records == 1_000
    assert {fact.key: fact.value for fact in page_of(result).facts}["restore"].startswith("1,000 records")


def test_a_state_of_unknown_size_is_ready_at_the_next_probe_whatever_the_rate() -> None:
    unknown = [
        Task(task_id=task.task_id, stateful=True, end_offset_sum=2**63 - 1, end_offset_known=False)
        for task in JOIN.group.tasks
    ]
    item = replace(JOIN, group=replace(JOIN.group, tasks=tuple(unknown)))
    result = plan(_snapshot(item, Rates(restore_per_instance=1e5)))
    assert result.verdict.kind == "settled"
    assert result.summary.duration_is == "probes"
    assert result.summary.restored_records is None


def test_a_settled_group_is_told_that_standbys_are_missing() -> None:
    result = plan(_snapshot(config=replace(CONFIG, num_standby_replicas=5)))
    held = state(result.group, dict(enumerate(result.final)), {})
    again = plan(_snapshot(held, config=result.config))
    assert again.rounds == ()
    assert "standbys-short" in _codes(again.warnings)


def test_a_copy_that_has_nothing_to_restore_does_not_start_cold() -> None:
    owned = state(group(stateless=0), {}, {0: (Copy(1, UNKNOWN, (2,), 0),)})
    result = plan(_snapshot(owned))
    starts = [step for step in result.rounds[0].steps if isinstance(step, HandOver) and str(step.task_id) == "0_0"]
    assert [step.caught_up or step.restore_records != 0 for step in starts] == [True]


def test_left_over_state_in_the_snapshot_is_said_to_count_from_now() -> None:
    copies = (JOIN.copies[0] + (Copy(1, 5, (2,), 5),), JOIN.copies[1])
    assert "left-over-age" in _codes(plan(_snapshot(replace(JOIN, copies=copies))).assumptions)
    assert "left-over-age" not in _codes(plan(_snapshot()).assumptions)


@pytest.mark.parametrize(
    "rates", [Rates(restore={(0, 0): 5.0}), Rates(produce={0: 5.0}), Rates(restore_per_instance=5.0)]
)
def test_the_digest_counts_whatever_changes_the_plan(rates: Rates) -> None:
    assert input_digest(JOIN, CONFIG, rates) != input_digest(JOIN, CONFIG, Rates())
    tasks = tuple(replace(task, end_offset_known=False) for task in JOIN.group.tasks)
    unknown = replace(JOIN, group=replace(JOIN.group, tasks=tasks))
    assert input_digest(unknown, CONFIG, rates) != input_digest(JOIN, CONFIG, rates)


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_every_round_has_a_phase_and_only_the_last_is_settled(scenario: str) -> None:
    result = plan(captured.join(scenario))
    assert all(rnd.phases for rnd in result.rounds)
    assert [rnd.number for rnd in result.rounds if Phase.SETTLED in rnd.phases] == [len(result.rounds)]


def test_a_group_that_is_never_ready_is_stuck_and_names_its_tasks() -> None:
    result = plan(_snapshot(rates=Rates(restore_per_instance=0.0)))
    assert result.verdict.kind == "stuck"
    assert result.verdict.tasks
    assert all(rnd.trigger is not Trigger.FOLLOW_UP for rnd in result.rounds[-2:])


def test_a_slow_restore_is_compared_once_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    period = Probes.period
    monkeypatch.setattr(Probes, "period", lambda probes, *probe: compared.append(0) or period(probes, *probe))
    tasks = tuple(replace(task, end_offset_sum=100_000) for task in JOIN.group.tasks)
    snapshot = _snapshot(replace(JOIN, group=replace(JOIN.group, tasks=tasks)), Rates(restore_per_instance=2.0))
    result = plan(snapshot, floor=False, ranges=False)
    assert result.summary.probing_rebalances > 20
    assert len(compared) <= result.summary.probing_rebalances + 1


@pytest.mark.parametrize("scenario", captured.SCENARIOS)
def test_what_is_settled_is_only_a_short_cut(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = captured.inputs(scenario)[1]
    copies = tuple(tuple(copy._replace(reporters=()) for copy in entry) for entry in silent.state.copies)
    snapshot = replace(silent, state=replace(silent.state, copies=copies))
    short = plan(snapshot)
    monkeypatch.setattr(GroupState, "unsettled", property(lambda item: frozenset(item.group.stateful)))
    assert plan(snapshot) == short
