"""The command line: Typer commands, thin; the only place that prints.

Nothing else is imported before :func:`run` does it, so that an interrupt during the imports is answered as any other.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

__all__ = ["main", "run"]

_INTERRUPTED = 130
#: How often a signal that came within an import is tried again, until it is noticed.
_AGAIN_SECONDS = 0.02

#: The signal that waits for the end of an import.
_waiting: list[int] = []
#: The signal that has ended us; whoever takes its exception for an error of its own is overruled.
_ended_by: list[int] = []


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: this process's) and return its exit code."""
    try:
        from kstream_plan.cli.application import run_command  # noqa: PLC0415 - takes its time

        code = run_command(arguments)
        if _waiting:
            _end()
        end_if_signalled()
        return code
    except KeyboardInterrupt:
        _ended_by.clear()
        sys.stderr.write("kstream-plan: interrupted\n")
        return _INTERRUPTED


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    _open_what_is_closed()
    ours: list[int] = []
    if hasattr(signal, "setitimer"):
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        ours = [number for number, handler in usual.items() if signal.getsignal(number) == handler]
    for number in ours:
        signal.signal(number, _postpone_in_imports)
    code = run()
    for number in ours:
        signal.signal(number, signal.SIG_IGN)  # the answer is given; Python's own end would die of it
    # an interrupt that came within exec() or eval() of a text, as named tuples are made, would still end ``python -m``
    # by that signal, although it was caught: the next such call forgets it
    eval("0")
    sys.exit(code)


def end_if_signalled() -> None:
    """End if a signal was to end us and what it raised was lost: Py4J's calls have errors of their own for it.

    Raises:
        KeyboardInterrupt: it was an interrupt.
        SystemExit: it was a termination.
    """
    if _ended_by:
        _leave(_ended_by[0])


def _open_what_is_closed() -> None:
    """Let standard streams that are closed (``>&-``, as cron and services may start us) be empty and lead nowhere."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            # the lowest free number is this one: no file that is opened later can be taken for the stream
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end


def _postpone_in_imports(number: int, frame: FrameType | None) -> None:
    """End, as soon as no import is going on: it would leave the lock of all imports taken, or lose what is raised.

    Modules are loaded in other threads too, while Java starts, and those would wait for that lock for ever.
    """
    if number != signal.SIGALRM:
        _waiting[:] = [number]
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            signal.signal(signal.SIGALRM, _postpone_in_imports)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
            return
        frame = frame.f_back
    if _waiting:
        _end()


def _end() -> None:
    """End by the signal that waits."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    _ended_by[:] = [_waiting.pop()]
    _leave(_ended_by[0])


def _leave(number: int) -> NoReturn:
    if number == signal.SIGTERM:
        sys.exit(128 + number)
    raise KeyboardInterrupt
