"""What a log cannot tell of the generations that were asked for, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Note
from kstream_plan.model.not_modelled import NEWER_UNREAD, warnings_of
from kstream_plan.model.settings import NO_CONFIG
from kstream_plan.snapshots.leader_log.history import Entry, LogHistory
from kstream_plan.snapshots.leader_log.naming import notes_on_unused_names
from kstream_plan.snapshots.rows.fields import printable
from kstream_plan.snapshots.rows.history import lost_state_notes
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: What Kafka logs of every application, and counts where it is not set.
_DEFAULTS = {
    "acceptable_recovery_lag": "acceptable.recovery.lag 10000",
    "max_warmup_replicas": "max.warmup.replicas 2",
    "num_standby_replicas": "num.standby.replicas 0",
    "probing_rebalance_interval_ms": "probing every 10m",
}
_NO_CONFIG = "the log does not contain the configuration"
_PART_OF_CONFIG = "the log does not contain a part of the configuration"


def notes_about(history: LogHistory, entries: Sequence[Entry]) -> list[Note]:
    """Return one warning for each thing that is not known of ``entries``, with its cost and the cure."""
    notes = [*_about_times(entries), *_about_groups(entries), *_about_copies(entries)]
    of_entries = dict.fromkeys(note for entry in entries for note in entry.notes if note.code != NEWER_UNREAD)
    other_notes = [*notes_about_logs(history, entries), *of_entries, *(note for note in notes if note is not None)]
    deciding = [note for entry in entries[-1:] for note in _about_deciding(entry)]
    return [*other_notes, *deciding, *lost_state_notes([entry.row for entry in entries])]


def notes_about_logs(history: LogHistory, entries: Sequence[Entry]) -> list[Note]:
    """Return one warning for what of the logs does not count, or came after ``entries``, and for odd names."""
    places = tuple(map(str, history.incomplete))
    newest = {entry.application_id: entry for entry in entries}
    notes = [note for entry in newest.values() for note in entry.notes if note.code == NEWER_UNREAD]
    if places:
        message = (
            f"{_count_of(len(places), 'rebalance')} in the logs left out, because incomplete or not by the "
            f"HighAvailabilityTaskAssignor; the first begins at {places[0]}"
        )
        notes.append(Note("incomplete-generation", message, places))
    if history.unread:
        place, reason = history.unread[0]
        message = (
            f"{_count_of(len(history.unread), 'message')} of the assignor cannot be read and left out, as if the log "
            f"had a gap; the first is at {place}: {printable(reason)}"
        )
        notes.append(Note("unread-message", message, tuple(str(place) for place, _ in history.unread)))
    return [*notes, *notes_on_unused_names(history.unused_names)]


def _about_times(entries: Sequence[Entry]) -> list[Note | None]:
    has_undated = any(entry.at_ms is None for entry in entries)
    return [
        Note(
            "no-times",
            "the log has no times with a date: snapshots have no time, and count as the oldest. kubectl logs "
            "--timestamps adds them",
        )
        if has_undated
        else None,
        Note("no-time-zone", "the log's times name no zone, UTC is assumed: --as-of may be hours off")
        if not has_undated and not all(entry.zoned for entry in entries)
        else None,
    ]


def _about_groups(entries: Sequence[Entry]) -> list[Note | None]:
    instances = [instance for entry in entries for instance in entry.row["instances"]]
    nameless = tuple(sorted({instance["process_id"] for instance in instances if "host" not in instance}))
    config = entries[-1].row["config"] if entries else {}
    has_file = entries[-1].has_file if entries else False
    absent = [text for name, text in _DEFAULTS.items() if name not in config and not has_file]
    return [
        Note(
            NO_CONFIG,
            f"{_NO_CONFIG if len(absent) == len(_DEFAULTS) else _PART_OF_CONFIG}: Kafka's defaults are assumed "
            f"({', '.join(absent)}), and with other settings the plan is wrong. Give --streams-config",
        )
        if absent
        else None,
        Note("no-generation", "no generation numbers: they are counted from 1")
        if any("generation" not in entry.row for entry in entries)
        else None,
        Note(
            "no-hosts",
            f"{_count_of(len(nameless), 'instance')} without a host: shown by process id. Give --set names=FILE",
            nameless,
        )
        if nameless
        else None,
        Note("no-racks", "the log does not contain the racks of partitions: the rack-aware strategy cannot be planned")
        if config.get("rack_aware_assignment_strategy", "none") != "none"
        else None,
    ]


def _about_copies(entries: Sequence[Entry]) -> list[Note | None]:
    unknown = {
        task["task_id"]: None
        for entry in entries
        for task in entry.row["tasks"]
        if task["stateful"] and "end_offset_sum" not in task
    }
    guessed = any(not entry.follows and any(lag["lag"] >= 0 for lag in entry.row["lags"]) for entry in entries)
    return [
        Note(
            "no-end-offsets",
            f"the end offsets of {_count_of(len(unknown), 'task')} are unknown, because only the owner holds it: how "
            "much a move restores is unknown",
            tuple(unknown),
        )
        if unknown
        else None,
        Note(
            "no-generation-before",
            "the generation before the first one is not in the logs: left-over state is assumed to be assigned "
            "standbys",
        )
        if guessed
        else None,
    ]


def _about_deciding(entry: Entry) -> list[Note]:
    """Warn of settings in the log that decide otherwise than a plan."""
    if not entry.deciding:
        return []
    return list(warnings_of(entry.deciding, snapshot_from_row(entry.row, str(entry.place))))


def _count_of(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
