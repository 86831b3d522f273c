"""How a plan ends, and what keeps a group from settling."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from kstream_plan.model import WorkId


class CauseCode(StrEnum):
    """Why a copy that is waited for is not caught up, or a task not given up."""

    #: What its instance restores grows at least as fast as it is restored.
    RESTORE_TOO_SLOW = "restore-too-slow"
    #: Even a copy that has caught up is further behind than ``acceptable.recovery.lag``.
    STANDING_LAG = "standing-lag"
    #: The instance restores, and so reports, nothing.
    SILENT_INSTANCE = "silent-instance"
    #: It comes closer, only not fast enough.
    SLOW = "slow"
    #: A member of a streams group does not say that it has given the task up: the broker fences it, and goes on.
    SILENT_OWNER = "silent-owner"
    #: The same, and the broker should have fenced it before.
    OVERDUE_OWNER = "overdue-owner"
    #: Nothing starts the rebalance in which Connect's leader assigns what a worker ran that is gone.
    LEFT_UNASSIGNED = "left-unassigned"


class Cause(NamedTuple):
    """What keeps a group from settling: the task, the process id of the instance it waits for, and one sentence."""

    code: CauseCode
    task_id: WorkId
    process_id: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the plan ends: ``settled``, ``stuck``, ``cyclic`` or ``unfinished``, the tasks that keep it, and why.

    ``cause`` names the first copy that is waited for, if one is, or the member.
    """

    kind: Literal["settled", "stuck", "cyclic", "unfinished"]
    tasks: tuple[WorkId, ...] = ()
    reason: str = ""
    cause: Cause | None = None

    @property
    def is_over(self) -> bool:
        """Whether the group is stuck now, and is not any more when the plan ends."""
        return self.cause is not None and self.cause.code is CauseCode.SILENT_OWNER

    @property
    def waits_for_a_member(self) -> bool:
        """Whether it is a silent member that keeps the group, and not a copy."""
        return self.is_over or self.is_never_over

    @property
    def is_never_over(self) -> bool:
        """Whether tasks are paused when the plan ends, and until when is unknown: for a member, or a rebalance."""
        return self.cause is not None and self.cause.code in (CauseCode.OVERDUE_OWNER, CauseCode.LEFT_UNASSIGNED)
