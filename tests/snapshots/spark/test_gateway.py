"""What the connection to Spark's Java process does without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[3]

_ASKED = """
import sys
import numpy
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter
from kstream_plan.snapshots.spark.private_names import spare_pandas

spare_pandas()
values = "text", 1, [1], numpy.int64(1), numpy.zeros(2), numpy.zeros((2, 2))
for converter in NumpyScalarConverter(), NumpyArrayConverter():
    print(*(converter.can_convert(value) for value in values))
print("pyspark.testing" in sys.modules)
"""


def test_numpy_is_told_from_other_values_as_spark_does_and_no_helpers_of_tests_are_loaded() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _ASKED], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert answer.stdout.splitlines() == [
        "False False False True False False",
        "False False False False True False",
        "False",
    ]


_READ = """
import sys
from kstream_plan import read

(snapshot,) = read([sys.argv[1]], lags=["examples/lag-history/lags.parquet"])
print(snapshot.state.group.application_id, *{"pandas", "pyspark.testing"} & set(sys.modules))
"""


@pytest.mark.spark
def test_reading_parquet_and_lags_loads_neither_pandas_nor_what_spark_tests_itself_with(tmp_path: Path) -> None:
    snapshot = json.loads((ROOT / "examples/lag-history/snapshot.json").read_bytes())
    pq.write_table(pa.Table.from_pylist([snapshot]), tmp_path / "snapshot.parquet")
    command = [sys.executable, "-c", _READ, str(tmp_path / "snapshot.parquet")]
    answer = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, cwd=ROOT)
    assert answer.stdout.split() == ["payments"]
