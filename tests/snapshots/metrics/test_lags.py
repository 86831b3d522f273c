"""How far a copy is behind by positions and offsets: by hand, and at every edge of what makes it the least only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.metrics.lags import (
    CopyScrape,
    DoubtfulLag,
    LogEnds,
    MeasuredLag,
    lags_of_stores,
    measured_lags,
    of_group,
    position_of,
)
from kstream_plan.snapshots.metrics.offsets import Offsets, OffsetSet
from kstream_plan.snapshots.metrics.scrapes import Identity, Position, Scrape, TopicPartition
from kstream_plan.snapshots.metrics.seats import Seats
from kstream_plan.snapshots.metrics.store_lags import StoreLags

A, B = ("x-a-changelog", 0), ("x-b-changelog", 0)
SEATS = Seats("x", {"p": "h:1", "q": "h:2", "r": None}, {"one": ["p"]}, {A: "0_0"}, {"0_0": (A,)}, frozenset())
BOTH = Seats("x", {"p": None}, {}, {A: "0_0", B: "0_0"}, {"0_0": (A, B)}, frozenset())
AT_MS = 10**9


def at(late_ms: int | None, offset: int, partition: TopicPartition = A) -> Offsets:
    """Offsets that were looked up so much later than the scrape; ``None``: nobody knows when."""
    return Offsets((OffsetSet(None if late_ms is None else AT_MS + late_ms, {partition: offset}),))


def scrape(
    *positions: Position, told: bool = True, at_ms: int | None = AT_MS, remaining: Mapping[str, int] | None = None
) -> CopyScrape:
    held = dict(zip((A, B), positions, strict=False))
    return CopyScrape("file", "p", at_ms, told, {"0_0": held}, remaining or {})


def lag(
    position: Position, ends: Offsets, starts: Offsets | None = None, *, told: bool = True, at_ms: int | None = AT_MS
) -> MeasuredLag | None:
    bounds = LogEnds(ends, starts or Offsets(), far_ms=600_000)
    return measured_lags([scrape(position, told=told, at_ms=at_ms)], SEATS, bounds).get(("p", "0_0"))


@pytest.mark.parametrize(
    ("own_late_ms", "own", "at_least"),
    [
        (0, 1_100, False),
        (0, 1_101, True),
        (-60_000, 1_101, True),
        (None, 1_101, True),
        (10, 1_200, False),
        (10, 1_201, True),
    ],
)
def test_end_offsets_below_those_of_the_snapshot_tell_the_least_only(
    own_late_ms: int | None, own: int, at_least: bool
) -> None:
    """No changelog ends earlier than it has: 100 records a second count as written meanwhile, later on 10,000."""
    bounds = LogEnds(at(0, 1_000), Offsets(), snapshot_ends=at(own_late_ms, own))
    (found,) = measured_lags([scrape(Position(1_000))], SEATS, bounds).values()
    assert (found.at_least, found.doubt) == (at_least, DoubtfulLag.ENDS_BELOW if at_least else None)


@pytest.mark.parametrize(("own", "at_least"), [(1_100, False), (1_101, True)])
def test_so_do_those_that_an_instance_says_itself(own: int, at_least: bool) -> None:
    said = StoreLags("file", "p", AT_MS, {("a", 0): 0}, {("a", 0): 1_000})
    bounds = LogEnds(Offsets(), Offsets(), snapshot_ends=at(0, own))
    (found,) = lags_of_stores([said], SEATS, bounds).values()
    assert (found.records, found.at_least) == (0, at_least)


def test_it_is_the_end_less_start_and_lead_and_never_less_than_the_instance_says() -> None:
    assert lag(Position(500), at(0, 1_000)) == MeasuredLag(500, AT_MS)
    assert lag(Position(500), at(0, 1_000), at(0, 40)) == MeasuredLag(460, AT_MS)
    assert lag(Position(500, 501), at(0, 1_000)) == MeasuredLag(501, AT_MS, restoring=True)
    assert lag(Position(1_000), at(0, 1_000)) == MeasuredLag(0, AT_MS)
    assert lag(Position(None, 7), at(0, 1_000)) == MeasuredLag(7, AT_MS, at_least=True, restoring=True)
    assert lag(Position(500, 7), Offsets()) == MeasuredLag(7, AT_MS, at_least=True, restoring=True)
    assert lag(Position(500), Offsets()) is None
    assert lag(Position(), at(0, 1_000)) is None


@pytest.mark.parametrize(
    ("late_ms", "at_least"), [(0, False), (-10_000, False), (-10_001, True), (1, False), (9_999_999, False)]
)
def test_ends_of_more_than_ten_seconds_before_tell_the_least(late_ms: int, at_least: bool) -> None:
    assert lag(Position(500), at(late_ms, 1_000)) == MeasuredLag(500, AT_MS, at_least, ends_late_ms=late_ms)


@pytest.mark.parametrize(("late_ms", "usual"), [(0, 100), (5_000, 100), (-1_000, 200), (-10_000, 1_100)])
def test_a_position_beyond_the_end_is_usual_as_far_as_clocks_and_time_explain_it(late_ms: int, usual: int) -> None:
    ends = at(late_ms, 1_000)
    within, beyond = (lag(Position(1_000 + more), ends) for more in (usual, usual + 1))
    assert within == MeasuredLag(0, AT_MS, ends_late_ms=late_ms)
    assert beyond == MeasuredLag(0, AT_MS, True, ends_late_ms=late_ms, doubt=DoubtfulLag.ENDS_BELOW)
    by_itself = lag(Position(1_000, usual + 1), ends)
    assert by_itself is not None
    assert (by_itself.records, by_itself.doubt) == (usual + 1, DoubtfulLag.ENDS_BELOW)


def test_of_ends_of_long_before_no_more_than_ten_seconds_explain_it() -> None:
    within, beyond = (lag(Position(1_000 + more), at(-60_000, 1_000)) for more in (1_100, 1_101))
    assert within == MeasuredLag(0, AT_MS, True, ends_late_ms=-60_000)
    assert beyond == MeasuredLag(0, AT_MS, True, ends_late_ms=-60_000, doubt=DoubtfulLag.ENDS_BELOW)


@pytest.mark.parametrize(
    ("late_ms", "most"), [(0, 10_000), (5_000, 10_000), (-1_000, 20_000), (-60_000, 610_000), (None, 864_000_000)]
)
def test_a_position_further_than_anything_can_have_been_written_is_an_error(late_ms: int | None, most: int) -> None:
    assert lag(Position(1_000 + most), at(late_ms, 1_000)) is not None
    with pytest.raises(SnapshotError) as caught:
        lag(Position(1_000 + most + 1), at(late_ms, 1_000))
    assert str(caught.value) == (
        f"file: is at {1_000 + most + 1:,} in x-a-changelog-0, which ends at 1,000, and no more than {most:,} records "
        "can have been written since: the end offsets are of another time or cluster. Fix: look up the end offsets of "
        "the same cluster after the scrape"
    )


def test_what_was_written_between_two_looks_explains_as_much_more() -> None:
    ends = Offsets((OffsetSet(AT_MS - 1_000, {A: 1_000}), OffsetSet(AT_MS + 1_000, {A: 3_000})))
    exact = MeasuredLag(0, AT_MS, error_records=2_000, apart_ms=2_000)
    assert lag(Position(2_000 + 2_000 + 100), ends) == exact
    assert lag(Position(2_000 + 2_000 + 101), ends) == exact._replace(at_least=True, doubt=DoubtfulLag.ENDS_BELOW)
    assert lag(Position(2_000 + 2_000 + 10_000), ends) is not None
    with pytest.raises(SnapshotError):
        lag(Position(2_000 + 2_000 + 10_001), ends)


@pytest.mark.parametrize(
    ("late_ms", "start", "doubt"),
    [(10_000, 5, None), (10_001, 5, DoubtfulLag.STARTS_LATE), (10_001, 0, None), (None, 5, None), (-99_000, 5, None)],
)
def test_starts_of_after_the_scrape_tell_the_least(late_ms: int | None, start: int, doubt: DoubtfulLag | None) -> None:
    found = lag(Position(500), at(0, 1_000), at(late_ms, start))
    assert found == MeasuredLag(500 - start, AT_MS, doubt is not None, doubt=doubt)


@pytest.mark.parametrize(
    ("late_ms", "expected"),
    [
        (0, MeasuredLag(500, AT_MS)),
        (600_000, MeasuredLag(500, AT_MS, ends_late_ms=600_000)),
        (600_001, MeasuredLag(500, None, True, doubt=DoubtfulLag.UNTIMED)),
        (-10_000, MeasuredLag(500, AT_MS, ends_late_ms=-10_000)),
        (-10_001, MeasuredLag(500, AT_MS, True, ends_late_ms=-10_001, doubt=DoubtfulLag.UNTIMED)),
        (-600_000, MeasuredLag(500, AT_MS, True, ends_late_ms=-600_000, doubt=DoubtfulLag.UNTIMED)),
        (-600_001, MeasuredLag(500, None, True, doubt=DoubtfulLag.UNTIMED)),
    ],
)
def test_a_file_that_tells_no_time_is_as_good_as_the_ends_are_near(late_ms: int, expected: MeasuredLag) -> None:
    assert lag(Position(500), at(late_ms, 1_000), told=False) == expected


def test_what_is_far_for_a_file_without_a_time_is_a_probing_interval_by_default() -> None:
    for late_ms, records_at in ((600_000, AT_MS), (600_001, None)):
        found = measured_lags([scrape(Position(500), told=False)], SEATS, LogEnds(at(late_ms, 1_000), Offsets()))
        assert found["p", "0_0"].at_ms == records_at


_POSITIONS = st.builds(Position, st.none() | st.integers(0, 2_000), st.none() | st.integers(0, 2_000))


@given(_POSITIONS, _POSITIONS, st.integers(-20_000, 20_000), st.integers(-20_000, 20_000))
def test_a_task_is_the_sum_of_its_stores_and_no_better_known_than_any(
    first: Position, second: Position, first_ms: int, second_ms: int
) -> None:
    ends = Offsets(
        tuple(
            sorted(
                (OffsetSet(AT_MS + first_ms, {A: 1_000}), OffsetSet(AT_MS + second_ms, {B: 1_500})),
                key=lambda found: found.at_ms or 0,
            )
        )
    )
    bounds, both = LogEnds(ends, Offsets()), scrape(first, second)
    found = measured_lags([both], BOTH, bounds).get(("p", "0_0"))
    alone = [
        measured_lags(
            [both._replace(positions={"0_0": {partition: position}})],
            Seats("x", {"p": None}, {}, {partition: "0_0"}, {"0_0": (partition,)}, frozenset()),
            bounds,
        ).get(("p", "0_0"))
        for partition, position in ((A, first), (B, second))
    ]
    known = [one for one in alone if one is not None]
    if len(known) < 2:
        assert found is None
        return
    assert found is not None
    assert found.records == sum(one.records for one in known)
    assert found.at_least == any(one.at_least for one in known)
    assert abs(found.ends_late_ms) == max(abs(one.ends_late_ms) for one in known)
    assert found.restoring == any(one.restoring for one in known)
    assert found.doubt == next((one.doubt for one in known if one.doubt is not None), None)


def test_a_task_of_two_stores_is_off_by_both_and_as_far_apart_as_the_worse() -> None:
    sets = (
        OffsetSet(AT_MS - 1_000, {A: 0}),
        OffsetSet(AT_MS - 500, {B: 100}),
        OffsetSet(AT_MS + 500, {B: 110}),
        OffsetSet(AT_MS + 1_000, {A: 40}),
    )
    found = measured_lags([scrape(Position(20), Position(105))], BOTH, LogEnds(Offsets(sets), Offsets()))
    assert found == {("p", "0_0"): MeasuredLag(0, AT_MS, error_records=50, apart_ms=2_000)}
    untimed = scrape(Position(20), Position(105), told=False)
    far = Offsets((OffsetSet(AT_MS, {A: 40}), OffsetSet(AT_MS + 600_001, {B: 110})))
    (task,) = measured_lags([untimed], BOTH, LogEnds(far, Offsets())).values()
    assert (task.at_ms, task.doubt) == (None, DoubtfulLag.UNTIMED)


def test_a_store_that_is_missing_leaves_its_task_out_and_no_other() -> None:
    seats = Seats("x", {"p": None}, {}, {A: "0_0", B: "0_1"}, {"0_0": (A, ("x-c", 0)), "0_1": (B,)}, frozenset())
    said = CopyScrape("file", "p", AT_MS, True, {"0_0": {A: Position(5)}, "0_1": {B: Position(6)}}, {})
    ends = Offsets((OffsetSet(AT_MS, {A: 9, B: 9}),))
    assert measured_lags([said], seats, LogEnds(ends, Offsets())) == {("p", "0_1"): MeasuredLag(3, AT_MS)}


@pytest.mark.parametrize(
    ("remaining", "position", "restoring"),
    [
        ({}, Position(5, 0), False),
        ({}, Position(5, 1), True),
        ({}, Position(5), False),
        ({"0_0": 0}, Position(5, 1), False),
        ({"0_0": 1}, Position(5, 0), True),
        ({"0_1": 1}, Position(5, 0), False),
    ],
)
def test_what_remains_tells_whether_an_active_still_restores(
    remaining: dict[str, int], position: Position, restoring: bool
) -> None:
    found = measured_lags([scrape(position, remaining=remaining)], SEATS, LogEnds(at(0, 9), Offsets()))
    assert found["p", "0_0"].restoring is restoring


def test_a_start_above_its_end_is_named_with_what_to_do() -> None:
    with pytest.raises(SnapshotError) as caught:
        lag(Position(0), at(0, 5), at(0, 6))
    assert (caught.value.where, caught.value.application_id) == ("--metrics", "x")
    assert caught.value.fix == (
        "look up both in the same cluster: the start offsets before the scrape, the end offsets after it"
    )
    assert lag(Position(0), at(0, 5), at(0, 5)) == MeasuredLag(0, AT_MS)


def test_a_position_is_known_where_all_of_a_task_s_stores_are() -> None:
    assert position_of(scrape(Position(3), Position(4)), "0_0", BOTH) == 7
    assert position_of(scrape(Position(0), Position(0)), "0_0", BOTH) == 0
    assert position_of(scrape(Position(3), Position(None, 1)), "0_0", BOTH) is None
    assert position_of(scrape(Position(3)), "0_0", BOTH) is None
    assert position_of(scrape()._replace(positions={}), "0_0", BOTH) is None


def said_by(client: str, at_ms: int | None, lead: int = 1, *, told: bool = True, where: str = "") -> Scrape:
    topic = "x-a-changelog" if client.startswith(("one", "gone")) else f"{client}-a-changelog"
    identities = {client: Identity(None, "x" if client.startswith("gone") else None)}
    return Scrape(where or client, at_ms, told, {(client, (topic, 0)): Position(lead)}, identities=identities)


@pytest.mark.parametrize(("later_ms", "left_out"), [(60_000, False), (60_001, True)])
def test_who_has_left_may_have_been_scraped_a_minute_before_all_others(later_ms: int, left_out: bool) -> None:
    scrapes = [said_by("gone", AT_MS), said_by("one", AT_MS + later_ms)]
    if not left_out:
        with pytest.raises(SnapshotError, match="client 'gone'"):
            of_group(scrapes, SEATS)
        return
    found, (note,) = of_group(scrapes, SEATS)
    assert [one.process_id for one in found] == ["p"]
    assert (note.code, note.message) == (
        "scrape-of-departed",
        "1 older scrape is of processes that the group no longer has, and left out: gone first",
    )
    _, (note,) = of_group([*scrapes, said_by("gone2", AT_MS)], SEATS)
    assert note.message.startswith("2 older scrapes are of processes that the group no longer has")


@pytest.mark.parametrize("scrapes", [[said_by("gone", AT_MS)], [said_by("gone", None), said_by("one", AT_MS)]])
def test_who_is_unknown_and_not_older_than_all_others_is_an_error(scrapes: list[Scrape]) -> None:
    with pytest.raises(SnapshotError, match="client 'gone'"):
        of_group(scrapes, SEATS)


@pytest.mark.parametrize(("more", "named"), [(0, "f0"), (1, "f0, f1"), (2, "f0 and 2 more")])
def test_files_without_a_time_are_left_out_where_the_instance_has_one_with_it(more: int, named: str) -> None:
    files = [said_by("one", AT_MS + 1 + number, told=False, where=f"f{number}") for number in range(more + 1)]
    found, (note,) = of_group([*files, said_by("one", AT_MS)], SEATS)
    assert [one.at_ms for one in found] == [AT_MS]
    assert (note.code, note.message) == (
        "scrape-untimed-left-out",
        f"what does not say when it was scraped is left out where another scrape of the same instance does: {named}",
    )
    assert of_group(files, SEATS)[1] == []


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (["a"], "1 scrape has nothing of 'x' but only of client 'a': a first"),
        (["a", "b"], "2 scrapes have nothing of 'x' but only of client 'a', 'b': a first"),
        (["a", "b", "c"], "3 scrapes have nothing of 'x' but only of client 'a', 'b', 'c': a first"),
        (["d", "c", "b", "a"], "4 scrapes have nothing of 'x' but only of client 'a', 'b', 'c', 'd': d first"),
    ],
)
def test_scrapes_of_others_are_named(others: list[str], message: str) -> None:
    found, (note,) = of_group([said_by("one", AT_MS), *(said_by(client, AT_MS) for client in others)], SEATS)
    assert (len(found), note.code, note.message) == (1, "scrape-of-others", message)


def test_scrapes_are_in_the_order_of_time_and_each_is_one_instance_s() -> None:
    late, early = said_by("one", AT_MS + 1, 5), said_by("one", AT_MS, 4)
    found, notes = of_group([late, early], SEATS)
    assert ([one.at_ms for one in found], notes) == ([AT_MS, AT_MS + 1], [])
    found, _ = of_group([late, said_by("one", None, 3)], SEATS)
    assert [one.at_ms for one in found] == [None, AT_MS + 1]
    with pytest.raises(SnapshotError) as caught:
        of_group([said_by("one", AT_MS, 4, where="f1"), said_by("one", AT_MS, 5, where="f2")], SEATS)
    assert (caught.value.where, caught.value.fix) == ("f2", "keep one of them")
    assert "and f1 are of the same time and of process 'p', and differ" in str(caught.value)


def stores(name: str, lags: dict[tuple[str, int], int]) -> StoreLags:
    return StoreLags("file", name, AT_MS, lags)


@pytest.mark.parametrize(("name", "process_id"), [("p", "p"), ("P", "p"), ("h:1", "p"), ("one", "p"), ("h:2", "q")])
def test_who_says_it_is_found_by_process_host_or_client_id(name: str, process_id: str) -> None:
    for records in (0, 1):
        found = lags_of_stores([stores(name, {("a", 0): records})], SEATS)
        assert found == {(process_id, "0_0"): MeasuredLag(records, AT_MS, restoring=records > 0)}


def test_stores_of_one_task_are_added_up_and_one_that_is_missing_leaves_it_out() -> None:
    found = lags_of_stores([stores("p", {("a", 0): 3, ("b", 0): 4})], BOTH)
    assert found == {("p", "0_0"): MeasuredLag(7, AT_MS, restoring=True)}
    assert lags_of_stores([stores("p", {("a", 0): 3})], BOTH) == {}


def _refused(name: str, lags: dict[tuple[str, int], int], seats: Seats) -> tuple[str, str, str | None]:
    with pytest.raises(SnapshotError) as caught:
        lags_of_stores([stores(name, lags)], seats)
    error: Any = caught.value
    assert error.where == "file"
    return str(error).removeprefix("file: "), error.fix, error.application_id


def test_who_or_what_the_group_does_not_have_is_named_with_what_to_do() -> None:
    which = "use the process id, or the host as the snapshot has it"
    same = Seats("x", {"p": "h", "q": "h"}, {}, {A: "0_0"}, {"0_0": (A,)}, frozenset())
    assert _refused("n:1", {}, SEATS)[1:] == (which, "x")
    assert "names 'n:1', which is no instance of the group 'x'" in _refused("n:1", {}, SEATS)[0]
    assert "names 'h', which is 2 instances of the group 'x'" in _refused("h", {}, same)[0]
    what, fix, application_id = _refused("p", {("c", 0): 1}, SEATS)
    assert "of 'p' has store 'c', partition 0, and no task of the group 'x' has such a changelog" in what
    assert fix == "give --topology of the version that is running, or correct it; known is x-a-changelog"
    assert application_id == "x"
    assert _refused("p", {("c", 0): 1}, BOTH)[1].endswith("; known is x-a-changelog, x-b-changelog")
    assert _refused("p", {("a", 1): 1}, SEATS)[1] == fix
    unknown = Seats("x", {"p": None}, {}, {}, {}, frozenset())
    what, fix, _ = _refused("p", {("a", 0): 1}, unknown)
    assert "of 'p' has store 'a', partition 0, and its task in the group 'x' is unknown" in what
    assert fix == "give --topology FILE: what Topology.describe() of the running version prints, here or to snapshot"


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.integers(0, 3_000), st.booleans())
def test_a_table_is_behind_what_was_read_of_its_source_and_not_behind_its_end(
    lead: int, unread: int, committed: int, restore_consumer_tells: bool
) -> None:
    """What is known to be committed counts; else what stream threads have not read yet does not."""
    end, ends = 2_000, at(0, 2_000)
    copies = [scrape(Position(lead, end - lead if restore_consumer_tells else None))]
    limited = LogEnds(ends, Offsets(), committed={A: committed})
    assert measured_lags(copies, SEATS, limited)["p", "0_0"].records == max(min(end, committed) - lead, 0)
    waiting = LogEnds(ends, Offsets(), unread_records={A: unread})
    assert measured_lags(copies, SEATS, waiting)["p", "0_0"].records == max(end - unread - lead, 0)
