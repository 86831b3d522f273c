"""What the commands do can be done from Python."""

from __future__ import annotations

import inspect
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import kstream_plan
from kstream_plan import Limit, PlanOptions, Policy, Scenario, Snapshot, Standard
from kstream_plan.errors import UsageError
from kstream_plan.model import Consumer, Group, Instance
from kstream_plan.render.check import REPORTS
from tests.helpers import captured_scenarios, small_groups

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
FAST = Standard(Policy(defaults={"max_duration": Limit(240_000)}), NOW)


def before() -> Snapshot:
    return captured_scenarios.before("scale-out")


def two_more() -> Scenario:
    return kstream_plan.scale_out(before().state.group, add=2)


def cure(checked: Any) -> dict[str, object]:
    [found] = [one for one in checked.findings if one.rule == "max_duration"]
    assert found.offences
    return {} if found.cure is None else dict(found.cure.settings)


@pytest.mark.spark
def test_the_example_runs(spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    [example] = re.findall(
        r"```python\n(.*?)```", (ROOT / "kstream_plan/pages/python.md").read_text(encoding="utf-8"), re.DOTALL
    )
    exec(example, {})
    assert "orders" in capsys.readouterr().out


def test_every_public_function_is_on_the_page() -> None:
    text = (ROOT / "kstream_plan/pages/python.md").read_text(encoding="utf-8")
    functions = [name for name in kstream_plan.__all__ if inspect.isfunction(getattr(kstream_plan, name))]
    assert [name for name in functions if not re.search(rf"\b{name}\b", text)] == []


def test_a_plan_is_checked_and_cured() -> None:
    snapshot = before()
    simulated = kstream_plan.simulate(snapshot, two_more(), number_of_draws=1, what_ifs=False)
    after = kstream_plan.plan(snapshot)
    assert not any(one.offences for one in kstream_plan.check(after, FAST).findings)
    checked = kstream_plan.check(simulated.plan, FAST, draws=simulated.over_draws)
    assert cure(checked) == {}
    cured = kstream_plan.cures(checked, snapshot, FAST, scenario=two_more(), number_of_draws=1)
    assert cure(cured) == {"max_warmup_replicas": 8}


def test_a_cure_holds_in_all_draws_and_under_the_same_options() -> None:
    snapshot, options = before(), PlanOptions(protocol="eager", bounds=True)
    simulated = kstream_plan.simulate(snapshot, two_more(), options, number_of_draws=5, what_ifs=False)
    draws = simulated.over_draws
    assert draws is not None
    assert draws.number == 5
    checked = kstream_plan.check(simulated.plan, FAST, draws=draws)
    cured = kstream_plan.cures(checked, snapshot, FAST, options, scenario=two_more(), number_of_draws=5)
    other = kstream_plan.with_overrides(snapshot.config, cure(cured))  # type: ignore[arg-type]
    again = kstream_plan.simulate(
        Snapshot(state=snapshot.state, config=other),
        two_more(),
        number_of_draws=5,
        what_ifs=False,
        protocol="eager",
    )
    found = kstream_plan.check(again.plan, FAST, draws=again.over_draws).findings
    assert not any(one.offences for one in found)


def test_nothing_random_has_no_draws() -> None:
    simulated = kstream_plan.simulate(before(), captured_scenarios.scenario("scale-out"), what_ifs=False)
    assert simulated.over_draws is None


def test_what_is_checked_is_shown() -> None:
    check = kstream_plan.check_all([kstream_plan.check(kstream_plan.plan(before()), FAST)], NOW)
    assert "must_settle" in kstream_plan.to_json(check) == REPORTS["json"](check).rstrip()
    assert "**YES**: All 2 rules are kept (must_settle is in every policy)." in kstream_plan.to_markdown(check)
    assert "YES: All 2 rules are kept (must_settle is in every policy)." in kstream_plan.to_table(check)


def test_the_way_to_another_protocol() -> None:
    eager = Instance(process_id="i1", consumers=(Consumer(consumer_id="i1-1", protocols=("eager",)),))
    state = small_groups.state(Group.of("shop", [], [eager]), {}, {})
    way = kstream_plan.upgrade(state)
    assert [restart.bounce for restart in way.restarts] == [1, 2]
    assert "bounce" in kstream_plan.to_table(way)


def test_a_scale_out_to_a_number_counts_an_instance_once_however_it_is_named() -> None:
    group = before().state.group
    one = group.instances[0]
    assert one.host
    scenario = kstream_plan.scale_out(group, to=3, remove=[one.process_id, one.host])
    joining = scenario.events[-1].instances  # type: ignore[union-attr]
    assert len(joining) == 3 - (len(group.instances) - 1)
    with pytest.raises(UsageError, match="already, --to 1 is less"):
        kstream_plan.scale_out(group, to=1)
    with pytest.raises(UsageError, match="say the same thing"):
        kstream_plan.scale_out(group, to=5, add=1)


def test_a_drain_takes_the_options_of_planning() -> None:
    drained = kstream_plan.drain(before(), ["i3"], PlanOptions(protocol="eager"))
    assert drained.plan.protocol == drained.waiting_plan.protocol == "eager"
    assert "i3" in kstream_plan.to_table(drained)


def test_alternatives_are_set_beside_each_other() -> None:
    axes = kstream_plan.vary(["max.warmup.replicas=2,20"])
    found = kstream_plan.alternatives(before(), axes, scenario=two_more(), number_of_draws=2)
    beside = kstream_plan.beside_each_other(found)
    assert "max.warmup.replicas=20" in kstream_plan.to_table(beside)
    assert "2 alternatives" in kstream_plan.to_markdown(beside)
    assert '"kind":"compare"' in kstream_plan.to_json(beside)
