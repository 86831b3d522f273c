"""What tests share: Hypothesis profiles and the Spark session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# The same examples on every run where a failure has to mean a change; elsewhere new ones each time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: whoever reads while it is open uses it."""
    from kstream_plan.snapshots.spark.session import open_session

    with open_session(little_work=True) as session:
        yield session
