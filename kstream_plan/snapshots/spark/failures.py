"""What Spark's exceptions mean: one clear error, not a Java stack trace. Nothing here imports Spark before it fails."""

from __future__ import annotations

import errno
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote

from kstream_plan.errors import KstreamPlanError, SparkError
from kstream_plan.snapshots.files.kinds import BrokenFileError, broken_gzip
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.version import __version__

_FILE = re.compile(r"(?:reading|read) file:? ?(\S+?)\.?\s|(?:[Pp]ath|File) does not exist: (\S+?)\.?\s")
_CAUSE = re.compile(r"(?:^|^: |Caused by: )(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (.*)", re.MULTILINE)
_NO_FILE_SYSTEM = re.compile(
    r'No FileSystem for scheme "?(\w+)|ClassNotFoundException: Class org\.apache\.hadoop\.fs\.(\w+)'
)
_NO_PROGRAM = re.compile(
    r"No module named '[^']*'|Cannot run program \"[^\"]*\"|"
    r"kstream-plan (?:is not|\d\S* is) installed for .+? on [^\s,]+(?:, and \d\S* here)?"
)
#: On which host a task failed that Spark gave up; of what Python raises there Spark leaves that out.
_EXECUTOR = re.compile(r"\(TID \d+\) \((\S+) executor \d+\)")
#: What a Python that ends at once, such as one too old for Spark, comes out as.
_NO_DAEMON = "reading the port number from pyspark.daemon"
#: How the reason begins for which a job was ended that nobody worked on, and the setting for after how long.
NO_EXECUTOR, EXECUTOR_TIMEOUT = "no executor of the cluster has worked", "spark.kstream-plan.executorTimeout"
_NO_EXECUTOR = re.compile(rf"{NO_EXECUTOR} for [\d,]+ s")
_EXECUTOR_DIED = re.compile(r"ExecutorLostFailure \(.*?\)(?: Reason: (.*))?")
#: What a full disk comes out as: in the write, or when what was written is read again.
_TORN = ("No space left on device", "Stream ended prematurely")
_ROOM = "make room there, or name another folder by TMPDIR, on a cluster by --spark-conf spark.local.dir=FOLDER"
#: With what HotSpot ends itself when the heap is full (``-XX:+ExitOnOutOfMemoryError``).
_OUT_OF_MEMORY = 3
#: A process that has just closed its connections may need this long to end.
_SECONDS_TO_END = 1.0
_GZIP_FAILURES = (
    "Unexpected end of input stream",
    "not a gzip file",
    "GZIP",
    "header check",
    "data check",
    "invalid block",
)


def spark_failure(
    message: str, names: Mapping[str, str], default: str = "Spark could not read the input"
) -> BrokenFileError | SparkError:
    """Return the error for an exception of Spark.

    Args:
        message: the exception as text, with the Java stack trace.
        names: the name by which people know each file, by :func:`plain_path`.
        default: what to say if it is about no file.
    """
    causes = _CAUSE.findall(message)
    reason = printable((causes[-1] if causes else message.strip().partition("\n")[0]).strip()).rstrip(".")
    error = _no_file_system(message, reason) or _cluster_failure(message)
    if error is not None:
        return error
    if "OutOfMemoryError" in message:
        return out_of_memory()
    file_match = _FILE.search(message)
    if file_match is None:
        return SparkError(f"{default}: {reason}", fix=_ROOM if _TORN[0] in message else "see more with --debug")
    path = plain_path(file_match[1] or file_match[2])
    name = names.get(path, path)
    if any(failure in message for failure in _GZIP_FAILURES):
        return broken_gzip(name, reason[:1].lower() + reason[1:])
    if "CANNOT_READ_FILE_FOOTER" in message:
        return BrokenFileError(name, "begins like Parquet but is not a whole Parquet file", "copy it again")
    return BrokenFileError(name, f"cannot be read: {reason}", "check the file, or see more with --debug")


def _no_file_system(message: str, reason: str) -> SparkError | None:
    if _NO_FILE_SYSTEM.search(message) is None:
        return None
    fix = "add it, as with --spark-conf spark.jars.packages=org.apache.hadoop:hadoop-aws:<Hadoop's version> for s3a"
    return SparkError(f"Spark has no file system for such paths: {reason}", fix=fix)


def _cluster_failure(message: str) -> SparkError | None:
    """Return the error if it is the cluster that failed."""
    none = _NO_EXECUTOR.search(message)
    if none is not None:
        fix = (
            "check that its workers are up, have cores and memory free and can start executors (their logs say why "
            "not), ask for less with --spark-conf spark.executor.memory=512m, or wait longer with --spark-conf "
            f"{EXECUTOR_TIMEOUT}=30m"
        )
        return SparkError(none[0], fix=fix)
    died = _EXECUTOR_DIED.search(message)
    if died is not None:
        reason = f": {printable(died[1].strip()).rstrip('.')}" if died[1] else ""
        fix = "give them more memory, as with --spark-conf spark.executor.memory=4g; their logs say more"
        return SparkError(f"executors died while they worked{reason}", fix=fix)
    if "SparkContext was shut down" in message or "stopped SparkContext" in message:
        fix = "its logs say why: perhaps executors do not start there, or the job was ended"
        return SparkError("the cluster ended this application", fix=fix)
    return None


