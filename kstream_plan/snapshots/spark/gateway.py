"""The connection from here to Spark's Java process, which is started for it and ends with us."""

from __future__ import annotations

import subprocess
from typing import IO, Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.errors import PySparkException

from kstream_plan.snapshots.spark.find_java import Java, why_spark_failed
from kstream_plan.snapshots.spark.java_process import Driver, end, listening
from kstream_plan.snapshots.spark.private_names import connect_to, environment, launch_by_script
from kstream_plan.snapshots.spark.signals import signals_afterwards


def connect(driver: Driver, noise: IO[bytes]) -> JavaGateway:
    """Return the connection to a driver that was started here.

    Raises:
        SparkError: it does not become Spark.
    """
    gateway = connect_to(*listening(driver, noise))
    gateway.proc = driver.process
    return gateway


def start_by_script(conf: SparkConf, java: Java, output: IO[Any], noise: IO[bytes]) -> JavaGateway:
    """Start Java by Spark's own scripts, which read the settings of an installed Spark; else as a driver of ours.

    Raises:
        SparkError: it does not become Spark.
    """
    processes: list[subprocess.Popen[Any]] = []

    class Process(subprocess.Popen[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            processes.append(self)
            with signals_afterwards():
                super().__init__(*arguments, **options)

    in_its_home = java.program == java.home / "bin" / "java"  # else it only leads to the real one
    with environment({"JAVA_HOME": str(java.home)} if in_its_home else {}):
        try:
            return launch_by_script(conf, output, Process)
        except (PySparkException, OSError):
            noise.seek(0)
            raise why_spark_failed(noise.read().decode("utf-8", "replace")) from None
        except BaseException:
            for process in processes:
                if hasattr(process, "pid"):
                    end(process)
            raise
