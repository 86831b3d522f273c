"""Independent simulations, in several processes at once, and whether that is worth while."""

from __future__ import annotations

import copyreg
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from itertools import count
from operator import call
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from kstream_plan.model import Group
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.snapshots.spark.signals import signals_afterwards

#: Fewer changes of owner than this are simulated sooner than other processes are started.
_ALONE = 2_000
#: If one simulation takes longer than that, other processes simulate other outcomes at the same time.
_WORTH_SHARING_MS = 4_000

_Result = TypeVar("_Result")


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


# What comes of a process is pickled, read-only mappings too.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(run: Callable[[int], _Result], number: int, workers: int) -> Iterator[_Result]:
    """Yield the outcomes of 0 to ``number`` - 1 in their order, simulated by so many processes, this one included."""
    with Runner(workers) as side_by_side:
        yield from side_by_side.run_each(run, number)


class Runner(AbstractContextManager["Runner"]):
    """Runs simulations side by side, in so many processes, this one included: all of them can be pickled.

    The others are started when there is something for them, and end with the context, and with them simulations that
    were begun in vain. If one of them is killed, as with too little memory, the rest is simulated here.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._batches: list[_Batch] = []
        self._processes: _OtherProcesses | None = None

    def begin(self, runs: Sequence[Callable[[], Any]], *, surely: bool = False) -> None:
        """Begin simulations; equal ones will perhaps, or ``surely``, be asked for.

        The other processes take one after the other; what they have not taken until then is simulated here as well.
        """
        if self._workers > 1 and runs:
            shared_runs = self._share(
                partial(_one_of, tuple(runs)), len(runs), process_count=min(self._workers - 1, len(runs))
            )
            self._batches.append(_Batch(runs, shared_runs, surely))

    def __call__(self, runs: Sequence[Callable[[], _Result]]) -> Sequence[_Result]:
        """Return the outcome of each of these simulations."""
        batches = [next((batch for batch in self._batches if run in batch.runs), None) for run in runs]
        if runs and not any(batches) and self._runs_in_vain:
            self._end()  # it would be in the way
        rest = [run for run, batch in zip(runs, batches, strict=True) if batch is None]
        runs_here = self._workers < 2 or len(rest) < 2
        outcomes = iter([*(map(call, rest) if runs_here else self.run_each(partial(_one_of, tuple(rest)), len(rest)))])
        return [
            next(outcomes) if batch is None else batch.shared_runs.outcome(batch.runs.index(run))
            for run, batch in zip(runs, batches, strict=True)
        ]

    def run_each(self, run: Callable[[int], _Result], number: int) -> Iterator[_Result]:
        """Yield the outcomes of 0 to ``number`` - 1 in their order; the end of the iteration ends the processes."""
        if self._workers < 2 or number < 2:
            yield from map(run, range(number))
            return
        try:
            shared_runs = self._share(run, number, process_count=min(self._workers, number) - 1)
            for place in range(number):
                yield shared_runs.outcome(place)
                del shared_runs.futures[place]
        except BaseException:
            self._end()
            raise

    def _share(self, run: Callable[[int], _Result], number: int, process_count: int) -> _SharedRuns[_Result]:
        """Have so many of the other processes begin with the simulations, and take one after the other."""
        if self._processes is None:
            self._processes = _OtherProcesses(self._workers - 1)
        shared_runs = _SharedRuns(run, self._processes.submitter(run), number)
        for _ in range(process_count):
            shared_runs.feed()
        return shared_runs

    @property
    def _runs_in_vain(self) -> bool:
        """Whether other processes are busy with simulations that may not be needed, and with nothing else."""
        under_way = [batch for batch in self._batches if batch.shared_runs.is_under_way]
        return bool(under_way) and not any(batch.surely for batch in under_way)

    def _end(self) -> None:
        if self._processes is not None:
            self._processes.end()
            self._processes = None

    def __exit__(self, *_raised: object) -> None:
        self._end()


class _SharedRuns(Generic[_Result]):
    """Simulations that other processes take one after the other, and this one whenever it waits for one of them."""

    def __init__(
        self, run: Callable[[int], _Result], submit: Callable[[int], Future[_Result] | None], number: int
    ) -> None:
        #: ``None``: there is no other process to simulate it
        self.futures: dict[int, Future[_Result] | None] = {}
        self._run = run
        self._submit = submit
        self._remaining = iter(range(number))
        self._one_takes = threading.Lock()

    def feed(self) -> None:
        """Have another process simulate the next one that is left, and then the next."""
        with self._one_takes:
            place = next(self._remaining, None)
            if place is None:
                return
            future = self.futures[place] = self._submit(place)
        if future is not None:
            future.add_done_callback(self._feed_on)

    def _feed_on(self, plan: Future[_Result]) -> None:
        # since 3.12 this runs with the lock of a broken pool held, which submitting would wait for
        if not isinstance(plan.exception(), BrokenProcessPool):
            with suppress(RuntimeError):  # the pool is shut down meanwhile
                self.feed()

    def outcome(self, place: int) -> _Result:
        """Return the outcome of one; while another process simulates it, those that are left are simulated here."""
        while not self._has_come(place) and (own_place := self._next_left()) is not None:
            self.futures[own_place] = _run_here(self._run, own_place)
        return _outcome(self.futures.get(place), partial(self._run, place))

    def _next_left(self) -> int | None:
        with self._one_takes:
            return next(self._remaining, None)

    def _has_come(self, place: int) -> bool:
        return place in self.futures and ((future := self.futures[place]) is None or future.done())

    @property
    def is_under_way(self) -> bool:
        """Whether another process simulates one of them, or has it queued."""
        return any(future is not None and not future.done() for future in [*self.futures.values()])


class _Batch(NamedTuple):
    """Simulations that were begun; ``surely``: they will be asked for."""

    runs: Sequence[Callable[[], Any]]
    shared_runs: _SharedRuns[Any]
    surely: bool


class _OtherProcesses:
    """Other processes, which read simulations from files: a large message to an ended one would block for ever."""

    def __init__(self, number: int) -> None:
        self._earlier_children = set(multiprocessing.active_children())
        self._futures: list[Future[Any]] = []
        self._works = count()
        self._open = ExitStack()
        folder = TemporaryDirectory(prefix="kstream-plan-", ignore_cleanup_errors=True)
        self._folder = self._open.enter_context(folder)
        with _uninterrupted():
            # "spawn": a fork would take over Java's connection and other threads' locks
            context = multiprocessing.get_context("spawn")
            self._pool = self._open.enter_context(ProcessPoolExecutor(number, context, initializer=_set_up))

    def submitter(self, run: Callable[[int], _Result]) -> Callable[[int], Future[_Result] | None]:
        """Return a function that has one of them simulate one of these; it returns ``None`` if the pool is broken."""
        work = Path(self._folder, f"{next(self._works)}.pickle")
        work.write_bytes(pickle.dumps(run))
        return partial(self._submit, work)

    def _submit(self, work: Path, place: int) -> Future[Any] | None:
        # OSError: one that is being started while that is noticed finds what it was to hear of closed already
        with _uninterrupted(), suppress(BrokenProcessPool, OSError):
            future = self._pool.submit(_run, work, place)
            self._futures = [*(pending for pending in self._futures if not pending.done()), future]
            return future
        return None

    def end(self) -> None:
        """End the processes; what they still simulate is not needed any more, and may take minutes."""
        if not all(future.done() for future in self._futures):
            for worker in set(multiprocessing.active_children()).difference(self._earlier_children):
                worker.kill()  # the command line's own answer to a termination would be taken for an outcome
        self._open.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait: they would leave processes behind that are not registered yet.

    Processes that are started meanwhile never get interrupts, for their parent ends them, and terminations only once
    they are set up.
    """
    with signals_afterwards():
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _set_up() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker with its parent: it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@lru_cache(maxsize=2)  # what is surely asked for later is simulated beside
def _read(work: Path) -> Callable[[int], Any]:
    run: Callable[[int], Any] = pickle.loads(work.read_bytes())
    return run


