"""The connection from here to Spark's Java process, which is started for it and ends with us."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, java_gateway
from pyspark.errors import PySparkException
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

from kstream_plan.snapshots.spark.find_java import Java, why_spark_failed
from kstream_plan.snapshots.spark.java_process import Driver, end, listening
from kstream_plan.snapshots.spark.signals import signals_afterwards

_SECONDS_TO_ANSWER = 0.02


def connect(driver: Driver, noise: IO[bytes]) -> JavaGateway:
    """Return the connection to a driver that was started here.

    Raises:
        SparkError: it does not become Spark.
    """
    port, secret = listening(driver, noise)
    with _environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
        gateway = java_gateway.launch_gateway()
    gateway.proc = driver.process
    return gateway


def start_by_script(conf: SparkConf, java: Java, output: IO[Any], noise: IO[bytes]) -> JavaGateway:
    """Start Java by Spark's own scripts, which read the settings of an installed Spark; else as a driver of ours.

    Raises:
        SparkError: it does not become Spark.
    """
    in_its_home = java.program == java.home / "bin" / "java"  # else it only leads to the real one
    with _environment({"JAVA_HOME": str(java.home)} if in_its_home else {}), _started() as processes:
        try:
            return java_gateway.launch_gateway(conf, {"stdout": output, "stderr": output, "process_group": 0})
        except (PySparkException, OSError):
            noise.seek(0)
            raise why_spark_failed(noise.read().decode("utf-8", "replace")) from None
        except BaseException:
            for process in processes:
                if hasattr(process, "pid"):
                    end(process)
            raise


def spare_pandas() -> None:
    """Let Spark tell NumPy's values from others, of which it asks each that Java gets, without its own tests' helpers.

    These load pandas where it is installed, some 300 modules in all; nothing of them is needed.
    """
    NumpyScalarConverter.can_convert = lambda _self, value: isinstance(value, _numpy("generic"))
    NumpyArrayConverter.can_convert = lambda _self, value: isinstance(value, _numpy("ndarray")) and value.ndim == 1


def _numpy(name: str) -> Any:
    """Return a class of NumPy's; nothing is of one as long as it is not loaded."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else getattr(numpy, name)


def fall_silent(gateway: JavaGateway) -> None:
    """Tell Java nothing more: who still did when it is gone would print a traceback."""
    gateway._gateway_client.is_connected = False
    time.sleep(_SECONDS_TO_ANSWER)  # what a thread of Py4J's is just telling it is answered meanwhile


@contextmanager
def _started() -> Iterator[list[subprocess.Popen[Any]]]:
    """List the processes that Spark's own code starts; it forgets them if it is interrupted while it waits."""
    processes: list[subprocess.Popen[Any]] = []

    class Process(subprocess.Popen[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            processes.append(self)
            with signals_afterwards():
                super().__init__(*arguments, **options)

    original = java_gateway.Popen
    java_gateway.Popen = Process
    try:
        yield processes
    finally:
        java_gateway.Popen = original


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
