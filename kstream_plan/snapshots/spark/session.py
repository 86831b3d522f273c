"""One Spark, opened quietly and gone when done."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kstream_plan.errors import SparkError
from kstream_plan.snapshots.files.content import temporary_folder
from kstream_plan.snapshots.spark.class_archive import ClassArchive
from kstream_plan.snapshots.spark.failures import start_failure
from kstream_plan.snapshots.spark.find_java import Java, find_java
from kstream_plan.snapshots.spark.java_process import (
    Driver,
    crashed,
    end,
    end_after_archiving,
    needs_sparks_scripts,
    start_driver,
)
from kstream_plan.snapshots.spark.signals import ended_by_signal, interrupts_as_before, signals_afterwards

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

#: What Spark is with us unless told otherwise: no web interface, no progress bar, times in UTC.
_DEFAULTS = {
    "spark.app.name": "kstream-plan",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.maxResultSize": "0",
    # more than 32 files are looked up by a job of Spark's, which has a task for each unless told otherwise
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",
    # times as pandas writes them; else Spark reads no file that has one
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # where in Python a column was written down, for messages that nobody sees: two questions to Java for every column
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

#: On this machine alone nothing has to be reached from outside.
_LOCAL_DEFAULTS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
#: Whoever asks Java there has to know a secret that Spark makes anew; executors of other processes would need one too.
_LOCAL_SECRET = {"spark.authenticate": "true"}

#: Where Linux says how much memory a container may use.
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
#: Beyond this Java's references take twice the room.
_LARGEST_HEAP = 30 << 30

#: For little work: a Java that starts sooner and works slower, in a heap that begins small (else it begins with a
#: sixty-fourth of the machine), no code compiled for each query, few and small tasks.
_LITTLE_WORK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms32m",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.shuffle.partitions": "2",
}
_MUCH_WORK = {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}


#: Where executors on this machine find this package, if it is not installed.
_PACKAGES = str(Path(__file__).parents[3])


@contextmanager
def open_context(
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    *,
    java_home: str | None = None,
    debug: bool = False,
    little_work: bool = False,
    sql: bool = False,
) -> Iterator[SparkContext]:
    """Start Spark and end it with its Java; one that is active already is used as it is, and left open.

    What needs Spark SQL asks for it by :func:`sql_session`, which takes as long again as Spark without.

    Args:
        master: where Spark runs, by default on all cores of this machine.
        spark_conf: Spark's settings by name; they beat everything that is set here.
        java_home: the Java installation to use.
        debug: let what Java and Spark write through to standard error; else nothing of it is seen.
        little_work: there is so little to read that a quick start is worth more than speed.
        sql: Spark SQL will be needed; what it needs is loaded while Java starts.

    Raises:
        SparkError: there is no fitting Java, or Spark does not start.
    """
    active = _active_context()
    if active is not None:
        yield active
        return
    settings = _settings(master, spark_conf or {}, little_work)
    with (
        ended_by_signal(),
        temporary_folder() as folder,
        tempfile.TemporaryFile() as noise,
    ):
        starting = _Start(settings, java_home, debug, sql, folder, noise)
        with warnings.catch_warnings():
            if not debug:  # what PySpark says about a pandas that happens to be installed and is not used
                warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
            running = _start(starting)
            try:
                with _watched(running.context):
                    yield running.context
                _end(running, in_peace=True)
            except BaseException:
                _end(running)
                raise


@contextmanager
def open_session(
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    *,
    java_home: str | None = None,
    debug: bool = False,
    little_work: bool = False,
) -> Iterator[SparkSession]:
    """Start Spark with its SQL, as :func:`open_context` does without.

    Raises:
        SparkError: there is no fitting Java, or Spark does not start.
    """
    with open_context(
        master, spark_conf, java_home=java_home, debug=debug, little_work=little_work, sql=True
    ) as context:
        yield sql_session(context)


def sql_session(context: SparkContext) -> SparkSession:
    """Return the session of a Spark that runs, the active one if there is any.

    Raises:
        SparkError: it does not start.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - loaded with Spark
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    try:
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        raise start_failure(str(error), context.master) from None


def _watched(context: SparkContext) -> AbstractContextManager[None]:
    """End work that waits too long for a cluster; executors on this machine are always there."""
    if context.master.startswith("local"):
        return nullcontext()
    from kstream_plan.snapshots.spark.executors_awaited import executors_awaited  # noqa: PLC0415 - only for a cluster

    return executors_awaited(context)


class _Start(NamedTuple):
    settings: Mapping[str, str]
    java_home: str | None
    debug: bool
    sql: bool
    folder: Path
    noise: IO[bytes]


class _Running(NamedTuple):
    context: SparkContext
    gateway: JavaGateway
    driver: Driver | None


def _active_context() -> SparkContext | None:
    if "pyspark" not in sys.modules:
        return None
    from kstream_plan.snapshots.spark.private_names import active_context  # noqa: PLC0415 - takes its time

    return active_context()


