"""The application: its commands, and what happens around them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType
from typing import Annotated

import typer

from kstream_plan.cli.examples import with_examples
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.panels import PanelledCommand
from kstream_plan.version import __version__

#: What a write to stdout may end in.
_UNWRITTEN = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EPIPE}

#: Every command and its summary, by which the others are listed while only one is loaded; each is a function in the
#: module of its name.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "assign": "Plan what follows when a rebalance starts now, until the group has settled.",
        "simulate-scaleout": "Simulate that instances join, or stop, before anything is started.",
        "simulate": (
            "Simulate what happens to a group by the scenario: who joins, leaves, stops, crashes, returns, and more."
        ),
        "compare": (
            "Compare alternatives: other settings, assignors or scenarios of one group, or plans of one snapshot."
        ),
        "drain": (
            "Ask whether instances may stop: which of their tasks would start cold or pause, now and after waiting."
        ),
        "why": "Say why a group still probes, why a task moves, why an instance gets nothing, with figures.",
        "bounce": ("Find out whether one instance may restart now, or how all may; exit code 3 if no way is safe."),
        "check": "Check what plans, saved or made now, do to a group against a policy; exit code 3 if they break it.",
        "show": "Show plans saved by --out or --output json.",
        "fleet": "Show many applications at a glance, the worst first: results, saved plans, or snapshots to plan.",
        "history": (
            "Show how far behind applications were over time, who falls behind, and which tasks are written to most."
        ),
        "diff": "Say what changed between two generations of a group, what it cost, and why.",
        "upgrade": (
            "Print the way to another protocol: to cooperative, to a streams group, or of Connect workers to sessioned."
        ),
        "snapshot": (
            "Make snapshots of a group: from its leader's log, or of the running group and its broker's own records."
        ),
        "schema": "Print the JSON Schema of what is written (plan and more) or read (snapshot and more).",
        "help": "Show the pages about this tool: the list of them by question, or one.",
    }
)


def application(loaded: Collection[str] = tuple(COMMANDS)) -> typer.Typer:
    """Return the application; of the commands that are not ``loaded`` only the summary is there."""
    app = typer.Typer(
        name="kstream-plan",
        help="What the next rebalances of a Kafka Streams group will do, before you deploy.",
        epilog=(
            "Exit codes: 0 done, 1 bad input or failure, 2 usage, 3 policy or guard violated, 4 plan does not settle, "
            "5 changes found (--fail-on-changes), 130 interrupted."
        ),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=_options,
    )
    for name, summary in COMMANDS.items():
        if name in loaded:
            function = name.replace("-", "_")
            command = getattr(import_module(f"kstream_plan.cli.commands.{function}"), function)
            described = with_examples(name, cleandoc(command.__doc__ or ""))
            words = {"ignore_unknown_options": name == "help"}  # -9 or --restore-rate are asked for there
            app.command(name, cls=PanelledCommand, help=described, context_settings=words)(command)
        else:
            app.command(name, help=summary)(_not_loaded)
    return app


def _not_loaded() -> None:
    """Stand in for a command that is listed only."""


def _version(wanted: bool) -> None:
    if wanted:
        from kstream_plan.cli.failures import expected_failures  # noqa: PLC0415 - not for every command line
        from kstream_plan.cli.output import say  # noqa: PLC0415

        with expected_failures():
            say(f"kstream-plan {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _say_nearest(given: Sequence[str], app: typer.Typer) -> None:
    from kstream_plan.cli.nearest_usage import nearest_usage  # noqa: PLC0415 - not for every command line
    from kstream_plan.cli.output import talk  # noqa: PLC0415

    nearest = nearest_usage(given, app)
    if nearest is not None:
        talk(f"did you mean: {nearest}")


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code.

    Raises:
        KeyboardInterrupt: it was interrupted; Typer would only give an exit code of its own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    completing = "_KSTREAM_PLAN_COMPLETE" in os.environ
    if not given and not completing:
        given = ["help"]  # what one can ask
    app = application(COMMANDS if completing else given)
    try:
        app(args=given, prog_name="kstream-plan")
    except OSError as error:
        if error.errno not in _UNWRITTEN or error.filename is not None:
            raise
        # Typer's own help and usage
        from kstream_plan.cli.output import not_written  # noqa: PLC0415 - not for every command line

        return not_written(error)
    except SystemExit as end:
        if end.code == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt from None
        if end.code == ExitCode.USAGE and not completing:
            _say_nearest(given, app)
        return end.code if isinstance(end.code, int) else ExitCode.DONE
    return ExitCode.DONE
