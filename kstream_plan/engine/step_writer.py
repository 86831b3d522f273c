# cython: boundscheck=False, wraparound=False, initializedcheck=False, annotation_typing=False
"""The steps of stateful tasks in one round, as numbers: what changes for whom, and why.

The steps follow from what every instance held before and after; the reasons from the decision that was made. They come
by task; of each task first who gives it up, then who waits for it, then who has it, each by instance.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kstream_plan.engine.codes import ACTIVE, NONE, TEMPORARY, WARMUP
from kstream_plan.engine.columns import grown, zeros
from kstream_plan.engine.decision import Decision

Rows: TypeAlias = "npt.NDArray[np.int64]"

#: The fields of a step, in the order of a row.
FIELDS = (
    "restore_records",
    "lag",
    "other_lag",
    "task",
    "from_consumer",
    "to_consumer",
    "kind",
    "from_role",
    "to_role",
    "caught_up",
    "reason",
)
WIDTH = len(FIELDS)
RECORDS, LAG, OTHER_LAG, TASK, FROM, TO, KIND, FROM_ROLE, TO_ROLE, CAUGHT_UP, REASON = range(WIDTH)
#: The kinds of step, and the reasons, by their numbers in a row.
KINDS = ("Place", "Withhold", "KeepTemporary", "Revoke", "Demote", "HandOver", "Promote", "ThreadMove", "Drop")
PLACE, WITHHOLD, KEEP_TEMPORARY, REVOKE, DEMOTE, HAND_OVER, PROMOTE, THREAD_MOVE, DROP = range(len(KINDS))
REASONS = (
    "target-caught-up",
    "target-warms-up",
    "caught-up-meanwhile",
    "most-caught-up",
    "no-state-anywhere",
    "standby-wanted",
    "threads-evened-out",
    "owner-must-revoke",
    "moves-away",
    "not-needed",
)
TARGET_CAUGHT_UP, TARGET_WARMS_UP, CAUGHT_UP_MEANWHILE, MOST_CAUGHT_UP, NO_STATE_ANYWHERE = range(5)
STANDBY_WANTED, THREADS_EVENED_OUT, OWNER_MUST_REVOKE, MOVES_AWAY, NOT_NEEDED = range(5, len(REASONS))


class StepWriter:
    """The steps of a decision, and what is left to chance; a draft."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.copies, self.tasks = self.decision.copies, self.decision.tasks
        self.rows, self.n_rows = zeros("q", 64 * WIDTH), 0
        self.races, self.deletions, self.no_flags = (zeros("b", self.tasks) for _ in range(3))
        self.starts_any = False

    def write(self, at_ms: int) -> None:
        """Write the steps of the decision, and note what of it is left to chance."""
        changed_tasks, withheld_by = self.decision.is_changed, self.decision.withheld_by
        self.n_rows, self.starts_any = 0, False
        self.races[:] = self.no_flags
        self.deletions[:] = self.no_flags
        for place in range(self.tasks):
            if changed_tasks[place] or withheld_by[place] >= 0:
                self._write_task(place, at_ms)

    def steps(self) -> Rows:
        """Return the steps of the round, a row of :data:`FIELDS` each."""
        rows: Rows = np.asarray(self.rows)[: self.n_rows * WIDTH].reshape(self.n_rows, WIDTH)
        return rows

    def _write_task(self, place: int, at_ms: int) -> None:
        """Write what happens to a task: who gives it up, who waits, who has it then."""
        copies, decision, number = self.copies, self.decision, self.decision.fill_seats(place)
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.consumer[slot] >= 0 and not self._is_seat(copies.instance[slot], number):
                self._write_given_up(place, slot)
        if decision.withheld_by[place] >= 0:
            self._write_withheld(place, at_ms)
        for seat in range(number):
            slot = copies.slot_of(place, decision.seat_instance[seat])
            if slot >= 0 and copies.consumer[slot] < 0:
                slot = -1
            is_held = slot >= 0 and copies.consumer[slot] == decision.seat_consumer[seat]
            if is_held and copies.role[slot] == decision.seat_role[seat]:
                continue
            if decision.seat_role[seat] == ACTIVE:
                self._write_started(place, slot, seat)
            else:
                self._write_copied(place, slot, seat)
            self._note(place, at_ms)

    def _is_seat(self, instance: int, number: int) -> bool:
        for seat in range(number):
            if self.decision.seat_instance[seat] == instance:
                return True
        return False

    def _row(self, place: int, kind: int) -> int:
        """Begin one more step, and return where its row is."""
        row = self.n_rows * WIDTH
        if row == len(self.rows):
            self.rows = grown("q", self.rows, 2 * row)
        self.n_rows += 1
        self.rows[row + RECORDS], self.rows[row + LAG], self.rows[row + OTHER_LAG] = -1, NONE, NONE
        self.rows[row + TASK], self.rows[row + FROM], self.rows[row + TO] = self.copies.task_of[place], -1, -1
        self.rows[row + KIND], self.rows[row + FROM_ROLE], self.rows[row + TO_ROLE] = kind, 0, 0
        self.rows[row + CAUGHT_UP], self.rows[row + REASON] = 0, 0
        return row

    def _write_given_up(self, place: int, old: int) -> None:
        """Write that a consumer has a task no longer."""
        copies = self.copies
        row = self._row(place, REVOKE if copies.role[old] == ACTIVE else DROP)
        self.rows[row + FROM], self.rows[row + FROM_ROLE] = copies.consumer[old], copies.role[old]
        if copies.role[old] == ACTIVE:
            self._why_given_up(row, place, copies.instance[old])
        else:
            self.rows[row + REASON] = NOT_NEEDED

    def _write_withheld(self, place: int, at_ms: int) -> None:
        """Write who waits for a task."""
        decision, row = self.decision, self._row(place, WITHHOLD)
        owner, instance = decision.withheld_by[place], decision.movement.decided_seats[place * decision.width]
        self.rows[row + FROM], self.rows[row + FROM_ROLE] = owner, ACTIVE
        self.rows[row + TO], self.rows[row + TO_ROLE] = decision.consumer[place * decision.width], ACTIVE
        if self.copies.instance_of[owner] == instance:
            self.rows[row + REASON] = THREADS_EVENED_OUT
        else:
            self._why_active(row, place, instance)
        self._note(place, at_ms)

    def _write_started(self, place: int, old: int, seat: int) -> None:
        """Write who runs a task from now on, of which its instance had a copy (its slot) or not (-1)."""
        copies, row = self.copies, self._row(place, HAND_OVER)
        revoked_by, in_memory = self.decision.revoked_by(place), copies.cleaner.in_memory
        instance, consumer = self.decision.seat_instance[seat], self.decision.seat_consumer[seat]
        is_empty = in_memory and old >= 0 and copies.consumer[old] != consumer
        self.rows[row + FROM], self.rows[row + FROM_ROLE] = revoked_by, ACTIVE
        self.rows[row + TO], self.rows[row + TO_ROLE] = consumer, ACTIVE
        self.starts_any = True
        if revoked_by >= 0 and revoked_by != consumer and copies.instance_of[revoked_by] == instance:
            stays = not in_memory and copies.slot_of(place, instance) >= 0  # else it was deleted since
        elif old >= 0 and copies.role[old] == ACTIVE:
            self.rows[row + FROM], stays = copies.consumer[old], not in_memory
        else:
            self._why_active(row, place, instance)
            if revoked_by < 0 and old >= 0:
                self.rows[row + KIND] = PROMOTE
                self.rows[row + FROM], self.rows[row + FROM_ROLE] = copies.consumer[old], copies.role[old]
            self._write_restored(row, place, instance, is_empty)
            return
        self.rows[row + REASON] = THREADS_EVENED_OUT
        if stays:
            self.rows[row + KIND] = THREAD_MOVE
        else:
            self._write_restored(row, place, instance, is_empty)

    def _write_restored(self, row: int, place: int, instance: int, is_empty: bool) -> None:
        """Write what a task restores where it starts: all, if the copy ``is_empty`` that is there."""
        copies, records = self.copies, self._restores(place, instance, is_empty)
        is_near = copies.is_caught_up(copies.lag_on(place, instance))
        if is_empty and not copies.is_caught_up(copies.whole[place]):
            is_near = False
        self.rows[row + RECORDS], self.rows[row + CAUGHT_UP] = records, records == 0 or is_near

    def _write_copied(self, place: int, old: int, seat: int) -> None:
        """Write who has a copy of a task from now on, or has it as something else."""
        copies, decision, row = self.copies, self.decision, self._row(place, PLACE)
        role = decision.seat_role[seat]
        self.rows[row + TO], self.rows[row + TO_ROLE] = decision.seat_consumer[seat], role
        if old >= 0:
            self.rows[row + FROM], self.rows[row + FROM_ROLE] = copies.consumer[old], copies.role[old]
        if old >= 0 and copies.role[old] == ACTIVE:
            self.rows[row + KIND] = DEMOTE
            self._why_given_up(row, place, copies.instance[old])
        elif role == TEMPORARY:
            self.rows[row + KIND], self.rows[row + REASON] = KEEP_TEMPORARY, OWNER_MUST_REVOKE
        elif old >= 0 and copies.role[old] == role:
            self.rows[row + KIND], self.rows[row + REASON] = THREAD_MOVE, THREADS_EVENED_OUT
        else:
            instance = decision.seat_instance[seat]
            self.rows[row + RECORDS] = self._restores(place, instance, False)
            self._why_copied(row, place, instance, role)

    def _restores(self, place: int, instance: int, is_empty: bool) -> int:
        """Return how much an instance restores to have a task, all if its copy ``is_empty``; -1: unknown."""
        slot = -1 if is_empty else self.copies.slot_of(place, instance)
        remaining = self.copies.whole[place] if slot < 0 else self.copies.remaining[slot]
        return remaining if self.copies.is_size_known[place] or remaining == 0 else -1

    # -- why --------------------------------------------------------------------------------------------------------

    def _why_active(self, row: int, place: int, instance: int) -> None:
        """Say why a task runs on an instance."""
        copies, movement, slot = self.copies, self.decision.movement, place * self.decision.slots
        lag = copies.lag_on(place, instance)
        caught_up = copies.is_caught_up(lag)
        self.rows[row + LAG] = lag
        if movement.is_moved(slot) and movement.source[slot] == instance:
            self.rows[row + REASON] = CAUGHT_UP_MEANWHILE if caught_up else MOST_CAUGHT_UP
            self.rows[row + OTHER_LAG] = copies.lag_on(place, movement.destination[slot])
        else:
            self.rows[row + REASON] = TARGET_CAUGHT_UP if caught_up else self._why_cold(place, lag)

    def _why_cold(self, place: int, lag: int) -> int:
        """Say why a task runs on its target though that is not caught up: its ``lag`` there."""
        copies = self.copies
        closest = copies.whole[place]
        for slot in range(place * copies.room, place * copies.room + copies.number[place]):
            if copies.lag[slot] != NONE:
                closest = min(closest, copies.lag[slot])
        if closest == copies.whole[place]:
            return NO_STATE_ANYWHERE
        return MOST_CAUGHT_UP if lag == closest else TARGET_WARMS_UP

    def _why_copied(self, row: int, place: int, instance: int, role: int) -> None:
        """Say why an instance has a copy."""
        copies, movement, slot = self.copies, self.decision.movement, place * self.decision.slots
        self.rows[row + LAG], self.rows[row + REASON] = copies.lag_on(place, instance), STANDBY_WANTED
        if role != WARMUP:
            return
        for standby in range(slot + 1, slot + self.decision.slots):
            if movement.is_moved(standby) and movement.destination[standby] == instance:
                slot = standby
                break
        if movement.is_moved(slot):
            self.rows[row + REASON] = TARGET_WARMS_UP
            self.rows[row + OTHER_LAG] = copies.lag_on(place, movement.source[slot])

    def _why_given_up(self, row: int, place: int, instance: int) -> None:
        """Say why a task leaves an instance."""
        decision = self.decision
        destination = decision.movement.decided_seats[place * decision.width]
        self.rows[row + REASON] = MOVES_AWAY
        if decision.withheld_by[place] < 0:
            return
        if destination == instance:
            self.rows[row + REASON] = THREADS_EVENED_OUT
        else:
            self.rows[row + LAG] = self.copies.lag_on(place, destination)

    # -- what is left to chance -------------------------------------------------------------------------------------

    def _note(self, place: int, at_ms: int) -> None:
        """Note whether the step written last takes up left-over state again."""
        copies, row = self.copies, (self.n_rows - 1) * WIDTH
        kind = self.rows[row + KIND]
        if kind in (DEMOTE, THREAD_MOVE):
            return
        slot = copies.slot_of(place, copies.instance_of[self.rows[row + TO]])
        if slot < 0 or copies.consumer[slot] >= 0:
            return
        if copies.may_have_deleted(slot, at_ms):
            self.deletions[place] = 1
        if copies.reporter[slot] >= 0 and copies.capacity[copies.instance[slot]] > 1 and kind != PROMOTE:
            self.races[place] = 1
