"""``--set NAME=VALUE``: what it takes, what it refuses, which source counts, and what old options say."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from kstream_plan.cli import run
from kstream_plan.cli.application import application
from kstream_plan.cli.command_help import COMMANDS
from kstream_plan.cli.options.parameters import CommandLine
from kstream_plan.documents.given_settings import parse_setting
from kstream_plan.documents.option_aliases import ALIASES, modern_words
from kstream_plan.documents.option_defaults import FILE, KEYS
from kstream_plan.documents.own_settings import OF_COMMANDS, OF_SNAPSHOTS, OWN_SETTINGS
from kstream_plan.errors import ConfigError
from kstream_plan.model.settings import CONFIG_NAMES

ROOT = Path(__file__).parents[2]
SNAPSHOT = ROOT / "examples" / "scale-out" / "before.json"
APP: Any = get_command(application())


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, without variables of the program."""
    for name in [name for name in os.environ if name.startswith("KSTREAM_PLAN_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def parsed(*words: str, command: str = "assign") -> dict[str, Any]:
    with APP.commands[command].make_context(command, ["x.json", *words]) as context:
        values = dict(context.params)
        values["set"] = dict(values.pop("settings") or ())
        return values


SETTINGS = {
    "session.timeout.ms=45s": ("session_timeout_ms", 45_000),
    "lags.tolerance=5m": ("lags_tolerance", 300_000),
    "lags.as.reported=true": ("lags_as_reported", True),
    "rates.over=1h": ("rates_over", 3_600_000),
    "session.timeout.ms=45000": ("session_timeout_ms", 45_000),
    "session_timeout_ms = 1.5m": ("session_timeout_ms", 90_000),
    "main.consumer.heartbeat.interval.ms=1s": ("heartbeat_interval_ms", 1_000),
    "rack.aware.assignment.traffic_cost=3": ("rack_aware_assignment_traffic_cost", 3),
    "rack.aware.assignment.traffic.cost=3": ("rack_aware_assignment_traffic_cost", 3),
    "rack.aware.assignment.strategy=min_traffic": ("rack_aware_assignment_strategy", "min_traffic"),
    "rack.aware.assignment.tags=zone, a=b": ("rack_aware_assignment_tags", ("zone", "a=b")),
    "rack.aware.assignment.tags=": ("rack_aware_assignment_tags", ()),
    "streams.num.standby.replicas=1": ("streams_num_standby_replicas", 1),
    "scheduled.rebalance.max.delay.ms=1m": ("scheduled_rebalance_max_delay_ms", 60_000),
    "default.dsl.store=in_memory": ("stores", "in-memory"),
    "stores=persistent": ("stores", "persistent"),
    "produce.rate=120/m": ("produce_rate", 2.0),
    "restore.rate=5000/s": ("restore_rate", 5000.0),
}


@pytest.mark.parametrize("text", SETTINGS)
def test_a_setting_is_written_as_in_kafka_and_a_time_as_elsewhere(text: str) -> None:
    assert parse_setting(text) == SETTINGS[text]


WRONG = {
    "session.timeout.ms": "'session.timeout.ms' is not NAME=VALUE. Fix: write session.timeout.ms=45s",
    "=45s": "'=45s' is not NAME=VALUE",
    "sesion.timeout.ms=45s": "'sesion.timeout.ms' is no setting that counts here. Fix: write session.timeout.ms or ",
    "store=persistent": "'store' is no setting that counts here. Fix: write stores",
    "application.id=x": "'application.id' is no setting that counts here. Fix: write one of acceptable.recovery.lag, ",
    "num.stream.threads=2": "'num.stream.threads' is no setting that counts here. Fix: the event 'threads' ",
    "session.timeout.ms=": "session.timeout.ms: '' is not a duration like 90s",
    "session.timeout.ms==5s": "session.timeout.ms: '=5s' is not a duration like 90s",
    "session.timeout.ms=0": "session.timeout.ms is 0, outside 1 to 2147483647. Fix: write a value that Kafka accepts",
    "balance.factor=many": "balance.factor is 'many', not a whole number. Fix: write a number from 1 to 2147483647",
    "rack.aware.assignment.strategy=x": "rack.aware.assignment.strategy is 'x'. Fix: use one of none, min_traffic, ",
    "stores=disk": "stores: 'disk' is not one of persistent, in-memory. Fix: write stores=persistent",
    "default.dsl.store=x": "default.dsl.store is 'x'. Fix: write default.dsl.store=rocksDB or default.dsl.",
    "produce.rate=fast": "produce.rate: 'fast' is not a rate in records like 5000/s",
    "rates.over=0": "rates.over: rates need a time above 0. Fix: write rates.over=1h",
    "restore.rate=0": "restore.rate: a restore rate has to be above 0. Fix: write restore.rate=5000/s",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_name_or_value_is_one_usage_error_with_its_fix(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "x.json", "--set", text]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"kstream-plan: error: --set: {WRONG[text]}"), captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@given(st.text(max_size=40))
def test_any_text_is_a_setting_or_a_clear_error(text: str) -> None:
    try:
        name = parse_setting(text).name
    except ConfigError as error:
        name = error.fix
    assert name


TWICE: list[Sequence[str]] = [
    ["--set", "session.timeout.ms=5s", "--set", "session_timeout_ms=6s"],
    ["--session-timeout", "5s", "--set", "session.timeout.ms=6s"],
    ["--set", "main.consumer.session.timeout.ms=5s", "--session-timeout=6s"],
    ["--max-warmup-replicas", "2", "--set", "max.warmup.replicas=3"],
    ["--restore-rate", "2/s", "--set", "restore.rate=3/s"],
]


@pytest.mark.parametrize("words", TWICE)
def test_a_setting_that_is_given_twice_is_an_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "x.json", *words]) == 2
    assert capsys.readouterr().err.endswith(" is given twice. Fix: give it once\n")


