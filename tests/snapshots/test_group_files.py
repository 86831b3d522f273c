"""Files that a snapshot is made of: what content tells, what a mark says, and what is refused."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.errors import UsageError
from kstream_plan.snapshots.group_files import GroupFile, group_files

ROOT = Path(__file__).parents[2]
STREAMS_LOG = ROOT / "examples" / "leader-log" / "orders.log"
CONNECT_LOG = ROOT / "examples" / "connect" / "worker-1.log"
TABLE = ROOT / "tests" / "real" / "streams" / "k43-base.txt"
STATUS = b'{"name": "a", "connector": {"state": "RUNNING", "worker_id": "h:1"}, "tasks": []}'
RESOURCE = b"apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nstatus: {}\n"
CONTENTS = {
    GroupFile.LEADER_LOG: [STREAMS_LOG.read_bytes(), b"nothing that is known\n", b""],
    GroupFile.CONNECT_LOG: [CONNECT_LOG.read_bytes(), b"x\n" * (1 << 20) + CONNECT_LOG.read_bytes()],
    GroupFile.CONNECT_STATUS: [STATUS, RESOURCE, b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n" + STATUS],
    GroupFile.DESCRIBE_TEXT: [TABLE.read_bytes()],
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_file_is_known_by_its_content_whatever_its_name_also_in_gzip_and_below_a_folder(
    kind: GroupFile, tmp_path: Path
) -> None:
    for content in CONTENTS[kind]:
        for packed in (content, gzip.compress(content)):
            (tmp_path / "file").write_bytes(packed)
            for path in (str(tmp_path / "file"), str(tmp_path), f"{tmp_path}/f*", f"file://{tmp_path}/file"):
                assert group_files([path]) == (kind, [path])
                assert group_files([path, "-"]) == (kind, [path, "-"])


@pytest.mark.parametrize("kind", GroupFile)
def test_a_mark_counts_before_content_and_for_files_that_tell_nothing(kind: GroupFile, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"hello")
    paths = [str(STREAMS_LOG), str(tmp_path / "file")]
    assert group_files([f"{kind}={paths[0]}", paths[1]]) == (kind, paths)
    assert group_files([f"{kind}=-"]) == (kind, ["-"])


def test_of_a_folder_the_first_file_that_tells_counts(tmp_path: Path) -> None:
    (tmp_path / "README").write_bytes(b"hello")
    (tmp_path / "worker-1.log").write_bytes(CONNECT_LOG.read_bytes())
    assert group_files([str(tmp_path)]) == (GroupFile.CONNECT_LOG, [str(tmp_path)])


WRONG = {
    "/nowhere.log": "/nowhere.log: does not exist. Fix: check the path",
    "": "'': does not exist. Fix: check the path",
    "connect-status=": "connect-status= names no file. Fix: write connect-status=FILE",
    f"conect-log={CONNECT_LOG}": "conect-log is no kind of file. Fix: write one of leader-log, connect-log, connect-st",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_file_is_said_before_what_goes_with_it(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", text, "--set", "broker.version=4.3"]) != 0
    assert capsys.readouterr().err.startswith(f"kstream-plan: error: {WRONG[text]}")


def test_a_table_on_standard_input_is_told_its_mark(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "-", "--set", "broker.version=4.3"]) == 2
    assert capsys.readouterr().err.endswith("Fix: say what standard input is: describe-text=-\n")


def test_a_file_that_is_there_may_be_named_like_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("connect-log=x").write_bytes(STREAMS_LOG.read_bytes())
    assert group_files(["connect-log=x"]) == (GroupFile.LEADER_LOG, ["connect-log=x"])
    Path("other=x").write_bytes(STREAMS_LOG.read_bytes())
    assert group_files(["other=x"]) == (GroupFile.LEADER_LOG, ["other=x"])


MIXED: list[tuple[Sequence[str], str]] = [
    (
        [str(STREAMS_LOG), str(CONNECT_LOG)],
        "orders.log is a log of Kafka Streams, .*worker-1.log is a log of Kafka Con",
    ),
    (
        [str(TABLE), str(CONNECT_LOG)],
        "k43-base.txt is a table of kafka-streams-groups.sh, .*worker-1.log is a log of K",
    ),
    (
        [f"leader-log={STREAMS_LOG}", str(CONNECT_LOG)],
        "orders.log is a log of Kafka Streams, .*worker-1.log is a log of Kafka Con",
    ),
    (["leader-log=x", "connect-log=y"], "leader-log=x is a log of Kafka Streams, connect-log=y is a log of Kafka Conn"),
]


@pytest.mark.parametrize(("texts", "message"), MIXED)
def test_files_of_several_kinds_are_one_error_that_names_two_of_them(
    texts: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=message):
        group_files(texts)
    assert run(["snapshot", *texts]) == 2
    error = capsys.readouterr().err
    assert ": they are two sources. Fix: give one of them, or say what counts: " in error
    assert error.count("\n") == 1


def test_a_log_with_signs_of_both_is_refused_without_a_mark(tmp_path: Path) -> None:
    both = tmp_path / "all.log"
    both.write_bytes(STREAMS_LOG.read_bytes() + CONNECT_LOG.read_bytes())
    with pytest.raises(UsageError, match=r"all\.log holds a log of Kafka .*, and a log of Kafka .*: they are two"):
        group_files([str(both)])
    assert group_files([f"leader-log={both}"]) == (GroupFile.LEADER_LOG, [str(both)])


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (["--leader-log", str(STREAMS_LOG)], f"leader-log={STREAMS_LOG}"),
        ([f"--leader-log={STREAMS_LOG}"], f"leader-log={STREAMS_LOG}"),
        (["--connect-log", str(CONNECT_LOG)], f"connect-log={CONNECT_LOG}"),
    ],
)
def test_old_options_give_the_files_with_one_warning(
    words: list[str], new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["snapshot", new, "--list"]) == 0
    expected = capsys.readouterr()
    assert run(["snapshot", *words, "--list"]) == 0
    old = capsys.readouterr()
    assert old.out == expected.out
    warning = f"{words[0].partition('=')[0]} goes with the next release: write {new}\n"
    assert old.err == f"kstream-plan: warning: {warning}{expected.err}"


@pytest.mark.parametrize("kind", [GroupFile.CONNECT_LOG, GroupFile.CONNECT_STATUS, GroupFile.DESCRIBE_TEXT])
def test_standard_input_of_another_kind_is_told_its_mark(
    kind: GroupFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CONTENTS[kind][0])))
    assert run(["snapshot", "-"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"kstream-plan: error: standard input: is {kind.text}, and no decision of Kafka Streams'")
    assert error.endswith(f"Fix: make a snapshot of it alone: kstream-plan snapshot {kind}=-\n")


def test_a_file_named_like_an_argument_takes_no_option_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "paths", "--assignor", "balanced"]) == 1
    error = capsys.readouterr().err
    assert "write --set assignor=balanced" in error
    assert "paths: does not exist" in error


def test_an_old_option_of_another_command_is_no_file_of_this_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "--connect-status", "x"]) == 2
    assert "goes with the next release" not in capsys.readouterr().err


OLD_VARIABLES = {
    "ASSIGNOR": ("assign", "write {}SET='assignor=…'"),
    "NOW": ("assign", "write {}SET='now=…'"),
    "CONNECT_CONFIG": ("wait", "write {}STREAMS_CONFIG='…'"),
    "LAGS": ("assign", "write {}METRICS='rows=…'"),
    "CONNECT_LOG": ("snapshot", "unset it, and give the file on the command line"),
}


@pytest.mark.parametrize("name", OLD_VARIABLES)
def test_a_variable_of_an_old_option_is_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix, (command, fix) = "KSTREAM_PLAN_", OLD_VARIABLES[name]
    monkeypatch.setenv(f"{prefix}{name}", "x")
    assert run([command, "x"]) == 2
    expected = f"kstream-plan: error: {prefix}{name} is the variable of an old option. Fix: {fix.format(prefix)}\n"
    assert capsys.readouterr().err == expected


def test_leader_log_stays_an_option_of_what_follows_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["wait", "settled", "--leader-log", "/nowhere.log"]) == 1
    assert "goes with the next release" not in capsys.readouterr().err
