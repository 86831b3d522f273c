"""Which rebalances of a plan by a target file were decided without it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kstream_plan.model import Note
from kstream_plan.model.target_refusals import NO_FILE, REFUSALS
from kstream_plan.plans.note_codes import TARGET_REFUSED
from kstream_plan.plans.plan import Plan
from kstream_plan.plans.rounds import Round

#: The code of the assumption that says why a group rebalances when a target file expires.
TARGET_EXPIRES = "target-expires"


class WithoutTarget(NamedTuple):
    """The rebalances that a target file does not decide; ``among``: so many there are.

    ``numbers`` are theirs, at least one, ``code`` is why it does not count in the first of them.
    """

    numbers: Sequence[int]
    among: int
    code: str

    @property
    def note(self) -> Note:
        """The same as a warning."""
        return Note(TARGET_REFUSED, self.message, (self.code,))

    @property
    def message(self) -> str:
        """That the file does not count, why, and what mends that; without a full stop."""
        refusal, number = REFUSALS[self.code], len(self.numbers)
        scope = "never counts" if number == self.among else f"does not count in {number:,} of {self.among:,} rebalances"
        return (
            f"The target file {scope}, and the application decides without a plan: {refusal.reason} ({self.code}). "
            f"To mend it, {refusal.remedy}"
        )


class Expiry(NamedTuple):
    """A rebalance that comes for no other reason than that the target file expires.

    ``at_ms`` is when it comes, ``since_ms`` when the last one before it did.
    """

    at_ms: int
    since_ms: int


def has_target(plan: Plan) -> bool:
    """Tell whether a plan is by a target file, whether that counts or not."""
    return any(rnd.follows is not None and rnd.follows.refusal != NO_FILE for rnd in plan.rounds)


def idle_expiry(rounds: Sequence[Round]) -> Expiry | None:
    """Return the rebalance that comes when a target file expires though nothing waits; ``None``: there is none.

    A slot is empty then, or an instance has none.
    """
    for previous, rnd in pairwise(rounds):
        if previous.follows is None or rnd.follows is None or previous.follows.refusal is not None:
            continue
        if previous.follows.again_ms != previous.follows.probe_ms and rnd.follows.refusal == "expired":
            return Expiry(rnd.at_ms, previous.at_ms)
    return None


def expiry_ms(plan: Plan) -> int | None:
    """Return until when a plan's target file counts, on the plan's clock; ``None``: none counts, or it is unknown."""
    times_ms = (
        rnd.at_ms + rnd.follows.expires_in_ms
        for rnd in plan.rounds
        if rnd.follows is not None and rnd.follows.expires_in_ms is not None
    )
    return next(times_ms, None)


def without_target(plan: Plan) -> WithoutTarget | None:
    """Return the rebalances in which a target file should have counted and did not; ``None``: there are none.

    A file may expire once nothing waits any more.
    """
    numbers, codes, is_done = list[int](), list[str](), False
    for rnd in plan.rounds:
        follows = rnd.follows
        if follows is None or follows.refusal == NO_FILE:
            continue
        if follows.refusal is None:
            is_done = follows.again_ms != follows.probe_ms
        elif not (is_done and follows.refusal == "expired"):
            numbers.append(rnd.number)
            codes.append(follows.refusal)
    return WithoutTarget(numbers, len(plan.rounds), codes[0]) if numbers else None
