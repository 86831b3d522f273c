"""``snapshot``: a group's own records as snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kstream_plan.cli.actions import snapshot_group
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options.groups import Given, takes
from kstream_plan.cli.output import bytes_written_at_once, check_target, say, talk
from kstream_plan.cli.progress import progress
from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Note
from kstream_plan.render.generations import HistoryLine, history
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.leader_log.history import Entry, LogHistory, checked_rows, read_leader_logs
from kstream_plan.snapshots.leader_log.notes import notes_about, notes_about_logs
from kstream_plan.snapshots.rows.fields import shown
from kstream_plan.snapshots.rows.times import format_time, parse_time
from kstream_plan.snapshots.rows.write import check_ending, file_bytes, row_lines

LeaderLog = Annotated[
    list[str] | None,
    typer.Option(
        "--leader-log",
        metavar="FILE...",
        help="Logs of the application's instances, plain or gzip, in any order; - is standard input.",
    ),
]
MoreLogs = Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="More logs.", show_default=False)]
List = Annotated[bool, typer.Option("--list", help="Show the generations found instead; members: instances (threads).")]
All = Annotated[bool, typer.Option("--all", help="A history: every generation.")]
Names = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE", help="Hosts and racks by process id, client id or host: YAML or JSON."),
]
FromTime = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="A history of the generations from this time on.")
]
ToTime = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="A history of the generations up to this time.")
]


class Options:
    """What only this command is asked."""

    more_logs: MoreLogs = None
    leader_log: LeaderLog = None
    listed: List = False
    as_of: options.AsOf = None
    from_time: FromTime = None
    to_time: ToTime = None
    everything: All = False
    application_id: options.ApplicationId = None
    streams_config: options.StreamsConfig = None
    names: Names = None
    bootstrap_server: snapshot_group.BootstrapServer = None
    group: snapshot_group.Group = None
    command_config: snapshot_group.CommandConfig = None
    topology: snapshot_group.TopologyText = None
    offsets_topic: snapshot_group.OffsetsTopic = False
    out: options.Out = None
    debug: options.Debug = False


@takes(Options)
def snapshot(given: Given) -> None:
    """Make snapshots of a group: from its leader's log, or of the running group and its broker's own records."""
    with expected_failures(debug=given["debug"]):
        _check(given)
        in_range = _in_range(given)
        if given["bootstrap_server"] is not None:
            _of_group(given, in_range)
            return
        with progress() as tell:
            tell("reading the logs")
            found = _read(given)
        wanted = _selected(found.entries, given, in_range)
        _warn(notes_about_logs(found) if given["listed"] else notes_about(found, wanted), given)
        if given["listed"]:
            say(history([_line(entry) for entry in wanted]))
            return
        _deliver(checked_rows(wanted), given["out"])


def _check(given: Mapping[str, Any]) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: no source, or options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    snapshot_group.check_source(given)
    if given["as_of"] is not None and (given["from_time"] or given["to_time"] or given["everything"]):
        raise UsageError("--as-of is about one snapshot, --from, --to and --all are about many", fix="give one of them")
    if given["out"] is not None:
        if given["listed"]:
            raise UsageError("--list shows what there is", fix="leave out --out, or --list")
        check_ending(given["out"].name)
        check_target(given["out"])


def _of_group(given: Mapping[str, Any], in_range: Callable[[int], bool]) -> None:
    """Ask the cluster instead of a log."""
    if given["listed"]:
        with progress() as tell:
            tell("reading the group's records")
            lines = snapshot_group.list_group(given, in_range)
        say(history(lines))
        return
    config = _config(given["streams_config"])
    names = {} if given["names"] is None else load_instance_names(given["names"])
    with progress() as tell:
        tell("asking the cluster")
        taken = snapshot_group.take_group(given, config, names, in_range)
    _warn(taken.notes, given)
    _deliver(taken.rows, given["out"])


def _in_range(given: Mapping[str, Any]) -> Callable[[int], bool]:
    """Return the test whether a time, since 1970, is in the range that is asked for.

    Raises:
        UsageError: a time cannot be read.
    """
    first, last = _time(given["from_time"], "--from"), _time(given["to_time"], "--to")
    last = _time(given["as_of"], "--as-of") if last is None else last
    return lambda at_ms: (first is None or first <= at_ms) and (last is None or at_ms <= last)


def _read(given: Mapping[str, Any]) -> LogHistory:
    return read_leader_logs(
        [*given["leader_log"], *(given["more_logs"] or ())],
        application_id=_only_application(given["application_id"]),
        config=_config(given["streams_config"]),
        names=None if given["names"] is None else load_instance_names(given["names"]),
    )


def _only_application(application_ids: Sequence[str] | None) -> str | None:
    """Return the application that ``--application-id`` names, if it names one, and by no pattern."""
    if not application_ids or len(application_ids) > 1 or any(char in application_ids[0] for char in "*?["):
        return None
    return application_ids[0]


def _config(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    file = load_streams_config(path)
    for warning in file.warnings:
        talk(f"warning: {warning}")
    if not file.overrides:
        talk(f"warning: {path} sets nothing that the assignor goes by: Kafka's defaults will count")
    return {name: list(value) if isinstance(value, tuple) else value for name, value in file.overrides.items()}


def _warn(notes: Sequence[Note], given: Mapping[str, Any]) -> None:
    """Say what is not known; the configuration is if it was given, though it may set nothing."""
    for note in notes:
        if note.code != "no-config" or given["streams_config"] is None:
            talk(f"warning: {note.message}")


def _selected(entries: Sequence[Entry], given: Mapping[str, Any], in_range: Callable[[int], bool]) -> list[Entry]:
    """Return the generations that are asked for: in a range of time, or else the newest of every application.

    Raises:
        SnapshotError: there is none.
    """
    wanted = Selection(tuple(given["application_id"] or ()))
    chosen = [
        entry
        for entry in entries
        if wanted.wants(entry.application_id) and (entry.at_ms is None or in_range(entry.at_ms))
    ]
    if not chosen:
        raise _nothing_selected(entries, wanted)
    if given["listed"] or given["everything"] or given["from_time"] or given["to_time"]:
        return chosen
    newest = {entry.application_id: entry for entry in chosen}
    return [newest[application_id] for application_id in sorted(newest)]


def _time(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(str(error), where=option, fix="write it as 2026-11-21T12:00:00Z") from None


def _nothing_selected(entries: Sequence[Entry], wanted: Selection) -> SnapshotError:
    applications = list(dict.fromkeys(entry.application_id for entry in entries))
    if not any(map(wanted.wants, applications)):
        what = f"no application matches {shown(wanted.application_ids[0])}"
        return SnapshotError(what, fix=f"the logs hold {', '.join(map(shown, applications))}")
    times = [entry.at_ms for entry in entries if entry.at_ms is not None]
    what = f"no generation is in that time; the logs hold {format_time(min(times))} to {format_time(max(times))}"
    return SnapshotError(what, fix="choose another time, or look at --list")


def _line(entry: Entry) -> HistoryLine:
    instances = entry.row["instances"]
    return HistoryLine(
        entry.application_id,
        entry.row.get("captured_at"),
        entry.decision.get("generation"),
        entry.decision["trigger"],
        len(instances),
        sum(len(instance["consumers"]) for instance in instances),
        entry.moved_tasks,
        entry.withheld_tasks,
        entry.decision["probing_rebalance"],
    )


def _deliver(rows: Sequence[Mapping[str, Any]], out: Path | None) -> None:
    if out is None:
        say("".join(row_lines(rows)))
        return
    with bytes_written_at_once(out) as file:
        file.write(file_bytes(rows, out.name))
