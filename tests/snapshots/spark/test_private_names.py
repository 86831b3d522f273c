"""Every private name of PySpark and Py4J that is used stands in one file, and does there what it is used for.

By hand also with the oldest release that is allowed: ``pip install pyspark==4.0.0``, then this file.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext, java_gateway
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kstream_plan.snapshots.spark import private_names

PACKAGE = Path(inspect.getfile(private_names)).parents[2]
#: What named tuples have, which only look private.
PUBLIC = {"_replace", "_fields", "_asdict", "_make"}


def private_attributes(source: str) -> list[str]:
    return [
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in PUBLIC
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    ]


def test_no_other_file_that_knows_spark_uses_a_private_name() -> None:
    assert private_attributes("context._jsc.sc()") == ["_jsc"]
    private = {
        str(file.relative_to(PACKAGE)): names
        for file in PACKAGE.rglob("*.py")
        if "pyspark" in (source := file.read_text(encoding="utf-8")) or "/spark/" in file.as_posix()
        if (names := private_attributes(source))
    }
    assert list(private) == ["snapshots/spark/private_names.py"]


def test_each_function_has_a_test_of_its_own() -> None:
    functions = {
        name
        for name, function in inspect.getmembers(private_names, inspect.isfunction)
        if function.__module__ == private_names.__name__ and not name.startswith("_")
    }
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    # these need processes of their own: the first in test_gateway.py, the others in test_java_that_is_gone
    assert functions - tested == {"spare_pandas", "fall_silent", "forget_java", "ignore_accumulators"}


@pytest.mark.spark
def test_connect_to(spark: SparkSession) -> None:
    there = SparkContext._gateway.java_parameters
    gateway = private_names.connect_to(there.port, there.auth_token)
    jvm, _ = private_names.hadoop(spark)
    assert gateway.jvm.java.lang.ProcessHandle.current().pid() == jvm.java.lang.ProcessHandle.current().pid()
    gateway.close()


def test_launch_by_script() -> None:
    class _StartedError(Exception):
        pass

    def start(command: list[str], **options: Any) -> Any:
        assert "spark-submit" in command[0]
        assert options["process_group"] == 0
        raise _StartedError

    before = java_gateway.Popen
    with pytest.raises(_StartedError):
        private_names.launch_by_script(_conf(), sys.stdout, start)
    assert java_gateway.Popen is before


def _conf() -> Any:
    from pyspark import SparkConf

    return SparkConf(loadDefaults=False).set("spark.app.name", "a name")


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWN", "before")
    with private_names.environment({"KNOWN": "meanwhile", "NEW": "meanwhile"}):
        there = {name: private_names.os.environ.get(name) for name in ("KNOWN", "NEW")}
    assert there == {"KNOWN": "meanwhile", "NEW": "meanwhile"}
    assert {name: private_names.os.environ.get(name) for name in ("KNOWN", "NEW")} == {"KNOWN": "before", "NEW": None}


@pytest.mark.spark
def test_active_context(spark: SparkSession) -> None:
    assert private_names.active_context() is spark.sparkContext


@pytest.mark.spark
def test_java_process(spark: SparkSession) -> None:
    process = private_names.java_process()
    assert process is not None
    assert process.poll() is None
    jvm, _ = private_names.hadoop(spark)
    assert process.pid == jvm.java.lang.ProcessHandle.current().pid()


@pytest.mark.spark
def test_scala_context(spark: SparkSession) -> None:
    context = private_names.scala_context(spark.sparkContext)
    assert context.conf().getTimeAsSeconds("spark.no.such.setting", "90s") == 90
    context.cancelJobGroupAndFutureJobs("no such group")
    context.cancelJob(1_000_000, "a reason")


@pytest.mark.spark
def test_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    for item in (spark, spark.sparkContext):
        jvm, configuration = private_names.hadoop(item)
        path = jvm.org.apache.hadoop.fs.Path(str(tmp_path))
        assert path.getFileSystem(configuration).exists(path)


@pytest.mark.spark
def test_count_in_java(spark: SparkSession) -> None:
    assert private_names.count_in_java(spark.sparkContext.parallelize([1, 2, 3], 2)) == 3


@pytest.mark.spark
def test_java_stack_trace(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.read.parquet("/no/such/file")
    assert "org.apache.spark" in private_names.java_stack_trace(caught.value)
    assert private_names.java_stack_trace(ValueError("mine")) == ""


_ENDED = """
import sys
from pyspark import SparkContext
from pyspark.sql import SparkSession
from kstream_plan.snapshots.spark import private_names
from kstream_plan.snapshots.spark.session import open_context

with open_context(little_work=True) as context:
    server, gateway = context._accumulatorServer, SparkContext._gateway
    assert server.handle_error("a request") is None
    process = private_names.java_process()
    process.kill()
    process.wait()
    private_names.fall_silent(gateway)
    assert not gateway._gateway_client.is_connected
    private_names.forget_java()
    assert private_names.active_context() is None
    assert private_names.java_process() is None
    assert SparkSession._instantiatedSession is None
"""


@pytest.mark.spark
def test_java_that_is_gone() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _ENDED], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
