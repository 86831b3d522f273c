"""Connect's shipped decision, ``IncrementalCooperativeAssignor`` of 2.3 to 4.4, to the bit.

Source: page ``connect-rules``, "One decision", whose steps are named here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from kstream_plan.assignors.java.text_maps import hash_map_order
from kstream_plan.designs.connect.draft import (
    ConnectAnswer,
    ConnectRound,
    Draft,
    ItemSets,
    LeaderMemory,
    not_decided,
)
from kstream_plan.designs.connect.items import (
    GROWS,
    configured_sets,
    copied_order,
    copied_task_order,
    in_order,
    tasks_in_order,
)


def decide(connect_round: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Decide one round."""
    if connect_round.leader_is_behind:
        return not_decided(connect_round, memory)
    draft = (_EarlierDraft if connect_round.laws.evens_out_seldom else _Draft)(connect_round, memory)
    draft.find_lost()
    draft.take_away(draft.deleted)
    draft.handle_lost()
    draft.balance()
    draft.give([[*created, *lost_items] for created, lost_items in zip(draft.created, draft.lost_to_give, strict=True)])
    return draft.final_answer()


class _Draft(Draft):
    """A round under way, and what its leader will remember of it."""

    def __init__(self, connect_round: ConnectRound, memory: LeaderMemory) -> None:
        super().__init__(connect_round)
        fresh = memory.generation != connect_round.last_completed and not connect_round.laws.trusts_reports
        self.memory = memory
        self.previous: list[frozenset[Any]] = [frozenset(), frozenset()] if fresh else [*memory.previous]
        self.candidates = list(memory.candidates)
        self.scheduled_at = memory.scheduled_at
        self.delay_ms = memory.delay_ms
        self.revoked_before = memory.revoked_in_previous
        self.successive = memory.successive
        self.deleted: list[frozenset[Any]] = []
        self.lost_items: list[list[Any]] = []
        self.created: list[list[Any]] = []
        self.lost_to_give: list[list[Any]] = [[], []]

    # -- steps 2 and 3 -------------------------------------------------------------------------------------------

    def find_lost(self) -> None:
        """Find the lost items, the deleted ones and the new ones (steps 2 and 3)."""
        if any(self.active[kind] & self.memory.revocation[kind] for kind in (0, 1)):
            self.previous = [*self.active]
        for kind, configured in enumerate(configured_sets(self.of_round.task_counts)):
            previous, active = self.previous[kind], self.active[kind]
            free, inactive = configured - active, previous - active
            # what is neither active nor configured is seldom there at all, which the numbers tell
            stale = active - configured if len(configured) - len(free) < len(active) else frozenset()
            lost_items, created = inactive & configured, free - previous
            self.deleted.append((inactive - configured) | (stale & previous))
            self.lost_items.append(tasks_in_order(lost_items) if kind else in_order(lost_items))
            self.created.append([item for item in self.configured[kind] if item in created] if created else [])

    # -- step 6 --------------------------------------------------------------------------------------------------

    def handle_lost(self) -> None:
        """Keep lost items for the workers that had them, or deal them out (step 6)."""
        now_ms, limit_ms = self.of_round.now_ms, self.of_round.max_delay_ms
        laws = self.of_round.laws
        at_once = limit_ms == 0 and not laws.waits_without_delay
        all_there = self.memory.members <= self.of_round.members.keys() and not laws.trusts_reports
        if not any(self.lost_items) and laws.keeps_delay:
            return
        if not any(self.lost_items) and self.forgets_delay:
            self._forget_delay()
        elif (self.scheduled_at <= 0 and all_there) or at_once:
            self.lost_to_give = self.lost_items
        elif 0 < self.scheduled_at <= now_ms:
            self._deal_out()
            self._forget_delay()
            self.delay_is_over()
        else:
            empty = [member for member in self.names if not any(kind[member] for kind in self.next)]
            self.candidates = list(dict.fromkeys([*self.candidates, *hash_map_order(empty)]))
            running = now_ms < self.scheduled_at
            self.delay_ms = min(self.scheduled_at - now_ms, limit_ms) if running else limit_ms
            self.scheduled_at = now_ms + self.delay_ms

    @property
    def forgets_delay(self) -> bool:
        """Whether a delay that runs is forgotten once nothing is lost."""
        return not self.revoked_before

    def delay_is_over(self) -> None:
        """Note that what was lost is dealt out."""
        self.revoked_before = False

    def _forget_delay(self) -> None:
        self.candidates, self.scheduled_at, self.delay_ms = [], 0, 0

    def _deal_out(self) -> None:
        present = [member for member in self.candidates if member in self.of_round.members]
        if not present:
            self.lost_to_give = self.lost_items
            return
        if self.of_round.laws.lost_to_one:
            present = present[:1]
        for kind in (0, 1):
            for place, member in enumerate(present):
                mine = self.lost_items[kind][place :: len(present)]
                if mine:
                    self.give_to(member, kind, mine)

    # -- step 8 --------------------------------------------------------------------------------------------------

    def balance(self) -> None:
        """Revoke what members have beyond their share; a second time in a row is put off (step 8)."""
        if self.delay_ms:
            self.revoked_before = False
            return
        surplus = self.surplus()
        any_surplus = any(surplus[kind] for kind in (0, 1))
        if self.revoked_before and any_surplus:
            self.successive += 1
            self.delay_ms = backoff_ms(self.successive, self.of_round.max_delay_ms)
            if self.delay_ms > 0:
                self.scheduled_at = self.of_round.now_ms + self.delay_ms
                return
        elif any_surplus:
            self.revoked_before = True
        elif self.revoked_before:
            self.revoked_before, self.successive = False, 0
        self.take_first(surplus)

    # -- steps 10 and 11 -----------------------------------------------------------------------------------------

    def final_answer(self) -> ConnectAnswer:
        """Return the members' answers, and what the leader remembers (steps 10 and 11)."""
        revocation = self.revocation()
        previous = []
        released_by_kind = self.released_items(revocation)
        for active, created, revoked_items, lost_items in zip(
            self.active, self.created, released_by_kind, self.lost_items, strict=True
        ):
            kept_items = active - revoked_items if revoked_items else active
            previous.append(kept_items.union(created, lost_items) if created or lost_items else kept_items)
        memory = LeaderMemory(
            previous=ItemSets(*previous),
            revocation=ItemSets(*revocation),
            revoked_in_previous=self.revoked_before,
            candidates=tuple(self.candidates),
            scheduled_at=self.scheduled_at,
            delay_ms=self.delay_ms,
            generation=self.of_round.generation,
            members=frozenset(self.of_round.members),
            successive=self.successive,
        )
        return self.answer(memory, self.delay_ms)

    def revocation(self) -> list[frozenset[Any]]:
        """Return what is revoked, by kind."""
        return [frozenset().union(*kind.values()) for kind in self.revoke]

    def released_items(self, revocation: Sequence[frozenset[Any]]) -> Sequence[frozenset[Any]]:
        """Return the active items that no longer count as assigned, by kind."""
        return revocation


