"""What tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: whoever reads while it is open uses it."""
    from kstream_plan.snapshots.spark.session import open_session

    with open_session(little_work=True) as session:
        yield session
