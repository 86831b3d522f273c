"""Whether a target file would count for a group as it is now, and what the next decision would make of it.

Source: page ``target-file``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kstream_plan.assignors import FOLLOWS_A_FILE
from kstream_plan.assignors.planned.assign import members_and_tasks
from kstream_plan.assignors.planned.decide import decide
from kstream_plan.assignors.planned.target_file import parse_target
from kstream_plan.model import NOBODY, Group, Note, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.not_modelled import FOLLOWS_TARGET_FILES
from kstream_plan.model.note import Remarks
from kstream_plan.model.releases import OWN_ASSIGNOR
from kstream_plan.model.starting_state import seated
from kstream_plan.planner.options import PlanOptions
from kstream_plan.simulation.asked_moment import asked_moment

_CLASS_UNKNOWN = Note(
    "class-unknown",
    "Whether io.kstreamplan.PlanTaskAssignor decides is unknown: a snapshot with the leader's log, or with the "
    "application's settings (--streams-config), tells",
)


class Seated(NamedTuple):
    """A slot of a target file, and the process id of who has it; ``None``: it is empty."""

    name: str
    process_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCheck:
    """What the class in the application would say of a target file.

    ``path`` is where it is. ``refusal`` is the code for which it does not count, ``plan`` the id of its plan; one of
    both is ``None``. ``expires_ms`` is the epoch time until which it counts; ``None``: it does not. ``unseated`` are
    the members of the ``group`` without one of the ``slots``. ``waiting`` and ``standbys_waiting`` are how many tasks
    and copies have to warm up first, ``moving`` how many stateful tasks change their owner. ``doubts`` are why the
    group may be another one by now.
    """

    group: Group
    path: str
    refusal: str | None
    plan: str | None
    expires_ms: int | None
    slots: tuple[Seated, ...]
    unseated: tuple[str, ...]
    moving: int
    waiting: int
    standbys_waiting: int
    doubts: tuple[Note, ...] = ()

    @property
    def remarks(self) -> Remarks:
        """The lines below the answer: none, the doubts are part of it."""
        return Remarks()

    @property
    def answer(self) -> Answer:
        """Whether the file would count."""
        if self.refusal is not None:
            return Answer.NO
        return Answer.UNKNOWN if self.doubts else Answer.YES


def _other_doubts(snapshot: Snapshot, now_ms: int) -> Iterator[Note]:
    """Yield why the class may not decide, or the group be another one."""
    if not OWN_ASSIGNOR.is_in(snapshot.streams_version):
        message = f"The group runs Kafka Streams {snapshot.streams_version}: an application brings its class since 3.8"
        yield Note("release-too-old", message)
    is_set = any(note.code == FOLLOWS_TARGET_FILES for note in snapshot.warnings)
    if not is_set and not (snapshot.decision is not None and snapshot.decision.by_follower):
        yield _CLASS_UNKNOWN
    if snapshot.captured_at_ms is not None and now_ms < snapshot.captured_at_ms:
        yield Note(
            "now-before-snapshot", f"The snapshot was taken later, at {snapshot.captured_at}: give a later --set now"
        )


def check_target_file(
    content: bytes, snapshot: Snapshot, now_ms: int, *, path: str = "", trust_ms: int | None = None
) -> TargetCheck:
    """Return what the group would make of a file if it rebalanced at ``now_ms``, milliseconds since 1970.

    ``path`` is where the file is; ``trust_ms`` as of :class:`~kstream_plan.planner.options.PlanOptions`.
    """
    members = members_and_tasks(seated(snapshot.state), snapshot.config)
    followed, decision = decide(members, content, now_ms)
    target = followed.target
    ids = [member.process_id for member in members.members]
    id_by_slot = {name: ids[place] for name, place in target.slots}
    slots = () if followed.refusal is not None else parse_target(content).slots
    moving = sum(
        target.active[task] not in (NOBODY, members.owner[task]) and members.owner[task] != NOBODY
        for task in members.stateful
    )
    options = PlanOptions(now_ms=now_ms, assignor=FOLLOWS_A_FILE, trust_ms=trust_ms)
    doubts = (*asked_moment(snapshot, options, ()).doubts, *_other_doubts(snapshot, now_ms))
    return TargetCheck(
        group=snapshot.state.group,
        path=path,
        refusal=followed.refusal,
        plan=followed.plan,
        expires_ms=followed.expires_ms,
        slots=tuple(Seated(slot.name, id_by_slot.get(slot.name)) for slot in slots),
        unseated=tuple(process_id for process_id in ids if slots and process_id not in id_by_slot.values()),
        moving=moving,
        waiting=len(decision.tasks_waiting),
        standbys_waiting=len(decision.standbys_waiting),
        doubts=doubts,
    )