def _run(work: Path, number: int) -> Any:
    return _read(work)(number)


def _run_here(run: Callable[[int], _Result], number: int) -> Future[_Result]:
    """Simulate one; what it raises is raised when it is asked for, which is in order."""
    future = Future[_Result]()
    try:
        future.set_result(run(number))
    except Exception as error:
        future.set_exception(error)
    return future


def _outcome(future: Future[_Result] | None, run: Callable[[], _Result]) -> _Result:
    """Return the outcome of a simulation; it is simulated here if its process has ended."""
    try:
        return run() if future is None else future.result()
    except BrokenProcessPool:
        return run()


def _one_of(runs: Sequence[Callable[[], _Result]], number: int) -> _Result:
    return runs[number]()


def work_of_one_ms(group: Group, config: AssignmentConfig) -> float:
    """Return about how long one draw takes on one core: by its size alone, so that no result depends on the machine.

    The number of rounds grows with the copies that move. With standbys, each movement depends on all those before it,
    so that what a round changes grows with the tasks: a simulation of 3,000 with one each takes 2 s with a compiled
    engine, ten times as long without.
    """
    stateful_tasks, standbys = len(group.stateful), config.num_standby_replicas
    copies = stateful_tasks * (1 + standbys)
    return 5 + copies * (1.2 + 0.0007 * standbys * stateful_tasks)


def at_once(group: Group, config: AssignmentConfig, workers: int, number: int = 1) -> Runner:
    """Return the runner of simulations for a group of this size and a number of draws.

    It has so many processes if one simulation takes seconds, or all draws take longer than to start other processes.
    """
    is_worth = work_of_one_ms(group, config) > _WORTH_SHARING_MS or (number > 1 and worth_sharing(group, number))
    return Runner(workers if is_worth else 1)


def worth_sharing(group: Group, number: int) -> bool:
    """Tell whether so many simulations of a group take longer than to start other processes."""
    return number * len(group.stateful) > _ALONE