def test_a_setting_with_an_option_of_its_own_is_that_option() -> None:
    for name, text, value in (
        ("max_warmup_replicas", "max.warmup.replicas=4", 4),
        ("acceptable_recovery_lag", "acceptable.recovery.lag=4", 4),
        ("num_standby_replicas", "num.standby.replicas=4", 4),
        ("probing_rebalance_interval", "probing.rebalance.interval.ms=60000", 60_000),
        ("restore_rate", "restore.rate=4/s", 4.0),
    ):
        values = parsed("--set", text)
        assert values[name] == value
        assert not values["set"]


def test_names_count_one_by_one_the_command_line_before_the_environment_before_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(FILE).write_text(
        'set = ["session.timeout.ms=1s", "heartbeat.interval.ms=1ms", "balance.factor=1", "max.warmup.replicas=1"]\n'
        'num-standby-replicas = 1\n[assign]\nset = ["heartbeat.interval.ms=2ms", "produce.rate=9/s"]\n'
    )
    assert parsed()["set"] == {
        **{"session_timeout_ms": 1000, "heartbeat_interval_ms": 2, "balance_factor": 1, "produce_rate": 9.0}
    }
    assert parsed(command="why")["set"]["heartbeat_interval_ms"] == 1
    monkeypatch.setenv("KSTREAM_PLAN_SET", "balance.factor=3 num.standby.replicas=3")
    values = parsed("--session-timeout", "4s", "--max-warmup-replicas", "4")
    assert values["set"] == {
        **{"session_timeout_ms": 4000, "heartbeat_interval_ms": 2, "balance_factor": 3, "produce_rate": 9.0}
    }
    assert (values["max_warmup_replicas"], values["num_standby_replicas"]) == (4, 3)
    assert CommandLine.settings == {"session_timeout_ms"}
    places = {source.texts[0]: source.place for source in CommandLine.sources}
    assert places == {
        "heartbeat.interval.ms=2ms": f"{FILE}, line 4",
        "produce.rate=9/s": f"{FILE}, line 4",
        "balance.factor=3": "KSTREAM_PLAN_SET",
        "num.standby.replicas=3": "KSTREAM_PLAN_SET",
    }
    monkeypatch.setenv("KSTREAM_PLAN_MAX_WARMUP_REPLICAS", "5")
    assert parsed()["max_warmup_replicas"] == 5
    assert parsed("--set", "max.warmup.replicas=6")["max_warmup_replicas"] == 6


