"""Whether a target file would count for a group as it is now, and what the next decision would make of it.

Source: page ``target-file``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kstream_plan.assignors import FOLLOWS_A_FILE
from kstream_plan.assignors.planned.assign import members_and_tasks
from kstream_plan.assignors.planned.decide import decide
from kstream_plan.assignors.planned.target_file import parse_target
from kstream_plan.model import NOBODY, Group, Note, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.not_modelled import FOLLOWS_TARGET_FILES
from kstream_plan.model.starting_state import seated
from kstream_plan.planner.options import PlanOptions
from kstream_plan.simulation.asked_moment import OLD_SNAPSHOT, asked_moment

_SEEN_LONG_AGO = Note(
    OLD_SNAPSHOT,
    "The group was last seen too long ago: instances may have left or joined since, and tasks may have moved; a new "
    "snapshot tells",
)
_CLASS_UNKNOWN = Note(
    "class-unknown",
    "Whether io.kstreamplan.PlanTaskAssignor decides is unknown: a snapshot with the leader's log, or with the "
    "application's settings (--streams-config), tells",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCheck:
    """What the class in the application would say of a target file.

    ``refusal`` is the code for which it does not count, ``plan`` the id of its plan; one of both is ``None``.
    ``slots`` are pairs of a slot of the file and the process id of who sits there, ``None``: it is empty; ``unseated``
    are the members of the ``group`` without a slot. ``waiting`` and ``standbys_waiting`` are how many tasks and copies
    have to warm up first, ``moving`` how many stateful tasks change their owner. ``doubts`` are why the group may be
    another one by now.
    """

    group: Group
    refusal: str | None
    plan: str | None
    slots: tuple[tuple[str, str | None], ...]
    unseated: tuple[str, ...]
    moving: int
    waiting: int
    standbys_waiting: int
    doubts: tuple[Note, ...] = ()

    @property
    def answer(self) -> Answer:
        """Whether the file would count."""
        if self.refusal is not None:
            return Answer.NO
        return Answer.UNKNOWN if self.doubts else Answer.YES


def _other_doubts(snapshot: Snapshot, now_ms: int) -> Iterator[Note]:
    """Yield why the class may not decide, or the group be another one."""
    is_set = any(note.code == FOLLOWS_TARGET_FILES for note in snapshot.warnings)
    if not is_set and not (snapshot.decision is not None and snapshot.decision.by_follower):
        yield _CLASS_UNKNOWN
    if snapshot.captured_at_ms is not None and now_ms < snapshot.captured_at_ms:
        yield Note(
            "now-before-snapshot", f"The snapshot was taken later, at {snapshot.captured_at}: give a later --now"
        )


def check_target_file(content: bytes, snapshot: Snapshot, now_ms: int) -> TargetCheck:
    """Return what the group would make of a file if it rebalanced at ``now_ms``, milliseconds since 1970."""
    members = members_and_tasks(seated(snapshot.state), snapshot.config)
    followed, decision = decide(members, content, now_ms)
    target = followed.target
    ids = [member.process_id for member in members.members]
    taken = {name: ids[place] for name, place in target.slots}
    slots = () if followed.refusal is not None else parse_target(content).slots
    moving = sum(
        target.active[task] not in (NOBODY, members.owner[task]) and members.owner[task] != NOBODY
        for task in members.stateful
    )
    options = PlanOptions(now_ms=now_ms, assignor=FOLLOWS_A_FILE)
    doubts = (*asked_moment(snapshot, options, ()).doubts, *_other_doubts(snapshot, now_ms))
    return TargetCheck(
        group=snapshot.state.group,
        refusal=followed.refusal,
        plan=followed.plan,
        slots=tuple((slot.name, taken.get(slot.name)) for slot in slots),
        unseated=tuple(process_id for process_id in ids if process_id not in taken.values()),
        moving=moving,
        waiting=len(decision.waiting),
        standbys_waiting=len(decision.standbys_waiting),
        doubts=tuple(_SEEN_LONG_AGO if note.code == OLD_SNAPSHOT else note for note in doubts),
    )
