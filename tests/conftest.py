"""What tests share: Hypothesis profiles, the Spark session, and that tests with Kafka itself are opt-in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.helpers.kafka_jars import DEFAULT_VERSION

# The same examples on every run where a failure has to mean a change; elsewhere new ones each time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kafka-version", default=DEFAULT_VERSION, help="the Kafka release that -m kafka runs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs Kafka itself unless it is asked for by its marker."""
    if "kafka" in (config.option.markexpr or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("kafka")]
    items[:] = [item for item in items if not item.get_closest_marker("kafka")]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: whoever reads while it is open uses it."""
    from kstream_plan.snapshots.spark.session import open_session

    with open_session(little_work=True) as session:
        yield session