@pytest.mark.parametrize("command", ["follow", "wait"])
def test_of_a_running_group_a_default_of_an_option_of_plans_is_that_of_its_setting(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["settled"] if command == "wait" else []
    Path(FILE).write_text(
        f"max-warmup-replicas = 3\nnum-standby-replicas = 9\n[{command}]\nprobing-rebalance-interval = '2m'\n"
    )
    monkeypatch.setenv("KSTREAM_PLAN_NUM_STANDBY_REPLICAS", "1")
    monkeypatch.setenv("KSTREAM_PLAN_ACCEPTABLE_RECOVERY_LAG", "4")
    with APP.commands[command].make_context(command, [*words, "--acceptable-recovery-lag", "5"]) as context:
        values = [context.params[name] for name in ("max_warmup_replicas", "num_standby_replicas")]
        values += [context.params[name] for name in ("acceptable_recovery_lag", "probing_rebalance_interval")]
    assert values == [3, 1, 5, 120_000]
    new = "write --set acceptable.recovery.lag=5\n"
    assert capsys.readouterr().err.endswith(f"--acceptable-recovery-lag goes with the next release: {new}")
    assert {source.place for source in CommandLine.sources} == {
        *(f"{FILE}, line 1", f"{FILE}, line 4", "KSTREAM_PLAN_NUM_STANDBY_REPLICAS")
    }
    monkeypatch.setenv("KSTREAM_PLAN_NUM_STANDBY_REPLICAS", "x")
    assert run([command, *words]) == 2
    assert capsys.readouterr().err.startswith("kstream-plan: error: KSTREAM_PLAN_NUM_STANDBY_REPLICAS: num.standby.re")


def test_what_is_wrong_in_the_environment_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KSTREAM_PLAN_SET", "session.timeout.ms=x")
    assert run(["assign", "x.json", "--set", "session.timeout.ms=5s"]) == 2
    assert capsys.readouterr().err.startswith("kstream-plan: error: KSTREAM_PLAN_SET: session.timeout.ms: 'x' is not a")


def test_old_options_are_read_as_what_they_are_called_now() -> None:
    options = {"--set", "--task"}
    words = ["--session-timeout", "5s", "--produce-rate=9/s", "--task", "--rates-over", "--", "--rates-over", "x"]
    modern = modern_words(words, options)
    now = ["--set", "session.timeout.ms=5s", "--set", "produce.rate=9/s", *words[3:]]
    assert modern.words == now
    assert modern.warnings == [
        "--session-timeout goes with the next release: write --set session.timeout.ms=5s",
        "--produce-rate goes with the next release: write --set produce.rate=9/s",
    ]
    assert modern_words(words, {"--task"}) == (words, []), "the command has no --set"
    assert modern_words(["x", "--rates-over"], options).words == ["x", "--set"], "it has no value"


DESIGNS = {
    "--max-learners 4": ["learner:max.learners=4"],
    "--scale-down-timeout=5m": ["learner:scale.down.timeout.ms=5m"],
    "--connect-delay 5m": ["connect-design-2:delay=5m"],
    "--connect-delay 5m --design connect-design-3": ["connect-design-3:delay=5m", "connect-design-3"],
    "--connect-defer-join --connect-step 3": ["connect-design-2:defer.join=true", "connect-design-3:step=3"],
    "--connect-pause 3s": ["connect-design-3:pause=3s"],
}


@pytest.mark.parametrize("line", DESIGNS)
def test_every_old_option_of_a_design_is_one_of_it(line: str) -> None:
    new = [word for text in DESIGNS[line] for word in ("--design", text)]
    assert parsed(*line.split())["design"] == parsed(*new)["design"] != ()


@pytest.mark.parametrize("old", ["--assignor", "--end-offsets"])
def test_an_old_option_without_its_value_asks_for_one(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    alias = ALIASES[old]
    assert run(["assign", "x.json", old]) == 2
    warning, error = capsys.readouterr().err.splitlines()
    assert warning.endswith(f"write {alias.option} {alias.prefix}VALUE")
    assert f"option '{alias.option}' requires an argument" in error


def test_the_fix_of_a_wrong_assignor_works_without_extras(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "x.json", "--set", "assignor=x"]) == 2
    assert capsys.readouterr().err.endswith("Fix: write assignor=high-availability\n")


#: Some commands have the others.
@pytest.mark.parametrize("old", [old for old in ALIASES if old[2:] not in KEYS])
def test_nothing_that_is_written_names_an_old_option(old: str) -> None:
    folders = [ROOT / "examples", ROOT / "kstream_plan"]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".md", ".yml", ".yaml")]
    own = ROOT / "kstream_plan" / "documents" / "option_aliases.py"
    for file in {*files, ROOT / "README.md"} - {own}:
        lines = file.read_text(encoding="utf-8").splitlines()
        ours = "\n".join(line for line in lines if "kubectl" not in line)  # which has a --timeout of its own
        assert not re.search(rf"{old}(?![\w-])", ours), file


