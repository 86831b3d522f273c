"""Applications divided into batches, run where a batch arrives, and the answer of each.

Everything travels as bytes; who carries it, and what the work is, is handed in.
"""

from __future__ import annotations

import pickle
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from kstream_plan.errors import KstreamPlanError

Result = TypeVar("Result")
#: Packed items, each with its place among all.
Batch: TypeAlias = list[tuple[int, bytes]]

#: Quick rather than small: what is sent is needed once.
_LEVEL = 1
#: So many of the largest batches, and of the smallest, are as much as a core has to do.
_BATCHES_PER_CORE = 8, 64
#: No batch has more items: what comes of some batches for each core is held where all of it is put together.
_MOST_ITEMS = 100


@dataclass(frozen=True, slots=True)
class Answer(Generic[Result]):
    """The answer for one item, by its place among all: the result, or the error.

    ``unexpected``: the traceback of an error that is a defect of this tool.
    """

    place: int
    result: Result | None = None
    error: KstreamPlanError | None = None
    unexpected: str = ""


def make_batches(items: Sequence[bytes], costs: Sequence[float], cores: int) -> list[Batch]:
    """Divide packed items, in their order, into batches for ``cores`` cores.

    The last ones are small, so that all cores end together. The first ones are not too large to show progress.
    """
    remaining_cost = sum(costs)
    largest, smallest = (remaining_cost / (number * cores) for number in _BATCHES_PER_CORE)
    batches: list[Batch] = []
    room = 0.0
    for place, (item, cost) in enumerate(zip(items, costs, strict=True)):
        if room <= 0 or len(batches[-1]) == _MOST_ITEMS:
            batches.append([])
            room = min(largest, max(smallest, remaining_cost / (2 * cores)))
        batches[-1].append((place, item))
        room -= cost
        remaining_cost -= cost
    return batches


def run_batch(work: Callable[[Any], Any], batch: Batch, *, keep_going: bool) -> list[bytes]:
    """Do the work for every item of a batch; without ``keep_going`` the first error ends the batch."""
    answers = []
    for place, item in batch:
        answer: Answer[Any]
        try:
            answer = Answer(place, work(unpacked(item)))
        except KstreamPlanError as error:
            answer = Answer(place, error=error)
        except Exception:
            answer = Answer(place, unexpected=traceback.format_exc())
        answers.append(packed(answer))
        if answer.result is None and not keep_going:
            break
    return answers


def answers(packed_answers: Iterable[bytes]) -> Iterator[Answer[Any]]:
    """Yield the answers.

    Raises:
        RuntimeError: something unexpected went wrong, with its traceback.
    """
    for packed_answer in packed_answers:
        answer: Answer[Any] = unpacked(packed_answer)
        if answer.unexpected:
            raise RuntimeError(f"on an executor:\n{answer.unexpected}")
        yield answer


def packed(value: Any) -> bytes:
    """Return a value as the bytes that are sent."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), _LEVEL)


def unpacked(payload: bytes) -> Any:
    """Return the value that was sent."""
    return pickle.loads(zlib.decompress(payload))