def _settings(master: str | None, spark_conf: Mapping[str, str], little_work: bool) -> dict[str, str]:
    place = master or spark_conf.get("spark.master", "local[*]")
    if place.startswith("sc://"):
        raise SparkError(
            "Spark Connect (sc://) is not supported", fix="name a master such as local[*] or spark://host:7077"
        )
    memory = {"spark.driver.memory": f"{_heap_mebibytes()}m"}
    settings = {**_DEFAULTS, **memory, **(_LITTLE_WORK if little_work else _MUCH_WORK)}
    if place.startswith("local"):
        settings = {**_LOCAL_DEFAULTS, "spark.sql.shuffle.partitions": str(os.cpu_count() or 1), **settings}
    if place == "local" or place.startswith("local["):
        settings = {**_LOCAL_SECRET, **settings}
    return {**settings, **spark_conf, "spark.master": place}


def _heap_mebibytes() -> int:
    """Return a quarter of what this machine, or this container, has: at least a gibibyte."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        memory = min(memory, int(_CONTAINER_LIMIT.read_text()))
    return min(max(memory // 4, 1 << 30), _LARGEST_HEAP) >> 20


def _start(starting: _Start) -> _Running:
    """Start Java and Spark in it; once more without the class archive if Java dies of it."""
    if not starting.debug:
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        logging.getLogger().addFilter(_not_of_py4j)
    scripted = needs_sparks_scripts(starting.settings)
    java = find_java(starting.java_home, bundled_too=not scripted)
    output = sys.__stderr__ if starting.debug and sys.__stderr__ is not None else starting.noise
    if scripted:
        return _by_script(starting, java, output)
    settings = {**starting.settings, "spark.local.dir": str(starting.folder)}
    try:
        return _in_driver(starting, settings, java, output, archived=True)
    except _CrashedError as crash:
        crash.archive.discard()
        return _in_driver(starting, settings, java, output, archived=False)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Return False for what py4j logs past its own logger: the traceback of a call that was interrupted."""
    return Path(record.pathname).parent.name != "py4j"


class _CrashedError(Exception):
    """Java died while it started, and it used a class archive."""

    def __init__(self, archive: ClassArchive) -> None:
        super().__init__()
        self.archive = archive


def _in_driver(
    starting: _Start, settings: Mapping[str, str], java: Java, output: IO[Any], *, archived: bool
) -> _Running:
    driver = None
    try:
        with signals_afterwards():
            driver = start_driver(
                java,
                settings,
                starting.folder,
                output,
                may_write_archive=not starting.debug,
                archived=archived,
                sql=starting.sql,
            )
        from kstream_plan.snapshots.spark.gateway import connect  # noqa: PLC0415 - loads Spark, while Java starts

        for needed_next in ("pyarrow", "pyspark.sql.functions", "pyspark.sql.pandas.types") if starting.sql else ():
            import_module(needed_next)
        gateway = connect(driver, starting.noise)
        return _Running(_context(gateway, settings), gateway, driver)
    except BaseException as error:
        if driver is None:
            raise
        died_of_it = archived and isinstance(error, SparkError) and crashed(driver.process)
        from kstream_plan.snapshots.spark.private_names import forget_java  # noqa: PLC0415 - loads Spark

        with signals_afterwards():
            end(driver.process)
            forget_java()
        if died_of_it:
            driver.connection.unlink(missing_ok=True)
            raise _CrashedError(driver.archive) from None
        raise


def _by_script(starting: _Start, java: Java, output: IO[Any]) -> _Running:
    from pyspark import SparkConf  # noqa: PLC0415 - takes its time

    from kstream_plan.snapshots.spark.gateway import start_by_script  # noqa: PLC0415 - loads Spark
    from kstream_plan.snapshots.spark.private_names import forget_java  # noqa: PLC0415

    conf = SparkConf().setAll(list(starting.settings.items()))
    gateway = start_by_script(conf, java, output, starting.noise)
    try:
        return _Running(_context(gateway, starting.settings), gateway, None)
    except BaseException:
        with signals_afterwards():
            end(gateway.proc)
            forget_java()
        raise


def _context(gateway: JavaGateway, settings: Mapping[str, str]) -> SparkContext:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - loaded with Spark, when Java is under way
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from kstream_plan.snapshots.spark.private_names import ignore_accumulators, spare_pandas  # noqa: PLC0415

    spare_pandas()
    conf = SparkConf().setAll(list(settings.items()))
    os.environ["PYSPARK_PYTHON"] = settings.get(
        "spark.pyspark.python", os.environ.get("PYSPARK_PYTHON", sys.executable)
    )
    try:
        with interrupts_as_before():
            local = settings["spark.master"].startswith("local")
            environment = {"PYTHONPATH": _PACKAGES} if local else {}
            context = SparkContext(conf=conf, gateway=gateway, environment=environment)
        ignore_accumulators(context)
        return context
    except (Py4JError, PySparkException, OSError) as error:
        raise start_failure(str(error), settings["spark.master"]) from None


def _end(running: _Running, *, in_peace: bool = False) -> None:
    """End Java; a cluster is told so, and an archive that is to be written is written afterwards."""
    from kstream_plan.snapshots.spark.private_names import fall_silent, forget_java  # noqa: PLC0415 - loaded already

    local = running.context.master.startswith("local")
    if in_peace and not local:
        with suppress(Exception):
            running.context.stop()
    with signals_afterwards():
        fall_silent(running.gateway)
        if in_peace and running.driver is not None and running.driver.archive.lock is not None:
            end_after_archiving(running.driver.process)
        else:
            end(running.gateway.proc)
        forget_java()
