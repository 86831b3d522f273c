"""Every alternative is what the single simulation, or plan, says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kstream_plan.cli.actions.variants import axes_of
from kstream_plan.comparison.alternatives import Alternative, alternative_figures, beside_each_other
from kstream_plan.documents.policy_file import read_policy
from kstream_plan.errors import UsageError
from kstream_plan.model import Group, Snapshot
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans.simulated import figures_of
from kstream_plan.policy.findings import Standard
from kstream_plan.render.pages.compare import compare_page
from kstream_plan.simulation import processes
from kstream_plan.simulation.alternatives import alternatives, saved_alternatives
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.simulation.simulate import simulate
from tests.helpers import captured_scenarios, check_cases

GRID = ["max.warmup.replicas=2,20", "assignor=high-availability,balanced"]


def before() -> Snapshot:
    return captured_scenarios.before("scale-out")


def values(found: tuple[Alternative, ...]) -> list[tuple[str, ...]]:
    return [tuple(change.value for change in one.changes) for one in found]


def test_every_alternative_is_the_single_simulation_with_as_many_draws() -> None:
    snapshot, done = before(), []
    two_more = scale_out(snapshot.state.group, add=2)
    found = alternatives(
        snapshot, axes_of(GRID), scenario=two_more, number_of_draws=3, on_alternative=lambda *item: done.append(item)
    )
    assert values(found) == [
        ("2", "high-availability"),
        ("2", "balanced"),
        ("20", "high-availability"),
        ("20", "balanced"),
    ]
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for one in found:
        warmups, assignor = (change.value for change in one.changes)
        other = replace(snapshot, config=replace(snapshot.config, max_warmup_replicas=int(warmups)))
        alone = simulate(other, two_more, PlanOptions(assignor=assignor), number_of_draws=3, what_ifs=False)
        assert one.plan == alone.plan
        assert one.draws == alone.draws
        assert alone.draws is not None
        assert one.figures.balanced_ms[1:] == alone.draws.duration_ms[1:]
        assert one.figures.balanced_ms.median == alone.plan.summary.duration_ms
        shown = alternative_figures(alone.plan, alone.draws)
        assert one.figures.pauses.least <= one.figures.pauses.median == shown.pauses.median <= one.figures.pauses.most
        assert (
            replace(one.figures, pauses=shown.pauses, paused_task_ms=shown.paused_task_ms) == shown
        )  # of all draws, and of the one
        assert (min(one.drawn_ms), max(one.drawn_ms)) == alone.draws.duration_ms[1:]


def test_any_number_of_processes_gives_the_same_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_ALONE", 0)
    snapshot = before()
    play = partial(alternatives, snapshot, axes_of(GRID), scenario=scale_out(snapshot.state.group, add=2))
    assert play(number_of_draws=2, workers=2) == play(number_of_draws=2, workers=1)


def test_without_a_scenario_every_alternative_is_the_plan() -> None:
    snapshot = before()
    found = alternatives(snapshot, axes_of(["protocol=cooperative,eager"]))
    for one in found:
        alone = plan_checked(snapshot, PlanOptions(protocol=one.changes[0].value))
        assert one.plan == alone
        assert one.draws is None
        assert one.figures.balanced_ms.median == figures_of(alone).duration_ms


def test_scenarios_are_an_axis_beside_the_others(tmp_path: Path) -> None:
    paths = []
    for name, pause in (("short", "1m"), ("long", "4m")):
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"events: [{{bounce: {{instances: all, restart: 20s, pause: {pause}}}}}]", encoding="utf-8")
        paths.append(path)
    found = alternatives(before(), axes_of(["max.warmup.replicas=2,4"], paths))
    assert values(found) == [(warmups, str(path)) for warmups in ("2", "4") for path in paths]
    assert found[0].figures.balanced_ms != found[1].figures.balanced_ms


def test_an_alternative_without_a_change_is_the_simulation_of_the_same_question() -> None:
    """Where no number is given both draw as often, however many alternatives there are."""
    snapshot = before()
    scenario = scale_out(snapshot.state.group, add=1)
    alone = simulate(snapshot, scenario, what_ifs=False)
    current = snapshot.config.max_warmup_replicas
    same, *others = alternatives(snapshot, axes_of([f"max.warmup.replicas={current},20,21"]), scenario=scenario)
    assert alone.draws is not None
    assert alone.draws.number > 1
    assert (same.plan, same.draws) == (alone.plan, alone.draws)
    assert {other.draws.number for other in others if other.draws} == {alone.draws.number}


@pytest.mark.parametrize(("limit", "kept"), [("1h", True), ("1s", False)])
def test_every_alternative_is_held_against_the_policy(limit: str, kept: bool) -> None:
    policy = read_policy(f"version: 1\ndefaults: {{max_duration: {limit}}}".encode(), "policy.yaml")
    snapshot = before()
    found = alternatives(
        snapshot,
        axes_of(GRID[:1]),
        scenario=scale_out(snapshot.state.group, add=1),
        standard=Standard(policy, check_cases.NOW),
        number_of_draws=2,
    )
    assert [(one.keeps_policy, one.broken_rules) for one in found] == [(kept, () if kept else ("max_duration",))] * 2


def test_saved_plans_of_one_snapshot_are_alternatives() -> None:
    plans = [plan_checked(before(), assignor=name) for name in ("high-availability", "balanced")]
    found = saved_alternatives([("a", plans[0], None), ("b", plans[1], None)])
    assert values(found) == [("a",), ("b",)]
    assert [item.figures for item in found] == [alternative_figures(plan, None) for plan in plans]
    with pytest.raises(UsageError, match="one plan alone"):
        saved_alternatives([("a", plans[0], None)])
    other = plan_checked(captured_scenarios.before("scale-out-standbys"))
    with pytest.raises(UsageError, match="b is a plan of another snapshot than a"):
        saved_alternatives([("a", plans[0], None), ("b", other, None)])


def test_plans_of_other_end_offsets_are_of_another_snapshot() -> None:
    """The same moment, and what was written to changelogs was measured later."""
    snapshot = captured_scenarios.before("scale-out")
    group = snapshot.state.group
    written = tuple(replace(task, end_offset_sum=task.end_offset_sum + 1_000) for task in group.tasks)
    later_group = Group(group.application_id, written, group.instances)
    later = replace(snapshot, state=replace(snapshot.state, group=later_group))
    with pytest.raises(UsageError, match="another snapshot"):
        saved_alternatives([("a", plan_checked(snapshot), None), ("b", plan_checked(later), None)])


def test_saved_plans_are_shown_with_the_rates_and_the_random_simulations_of_each() -> None:
    saved = []
    for name, rate, number in (("a", 500.0, 2), ("b", 1_000.0, 3), ("c", None, 3)):
        snapshot = captured_scenarios.before("scale-out", restore_rate=rate)
        simulated = simulate(snapshot, scale_out(snapshot.state.group, add=2), number_of_draws=number, what_ifs=False)
        saved.append((name, simulated.plan, simulated.draws))
    page = compare_page(beside_each_other(saved_alternatives(saved)))
    [rates] = [fact.value for fact in page.facts]
    assert "plan=a: 500 records/s" in rates
    assert "plan=b: 1,000 records/s" in rates
    assert "plan=c: unknown" in rates
    assert "2 to 3 random sets" in " ".join(page.sentences)
    assert "the same 3" not in " ".join(page.sentences)
