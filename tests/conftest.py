"""What tests share: Hypothesis profiles, the Spark session, and which tests share a worker or are left out."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.helpers.kafka_jars import DEFAULT_VERSION

# The same examples on every run where a failure has to mean a change; elsewhere new ones each time, many if asked for.
settings.register_profile("local", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True, print_blob=True)
settings.register_profile("long", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))

# In the background of a shell the tests would ignore Ctrl-C, and with them the commands that they end by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Beyond that many workers, a run spends more on starting them than they save.
_MOST_WORKERS = 8

#: So many in a file stay together: what they share is made once. The others are left to whoever is free at the end.
_MANY_TESTS = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kafka-version", default=DEFAULT_VERSION, help="the Kafka release that -m kafka runs")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """As many workers as processors; more with Kafka itself or with Spark, for whom a worker mostly waits."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    at_least = 4 if _asks_for("kafka", config) else 1
    for_spark = "spark" not in (config.option.markexpr or "")
    return max(at_least, min(processors, _MOST_WORKERS) + for_spark)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what starts servers or a browser unless a marker asks for it; keep together what shares something."""
    for marker in ("kafka", "kafka_long", "cluster", "s3", "browser", "wheel"):
        if not _asks_for(marker, config):
            left_out = [item for item in items if item.get_closest_marker(marker)]
            items[:] = [item for item in items if not item.get_closest_marker(marker)]
            config.hook.pytest_deselected(items=left_out)
    in_file = Counter(item.path for item in items)
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif item.get_closest_marker("kafka") or item.get_closest_marker("kafka_long"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        elif in_file[item.path] >= _MANY_TESTS and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))


def pytest_collection_finish() -> None:
    """Have the cycle collector look more rarely, and not at all tests then: it took an eighth of the time of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _asks_for(marker: str, config: pytest.Config) -> bool:
    asked = config.option.markexpr or ""
    return re.search(rf"(?<!not )\b{marker}\b", asked) is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the first test that starts Java, have the archive of its classes written."""
    if item.get_closest_marker("spark"):
        from tests.helpers.class_archives import archive_classes

        archive_classes()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test run: whoever reads while it is open uses it."""
    from kstream_plan.snapshots.spark.session import open_session

    with open_session(little_work=True) as session:
        yield session
