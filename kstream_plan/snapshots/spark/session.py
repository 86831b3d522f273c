"""One Spark session, opened quietly and stopped when done."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.spark.failures import start_failure
from kstream_plan.snapshots.spark.gateway import end, start_java

#: What a session of ours is unless told otherwise: no web interface, no progress bar, times in UTC.
_DEFAULTS = {
    "spark.app.name": "kstream-plan",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
}

#: On this machine alone nothing has to be reached from outside.
_LOCAL_DEFAULTS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

#: For little work: a Java that starts sooner and works slower, and no code compiled for each query.
_LITTLE_WORK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def open_session(
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    *,
    java_home: str | None = None,
    debug: bool = False,
    little_work: bool = False,
) -> Iterator[SparkSession]:
    """Open a session and stop it at the end; a session that is active already is used as it is, and left open.

    Args:
        master: where Spark runs, by default on all cores of this machine.
        spark_conf: Spark's settings by name; they beat everything that is set here.
        java_home: the Java installation to use.
        debug: let what Java and Spark write through to standard error; else nothing of it is seen.
        little_work: there is so little to read that a quick start is worth more than speed.

    Raises:
        SparkError: there is no fitting Java, or Spark does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = _start(_settings(master, spark_conf or {}, little_work), java_home, debug)
    try:
        yield session
    except Exception:
        raise
    except BaseException:  # an interrupt: do not wait for what Spark is doing
        _end_java()
        raise
    finally:
        with suppress(Py4JError, PySparkException, OSError):
            session.stop()


def _settings(master: str | None, spark_conf: Mapping[str, str], little_work: bool) -> dict[str, str]:
    place = master or spark_conf.get("spark.master", "local[*]")
    if place.startswith("sc://"):
        raise SparkError(
            "Spark Connect (sc://) is not supported", fix="name a master such as local[*] or spark://host:7077"
        )
    settings = {**_DEFAULTS, **(_LITTLE_WORK if little_work else {})}
    if place.startswith("local"):
        settings |= {**_LOCAL_DEFAULTS, "spark.sql.shuffle.partitions": str(os.cpu_count() or 1)}
    return {**settings, **spark_conf, "spark.master": place}


def _start(settings: Mapping[str, str], java_home: str | None, debug: bool) -> SparkSession:
    conf = SparkConf().setAll(list(settings.items()))
    if not debug:
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with tempfile.TemporaryFile() as noise:
        gateway = SparkContext._gateway or start_java(conf, noise, java_home, debug)
        try:
            with _interrupts_as_before():
                SparkContext(conf=conf, gateway=gateway)
            return SparkSession.builder.config(conf=conf).getOrCreate()
        except (Py4JError, PySparkException, OSError) as error:
            raise start_failure(str(error), settings["spark.master"]) from None
        except BaseException:
            _end_java(gateway)
            raise


def _end_java(gateway: JavaGateway | None = None) -> None:
    """End the Java process, if it is ours, and forget what Spark remembers of it."""
    gateway = SparkContext._gateway or gateway
    process = getattr(gateway, "proc", None)
    if process is not None:
        end(process)
        SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def _interrupts_as_before() -> Iterator[None]:
    """Undo that Spark takes interrupts for itself: in its hands they come with errors of what they interrupted."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
