"""Answers to why a group does what it does: codes with figures. Times count from when the plan begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from kstream_plan.model import Note, WorkId
from kstream_plan.model.note import Remarks
from kstream_plan.plans.plan import STORES, Plan
from kstream_plan.plans.remarks import remarks
from kstream_plan.plans.rounds import Trigger
from kstream_plan.plans.simulated import WhatIf
from kstream_plan.plans.steps import Step

#: The codes of what is assumed of rebalances: it does not bear on an answer that no rebalance follows from.
_OF_ROUNDS = ("goes-on", "typical-times", STORES)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCopy:
    """A copy that a task, or a standby of it, waits for; times count from when the plan begins, process ids name.

    ``owner`` runs the task meanwhile; ``to_run`` tells that the task is to run on ``destination``, not only to have a
    standby there. ``lag`` is how many records it was behind at ``lag_at_ms`` as ``reported`` or ``measured``
    (``at-least``: it may be further behind), or the ``whole`` of what there is to restore, since nothing was reported;
    ``None``: not known. ``since_ms`` tells since when the copy is assigned, where that is known.

    ``restore_rate`` is the records per second that the instance restores (``None``: not known) of so many copies at
    once (``shared_by``), ``ready_ms`` when the copy is caught up at that rate: an ``estimate``, else ``never``, or not
    known for want of a rate or of an end offset. ``needed_rate`` is what the instance has to restore for this copy to
    be ready at the next probe, if it is not known to be enough. ``decided_ms`` and ``decided_round`` tell which
    decision of the plan finds it ready, ``takes_over_ms`` when the task then starts there; ``None``: none does.
    ``no_closer_ms`` tells for how long it was seen to come no closer; ``None``: nobody saw that. ``restore_at_least``
    is a lower bound of what the instance restores, where no more than that is known.
    """

    task_id: WorkId
    owner: str | None
    destination: str
    to_run: bool
    lag: int | None
    lag_is: Literal["reported", "measured", "at-least", "whole"]
    lag_at_ms: int | None
    since_ms: int | None
    restore_rate: float | None
    shared_by: int
    ready_ms: int | None
    ready_is: Literal["estimate", "never", "rate-unknown", "size-unknown"]
    needed_rate: int | None
    decided_round: int | None
    decided_ms: int | None
    takes_over_ms: int | None
    no_closer_ms: int | None = None
    restore_at_least: float | None = None


class WhyTask(StrEnum):
    """Why a task moves, or does not."""

    #: It is where it is to be.
    STAYS = "stays"
    #: The balance needs it elsewhere, and its copy there has to catch up first.
    WAITS_FOR_COPY = "waits-for-copy"
    #: The balance needs it elsewhere, and it can go at once.
    MOVES = "moves"
    #: It is unassigned.
    HAS_NO_OWNER = "has-no-owner"
    #: It is to run elsewhere, and within this plan it does not get there.
    NEVER_ARRIVES = "never-arrives"
    #: It has no state, and such tasks are reassigned at every rebalance.
    STATELESS = "stateless"


class WhyInstance(StrEnum):
    """Why an instance runs no more than it does."""

    #: It runs all that it is to run.
    HAS_ITS_SHARE = "has-its-share"
    #: It joined after the newest decision, which therefore assigned it nothing.
    NOT_DECIDED_FOR = "not-decided-for"
    #: Copies of tasks that it is to run catch up there.
    WAITS_FOR_COPIES = "waits-for-copies"
    #: Tasks that it is to run have no copy there yet: others warm up first.
    WAITS_FOR_A_PLACE = "waits-for-a-place"
    #: What it is to run is being given up by its owners.
    ABOUT_TO_START = "about-to-start"
    #: There are fewer stateful tasks than places to run them.
    NOTHING_LEFT_FOR_IT = "nothing-left-for-it"


class WhyBalance(StrEnum):
    """Why a group is not balanced."""

    #: It is as even as it gets.
    BALANCED = "balanced"
    #: Tasks are to move, and wait for copies.
    WAITS_FOR_COPIES = "waits-for-copies"
    #: Tasks are to move, and do so without waiting.
    MOVES = "moves"
    #: Nothing moves any more, and instances have different numbers of threads: loads are even by thread.
    EVEN_BY_THREAD = "even-by-thread"
    #: Nothing moves any more, and the assignor makes it no more even.
    AS_EVEN_AS_DECIDED = "as-even-as-decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """Why a group still probes; times are on the plan's clock, 0 being when it begins.

    ``next_ms`` is when the next probe comes (``None``: none does). ``handed_over`` tasks change hands without one.
    ``waiting`` are the copies that are waited for, ``queued`` the tasks that have none yet: ``at_once`` may warm up at
    a time. If other settings were ``tried``, ``sooner`` are those with which it is over sooner, and ``cure`` is one
    with which it settles that does not, as simulated.
    """

    next_ms: int | None
    interval_ms: int
    at_once: int
    handed_over: tuple[WorkId, ...]
    waiting: tuple[WaitingCopy, ...]
    queued: tuple[WorkId, ...]
    tried: bool
    sooner: tuple[WhatIf, ...]
    cure: WhatIf | None


class Uneven(NamedTuple):
    """How uneven something is, most minus least: as it stands, and at the end of the plan."""

    now: int
    then: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Balancing:
    """Why a group is not balanced: stateful tasks per instance, all tasks, and those of the most uneven subtopology.

    ``to_move`` stateful tasks change owner for it, ``warming`` of them wait for a copy or for a place to make one.
    ``balanced_ms`` is when the last one has moved; ``None``: not within this plan.
    """

    why: WhyBalance
    stateful: Uneven
    tasks: Uneven
    subtopology: Uneven
    to_move: int
    warming: int
    balanced_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalances:
    """Why there are so many rebalances.

    ``by_trigger`` is how many each trigger starts. Of the hand-overs, which are follow-ups, ``for_state`` are needed
    for tasks with state; the others only because stateless tasks are reassigned (``only_stateless``), because threads
    of an instance are evened out (``only_threads``), or for both (``only_both``). ``stateless_hops`` and
    ``thread_moves`` are how many tasks that concerns in all, ``moves`` how many stateful tasks change owner.
    """

    by_trigger: Mapping[Trigger, int]
    for_state: int
    only_stateless: int
    only_threads: int
    only_both: int
    stateless_hops: int
    thread_moves: int
    moves: int

    @property
    def in_all(self) -> int:
        """How many rebalances are to come."""
        return sum(self.by_trigger.values())


class TaskStep(NamedTuple):
    """A step about a task, and when it happens."""

    round_number: int
    generation: int
    at_ms: int
    trigger: Trigger
    step: Step


class Share(NamedTuple):
    """Stateful tasks that an instance runs as it stands, and is to run; ``of_kind``: of the task's subtopology."""

    process_id: str
    now: int
    target: int
    of_kind_now: int
    of_kind_target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAnswer:
    """Why a task moves, or does not; ``owner``, ``target`` and ``ends`` (process ids) run it now, by plan, at the end.

    ``shares`` are those of its owner and its target, ``waiting`` the copy that it waits for.
    """

    why: WhyTask
    task_id: WorkId
    owner: str | None
    target: str | None
    ends: str | None
    shares: tuple[Share, ...]
    waiting: WaitingCopy | None
    steps: tuple[TaskStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceAnswer:
    """Why an instance runs no more than it does.

    It runs ``now`` tasks, ``stateful`` of them with state, and keeps ``copies``; it is to run ``target`` tasks with
    state, others ``least`` to ``most``, and runs ``then`` tasks at the end. ``queued`` tasks that it is to run have no
    copy there; the first start of a task there is at ``first_ms``, and ``first_is_stateful`` if that task has state.
    """

    why: WhyInstance
    process_id: str
    threads: int
    now: int
    stateful: int
    copies: int
    target: int
    least: int
    most: int
    then: int
    waiting: tuple[WaitingCopy, ...]
    queued: tuple[WorkId, ...]
    first_ms: int | None
    first_is_stateful: bool = False

    @property
    def catching_up(self) -> int:
        """How many copies catch up there of tasks that it is to run."""
        return sum(copy.to_run for copy in self.waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The answers, and the plan that they are read off.

    ``stands_after`` so many rounds of the plan, at ``stands_ms``, it stands as the answers say: none, if the newest
    decision is known; else those of the rebalance that starts now. ``as_decided`` tells of a decision that was made
    again whether it came out the same, instance by instance: the answers are then about how it stood just before;
    ``None``: none was made again.
    """

    plan: Plan
    stands_after: int
    stands_ms: int
    as_decided: bool | None
    probing: Probing
    balance: Balancing
    rebalances: Rebalances
    task: TaskAnswer | None = None
    instance: InstanceAnswer | None = None

    @property
    def goes_by_rates(self) -> bool:
        """Whether when copies have caught up bears on the answer: it does not where a task has no state, or stays."""
        return self.task is None or (self.task.why is not WhyTask.STATELESS and bool(self.task.steps))

    @property
    def remarks(self) -> Remarks:
        """The warnings, notes, assumptions and commands, as the page and the JSON have them."""
        plan_notes = remarks(self.plan)
        if self.task is not None or self.instance is not None:
            of_rate = (note for note in plan_notes.assumptions if note.code == "no-restore-rate")
            plan_notes = plan_notes._replace(assumptions=tuple(of_rate) if self.goes_by_rates else ())
        if not self.plan.rounds:
            remaining_notes = tuple(note for note in plan_notes.assumptions if note.code not in _OF_ROUNDS)
            plan_notes = plan_notes._replace(assumptions=remaining_notes)
        same = Note("as-decided", "The decision, made again, is the same for every instance")
        differs = Note("not-as-decided", "The decision, made again, differs from what was decided; so may the rest")
        made_again = {None: (), True: (same,), False: (differs,)}[self.as_decided]
        warnings, notes = plan_notes.warnings, plan_notes.notes
        if self.as_decided is False:
            warnings = (*made_again, *warnings)
        else:
            notes = (*made_again, *notes)
        is_of_group = self.task is None and self.instance is None and self.as_decided is None
        commands = tuple(note for note in plan_notes.next if is_of_group and note.code == "other-settings")
        return plan_notes._replace(warnings=warnings, notes=notes, next=commands)
