"""A few of what Spark reads in every run; ``spark.py`` tries more."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.spark import fuzz

FILES = int(os.environ.get("KSTREAM_PLAN_FUZZ_FILES", "100"))


@pytest.mark.spark
def test_whatever_spark_reads_is_told_alike_for_little_and_for_much(spark: object) -> None:
    assert fuzz(FILES, "every run") == []
