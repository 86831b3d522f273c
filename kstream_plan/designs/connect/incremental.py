"""Connect's shipped decision, ``IncrementalCooperativeAssignor`` of 3.4 to 4.4, to the bit.

Source: page ``connect-rules``, "One decision", whose steps are named here.
"""

from __future__ import annotations

import math
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
from kstream_plan.designs.connect.items import configured_sets, in_order, tasks_in_order


def decide(of: ConnectRound, memory: LeaderMemory) -> ConnectAnswer:
    """Decide one round."""
    if of.behind:
        return not_decided(of, memory)
    draft = _Draft(of, memory)
    draft.find_lost()
    draft.take_away(draft.deleted)
    draft.handle_lost()
    if draft.delay_ms:
        draft.revoked_before = False
    else:
        draft.balance()
    draft.give([[*created, *again] for created, again in zip(draft.created, draft.again, strict=True)])
    return draft.answered()


class _Draft(Draft):
    """A round under way, and what its leader will remember of it."""

    def __init__(self, of: ConnectRound, memory: LeaderMemory) -> None:
        super().__init__(of)
        fresh = memory.generation != of.last_completed
        self.memory = memory
        self.previous: list[frozenset[Any]] = [frozenset(), frozenset()] if fresh else [*memory.previous]
        self.candidates = list(memory.candidates)
        self.scheduled_at = memory.scheduled_at
        self.delay_ms = memory.delay_ms
        self.revoked_before = memory.revoked_in_previous
        self.successive = memory.successive
        self.deleted: list[frozenset[Any]] = []
        self.lost: list[list[Any]] = []
        self.created: list[list[Any]] = []
        self.again: list[list[Any]] = [[], []]

    # -- steps 2 and 3 -------------------------------------------------------------------------------------------

    def find_lost(self) -> None:
        """Find what nobody has any more, and what nobody has had (steps 2 and 3)."""
        if any(self.active[kind] & self.memory.revocation[kind] for kind in (0, 1)):
            self.previous = [*self.active]
        for kind, configured in enumerate(configured_sets(self.of_round.task_counts)):
            previous, active = self.previous[kind], self.active[kind]
            free, gone = configured - active, previous - active
            # what is neither active nor configured is seldom there at all, which the numbers tell
            stale = active - configured if len(configured) - len(free) < len(active) else frozenset()
            lost, created = gone & configured, free - previous
            self.deleted.append((gone - configured) | (stale & previous))
            self.lost.append(tasks_in_order(lost) if kind else in_order(lost))
            self.created.append([item for item in self.configured[kind] if item in created] if created else [])

    # -- step 6 --------------------------------------------------------------------------------------------------

    def handle_lost(self) -> None:
        """Wait for whoever had what is lost, or deal it out (step 6)."""
        now_ms, limit_ms = self.of_round.now_ms, self.of_round.max_delay_ms
        at_once = limit_ms == 0 and self.of_round.no_delay_at_once
        if not any(self.lost) and not self.revoked_before:
            self._forget_delay()
        elif (self.scheduled_at <= 0 and self.memory.members <= self.of_round.members.keys()) or at_once:
            self.again = self.lost
        elif 0 < self.scheduled_at <= now_ms:
            self._deal_out()
            self._forget_delay()
            self.revoked_before = False
        else:
            empty = [member for member in self.names if not any(kind[member] for kind in self.next)]
            self.candidates = list(dict.fromkeys([*self.candidates, *hash_map_order(empty)]))
            running = now_ms < self.scheduled_at
            self.delay_ms = min(self.scheduled_at - now_ms, limit_ms) if running else limit_ms
            self.scheduled_at = now_ms + self.delay_ms

    def _forget_delay(self) -> None:
        self.candidates, self.scheduled_at, self.delay_ms = [], 0, 0

    def _deal_out(self) -> None:
        present = [member for member in self.candidates if member in self.of_round.members]
        if not present:
            self.again = self.lost
            return
        for kind in (0, 1):
            for place, member in enumerate(present):
                mine = self.lost[kind][place :: len(present)]
                if mine:
                    self.give_to(member, kind, mine)

    # -- step 8 --------------------------------------------------------------------------------------------------

    def balance(self) -> None:
        """Revoke what members have beyond their share; a second time in a row is put off (step 8)."""
        surplus = self.surplus()
        found = any(surplus[kind] for kind in (0, 1))
        if self.revoked_before and found:
            self.successive += 1
            self.delay_ms = backoff_ms(self.successive, self.of_round.max_delay_ms)
            if self.delay_ms > 0:
                self.scheduled_at = self.of_round.now_ms + self.delay_ms
                return
        elif found:
            self.revoked_before = True
        elif self.revoked_before:
            self.revoked_before, self.successive = False, 0
        self.take_first(surplus)

    # -- steps 10 and 11 -----------------------------------------------------------------------------------------

    def answered(self) -> ConnectAnswer:
        """Return what the members are told, and what the leader remembers (steps 10 and 11)."""
        revocation = [frozenset().union(*kind.values()) for kind in self.revoke]
        previous = []
        for active, created, revoked, lost in zip(self.active, self.created, revocation, self.lost, strict=True):
            held = active - revoked if revoked else active
            previous.append(held.union(created, lost) if created or lost else held)
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


def backoff_ms(attempt: int, max_delay_ms: int) -> int:
    """Return how long the leader waits before it revokes again: 40, 1600, 64000, … ms, at most the delay."""
    if max_delay_ms <= 1:
        return max_delay_ms
    exponent = min(attempt, math.log(max_delay_ms) / math.log(40))
    return min(int(math.pow(40, exponent)), max_delay_ms)
