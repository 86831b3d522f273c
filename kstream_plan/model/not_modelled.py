"""What a plan may not hold for: settings and releases that it does not go by, a later rebalance that was not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kstream_plan.model.note import Note
from kstream_plan.model.releases import MODELLED_CONNECT, MODELLED_STREAMS, RACK_CYCLES, RACKS, numbers_of
from kstream_plan.model.snapshot import Snapshot

#: The code of the warning that instances leave the group when they close.
LEAVES_ON_CLOSE = "leaves-on-close"
_NOT_MODELLED = "not-modelled"
#: The code of the warning that a release runs that decides otherwise.
RELEASE_NOT_MODELLED = "release-not-modelled"
#: The code of the warning that the application's own assignor follows target files: it does not go by Kafka's rules.
FOLLOWS_TARGET_FILES = "follows-target-files"
#: The codes of the warnings that a setting or a release decides otherwise than the plan does.
NOT_MODELLED = (_NOT_MODELLED, LEAVES_ON_CLOSE, RELEASE_NOT_MODELLED, FOLLOWS_TARGET_FILES)
#: The code of the warning that a rebalance after the snapshot cannot be read.
NEWER_UNREAD = "newer-rebalance-unread"
_ASSIGNOR = "HighAvailabilityTaskAssignor"
_ASSIGNOR_CLASS = f"org.apache.kafka.streams.processor.internals.assignment.{_ASSIGNOR}"
_STICKY = "sticky"
_FOLLOWER_CLASS = "io.kstreamplan.PlanTaskAssignor"
_UNSET = ("", "null", "none")
_DEFAULT_MAX_POLL_INTERVAL_MS = "300000"

#: The settings that matter here, with ``_`` for ``.``.
DECIDING_SETTINGS = (
    "task_assignor_class",
    "internal_task_assignor_class",
    "upgrade_from",
    "internal_leave_group_on_close",
    "group_protocol",
    "group_instance_id",
    "max_poll_interval_ms",
    "topology_optimization",
    "streams_assignor_name",
)
#: Those of them that a streams group has.
DECIDING_IN_STREAMS_GROUPS = ("streams_assignor_name",)


#: What each counts as where it is not set.
_DEFAULTS = {
    "streams_assignor_name": _STICKY,
    "max_poll_interval_ms": _DEFAULT_MAX_POLL_INTERVAL_MS,
    "group_protocol": "classic",
    "internal_leave_group_on_close": "false",
    "task_assignor_class": _ASSIGNOR_CLASS,
    "internal_task_assignor_class": _ASSIGNOR_CLASS,
}


def kept_settings(settings: Mapping[str, str]) -> dict[str, str | int]:
    """Return those settings that are not Kafka's own, as a snapshot's ``config`` has them."""
    plain = {name: value.strip().removeprefix("class ") for name, value in settings.items()}
    return {
        name: int(value) if name.endswith("_ms") and value.isascii() and value.isdigit() else value
        for name, value in plain.items()
        if value.lower() not in (*_UNSET, _DEFAULTS.get(name, "").lower())
    }


def warnings_of(settings: Mapping[str, str], snapshot: Snapshot) -> tuple[Note, ...]:
    """Return a warning for each of an application's settings that decides otherwise than a plan of ``snapshot``.

    ``settings`` has values by the names of :data:`DECIDING_SETTINGS`.
    """
    if snapshot.group_protocol == "connect":
        return ()
    values = {name: value.strip() for name, value in settings.items() if value.strip().lower() not in _UNSET}
    of_kind = _of_classic_group(values, snapshot) if _is_classic(snapshot) else _of_streams_group(values)
    return (*_of_protocol(values, snapshot), *of_kind)


def without_follower(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the warning of the class that follows target files: plans with one go by it."""
    return replace(snapshot, warnings=tuple(note for note in snapshot.warnings if note.code != FOLLOWS_TARGET_FILES))


