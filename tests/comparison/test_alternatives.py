"""Which alternatives come to the same, which comes first, and which is the fastest."""

from __future__ import annotations

from dataclasses import replace

from kstream_plan.comparison.alternative_remarks import compare_remarks
from kstream_plan.comparison.alternatives import (
    Alternative,
    AlternativeFigures,
    Change,
    DrawByDraw,
    alternative_figures,
    beside_each_other,
    draw_by_draw,
    fastest,
)
from kstream_plan.model import Note
from kstream_plan.plans.plan import ENDS_NOT_PLAYED
from kstream_plan.plans.simulated import Range
from kstream_plan.plans.summary import FigureRange
from kstream_plan.render.pages.compare import compare_page, duration_text
from kstream_plan.simulation.alternatives import alternative
from kstream_plan.simulation.draws import one_draw
from tests.helpers import plan_cases

PLAN = plan_cases.case("scale-out")
FIGURES = alternative_figures(PLAN, None)


def of(name: str, figures: AlternativeFigures = FIGURES, *, kept: bool | None = None) -> Alternative:
    broken = ("max_duration",) if kept is False else ()
    return Alternative(
        changes=(Change("max.warmup.replicas", name),),
        plan=PLAN,
        draws=None,
        figures=figures,
        keeps_policy=kept,
        broken_rules=broken,
    )


def lasting(median: int, least: int, most: int, *, cold: int = 0) -> AlternativeFigures:
    return replace(FIGURES, balanced_ms=Range(median, least, most), cold_handovers=Range(cold, cold, cold))


def named(*alternatives: Alternative) -> list[tuple[str, bool]]:
    return [
        ("|".join(one.changes[0].value for one in alike.alternatives), alike.fastest)
        for alike in beside_each_other(alternatives)
    ]


def test_what_comes_to_the_same_is_one_line_where_the_first_of_it_stands() -> None:
    slow, fast = lasting(9, 9, 9), lasting(5, 5, 5)
    assert named(of("a", slow), of("b", fast), of("c", slow)) == [("a|c", False), ("b", True)]


def test_what_warns_of_more_or_may_pause_for_longer_does_not_come_to_the_same() -> None:
    """A note that is only good to know, and words of a warning, are no difference."""
    short = replace(PLAN, warnings=(*PLAN.warnings, Note("standbys-short", "24 tasks get 1 standby", ("0_0",))))
    shorter = replace(PLAN, warnings=(*PLAN.warnings, Note("standbys-short", "24 tasks get no standby", ("0_0",))))
    noted = replace(PLAN, warnings=(*PLAN.warnings, Note("threads-race", "A thread is random")))
    plain = of("1")
    others = (("2", short), ("3", shorter), ("4", noted))
    found = [plain, *(replace(of(name), plan=plan) for name, plan in others)]
    assert [name for name, _ in named(*found)] == ["1|4", "2|3"]
    assert [name for name, _ in named(*reversed(found))] == ["4|1", "3|2"]
    ranges = (FigureRange("max_restoring_first_ms", 0, 90_000), FigureRange("restoring_first", 0, 1))
    restores = replace(PLAN, summary=replace(PLAN.summary, ranges=ranges))
    assert [name for name, _ in named(plain, replace(of("2"), plan=restores))] == ["1", "2"]


def test_an_assumption_of_one_of_those_that_come_to_the_same_is_shown_as_its_own() -> None:
    assumption = Note("only-here", "End offsets are those of yesterday")
    other = replace(of("b"), plan=replace(PLAN, assumptions=(*PLAN.assumptions, assumption)))
    for alternatives, message in (
        ([of("a"), other], f"With max.warmup.replicas=b: {assumption.message}"),
        ([other, of("a")], f"With max.warmup.replicas=b: {assumption.message}"),
        ([of("a", lasting(9, 9, 9)), of("a2"), other], f"With max.warmup.replicas=b: {assumption.message}"),
        ([other, other], assumption.message),
    ):
        assumptions = compare_remarks(beside_each_other(alternatives)).assumptions
        assert [note.message for note in assumptions if note.code == "only-here"] == [message]
        assert {note.message for note in PLAN.assumptions} <= {note.message for note in assumptions}


def test_where_all_come_to_the_same_none_is_the_fastest() -> None:
    assert named(of("a"), of("b")) == [("a|b", False)]


def test_what_keeps_to_the_policy_comes_first_and_only_it_is_marked() -> None:
    slow, fast = of("slow", lasting(9, 9, 9), kept=True), of("fast", lasting(5, 5, 5), kept=False)
    assert named(fast, slow) == [("slow", True), ("fast", False)]
    assert named(fast, replace(fast, figures=lasting(6, 6, 6))) == [("fast", False), ("fast", False)]


def test_times_that_overlap_are_not_told_apart() -> None:
    best, near, far = lasting(5, 4, 7), lasting(8, 7, 9), lasting(9, 8, 9)
    assert named(of("far", far), of("near", near), of("best", best)) == [("far", False), ("near", True), ("best", True)]
    marked = fastest(beside_each_other([of("far", far), of("near", near), of("best", best)]))
    assert [one.alternative.changes[0].value for one in marked] == ["best", "near"]


