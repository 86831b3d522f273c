"""The command line: Typer commands, thin; the only place that prints.

Nothing else is imported before :func:`run` does it, so that an interrupt during the imports is answered as any other.
"""

import sys
from collections.abc import Sequence

__all__ = ["main", "run"]

_INTERRUPTED = 130


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code."""
    try:
        from kstream_plan.cli.application import run_command  # noqa: PLC0415 - takes its time

        return run_command(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("kstream-plan: interrupted\n")
        return _INTERRUPTED


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(run())
