"""Which of thousands of movements is the first that may put an instance out of place in Kafka's queue: all at once.

Movement by movement ``constrained_priority_set`` tells it. Mostly there is none, and to see that takes numpy a tenth of
the time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kstream_plan.assignors.java.priority_queue import Handled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

#: Of what stays where it is: after polls for nobody, and otherwise.
_EMPTIED, _STAYED = -1, -2
#: Up to there numpy counts exactly what is weighed.
_EXACT = 1 << 53
#: Fewer instances than that have numbers of 16 bits.
_SHORT = 1 << 15


class History:
    """What one movement after the other did to the queue, each with one poll; a draft from one decision to the next.

    ``entries`` has them in order. Beside it they are kept as numbers: source, destination, whether the latter weighs
    less, and whether the source was polled.
    """

    def __init__(self, instances: int) -> None:
        self._instances = instances
        self.entries: list[Handled] = []
        self._numbers = array("q")

    def insert(self, at: int, entry: Handled) -> None:
        """Let a movement come at this place."""
        self.entries.insert(at, entry)
        self._numbers.insert(at, self._number(entry))

    def remove(self, at: int) -> None:
        """Take out the movement at this place."""
        del self.entries[at], self._numbers[at]

    def replace(self, at: int, entry: Handled) -> None:
        """Let another movement be at this place."""
        self.entries[at], self._numbers[at] = entry, self._number(entry)

    def _number(self, entry: Handled) -> int:
        polls, source, destination, _, loss = entry
        if source is None:
            return _STAYED if all(polls) else _EMPTIED
        return (source * self._instances + destination) << 2 | loss << 1 | (source in polls[-1])

    def until_doubt(
        self, begin: int, end: int, keys: Sequence[int], weights: Sequence[int], enough: int
    ) -> tuple[int, list[int]]:
        """Return up to where, from ``begin`` to ``end``, the queue surely stays in order, and the keys then.

        It is in order at first, with these ``keys``; ``weights`` are what a task more adds to each. Nobody gets out of
        place whom ``enough`` lighter ones hold back. A movement for which nobody could be polled puts the queue in
        order before.
        """
        import numpy as np  # noqa: PLC0415 - takes its time, and most commands need none of it

        number = end - begin
        if number <= 0 or max(keys) + number * max(weights) >= _EXACT:
            return begin, list(keys)
        first, weight = np.array(keys, np.int64), np.array(weights, np.int64)
        numbers = np.frombuffer(self._numbers, np.int64, number, begin * self._numbers.itemsize)
        at = np.flatnonzero(numbers >= 0)
        moves = numbers[at]
        loss, polled = moves >> 1 & 1, moves & 1
        source, destination = np.divmod(moves >> 2, len(keys))
        instances, change = _in_turn(source, destination), _in_turn(weight[source], -loss * weight[destination])
        before, most = _before(first, instances, change)
        key, was = before[0::2], before[1::2]
        offered, now = key + weight[source], was - loss * weight[destination]
        held_back = key > np.sort(most)[enough - 1] if enough else key >= 0
        doubt = (loss == 1) & ((polled == 0) | ((now <= offered) & (offered < was) & ~held_back))
        emptied = [*np.flatnonzero(numbers == _EMPTIED)[-1:], *at[polled == 0][-1:]]
        found = at[doubt & (at >= max(emptied, default=0))]
        upto = int(found[0]) if len(found) else number
        passed = 2 * int(np.searchsorted(at, upto))
        after = first + np.bincount(instances[:passed], change[:passed], len(keys)).astype(np.int64)
        return begin + upto, after.tolist()


def _in_turn(one: Numbers, other: Numbers) -> Numbers:
    import numpy as np  # noqa: PLC0415 - as above

    both = np.empty(2 * len(one), np.int64)
    both[0::2], both[1::2] = one, other
    return both


def _before(first: Numbers, instances: Numbers, change: Numbers) -> tuple[Numbers, Numbers]:
    """Return the key of each of these instances before each of these changes, and the heaviest that each ever has."""
    import numpy as np  # noqa: PLC0415 - as above

    # numbers of 16 bits are put in order without comparing them
    order = np.argsort(instances.astype(np.int16) if len(first) < _SHORT else instances, kind="stable")
    changes = np.bincount(instances, minlength=len(first))
    ends = changes.cumsum()
    after = change[order].cumsum()
    with_any = np.flatnonzero(changes)
    starts = (ends - changes)[with_any]
    after += (first[with_any] - np.where(starts > 0, after[starts - 1], 0)).repeat(changes[with_any])
    before = np.empty_like(after)
    before[order] = after
    before -= change
    most = first.copy()
    if len(starts):
        most[with_any] = np.maximum(first[with_any], np.maximum.reduceat(after, starts))
    return before, most
