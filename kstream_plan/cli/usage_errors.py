"""Wrong usage: what is wrong, and as the fix the nearest command line that is right."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.main import get_command

from kstream_plan.cli.options.defaults import option_keys, option_source
from kstream_plan.cli.panels import USAGE_ERRORS
from kstream_plan.documents.option_aliases import ALIASES, OF_OTHER_TOOLS
from kstream_plan.errors import UsageError
from kstream_plan.pages.sections import page_names

#: What Typer adds of words that are spelled alike.
_SPELLED_ALIKE = re.compile(r" Did you mean| \(Possible options")


def usage_error(error: Any, arguments: Sequence[str], app: typer.Typer) -> UsageError:
    """Return what Typer says of wrong usage in the form of all other errors.

    Its fix is that of the value (:class:`kstream_plan.cli.options.parameters.WrongValueError`), else the nearest right
    command line, else the command's own help.
    """
    command = error.ctx.command_path if error.ctx else "kstream-plan"
    fix = getattr(error, "fix", "") or suggest_command_line(arguments, app) or f"see {command} --help"
    place, message = _place_and_sentence(error)
    return UsageError(message, where=place or command.partition(" ")[2], fix=fix)


def _place_and_sentence(error: Any) -> tuple[str, str]:
    """Return which option or argument is wrong, if it is one, and what is wrong with it."""
    parameter = getattr(error, "param", None)
    if parameter is None:
        text = _SPELLED_ALIKE.split(error.format_message())[0].rstrip(".")  # the fix says so
        return "", text[:1].lower() + text[1:]
    if parameter.param_type_name == "option":
        source = option_source(error.ctx, parameter)
        is_in_file = bool(source) and source not in os.environ
        name = f"{source}, {option_keys(parameter)[0]}" if is_in_file else source or parameter.opts[0]
    else:
        name = parameter.make_metavar(error.ctx).strip("{}")
    message = re.sub(r"not a valid boolean\..*", "neither true nor false", error.message)  # an environment's
    return (name, message.rstrip(".")) if message else ("", f"{name} is missing")


def suggest_command_line(arguments: Sequence[str], app: typer.Typer) -> str | None:
    """Return the command line that was probably meant, ``None`` if nothing is near."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    name, *rest = arguments
    if name not in commands:
        if name in page_names():
            return _line(["help", name])
        matches = get_close_matches(name, commands, n=1, cutoff=0.7)
        if not matches and not os.path.isfile(name):
            return None
        return _line([matches[0], *rest] if matches else ["assign", *arguments])
    options = [option for parameter in commands[name].params for option in parameter.opts if option.startswith("--")]
    corrections = commands[name].modern_words([_option(argument, [*options, *ALIASES]) for argument in rest]).words
    return _line([name, *corrections]) if corrections != rest and _is_valid(commands[name], corrections) else None


def _is_valid(command: Any, arguments: Sequence[str]) -> bool:
    """Return True if the command parses these arguments without error."""
    try:
        command.make_context(command.name, list(arguments))
    except USAGE_ERRORS:
        return False
    except typer.Exit:
        pass  # help
    return True


def _option(argument: str, options: Sequence[str]) -> str:
    if not argument.startswith("--") or argument == "--":
        return argument
    option, equals, value = argument.partition("=")
    option = OF_OTHER_TOOLS.get(option, option)
    matches = get_close_matches(option, [*options, "--help"], n=1, cutoff=0.7)
    return f"{matches[0]}{equals}{value}" if matches else argument


def _line(arguments: Sequence[str]) -> str:
    return f"kstream-plan {shlex.join(arguments)}"
