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

    ``members`` are in the order of the broker's table, ``gone`` were there in the round before; ``in_doubt`` are those
    of them whose order there the logs do not tell. ``memories`` are of all that have led, ``max_delay_ms`` is what the
    last delay, or else the first one to come, has begun with. ``assumed`` is configured as far as is known: it was
    before, and a configuration has changed since. ``given``, ``lost`` and ``unrun`` count items: newly held, held no
    more, held by nobody. ``problem`` says why it cannot be planned from.
    """

    round: LoggedRound
    members: tuple[str, ...]
    gone: frozenset[str]
    in_doubt: tuple[str, ...]
    configured: frozenset[ItemKey]
    assumed: frozenset[ItemKey]
    memories: Mapping[str, Remembered]
    max_delay_ms: int | None
    follows: bool
    given: int
    lost: int
    unrun: int
    problem: str | None


def courses_of(group: LoggedGroup) -> list[Course]:
    """Return the rounds of a group in order, each with what is known after it."""
    found = list(_walked(group))
    # before the first delay that was seen, the workers were set to it already
    first_ms = next((of.max_delay_ms for of in found if of.max_delay_ms is not None), None)
    return [replace(of, max_delay_ms=first_ms) if of.max_delay_ms is None else of for of in found]


def _walked(group: LoggedGroup) -> Iterator[Course]:
    walk, before = _Walk(_configured_at(group)), None
    for number in sorted(group.rounds):
        of = group.rounds[number]
        if not of.told:
            continue
        follows = before is not None and before.round.number == number - 1 and before.round.answer.error == 0
        before = walk.after(of, before if follows else None)
        yield before


def _held(of: LoggedRound) -> dict[str, frozenset[ItemKey]]:
    return {member: keys_of(told.answer.held) for member, told in of.told.items()}


def _revoked(of: LoggedRound) -> dict[str, frozenset[ItemKey]]:
    return {member: keys_of(told.answer.revoked) for member, told in of.told.items()}


def _is_quiet(of: LoggedRound) -> bool:
    """Tell whether all that is configured is held after a round: nobody waits, and nobody has lost anything."""
    return of.answer.error == 0 and of.answer.delay_ms == 0 and not all_of(_revoked(of))


def _configured_at(group: LoggedGroup) -> dict[int, frozenset[ItemKey]]:
    """Return what is configured by the offset of the configuration, as far as a round tells all of it."""
    found: dict[int, frozenset[ItemKey]] = {}
    for number in sorted(group.rounds):
        of = group.rounds[number]
        if of.told and of.configured is None and _is_quiet(of) and problem_of(of) is None:
            found[of.answer.offset] = found.get(of.answer.offset, frozenset()) | all_of(_held(of))
    for of in group.rounds.values():
        if of.told and of.configured is not None:
            found[of.answer.offset] = keys_of(of.configured)
    return found


@dataclass(slots=True)
class _Walk:
    configured_at: Mapping[int, frozenset[ItemKey]]
    memories: dict[str, Remembered] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)
    most: int = 0
    configured: frozenset[ItemKey] = frozenset()
    max_delay_ms: int | None = None

    def after(self, of: LoggedRound, before: Course | None) -> Course:
        """Return a round with what is known after it; ``before``: the one before it, if that is in the logs."""
        held = _held(of)
        there = of.told.keys() | of.joined.keys()
        self.joined = {member: self.joined.get(member, of.number) for member in sorted(there)}
        self.most = max(self.most, len(self.joined))
        members = tuple(member for member in self._in_order(of) if member in of.told)
        known = self.configured_at.get(of.answer.offset)
        configured = known if known is not None else all_of(held) | self.configured
        problem = problem_of(of) or _hole_in(configured, all_of(held), is_quiet=_is_quiet(of))
        if of.answer.error == 0 and of.answer.leader in of.told:
            self._remember(of, before, members, configured)
        held_before = {} if before is None else _held(before.round)
        self.configured = configured
        return Course(
            round=of,
            members=members,
            gone=frozenset() if before is None else frozenset(before.members) - of.told.keys(),
            in_doubt=self._in_doubt(of, members),
            configured=configured,
            assumed=frozenset() if known is not None else configured - all_of(held),
            memories={member: memory for member, memory in self.memories.items() if member in of.told},
            max_delay_ms=self.max_delay_ms,
            follows=before is not None,
            given=sum(len(items - held_before.get(member, frozenset())) for member, items in held.items()),
            lost=len(all_of(held_before) - all_of(held)),
            unrun=len(configured - all_of(held)),
            problem=problem,
        )

    def _remember(
        self, of: LoggedRound, before: Course | None, members: tuple[str, ...], configured: frozenset[ItemKey]
    ) -> None:
        leader, held = of.answer.leader, _held(of)
        told = of.told[leader]
        at = told.joined_at or told.at
        outcome = Outcome(
            generation=of.number,
            members=members,
            before=held if before is None else _held(before.round),
            held=held,
            revoked=_revoked(of),
            configured=configured,
            delay_ms=of.answer.delay_ms,
            at_ms=0 if at is None else at.ms,
        )
        # who did not lead the round before has not led since it joined
        prior = self.memories.get(leader) if before is not None else None
        led_before = before is None and of.number > 1
        prior = prior or Remembered(known=not led_before)
        if before is not None and before.problem is not None:
            prior = replace(prior, known=False)  # who was told nothing goes on with what it had
        if of.answer.delay_ms and prior.known and prior.scheduled_ms is None and outcome.unrun:
            self.max_delay_ms = of.answer.delay_ms
        self.memories[leader] = remembered(outcome, prior)

    def _in_order(self, of: LoggedRound, *, backwards: bool = False) -> list[str]:
        """Return the members in the order of the broker's table, which keeps its bins.

        What shares a bin is there in the order in which it joined. Of members that joined in one round the leader's
        own list has the same order, if it is known; else ``backwards`` gives another one that is possible.
        """
        known = {member: place for place, member in enumerate(of.listed or ())}
        if known:
            first = sorted(self.joined, key=lambda member: (self.joined[member], known.get(member, len(known)), member))
        else:
            first = sorted(sorted(self.joined, reverse=backwards), key=lambda member: self.joined[member])
        return in_table_order(first, self._bins)

    def _in_doubt(self, of: LoggedRound, members: tuple[str, ...]) -> tuple[str, ...]:
        """Return members that share a bin and joined in one round: who of them did first, the logs do not tell."""
        other = [member for member in self._in_order(of, backwards=True) if member in of.told]
        return tuple(member for member, instead in zip(members, other, strict=True) if member != instead)

    @property
    def _bins(self) -> int:
        bins = _TABLE_BINS
        while self.most > 0.75 * bins:
            bins *= 2
        return bins


def problem_of(of: LoggedRound) -> str | None:
    """Say why a round cannot be planned from by itself; ``None``: it can."""
    if of.mixed is not None:
        return (
            f"{of.mixed}: workers of one client id are mixed in this log, and which of them was told what is unknown: "
            "give the log of each worker as a file of its own"
        )
    answers = [told.answer for told in of.told.values()]
    first = of.answer
    if len({answer.version for answer in answers}) > 1:
        return "its workers speak unlike protocols"
    if len({answer.leader for answer in answers}) > 1:
        return "its workers name unlike leaders: the logs are of several clusters, or times"
    if first.error:
        return "it failed: the leader's configuration was older than another worker's"
    return _missing_log(of)


def _missing_log(of: LoggedRound) -> str | None:
    leader = of.answer.leader
    if leader not in of.told:
        return f"the log of its leader is missing or cut ({of.answer.leader_url})"
    for member in sorted(of.joined.keys() - of.told.keys()):
        return f"{of.joined[member]}: the answer to {member} is not in the log"
    if of.listed is not None and set(of.listed) != of.told.keys():
        missing = sorted(set(of.listed) ^ of.told.keys())
        return f"the log of {missing[0]} is missing or cut: the leader lists {len(of.listed)} workers"
    return None


def _hole_in(configured: frozenset[ItemKey], held: frozenset[ItemKey], *, is_quiet: bool) -> str | None:
    """Say what somebody must hold and nobody in the logs does."""
    numbers: dict[str, set[int]] = {}
    for connector, number in configured:
        numbers.setdefault(connector, set()).add(number)
    missing = {(connector, _first_hole(of)) for connector, of in numbers.items() if max(of) + 2 > len(of)}
    missing |= configured - held if is_quiet else frozenset()
    if not missing:
        return None
    return f"{named_items(missing)} ran nowhere in it: the log of a worker is missing or cut, or one from before is"


def named_items(items: Iterable[ItemKey]) -> str:
    """Return connectors and tasks by name, the first of many."""
    names = [f"the connector {name}" if number == CONNECTOR else f"{name}-{number}" for name, number in sorted(items)]
    return name_list(names, 1)


def _first_hole(numbers: set[int]) -> int:
    return next(number for number in range(CONNECTOR, max(numbers) + 1) if number not in numbers)
