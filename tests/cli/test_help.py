"""Every command and option explains itself, and the Python twin has the same names."""

import re
from collections.abc import Collection

import pytest
import typer
from typer.main import get_command

import kstream_plan
from kstream_plan.cli import run
from kstream_plan.cli.application import application
from kstream_plan.cli.command_help import COMMANDS, MOST_WANTED
from kstream_plan.cli.commands.assign import AssignOptions
from kstream_plan.model.settings import CONFIG_NAMES, RANGES
from kstream_plan.planner.options import PlanOptions


def commands() -> dict[str, typer.core.TyperCommand]:
    return get_command(application()).commands  # type: ignore[attr-defined, no-any-return]


def test_every_command_and_every_option_has_help() -> None:
    assert set(commands()) >= {"assign", "show", "schema"}
    for name, command in commands().items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), (name, parameter.name)


#: Where a name cannot mean what it means elsewhere, for what is asked is something else: what its help has to name.
OF_THEIR_OWN = {
    ("diff", "--from"): "a generation or a time",
    ("diff", "--to"): "a generation or a time",
    ("snapshot", "--to"): "up to this time",
    ("snapshot", "--generation"): "workers'",
    ("upgrade", "--to"): "Protocol",
    ("upgrade", "--add"): "default: 2",
    ("compare", "--scenario"): "compared",
    ("compare", "--policy"): "which alternatives keep",
    ("diff", "--fail-on-changes"): "changed",
    ("bounce", "--out"): "scenario",
    ("plugin", "--out"): "folder",
    ("bounce", "--instance"): "restart now",
    ("check", "--report"): "Findings",
    **{(name, "--report"): "page of HTML" for name in ("compare", "diff", "fleet")},
    ("export-target", "--out"): "Target file",
    ("export-target", "--new"): "slots",
    ("why", "--task"): "why this task",
    ("why", "--instance"): "why this instance",
}


def test_what_means_something_else_says_so() -> None:
    for (name, option), meaning in OF_THEIR_OWN.items():
        [parameter] = [param for param in commands()[name].params if option in param.opts]
        assert meaning in parameter.help


def test_an_option_means_the_same_everywhere_else() -> None:
    meanings: dict[str, str] = {}
    for name, command in commands().items():
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and (name, option) not in OF_THEIR_OWN:
                    meaning = parameter.help.partition(", e.g. ")[0] if option == "--set" else parameter.help
                    assert meanings.setdefault(option, meaning) == meaning


def test_every_public_name_is_there_and_documented() -> None:
    for name in kstream_plan.__all__:
        assert getattr(kstream_plan, name).__doc__
    assert set(kstream_plan.__all__) <= set(dir(kstream_plan))


def test_a_summary_is_the_first_line_of_the_help_of_its_command() -> None:
    loaded, listed = get_command(application()).commands, get_command(application(())).commands  # type: ignore[attr-defined]
    assert list(loaded) == list(listed) == list(COMMANDS)
    for name, command in loaded.items():
        assert listed[name].help == command.short_help == COMMANDS[name].summary
        assert command.help.startswith(f"{COMMANDS[name].summary}. ")


