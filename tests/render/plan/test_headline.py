"""The first lines say what is counted, and count what they say."""

import re
from dataclasses import replace

import pytest

from kstream_plan.model import Note, TaskId
from kstream_plan.plans import Plan
from kstream_plan.plans.loads import Load
from kstream_plan.render import markdown as render_markdown
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.pages.plan import excerpt_page
from kstream_plan.render.pages.steps import Focus
from kstream_plan.render.plan.loads import _others
from kstream_plan.render.terminal import to_terminal
from kstream_plan.simulation.one_plan import plan
from tests.helpers import plan_cases


def page(made: Plan) -> str:
    return " ".join(table(made, width=200).split())


def test_warm_ups_at_a_time_and_new_standbys_are_told_apart() -> None:
    snapshot = plan_cases.snapshot("scale-out")
    assert "RESTORE 58,000 records, ≤ 2 warm-ups at a time. " in page(plan_cases.case("scale-out"))
    with_standbys = plan(replace(snapshot, config=replace(snapshot.config, num_standby_replicas=1)))
    new = sum(
        step.kind == "place" and step.from_ is None and step.to.role == "standby" and step.restore_records != 0
        for round_ in with_standbys.rounds
        for step in round_.steps
    )
    assert new >= len(snapshot.state.group.stateful)
    assert f"≤ 2 warm-ups at a time, {new} new standbys. " in page(with_standbys)


def test_rates_of_which_some_are_unknown_are_not_called_missing() -> None:
    made = replace(plan_cases.case("scale-out"), assumptions=(Note("no-restore-rate", "Some are unknown", ("i4",)),))
    assert "at a time. Some rates or sizes are unknown" in page(made)
    assert "No --restore-rate" not in page(made)


def test_the_ready_copies_of_a_probe_are_warm_ups() -> None:
    assert "why; warm-ups" in table(plan_cases.case("scale-out"))


def test_one_phrase_for_the_least_and_pauses_are_summed_up() -> None:
    shown = page(plan_cases.case("scale-out"))
    assert "; least 9 " in shown
    assert "balance needs" not in shown
    assert "Worst: 2_0 (audit) 30.1 s in 11 pauses" in shown


def test_what_is_handed_over_at_the_end_is_missing_from_the_loads() -> None:
    assert "without 8 tasks being handed over at the end" in page(plan_cases.case("unfinished"))
    assert "being handed over" not in page(plan_cases.case("scale-out"))


def test_generations_lead_to_round_numbers() -> None:
    assert "SETTLED, no more probes (--round N: gen - 1)" in page(plan_cases.case("scale-out"))


def test_a_generation_that_nobody_knows_is_no_number() -> None:
    snapshot = plan_cases.snapshot("scale-out")
    unknown = replace(snapshot, state=replace(snapshot.state, generation=0))
    assert "tasks. Generation not known, 2026-" in page(plan(unknown))
    assert "tasks. Generation 1, 2026-" in page(plan(snapshot))


@pytest.mark.parametrize("name", plan_cases.NAMES)
def test_the_last_row_comes_when_the_first_line_says(name: str) -> None:
    made = plan_cases.case(name)
    found = re.search(r"^ *(\S+).* (SETTLED|STUCK|CYCLES|NOT FINISHED)", table(made, width=200), re.MULTILINE)
    if made.rounds:
        assert found is not None
        assert seconds(found[1]) == pytest.approx(made.summary.duration_ms / 1000, abs=0.5)


def seconds(clock: str) -> int:
    return sum(60**place * int(part) for place, part in enumerate(reversed(clock.split(":"))))


def test_others_are_counted_once_and_what_they_have_in_common_is_said() -> None:
    few, ten = [Load(3, 0, 0)] * 14, set(range(10))
    changed, mixed, alike = ["3→2"] * 14, ["3"] * 13 + ["3→2"], ["3"] * 14
    assert _others(few, [Load(2, 0, 0)] * 14, ten, changed) == "4 others change less"
    assert _others(few, [*few[:13], Load(2, 0, 0)], ten, mixed) == "4 others, 1 of them changes less"
    assert _others(few, few, ten, alike) == "4 others unchanged at 3"
    assert _others(few, few, set(), alike) == "all 14 unchanged at 3"
    assert _others(few, few, set(), ["3", "2"] * 7) == "all 14 unchanged"


def test_a_focus_without_a_step_says_so() -> None:
    made = plan_cases.case("scale-out")
    uninvolved = next(instance.process_id for instance in made.group.instances if instance.host == "i2")
    focus = Focus(task_id=TaskId(0, 0), process_id=uninvolved)
    for shown in (to_terminal(excerpt_page(made, focus)), render_markdown.to_markdown(excerpt_page(made, focus))):
        assert "no step of this plan is about that" in shown


def test_a_plan_that_reached_its_limit_says_which_and_how_to_raise_it() -> None:
    shown = page(plan_cases.case("unfinished"))
    assert "tasks to go, 2 warming up at a time: about 8 probes (~" in shown
    assert "NEXT the limit was --max-rounds 5: the whole plan needs about " in shown
    assert "--max-rounds" not in page(plan_cases.case("scale-out"))