@pytest.mark.parametrize("old", [old for old, alias in ALIASES.items() if alias.option == "--set"])
def test_every_old_setting_gives_what_the_new_spelling_gives(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, flag = ALIASES[old].prefix.removesuffix("="), ALIASES[old].value
    key = name.replace(".", "_")
    samples = {"rack.aware.assignment.tags": "zone", "rack.aware.assignment.strategy": "none"}
    samples["probing.rebalance.interval.ms"] = "3m"
    value = flag or (OWN_SETTINGS[key].sample if key in OWN_SETTINGS else samples.get(name, "3"))
    command = next(name for name in COMMANDS if key in {*APP.commands[name].by_set, *CONFIG_NAMES, *OF_SNAPSHOTS})
    command = "follow" if old[2:] in KEYS else command
    needed = {"simulate": ["", "s.yaml"], "upgrade": ["", "--to", "cooperative"]}.get(command, [])
    lines = [[old]] if flag else [[old, value], [f"{old}={value}"]]
    new = parsed("--set", f"{name}={value}", *needed[1:], command=command)
    assert all(parsed(*line, *needed[1:], command=command) == new for line in lines)
    assert key.removesuffix("_ms") in new or key in new["set"]
    assert f"warning: {old} goes with the next release: write --set {name}={value}\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", OF_COMMANDS)
def test_a_value_of_set_counts_where_a_command_takes_it_and_is_refused_or_passed_over_elsewhere(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{name.replace('_', '.')}={OF_COMMANDS[name].sample}"
    assert any(name in APP.commands[command].by_set for command in COMMANDS)
    assert name not in APP.commands["schema"].by_set
    assert run(["schema", "plan", "--set", text]) == 2
    assert "is no setting of this command. Fix: leave it out" in capsys.readouterr().err
    monkeypatch.setenv("KSTREAM_PLAN_SET", text)
    assert run(["schema", "plan"]) == 0


def test_sparks_settings_are_refused_where_no_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "plan", "--spark-conf", "spark.master=local"]) == 2
    assert "--spark-conf: this command starts no Spark. Fix: leave it out" in capsys.readouterr().err
    assert run(["schema", "--help-all"]) == 0
    text = capsys.readouterr().out
    assert "--spark-conf" not in text
    assert "--set" not in text


def test_a_misspelt_old_option_is_told_the_new_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", str(SNAPSHOT), "--session-timout", "30s"]) == 2
    assert capsys.readouterr().err.endswith(f"Fix: kstream-plan assign {SNAPSHOT} --set session.timeout.ms=30s\n")
    assert run(["history", "x", "--session-timeout", "30s"]) == 2
    assert "'session.timeout.ms' is no setting of this command. Fix: write one of java" in capsys.readouterr().err
