"""What is private in PySpark and Py4J, and needed all the same: it may change with any release of theirs.

Nothing else of this package touches a private name of theirs. Each function is held by a test of its own, which is run
with the oldest and the newest release that is allowed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from py4j.java_gateway import JavaGateway
from pyspark import RDD, SparkConf, SparkContext, java_gateway
from pyspark.sql import SparkSession
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

_SECONDS_TO_ANSWER = 0.02


def connect_to(port: int, secret: str) -> JavaGateway:
    """Return the connection to a Java process that listens already, as Spark's own submission does."""
    with environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
        return java_gateway.launch_gateway()


def launch_by_script(conf: SparkConf, output: IO[Any], start: Callable[..., subprocess.Popen[Any]]) -> JavaGateway:
    """Start Java by Spark's own scripts and return the connection to it.

    ``start`` stands in for ``subprocess.Popen``, since Spark forgets its process if it is interrupted while it waits.
    """
    original = java_gateway.Popen
    java_gateway.Popen = start
    try:
        return java_gateway.launch_gateway(conf, {"stdout": output, "stderr": output, "process_group": 0})
    finally:
        java_gateway.Popen = original


def fall_silent(gateway: JavaGateway) -> None:
    """Tell Java nothing more: who still did when it is gone would print a traceback."""
    gateway._gateway_client.is_connected = False
    time.sleep(_SECONDS_TO_ANSWER)  # what a thread of Py4J's is just telling it is answered meanwhile


def spare_pandas() -> None:
    """Recognize NumPy's values, for each value that Java gets, without the helpers of Spark's own tests.

    The helpers load pandas where it is installed, some 300 modules in all; none of them is needed.
    """
    NumpyScalarConverter.can_convert = lambda _self, value: isinstance(value, _numpy("generic"))
    NumpyArrayConverter.can_convert = lambda _self, value: isinstance(value, _numpy("ndarray")) and value.ndim == 1


def _numpy(name: str) -> Any:
    """Return a class of NumPy, or ``()`` if NumPy is not loaded."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else getattr(numpy, name)


def active_context() -> SparkContext | None:
    """Return the context of this process, if there is one."""
    return SparkContext._active_spark_context


def java_process() -> subprocess.Popen[Any] | None:
    """Return the process of the Java half, if it was started from here."""
    return getattr(SparkContext._gateway, "proc", None)


def forget_java() -> None:
    """Let Spark's Python half forget its Java half, which is gone; it would wait for it and complain."""
    server = getattr(active_context(), "_accumulatorServer", None)
    if server is not None:
        threading.Thread(target=server.shutdown, daemon=True).start()  # it takes half a second to notice
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def ignore_accumulators(context: SparkContext) -> None:
    """Let how far Python workers are be lost when Java is gone: a traceback would be printed."""
    context._accumulatorServer.handle_error = lambda *_request: None


def scala_context(context: SparkContext) -> Any:
    """Return Spark's own context in Java: it has settings and ends jobs, which Python's does only in part."""
    return context._jsc.sc()


def hadoop(spark: SparkContext | SparkSession) -> tuple[Any, Any]:
    """Return Java's classes, and how Hadoop's file systems are configured."""
    return spark._jvm, spark._jsc.hadoopConfiguration()


def count_in_java(rdd: RDD[Any]) -> int:
    """Have an RDD made, and return its number of elements; none of them comes to Python."""
    return int(rdd._jrdd.count())


def java_stack_trace(error: Exception) -> str:
    """Return where in Java an error came up, if Spark knows that of it."""
    return getattr(error, "_stackTrace", None) or ""


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Have these environment variables meanwhile: Spark reads some settings from nowhere else."""
    previous_values = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in previous_values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
