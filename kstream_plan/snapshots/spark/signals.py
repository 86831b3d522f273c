"""Interrupts and terminations while Spark runs: whenever they come, Java ends with us."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

#: What ends us; an alarm is how the command line tries an interrupt again that came too early.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


@contextmanager
def signals_afterwards() -> Iterator[None]:
    """Let signals wait: a process whose start they interrupt would be left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending_signals: list[signal.Signals] = []
    handlers = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, _frame: pending_signals.append(signal.Signals(number)))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in pending_signals:
            signal.raise_signal(number)


@contextmanager
def interrupts_as_before() -> Iterator[None]:
    """Put back the handler of interrupts that Spark replaces: with Spark's, errors of the interrupted work come too."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end the started processes too, where no other handler is set."""
    is_ours = (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )

    def leave(number: int, _frame: object) -> NoReturn:
        sys.exit(128 + number)

    if is_ours:
        signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
