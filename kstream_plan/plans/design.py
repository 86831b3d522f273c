"""The interface between the loop that simulates rebalances and a design: how one kind of group coordinates.

The loop knows the group, the clock and the external events. The design decides who gets which task, how tasks change
their owner, and when the next rebalance comes. In a rebalance the whole group decides, or one member carries out what
was decided, at a time of its own (members of streams groups).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from kstream_plan.errors import ScenarioError
from kstream_plan.model import (
    FollowedTarget,
    Group,
    GroupState,
    Holding,
    Holdings,
    Note,
    Rates,
    Snapshot,
    Target,
    WorkId,
)
from kstream_plan.model.scenario import ConnectorEvent, Event, Scenario
from kstream_plan.model.settings import CONNECT_GROUP_ONLY, AssignmentConfig
from kstream_plan.model.starting_state import Cleaning
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.plans.membership import MembershipChange, taken_in
from kstream_plan.plans.restoring import Span
from kstream_plan.plans.round_steps import StatelessChanges
from kstream_plan.plans.rounds import Balance, Phase, Round, Trigger
from kstream_plan.plans.steps import Step
from kstream_plan.plans.summary import DurationIs, LowerBounds
from kstream_plan.plans.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """One rebalance: a decision of the group, or one member that carries out the last decision.

    at_ms: its time on the plan's clock.
    state: the group before it, without members that it lets go.
    generation: the number of its decision.
    decided: what each consumer of ``state.group`` is to hold.
    held: what each consumer holds from now on.
    target: the assignment that the decisions lead to.
    steps: the changes of now, but for those in ``stateless`` and ``members``.
    members: the steps of members that come and go; they come first.
    stateless: the changes of stateless tasks, as numbers; ``None``: there are none.
    phases: what the rebalance does: warm up, probe, cut over.
    decided_of: as ``decided``, by instance; ``None``: the sum over its consumers.
    probing_rebalance: whether the decision asks for a probing rebalance.
    queued: number of tasks that still have to move.
    movements: number of their movements, if known, else 0.
    member: the process id and consumer id of the one member that acts; ``None``: the group decides, a round begins.
    silent: nothing of it is recorded; who has come and gone is recorded with the next one.
    balance: counts how even the load is, until the next decision; ``None``: not counted yet.
    follows: what a decision took from a target file; ``None``: it follows none.
    """

    at_ms: int
    state: GroupState
    generation: int
    decided: Holdings
    held: Holdings
    target: Target
    steps: Sequence[Step] = ()
    members: Sequence[Step] = ()
    stateless: StatelessChanges | None = None
    phases: tuple[Phase, ...] = ()
    decided_of: Sequence[Holding] | None = None
    probing_rebalance: bool = False
    queued: int = 0
    movements: int = 0
    member: tuple[str, str] | None = None
    silent: bool = False
    balance: Callable[[], Balance] | None = None
    follows: FollowedTarget | None = None


class NextRebalance(NamedTuple):
    """When the next rebalance comes if nothing happens from outside, and why.

    at_ms: its time on the plan's clock.
    trigger: why it comes.
    under_way: it is under way, so a change from outside joins it; else such a change replaces it.
    of_member: one member carries out what was decided; no round begins.
    """

    at_ms: int
    trigger: Trigger
    under_way: bool = False
    of_member: bool = False


class Interval(NamedTuple):
    """The time between two rebalances.

    from_ms: its beginning on the plan's clock.
    to_ms: its end.
    spans: its parts with constant rates and the same stopped instances.
    paced: whether rates change in it, or at either end.
    idle: whether the rebalance at its beginning changed nothing, and is not recorded.
    more_changes: whether a member comes or goes, or settings change, at its end or later.
    """

    from_ms: int
    to_ms: int
    spans: Sequence[Span]
    paced: bool = False
    idle: bool = False
    more_changes: bool = False


#: A time on the plan's clock → the spans from the present rebalance until then, by the external events known.
Ahead: TypeAlias = Callable[[int], Sequence[Span]]


class CopyDoubt(NamedTuple):
    """A copy that may or may not have caught up by the first decision of a plan.

    task_id: its task.
    process_id: its instance.
    active: whether it is the active copy; the task does not run while that restores.
    records: records to restore; ``None``: unknown.
    since_ms: when that was so, on the plan's clock; ``None``: unknown.
    to_ms: the time of the first decision.
    is_likely_ready: whether ``since_ms`` is a whole probing interval ago.
    """

    task_id: WorkId
    process_id: str
    active: bool
    records: int | None
    since_ms: int | None
    to_ms: int
    is_likely_ready: bool


class Conclusion(NamedTuple):
    """How a plan ends, with its warnings.

    verdict: whether the group settles.
    warnings: what may hurt.
    notes: facts on the first decision.
    doubts: copies that may or may not have caught up by the first decision.
    cleanings: other times at which left-over state may be deleted, if they would delete something else.
    follows_restores: whether the two figures below are known from restoring each task.
    max_cold_ms: time that the slowest cold start restores before its task runs; ``None``: unknown.
    runs_by_ms: when every task runs, on the plan's clock; ``None``: unknown.
    """

    verdict: Verdict
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    doubts: tuple[CopyDoubt, ...] = ()
    cleanings: tuple[Cleaning, ...] = ()
    follows_restores: bool = False
    max_cold_ms: int | None = None
    runs_by_ms: int | None = None


T = TypeVar("T", bound=Rebalance)


class Coordinator(ABC, Generic[T]):
    """Coordinates one group through one plan; mutable, private to the loop.

    Its decisions depend on the state alone, ``GroupState.memory`` included, which holds what a group remembers between
    decisions. Fields of a coordinator save work, or serve the steps and the conclusion.
    """

    #: Whether no decision is possible while a member is away that the group still counts.
    waits_for_all = True

    def resume(self, _state: GroupState) -> T | None:
        """Return the rebalance before the plan, if the state tells of one: the plan begins with what follows from it.

        ``None``: none is known to be under way, so a decision comes now.
        """
        return None

    def restoring_copies(self, state: GroupState) -> Iterable[tuple[int, int]]:
        """Return the copies, as (task, instance), that still restore when a plan begins."""
        return (
            (task, copy.instance)
            for task, copies in enumerate(state.copies)
            for copy in copies
            if copy.consumer is not None and copy.remaining
        )

    def advance_to_now(self, state: GroupState, _interval: Interval) -> GroupState:
        """Return the group as it is now, if there was no decision since the times that the state tells of."""
        return state

    @abstractmethod
    def rebalance(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> T:
        """Make the rebalance that is due now; ``members``: the steps of members that came or went since then."""

    def changes_nothing(self, rebalance: T) -> bool:
        """Tell whether the group would be the same without this rebalance."""
        return not rebalance.steps and rebalance.decided == rebalance.held

    def on_recorded(self, _rebalance: T) -> None:
        """Take note that a rebalance is recorded in the plan; one that changes nothing at its beginning is not."""
        return

    @abstractmethod
    def next_rebalance(self, rebalance: T, ahead: Ahead) -> NextRebalance | None:
        """Return when the next rebalance comes by itself; ``None``: the group has settled."""

    @abstractmethod
    def advance(self, rebalance: T, interval: Interval) -> GroupState:
        """Return the group as the next rebalance finds it."""

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        """Return the group after a change from outside, and the steps of that change."""
        return taken_in(state, taking)

    def detect_cycle(self, _rebalance: T) -> Verdict | None:
        """Return a verdict if the group repeats the same rebalances without end; ``None``: it does not."""
        return None

    def pending_work(self, _rebalance: T) -> tuple[WorkId, ...]:
        """Return the tasks that still have to move when a plan is cut off."""
        return ()

    def conclude(self, _rebalance: T, verdict: Verdict, _rates: Rates) -> Conclusion:
        """Return the verdict and the notes at the end of a plan; ``rates`` are those of its last rebalance."""
        return Conclusion(verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """The result of the loop, before it is put together as a plan.

    snapshot: what was planned.
    scenario: what happened to the group; ``None``: nothing.
    state: the group at the beginning.
    rounds: the rounds, by the indices of everyone who ever takes part.
    group: the members at the end.
    target: the target at the end, by index of ``group``.
    rates: the rates at the end.
    configs: all settings, in the order in which they applied.
    unrated: the tasks that are restored somewhere at an unknown rate.
    goes_on: whether the plan begins after a decision that is known.
    begins_at: when it begins, RFC 3339; ``None``: unknown.
    """

    snapshot: Snapshot
    scenario: Scenario | None
    state: GroupState
    rounds: Sequence[Round]
    group: Group
    target: Target
    rates: Rates
    configs: tuple[AssignmentConfig, ...]
    unrated: tuple[str, ...]
    goes_on: bool
    begins_at: str | None


class Design(ABC):
    """How one kind of group coordinates; frozen. The caller of the planner chooses it."""

    #: Whether a plan can begin after a decision that a snapshot knows (:meth:`Coordinator.resume`).
    goes_on: ClassVar[bool] = False
    #: Whether probing rebalances find out which copies are caught up.
    probes: ClassVar[bool] = False
    #: Whether the times of heartbeats are unknown, so that times range from those of ``soonest`` to those of ``late``.
    times_vary: ClassVar[bool] = False
    #: Whether an instance that holds and reports nothing has just joined.
    newcomers_hold_nothing: ClassVar[bool] = True
    #: Whether a task leaves an owner that is present only after another copy reported that it caught up.
    moves_when_caught_up: ClassVar[bool] = False
    #: Whether what it decides depends on the release that runs.
    differs_by_release: ClassVar[bool] = False
    #: Whether an instance may announce that it leaves, and stays a member until it holds nothing.
    announces: ClassVar[bool] = False
    #: What the duration of a plan is if a restore rate is unknown.
    unrated_times: ClassVar[DurationIs] = "least"
    #: The end of a sentence on copies in doubt, if it is unknown since when they restore.
    since_unknown: ClassVar[str] = "and since when they restore is unknown too"

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the registry."""

    @property
    @abstractmethod
    def models(self) -> str:
        """The releases that it models, in a few words."""

    @property
    @abstractmethod
    def assignor(self) -> str:
        """The name of its assignor."""

    @property
    @abstractmethod
    def protocol(self) -> str:
        """The name of its rebalance protocol."""

    def start(self, state: GroupState, _scenario: Scenario | None) -> GroupState:
        """Add the tasks that the scenario creates later to the state that a plan starts from, without an owner.

        Its memory is a :class:`~kstream_plan.model.starting_state.KnownHistory`, unless it is the design's own.
        """
        return state

    def happening(self, event: Event, snapshot: Snapshot) -> Event:
        """Return an event of a scenario with the settings as the planner names them.

        Raises:
            ScenarioError: groups of this kind have no such event.
        """
        del snapshot
        if isinstance(event, ConnectorEvent):
            message = "connectors are created, deleted and given tasks in Connect groups, and this is not one"
            raise ScenarioError(message, where=event.where, fix="leave it out")
        settings = getattr(event, "settings", ())
        kinds = (("streams groups", GROUP_SETTINGS), ("Connect groups", CONNECT_GROUP_ONLY))
        of_others = next(((name, kind) for name, _ in settings for kind, theirs in kinds if name in theirs), None)
        if of_others is not None:
            message = f"{of_others[0].replace('_', '.')} is a setting of {of_others[1]}, and this is not one"
            raise ScenarioError(message, where=getattr(event, "where", ""), fix="leave it out")
        return event

    def rebalances_until_ms(self, _state: GroupState, _config: AssignmentConfig) -> int | None:
        """Return when a rebalance ends that is under way as a plan begins; ``None``: none is known to be.

        ``state`` is that of :func:`~kstream_plan.model.starting_state.state_now`.
        """
        return None

    @property
    def is_quick(self) -> bool:
        """Whether a simulation takes a fraction of the usual time."""
        return False

    def soonest(self) -> Design:
        """Return the same design with every rebalance as early as possible: the minimum duration of a plan."""
        return self

    def telling_times_alone(self) -> Design:
        """Return the same design for the times of rebalances alone: their steps may be left out."""
        return self

    def late(self) -> Design:
        """Return the same design with late rebalances, if that may change what they find."""
        return self

    def at_other_times(self) -> Sequence[Design]:
        """Return the same design with heartbeats that are neither all early nor all late."""
        return ()

    def at_probes(self) -> Design:
        """Return the same design in which copies with an unknown restore rate catch up at probes alone.

        Copies with a known rate begin late: not before a follow-up.
        """
        return self

    def ready_last(self) -> Design:
        """Return the same as :meth:`at_probes`, with no copy caught up before the last change from outside."""
        return self

    def rounds_at_most(self, rounds: int, _config: AssignmentConfig) -> int:
        """Return after how many rounds a simulation is cut off: ``rounds``, if probes come by the settings."""
        return rounds

    def beginning_at(self, _epoch_ms: int | None) -> Design:
        """Return the same design for a plan that begins at a time since 1970, in milliseconds; ``None``: unknown."""
        return self

    def fitted_to(self, _snapshot: Snapshot) -> Design:
        """Return the same design by the rules of the snapshot's release, with its stores if they matter."""
        return self

    def other_beginnings(self, _snapshot: Snapshot) -> Sequence[Design]:
        """Return the same design with other assumptions on what is unknown of the group at first."""
        return ()

    def leaving_in_turn(self, _scenario: Scenario, _snapshot: Snapshot) -> Scenario | None:
        """Return the scenario in which members that leave together leave in turn; ``None``: that is no worse."""
        return None

    @abstractmethod
    def coordinator(self, config: AssignmentConfig) -> Coordinator[Any]:
        """Return a new coordinator of a group with these settings."""

    def stopping(self, _group: Group) -> frozenset[int]:
        """Return the consumers that give up all tasks before each decision, as with the eager protocol."""
        return frozenset()

    def assumptions(self, _run: FinishedRun) -> tuple[Note, ...]:
        """Return the assumptions of a plan on how the group coordinates."""
        return ()

    def lower_bounds(self, moves: int, _run: FinishedRun, *, solve: bool) -> LowerBounds:
        """Return lower bounds of any plan; ``moves``: the minimum number of tasks that change their owner.

        ``solve``: compute the minimum of records to restore, too, which takes long.
        """
        del solve
        return LowerBounds(moves=moves, probing_rebalances=0)
