"""How long a whole command takes, side by side with the least that could do the same.

Usage: ``python tests/benchmarks/start_up.py [PAIRS]`` (default 5). Wall-clock seconds, minimum and median:

- ``assign`` on the small example, beside a script that starts the same Spark with the same class archive, reads the
  same file and plans nothing, and beside ``assign`` with PySpark's own launch and no archive;
- ``assign`` on the same example in Parquet, beside JSON;
- ``--help`` and ``show`` of a small plan, beside ``python -c "import typer, rich"``;
- the first run in a cache folder that ``prepare`` has filled, beside a later one.

``PYTHONDONTWRITEBYTECODE`` must not be set: without bytecode ``show`` takes half as long again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

EXAMPLE = Path(__file__).parents[2] / "examples" / "scale-out" / "snapshot.json"
COMMAND = [sys.executable, "-m", "kstream_plan"]

#: ``assign`` in a session that PySpark has started as it does: by its scripts, with its settings.
BY_PYSPARK = f"""
import sys
from pyspark.sql import SparkSession
from kstream_plan.cli import run
spark = SparkSession.builder.master("local[*]").getOrCreate()
code = run(["assign", {str(EXAMPLE)!r}])
spark.stop()
sys.exit(code)
"""

#: The same Java, options and archive, put together by hand.
BARE = """
import os, struct, subprocess, sys, time
command, environment, file = {command!r}, {environment!r}, {file!r}
process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
connection = environment["_PYSPARK_DRIVER_CONN_INFO_PATH"]
while not os.path.exists(connection):
    time.sleep(0.005)
told = open(connection, "rb").read()
os.remove(connection)
os.environ["PYSPARK_GATEWAY_PORT"] = str(struct.unpack_from(">i", told)[0])
os.environ["PYSPARK_GATEWAY_SECRET"] = told[8:].decode()
settings = [argument[len("--conf="):].split("=", 1) for argument in command if argument.startswith("--conf=")]
spark = SparkSession(SparkContext(conf=SparkConf().setAll(settings)))
assert spark.read.text(file).toArrow().num_rows
spark.stop()
"""


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def bare_script(folder: Path) -> str:
    """Write down how ``assign`` starts Java, for a script that does it by itself."""
    code = (
        "import json, subprocess, sys\n"
        "original = subprocess.Popen\n"
        "def popen(command, **options):\n"
        "    if 'pyspark-shell' in command:\n"
        "        print(json.dumps([list(map(str, command)), options['env']]), file=sys.stderr)\n"
        "    return original(command, **options)\n"
        "subprocess.Popen = popen\n"
        "from kstream_plan.cli import run\n"
        f"sys.exit(run(['assign', {str(EXAMPLE)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    command, environment = json.loads(done.stderr.splitlines()[0])
    old = str(Path(environment["_PYSPARK_DRIVER_CONN_INFO_PATH"]).parent)
    command = [argument.replace(old, str(folder)) for argument in command]
    environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(folder / "connection")
    assert any("SharedArchiveFile" in argument and ".jsa" in argument for argument in command), "no archive yet"
    return BARE.format(command=command, environment=environment, file=str(EXAMPLE))


def compare(title: str, ours: list[str], other: list[str], pairs: int) -> None:
    times = [(seconds(ours), seconds(other)) for _ in range(pairs)]
    mine, theirs = zip(*times, strict=True)
    ratio = statistics.median(one / two for one, two in times)
    figures = [f"{min(times):6.2f} {statistics.median(times):6.2f}" for times in (mine, theirs)]
    print(f"{title:48} {' | '.join(figures)} | {ratio:5.2f}", flush=True)


def main() -> None:
    """Print the figures."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    assign = [*COMMAND, "assign", str(EXAMPLE)]
    os.environ.pop("KSTREAM_PLAN_NO_CACHE", None)
    for _ in range(3):  # the first run writes the archive
        seconds(assign)
        time.sleep(20 if _ == 0 else 0)
    print(f"{'':48} {'ours: min, median':>13} | {'other: min, median':>13} | ratio")
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.json")
        subprocess.run([*assign, "--out", str(plan)], check=True, stdout=subprocess.DEVNULL)
        compare("assign | bare Spark, same archive", assign, [sys.executable, "-c", bare_script(Path(folder))], pairs)
        compare("assign | under PySpark's own launch", assign, [sys.executable, "-c", BY_PYSPARK], pairs)
        imports = [sys.executable, "-c", "import typer, rich"]
        compare("--help | import typer, rich", [*COMMAND, "--help"], imports, pairs)
        compare("show PLAN | import typer, rich", [*COMMAND, "show", str(plan)], imports, pairs)
        table = Path(folder, "snapshot.parquet")
        pq.write_table(pa.Table.from_pylist([_without_empty(json.loads(EXAMPLE.read_bytes()))]), table)
        compare("assign PARQUET | assign JSON", [*COMMAND, "assign", str(table)], assign, pairs)
        os.environ["XDG_CACHE_HOME"] = folder
        seconds([*COMMAND, "prepare"])
        first = seconds(assign)
        later = [seconds(assign) for _ in range(pairs)]
        print(f"first run after prepare {first:.2f}, median of later ones {statistics.median(later):.2f}")


def _without_empty(value: Any) -> Any:
    """Return a row without empty objects, which no Parquet file has."""
    if isinstance(value, dict):
        return {name: _without_empty(item) for name, item in value.items() if item not in ({}, [])}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