def executor_failure(message: str, names: Mapping[str, str]) -> BrokenFileError | SparkError:
    """Return the error for an exception of work on the executors."""
    program_match = _NO_PROGRAM.search(message)
    if program_match is not None or "PYTHON_VERSION_MISMATCH" in message or _NO_DAEMON in message:
        if program_match is not None:
            problem = program_match[0]
        elif _NO_DAEMON in message:
            problem = "their Python does not start as a worker, perhaps it is too old"
        else:
            problem = "they have another version of Python"
        fix = (
            f"install there what is installed here (pip install kstream-plan=={__version__}), and name its Python by "
            "--spark-conf spark.pyspark.python=PATH"
        )
        host = _EXECUTOR.search(message)
        executor = f"the executor on {printable(host[1])}" if host else "the executors"
        return SparkError(f"{executor} cannot run this tool: {printable(problem)}", fix=fix)
    if "Python worker exited unexpectedly" in message:
        fix = "give it more memory, or plan fewer applications at once with --application-id"
        return SparkError("a Python worker of Spark's died, perhaps for want of memory", fix=fix)
    if any(torn in message for torn in _TORN):
        return SparkError("what Spark keeps on disk meanwhile is torn, probably for want of space", fix=_ROOM)
    return spark_failure(message, names, "Spark could not plan on its executors")


def no_room(error: OSError) -> SparkError | None:
    """Return the error if Python could not write what Spark is to be given; ``None`` if it is another one."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return None
    problem = f"what Spark is given cannot be written: {error.strerror}"
    return SparkError(problem, where=error.filename or tempfile.gettempdir(), fix=_ROOM)


def writing_failure(path: str) -> Callable[[str, Mapping[str, str]], SparkError]:
    """Return a function that turns an exception of writing to ``path`` into its error."""

    def failure(message: str, names: Mapping[str, str]) -> SparkError:
        error = spark_failure(message, names, "Spark could not write")
        fix = "check the disk and who may write there, or see more with --debug"
        is_explained = isinstance(error, SparkError) and not error.what.startswith("Spark could not write")
        return SparkError(error.what, where=f"--out {printable(path)}", fix=error.fix if is_explained else fix)

    return failure


def start_failure(message: str, master: str) -> SparkError:
    """Return the error for an exception of Spark's start."""
    if "stopped SparkContext" in message or "masters are unresponsive" in message:
        fix = "check spark.master, and that it is up; without it Spark runs on this machine"
        return SparkError(f"the Spark master {printable(master)} cannot be reached", fix=fix)
    failure = spark_failure(message, {}, "Spark did not start")
    if not master.startswith("local") and failure.what.startswith("Spark did not start"):
        fix = "check spark.master, what it needs in the environment, and that it is up; or see more with --debug"
        return SparkError(failure.what, where=f"spark.master={printable(master)}", fix=fix)
    return (
        failure if isinstance(failure, SparkError) else SparkError(failure.what, where=failure.where, fix=failure.fix)
    )


def plain_path(uri: str) -> str:
    """Return a path as this program names it: without ``file:`` and percent signs."""
    path = unquote(uri)
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def why_java_ended(process: subprocess.Popen[bytes] | None) -> SparkError | None:
    """Return the error if the Java process that was started has ended by itself; ``None`` if it goes on."""
    if process is None:
        return None
    try:
        code = process.wait(timeout=_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        return None
    if code == _OUT_OF_MEMORY:
        options = process.args if isinstance(process.args, list) else []
        heaps = (str(option).removeprefix("-Xmx") for option in options if str(option).startswith("-Xmx"))
        return out_of_memory(next(heaps, None))
    return SparkError(f"Java ended while it read the input (exit code {code})", fix="see more with --debug")


def out_of_memory(heap: str | None = None) -> SparkError:
    """Return the error for a Java whose heap was too small, of this size if it is known (``2g``)."""
    problem = "Java ran out of memory" if heap is None else f"Java ran out of memory: it had {heap}"
    return SparkError(problem, fix="give it more, as with --spark-conf spark.driver.memory=8g")


@contextmanager
def explained(
    names: Mapping[str, str], failure: Callable[[str, Mapping[str, str]], KstreamPlanError] = spark_failure
) -> Iterator[None]:
    """Turn whatever Spark raises into one clear error; also if Java is gone, which nothing can be asked any more.

    ``failure`` tells what Spark's own exceptions stand for.

    Raises:
        SnapshotError: a file cannot be read.
        SparkError: Spark gave up.
    """
    try:
        yield
    except Exception as error:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is loaded, and has failed
        from pyspark.errors import PySparkException  # noqa: PLC0415

        from kstream_plan.snapshots.spark.private_names import java_process, java_stack_trace  # noqa: PLC0415

        java_error = why_java_ended(java_process())
        if java_error is not None:
            raise java_error from None
        disk_error = no_room(error) if isinstance(error, OSError) else None
        if disk_error is not None:
            raise disk_error from None
        if not isinstance(error, PySparkException | Py4JError):
            raise
        raise failure(f"{error}\n{java_stack_trace(error)}", names) from None