@pytest.mark.parametrize("commands_loaded", [(), COMMANDS])
def test_summaries_are_whole_at_80_columns(
    commands_loaded: Collection[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        application(commands_loaded)(args=["--help"], prog_name="kstream-plan")
    text = capsys.readouterr().out
    for name, of_command in COMMANDS.items():
        assert len(of_command.summary) <= 45
        assert re.search(rf"^  {name} +{re.escape(of_command.summary)}$", text, re.MULTILINE)


def test_the_help_of_every_option_is_one_sentence_that_begins_with_what_it_is() -> None:
    for name, command in commands().items():
        for parameter in command.params:
            if parameter.name in ("install_completion", "show_completion"):
                continue
            text = parameter.help
            assert re.fullmatch(r"(?:[A-Z]|[a-z-]+\.[a-z]).*\.", text), (name, text)
            assert re.sub(r"e\.g\. | (?:Without it|github=-)[^.]*\.$", "", text).count(". ") == 0, (name, text)
            assert len(text) <= 120 or parameter.opts[0] in ("--design", "kind"), (name, text)
            assert not re.match(r"So (?:many|long)|They|Who|How|What|By this|This one", text), (name, text)


def test_options_are_what_was_given_and_cannot_be_changed() -> None:
    asked = AssignOptions(paths=["before.json"], assignor="balanced", bounds=True)
    assert asked.plan_options == PlanOptions(assignor="balanced", bounds=True, long_ranges=False)
    with pytest.raises(AttributeError, match="'bounds' cannot be changed"):
        asked.bounds = False  # type: ignore[misc]


def test_every_setting_has_an_option_within_its_range() -> None:
    for name in CONFIG_NAMES:
        parameters = {param.name: param for param in commands()["assign"].params}
        own, any_setting = parameters.get(name.removesuffix("_ms")), parameters["settings"]
        for beyond in (RANGES[name][0] - 1, RANGES[name][1] + 1) if name in RANGES else ():
            with pytest.raises(typer.BadParameter):
                any_setting.type_cast_value(None, [f"{name}={beyond}"])
            if own is not None:
                with pytest.raises(typer.BadParameter):
                    own.type_cast_value(None, f"{beyond}ms" if name.endswith("_ms") else str(beyond))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["snapshot", "orders.log", "--connect-lg", "x"], "kstream-plan snapshot orders.log connect-log=x"),
        (["asign", "a file.json"], "kstream-plan assign 'a file.json'"),
        (["assign", "x.json", "--restor-rate=5/s"], "kstream-plan assign x.json --restore-rate=5/s"),
        (["helpp"], "kstream-plan help"),
        (["warm-now"], "kstream-plan help warm-now"),
        (["assign"], "see kstream-plan assign --help"),
        (
            ["upgrade", "x.json", "--to", "streams-group", "--broker", "4.3"],
            "see kstream-plan upgrade --help",
        ),
        (["zzzz"], "see kstream-plan --help"),
        (["assign", "x.json", "--set", "max.rounds=0"], "write max.rounds=200"),
    ],
)
def test_wrong_usage_names_the_nearest_right_one(
    given: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(given) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"kstream-plan: error: .*\. Fix: .*\n", said)
    assert said.endswith(f". Fix: {meant}\n")


def test_without_a_command_it_shows_usage_and_the_usual_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: kstream-plan COMMAND ")
    assert re.findall(r"^  (\S+)  ", text, re.MULTILINE) == list(MOST_WANTED)
    assert "kstream-plan --help" in text
    assert "kstream-plan help" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_typed_on_the_first_screen_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    typed = re.findall(r"^(?!Usage)\w[^:\n]*: +kstream-plan (\w.*|--help)$", capsys.readouterr().out, re.MULTILINE)
    assert len(typed) == 4
    assert [run(line.split()) for line in typed] == [0, 0, 0, 0]


def test_the_help_of_every_command_begins_with_examples_that_exist() -> None:
    for name, command in commands().items():
        assert 1 + (name != "prepare") <= len(COMMANDS[name].examples) <= 3, "it takes nothing"
        options = {option for parameter in command.params for option in parameter.opts}
        for example in COMMANDS[name].examples:
            called, *rest = example.split()
            assert called == name
            assert {one for one in rest if one.startswith("--")} <= options
            assert f"  kstream-plan {example}" in (command.help or "")


def shown(arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(arguments) == 0
    return capsys.readouterr().out


def options_in(text: str) -> set[str]:
    """Return the options that have a line of their own."""
    return set(re.findall(r"^  (?:-\w, |)(--[\w-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_is_short_and_has_the_rest_where_it_says(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = shown([name, "--help"], capsys, monkeypatch)
    whole = shown([name, "--help-all"], capsys, monkeypatch)
    assert len(short.splitlines()) <= 60
    assert max(map(len, whole.splitlines())) <= 100
    options = {one.opts[0] for one in commands()[name].params if one.opts[0].startswith("--")} | {"--help"}
    by_set = getattr(commands()[name], "by_set", ())
    options -= {"--spark-conf"} if "spark_conf" not in by_set else set()
    options -= set() if by_set else {"--set"}
    assert options_in(whole) == options
    missing = options - options_in(short) - {"--help-all"}
    assert short.endswith(f"\n{len(missing)} more options: kstream-plan {name} --help-all\n") == bool(missing)
    for example in COMMANDS[name].examples:
        assert {one for one in example.split() if one.startswith("--")} <= options_in(short)


def test_what_the_help_leaves_out_is_completed_and_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    check = commands()["check"]
    with typer.Context(check) as ctx:
        assert [item.value for item in check.shell_complete(ctx, "--expect-d")] == ["--expect-digest"]
        [settings] = [option for option in check.params if option.name == "settings"]
        names = [item.value for item in settings.shell_complete(ctx, "ma")]
        assert names == ["max.rounds=", "max.text="]
    assert run(["check", "plan.json", "--jva-home", "/java"]) == 2
    assert "kstream-plan check plan.json --set java.home=/java" in capsys.readouterr().err
