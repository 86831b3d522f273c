"""Kafka's own jars, of any release, and small Java programs on top of them.

``kafka/pom.xml`` says which jars; Maven fetches them once per release into a cache folder (``$KAFKA_TESTS_CACHE``, by
default ``~/.cache/kstream-plan-kafka``). It needs ``mvn`` and a JDK 17 or newer, and the network the first time.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

_MOST_SECONDS = 600

POM = Path(__file__).parents[1] / "kafka" / "pom.xml"
#: The release that everything is compared with, unless another one is asked for.
DEFAULT_VERSION = re.findall(r"<kafka\.version>(.*?)<", POM.read_text(encoding="utf-8"))[0]


def class_path(sources: Sequence[Path], version: str = DEFAULT_VERSION, pom: Path = POM) -> str:
    """Return the class path of a release's jars, which ``pom`` names, and of those programs, compiled against them.

    Raises:
        RuntimeError: Maven or the compiler is missing, or fails: there is no such release, or its classes have changed.
    """
    jars = _made("jars", version, [pom], lambda folder: _fetch(folder, version, pom))
    classes = _made("classes", version, [pom, *sources], lambda folder: _compile(folder, jars, sources))
    return f"{classes}{os.pathsep}{jars}/*"


def _made(kind: str, version: str, inputs: Sequence[Path], make: Callable[[Path], None]) -> Path:
    """Return the folder for these inputs; if there is none yet, make it, at once or not at all."""
    digest = sha256(b"\0".join(path.read_bytes() for path in inputs)).hexdigest()[:12]
    folder = _cache() / f"{kind}-{version}-{digest}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.parent / "turn", "w") as turn, tempfile.TemporaryDirectory(dir=folder.parent) as result:
            fcntl.flock(turn, fcntl.LOCK_EX)  # Maven does not share its own repository with another Maven
            if not folder.is_dir():
                make(Path(result, kind))
                os.rename(Path(result, kind), folder)
    return folder


def _cache() -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "kstream-plan-kafka")
    return Path(os.environ.get("KAFKA_TESTS_CACHE") or default).expanduser().absolute()


def _fetch(folder: Path, version: str, pom: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    _run(["mvn", "-q", "-B", "-f", str(pom), f"-Dkafka.version={version}", *goal])


def _compile(folder: Path, jars: Path, sources: Sequence[Path]) -> None:
    _run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), *map(str, sources)])


def _run(command: Sequence[str]) -> None:
    if shutil.which(command[0]) is None:
        raise RuntimeError(f"{command[0]} is needed: install Maven and a JDK 17 or newer")
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=_MOST_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-4000:]}")
