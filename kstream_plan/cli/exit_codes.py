"""Exit codes, each with one meaning."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kstream_plan.plans import Plan
    from kstream_plan.plans.simulated import Draws


class ExitCode(IntEnum):
    """What the command line says to the shell."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    POLICY = 3
    NOT_SETTLED = 4
    CHANGES = 5
    TIMED_OUT = 6
    INTERRUPTED = 130


#: With several applications the first of these that applies.
_ORDER = (ExitCode.FAILED, ExitCode.POLICY, ExitCode.NOT_SETTLED, ExitCode.CHANGES)


def first_that_applies(codes: Iterable[ExitCode], errors: Collection[Exception] = ()) -> ExitCode:
    """Return the exit code of several outcomes together, and of what could not be done."""
    results = {*codes, *([ExitCode.FAILED] if errors else [])}
    return next((code for code in _ORDER if code in results), ExitCode.DONE)


def outcome(plan: Plan, *, fail_on_changes: bool, draws: Draws | None = None) -> ExitCode:
    """Return the exit code of one plan, or of all ``draws`` of which it is one."""
    if plan.verdict.kind != "settled" or (draws is not None and draws.settled < draws.number):
        return ExitCode.NOT_SETTLED
    return ExitCode.CHANGES if fail_on_changes and plan.ends("rebalances")[1] else ExitCode.DONE
