"""The command line: Typer commands, thin; the only place that prints.

Nothing else that takes time is imported before :func:`run` does it, so that an interrupt during the imports
is answered as any other. What cannot be read, written or done raises a :class:`~kstream_plan.errors.KstreamPlanError`
anywhere below, wrong options a :class:`~kstream_plan.errors.UsageError`; commands report both.
"""

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from kstream_plan.cli import signals

__all__ = ["main", "run"]

_INTERRUPTED = 130
#: Exit codes above this are of processes that a signal ended.
_SIGNALLED = 128
#: More than all imports make, in which there are no cycles to collect.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code."""
    try:
        from kstream_plan.cli.application import run_command  # noqa: PLC0415 - takes its time

        try:
            code = run_command(arguments)
        except Exception:
            signals.end_if_signalled()  # PySpark may fail as it cleans up after what ended it
            raise
        signals.end_if_postponed()
        signals.end_if_signalled()
        return code
    except KeyboardInterrupt:
        signals.forget()
        sys.stderr.write("kstream-plan: interrupted\n")
        return _INTERRUPTED
    except SystemExit as end:  # a termination
        signals.forget()
        return int(end.code or 0)


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    if os.name == "nt":
        sys.exit("kstream-plan: error: it does not run on Windows. Fix: run it in WSL")
    _open_what_is_closed()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # numpy adds whole numbers only: threads of its linear algebra take CPU time at every start, also of workers
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    own_signals = signals.take_over()
    code = run()
    for number in own_signals:
        signal.signal(number, signal.SIG_IGN)  # the answer is given; Python's own end would die of it
    if code > _SIGNALLED:
        _leave_at_once(code)
    gc.freeze()  # what is left goes with the process, without a search for cycles in all of it
    sys.exit(code)


def _leave_at_once(code: int) -> NoReturn:
    """End without Python's own end, in which threads of what was interrupted may hold whatever it waits for."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_what_is_closed() -> None:
    """Let standard streams that are closed (``>&-``, as cron and services may start us) be empty and lead nowhere."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            # the lowest free number is this one: no file that is opened later can be taken for the stream
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end
