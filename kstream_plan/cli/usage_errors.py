"""Wrong usage: the nearest command line that is right, as it is to be typed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.main import get_command

from kstream_plan.cli.help_sections import page_names

#: What every wrong usage is, under the name by which each release of Typer has it.
_USAGE_ERRORS: tuple[type[Exception], ...] = typer.BadParameter.__bases__


def nearest_usage(given: Sequence[str], app: typer.Typer) -> str | None:
    """Return the command line that was probably meant, ``None`` if nothing is near."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    name, *rest = given
    if name not in commands:
        if name in page_names():
            return _line(["help", name])
        near = get_close_matches(name, commands, n=1)
        if not near and not os.path.isfile(name):
            return None
        return _line([near[0], *rest] if near else ["assign", *given])
    options = [option for parameter in commands[name].params for option in parameter.opts if option.startswith("--")]
    mended = [_option(argument, options) for argument in rest]
    if name == "snapshot" and rest and not rest[0].startswith("-"):
        mended = ["--leader-log", *mended]
    return _line([name, *mended]) if mended != rest and _is_taken(commands[name], mended) else None


def _is_taken(command: Any, arguments: Sequence[str]) -> bool:
    """Tell whether a command takes these arguments; else what is said of the first wrong one is not the only one."""
    try:
        command.make_context(command.name, list(arguments))
    except _USAGE_ERRORS:
        return False
    except typer.Exit:
        pass  # help
    return True


def _option(argument: str, known: Sequence[str]) -> str:
    if not argument.startswith("--") or argument == "--":
        return argument
    option, equals, value = argument.partition("=")
    near = get_close_matches(option, [*known, "--help"], n=1)
    return f"{near[0]}{equals}{value}" if near else argument


def _line(arguments: Sequence[str]) -> str:
    return f"kstream-plan {shlex.join(arguments)}"
