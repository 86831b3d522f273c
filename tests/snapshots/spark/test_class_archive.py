"""The archive of Java's classes: whatever is in its folder, every run answers."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kstream_plan.snapshots.spark import class_archive as module
from kstream_plan.snapshots.spark.class_archive import NO_ARCHIVE, ClassArchive, class_archive
from kstream_plan.snapshots.spark.find_java import Java
from tests.helpers.captured import REAL

FINISHED = (0xF00BABA8).to_bytes(4, "little") + b"classes"
SNAPSHOT = str(REAL / "scale-out" / "before.json")


def starts_java(test: Callable[..., None]) -> Callable[..., None]:
    """Marks what starts Java with archives of its own, beside the others that start one."""
    return pytest.mark.spark(pytest.mark.xdist_group("archives of Java's classes")(test))


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """A runtime with an archive of its own, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(module.NO_CACHE_VARIABLE, raising=False)
    monkeypatch.setattr(module, "_BYTES_NEEDED", 1)
    own = tmp_path / "jdk" / "lib" / "server" / "classes.jsa"
    own.parent.mkdir(parents=True)
    own.touch()
    return Java(tmp_path / "jdk" / "bin" / "java", 17)


def written(archive: ClassArchive) -> Path:
    """The file that Java would write."""
    (option,) = (option for option in archive.options if "ArchiveClassesAtExit" in option)
    return Path(option.partition("=")[2])


def finish(archive: ClassArchive, content: bytes = FINISHED) -> None:
    written(archive).write_bytes(content)
    archive.close()


def test_the_first_run_writes_and_the_second_reads(java: Java) -> None:
    finish(class_archive(java, [], may_write=True, sql=True))
    again = class_archive(java, [], may_write=True, sql=True)
    assert again.lock is None
    assert again.options[0].startswith("-XX:SharedArchiveFile=")
    assert Path(again.options[0].partition("=")[2]).read_bytes() == FINISHED
    assert class_archive(java, [], may_write=False, sql=True) == again


def test_who_can_do_without_sql_does_not_load_it_for_an_archive(java: Java) -> None:
    finish(class_archive(java, [], may_write=True, sql=False))
    without = class_archive(java, [], may_write=True, sql=False)
    assert without.lock is None
    finish(class_archive(java, [], may_write=True, sql=True))
    assert class_archive(java, [], may_write=True, sql=True).lock is None
    assert class_archive(java, [], may_write=True, sql=False) == without
    Path(without.options[0].partition("=")[2]).unlink()
    assert class_archive(java, [], may_write=True, sql=False).lock is None, "one with SQL is as good"


