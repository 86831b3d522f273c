"""Plays that do not hang on one another, in several processes at once."""

from __future__ import annotations

import copyreg
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, TypeVar

from kstream_plan.snapshots.spark.signals import signals_afterwards

_Played = TypeVar("_Played")


def _read_only(of: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(of)


# What comes of a process is pickled, read-only mappings too.
copyreg.pickle(MappingProxyType, lambda of: (_read_only, (dict(of),)))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(play: Callable[[int], _Played], number: int, workers: int) -> Iterator[_Played]:
    """Yield what comes of 0 to ``number`` - 1 in their order, played by so many processes at once.

    If one of them is killed, as it is where there is too little memory, the rest is played here, one by one.
    """
    come = 0
    if workers > 1 and number > 1:
        with suppress(BrokenProcessPool):
            for played in _by_others(play, number, workers):
                come += 1
                yield played
    yield from map(play, range(come, number))


def _by_others(play: Callable[[int], _Played], number: int, workers: int) -> Iterator[_Played]:
    others = set(multiprocessing.active_children())
    with _pool(play, min(workers, number)) as pool:
        try:
            running = deque(_submitted(pool, range(min(4 * workers, number))))
            draws_left = iter(range(len(running), number))
            while running:
                yield running.popleft().result()
                running.extend(pool.submit(_played, draw) for draw in islice(draws_left, 1))
        except BaseException:
            _end_all_but(others)
            raise


@contextmanager
def _pool(play: Callable[[int], Any], workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes that know what to play, from a file: who tells much to one that has ended waits for ever."""
    with TemporaryDirectory(prefix="kstream-plan-", ignore_cleanup_errors=True) as folder:
        work = Path(folder, "play.pickle")
        work.write_bytes(pickle.dumps(play))
        with _uninterrupted():
            # "spawn": a fork would take over Java's connection and other threads' locks
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(workers, context, initializer=_set_up, initargs=(work,))
        with pool:
            yield pool


def _submitted(pool: ProcessPoolExecutor, draws: Iterable[int]) -> list[Future[Any]]:
    """Return what will come of the first draws, with which the processes are started; of less if one has ended.

    Another that is being started while that is noticed finds what it was to hear of already closed (``OSError``).
    """
    found: list[Future[Any]] = []
    with _uninterrupted(), suppress(BrokenProcessPool, OSError):
        found.extend(pool.submit(_played, draw) for draw in draws)
    return found


def _end_all_but(others: Collection[BaseProcess]) -> None:
    """End the processes begun since: nobody wants what they play any more, and it may take minutes."""
    for worker in set(multiprocessing.active_children()).difference(others):
        worker.kill()  # the command line's own answer to a termination would be taken for what comes of a play


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait: they would leave processes behind that nobody knows of yet.

    Processes that are started meanwhile never get interrupts, for who has started them ends them, and terminations only
    once they know what to play.
    """
    with signals_afterwards():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: What this worker process plays, read once.
_work: list[Callable[[int], Any]] = []


def _set_up(work: Path) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work[:] = [pickle.loads(work.read_bytes())]


def _end_with_parent() -> None:
    """End this worker when nobody waits for it any more: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _played(number: int) -> Any:
    return _work[0](number)


class SideBySide(AbstractContextManager["SideBySide"]):
    """Plays side by side, in so many processes: all of it can be pickled.

    If one of the processes is killed, as it is where there is too little memory, the rest is played here, one by one.
    What was begun and nobody asked for ends with the context.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._begun: list[tuple[Callable[[], Any], Future[Any]]] = []
        self._pool: ExitStack | None = None
        self._others: set[BaseProcess] = set()

    def begin(self, plays: Sequence[Callable[[], Any]]) -> None:
        """Begin with plays of which one that is equal will perhaps be asked for; once, if there are processes.

        Begun are the first ones, one less than there are processes, for meanwhile this one plays, too.
        """
        plays = plays[: self._workers - 1]
        if not plays or self._pool is not None:
            return
        self._others = set(multiprocessing.active_children())
        self._pool = ExitStack()
        pool = self._pool.enter_context(_pool(partial(_one_of, tuple(plays)), len(plays)))
        self._begun = list(zip(plays, _submitted(pool, range(len(plays))), strict=False))

    def __call__(self, plays: Sequence[Callable[[], _Played]]) -> Sequence[_Played]:
        """Return what comes of each of these plays."""
        begun = [next((found for of, found in self._begun if of == play), None) for play in plays]
        rest = [play for play, found in zip(plays, begun, strict=True) if found is None]
        come = iter([*in_processes(partial(_one_of, tuple(rest)), len(rest), self._workers)])
        return [next(come) if found is None else _come(found, play) for play, found in zip(plays, begun, strict=True)]

    def __exit__(self, *_raised: object) -> None:
        if self._pool is None:
            return
        if not (self._begun and all(found.done() for _, found in self._begun)):
            _end_all_but(self._others)
        self._pool.close()


def _come(found: Future[_Played], play: Callable[[], _Played]) -> _Played:
    try:
        return found.result()
    except BrokenProcessPool:
        return play()


def _one_of(plays: Sequence[Callable[[], _Played]], number: int) -> _Played:
    return plays[number]()