def drawn(name: str, *drawn_ms: int) -> Alternative:
    median = sorted(drawn_ms)[(len(drawn_ms) - 1) // 2]
    return replace(of(name, lasting(median, min(drawn_ms), max(drawn_ms))), drawn_ms=drawn_ms)


def test_what_is_slower_in_each_of_the_same_draws_is_not_as_fast() -> None:
    best, slower, mixed = drawn("best", 5, 9, 7), drawn("slower", 6, 10, 8), drawn("mixed", 8, 8, 8)
    assert named(best, slower, mixed) == [("best", True), ("slower", False), ("mixed", True)]
    assert draw_by_draw(mixed, best) == DrawByDraw(faster=1, slower=2)


def test_draws_that_are_not_the_same_or_not_all_that_is_unknown_are_not_compared() -> None:
    best, fewer = drawn("best", 5, 9, 7), drawn("fewer", 6, 10)
    doubtful = replace(drawn("doubtful", 6, 10, 8), figures=lasting(8, 6, 30))
    assert draw_by_draw(fewer, best) is draw_by_draw(doubtful, best) is draw_by_draw(of("a"), of("b")) is None
    assert named(best, fewer, doubtful) == [("best", True), ("fewer", True), ("doubtful", True)]


def test_tasks_and_copies_at_once_are_those_of_the_worst_draw() -> None:
    draws = replace(one_draw(PLAN), worst={"max_paused_tasks_at_once": 10**6, "max_peak_extra_copies": 10**7}, number=2)
    figures = alternative_figures(PLAN, draws)
    assert (figures.paused_at_once, figures.peak_extra_copies) == (10**6, 10**7)
    assert FIGURES.paused_at_once == PLAN.ends("paused_tasks_at_once")[1] > 0


def test_what_has_too_few_instances_for_its_standbys_is_never_the_fastest() -> None:
    short = replace(PLAN, warnings=(Note("standbys-short", "24 tasks get fewer standbys"),))
    fast = replace(of("nine", lasting(5, 5, 5)), plan=short)
    assert named(of("one", lasting(9, 9, 9)), fast) == [("one", True), ("nine", False)]


def test_a_cold_start_more_is_never_the_fastest() -> None:
    assert named(of("cold", lasting(1, 1, 1, cold=1)), of("warm", lasting(9, 9, 9))) == [
        ("cold", False),
        ("warm", True),
    ]


def test_what_does_not_settle_is_never_the_fastest() -> None:
    never = replace(lasting(1, 1, 1), settled=0)
    assert named(of("never", never), of("slow", lasting(9, 9, 9))) == [("never", False), ("slow", True)]


def test_what_may_not_settle_is_never_the_fastest() -> None:
    may_not = of("1", lasting(1, 1, 1))
    summary = replace(may_not.plan.summary, ranges=(FigureRange("settles", 0, 1),))
    may_not = replace(may_not, plan=replace(may_not.plan, summary=summary))
    found = beside_each_other([may_not, of("2", lasting(5, 5, 5))])
    assert named(may_not, of("2", lasting(5, 5, 5))) == [("1", False), ("2", True)]
    assert named(may_not, of("2", lasting(1, 1, 1))) == [("1", False), ("2", True)]
    assert duration_text(found[0].alternative).endswith(", or does not settle")


def test_what_was_not_played_to_all_its_ends_is_never_the_fastest() -> None:
    quick = of("1", lasting(1, 1, 1))
    played_once = replace(PLAN, warnings=(*PLAN.warnings, Note(ENDS_NOT_PLAYED, "not played")))
    quick = replace(quick, plan=played_once)
    assert named(quick, of("2", lasting(5, 5, 5))) == [("1", False), ("2", True)]
    assert duration_text(quick).endswith(", or does not settle")
    none = compare_page(beside_each_other([quick, replace(quick, figures=lasting(2, 2, 2))]))
    assert none.sentences[0] == "No alternative is known to settle."


def test_of_a_time_that_nobody_knows_the_worse_end_counts() -> None:
    migration, other = of("migration", lasting(60, 60, 660)), of("other", lasting(90, 90, 90))
    marked = fastest(beside_each_other([migration, other]))
    assert [one.alternative.changes[0].value for one in marked] == ["other", "migration"]
    drawn_ones = [replace(one, draws=one_draw(PLAN)) for one in (migration, other)]
    marked = fastest(beside_each_other(drawn_ones))
    assert [one.alternative.changes[0].value for one in marked] == ["migration", "other"]


def test_what_may_follow_is_not_nothing() -> None:
    settled = plan_cases.case("settled")
    ends = (FigureRange("rebalances", 0, 22), FigureRange("duration_ms", 0, 660_000))
    ranged = replace(settled, summary=replace(settled.summary, ranges=ends))
    both = [
        alternative((Change("plan", name),), result, None, None) for name, result in (("1", settled), ("2", ranged))
    ]
    assert duration_text(both[0]) == "no rebalance"
    assert duration_text(both[1]) == "0s (0s to 11m)"


def test_figures_of_one_plan_are_its_summary_s() -> None:
    summary = PLAN.summary
    assert FIGURES.balanced_ms == Range(*[summary.duration_ms] * 3)
    assert FIGURES.moves.median == summary.moves
    assert FIGURES.least_moves == summary.lower_bounds.moves
    assert FIGURES.paused_at_once == PLAN.pauses.most_at_once
    assert FIGURES.relief_ms in {rnd.at_ms for rnd in PLAN.rounds}
    assert FIGURES.most_state_records is not None
    assert 0 < FIGURES.most_state_records <= sum(task.end_offset_sum for task in PLAN.group.tasks) * 2


def test_the_fullest_disk_is_not_known_without_end_offsets() -> None:
    assert alternative_figures(plan_cases.case("unknown-end-offsets"), None).most_state_records is None
