"""The work of a command on each application: here, one after the other, or on Spark's executors if it is much.

What takes files, or talks, is done here beforehand; on the executors only what needs nothing but the application.
"""

from __future__ import annotations

import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Generic, NamedTuple, Protocol, Self, TypeVar

from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.cli.actions.results import ResultsRequest, rows_of, unreadable
from kstream_plan.cli.output import bytes_written_at_once
from kstream_plan.cli.progress import SILENCE, Report
from kstream_plan.errors import KstreamPlanError, SnapshotError, SparkError
from kstream_plan.fleet.batches import Answer, Batch, answers, make_batches, packed, run_batch, unpacked
from kstream_plan.model import Snapshot
from kstream_plan.render.text.numbers import count
from kstream_plan.simulation.processes import processors

if TYPE_CHECKING:
    from pyspark import SparkContext

    from kstream_plan.snapshots.reading import Outcome

T = TypeVar("T")

Item = TypeVar("Item")

#: Other cores have to take so much work (:func:`~kstream_plan.simulation.processes.work_of_one_ms`) over, or it is done
#: sooner without Python workers, which have to start.
WORTH_MS = 4_000
#: What an application takes at least.
_LEAST_MS = 5
#: Up to this many bytes of what is shown or reported at the end are kept in memory, packed.
_IN_MEMORY = 64 << 20


@dataclass(slots=True)
class Work(Generic[T]):
    """What came of every application that could be worked on, and the errors of the others."""

    results: list[T] = field(default_factory=list)
    errors: list[KstreamPlanError] = field(default_factory=list)

    def note(self, error: KstreamPlanError, outcome: Snapshot | SnapshotError, *, keep_going: bool) -> None:
        """Name the application in an error, and raise it unless it is to ``keep_going``."""
        if isinstance(outcome, Snapshot):
            error.came_up_in(outcome.state.group.application_id)
        if not keep_going:
            raise error
        self.errors.append(error)

    def __iadd__(self, other_work: Work[T]) -> Work[T]:
        self.results += other_work.results
        self.errors += other_work.errors
        return self


def each_application(
    outcomes: Sequence[Snapshot | SnapshotError],
    settings: Overrides,
    work_on: Callable[[Snapshot], T],
    *,
    keep_going: bool,
) -> Work[T]:
    """Call ``work_on`` for each snapshot under the settings.

    Whatever goes wrong with an application names it; with ``keep_going`` it does not stop the others.
    """
    work: Work[T] = Work()
    settings.files.check_used([application_id_of(outcome) for outcome in outcomes])
    for outcome in outcomes:
        try:
            work.results.append(work_on(settings.apply(readable(outcome))))
        except KstreamPlanError as error:
            work.note(error, outcome, keep_going=keep_going)
    return work


def readable(outcome: Snapshot | SnapshotError) -> Snapshot:
    """Return a snapshot, or raise what is wrong with it."""
    if isinstance(outcome, SnapshotError):
        raise outcome
    return outcome


def application_id_of(outcome: Snapshot | SnapshotError) -> str:
    """Return whose snapshot it is, or would be; empty if that cannot be told."""
    return outcome.state.group.application_id if isinstance(outcome, Snapshot) else outcome.application_id or ""


class HasJson(Protocol):
    """What comes of one application: among it what is saved, as a line of JSON, or empty."""

    @property
    def json(self) -> str:
        """The line, with its end."""
        ...

    def _replace(self, *, json: str) -> Self: ...


Result = TypeVar("Result", bound=HasJson)


class PackedResult(NamedTuple, Generic[Result]):
    """What came of one application, without its JSON, and that, packed where it was made until it is written."""

    result: Result
    json: bytes


class JobContext(NamedTuple):
    """Where an application is worked on: whom to tell how far it is, so many processes to use, its place among others.

    ``place`` is that as text, empty for the ``only`` one.
    """

    progress: Report = SILENCE
    processes: int = 1
    place: str = ""
    only: bool = False


class _QueuedItem(NamedTuple):
    place: int
    application_id: str
    packed_item: bytes
    cost_ms: float


@dataclass(frozen=True, slots=True)
class Job(Generic[Item, Result]):
    """What is done with each application.

    ``prepare`` makes of a snapshot what is worked on, always here. ``work`` is called with that; executors find it by
    its name. ``cost_ms``: about how long it takes.
    """

    prepare: Callable[[Snapshot], Item]
    work: Callable[[Item, JobContext], Result]
    cost_ms: Callable[[Snapshot], float]


