"""The one place that catches expected errors: one clear message on stderr, the traceback only with ``--debug``."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer

from kstream_plan.cli.options.parameters import CommandLine
from kstream_plan.cli.output import write_stderr
from kstream_plan.cli.signals import end_if_signalled
from kstream_plan.errors import KstreamPlanError


@contextmanager
def expected_failures(*, debug: bool = False) -> Iterator[None]:
    """Turn an expected error into its message and exit code; anything else is a bug and keeps its traceback."""
    if debug:
        logging.basicConfig(format="kstream-plan: %(message)s", stream=sys.stderr)
        logging.getLogger("kstream_plan").setLevel(logging.DEBUG)
    else:
        logging.getLogger("kstream_plan").handlers = [_Talk(logging.WARNING)]
    try:
        yield
    except KstreamPlanError as error:
        end_if_signalled()
        report(error, debug=debug)
        raise typer.Exit(error.exit_code) from None


def report(error: KstreamPlanError, *, debug: bool = False) -> None:
    """Say on stderr what is wrong, where, and how to fix it."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    lines = [f"error: {error}", *(f"  also: {text}" for text in error.also)]
    words = re.findall(r"[^\s:,]+", " ".join(lines))  # options, and files that they name
    sources = [source for source in CommandLine.sources if not source.words.isdisjoint(words)]
    lines += [f"  also: {source.option} is from {source.place}" for source in sources]
    write_stderr("\n".join(lines))


def report_all(errors: Iterable[KstreamPlanError], *, debug: bool) -> None:
    """Say of each error on stderr what is wrong."""
    for error in errors:
        report(error, debug=debug)


class _Talk(logging.Handler):
    """Says on stderr what lower layers warn of."""

    def emit(self, record: logging.LogRecord) -> None:
        write_stderr(f"warning: {record.getMessage()}")
