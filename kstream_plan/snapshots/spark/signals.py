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
    """Let signals wait: a process whose start they interrupt is known to nobody, and would be left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    got: list[signal.Signals] = []
    handlers = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, _frame: got.append(signal.Signals(number)))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in got:
            signal.raise_signal(number)


@contextmanager
def interrupts_as_before() -> Iterator[None]:
    """Undo that Spark takes interrupts for itself: in its hands they come with errors of what they interrupted."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end what was started too, where nobody else handles it."""
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
