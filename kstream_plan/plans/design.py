"""How one kind of group coordinates: what the loop under the clock asks of a design, and what it is answered.

The loop knows the group, the clock and what comes from outside. Who decides from what, how work changes hands, when
the next decision comes and why: that is the design. Time goes from turn to turn: in a turn the group decides, or one
member of it does what was decided, at a time of its own.
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
from kstream_plan.plans.membership import TakingIn, taken_in
from kstream_plan.plans.restoring import Span
from kstream_plan.plans.rounds import Balance, Phase, Round, Trigger
from kstream_plan.plans.stateless_steps import StatelessChanges
from kstream_plan.plans.steps import Step
from kstream_plan.plans.summary import DurationIs, LowerBounds
from kstream_plan.plans.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the group, or one member of it, does at one time: a decision, or what one member makes of the last one.

    ``state`` is the group as it is found then (without members that the turn lets go), ``generation`` the number of
    the decision, ``decided`` and ``held`` what everybody is to hold and holds from now on, by consumer of
    ``state.group``; ``decided_of`` the same by instance (``None``: what its consumers are to hold). ``target`` is what
    the decisions lead to. ``steps`` are all that happens now but for ``stateless`` tasks as numbers; where they leave
    out members that come and go, the steps of these are in ``members``, and come first. ``phases`` say what the turn is
    for, ``probing_rebalance`` whether the decision asks for a probing rebalance; ``queued`` is how many
    tasks still have to move, ``movements`` in how many movements if that is known. ``member`` is whose turn it is
    (process id, consumer id): then it belongs to the round of the decision before; ``None``: the group decides, and a
    round begins. ``silent``: there is nothing to tell of it yet; who has come and gone is told in the next turn.
    ``balance`` tells how evenly the decision spreads the load, by instance of ``state.group``, until the next one is
    made; ``None``: nobody counts while deciding. ``follows`` is what a decision followed of a target file.
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


class Due(NamedTuple):
    """When the next turn comes by itself, and why.

    ``under_way``: it has begun already, so that a change from outside until then is taken in by it. Else such a change
    brings a turn of its own, in place of this one. ``of_member``: a member does what was decided, no round begins.
    """

    at_ms: int
    trigger: Trigger
    under_way: bool = False
    of_member: bool = False


class Lapse(NamedTuple):
    """The time from one turn to the next one, on the plan's clock.

    ``spans`` divide it where rates change or instances stop; ``paced``: the pace changes in it, or at one of its ends.
    ``idle``: the turn at its beginning changed nothing, and is not told of. ``more_changes``: at its end or later
    somebody comes or goes, or settings change.
    """

    from_ms: int
    to_ms: int
    spans: Sequence[Span]
    paced: bool = False
    idle: bool = False
    more_changes: bool = False


#: A time of the plan's clock → how things stand from the present turn until then, as far as events from outside say.
Ahead: TypeAlias = Callable[[int], Sequence[Span]]


class CopyDoubt(NamedTuple):
    """A copy of which nobody knows whether it has caught up by ``to_ms``, the first decision of a plan.

    It has ``records`` to restore (``None``: not known) since ``since_ms`` of the plan's clock (``None``: not known);
    while an ``active`` one does, its task does not run. ``is_likely_ready``: that was a whole probing interval ago.
    """

    task_id: WorkId
    process_id: str
    active: bool
    records: int | None
    since_ms: int | None
    to_ms: int
    is_likely_ready: bool


class Ending(NamedTuple):
    """How a plan ends, what it warns of, what is worth knowing about its first decision, and what nobody knows.

    ``cleanings``: when left-over state may be deleted instead, as far as not the same would have been deleted. Who
    ``follows_restores`` says how long the slowest cold start restores before its task runs and by when all tasks do, on
    the plan's clock; ``None``: not known.
    """

    verdict: Verdict
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    doubts: tuple[CopyDoubt, ...] = ()
    cleanings: tuple[Cleaning, ...] = ()
    follows_restores: bool = False
    max_cold_ms: int | None = None
    runs_by_ms: int | None = None


T = TypeVar("T", bound=Turn)


class Coordinator(ABC, Generic[T]):
    """Coordinates one group through one plan; a draft, private to the loop.

    Its answers follow from the state that it is handed, ``GroupState.memory`` included, where a design keeps what a
    group remembers between decisions. What a coordinator keeps beside is what saves work, and what the steps and the
    end are told with.
    """

    #: Whether nothing can be decided while a member is away that the group still counts in.
    waits_for_all = True

    def last(self, _state: GroupState) -> T | None:
        """Return the turn before the plan, if the state tells of one: the plan then begins with what follows from it.

        ``None``: nothing is known to be under way, so a decision comes now.
        """
        return None

    def under_way(self, state: GroupState) -> Iterable[tuple[int, int]]:
        """Return the copies, as (task, instance), that are still to be restored when a plan begins."""
        return (
            (task, copy.instance)
            for task, copies in enumerate(state.copies)
            for copy in copies
            if copy.consumer is not None and copy.remaining
        )

    def until_now(self, state: GroupState, _lapse: Lapse) -> GroupState:
        """Return the group as it is now, where nothing was decided since what the state tells of."""
        return state

    @abstractmethod
    def take(self, state: GroupState, at_ms: int, trigger: Trigger, members: tuple[Step, ...]) -> T:
        """Take the turn that is due now; ``members`` are the steps of who has come and gone since the last one."""

    def changes_nothing(self, turn: T) -> bool:
        """Tell whether the group would be the same without this turn."""
        return not turn.steps and turn.decided == turn.held

    def took(self, _turn: T) -> None:
        """Hear that the turn is told of in the plan; one that changes nothing at its beginning is not."""
        return

    @abstractmethod
    def next(self, turn: T, ahead: Ahead) -> Due | None:
        """Say when the next turn comes by itself, and why; ``None``: the group has settled."""

    @abstractmethod
    def later(self, turn: T, lapse: Lapse) -> GroupState:
        """Return the group as the next turn finds it."""

    def take_in(self, state: GroupState, taking: TakingIn) -> tuple[GroupState, Sequence[Step]]:
        """Return the group after a change from outside, and the steps that tell of it."""
        return taken_in(state, taking)

    def repeats(self, _turn: T) -> Verdict | None:
        """Say so if the group goes round in circles from here."""
        return None

    def waited_for(self, _turn: T) -> tuple[WorkId, ...]:
        """Return the work that is still to move when a plan is cut off."""
        return ()

    def ended(self, _turn: T, verdict: Verdict, _rates: Rates) -> Ending:
        """Return the verdict and the notes at the end of a plan; ``rates`` are those of its last turn."""
        return Ending(verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came out of the loop, before it is put together as a plan.

    ``state`` is the group at the beginning and ``group``, ``target`` and ``rates`` are those of the end. ``configs``
    are all settings, in the order in which they counted. ``unrated`` are the tasks that are restored somewhere at a
    rate is unknown. ``goes_on``: the plan begins after a decision that is known. ``begins_at``: when, RFC 3339;
    ``None``: not known.
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
    """How one kind of group coordinates: a frozen value, handed to the planner by whoever looks it up."""

    #: Whether a plan can begin after a decision that a snapshot knows (:meth:`Coordinator.last`).
    goes_on: ClassVar[bool] = False
    #: Whether the group asks again and again, by probing rebalances, which copies are ready.
    probes: ClassVar[bool] = False
    #: Whether nobody knows when members speak, so that the times are those between its ``soonest`` and its ``late``.
    times_vary: ClassVar[bool] = False
    #: Whether an instance that holds and reports nothing has only just come.
    newcomers_hold_nothing: ClassVar[bool] = True
    #: Whether a task moves from an owner that is there only once a copy has reported that it caught up.
    moves_when_caught_up: ClassVar[bool] = False
    #: Whether what it decides depends on the release that runs.
    differs_by_release: ClassVar[bool] = False
    #: Whether an instance may announce that it leaves, and stays a member until it is emptied.
    announces: ClassVar[bool] = False
    #: What the times of a plan are where something is restored at a rate that nobody knows.
    unrated_times: ClassVar[DurationIs] = "least"
    #: What is said, with where it could be known from, where nobody knows since when copies in doubt restore.
    since_unknown: ClassVar[str] = "and since when they restore is unknown too"

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the registry."""

    @property
    @abstractmethod
    def models(self) -> str:
        """The releases whose behaviour it has, in a few words."""

    @property
    @abstractmethod
    def assignor(self) -> str:
        """Who decides."""

    @property
    @abstractmethod
    def protocol(self) -> str:
        """How work changes hands."""

    def start(self, state: GroupState, _scenario: Scenario | None) -> GroupState:
        """Complete the state that a plan starts from, with work that the scenario brings later: run by nobody yet.

        The state's memory, unless it is the design's own, is a :class:`~kstream_plan.model.starting_state.Beginning`.
        """
        return state

    def happening(self, event: Event, snapshot: Snapshot) -> Event:
        """Return what an event of a scenario is for a group of this kind, by the names of the planner's settings.

        Raises:
            ScenarioError: there is nothing like it.
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
        """Return when a rebalance ends that is under way as a plan begins; ``None``: none is that is known.

        ``state`` is that of :func:`~kstream_plan.model.starting_state.state_now`.
        """
        return None

    @property
    def is_quick(self) -> bool:
        """Whether a play takes a fraction of the usual time."""
        return False

    def soonest(self) -> Design:
        """Return the same design with every rebalance as early as it can be, for the least that a plan takes."""
        return self

    def telling_times_alone(self) -> Design:
        """Return the same design where only when rebalances come is asked for: what changes in them may be left out."""
        return self

    def late(self) -> Design:
        """Return the same design with rebalances that come late, where that may change what they find."""
        return self

    def at_other_times(self) -> Sequence[Design]:
        """Return the same design with members that speak neither all as soon nor all as late as they can."""
        return ()

    def at_probes(self) -> Design:
        """Return the same design with copies, where nobody knows how fast they restore, caught up at probes alone.

        Where it is known, they begin late: not before a follow-up.
        """
        return self

    def ready_last(self) -> Design:
        """Return the same as :meth:`at_probes` with none caught up before the last change from outside, either."""
        return self

    def rounds_at_most(self, rounds: int, _config: AssignmentConfig) -> int:
        """Return with how many rounds a play is cut off, which is ``rounds`` where probes come by the settings."""
        return rounds

    def beginning_at(self, _epoch_ms: int | None) -> Design:
        """Return the same design of a plan that begins at a time since 1970; ``None``: nobody knows when."""
        return self

    def fitted_to(self, _snapshot: Snapshot) -> Design:
        """Return the same design as a snapshot has it: by the rules of its release, with its stores if they matter."""
        return self

    def other_beginnings(self, _snapshot: Snapshot) -> Sequence[Design]:
        """Return the same design with what nobody knows of how the group is at first taken otherwise."""
        return ()

    def leaving_in_turn(self, _scenario: Scenario, _snapshot: Snapshot) -> Scenario | None:
        """Return the scenario with those that leave together one after the other; ``None``: that is no worse."""
        return None

    @abstractmethod
    def coordinator(self, config: AssignmentConfig) -> Coordinator[Any]:
        """Begin to coordinate a group with these settings."""

    def stopping(self, _group: Group) -> frozenset[int]:
        """Return the consumers that give up everything before each decision, so that nobody owns it then."""
        return frozenset()

    def assumptions(self, _run: Played) -> tuple[Note, ...]:
        """Say what a plan takes for granted about how the group coordinates."""
        return ()

    def lower_bounds(self, moves: int, _run: Played, *, solve: bool) -> LowerBounds:
        """Return the least that any plan could do, ``moves`` being the least that have to change owner.

        ``solve``: take the time to find the least that has to be restored.
        """
        del solve
        return LowerBounds(moves=moves, probing_rebalances=0)
