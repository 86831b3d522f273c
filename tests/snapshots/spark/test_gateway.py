"""What the connection to Spark's Java process does without."""

from __future__ import annotations

import subprocess
import sys

_ASKED = """
import sys
import numpy
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter
from kstream_plan.snapshots.spark.gateway import spare_pandas

spare_pandas()
values = "text", 1, [1], numpy.int64(1), numpy.zeros(2), numpy.zeros((2, 2))
for converter in NumpyScalarConverter(), NumpyArrayConverter():
    print(*(converter.can_convert(value) for value in values))
print("pyspark.testing" in sys.modules)
"""


def test_numpy_is_told_from_other_values_as_spark_does_and_no_helpers_of_tests_are_loaded() -> None:
    told = subprocess.run([sys.executable, "-c", _ASKED], capture_output=True, text=True, encoding="utf-8", check=True)
    assert told.stdout.splitlines() == [
        "False False False True False False",
        "False False False False True False",
        "False",
    ]
