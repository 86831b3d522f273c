"""Applications dealt into batches, worked on where a batch arrives, and what comes back of each.

Everything travels as bytes; who carries it, and what the work is, is handed in.
"""

from __future__ import annotations

import pickle
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstream_plan.errors import KstreamPlanError

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Quick rather than small: what is sent is needed once.
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Answer(Generic[Result]):
    """What came of one item, by its place among all: the result, or the error.

    ``unexpected``: an error that nobody expects, which is a defect of this tool, as its traceback.
    """

    place: int
    result: Result | None = None
    error: KstreamPlanError | None = None
    unexpected: str = ""


def dealt(items: Sequence[Item], costs: Sequence[float], number: int) -> list[bytes]:
    """Deal the items, in their order, into at most ``number`` batches that cost about as much each."""
    share, so_far = sum(costs) / max(1, number), 0.0
    batches: list[list[tuple[int, Item]]] = []
    for place, (item, cost) in enumerate(zip(items, costs, strict=True)):
        if not batches or so_far >= share * len(batches):
            batches.append([])
        batches[-1].append((place, item))
        so_far += cost
    return [packed(batch) for batch in batches]


def worked(work: Callable[[Any], Any], batch: bytes, *, keep_going: bool) -> list[bytes]:
    """Do the work for every item of a batch; without ``keep_going`` the first error ends the batch."""
    answers = []
    for place, item in unpacked(batch):
        answer: Answer[Any]
        try:
            answer = Answer(place, work(item))
        except KstreamPlanError as error:
            answer = Answer(place, error=error)
        except Exception:
            answer = Answer(place, unexpected=traceback.format_exc())
        answers.append(packed(answer))
        if answer.result is None and not keep_going:
            break
    return answers


def answers(batches: Iterable[bytes]) -> Iterator[Answer[Any]]:
    """Yield what came back.

    Raises:
        RuntimeError: something unexpected went wrong, with its traceback.
    """
    for one in batches:
        answer: Answer[Any] = unpacked(one)
        if answer.unexpected:
            raise RuntimeError(f"on an executor:\n{answer.unexpected}")
        yield answer


def packed(of: Any) -> bytes:
    """Return what a value is sent as."""
    return zlib.compress(pickle.dumps(of, pickle.HIGHEST_PROTOCOL), _LEVEL)


def unpacked(of: bytes) -> Any:
    """Return the value that was sent."""
    return pickle.loads(zlib.decompress(of))
