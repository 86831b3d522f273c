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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

_MOST_SECONDS = 600

POM = Path(__file__).parents[1] / "kafka" / "pom.xml"
#: The Maven project of the class that follows a target file.
PLUGIN = Path(__file__).parents[2] / "kstream_plan" / "plugin"
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


def plugin_jar(version: str = DEFAULT_VERSION) -> Path:
    """Return the jar of the plug-in, built against a release, without its tests.

    Raises:
        RuntimeError: as in :func:`class_path`.
    """
    inputs = [PLUGIN / "pom.xml", *sorted(PLUGIN.glob("src/main/**/*.java"))]
    folder = _made("plugin", version, inputs, lambda folder: _package(folder, version))
    (jar,) = folder.glob("*.jar")
    return jar


def _package(folder: Path, version: str) -> None:
    with tempfile.TemporaryDirectory() as project:
        shutil.copytree(PLUGIN, project, dirs_exist_ok=True)
        package(Path(project), version, "-DskipTests")
        (jar,) = Path(project, "target").glob("*.jar")
        folder.mkdir()
        shutil.copy(jar, folder)


def package(project: Path, version: str, *options: str) -> None:
    """Run ``mvn package`` in a copy of the plug-in's project.

    Raises:
        RuntimeError: Maven is missing, or fails: a test as well.
    """
    _run(["mvn", "-q", "-B", "-f", str(project / "pom.xml"), f"-Dkafka.version={version}", *options, "package"])


@contextmanager
def maven_s_turn() -> Iterator[None]:
    """Wait until no other process of these tests runs Maven, which does not share its own repository with another."""
    _cache().mkdir(parents=True, exist_ok=True)
    with (_cache() / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _made(kind: str, version: str, inputs: Sequence[Path], make: Callable[[Path], None]) -> Path:
    """Return the folder for these inputs; if there is none yet, make it, at once or not at all."""
    digest = sha256(b"\0".join(path.read_bytes() for path in inputs)).hexdigest()[:12]
    folder = _cache() / f"{kind}-{version}-{digest}"
    if not folder.is_dir():
        with maven_s_turn(), tempfile.TemporaryDirectory(dir=folder.parent) as result:
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
