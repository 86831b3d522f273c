"""What logs cannot tell of a round, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kstream_plan.model import Note
from kstream_plan.snapshots.connect_log.course import Course, named_items
from kstream_plan.snapshots.connect_log.rounds import LogContents, LoggedGroup
from kstream_plan.snapshots.rows.fields import printable

_DELAY = "scheduled_rebalance_max_delay_ms"


def notes_about_gaps(contents: LogContents) -> Iterator[Note]:
    """Yield a warning if messages cannot be read."""
    if contents.gaps:
        places, (place, reason) = tuple(str(place) for place, _ in contents.gaps), contents.gaps[0]
        number = "1 message of a worker" if len(places) == 1 else f"{len(places)} messages of workers"
        message = (
            f"{number} cannot be read and left out, as if the log had a gap; the first is at {place}: "
            f"{printable(reason)}"
        )
        yield Note("unread-message", message, places)


def notes_about(
    course: Course, group: LoggedGroup, hosts: Mapping[str, str], config: Mapping[str, Any] | None
) -> Iterator[Note]:
    """Yield a warning for each unknown of a round, with its cost and the cure.

    Args:
        course: the round.
        group: what its logs say of all rounds.
        hosts: workers by member id.
        config: the settings that are given; ``None``: none are.
    """
    answers = course.round.answers
    stamp = answers[course.round.answer.leader].answered_at if course.round.answer.leader in answers else None
    if stamp is not None and stamp.dated and not stamp.zoned:
        yield Note("no-time-zone", "the log's times name no zone, UTC is assumed: --as-of may be hours off")
    yield from _about_members(course, hosts)
    if course.assumed:
        message = (
            "a configuration has changed, and INFO lines do not show how: "
            f"{named_items(course.assumed)} are assumed to be configured still. Give the leader's log on DEBUG, or a "
            "later generation"
        )
        yield Note("configuration-assumed", message)
    memory = course.memories.get(course.round.answer.leader)
    if memory is not None and not memory.is_known:
        message = (
            "the logs begin while work moved or waited: candidates, and how often rebalances were put off before, are "
            "unknown. Give logs from before"
        )
        yield Note("memory-assumed", message)
    yield from _about_settings(course, group, config)


def _about_members(course: Course, hosts: Mapping[str, str]) -> Iterator[Note]:
    if course.round.listed_members is None:
        departed_hosts = sorted(hosts[member] for member in course.departed_members if member in hosts)
        message = f"INFO lines do not list the members: the {len(course.members)} with logs here are assumed to be all"
        if departed_hosts:
            message += (
                f", and {', '.join(departed_hosts)} to be gone, whose log has no generation {course.round.number}"
            )
        yield Note("members-assumed", message, tuple(departed_hosts))
    if course.in_doubt:
        names = ", ".join(sorted(hosts[member] for member in course.in_doubt))
        message = (
            f"the order in which {names} joined is not in the logs: which worker leads next, or keeps an extra item, "
            "is unknown"
        )
        yield Note("order-assumed", message, course.in_doubt)


def _about_settings(course: Course, group: LoggedGroup, config: Mapping[str, Any] | None) -> Iterator[Note]:
    logged_ms = course.max_delay_ms if group.max_delay_ms is None else group.max_delay_ms
    if config is None:
        exceptions = "" if logged_ms is None else f"except for scheduled.rebalance.max.delay.ms ({logged_ms}) "
        default = ", scheduled.rebalance.max.delay.ms 300000" if logged_ms is None else ""
        message = (
            f"the logs do not contain the configuration: {exceptions}Kafka's defaults are assumed (session.timeout.ms "
            f"10000{default}). Give --streams-config"
        )
        yield Note("no-config", message)
    elif logged_ms is not None and config.get(_DELAY, logged_ms) != logged_ms:
        message = (
            f"--streams-config sets scheduled.rebalance.max.delay.ms to {config[_DELAY]}, the logs say {logged_ms}: "
            "the file is used"
        )
        yield Note("another-delay", message)