def with_release_warned_of(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with a warning if its release decides otherwise than a plan, or may; with no other of that.

    In a streams group the brokers decide.
    """
    notes_of_others = tuple(note for note in snapshot.warnings if note.code != RELEASE_NOT_MODELLED)
    message = _of_release(snapshot)
    notes = () if message is None else (Note(RELEASE_NOT_MODELLED, message),)
    return replace(snapshot, warnings=(*notes, *notes_of_others))


def _of_release(snapshot: Snapshot) -> str | None:
    release, connect = snapshot.streams_version, snapshot.group_protocol == "connect"
    if release is None or snapshot.group_protocol == "streams":
        return None
    oldest, newest = MODELLED_CONNECT if connect else MODELLED_STREAMS
    numbers = numbers_of(release)[:2]
    if not oldest <= numbers <= newest:
        says = f"older releases, as {release} is, decide otherwise"
        says = says if numbers < oldest else f"whether {release} does is unknown"
        return f"Plans go by what Kafka {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]} decide; {says}"
    racked = not connect and snapshot.config.rack_aware_assignment_strategy != "none"
    if racked and RACKS.is_in(release) and not RACK_CYCLES.is_in(release):
        return f"Plans go by racks of partitions as Kafka 3.7 to 4.4 do; {release} at times decides otherwise"
    return None


def newer_unread(place: str) -> Note:
    """Return the warning that a rebalance, which begins at ``place``, came after a snapshot and is not whole."""
    message = (
        f"a rebalance after the newest one that can be read begins at {place}, and is not whole: what runs where now "
        "is unknown; a snapshot from more of the log, and the logs of all instances, tells"
    )
    return Note(NEWER_UNREAD, message, (place,))


def _is_classic(snapshot: Snapshot) -> bool:
    return snapshot.group_protocol != "streams"


def _of_protocol(values: Mapping[str, str], snapshot: Snapshot) -> Iterator[Note]:
    protocol = values.get("group_protocol", snapshot.group_protocol).lower()
    if (protocol == "streams") is _is_classic(snapshot):
        snapshot_protocol = "classic" if _is_classic(snapshot) else "streams"
        yield Note(_NOT_MODELLED, f"group.protocol is {protocol}, and the snapshot is of a {snapshot_protocol} group")


def _of_streams_group(values: Mapping[str, str]) -> Iterator[Note]:
    if (name := values.get("streams_assignor_name", _STICKY)) != _STICKY:
        message = f"streams.assignor.name is {name}: it assigns tasks, not {_STICKY}, which the plan goes by"
        yield Note(_NOT_MODELLED, message)


def _of_classic_group(values: Mapping[str, str], snapshot: Snapshot) -> Iterator[Note]:
    for name in ("task.assignor.class", "internal.task.assignor.class"):
        value = values.get(name.replace(".", "_"))
        if value is not None and value != _ASSIGNOR_CLASS:
            message = f"{name} is {value}: it assigns tasks, not Kafka's {_ASSIGNOR}, which the plan goes by"
            yield Note(FOLLOWS_TARGET_FILES if value == _FOLLOWER_CLASS else _NOT_MODELLED, message)
    if (release := values.get("upgrade_from")) is not None:
        message = f"upgrade.from is {release}: until it is taken out, members rebalance as {release}, not as planned"
        yield Note(_NOT_MODELLED, message)
    if values.get("internal_leave_group_on_close", "").lower() == "true":
        message = (
            "internal.leave.group.on.close is true: an instance that closes leaves at once, which is planned only "
            "where it is said (drain --leave, a scenario's event leave)"
        )
        yield Note(LEAVES_ON_CLOSE, message)
    if "group_instance_id" in values and not all(instance.is_static for instance in snapshot.state.group.instances):
        message = (
            "group.instance.id is set, and the snapshot has members without one: static members that are back before "
            "session.timeout.ms start no rebalance, which the plan does not know"
        )
        yield Note("static-by-settings", message)
    if values.get("max_poll_interval_ms", _DEFAULT_MAX_POLL_INTERVAL_MS) != _DEFAULT_MAX_POLL_INTERVAL_MS:
        message = (
            f"max.poll.interval.ms is {values['max_poll_interval_ms']}: so long a rebalance waits for a member that "
            "does not join; plans have all join in time"
        )
        yield Note("members-join-in-time", message)
