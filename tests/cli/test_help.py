"""Every command and option explains itself, and the Python twin has the same names."""

import typer
from typer.main import get_command

import kstream_plan
from kstream_plan.cli.application import COMMANDS, application


def commands() -> dict[str, typer.core.TyperCommand]:
    return get_command(application()).commands  # type: ignore[attr-defined, no-any-return]


def test_every_command_and_every_option_has_help() -> None:
    assert set(commands()) >= {"assign", "show", "schema"}
    for name, command in commands().items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), (name, parameter.name)


def test_an_option_means_the_same_everywhere() -> None:
    meanings: dict[str, str] = {}
    either = {"--to"}  # a time in a history, or a number of instances
    for command in commands().values():
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and option not in either:
                    assert meanings.setdefault(option, parameter.help) == parameter.help


def test_every_public_name_is_there_and_documented() -> None:
    for name in kstream_plan.__all__:
        assert getattr(kstream_plan, name).__doc__
    assert set(kstream_plan.__all__) <= set(dir(kstream_plan))


def test_the_summaries_are_the_commands_own() -> None:
    loaded, listed = get_command(application()).commands, get_command(application(())).commands  # type: ignore[attr-defined]
    assert list(loaded) == list(listed) == list(COMMANDS)
    for name, command in loaded.items():
        assert listed[name].help == command.help.partition("\n")[0] == COMMANDS[name]