@pytest.mark.parametrize("why", ["may not", "no room", "another writes"])
def test_where_none_with_sql_can_be_written_one_without_is_better_than_none(
    why: str, java: Java, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(class_archive(java, [], may_write=True, sql=False))
    without = class_archive(java, [], may_write=True, sql=False)
    if why == "no room":
        monkeypatch.setattr(module, "_BYTES_NEEDED", 1 << 60)
    if why == "another writes":
        assert class_archive(java, [], may_write=True, sql=True).lock is not None
    assert class_archive(java, [], may_write=why != "may not", sql=True) == without


def test_one_run_writes_at_a_time(java: Java) -> None:
    first = class_archive(java, [], may_write=True, sql=True)
    assert first.lock is not None
    assert class_archive(java, [], may_write=True, sql=True).options == ()
    first.close()
    second = class_archive(java, [], may_write=True, sql=True)
    assert second.lock is not None
    second.close()


@pytest.mark.parametrize("left", [b"", b"\0\0\0\0half of it", b"garbage"])
def test_what_was_not_finished_is_written_anew(left: bytes, java: Java) -> None:
    finish(class_archive(java, [], may_write=True, sql=True), left)
    again = class_archive(java, [], may_write=True, sql=True)
    assert again.lock is not None
    assert not written(again).exists()
    again.close()


@pytest.mark.parametrize("content", [FINISHED[:-1], b"", b"garbage" + FINISHED[7:], FINISHED + b"more"])
def test_what_is_not_as_it_was_finished_is_written_anew(content: bytes, java: Java) -> None:
    finish(class_archive(java, [], may_write=True, sql=True))
    archive = Path(class_archive(java, [], may_write=True, sql=True).options[0].partition("=")[2])
    archive.write_bytes(content)
    again = class_archive(java, [], may_write=True, sql=True)
    assert again.lock is not None
    assert not archive.exists()
    again.close()


def test_another_spark_or_java_has_another_archive(java: Java, tmp_path: Path) -> None:
    jar = tmp_path / "spark.jar"
    jar.touch()
    finish(class_archive(java, [jar], may_write=True, sql=True))
    assert class_archive(java, [jar], may_write=False, sql=True).options
    jar.write_text("another")
    assert class_archive(java, [jar], may_write=False, sql=True) == NO_ARCHIVE


def test_a_cache_that_cannot_be_written_does_no_harm(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert class_archive(java, [], may_write=True, sql=True) == NO_ARCHIVE


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_cache_in_which_others_may_write_is_not_used(mode: int, java: Java, tmp_path: Path) -> None:
    finish(class_archive(java, [], may_write=True, sql=True))
    assert class_archive(java, [], may_write=True, sql=True).options
    (tmp_path / "cache").chmod(mode)
    assert class_archive(java, [], may_write=True, sql=True) == NO_ARCHIVE


def test_a_cache_of_somebody_else_is_not_used(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(class_archive(java, [], may_write=True, sql=True))
    assert class_archive(java, [], may_write=True, sql=True).options
    if os.getuid() == 0:
        os.chown(tmp_path / "cache", 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert class_archive(java, [], may_write=True, sql=True) == NO_ARCHIVE


def test_a_disk_without_room_does_no_harm(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BYTES_NEEDED", 1 << 60)
    assert class_archive(java, [], may_write=True, sql=True) == NO_ARCHIVE


def test_it_can_be_turned_off(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.NO_CACHE_VARIABLE, "1")
    assert class_archive(java, [], may_write=True, sql=True) == NO_ARCHIVE


def test_what_nobody_uses_any_more_is_deleted(java: Java, tmp_path: Path) -> None:
    finish(class_archive(java, [], may_write=True, sql=True))
    old = tmp_path / "cache" / "kstream-plan" / "class-archives" / "old"
    old.mkdir()
    (old / "lock").touch()
    os.utime(old / "lock", (0, 0))
    assert class_archive(java, [], may_write=True, sql=True).options
    assert not old.exists()


def test_a_discarded_archive_is_gone(java: Java) -> None:
    finish(class_archive(java, [], may_write=True, sql=True))
    class_archive(java, [], may_write=True, sql=True).discard()
    assert class_archive(java, [], may_write=False, sql=True) == NO_ARCHIVE


def plan(cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kstream_plan", "assign", SNAPSHOT, "--output", "json"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def answer(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "")
    return out


def writers(cache: Path) -> list[int]:
    """The Java processes that still write an archive."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{cache}/" in (process / "cmdline").read_text():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def wait_for_writers(cache: Path) -> None:
    """A process that ends gives up its memory, and with it its command line, before it lets go of its lock."""
    deadline = time.monotonic() + 240
    while writers(cache) or is_locked(cache):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def is_locked(cache: Path) -> bool:
    (path,) = cache.glob("*/class-archives/*/lock")
    with path.open("r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A cache that four runs at once have filled, where a first one was killed half way; and the answer of them all."""
    cache = tmp_path_factory.mktemp("cache")
    expected = answer(plan(cache))
    kill_half_way(cache)
    assert not module._is_finished(archive_in(cache))
    assert {answer(process) for process in [plan(cache) for _ in range(4)]} == {expected}
    assert len(writers(cache)) <= 1
    wait_for_writers(cache)
    yield cache, expected
    shutil.rmtree(cache)


def kill_half_way(cache: Path) -> None:
    (writer,) = writers(cache)
    assert os.getpriority(os.PRIO_PROCESS, writer) == 19
    deadline = time.monotonic() + 240
    while not [path for path in cache.glob("*/class-archives/*/core.new") if path.stat().st_size > 1 << 20]:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    kill_writers(cache)


def kill_writers(cache: Path) -> None:
    for writer in writers(cache):
        with suppress(ProcessLookupError):
            os.kill(writer, signal.SIGKILL)
    wait_for_writers(cache)


def archive_in(cache: Path) -> Path:
    (path,) = cache.glob("*/class-archives/*/core*")
    return path


@starts_java
def test_after_a_writer_killed_half_way_four_runs_at_once_leave_one_archive(filled: tuple[Path, str]) -> None:
    cache, expected = filled
    assert archive_in(cache).name == "core.new"
    assert answer(plan(cache)) == expected
    assert archive_in(cache).suffix == ".jsa"
    assert writers(cache) == []


@starts_java
@pytest.mark.parametrize("harm", ["truncated", "garbage", "garbage inside"])
def test_a_damaged_archive_does_no_harm(harm: str, filled: tuple[Path, str], tmp_path: Path) -> None:
    cache, expected = filled
    shutil.copytree(cache, tmp_path / "cache")
    archive = archive_in(tmp_path / "cache")
    if archive.suffix == ".new":
        archive = archive.rename(archive.with_name(f"core-{archive.stat().st_size}.jsa"))
    archive.chmod(0o600)
    size = archive.stat().st_size
    with archive.open("r+b") as file:
        if harm == "truncated":
            file.truncate(size // 2)
        elif harm == "garbage":
            file.write(b"garbage" * (size // 7))
        else:
            file.seek(size // 4)
            file.write(bytes(size // 2))
    assert answer(plan(tmp_path / "cache")) == expected
    kill_writers(tmp_path / "cache")  # that it is written anew is shown above


@starts_java
def test_without_a_place_for_the_cache(filled: tuple[Path, str]) -> None:
    assert answer(plan(Path("/proc/nowhere"))) == filled[1]
