"""The part of ``snapshot`` that is about Kafka Connect's workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kstream_plan.cli.actions.per_application import per_application
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.cli.output import talk
from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model.times import format_time
from kstream_plan.render.generations import ConnectLine
from kstream_plan.snapshots.connect_log.history import ConnectEntry, checked_row, read_connect_logs
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.rows.fields import shown

#: What is of Kafka Streams' groups only.
_OF_STREAMS = (
    *("leader_log", "describe_text", "broker_version", "bootstrap_server", "group", "all_groups", "command_config"),
    *("offsets_topic", "streams_config", "names", "topology", "metrics", "end_offsets", "start_offsets", "store_lags"),
)
_OF_CONNECT = ("connect_config", "generation", "now")


def is_about_connect(asked: SnapshotOptions) -> bool:
    """Tell whether workers' logs are to be read.

    Raises:
        UsageError: options that do not go together.
    """
    if not asked.connect_log:
        lonely = next((name for name in _OF_CONNECT if getattr(asked, name) is not None), None)
        if lonely is not None:
            raise UsageError(
                f"{_option(lonely)} goes with --connect-log", fix="give the workers' logs, or leave it out"
            )
        return False
    other = next((name for name in _OF_STREAMS if getattr(asked, name)), None)
    if other is not None:
        raise UsageError(f"{_option(other)} does not go with --connect-log", fix="leave it out")
    if asked.generation is not None and (asked.as_of or asked.wants_history):
        raise UsageError("--generation names one already", fix="leave out --as-of, --from, --to and --all")
    return True


def connect_entries(asked: SnapshotOptions, in_range: Callable[[int], bool]) -> list[ConnectEntry]:
    """Read the logs; return the generations that are asked for, of each group the newest unless more are.

    Raises:
        KstreamPlanError: a log or a configuration cannot be read, or no generation is what is asked for.
    """
    configs = per_application(asked.connect_config, "--connect-config", _settings_in)
    paths = [*(asked.connect_log or ()), *(asked.more_logs or ())]
    entries = read_connect_logs(paths, config=configs.of, now_ms=asked.now)
    configs.check_used({entry.group_id for entry in entries})
    wanted = Selection(tuple(asked.application_id or ()))
    chosen = [entry for entry in entries if wanted.wants(entry.group_id) and _is_meant(entry, asked, in_range)]
    if not chosen:
        raise _nothing_selected(entries, wanted)
    if asked.listed or asked.wants_history:
        return chosen
    return list({entry.group_id: entry for entry in chosen}.values())


def connect_rows(entries: Sequence[ConnectEntry]) -> list[Mapping[str, Any]]:
    """Return the rows of generations, and warn once of each thing that is not known of them.

    Raises:
        SnapshotError: one cannot be planned from.
    """
    rows = [checked_row(entry) for entry in entries]
    for message in dict.fromkeys(note.message for entry in entries for note in entry.notes):
        talk(f"warning: {message}")
    return rows


def connect_line(entry: ConnectEntry) -> ConnectLine:
    """Return a generation as a line of the list."""
    return ConnectLine(
        entry.group_id,
        None if entry.at_ms is None else format_time(entry.at_ms),
        entry.generation,
        entry.leader,
        entry.workers,
        entry.lost,
        entry.given,
        entry.unrun,
        entry.delay_ms,
        entry.problem,
    )


def _is_meant(entry: ConnectEntry, asked: SnapshotOptions, in_range: Callable[[int], bool]) -> bool:
    in_time = entry.at_ms is None or in_range(entry.at_ms)
    return in_time and asked.generation in (None, entry.generation)


def _nothing_selected(entries: Sequence[ConnectEntry], wanted: Selection) -> SnapshotError:
    of = [entry for entry in entries if wanted.wants(entry.group_id)]
    if not of:
        groups = ", ".join(shown(name) for name in dict.fromkeys(entry.group_id for entry in entries))
        return SnapshotError(f"no group matches {shown(wanted.application_ids[0])}", fix=f"the logs hold {groups}")
    what = f"no such generation; the logs hold {of[0].generation} to {of[-1].generation}"
    return SnapshotError(what, fix="choose another one, or look at --list")


def _settings_in(path: Path) -> Mapping[str, Any]:
    file = load_connect_config(path)
    for warning in file.warnings:
        talk(f"warning: {warning}")
    return file.settings


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
