"""Times are read in every form that has one meaning, and in no other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.snapshots.leader_log.log_times import AmbiguousDatesError, LogTimes, Moment

AT = datetime(2026, 11, 21, 13, 0, 38, 476_000, tzinfo=UTC)
SAVED_US = round(datetime(2026, 11, 26, tzinfo=UTC).timestamp() * 1e6)


def us_of(at: datetime) -> int:
    return round(at.timestamp() * 1e6)


def moment(text: str, order: str | None = None) -> Moment | None:
    times = LogTimes(order, SAVED_US)
    (found,) = times.settle([times.in_header(text)])
    return found


@pytest.mark.parametrize(
    ("text", "zoned"),
    [
        ("2026-11-21T13:00:38.476Z INFO", True),
        ("[2026-11-21 13:00:38,476] INFO", False),
        ("2026-11-21T14:00:38.476+01:00", True),
        ("2026-11-21 14:00:38.476 CET", True),
        ("2026-11-21T05:00:38.476-0800", True),
        ("2026/11/21 13:00:38.476", False),
        ("2026.11.21 13:00:38.476", False),
        ("20261121 13:00:38.476", False),
        ("20261121T130038.476Z", True),
        ("I20261121 13:00:38.476000 INFO", False),
        ("2026年11月21日 13:00:38.476", False),
        ("2026年11月21日 13時00分38.476秒", False),
        ("2026년 11월 21일 13:00:38.476", False),
        ("2026-W47-6 13:00:38.476", False),
        ("2026W476T130038.476Z", True),
        ("2026-325T13:00:38.476Z", True),
        ("21.11.2026 13:00:38.476", False),
        ("21.11.26 13:00:38,476", False),
        ("21-Nov-2026 13:00:38.476", False),
        ("21 Nov 2026 13:00:38,476", False),
        ("21. Nov. 2026 13:00:38,476", False),
        ("21/Nov/2026:13:00:38.476 +0000", True),
        ("Nov 21, 2026 1:00:38.476 PM", False),
        ("Nov 21, 2026 01:00:38.476 PMZ", True),
        ("Nov 21, 2026 2:00:38.476 pm+01:00", True),
        ("Nov 21, 2026 8:00:38.476 AMEST", True),
        ("Nov 21, 2026 @ 13:00:38.476", False),
        ("Sat Nov 21 13:00:38.476 UTC 2026", True),
        ("21/11/2026 13:00:38.476", False),
        ("11/21/2026 1:00:38.476 PM", False),
        ("[11/21/26 13:00:38:476 UTC]", True),
        ("26/11/21 13:00:38.476", False),
        ("1795266038476 INFO", True),
        ("1795266038476000 INFO", True),
        ("[1795266038476000000] INFO", True),
        ("1795266038.476 INFO", True),
        ("[1795266038] INFO", True),
    ],
)
def test_a_form_with_one_meaning_is_read(text: str, zoned: bool) -> None:
    if text.startswith("26/"):  # 2021 it cannot be: what is worded so came with 3.2
        times = LogTimes(None, SAVED_US)
        read = times.in_header(text)
        times.not_before(us_of(datetime(2022, 5, 17, tzinfo=UTC)))
        (found,) = times.settle([read])
    else:
        found = moment(text)
    assert found == Moment(us_of(AT) - (476_000 if "1795266038]" in text else 0), zoned)


@pytest.mark.parametrize("month", ["Okt", "Oct", "October", "Oktober"])
def test_months_have_names_in_two_languages(month: str) -> None:
    found = moment(f"01 {month} 2026 00:00:00")
    assert found is not None
    assert found.us == us_of(datetime(2026, 10, 1, tzinfo=UTC))


@given(st.datetimes(datetime(2021, 1, 1), datetime(2026, 11, 20)))
def test_a_year_that_is_not_there_is_the_newest_that_is_possible(at: datetime) -> None:
    found = moment(at.strftime("%b %d %H:%M:%S host app: "))
    assert found is not None
    assert found.year_assumed
    year = max(year for year in range(2020, 2027) if _possible(at, year))
    assert found.us == us_of(at.replace(year=year, microsecond=0, tzinfo=UTC))


def _possible(at: datetime, year: int) -> bool:
    try:
        return us_of(at.replace(year=year, microsecond=0, tzinfo=UTC)) <= SAVED_US + 86_400_000_000
    except ValueError:  # the 29th of February
        return False


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from("-/"))
def test_an_order_that_is_not_known_is_asked_for(first: int, second: int, sign: str) -> None:
    text = f"{first:02}{sign}{second:02}{sign}2024 13:00:38"
    expected = {
        "dmy": us_of(datetime(2024, second, first, 13, 0, 38, tzinfo=UTC)),
        "mdy": us_of(datetime(2024, first, second, 13, 0, 38, tzinfo=UTC)),
    }
    for order, us in expected.items():
        found = moment(text, order)
        assert found is not None
        assert found.us == us
    if first != second:
        with pytest.raises(AmbiguousDatesError):
            moment(text)


def test_a_time_of_glog_has_the_newest_year_that_is_possible() -> None:
    assert moment("I1121 13:00:38.476000 1 Assignor.java:5] ") == Moment(us_of(AT), zoned=False, year_assumed=True)
    assert moment("I1128 13:00:38.476000 ") == Moment(
        us_of(datetime(2025, 11, 28, 13, 0, 38, 476_000, tzinfo=UTC)), zoned=False, year_assumed=True
    )


@pytest.mark.parametrize(
    "text", ["2026-W54-1 13:00:38", "2026-W47-8 13:00:38", "2026-366 13:00:38", "2026-000 13:00:38"]
)
def test_a_day_that_no_year_has_is_none(text: str) -> None:
    assert moment(text) is None


def test_what_only_looks_like_a_time_is_none() -> None:
    for text in ("13:00:38.476 INFO", "1.2.3 ready", "10 20 30", "2026-13-41 25:00:00", "orders-12", "0_1=2000", "99"):
        assert moment(text) is None


def test_a_header_without_a_zone_takes_that_of_its_shipper() -> None:
    times = LogTimes(None, SAVED_US)
    outside = Moment(us_of(AT) + 1_500_000, zoned=True)
    for text in ("2026-11-21 13:00:38,476", "2026-11-21 18:30:38,476", "2026-11-21 05:00:38,476"):
        assert times.logged_at(text, outside) == Moment(us_of(AT), zoned=True)
    assert times.logged_at("2026-11-21 11:07:38,476", outside) == outside
    assert times.logged_at("no time", outside) == outside


@pytest.mark.parametrize(
    "header",
    [
        "2026-11-25T01:00:00.0000000Z 2026-11-21 13:00:38,476 INFO ",
        "[2026-11-25T01:00:00.000Z] [2026-11-21 13:00:38,476] INFO ",
        "2026-11-25T01:00:00.0000000Z orders-1  | 2026-11-21 13:00:38,476 INFO ",
        "2026-11-25T01:00:00.000000Z 00O 2026-11-21 13:00:38,476 INFO ",
    ],
)
def test_a_log_that_a_pipeline_printed_again_has_its_own_times(header: str) -> None:
    assert moment(header) == Moment(us_of(AT), zoned=False)


@pytest.mark.parametrize(
    ("header", "us"),
    [
        ("[2026-11-21 13:00:38,476] INFO ", us_of(AT)),
        ("INFO [built 2026-11-21 13:00:38] ", us_of(AT) + 4 * 86_400_000_000),
    ],
)
def test_a_log_that_was_shipped_days_later_has_its_own_times(header: str, us: int) -> None:
    shipped = Moment(us_of(AT) + 4 * 86_400_000_000, zoned=True)
    times = LogTimes(None, SAVED_US)
    found = times.logged_at(header, shipped)
    assert found is not None
    assert found.us == us
