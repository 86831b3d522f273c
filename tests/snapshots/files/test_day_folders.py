"""Which files of folders by day may hold rows of a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.model.times import EPOCH
from kstream_plan.snapshots.files.sources import Form, Input
from kstream_plan.snapshots.spark.lag_rows import days_of, of_days

DAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("path", "first", "last"),
    [
        ("/lake/date=2026-11-21/part.parquet", DAY, DAY),
        ("s3a://lake/app=orders/dt=20261121/hour=07/part.parquet", DAY, DAY),
        ("/lake/date=2026%2D11%2D21/part.parquet", DAY, DAY),
        ("/lake/year=2026/month=11/day=21/part.parquet", DAY, DAY),
        ("/lake/year=2026/month=12/part.parquet", date(2026, 12, 1), date(2026, 12, 31)),
        ("/lake/year=2026/part.parquet", date(2026, 1, 1), date(2026, 12, 31)),
    ],
)
def test_folders_name_days(path: str, first: date, last: date) -> None:
    assert days_of(path) == (first, last)


@pytest.mark.parametrize(
    "path",
    [
        "/lake/part.parquet",
        "/lake/date=2026-11-21",
        "/lake/date=2026-13-01/x",
        "/lake/date=__HIVE_DEFAULT_PARTITION__/x",
        "/lake/update=2026-11-21/x",
        "/lake/year=9999/month=12/x",
        "/lake/month=11/x",
    ],
)
def test_other_folders_do_not(path: str) -> None:
    assert days_of(path) is None


@given(
    at=st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)),
    zone=st.integers(-12 * 60, 14 * 60),
    before=st.integers(0, 90_000_000_000),
    after=st.integers(0, 90_000_000_000),
)
def test_a_row_in_time_is_never_passed_over_whatever_the_zone_of_the_folders(
    at: datetime, zone: int, before: int, after: int
) -> None:
    moment = at.replace(tzinfo=UTC)
    day = moment.astimezone(timezone(timedelta(minutes=zone))).date()
    file = Input(f"/lake/date={day}/part.parquet", "part", Form.PARQUET)
    at_us = (moment - EPOCH) // timedelta(microseconds=1)
    assert of_days([file], at_us - before, at_us + after) == [file]


def test_files_of_other_days_are_left_out() -> None:
    files = [Input(f"/lake/date=2026-11-{day:02d}/x", "x", Form.PARQUET) for day in range(1, 31)]
    other = Input("/lake/x", "x", Form.PARQUET)
    noon_us = (datetime(2026, 11, 21, 12, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    assert of_days([*files, other], noon_us - 1, noon_us) == [*files[19:22], other]
    assert of_days(files, None, noon_us) == files[:22]
    assert of_days(files, -(2**63), 2**63 - 1) == files
