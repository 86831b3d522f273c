"""The Java process that Spark runs in, started straight away: Spark's scripts start another Java to find out how."""

from __future__ import annotations

import os
import shlex
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

from kstream_plan.snapshots.spark.class_archive import ClassArchive, class_archive
from kstream_plan.snapshots.spark.find_java import Java, why_spark_failed

#: What Spark reaches into (``org.apache.spark.launcher.JavaModuleOptions``), without the incubating vector module: a
#: runtime need not have it, and reading JSON and Parquet does not use it.
_OPENED = (
    *(
        f"java.base/{package}"
        for package in (
            *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util"),
            *("java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs"),
            *("sun.security.action", "sun.util.calendar"),
        )
    ),
    "java.security.jgss/sun.security.krb5",
)
_JAVA_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-XX:-UsePerfData",
    # half a Java, whose threads died one by one, can neither go on nor say why
    "-XX:+ExitOnOutOfMemoryError",
)

#: With any of these Spark's own scripts have to put Java's command line together.
_FOR_SPARKS_SCRIPTS = (
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "SPARK_DIST_CLASSPATH", "SPARK_DRIVER_MEMORY"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "SPARK_JAVA_OPTS", "SPARK_PREPEND_CLASSES"),
)
_FOR_SPARKS_SCRIPTS_CONF = (
    *("spark.driver.extraClassPath", "spark.driver.extraLibraryPath", "spark.driver.defaultJavaOptions"),
    "spark.driver.memoryOverhead",
)

_POLL_SECONDS = 0.005

_awaited: ContextVar[bool] = ContextVar("archives are awaited", default=False)


def needs_sparks_scripts(settings: Mapping[str, str]) -> bool:
    """Tell whether there are settings that only Spark's own scripts understand."""
    has_variable = any(os.environ.get(name) for name in _FOR_SPARKS_SCRIPTS)
    return has_variable or any(name in settings for name in _FOR_SPARKS_SCRIPTS_CONF)


class Driver(NamedTuple):
    """A started Java process, its class archive, and the file to which it writes its port."""

    process: subprocess.Popen[bytes]
    archive: ClassArchive
    connection: Path


def start_driver(
    java: Java,
    settings: Mapping[str, str],
    folder: Path,
    output: IO[Any],
    *,
    may_write_archive: bool,
    archived: bool,
    sql: bool,
) -> Driver:
    """Start Spark's driver in a process group of its own; it ends when this process does.

    Args:
        java: the runtime.
        settings: Spark's settings.
        folder: for whatever Java and Spark write while they work.
        output: what takes the process's output.
        may_write_archive: let it write a class archive at its end if there is none.
        archived: use a class archive if there is one.
        sql: use one with the classes of Spark SQL.
    """
    jars = sparks_jars()
    archive = class_archive(java, jars, may_write=may_write_archive, sql=sql) if archived else ClassArchive()
    connection = folder / "connection"
    environment = {
        **os.environ,
        "SPARK_HOME": str(_spark_home()),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
    }
    try:
        process = subprocess.Popen(
            [
                java.program,
                *_java_options(settings, folder),
                *archive.options,
                *("-cp", os.pathsep.join(map(str, jars))),
                "org.apache.spark.deploy.SparkSubmit",
                *(f"--conf={name}={value}" for name, value in settings.items()),
                "pyspark-shell",
            ],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment,
            process_group=0,
            pass_fds=() if archive.lock is None else (archive.lock,),
        )
    finally:
        archive.close()
    return Driver(process, archive, connection)


def sparks_jars() -> list[Path]:
    """Return the classes of the installed Spark, in the order in which Java is given them."""
    return sorted((_spark_home() / "jars").glob("*.jar"))


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _java_options(settings: Mapping[str, str], folder: Path) -> list[str]:
    return [
        f"-Xmx{settings['spark.driver.memory']}",
        *_JAVA_OPTIONS,
        f"-Djava.io.tmpdir={folder}",
        f"-XX:ErrorFile={folder / 'crash.log'}",
        "-XX:-CreateCoredumpOnCrash",
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        *shlex.split(settings.get("spark.driver.extraJavaOptions", "")),
    ]


def listening(driver: Driver, noise: IO[bytes]) -> tuple[int, str]:
    """Wait until Spark listens; return its port and the secret to talk to it.

    Raises:
        SparkError: the process ended instead; ``noise`` holds what it wrote.
    """
    while not driver.connection.exists():
        if driver.process.poll() is not None and not driver.connection.exists():
            noise.seek(0)
            raise why_spark_failed(noise.read().decode("utf-8", "replace"))
        time.sleep(_POLL_SECONDS)
    content = driver.connection.read_bytes()
    port, length = struct.unpack_from(">ii", content)
    return port, content[8 : 8 + length].decode()


def crashed(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether Java died of a memory error, as it does of a broken archive."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(timeout=1) in (-signal.SIGBUS, -signal.SIGSEGV, -signal.SIGABRT)
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """End Java and what it has started, at once: all that it has written is in a folder that we delete."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # not by wait(): a signal that came within a poll may have left the lock taken that it would wait for
        with suppress(ChildProcessError):
            _, status = os.waitpid(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)


@contextmanager
def archives_awaited() -> Iterator[None]:
    """Wait within for every Java that writes an archive at its end."""
    token = _awaited.set(True)
    try:
        yield
    finally:
        _awaited.reset(token)


def end_after_archiving(process: subprocess.Popen[bytes]) -> None:
    """Let Java write its archive and end by itself, at the lowest priority unless it is awaited."""
    if not _awaited.get():
        with suppress(OSError):
            os.setpriority(os.PRIO_PGRP, process.pid, 19)
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    if _awaited.get():
        process.wait()
