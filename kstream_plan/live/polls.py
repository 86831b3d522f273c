"""Polls of a source: one at a time, ever more rarely while it does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from kstream_plan.errors import ClusterError, KstreamPlanError, SnapshotError

T = TypeVar("T")

#: The longest time between two polls of a source that does not answer.
_LONGEST_PAUSE_MS = 60_000


class Clock(Protocol):
    """What time it is, and how to let time pass."""

    def now_ms(self) -> int:
        """Return the time, in milliseconds since 1970."""
        ...

    def elapsed_ms(self) -> int:
        """Return a time that is never set back, in milliseconds."""
        ...

    def sleep(self, wait_ms: int) -> None:
        """Let time pass."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        """Return a time that is never set back, in milliseconds."""
        return time.monotonic_ns() // 1_000_000

    def sleep(self, wait_ms: int) -> None:
        """Let time pass."""
        time.sleep(wait_ms / 1000)


@dataclass(frozen=True, slots=True)
class Poll(Generic[T]):
    """One poll of a source.

    Attributes:
        at_ms: when it began, in milliseconds since 1970.
        answer: what the source answered; ``None``: it did not.
        problem: why it did not.
    """

    at_ms: int
    answer: T | None
    problem: KstreamPlanError | None = None


def polls(
    ask: Callable[[int], T], clock: Clock, *, every_ms: int, give_up_after_ms: int | None = None
) -> Iterator[Poll[T]]:
    """Yield one poll after the other until it is time to give up; the last one is made at that time.

    A source that has never answered is not waited for: its address may be wrong.

    Args:
        ask: asks the source; it is given the time, in milliseconds since 1970.
        clock: what time it is.
        every_ms: the time between two polls; it doubles, up to a minute, while the source does not answer.
        give_up_after_ms: when to give up; ``None``: never.

    Raises:
        ClusterError: the source does not answer the first time.
    """
    end_ms = None if give_up_after_ms is None else clock.elapsed_ms() + give_up_after_ms
    pause_ms, has_answered = every_ms, False
    while True:
        now_ms = clock.now_ms()
        try:
            poll = Poll(now_ms, ask(now_ms))
            pause_ms, has_answered = every_ms, True
        except SnapshotError as error:  # it answers, and the group is not as it has to be: it rebalances, say
            poll = Poll(now_ms, None, error)
            pause_ms, has_answered = every_ms, True
        except ClusterError as error:
            if not has_answered:
                raise
            poll = Poll(now_ms, None, error)
            pause_ms = min(2 * pause_ms, max(_LONGEST_PAUSE_MS, every_ms))
        yield poll
        left_ms = None if end_ms is None else end_ms - clock.elapsed_ms()
        if left_ms is not None and left_ms <= 0:
            return
        clock.sleep(pause_ms if left_ms is None else min(pause_ms, left_ms))
