"""Why starts may be cold, in words: one note for each fact, with the tasks and the times that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model import Rates, Snapshot, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.drain_doubts import doubts_of, heard_at, rests_on
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import one_standby
from tests.helpers.one_standby import IDS, snapshot

BEHIND = "Copies are behind"
TASKS = [task.task_id for task in snapshot().state.group.tasks]
NOON = "2026-11-22 12:00:0{} UTC"


def start(
    fact: Fact, known: Known = Known.UNKNOWN, heard_ms: int | None = None, task_id: WorkId = TASKS[0]
) -> UnprovenStart:
    evidence = Evidence(known=known, fact=fact, words="", heard_ms=heard_ms)
    return UnprovenStart(task_id=task_id, process_id=IDS[1], at_ms=0, evidence=evidence)


def message(*starts: UnprovenStart, of: Snapshot | None = None) -> str:
    (note,) = doubts_of(of or snapshot(), starts)
    return note.message


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (Fact.OLD_REPORT, "Copies may be behind by now: they were last heard of at {}"),
        (
            Fact.HEARD_LATER,
            "Copies were first reported at {}, after the time that counts as now: that proves nothing about now",
        ),
        (
            Fact.UNDATED,
            "The snapshot does not say when it was taken: how old reports of copies are is unknown",
        ),
        (
            Fact.NOT_MEASURED,
            "The measurements (--metrics) say nothing of copies that were last heard of at {}",
        ),
        (
            Fact.FORECAST,
            "Starts are warm only if copies, which were behind in their last report, at {}, are restored "
            "at the measured rate",
        ),
        (Fact.LEAST_LAG, "Only a lower bound of how far copies are behind is known"),
        (Fact.INPUT_BEHIND, "Tasks still work off a backlog of input, and copies fall behind by what they write"),
        (
            Fact.NOT_REPORTED,
            "Copies were never reported: at most 1,000,000 records behind in the snapshot (--metrics would tell)",
        ),
        (
            Fact.LEFT_OVER,
            "Starts depend on left-over state, which state.cleanup.delay.ms may have deleted by then",
        ),
        (
            Fact.STORES_UNKNOWN,
            "Whether stores are persistent or in memory is unknown (--set stores): those in memory are empty after a "
            "restart, and once their task was closed",
        ),
        (Fact.IN_MEMORY, "Stores are in memory: a restart or a move leaves nothing of them"),
        (
            Fact.NEW_COPY,
            "The copy to start from does not exist yet, and how fast it catches up is unknown",
        ),
        (
            Fact.WITHIN_LIMIT,
            "Copies count as caught up, because they are within acceptable.recovery.lag in any "
            "case; how long they restore before their tasks run is unknown",
        ),
        (Fact.NO_CLOSER, BEHIND),
    ],
)
def test_every_fact_is_told_in_its_own_words_and_one_that_proves_it_by_its_verdict(fact: Fact, words: str) -> None:
    answer, item = words.format(NOON.format(5)), snapshot(captured_at=None) if fact is Fact.UNDATED else None
    assert message(start(fact, heard_ms=5_000), of=item) == answer
    assert message(start(fact, Known.BEHIND, 5_000)) == (answer if fact is Fact.IN_MEMORY else BEHIND)


def test_of_a_snapshot_with_a_time_that_of_its_decision_is_not_said() -> None:
    assert message(start(Fact.UNDATED)).startswith("The snapshot does not say when its decision was made: how old")


@pytest.mark.parametrize(
    ("heard_ms", "words"),
    [
        ([0], f"at {NOON.format(0)}"),
        ([0, 999], f"at {NOON.format(0)}"),
        ([7_000, 2_000, 5_000], f"from {NOON.format(2)} to {NOON.format(7)}"),
        ([None, 2_000], f"at {NOON.format(2)}"),
        ([None], "at an unknown time"),
    ],
)
def test_the_times_are_the_first_and_the_last_that_are_known(heard_ms: list[int | None], words: str) -> None:
    starts = [start(Fact.OLD_REPORT, heard_ms=at_ms) for at_ms in heard_ms]
    assert message(*starts).endswith(f"last heard of {words}")
    undated = snapshot(captured_at=None)
    assert message(*starts, of=undated).endswith("last heard of at an unknown time")


def test_a_time_is_told_as_people_write_it() -> None:
    assert heard_at(snapshot(), start(Fact.REPORTED, heard_ms=5_250)) == "2026-11-22T12:00:05.250Z"
    assert heard_at(snapshot(), start(Fact.REPORTED)) is None
    assert heard_at(snapshot(captured_at=None), start(Fact.REPORTED, heard_ms=0)) is None


_STARTS = st.builds(
    start,
    st.sampled_from(list(Fact)),
    st.sampled_from([Known.UNKNOWN, Known.BEHIND]),
    st.none() | st.integers(0, 9_000),
    st.sampled_from(TASKS),
)


@given(st.lists(_STARTS, max_size=8))
def test_each_start_is_among_the_tasks_of_one_note_and_each_note_names_its_tasks_once(
    starts: list[UnprovenStart],
) -> None:
    notes = doubts_of(snapshot(), starts)
    kinds = dict.fromkeys((each.evidence.fact, each.evidence.known) for each in starts)
    assert [note.code for note in notes] == [fact.value for fact, _ in kinds]
    for note, (fact, known) in zip(notes, kinds, strict=True):
        of_kind = [str(each.task_id) for each in starts if (each.evidence.fact, each.evidence.known) == (fact, known)]
        assert note.subjects == tuple(dict.fromkeys(of_kind))


@pytest.mark.parametrize(
    ("rates", "seats", "span", "tasks"),
    [
        (Rates(restore_per_instance=1_500.4), [(0, 1), (1, 2)], "1,500", ("0_0", "0_1")),
        (Rates(restore_of={1: 100.0}), [(0, 1), (1, 2)], "100", ("0_0",)),
        (Rates(restore_of={1: 100.0}, restore_per_instance=3.0), [(2, 2), (0, 1)], "3 to 100", ("0_2", "0_0")),
        (Rates(restore_of={1: 100.0, 2: 250.0}, restore={0: 9.0}), [(0, 1), (1, 2), (2, 0)], "100 to 250", None),
        (Rates(restore={1: 100.0}), [(0, 1)], "", ()),
        (Rates(), [(0, 1)], "", ()),
        (Rates(restore_per_instance=5.0), [], "", ()),
    ],
)
def test_what_is_taken_for_granted_is_the_rate_that_was_given(
    rates: Rates, seats: list[tuple[int, int]], span: str, tasks: tuple[str, ...] | None
) -> None:
    notes = rests_on(replace(snapshot(), rates=rates), seats)
    if not span:
        assert notes == ()
        return
    (note,) = notes
    assert note.code == "rate-given"
    assert note.message == (
        "Copies were behind in their last report: that they have caught up depends on the given "
        f"restore rate, {span} records/s per instance"
    )
    assert note.subjects == (tasks or ("0_0", "0_1"))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("per_second", "answer"), [(500, Answer.NO), (700, Answer.UNKNOWN), (1_400, Answer.YES)])
def test_a_copy_may_be_restored_by_one_thread_at_its_part_of_the_given_rate(
    per_second: float, answer: Answer, threads: int
) -> None:
    """30,000 records are to be restored in 45s; with two threads a copy has half of the instance's rate."""
    row = one_standby.row(lag=30_000, stores="persistent")
    for number in range(1, threads):
        row["instances"][1]["consumers"].append({"consumer_id": f"i1-StreamThread-{number + 1}"})
    rates = Rates(restore_per_instance=per_second, produce_per_task=0.0)
    found = drain(replace(snapshot_from_row(row, "threads"), rates=rates), ["i0"])
    assert found.answer is (Answer.YES if threads == 1 and answer is Answer.UNKNOWN else answer)
    assert (Fact.RATES.value in [note.code for note in found.doubts]) is (found.answer is Answer.UNKNOWN)
