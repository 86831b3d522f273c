"""What logs cannot tell of a round, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kstream_plan.model import Note
from kstream_plan.snapshots.connect_log.course import Course, named_items
from kstream_plan.snapshots.connect_log.rounds import FoundRounds, LoggedGroup
from kstream_plan.snapshots.rows.fields import printable

_DELAY = "scheduled_rebalance_max_delay_ms"


def notes_about_gaps(found: FoundRounds) -> Iterator[Note]:
    """Yield a warning if messages cannot be read."""
    if found.gaps:
        places, (place, why) = tuple(str(place) for place, _ in found.gaps), found.gaps[0]
        number = "1 message of a worker" if len(places) == 1 else f"{len(places)} messages of workers"
        message = (
            f"{number} cannot be read and left out, as if the log had a gap; the first is at {place}: {printable(why)}"
        )
        yield Note("unread-message", message, places)


def notes_about(
    of: Course, group: LoggedGroup, hosts: Mapping[str, str], config: Mapping[str, Any] | None
) -> Iterator[Note]:
    """Yield a warning for each thing that is not known of a round, with its cost and the cure.

    Args:
        of: the round.
        group: what its logs say of all rounds.
        hosts: workers by member id.
        config: the settings that are given; ``None``: none are.
    """
    told = of.round.told
    at = told[of.round.answer.leader].at if of.round.answer.leader in told else None
    if at is not None and at.dated and not at.zoned:
        yield Note("no-time-zone", "the log's times name no zone, UTC is assumed: --as-of may be hours off")
    yield from _about_members(of, hosts)
    if of.assumed:
        message = (
            f"a configuration has changed, and INFO lines do not show how: {named_items(of.assumed)} are assumed to be "
            "configured still. Give the leader's log on DEBUG, or a later generation"
        )
        yield Note("configuration-assumed", message)
    memory = of.memories.get(of.round.answer.leader)
    if memory is not None and not memory.known:
        message = (
            "the logs begin while work moved or waited: candidates, and how often rebalances were put off before, are "
            "unknown. Give logs from before"
        )
        yield Note("memory-assumed", message)
    yield from _about_settings(of, group, config)


def _about_members(of: Course, hosts: Mapping[str, str]) -> Iterator[Note]:
    if of.round.listed is None:
        gone = sorted(hosts[member] for member in of.gone if member in hosts)
        message = f"INFO lines do not list the members: the {len(of.members)} with logs here are assumed to be all"
        if gone:
            message += f", and {', '.join(gone)} to be gone, whose log has no generation {of.round.number}"
        yield Note("members-assumed", message, tuple(gone))
    if of.in_doubt:
        names = ", ".join(sorted(hosts[member] for member in of.in_doubt))
        message = (
            f"the order in which {names} joined is not in the logs: which worker leads next, or keeps an extra item, "
            "is unknown"
        )
        yield Note("order-assumed", message, of.in_doubt)


def _about_settings(of: Course, group: LoggedGroup, config: Mapping[str, Any] | None) -> Iterator[Note]:
    logged_ms = of.max_delay_ms if group.max_delay_ms is None else group.max_delay_ms
    if config is None:
        known = "" if logged_ms is None else f"except for scheduled.rebalance.max.delay.ms ({logged_ms}) "
        default = ", scheduled.rebalance.max.delay.ms 300000" if logged_ms is None else ""
        message = (
            f"the logs do not contain the configuration: {known}Kafka's defaults are assumed (session.timeout.ms "
            f"10000{default}). Give --connect-config"
        )
        yield Note("no-config", message)
    elif logged_ms is not None and config.get(_DELAY, logged_ms) != logged_ms:
        message = (
            f"--connect-config sets scheduled.rebalance.max.delay.ms to {config[_DELAY]}, the logs say {logged_ms}: "
            "the file is used"
        )
        yield Note("another-delay", message)
