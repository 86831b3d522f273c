"""A clock that a test sets: time passes where somebody sleeps."""

from __future__ import annotations

from collections.abc import Callable


class SetClock:
    """A clock that begins at a time; ``on_sleep`` is told the time after each sleep."""

    def __init__(self, now_ms: int, on_sleep: Callable[[int], None] = lambda _now_ms: None) -> None:
        self.time_ms = now_ms
        self.slept: list[int] = []
        self._on_sleep = on_sleep

    def now_ms(self) -> int:
        return self.time_ms

    def elapsed_ms(self) -> int:
        return self.time_ms

    def sleep(self, wait_ms: int) -> None:
        self.time_ms += wait_ms
        self.slept.append(wait_ms)
        self._on_sleep(self.time_ms)
