"""Plays that do not hang on one another, in several processes at once."""

from __future__ import annotations

import copyreg
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar

_Played = TypeVar("_Played")


def _read_only(of: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(of)


# What comes of a process is pickled, read-only mappings too.
copyreg.pickle(MappingProxyType, lambda of: (_read_only, (dict(of),)))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(play: Callable[[int], _Played], number: int, workers: int) -> Iterator[_Played]:
    """Yield what comes of 0 to ``number`` - 1 in their order, played by so many processes at once."""
    if workers <= 1 or number <= 1:
        yield from map(play, range(number))
        return
    # "spawn": a fork would take over Java's connection and other threads' locks
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(workers, number), context, initializer=_set_up, initargs=(play,)) as pool:
        draws_left = iter(range(number))
        running: deque[Future[_Played]] = deque()
        try:
            with _uninterrupted():
                running.extend(pool.submit(_played, draw) for draw in islice(draws_left, 4 * workers))
            while running:
                yield running.popleft().result()
                running.extend(pool.submit(_played, draw) for draw in islice(draws_left, 1))
        except BaseException:
            # nobody wants what is being simulated any more, and it may take minutes
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let interrupts wait; processes that are started meanwhile never get any: who has started them ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: What this worker process plays, sent to it once.
_work: list[Callable[[int], Any]] = []


def _set_up(play: Callable[[int], Any]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work[:] = [play]


def _end_with_parent() -> None:
    """End this worker when nobody waits for it any more: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _played(number: int) -> Any:
    return _work[0](number)


def side_by_side(workers: int, plays: Sequence[Callable[[], _Played]]) -> Sequence[_Played]:
    """Return what comes of each of these plays, played by so many processes at once: all of it can be pickled.

    If one of the processes is killed, as it is where there is too little memory, they are played here, one by one.
    """
    try:
        return list(in_processes(partial(_one_of, tuple(plays)), len(plays), workers))
    except BrokenProcessPool:
        return [play() for play in plays]


def _one_of(plays: Sequence[Callable[[], _Played]], number: int) -> _Played:
    return plays[number]()
