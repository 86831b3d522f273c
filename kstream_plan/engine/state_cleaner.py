# cython: annotation_typing=False
"""When Kafka Streams deletes left-over state: as far as that is known, and between which times otherwise.

Source: page ``rules``, "From one generation to the next".

Every instance looks at its disk each ``state.cleanup.delay.ms`` from its start on, and deletes what is not assigned
and has not been changed for longer than that (``KafkaStreams``, ``StateDirectory``). What counts is the time of the
task's directory: since 4.3, which keeps offsets inside the stores, the one at which it was made; before, closing the
task changed it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kstream_plan.model import Copy, Group
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.starting_state import Cleaning

#: Instead of how long ago something was.
UNKNOWN_AGE = -9223372036854775808
#: When that is deleted of which it is unknown.
LIKELY = 0
EARLY = 1
LATE = 2


class StateCleaner:
    """Tells whether left-over state is still there; private to one plan, whose members come and go.

    Args:
        delay_ms: ``state.cleanup.delay.ms``.
        started_ms: when instances started, by process id, as far as it is known.
        in_stores: whether offsets are kept inside the stores, which writing to them does not change; ``None``: unknown.
        cleaning: what is unknown is as likely, or as early or late as can be.
        in_memory: no state is left over at all.
    """

    def __init__(
        self,
        delay_ms: int,
        started_ms: Mapping[str, int] | None = None,
        in_stores: bool | None = None,
        cleaning: Cleaning = "likely",
        in_memory: bool = False,
    ) -> None:
        self.delay_ms = delay_ms
        self.started_ms = dict(started_ms or {})
        self.in_stores = -1 if in_stores is None else int(in_stores)
        self.cleaning = ("likely", "early", "late").index(cleaning)
        self.in_memory = in_memory
        self.deleted_early = self.deleted_late = False

    @property
    def other_cleanings(self) -> set[Cleaning]:
        """For which ``cleaning`` an answer of :meth:`deletes` would have been another one."""
        outcomes: tuple[tuple[Cleaning, bool], ...] = (("early", self.deleted_early), ("late", self.deleted_late))
        return {cleaning for cleaning, is_deleted in outcomes if is_deleted}

    def deletes(self, group: Group, copy: Copy, by_ms: int) -> bool:
        """Say whether a copy that is left over is gone by a time."""
        return self.has_deleted(*self._ages(group, copy, by_ms))

    def _ages(self, group: Group, copy: Copy, by_ms: int) -> tuple[int, int, int]:
        """Return how long before a time the instance started, and a copy was lost and made."""
        started_ms = self.started_ms.get(group.instances[copy.instance].process_id)
        times_ms = (started_ms, copy.lost_at_ms, copy.made_at_ms)
        since_started, since_lost, since_made = (
            UNKNOWN_AGE if ms is None else min(by_ms - ms, MAX_LONG) for ms in times_ms
        )
        return since_started, since_lost, since_made

    def has_deleted(self, since_started: int, since_lost: int, since_made: int) -> bool:
        """Tell whether it has deleted what is left over, and note if that depends on when it runs.

        Args:
            since_started: how long ago the instance started, in milliseconds; ``UNKNOWN_AGE``: unknown, as below.
            since_lost: how long ago the last one that held the copy lost it.
            since_made: how long ago its directory was made.
        """
        is_gone = self._deletes(since_started, since_lost, since_made, self.cleaning)
        # what is gone late is gone in any case
        if self._deletes(since_started, since_lost, since_made, LATE if is_gone else EARLY) != is_gone:
            if is_gone:
                self.deleted_late = True
            else:
                self.deleted_early = True
        return is_gone

    def may_have_deleted(self, since_started: int, since_lost: int, since_made: int) -> bool:
        """Tell whether that depends on when it runs; arguments as of :meth:`has_deleted`."""
        early = self._deletes(since_started, since_lost, since_made, EARLY)
        return early != self._deletes(since_started, since_lost, since_made, LATE)

    def _deletes(self, since_started: int, since_lost: int, since_made: int, cleaning: int) -> bool:
        if self.in_memory:
            return True  # with the task its store is closed, and gone
        if since_started == UNKNOWN_AGE:
            if cleaning == EARLY:
                return since_lost > 0 and self._is_longer(since_lost, since_made, cleaning)
            return since_lost - self.delay_ms > (self.delay_ms if cleaning == LATE else 0)
        cleaned = since_started % max(1, self.delay_ms)
        if cleaned >= min(since_started, since_lost):
            return False
        return self._is_longer(since_lost - cleaned, since_made if since_made < 0 else since_made - cleaned, cleaning)

    def _is_longer(self, since_lost: int, since_made: int, cleaning: int) -> bool:
        """Tell whether the directory was changed longer before than the delay."""
        if self.in_stores == 0 or (cleaning == LATE and self.in_stores < 0):
            return since_lost > self.delay_ms
        if since_made != UNKNOWN_AGE:
            return since_made > self.delay_ms
        return cleaning == EARLY or since_lost > self.delay_ms
