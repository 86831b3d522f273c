"""What an assignor decides: the target, who holds what until then, and the tasks on their way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kstream_plan.model.holding import Holding
from kstream_plan.model.movements import NO_MOVEMENTS, Movements
from kstream_plan.model.note import Note


class Target(NamedTuple):
    """The balanced assignment that the movements lead to: per instance sorted task indices. Free of any lag."""

    active: tuple[tuple[int, ...], ...]
    standby: tuple[tuple[int, ...], ...]


class FollowedTarget(NamedTuple):
    """What a decision of an assignor followed that goes by a target file.

    ``plan`` is the id of the plan in the file; where the file did not count, or there was none, it is ``None``, and
    ``refusal`` says why. ``warmups`` are the copies beside the wanted ones at once, ``probe_ms`` is when it decides
    again while anything waits, ``again_ms`` when it does after this decision (``None``: when something happens).
    ``expires_in_ms`` is how long after this decision the file that counts still does.
    """

    plan: str | None
    refusal: str | None
    warmups: int
    probe_ms: int
    again_ms: int | None
    expires_in_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An assignor's decision.

    ``instances`` is the decision per instance, ``consumers`` its split over the threads (by consumer index), roles
    disjoint (``temporary`` always empty). ``movements`` are in the order of handling. ``short_standbys`` lists the
    tasks for which there were not enough instances, with the number that is missing. ``warnings`` is what else it could
    not keep to, ``notes`` what is worth knowing about it; ``keeps_stateless``: stateless tasks stay unless the balance
    needs them to move. ``follows`` is what it followed of a target file, if the assignor goes by one.
    """

    instances: Sequence[Holding]
    consumers: Sequence[Holding]
    probing_rebalance: bool
    target: Target
    movements: Movements = NO_MOVEMENTS
    short_standbys: tuple[tuple[int, int], ...] = ()
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    keeps_stateless: bool = False
    follows: FollowedTarget | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDecision:
    """The newest decision of a group that is known to have been made: a group goes on from after it.

    Times are in milliseconds, counted from when the snapshot was taken. ``generation`` is the one that it led to,
    ``at_ms`` when it was made. ``consumers`` is what every consumer, by index, was decided to have, what is withheld
    from it included; ``None``: what the snapshot says that it holds. ``probing_rebalance`` tells whether the leader
    wants to look again, ``next_ms`` when the next rebalance is due; ``None``: not known. ``others`` are the consumers
    that the decision says nothing about: they get nothing, and if they have nothing, they have come since.
    ``rejoining`` are those that come back at once, because something is withheld from them: a follow-up is due.
    ``by_follower``: the class that follows target files made it, with a file or without one.
    """

    generation: int
    at_ms: int | None = None
    consumers: tuple[Holding, ...] | None = None
    probing_rebalance: bool | None = None
    next_ms: int | None = None
    others: tuple[int, ...] = ()
    rejoining: tuple[int, ...] = ()
    by_follower: bool = False
