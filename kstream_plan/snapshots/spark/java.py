"""The Java runtime that Spark needs: where it is, and what to say if there is none or it is too old."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kstream_plan.errors import SparkError

#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA = 17

_FIX = f"install Java {OLDEST_JAVA} or newer, or name one with --java-home"
_THREAD = re.compile(r'^Exception in thread "[^"]*" (?:[\w.$]+: )?')
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(java_home: str | None) -> Path:
    """Return the ``java`` program that Spark will start.

    Args:
        java_home: a Java installation; ``None`` takes ``JAVA_HOME``, else what the shell finds.

    Raises:
        SparkError: there is none.
    """
    home = java_home or os.environ.get("JAVA_HOME")
    if home:
        program = Path(home, "bin", "java")
        if os.access(program, os.X_OK):
            return program
        named = "--java-home" if java_home else "JAVA_HOME"
        raise SparkError(f"there is no Java runtime in {home!r} ({named}): no bin/java", fix=_FIX)
    found = shutil.which("java")
    if found is None:
        raise SparkError("no Java runtime was found: Spark reads the snapshots, and it needs one", fix=_FIX)
    return Path(found)


def why_spark_failed(program: Path, said: str) -> SparkError:
    """Return the error for a Java process that did not become Spark.

    Args:
        program: the ``java`` that was started.
        said: what it wrote before it ended.
    """
    version = java_version(program)
    if version is not None and version < OLDEST_JAVA:
        return SparkError(f"Java {version} at {str(program)!r} is too old for Spark", fix=_FIX)
    complaints = [
        line.strip() for line in said.splitlines() if re.search("error|exception|invalid", line, re.IGNORECASE)
    ]
    reason = f": {_THREAD.sub('', complaints[0])}" if complaints else ""
    return SparkError(f"Spark did not start{reason}", fix="check --spark-conf and --master, or see more with --debug")


def java_version(program: Path) -> int | None:
    """Return the major version of a ``java`` program, ``None`` if it does not tell."""
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(told.stderr + told.stdout)
    return int(match[1]) if match else None
