"""Options have defaults in a file and in the environment: which one counts, what is refused, and where it is said."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.core import TyperOption
from typer.main import get_command

from kstream_plan.cli import run
from kstream_plan.cli.application import application
from kstream_plan.cli.command_help import COMMANDS, WITHOUT_FILE
from kstream_plan.cli.options.defaults import option_keys, option_variables
from kstream_plan.cli.options.parameters import COMMON
from kstream_plan.cli.output import AUTO, set_color_mode
from kstream_plan.documents.option_defaults import FILE, FILE_VARIABLE, KEYS, find_defaults
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

ROOT = Path(__file__).parents[2]
EXAMPLES, PACKAGE = ROOT / "examples", ROOT / "kstream_plan"
SNAPSHOT = EXAMPLES / "scale-out" / "before.json"
APP: Any = get_command(application())
#: One Java for all that read snapshots.


def _with_spark(test: Any) -> Any:
    for mark in (pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark")):
        test = mark(test)
    return test


#: The tests of options, and variables of the program that are none.
OF_OPTIONS = (Path(__file__), Path(__file__).with_name("test_set.py"))
OTHER_VARIABLES = {"KSTREAM_PLAN_NO_CACHE", "KSTREAM_PLAN_JAVA_HOME", FILE_VARIABLE}
#: A value for each form of value that an option takes; else the first of those that are listed.
SAMPLES = {
    **{"N": "3", "DURATION": "90s", "RATE": "70/s", "SIZE": "3MiB", "BYTES": "300", "CONDITION": "cold > 0"},
    **{"TIME": "2026-11-21T12:00:00Z", "DATE": "2026-11-21", "HEX": "0123456789ab", "FORMAT=FILE": "html=x.html"},
    **{
        "K=V": "name=value",
        "K=V,...": "zone=a",
        "NAME=VALUE": "session.timeout.ms=30s",
        "KEY=VALUE": "rack=a",
        "NAME=V,V...": "max.warmup.replicas=2,4",
        "HOST:PORT": "b:9092",
    },
    **{
        "NAME[:KEY=VALUE,...]": "learner:max.learners=2",
        "tag:KEY|static|host|client|process": "tag:pod",
        "RELEASE": "4.3",
    },
}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run in an empty folder, without variables of the program, and leave no colour behind."""
    for name in [name for name in os.environ if name.startswith("KSTREAM_PLAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    yield
    set_color_mode(AUTO)


def options_of(command: str) -> list[Any]:
    options = [param for param in APP.commands[command].params if isinstance(param, TyperOption)]
    return [option for option in options if option.name != "help_all"]


def sample(option: Any) -> str:
    """Return a value that an option takes."""
    metavar = option.metavar or ""
    choices = getattr(option.type, "choices", None) or re.findall(r"[\w-]+", metavar if "|" in metavar else "")
    return SAMPLES.get(metavar) or (str(getattr(choices[0], "value", choices[0])) if choices else "x.y")


#: The arguments that each command needs, and the options.
NEEDED = {
    "plugin": ["--out", "x"],
    "prepare": [],
    "schema": ["plan"],
    "upgrade": ["x.json", "--to", "streams"],
    "drain": ["x.json", "i"],
    "wait": ["settled"],
    "check-target": ["x.properties", "x.json"],
}


class Parsed(NamedTuple):
    """What a command is given, and from where."""

    values: dict[str, Any]
    sources: dict[str, str]


def parse(command: str, words: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Parsed:
    needed = NEEDED.get(command, ["x.json", "y.yaml"] if command == "simulate" else ["x.json"])
    if "--to" in words or "KSTREAM_PLAN_TO" in (environment or {}) or (Path(FILE).exists() and command == "upgrade"):
        needed = needed[:1]
    if command == "plugin" and ("--out" in words or "KSTREAM_PLAN_OUT" in (environment or {})):
        needed = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        with APP.commands[command].make_context(command, [*needed, *words]) as context:
            values = {
                name: list(value) if isinstance(value, tuple) else value for name, value in context.params.items()
            }
            sources = {name: context.get_parameter_source(name) for name in [*values, "color"]}
            return Parsed(values, {name: source.name for name, source in sources.items() if source is not None})


def toml(option: Any, text: str) -> str:
    return "true" if option.is_flag else f'["{text}"]' if option.multiple else f'"{text}"'


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_every_command_is_given_by_file_and_environment(command: str) -> None:
    for option in options_of(command):
        by_set = APP.commands[command].by_set
        if (option.name == "spark_conf" and "spark_conf" not in by_set) or (option.name == "settings" and not by_set):
            continue
        key, text, name = option_keys(option)[0], sample(option), option.name if option.expose_value else "color"
        needed = "to = 'streams'\n" if command == "upgrade" and key != "to" else ""
        if key == "set" and "settings" not in by_set:
            text = "max.text=1MiB"
        line = parse(command, [f"--{key}"] if option.is_flag else [f"--{key}", text])
        if key == "to" and command == "upgrade":
            line = parse(command, ["--to", text])
        for variable in option_variables(option):
            variables = {variable: "true" if option.is_flag else text}
            found = parse(command, (), variables)
            assert found.values == line.values, variables
            assert found.sources[name] == "ENVIRONMENT" or not option.expose_value
        for table in ([], [f"[{command}]"]) if command not in WITHOUT_FILE else ():
            Path(FILE).write_text("\n".join([needed, *table, f"{key} = {toml(option, text)}"]), encoding="utf-8")
            found = parse(command)
            assert found.values == line.values, (table, key)
            assert found.sources[name] == "DEFAULT_MAP" or not option.expose_value
            Path(FILE).unlink()


def test_the_keys_of_a_file_are_the_options_of_the_commands_that_read_it() -> None:
    readers = [command for command in COMMANDS if command not in WITHOUT_FILE]
    assert {key for name in readers for option in options_of(name) for key in option_keys(option)} == KEYS
    assert not KEYS & set(COMMANDS)


def test_no_variable_of_an_option_means_something_else() -> None:
    variables = {name for command in COMMANDS for option in options_of(command) for name in option_variables(option)}
    source = "".join(file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py")))
    assert set(re.findall(r"\bKSTREAM_PLAN_[A-Z_]+\b", source)) - variables == OTHER_VARIABLES
    tests = [file for file in sorted((ROOT / "tests").rglob("*.py")) if file not in OF_OPTIONS]
    source = "".join(file.read_text(encoding="utf-8") for file in tests)
    assert not variables & set(re.findall(r"\bKSTREAM_PLAN_[A-Z_]+\b", source))


#: Options of assign, each with four values as one writes them in a file and as one gives them.
VALUES: dict[str, list[tuple[str, Any]]] = {
    "max-warmup-replicas": [(str(number), number) for number in (3, 4, 5, 6)],
    "restore-rate": [(f'"{number}/s"', float(number)) for number in (3, 4, 5, 6)],
    "probing-rebalance-interval": [(f'"{number}m"', 60_000 * number) for number in (3, 4, 5, 6)],
    "metrics": [(f'["{name}"]', [name]) for name in "abcd"],
    "output": [(f'"{name}"', name) for name in ("json", "markdown", "table", "json")],
    "quiet": [("true", True), ("false", False), ("true", True), ("false", False)],
}


@given(
    st.sampled_from(sorted(VALUES)),
    st.permutations(range(4)),
    st.sets(st.sampled_from(["line", "variable", "table", "top", "other table"])),
    st.sampled_from([FILE, "pyproject.toml"]),
)
@settings(max_examples=150)
def test_the_command_line_beats_the_environment_beats_the_table_beats_the_top_level(
    key: str, order: Sequence[int], sources: set[str], file: str
) -> None:
    values = dict(zip(("line", "variable", "table", "top"), (VALUES[key][place] for place in order), strict=True))
    prefix = "tool.kstream-plan" if file == "pyproject.toml" else ""
    lines = [f"[{prefix}]"] if prefix else []
    lines += [f"{key} = {values['top'][0]}"] if "top" in sources else []
    for command, source in (("simulate-scaleout", "table"), ("simulate", "other table")):
        if source in sources:
            lines += [
                f"[{'.'.join(filter(None, (prefix, command)))}]",
                f"{key} = {values.get(source, values['line'])[0]}",
            ]
    for name in (FILE, "pyproject.toml"):
        Path(name).unlink(missing_ok=True)
    Path(file).write_text("\n".join(lines), encoding="utf-8")
    words, variable = [], {}
    text = values["line"][0].strip('[]"')
    if "line" in sources:
        words = {"true": [f"--{key}"], "false": [f"--no-{key}"]}.get(text, [f"--{key}", text])
        if words == ["--no-quiet"]:
            words, sources = [], sources - {"line"}
    if "variable" in sources:
        variable = {f"KSTREAM_PLAN_{key.replace('-', '_').upper()}": values["variable"][0].strip('[]"')}
    beats = next((source for source in ("line", "variable", "table", "top") if source in sources), None)
    name = key.replace("-", "_")
    usual = next(option.default for option in options_of("simulate-scaleout") if option.name == name)
    value = parse("simulate-scaleout", words, variable).values[name]
    assert value == (values[beats][1] if beats is not None else [] if key == "metrics" else usual)


def failure(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(words or ["assign", str(SNAPSHOT)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removeprefix("kstream-plan: error: ").removesuffix("\n")


WRONG = {
    "restore-rte = '5/s'": "line 1: 'restore-rte' is no option of any command. Fix: write restore-rate",
    "\nrestore_rate = '5/s'": "line 2: 'restore_rate' is no option of any command. Fix: write restore-rate",
    "--restore-rate = '5/s'": "line 1: '--restore-rate' is no option of any command. Fix: write restore-rate",
    "zzz = 1": "line 1: 'zzz' is no option of any command. Fix: write an option of a command without its dashes",
    "[assign]\npolicy = 'p.yaml'": "line 2: 'policy' is no option of assign. Fix: see kstream-plan assign --help-all",
    "[assign]\nrestore-rat = 1": "line 2: 'restore-rat' is no option of assign. Fix: write restore-rate",
    "[asign]\nverbose = true": "line 1: [asign] is no command that reads this file. Fix: write assign",
    "[help]\nplain = true": "line 1: [help] is no command that reads this file. Fix: name one of assign, ",
    "[tool.kstream-plan]\nverbose = true": ": [tool] is no command that reads this file. Fix: leave out [tool.",
    "paths = ['x.json']": "line 1: 'paths' is no option of any command. Fix: ",
    "check = true": "line 1: check is a command. Fix: write its table, [check]",
    "restore-rate = ['5/s']": "line 1: restore-rate is a list, and the option takes one value. Fix: write restore-rate",
    "restore-rate = true": 'line 1: restore-rate is neither a text nor a number. Fix: write restore-rate = "RATE"',
    "metrics = [['a']]": 'line 1: metrics is neither a text nor a number. Fix: write metrics = "[KIND=]FILE|DIR|-"',
    "verbose = 'yes'": "line 1: verbose is neither true nor false. Fix: write verbose = true",
    "session-timeout = '5s'": """line 1: 'session-timeout' is no option of any command. Fix: write set = ["session.""",
    "stores = 'persistent'": "line 1: 'stores' is no option of any command. Fix: write set = [\"stores=…\"]",
    "[assign]\nset = 'sesion.timeout.ms=5s'": "line 2, set: 'sesion.timeout.ms' is no setting that counts here. Fix: ",
    "# x\nset = ['session.timeout.ms=5s', 'stores=x']": "line 2, set: stores: 'x' is not one of persistent, in-memory.",
    "set = ['stores=persistent', 'stores=in-memory']": "line 1, set: stores is given twice. Fix: give it once",
    "max-warmup-replicas = 2\nset = ['max.warmup.replicas=3']": "line 2, set: max.warmup.replicas is given twice.",
    "restore-rate = '5 apples'": "line 1, restore-rate: ",
    "max-warmup-replicas = 0": "line 1, max-warmup-replicas: 0 is below 1. Fix: give 1 or more",
    "# x\n[assign]\nset = 'assignor=best'": "line 3, set: assignor: 'best' is not one of balanced (needs the extra ",
    "output = 'yaml'": "line 1, output: ",
    "color = 'red'": "line 1, color: 'red' is not one of auto, always, never. Fix: ",
    "assign = {restore-rate = 'x'}": ", restore-rate: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_the_file_is_one_error_with_file_and_key(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(FILE).write_text(text, encoding="utf-8")
    place = WRONG[text]
    error = failure(capsys)
    assert error.startswith(f"{FILE}{'' if place[0] in ',:' else ', '}{place}"), error
    assert "\n" not in error
    assert not re.match(r"--", error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"restore-rate = 5000/s", "is no TOML: "),
        (b"a = 1\na = 2", "is no TOML: "),
        (b"\xff\xfe", "is no TOML in UTF-8"),
        (None, "cannot be read: Is a directory"),
    ],
)
def test_a_file_that_is_none_says_so_and_help_still_works(
    content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is None:
        Path(FILE).mkdir()
    else:
        Path(FILE).write_bytes(content)
    assert failure(capsys).startswith(f"{FILE}: {message}")
    for words in (
        ["assign", "--help"],
        ["assign", "--help-all"],
        ["help", "commands"],
        ["schema", "plan"],
        ["--help"],
        [],
    ):
        assert run(words) == 0


def test_a_variable_that_is_refused_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSTREAM_PLAN_RESTORE_RATE", "fast")
    assert failure(capsys).startswith("KSTREAM_PLAN_RESTORE_RATE: ")
    monkeypatch.setenv("KSTREAM_PLAN_RESTORE_RATE", "")
    monkeypatch.setenv("KSTREAM_PLAN_FAIL_ON_CHANGES", "maybe")
    assert (
        failure(capsys)
        == "KSTREAM_PLAN_FAIL_ON_CHANGES: 'maybe' is neither true nor false. Fix: see kstream-plan assign --help"
    )
    monkeypatch.setenv("KSTREAM_PLAN_FAIL_ON_CHANGES", "")
    assert parse("assign").values["restore_rate"] is None
    monkeypatch.setenv("KSTREAM_PLAN_COLOR", "red")
    assert failure(capsys).startswith("KSTREAM_PLAN_COLOR: 'red' is not one of")


def test_the_nearest_file_up_to_the_root_of_the_checkout_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "checkout" / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / FILE).write_text("fail-on-changes = true")
    monkeypatch.chdir(deep)
    (tmp_path / "checkout" / FILE).write_text("quiet = true")
    assert find_defaults() is None  # no checkout: what is above is not looked at
    (tmp_path / "checkout" / ".git").write_text("gitdir: elsewhere")
    assert parse("assign").values["quiet"]
    assert not parse("assign").values["fail_on_changes"]
    (deep.parent / "pyproject.toml").write_text("[project]\nname = 'kstream-plan-user'")
    assert parse("assign").values["quiet"]
    (deep.parent / "pyproject.toml").write_text("[tool.kstream-plan]\nreplay = true")
    assert parse("assign").values["replay"]
    assert not parse("assign").values["quiet"]
    (deep.parent / FILE).write_text("")
    assert not parse("assign").values["replay"]
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / FILE))
    assert parse("assign").values["fail_on_changes"]
    monkeypatch.setenv(FILE_VARIABLE, "/dev/null")
    assert not parse("assign").values["fail_on_changes"]


def test_paths_count_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    Path(FILE).write_text(
        "metrics = ['scrapes', '-', '/abs', 's3a://bucket/x']\nstreams-config = ['orders=app.properties', 'all']\n"
        "report = ['html=page.html']\n"
        "set = ['target = t.properties', 'release=3.4']\n[check]\nbaseline = ['plan.json']\n"
    )
    for folder, prefix in ((tmp_path, ""), (tmp_path / "sub", "../")):
        monkeypatch.chdir(folder)
        values = parse("assign").values
        assert values["metrics"] == [f"{prefix}scrapes", "-", "/abs", "s3a://bucket/x"]
        assert values["streams_config"] == [f"orders={prefix}app.properties", f"{prefix}all"]
        assert values["report"] == [("html", f"{prefix}page.html")]
        assert parse("check").values["baseline"] == [f"{prefix}plan.json"]
        assert parse("drain").values["target"] == Path(f"{prefix}t.properties")
        assert dict(parse("drain").values["settings"]) == {"release": "3.4"}


def test_every_option_that_takes_a_file_is_known_as_one() -> None:
    for option in (option for command in COMMANDS for option in options_of(command)):
        is_path = (
            "Path" in type(option.type).__name__ or option.default is Path or "file" in option.help.lower().split()[:2]
        )
        assert not is_path or re.search("FILE|DIR|PATH|PLAN", option.metavar), option.opts


def test_single_values_numbers_and_times_are_taken_as_they_are_written() -> None:
    Path(FILE).write_text(
        "metrics = 'one'\nmax-warmup-replicas = 4\nas-of = 2026-11-21T12:00:00Z\nnew = ['rack=a', 'rack=b']\n"
    )
    assert parse("assign").values["metrics"] == ["one"]
    assert parse("assign").values["max_warmup_replicas"] == 4
    assert parse("assign").values["as_of"] == "2026-11-21T12:00:00Z"
    assert parse("simulate-scaleout").values["new"] == [("rack", "a"), ("rack", "b")]
    both = parse("simulate-scaleout", environment={"KSTREAM_PLAN_NEW": "rack=c threads=2"}).values["new"]
    assert both == [("rack", "c"), ("threads", 2)]
    assert parse("check", environment={"KSTREAM_PLAN_BASELINE": "c d"}).values["baseline"] == ["c", "d"]
    assert parse("check", environment={"KSTREAM_PLAN_SET": "now=2026-11-21"}).values["now"] is not None


@_with_spark
def test_verbose_says_where_values_are_from_and_the_answer_is_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["assign", str(SNAPSHOT), "--restore-rate", "5000/s", "--set", "full=true", "--output", "json"]) == 0
    answer = capsys.readouterr()
    Path(FILE).write_text("\nrestore-rate = '5000/s'\nset = 'session.timeout.ms=45s'\n[assign]\nset = ['full=true']\n")
    monkeypatch.setenv("KSTREAM_PLAN_OUTPUT", "json")
    assert run(["assign", str(SNAPSHOT)]) == 0
    assert capsys.readouterr() == answer
    assert run(["assign", str(SNAPSHOT), "-v"]) == 0
    verbose = capsys.readouterr()
    assert verbose.out == answer.out
    assert verbose.err.splitlines() == [
        "kstream-plan: note: --output json from KSTREAM_PLAN_OUTPUT",
        "kstream-plan: note: --restore-rate 5000/s from kstream-plan.toml, line 2",
        "kstream-plan: note: --set session.timeout.ms=45s from kstream-plan.toml, line 3",
        "kstream-plan: note: --set full=true from kstream-plan.toml, line 5",
    ]


def test_a_java_for_all_commands_does_not_keep_saved_plans_from_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = snapshot_from_row(json.loads(SNAPSHOT.read_text(encoding="utf-8")), "the example")
    Path("plan.json").write_text(plan_json(plan(snapshot)), encoding="utf-8")
    monkeypatch.setenv("KSTREAM_PLAN_SET", "java.home=/nowhere")
    assert run(["check", "plan.json"]) == 0
    assert run(["check", "plan.json", "--set", "java.home=/nowhere"]) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_color_verbose_quiet_and_debug(command: str) -> None:
    names = {name for option in options_of(command) for name in option.opts}
    common = {"--color", "--verbose", "-v", "--quiet", "-q", "--debug", "--set", "--spark-conf"}
    assert names & common == ({"--color"} if command == "help" else common), "help explains words, also those"


def test_options_are_as_few_as_they_are() -> None:
    options = [option for command in COMMANDS for option in options_of(command)]
    common = [option for option in options if option.name in (*COMMON, "color")]
    assert len({option_keys(option)[0] for option in options}) <= 58
    assert len({option.name for option in common}) == 6
    assert len(options) - len(common) + 6 <= 237, "what every command takes is there once"


def test_an_error_says_which_of_its_options_are_not_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path(FILE).write_text("[check]\npolicy = 'none.yaml'\n[bounce]\ndesign = ['learner']\n")
    assert run(["check", str(SNAPSHOT)]) == 1
    assert capsys.readouterr().err.endswith("Fix: check --policy\n  also: --policy is from kstream-plan.toml, line 2\n")
    assert failure(capsys, "bounce", str(SNAPSHOT)).endswith("\n  also: --design is from kstream-plan.toml, line 4")
    assert run(["check", str(SNAPSHOT), "--policy", "other.yaml"]) == 1
    assert "also" not in capsys.readouterr().err
    Path(FILE).write_text("list = true\nmetrics = ['scrapes']\n")
    assert run(["assign", str(SNAPSHOT)]) == 1
    error = "scrapes: does not exist. Fix: check the path"
    assert (
        capsys.readouterr().err
        == f"kstream-plan: error: {error}\n  also: --metrics is from kstream-plan.toml, line 2\n"
    )
    Path(FILE).write_text("[simulate-scaleout]\nset = ['assignor=planned', 'target=none']\n")
    assert run(["simulate-scaleout", str(SNAPSHOT), "--add", "1"]) == 1
    error = "none: cannot read the file: No such file or directory. Fix: check the path"
    assert capsys.readouterr().err == f"kstream-plan: error: {error}\n  also: --set is from kstream-plan.toml, line 2\n"


FOR_ALL = """
restore-rate = "5000/s"
topology = ["topology.txt"]
set = ["balance.factor=2", "session.timeout.ms=30s", "max.warmup.replicas=3", "lags.tolerance=2m", "draws=3",
  "overwrite=true", "broker.version=4.3"]
new = ["rack=a", "rack=b"]
bootstrap-server = "broker:9092"
verbose = true
application-id = ["orders"]
"""


@_with_spark
@pytest.mark.parametrize(
    "line",
    [
        "assign {snapshot}",
        "check {snapshot}",
        "check {plan}",
        "show {plan}",
        "show {plan} --as-snapshot -",
        "compare {plan} {plan}",
        "compare {snapshot} --vary max.warmup.replicas=2,4",
        "drain {snapshot} i1",
        "why {snapshot}",
        "bounce {snapshot}",
        "fleet {snapshot} {plan}",
        "diff {snapshot} {plan}",
        "upgrade {snapshot} --to cooperative",
        "simulate-scaleout {snapshot} --remove i1",
        "simulate-scaleout {snapshot} --add 1",
        "simulate-scaleout {snapshot} --add 1 --design classic --design learner",
        "snapshot {log} --application-id *",
    ],
)
def test_a_default_that_makes_no_sense_with_what_is_asked_is_not_used(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = snapshot_from_row(json.loads(SNAPSHOT.read_text(encoding="utf-8")), "the example")
    Path("plan.json").write_text(plan_json(plan(snapshot)), encoding="utf-8")
    Path(FILE).write_text(FOR_ALL)
    log = EXAMPLES / "scale-out" / "leader.log.gz"
    code = run(shlex.split(line.format(snapshot=SNAPSHOT, plan="plan.json", log=log)))
    assert code in (0, 3, 4), capsys.readouterr().err


def test_the_page_and_the_help_tell_of_the_file_and_its_example_is_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (PACKAGE / "pages" / "commands.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    Path(FILE).write_text(example, encoding="utf-8")
    assert parse("check").values["policy"] == "policy.yaml"
    assert parse("assign").values["restore_rate"] == 5000
    for text in (FILE_VARIABLE, "KSTREAM_PLAN_RESTORE_RATE", FILE, "[tool.kstream-plan]", *WITHOUT_FILE):
        assert text in page
    for words in (["--help"], *([command, "--help-all"] for command in COMMANDS)):
        assert run(words) == 0
        text = capsys.readouterr().out
        assert "env var" not in text
        assert ("kstream-plan help commands#defaults" in " ".join(text.split())) == (words == ["--help"])
    for words in ("kstream-plan.toml", "pyproject.toml", "KSTREAM_PLAN_RESTORE_RATE"):
        assert run(["help", words]) == 0
        assert "More: kstream-plan help commands#defaults\n" in capsys.readouterr().out, words
