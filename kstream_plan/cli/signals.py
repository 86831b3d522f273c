"""Signals that end the command line: kept until no import is going on, and heard though their exception was lost.

Only the standard library is imported here, and little of it: it stands before everything that takes its time.
"""

import _thread
import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

#: How often a signal that came within an import is tried again, until it is noticed.
_AGAIN_SECONDS = 0.02

#: How long what a signal ended may take to clean up. Whatever then still stands in its way, the process ends.
_CLEANED_UP_SECONDS = 20.0

#: The signal that waits for the end of an import.
_pending_signals: list[int] = []
#: The signal that has ended us; whoever takes its exception for an error of its own is overruled.
_ended_by: list[int] = []


def take_over() -> list[int]:
    """Answer interrupts and terminations that are answered as usual so far, and return which."""
    if not hasattr(signal, "setitimer"):
        return []
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    own_signals = [int(number) for number, handler in usual.items() if signal.getsignal(number) == handler]
    for number in own_signals:
        signal.signal(number, _postpone_in_imports)
    return own_signals


def end_if_postponed() -> None:
    """End if a signal still waits for the end of an import."""
    if _pending_signals:
        _end()


def forget() -> None:
    """Take the signal that ends us as answered."""
    _ended_by.clear()


def end_if_signalled() -> None:
    """End if a signal was to end us and what it raised was lost: Py4J's calls have errors of their own for it."""
    if _ended_by:
        _leave(_ended_by[0])


def _postpone_in_imports(number: int, frame: FrameType | None) -> None:
    """End, as soon as no import is going on: it would leave the lock of all imports taken, or lose what is raised.

    Modules are loaded in other threads too, while Java starts, and those would wait for that lock for ever.
    """
    if number != signal.SIGALRM:
        _pending_signals[:] = [number]
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            signal.signal(signal.SIGALRM, _postpone_in_imports)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, _AGAIN_SECONDS)
            return
        frame = frame.f_back
    if _pending_signals:
        _end()


def _end() -> None:
    """End by the signal that waits."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    _ended_by[:] = [_pending_signals.pop()]
    # not by threading: what the signal has interrupted may hold its locks
    _thread.start_new_thread(_end_at_last, (128 + _ended_by[0],))
    _leave(_ended_by[0])


def _end_at_last(code: int) -> None:
    """End the process though its main thread waits for what never comes; Java ends when we do."""
    time.sleep(_CLEANED_UP_SECONDS)
    os._exit(code)


def _leave(number: int) -> NoReturn:
    if number == signal.SIGTERM:
        sys.exit(128 + number)
    raise KeyboardInterrupt
