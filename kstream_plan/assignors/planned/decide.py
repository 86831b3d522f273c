"""The whole function of the class in the application: a group, a file and the clock give a decision.

Source: page ``target-file``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kstream_plan.assignors.planned.decision import PlannedDecision, decide_towards
from kstream_plan.assignors.planned.members import MembersAndTasks
from kstream_plan.assignors.planned.target import PlannedTarget, target_of_file
from kstream_plan.assignors.planned.target_file import TargetRefused, parse_target
from kstream_plan.assignors.planned.without_file import target_without_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What a decision followed: a file's target, or the one of an application without a file that counts.

    ``plan`` is the file's, ``refusal`` the code for which it does not count; one of both is ``None``. ``expires_ms`` is
    until when the file counts, in milliseconds since 1970.
    """

    target: PlannedTarget
    plan: str | None = None
    refusal: str | None = None
    expires_ms: int | None = None


def decide(group: MembersAndTasks, content: bytes | None, now_ms: int) -> tuple[Followed, PlannedDecision]:
    """Decide who runs and holds what.

    Args:
        group: the group; it has a member.
        content: what is in the file; ``None``: there is none.
        now_ms: the leader's clock, in milliseconds since 1970.
    """
    followed = follow(group, content, now_ms)
    return followed, decide_towards(group, followed.target, now_ms)


def follow(group: MembersAndTasks, content: bytes | None, now_ms: int) -> Followed:
    """Return the target that counts now; arguments as of :func:`decide`."""
    if content is None:
        return Followed(target=target_without_file(group), refusal="no-file")
    try:
        file = parse_target(content)
        return Followed(target=target_of_file(group, file, now_ms), plan=file.plan, expires_ms=file.expires_ms)
    except TargetRefused as refused:
        return Followed(target=target_without_file(group), refusal=refused.code)
