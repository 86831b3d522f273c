"""The application: its commands, and what happens around them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Annotated

import typer

from kstream_plan.cli.command_help import COMMANDS, first_steps
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.output import AUTO, set_color_mode
from kstream_plan.cli.panels import USAGE_ERRORS, PanelledCommand, color_option
from kstream_plan.errors import KstreamPlanError, UsageError
from kstream_plan.version import __version__, build

#: What a write to stdout may end in.
_UNWRITTEN = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EPIPE}


def application(commands: Collection[str] = tuple(COMMANDS)) -> typer.Typer:
    """Return the application; of the commands that are not ``commands`` only the summary is there."""
    app = typer.Typer(
        name="kstream-plan",
        help="See what a rebalance will do before you deploy.",
        epilog=(
            "Exit codes: 0 done, 1 bad input or failure, 2 wrong usage, 3 policy or guard violated, "
            "4 plan does not settle, 5 changes found (--fail-on-changes), 6 gave up waiting, 130 interrupted. Options "
            "have defaults in kstream-plan.toml and in KSTREAM_PLAN_... variables: kstream-plan help commands#defaults."
        ),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=_options,
    )
    for name, text in COMMANDS.items():
        if name in commands:
            function = name.replace("-", "_")
            command = getattr(import_module(f"kstream_plan.cli.commands.{function}"), function)
            words = {"ignore_unknown_options": name == "help"}  # -9 or --restore-rate are looked up there
            app_command = app.command(
                name, cls=PanelledCommand, help=text.text, short_help=text.summary, context_settings=words
            )
            app_command(command)
        else:
            app.command(name, help=text.summary)(_not_loaded)
    return app


def _not_loaded() -> None:
    """Stand in for a command that is listed only."""


def _version(value: bool) -> None:
    if value:
        from kstream_plan.cli.failures import expected_failures  # noqa: PLC0415 - not for every command line
        from kstream_plan.cli.output import write_stdout  # noqa: PLC0415

        with expected_failures():
            write_stdout(f"kstream-plan {__version__} ({build()})\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    color: Annotated[str | None, color_option()] = None,
) -> None:
    pass


def _fail(error: KstreamPlanError) -> int:
    from kstream_plan.cli.failures import report  # noqa: PLC0415 - not for every command line

    report(error)
    return error.exit_code


def _show_first_steps() -> int:
    from kstream_plan.cli.output import write_stdout  # noqa: PLC0415 - not for every command line

    try:
        write_stdout(first_steps())
    except KstreamPlanError as error:
        return _fail(error)
    return ExitCode.DONE


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    is_completion = "_KSTREAM_PLAN_COMPLETE" in os.environ
    if not words and not is_completion:
        return _show_first_steps()
    set_color_mode(AUTO)
    app = application(COMMANDS if is_completion else words)
    try:
        code = app(args=words, prog_name="kstream-plan", standalone_mode=False)
    except OSError as error:
        if error.errno not in _UNWRITTEN or error.filename is not None:
            raise
        # Typer's own help and usage
        from kstream_plan.cli.output import not_written  # noqa: PLC0415 - not for every command line

        return not_written(error)
    except UsageError as error:  # of the file of defaults
        return _fail(error)
    except USAGE_ERRORS as error:
        from kstream_plan.cli.usage_errors import usage_error  # noqa: PLC0415 - not for every command line

        return _fail(usage_error(error, words, app))
    except SystemExit as end:
        code = end.code
    if code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else ExitCode.DONE
