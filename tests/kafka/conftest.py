"""What the live scenarios share: one broker."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.helpers.real_cluster import Broker, shared_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Broker]:
    """The broker of this run, for all of its workers: topics and groups of a scenario need names of their own."""
    own = tmp_path_factory.getbasetemp()
    of_the_run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with shared_broker(of_the_run / "broker", pytestconfig.getoption("--kafka-version")) as broker:
        yield broker