class FleetRun(Generic[Item, Result]):
    """A job on all applications that are read. Being called while Spark is there that read them, it may use that.

    The results are without their JSON. It is saved in ``out_file`` line by line, which is there when all of it is;
    :meth:`lines` has it in the same order if it ``keeps_lines``. ``job`` is asked for when something was read: what it
    takes may be loaded meanwhile. ``results`` are written as a data set, which executors always do.
    """

    def __init__(
        self,
        job: Callable[[], Job[Item, Result]],
        settings: Overrides,
        progress: Report,
        *,
        keep_going: bool,
        out_file: Path | None = None,
        keeps_lines: bool = False,
        results: ResultsRequest | None = None,
    ) -> None:
        self._make_job = job
        self._settings = settings
        self._progress = progress
        self._keep_going = keep_going
        self._results = results
        self._work: Work[Result] | None = None
        self._out_file = out_file
        self._saved_lines: BinaryIO | None = None
        self._keeps_lines = keeps_lines
        self._kept_lines = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is gone with this
        self._sizes: list[int] = []
        self._last: list[Callable[[], Item]] = []
        #: by application: how many of its rows do not count; ``None``: unknown
        self.older: dict[str, int | None] = {}

    @cached_property
    def _job(self) -> Job[Item, Result]:
        return self._make_job()

    @cached_property
    def _on_batch(self) -> Callable[[Batch], list[bytes]]:
        return partial(run_batch, partial(_run_packed, self._job.work), keep_going=self._keep_going)

    def start_workers(self, applications: int, context: SparkContext) -> AbstractContextManager[None]:
        """Start Python workers, as long as the context lasts, if so many applications are surely worth it."""
        from kstream_plan.snapshots.spark.executors import executor_cores, workers_started  # noqa: PLC0415 - loads Spark

        if not _is_worth(applications * _LEAST_MS, executor_cores(context)):
            return nullcontext()
        return workers_started(context, self._on_batch, [])

    def __call__(self, outcomes: Iterator[Outcome], context: SparkContext) -> Sequence[Outcome]:
        """Do the work on the executors if it is much; return what is left to :meth:`run`."""
        from kstream_plan.snapshots.spark.executors import executor_cores, on_executors  # noqa: PLC0415 - loads Spark

        results, cores = self._results, executor_cores(context)
        outcomes, work_ms = self._note_each(outcomes), 0.0
        first_outcomes: list[Outcome] = []
        while results is None and (len(first_outcomes) < 2 or not _is_worth(work_ms, cores)):
            if (outcome := next(outcomes, None)) is None:
                return first_outcomes
            first_outcomes.append(outcome)
            work_ms += self._job.cost_ms(outcome) if isinstance(outcome, Snapshot) else 0
        queue, errors = self._prepare(chain(first_outcomes, outcomes))
        target = None if results is None else results.open_data_set(context)
        self._settings.files.check_used(self.older)
        batches = make_batches(
            [item.packed_item for item in queue], [item.cost_ms for item in queue], executor_cores(context)
        )
        on_fetched = partial(self._progress, f"working on {count(len(queue), 'application')}")
        lighter = results.lighter if results is not None else None
        with on_executors(context, self._on_batch, batches, is_kept=results is not None) as batch_run, self._saving():
            work = self._collect(queue, errors, answers(batch_run.fetched(on_fetched, lighter)))
            if results is not None and target is not None:
                from kstream_plan.documents.results import row_of, spark_columns  # noqa: PLC0415 - only for results

                error_rows = [row_of(unreadable(error)) for error in work.errors]
                rows = batch_run.frame(rows_of, spark_columns(), error_rows, order_by="application_id")
                target.write(rows, results.form)
        self._work = work
        return ()

    def _note_each(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        for outcome in outcomes:
            self.older[application_id_of(outcome)] = outcome.older if isinstance(outcome, Snapshot) else 0
            yield outcome

    def run(self, outcomes: Sequence[Outcome]) -> Work[Result]:
        """Return what comes of the applications, working on them now if that is not done yet."""
        if self._work is not None:
            return self._work
        outcomes = [*self._note_each(outcomes)]
        self._settings.files.check_used(self.older)
        only, work = len(outcomes) == 1, Work[Result]()
        with self._saving():
            for number, outcome in enumerate(outcomes, 1):
                place = "" if only else f" ({number:,} of {len(outcomes):,})"
                context = JobContext(self._progress, processors(), place, only)
                try:
                    item = self._job.prepare(self._settings.apply(readable(outcome)))
                    work.results.append(self._keep(partial(_same, item), _pack(self._job.work(item, context))))
                except KstreamPlanError as error:
                    work.note(error, outcome, keep_going=self._keep_going)
        return work

    def lines(self) -> Iterator[str]:
        """Yield the JSON of each result."""
        self._kept_lines.seek(0)
        for size in self._sizes:
            yield zlib.decompress(self._kept_lines.read(size)).decode()

    @contextmanager
    def _saving(self) -> Iterator[None]:
        """Save the JSON of what comes meanwhile."""
        if self._out_file is None:
            yield
            return
        with bytes_written_at_once(self._out_file) as self._saved_lines:
            yield

    def _prepare(self, outcomes: Iterator[Outcome]) -> tuple[list[_QueuedItem], dict[int, KstreamPlanError]]:
        """Return what is sent, up to the first error unless it is gone on, and the errors by place.

        A snapshot takes 30 times the memory of what is sent of it, and lives no longer than until that is made.
        """
        queue: list[_QueuedItem] = []
        errors: dict[int, KstreamPlanError] = {}
        for place, outcome in enumerate(outcomes):
            application_id = application_id_of(outcome)
            try:
                snapshot = self._settings.apply(readable(outcome))
                item = packed(self._job.prepare(snapshot))
                queue.append(_QueuedItem(place, application_id, item, self._job.cost_ms(snapshot)))
            except KstreamPlanError as error:
                if isinstance(outcome, Snapshot):
                    error.came_up_in(application_id)
                errors[place] = error
                if not self._keep_going:
                    deque(outcomes, maxlen=0)  # what cannot be read is the error before any other
                    break
        return queue, errors

    def _collect(
        self,
        queue: Sequence[_QueuedItem],
        errors: dict[int, KstreamPlanError],
        batch_answers: Iterable[Answer[PackedResult[Result]]],
    ) -> Work[Result]:
        results: list[Result] = []
        answer_count = 0
        for answer in batch_answers:
            answer_count += 1
            item = queue[answer.place]
            if answer.error is not None:
                answer.error.came_up_in(item.application_id)
                errors[item.place] = answer.error
                if not self._keep_going:
                    break
            elif answer.result is not None:
                results.append(self._keep(partial(unpacked, item.packed_item), answer.result))
        if errors and not self._keep_going:
            raise errors[min(errors)]
        if lost_count := len(queue) - answer_count:
            message = f"Spark has lost what came of {count(lost_count, 'application')}"
            raise SparkError(message, fix="check the disks of its executors, and run it again")
        return Work(results, [errors[place] for place in sorted(errors)])

    def rerun_single(self) -> Result:
        """Do the work on the last application that came out well once more, as if it were the only one."""
        return self._job.work(self._last[0](), JobContext(self._progress, processors(), only=True))

    def _keep(self, item: Callable[[], Item], packed_result: PackedResult[Result]) -> Result:
        """Put the JSON away."""
        self._last = [item]
        if self._saved_lines is not None:
            self._saved_lines.write(zlib.decompress(packed_result.json))
        if self._keeps_lines:
            self._keep_line(packed_result.json)
        return packed_result.result

    def _keep_line(self, packed_line: bytes) -> None:
        try:
            self._kept_lines.write(packed_line)
        except OSError as error:
            fix = "make room there, or name another folder by TMPDIR"
            raise KstreamPlanError(
                f"cannot be written: {error.strerror}", where=tempfile.gettempdir(), fix=fix
            ) from None
        self._sizes.append(len(packed_line))


def _is_worth(work_ms: float, cores: int) -> bool:
    """Tell whether so many cores are sooner done with so much work, though Python workers have to start."""
    return work_ms * (1 - 1 / cores) >= WORTH_MS


def _same(item: Item) -> Item:
    return item


def _run_packed(work: Callable[[Item, JobContext], Result], item: Item) -> PackedResult[Result]:
    return _pack(work(item, JobContext()))


def _pack(result: Result) -> PackedResult[Result]:
    return PackedResult(result._replace(json=""), zlib.compress(result.json.encode(), 1))
