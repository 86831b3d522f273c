"""When Kafka Streams deletes left-over state: as far as that is known, and between which times otherwise.

Source: page ``rules``, "From one generation to the next".

Every instance looks at its disk each ``state.cleanup.delay.ms`` from its start on, and deletes what nobody is assigned
and has not been changed for longer than that (``KafkaStreams``, ``StateDirectory``). What counts is the time of the
task's directory: since 4.3, which keeps offsets inside the stores, the one at which it was made; before, closing the
task changed it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from kstream_plan.model import Copy, Group
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.starting_state import Cleaning


@dataclass(slots=True)
class Cleaner:
    """Tells whether left-over state is still there; private to one plan, whose members come and go.

    ``started_ms`` is by process id, where it is known when it started; ``in_stores``: offsets are kept inside the
    stores (``None``: not known, so likely). ``when``: what is not known is as likely, or as early or late as can be.
    ``in_memory``: no state is left over at all. ``otherwise`` collects for which ``when`` an answer of :meth:`deletes`
    would have been another one.
    """

    delay_ms: int
    started_ms: dict[str, int] = field(default_factory=dict)
    in_stores: bool | None = None
    when: Cleaning = "likely"
    otherwise: set[Cleaning] = field(default_factory=set)
    in_memory: bool = False

    def deletes(self, group: Group, copy: Copy, by_ms: int) -> bool:
        """Say whether a copy that is left over is gone by a time."""
        gone = self._deletes(group, copy, by_ms, self.when)
        other: Cleaning = "late" if gone else "early"  # what is gone late is gone in any case
        if other not in self.otherwise and self._deletes(group, copy, by_ms, other) != gone:
            self.otherwise.add(other)
        return gone

    def is_sure(self, group: Group, copy: Copy, by_ms: int) -> bool:
        """Say whether what :meth:`deletes` says is certain."""
        return self._deletes(group, copy, by_ms, "early") == self._deletes(group, copy, by_ms, "late")

    def same_until_ms(self, group: Group, copy: Copy, by_ms: int) -> int:
        """Return until when neither :meth:`deletes` nor :meth:`is_sure` say anything else of a copy than ``by_ms``."""
        lost_ms = copy.lost_at_ms
        assert lost_ms is not None
        started_ms = self.started_ms.get(group.instances[copy.instance].process_id)
        if started_ms is not None:
            every_ms = max(1, self.delay_ms)
            return started_ms + ((by_ms - started_ms) // every_ms + 1) * every_ms - 1
        early_ms = max(lost_ms, self._changed_ms(copy, lost_ms, "early") + self.delay_ms)
        ends_ms = (early_ms, lost_ms + self.delay_ms, lost_ms + 2 * self.delay_ms)
        return int(min((end_ms for end_ms in ends_ms if end_ms >= by_ms), default=MAX_LONG))

    def _deletes(self, group: Group, copy: Copy, by_ms: int, when: Cleaning) -> bool:
        if self.in_memory:
            return True  # with the task its store is closed, and gone
        lost_ms = copy.lost_at_ms
        assert lost_ms is not None
        started_ms = self.started_ms.get(group.instances[copy.instance].process_id)
        if started_ms is None:
            return self._some_time(copy, lost_ms, by_ms, when)
        every_ms = max(1, self.delay_ms)
        cleaned_ms = started_ms + (by_ms - started_ms) // every_ms * every_ms
        if cleaned_ms <= max(started_ms, lost_ms):
            return False
        return cleaned_ms - self._changed_ms(copy, lost_ms, when) > self.delay_ms

    def _some_time(self, copy: Copy, lost_ms: int, by_ms: int, when: Cleaning) -> bool:
        """The same where nobody knows when the instance looks."""
        if when == "early":
            return by_ms > lost_ms and by_ms - self._changed_ms(copy, lost_ms, when) > self.delay_ms
        return by_ms - lost_ms > self.delay_ms * (2 if when == "late" else 1)

    def _changed_ms(self, copy: Copy, lost_ms: int, when: Cleaning) -> float:
        """Return when the directory was changed."""
        if self.in_stores is False or (when == "late" and not self.in_stores):
            return lost_ms
        if copy.made_at_ms is not None:
            return copy.made_at_ms
        return -inf if when == "early" else lost_ms