class _EarlierDraft(_Draft):
    """The same before 3.4: work is revoked only where a worker has none, and given as if nothing were revoked."""

    def __init__(self, connect_round: ConnectRound, memory: LeaderMemory) -> None:
        super().__init__(connect_round, memory)
        #: deleted items that are revoked though no member reports them
        self.without_owner: list[list[Any]] = [[], []]

    def find_lost(self) -> None:
        if any(self.active[kind] & self.memory.revocation[kind] for kind in (0, 1)):
            self.revoked_before = False
        super().find_lost()

    @property
    def forgets_delay(self) -> bool:
        return True

    def delay_is_over(self) -> None:
        """Change nothing."""

    def take_away(self, of_deleted: Sequence[Iterable[Any]]) -> None:
        """Revoke what was deleted from the last that has it, or else what two have from both; these keep a share."""
        for kind in (0, 1):
            owner = {item: member for member in self.names for item in self.reported[kind][member]}
            for item in tasks_in_order(of_deleted[kind]) if kind else in_order(of_deleted[kind]):
                member = owner.get(item)
                (self.without_owner[kind] if member is None else self.revoke[kind][member]).append(item)
        repeats = [[] if self.of_round.laws.trusts_reports else self._more_than_once(kind) for kind in (0, 1)]
        for member in self.names if any(repeats) else ():
            mine = [[item for item in repeats[kind] if item in self.reported[kind][member]] for kind in (0, 1)]
            if any(mine):
                for kind in (0, 1):
                    self.revoke[kind][member] = mine[kind]
        for kind in (0, 1):
            deleted = frozenset(of_deleted[kind])
            for member, items in self.reported[kind].items() if deleted else ():
                self.next[kind][member] = [item for item in items if item not in deleted]

    def _more_than_once(self, kind: int) -> list[Any]:
        """Return what is reported twice, be it by one member, as it comes out of three tables (step 5)."""
        reports = Counter(chain.from_iterable(self.reported[kind][member] for member in self.names))
        if reports.total() == len(reports):
            return []
        order: Callable[..., list[Any]] = copied_task_order if kind else copied_order
        last_first = list(reversed(reports))  # computeIfAbsent puts what is new first in its bin
        repeats = [item for item in order(last_first, len(reports), GROWS) if reports[item] > 1]
        return self.in_table_order(kind, order(repeats, len(repeats), GROWS))

    def balance(self) -> None:
        """Revoke what members have beyond their share if one has nothing and nothing was revoked before (step 8)."""
        if self.delay_ms or self.revoked_before:
            self.revoked_before = bool(self.delay_ms)
            return
        sizes = [
            {member: len(kind[member]) - given_counts.get(member, 0) for member in self.names}
            for kind, given_counts in zip(self.next, self.given_counts, strict=True)
        ]
        busy = [member for member in self.names if any(kind[member] for kind in sizes)]
        self.revoked_before = False
        if not 0 < len(busy) < len(self.names):
            return
        for kind in (0, 1):
            once = self.of_round.laws.repeats_count_once
            active = len(self.active[kind]) if once else sum(map(len, self.reported[kind].values()))
            low, extra = divmod(active, len(self.names))
            remaining = low
            for member in busy:
                size = sizes[kind][member]
                if self.of_round.laws.lost_to_one:
                    number = max(0, min(size - low, remaining))
                    remaining -= number
                else:
                    number = max(0, size - low - bool(extra))
                self.revoke[kind][member] += self.next[kind][member][:number]
                self.revoked_before = self.revoked_before or number > 0

    def revocation(self) -> list[frozenset[Any]]:
        return [
            frozenset(ownerless).union(*kind.values())
            for kind, ownerless in zip(self.revoke, self.without_owner, strict=True)
        ]

    def released_items(self, revocation: Sequence[frozenset[Any]]) -> Sequence[frozenset[Any]]:
        return [revoked_items | deleted for revoked_items, deleted in zip(revocation, self.deleted, strict=True)]


def backoff_ms(attempt: int, max_delay_ms: int) -> int:
    """Return how long the leader waits before it revokes again: 40, 1600, 64000, … ms, at most the delay."""
    if max_delay_ms <= 1:
        return max_delay_ms
    exponent = min(attempt, math.log(max_delay_ms) / math.log(40))
    return min(int(math.pow(40, exponent)), max_delay_ms)
