"""The application: its commands, and what happens around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kstream_plan import __version__
from kstream_plan.cli.assign import assign
from kstream_plan.cli.drain import drain
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.output import say
from kstream_plan.cli.schema import schema
from kstream_plan.cli.show import show
from kstream_plan.cli.simulate import simulate
from kstream_plan.cli.simulate_scaleout import simulate_scaleout
from kstream_plan.cli.snapshot import snapshot

app = typer.Typer(
    name="kstream-plan",
    help="What the next rebalances of a Kafka Streams group will do, before you deploy.",
    epilog=(
        "Exit codes: 0 done, 1 bad input or failure, 2 usage, 3 policy violated, 4 plan does not settle, "
        "5 changes found (--fail-on-changes), 130 interrupted."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(assign)
app.command()(simulate)
app.command("simulate-scaleout")(simulate_scaleout)
app.command()(drain)
app.command()(show)
app.command()(snapshot)
app.command()(schema)


def _version(wanted: bool) -> None:
    if wanted:
        with expected_failures():
            say(f"kstream-plan {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code."""
    try:
        app(args=arguments, prog_name="kstream-plan")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.DONE
    return ExitCode.DONE
