"""Plans beside the generations that real groups then had (``tests/real/more``), and beside altered ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kstream_plan.comparison.plan_and_history import said_and_happened
from kstream_plan.comparison.prediction import DifferenceCause, Likeness, Recorded
from kstream_plan.model import Holding
from kstream_plan.render.pages.happened import happened_page
from kstream_plan.snapshots.leader_log.history import Entry
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import recorded_events
from tests.helpers.recorded_events import BY_NAME

DRAIN = BY_NAME["drain"]
PLAN = recorded_events.planned(DRAIN)


def recorded(entry: Entry) -> Recorded:
    row = {**entry.row, "decision": entry.decision}
    assert entry.at_ms is not None
    snapshot = snapshot_from_row(row, "history", lags_as_reported=True)
    return Recorded(snapshot=snapshot, at_ms=entry.at_ms, trigger=entry.decision["trigger"])


HAPPENED = [recorded(entry) for entry in recorded_events.followed(DRAIN)]


def swapped(one: Recorded, first: int = 0, second: int = 1) -> Recorded:
    """The same generation, in which two consumers were decided to have what the other one has."""
    decision = one.snapshot.decision
    assert decision is not None
    assert decision.consumers is not None
    held: list[Holding] = list(decision.consumers)
    held[first], held[second] = held[second], held[first]
    return replace(one, snapshot=replace(one.snapshot, decision=replace(decision, consumers=tuple(held))))


@pytest.mark.parametrize("name", ["drain", "duo3", "bigcrash"])
def test_what_came_as_said_of_a_real_group(name: str) -> None:
    event = BY_NAME[name]
    plan = recorded_events.planned(event)
    found = said_and_happened(plan, [recorded(entry) for entry in recorded_events.followed(event)], event.at_ms)
    outcome = recorded_events.outcome(event, plan)
    seen = tuple(pair.likeness.is_as_planned for pair in found.recorded_pairs)
    assert seen == outcome.alike
    assert tuple(pair.late_ms for pair in found.pairs if pair.late_ms is not None) == outcome.late_ms
    as_said = [pair.likeness is Likeness.AS_SAID for pair in found.recorded_pairs]
    # threads of who came back have ids of their own, which only what they run tells apart
    assert all(mine or not same_ids for mine, same_ids in zip(as_said, outcome.threads_alike, strict=True))
    assert tuple(as_said) == outcome.threads_alike or name == "bigcrash"


def test_a_drain_that_came_as_said() -> None:
    found = said_and_happened(PLAN, HAPPENED)
    assert found.alike
    assert found.first is None
    assert found.misplaced_tasks == ()
    assert found.assumed
    assert found.pairs[0].late_ms == 0


def test_times_count_from_the_event_if_it_is_told() -> None:
    found = said_and_happened(PLAN, HAPPENED, DRAIN.at_ms)
    assert not found.assumed
    late = found.pairs[0].late_ms
    assert late is not None
    assert 2_000 < late < 3_000


def test_a_follow_up_that_comes_late_and_decides_otherwise() -> None:
    late = [replace(one, at_ms=one.at_ms + 1_200) for one in HAPPENED[1:]]
    found = said_and_happened(PLAN, [HAPPENED[0], swapped(late[0]), *late[1:]])
    assert found.as_planned_count == 3
    assert found.first is not None
    assert found.first.cause is DifferenceCause.LATE_FOLLOW_UP
    assert found.first.pair.number == 2
    assert found.first.pair.tasks


def test_another_event_in_between() -> None:
    found = said_and_happened(PLAN, [*HAPPENED[:2], replace(swapped(HAPPENED[2]), trigger="join")])
    assert found.first is not None
    assert found.first.cause is DifferenceCause.ANOTHER_MEMBER
    assert found.misplaced_tasks is None


def test_a_copy_that_was_ready_earlier_than_said() -> None:
    found = said_and_happened(PLAN, [HAPPENED[0], HAPPENED[1], swapped(HAPPENED[2]), HAPPENED[3]])
    assert found.first is not None
    assert found.first.cause in (DifferenceCause.RATE, DifferenceCause.UNKNOWN)
    assert found.first.pair.number == 3


def test_a_plan_that_ends_before_the_group_does_and_after_it() -> None:
    for plan, history, likeness in (
        (replace(PLAN, rounds=PLAN.rounds[:3]), HAPPENED, Likeness.NOT_SAID),
        (PLAN, HAPPENED[:3], Likeness.NOT_SEEN),
    ):
        found = said_and_happened(plan, history)
        assert found.first is not None
        assert found.first.cause is DifferenceCause.LENGTH
        assert found.pairs[-1].likeness is likeness


def test_what_something_else_started_after_the_plan_is_not_looked_at() -> None:
    later = [replace(HAPPENED[0], at_ms=HAPPENED[3].at_ms + 60_000), HAPPENED[1]]
    assert said_and_happened(PLAN, [*HAPPENED, *later]).later == 2
    assert said_and_happened(PLAN, [*HAPPENED, *later], whole=True).as_planned_count == 4
    assert not said_and_happened(PLAN, [*HAPPENED, *later], whole=True).alike


def test_a_new_member_is_the_one_that_the_plan_made_up() -> None:
    event = BY_NAME["big4"]
    plan = recorded_events.planned(event)
    history = [recorded(entry) for entry in recorded_events.followed(event)[:2]]
    (new,) = set(history[0].snapshot.state.group.instance_index) - set(plan.first_members)
    other = "fffffff0-0000-4000-8000-000000000000"
    renamed = []
    for entry in recorded_events.followed(event)[:2]:
        row, decision = json.loads(json.dumps([entry.row, entry.decision]).replace(new, other))
        renamed.append(recorded(entry._replace(row=row, decision=decision)))
    assert said_and_happened(plan, renamed).as_planned_count == said_and_happened(plan, history).as_planned_count == 2


def test_threads_of_one_instance_that_raced() -> None:
    event = BY_NAME["duo3"]
    plan = recorded_events.planned(event)
    first = recorded(recorded_events.followed(event)[0])
    group = first.snapshot.state.group
    consumers = group.consumers_of[0]
    mine = plan.rounds[0].decided
    index = [plan.group.consumer_ids.index(consumer_id) for consumer_id in group.consumer_ids]
    decision = first.snapshot.decision
    assert decision is not None
    as_said = replace(
        decision,
        consumers=tuple(Holding(mine[item].active, (*mine[item].standby, *mine[item].warmup)) for item in index),
        probing_rebalance=plan.rounds[0].probing_rebalance,
    )
    same = replace(first, snapshot=replace(first.snapshot, decision=as_said))
    one = replace(plan, rounds=plan.rounds[:1])
    assert said_and_happened(one, [same]).pairs[0].likeness is Likeness.AS_SAID
    found = said_and_happened(one, [swapped(same, *consumers[:2])])
    assert found.pairs[0].likeness is Likeness.OTHER_THREADS
    assert found.first is not None
    assert found.first.cause is DifferenceCause.THREAD_RACE


def test_a_history_that_begins_after_the_plan_is_held_against_the_rounds_of_its_generations() -> None:
    assert PLAN.generation
    found = said_and_happened(PLAN, HAPPENED[1:])
    assert [pair.recorded_generation is None for pair in found.pairs] == [True, False, False, False]
    assert (found.pairs[1].late_ms, found.as_planned_count, found.first) == (0, 3, None)
    assert (found.misplaced_tasks, found.alike, found.ends_early) == ((), False, True)
    assert "begins with rebalance 2" in found.remarks.assumptions[0].message


def test_rebalances_that_were_not_seen_share_a_row_that_says_why() -> None:
    page = happened_page(said_and_happened(PLAN, HAPPENED[1:2]))
    cells = [[cell.text for cell in row.cells] for row in page.tables[0].rows]
    assert [(row[0], row[-1]) for row in cells] == [
        ("1", "not seen: the history begins later"),
        ("2", "as planned"),
        ("3–4", f"not seen: the history ends at {cells[1][2]}"),
    ]


def decided_by(one: Recorded, *, plan: str | None = None, without_plan: str | None = None) -> Recorded:
    return replace(one, plan=plan, without_plan=without_plan)


def file_notes(happened: list[Recorded]) -> list[tuple[str, str]]:
    notes = said_and_happened(PLAN, happened).remarks.notes
    return [(note.code, note.message) for note in notes if note.code.startswith("decided-by")]


def test_what_was_decided_without_the_file_is_named() -> None:
    by_plan = [decided_by(one, plan="0123456789ab") for one in HAPPENED]
    assert file_notes(HAPPENED) == file_notes(by_plan) == []
    without = [decided_by(by_plan[0], without_plan="expired"), *by_plan[1:]]
    found = said_and_happened(PLAN, without)
    [note] = [note for note in found.remarks.notes if note.code == "decided-without-file"]
    assert note.message == "Rebalance 1 was decided without the target file: expired"
    assert found.alike, "it came as planned all the same"


def test_a_plan_by_no_file_beside_a_group_that_followed_one_is_told() -> None:
    by_plan = [decided_by(swapped(one), plan="0123456789ab") for one in HAPPENED]
    assert file_notes(by_plan) == [
        (
            "decided-by-other-file",
            "The group followed the target file of plan 0123456789ab, which this plan does not: compare the plan by "
            "that file (--set assignor=planned --set target=FILE)",
        )
    ]


def test_a_decision_without_the_file_is_what_differs() -> None:
    by_plan = [decided_by(one, plan="0123456789ab") for one in HAPPENED]
    found = said_and_happened(PLAN, [decided_by(swapped(by_plan[0]), without_plan="no-file"), *by_plan[1:]])
    assert found.first is not None
    assert found.first.cause is DifferenceCause.WITHOUT_FILE
    text = happened_page(found).sentences[0]
    assert text.endswith("The first difference is in rebalance 1: it was decided without the target file (no-file).")


def test_several_plans_and_another_class_are_named() -> None:
    first, second, third, fourth = HAPPENED
    plans = [decided_by(first, plan="0123456789ab"), decided_by(second, plan="ba9876543210")]
    assert file_notes([*plans, third, fourth]) == [
        (
            "decided-by-another-class",
            "Rebalances 3 and 4 were decided by a class that follows no target file: its leader was without "
            "task.assignor.class",
        ),
        (
            "decided-by-several-plans",
            "Several plans were followed: 0123456789ab decided 1, ba9876543210 decided 1 rebalances",
        ),
    ]
