"""The rounds of a group one after the other: what was configured, who was a member, and what leaders remember."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kstream_plan.model.note import name_list
from kstream_plan.snapshots.connect_log.memory import (
    CONNECTOR,
    ItemKey,
    Outcome,
    Remembered,
    all_of,
    in_table_order,
    keys_of,
    remembered,
)
from kstream_plan.snapshots.connect_log.rounds import LoggedGroup, LoggedRound

_TABLE_BINS = 16


@dataclass(frozen=True, slots=True)
class Course:
    """A round, and what is known of the group after it.

    ``members`` are in the order of the broker's table, ``departed_members`` were there in the round before;
    ``in_doubt`` are those of them whose order there the logs do not tell. ``memories`` are of all that have led,
    ``max_delay_ms`` is what the last delay, or else the first one to come, has begun with. ``assumed`` is configured as
    far as is known: it was before, and a configuration has changed since. ``started_count``, ``stopped_count`` and
    ``unassigned_count`` count items: newly held, held no more, held by no worker. ``problem`` says why it cannot be
    planned from.
    """

    round: LoggedRound
    members: tuple[str, ...]
    departed_members: frozenset[str]
    in_doubt: tuple[str, ...]
    configured: frozenset[ItemKey]
    assumed: frozenset[ItemKey]
    memories: Mapping[str, Remembered]
    max_delay_ms: int | None
    follows: bool
    started_count: int
    stopped_count: int
    unassigned_count: int
    problem: str | None


def courses_of(group: LoggedGroup) -> list[Course]:
    """Return the rounds of a group in order, each with what is known after it."""
    courses = list(_walked(group))
    # before the first delay that was seen, the workers were set to it already
    first_ms = next((course.max_delay_ms for course in courses if course.max_delay_ms is not None), None)
    return [replace(course, max_delay_ms=first_ms) if course.max_delay_ms is None else course for course in courses]


def _walked(group: LoggedGroup) -> Iterator[Course]:
    walk, course = _Walk(_configured_at(group)), None
    for number in sorted(group.rounds):
        logged_round = group.rounds[number]
        if not logged_round.answers:
            continue
        follows = course is not None and course.round.number == number - 1 and course.round.answer.error == 0
        course = walk.advance(logged_round, course if follows else None)
        yield course


def _held_items(logged_round: LoggedRound) -> dict[str, frozenset[ItemKey]]:
    return {member: keys_of(worker_answer.answer.held_items) for member, worker_answer in logged_round.answers.items()}


def _revoked_items(logged_round: LoggedRound) -> dict[str, frozenset[ItemKey]]:
    return {
        member: keys_of(worker_answer.answer.revoked_items) for member, worker_answer in logged_round.answers.items()
    }


def _is_quiet(logged_round: LoggedRound) -> bool:
    """Return True if all that is configured is held after a round: no delay runs, and no worker has lost anything."""
    return (
        logged_round.answer.error == 0
        and logged_round.answer.delay_ms == 0
        and not all_of(_revoked_items(logged_round))
    )


def _configured_at(group: LoggedGroup) -> dict[int, frozenset[ItemKey]]:
    """Return what is configured by the offset of the configuration, as far as a round tells all of it."""
    configured_at: dict[int, frozenset[ItemKey]] = {}
    for number in sorted(group.rounds):
        logged_round = group.rounds[number]
        if (
            logged_round.answers
            and logged_round.configured is None
            and _is_quiet(logged_round)
            and problem_of(logged_round) is None
        ):
            configured_at[logged_round.answer.offset] = configured_at.get(
                logged_round.answer.offset, frozenset()
            ) | all_of(_held_items(logged_round))
    for logged_round in group.rounds.values():
        if logged_round.answers and logged_round.configured is not None:
            configured_at[logged_round.answer.offset] = keys_of(logged_round.configured)
    return configured_at


@dataclass(slots=True)
class _Walk:
    configured_at: Mapping[int, frozenset[ItemKey]]
    memories: dict[str, Remembered] = field(default_factory=dict)
    first_rounds: dict[str, int] = field(default_factory=dict)
    most: int = 0
    configured: frozenset[ItemKey] = frozenset()
    max_delay_ms: int | None = None

    def advance(self, logged_round: LoggedRound, previous: Course | None) -> Course:
        """Return a round with what is known after it; ``previous``: the one before it, if that is in the logs."""
        held_items = _held_items(logged_round)
        present_members = logged_round.answers.keys() | logged_round.join_places.keys()
        self.first_rounds = {
            member: self.first_rounds.get(member, logged_round.number) for member in sorted(present_members)
        }
        self.most = max(self.most, len(self.first_rounds))
        members = tuple(member for member in self._in_order(logged_round) if member in logged_round.answers)
        known_items = self.configured_at.get(logged_round.answer.offset)
        configured = known_items if known_items is not None else all_of(held_items) | self.configured
        problem = problem_of(logged_round) or _hole_in(configured, all_of(held_items), is_quiet=_is_quiet(logged_round))
        if logged_round.answer.error == 0 and logged_round.answer.leader in logged_round.answers:
            self._remember(logged_round, previous, members, configured)
        held_before = {} if previous is None else _held_items(previous.round)
        self.configured = configured
        return Course(
            round=logged_round,
            members=members,
            departed_members=frozenset()
            if previous is None
            else frozenset(previous.members) - logged_round.answers.keys(),
            in_doubt=self._in_doubt(logged_round, members),
            configured=configured,
            assumed=frozenset() if known_items is not None else configured - all_of(held_items),
            memories={member: memory for member, memory in self.memories.items() if member in logged_round.answers},
            max_delay_ms=self.max_delay_ms,
            follows=previous is not None,
            started_count=sum(
                len(items - held_before.get(member, frozenset())) for member, items in held_items.items()
            ),
            stopped_count=len(all_of(held_before) - all_of(held_items)),
            unassigned_count=len(configured - all_of(held_items)),
            problem=problem,
        )

    def _remember(
        self,
        logged_round: LoggedRound,
        previous: Course | None,
        members: tuple[str, ...],
        configured: frozenset[ItemKey],
    ) -> None:
        leader, held_items = logged_round.answer.leader, _held_items(logged_round)
        leader_answer = logged_round.answers[leader]
        stamp = leader_answer.joined_at or leader_answer.answered_at
        outcome = Outcome(
            generation=logged_round.number,
            members=members,
            items_before=held_items if previous is None else _held_items(previous.round),
            held_items=held_items,
            revoked_items=_revoked_items(logged_round),
            configured=configured,
            delay_ms=logged_round.answer.delay_ms,
            at_ms=0 if stamp is None else stamp.ms,
        )
        # who did not lead the round before has not led since it joined
        prior = self.memories.get(leader) if previous is not None else None
        led_before = previous is None and logged_round.number > 1
        prior = prior or Remembered(is_known=not led_before)
        if previous is not None and previous.problem is not None:
            prior = replace(prior, is_known=False)  # who was told nothing goes on with what it had
        if logged_round.answer.delay_ms and prior.is_known and prior.scheduled_ms is None and outcome.unassigned_items:
            self.max_delay_ms = logged_round.answer.delay_ms
        self.memories[leader] = remembered(outcome, prior)

    def _in_order(self, logged_round: LoggedRound, *, backwards: bool = False) -> list[str]:
        """Return the members in the order of the broker's table, which keeps its bins.

        What shares a bin is there in the order in which it joined. Of members that joined in one round the leader's
        own list has the same order, if it is known; else ``backwards`` gives another one that is possible.
        """
        listed_order = {member: place for place, member in enumerate(logged_round.listed_members or ())}
        if listed_order:
            first = sorted(
                self.first_rounds,
                key=lambda member: (self.first_rounds[member], listed_order.get(member, len(listed_order)), member),
            )
        else:
            first = sorted(sorted(self.first_rounds, reverse=backwards), key=lambda member: self.first_rounds[member])
        return in_table_order(first, self._bins)

    def _in_doubt(self, logged_round: LoggedRound, members: tuple[str, ...]) -> tuple[str, ...]:
        """Return members that share a bin and joined in one round: who of them did first, the logs do not tell."""
        other_order = [
            member for member in self._in_order(logged_round, backwards=True) if member in logged_round.answers
        ]
        return tuple(
            member for member, other_member in zip(members, other_order, strict=True) if member != other_member
        )

    @property
    def _bins(self) -> int:
        bins = _TABLE_BINS
        while self.most > 0.75 * bins:
            bins *= 2
        return bins


def problem_of(logged_round: LoggedRound) -> str | None:
    """Return why a round cannot be planned from by itself; ``None``: it can."""
    if logged_round.mixed is not None:
        return (
            f"{logged_round.mixed}: workers of one client id are mixed in this log, and which of them was told what is "
            "unknown: give the log of each worker as a file of its own"
        )
    answers = [worker_answer.answer for worker_answer in logged_round.answers.values()]
    first = logged_round.answer
    if len({answer.version for answer in answers}) > 1:
        return "its workers speak unlike protocols"
    if len({answer.leader for answer in answers}) > 1:
        return "its workers name unlike leaders: the logs are of several clusters, or times"
    if first.error:
        return "it failed: the leader's configuration was older than another worker's"
    return _missing_log(logged_round)


def _missing_log(logged_round: LoggedRound) -> str | None:
    leader = logged_round.answer.leader
    if leader not in logged_round.answers:
        return f"the log of its leader is missing or cut ({logged_round.answer.leader_url})"
    for member in sorted(logged_round.join_places.keys() - logged_round.answers.keys()):
        return f"{logged_round.join_places[member]}: the answer to {member} is not in the log"
    if logged_round.listed_members is not None and set(logged_round.listed_members) != logged_round.answers.keys():
        unmatched_members = sorted(set(logged_round.listed_members) ^ logged_round.answers.keys())
        number = len(logged_round.listed_members)
        return f"the log of {unmatched_members[0]} is missing or cut: the leader lists {number} workers"
    return None


def _hole_in(configured: frozenset[ItemKey], held_items: frozenset[ItemKey], *, is_quiet: bool) -> str | None:
    """Return a message of items that some worker must hold and none in the logs does; ``None``: there are none."""
    numbers_by_connector: dict[str, set[int]] = {}
    for connector, number in configured:
        numbers_by_connector.setdefault(connector, set()).add(number)
    missing_items = {
        (connector, _first_hole(numbers))
        for connector, numbers in numbers_by_connector.items()
        if max(numbers) + 2 > len(numbers)
    }
    missing_items |= configured - held_items if is_quiet else frozenset()
    if not missing_items:
        return None
    return (
        f"{named_items(missing_items)} ran nowhere in it: the log of a worker is missing or cut, or one from before is"
    )


def named_items(items: Iterable[ItemKey]) -> str:
    """Return connectors and tasks by name, the first of many."""
    names = [f"the connector {name}" if number == CONNECTOR else f"{name}-{number}" for name, number in sorted(items)]
    return name_list(names, 1)


def _first_hole(numbers: set[int]) -> int:
    return next(number for number in range(CONNECTOR, max(numbers) + 1) if number not in numbers)
