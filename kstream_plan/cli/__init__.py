"""The command line: Typer commands, thin; the only place that prints.

Nothing else is imported before :func:`run` does it, so that an interrupt during the imports is answered as any other.
"""

import signal
import sys
from collections.abc import Sequence
from types import FrameType

__all__ = ["main", "run"]

_INTERRUPTED = 130
#: How soon an interrupt is tried again that came within an import; once more if it comes just before a call that waits.
_AGAIN_SECONDS = 0.02


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
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and hasattr(signal, "setitimer"):
        for number in (signal.SIGINT, signal.SIGALRM):
            signal.signal(number, _interrupt)
    sys.exit(run())


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Interrupt, as soon as no import is going on: it would leave the lock of all imports taken.

    Modules are loaded in other threads too, while Java starts, and those would wait for that lock for ever.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
            return
        frame = frame.f_back
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise KeyboardInterrupt
