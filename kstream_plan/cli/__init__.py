"""The command line: Typer commands, thin; the only place that prints."""

from kstream_plan.cli.application import app, main, run

__all__ = ["app", "main", "run"]
