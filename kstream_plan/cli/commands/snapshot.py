"""``snapshot``: a group's own records as snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from kstream_plan.cli.actions.measure import check_measuring, measured_rows, measurements, topologies
from kstream_plan.cli.actions.per_application import PerApplication, per_application
from kstream_plan.cli.actions.snapshot_connect import (
    connect_entries,
    connect_line,
    connect_rows,
    is_about_connect,
    only_application,
    rest_rows,
)
from kstream_plan.cli.actions.snapshot_group import (
    GroupFiles,
    GroupSnapshots,
    RunningGroups,
    check_broker_version,
    each_group,
    list_group,
    running_groups_of,
    take_group,
    with_names,
)
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures, report
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.cli.output import bytes_written_at_once, check_target, say, talk
from kstream_plan.cli.progress import progress
from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.errors import KstreamPlanError, SnapshotError, UsageError
from kstream_plan.model import Note
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.model.times import format_time
from kstream_plan.render.generations import HistoryLine, connect_history, history
from kstream_plan.snapshots.broker.describe_text import rows_from_text
from kstream_plan.snapshots.broker.streams_rows import without_effect
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file
from kstream_plan.snapshots.files.selection import Selection
from kstream_plan.snapshots.leader_log.history import Entry, LogHistory, checked_rows, read_leader_logs
from kstream_plan.snapshots.leader_log.notes import notes_about, notes_about_logs
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from kstream_plan.snapshots.rows.times import time_asked_for
from kstream_plan.snapshots.rows.write import check_ending, file_bytes, row_lines


@takes(SnapshotOptions)
def snapshot(asked: SnapshotOptions) -> None:
    """Make snapshots of a group: from its leader's log, or of the running group and its broker's own records."""
    with expected_failures(debug=asked.debug):
        if is_about_connect(asked):
            _of_connect(asked)
            return
        if asked.describe_text:
            _of_text(asked)
            return
        groups = _checked_source(asked)
        in_range = _in_range(asked)
        if groups is not None:
            _of_groups(groups, asked, in_range)
            return
        with progress() as tell:
            tell("reading the logs")
            measured, configs = measurements(asked, _now_ms(asked)), _configs(asked)
            found = _read(asked, configs)
        wanted = _selected(found.entries, asked, in_range)
        notes = notes_about_logs(found) if asked.listed else notes_about(found, wanted)
        _warn(notes if asked.streams_config is None else _notes_beside_config(notes, found, wanted, configs))
        if asked.listed:
            say(history([_line(entry) for entry in wanted]))
            return
        rows = [_until(row, asked.as_of) for row in checked_rows(wanted)]
        _deliver(measured_rows((row, measured) for row in rows), asked.out)


def _checked_source(asked: SnapshotOptions) -> RunningGroups | None:
    """Check what does not need the input; return the groups to ask the cluster for, ``None`` where logs are read.

    Raises:
        UsageError: no source, or options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    groups = running_groups_of(asked)
    if asked.as_of is not None and asked.wants_history:
        raise UsageError("--as-of is about one snapshot, --from, --to and --all are about many", fix="give one of them")
    if (asked.metrics or asked.store_lags) and (asked.listed or asked.wants_history):
        raise UsageError(
            "--metrics has current lags, and a history is about the past",
            fix="leave out --metrics, or take one snapshot",
        )
    logs = [*(asked.leader_log or ()), *(asked.more_logs or ())]
    check_measuring(asked, reads_stdin="-" in logs, others=logs)
    _check_out(asked)
    return groups


def _check_out(asked: SnapshotOptions) -> None:
    if asked.out is not None:
        if asked.listed:
            raise UsageError("--list shows what there is", fix="leave out --out, or --list")
        check_ending(asked.out.name)
        check_target(asked.out, snapshots=True)


def _of_connect(asked: SnapshotOptions) -> None:
    """Make rows of what workers of Kafka Connect have logged, or say by their REST interface."""
    _check_out(asked)
    if not asked.connect_log:
        _deliver(rest_rows(asked), asked.out)
        return
    with progress() as tell:
        tell("reading the logs")
        entries = connect_entries(asked, _in_range(asked))
    if asked.listed:
        say(connect_history([connect_line(entry) for entry in entries]))
    else:
        _deliver(connect_rows(entries, all_of_them=not asked.wants_history), asked.out)


def _of_text(asked: SnapshotOptions) -> None:
    """Make a row of what Kafka's own tool printed of streams groups.

    Raises:
        KstreamPlanError: options that do not go together, or what is given cannot be read.
    """
    paths = [*(asked.describe_text or ()), *(asked.more_logs or ())]
    others = {"--leader-log": asked.leader_log, "--bootstrap-server": asked.bootstrap_server, "--list": asked.listed}
    other = next((option for option, given in others.items() if given), None)
    if other is not None:
        raise UsageError(f"{other} does not go with --describe-text", fix="give one source")
    if asked.broker_version is None:
        what = "--describe-text does not tell the release of the brokers"
        raise UsageError(what, fix=f"give --broker-version, one of {', '.join(BROKER_VERSIONS)}")
    check_broker_version(asked.broker_version)
    _check_out(asked)
    files, known = per_application(asked.streams_config, "--streams-config", _group_settings_in), topologies(asked)
    rows = rows_from_text([(path, _text(path)) for path in paths], asked.broker_version, known.of, files.of)
    wanted = Selection(tuple(asked.application_id or ()))
    chosen = [one for one in rows if wanted.wants(one.row["application_id"])]
    if not chosen:
        found = ", ".join(shown(one.row["application_id"]) for one in rows)
        raise SnapshotError("no group of the text is asked for", fix=f"it holds {found}")
    for one in chosen:
        snapshot_from_row(one.row, ", ".join(paths))
        _warn(one.notes)
    _deliver([one.row for one in chosen], asked.out)


def _text(path: str) -> str:
    try:
        return read_file(Path(path), SETTINGS_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8"
        raise SnapshotError(f"cannot be read: {reason}", where=path, fix="check --describe-text") from None


def _group_settings_in(path: Path) -> Mapping[str, Any]:
    file = load_streams_config(path)
    for warning in file.warnings:
        talk(f"warning: {warning}")
    _warn(without_effect(tuple(file.overrides)))
    return file.group


def _of_groups(groups: RunningGroups, asked: SnapshotOptions, in_range: Callable[[int], bool]) -> None:
    """Ask the cluster instead of logs: one answer for each group; one that has none ends in exit code 1."""
    if asked.listed:
        with progress() as tell:
            tell("reading the groups' records")
            listed, errors = each_group(groups, asked, lambda cluster, of: list_group(cluster, of, in_range))
        _report(errors, asked)
        say(history([line for lines in listed for line in lines]))
    else:
        settings = per_application(asked.streams_config, "--streams-config", load_streams_config)
        files = GroupFiles(_configs(asked), settings, topologies(asked), measurements(asked, _now_ms(asked)))
        files.check(groups)
        with progress() as tell:
            tell("asking the cluster")
            found, errors = each_group(
                groups, asked, lambda cluster, of: take_group(cluster, of, asked, files, in_range)
            )
        _report(errors, asked)
        _deliver_groups(found, asked, several=groups.several)
    if errors:
        raise typer.Exit(ExitCode.FAILED)


def _report(errors: Sequence[KstreamPlanError], asked: SnapshotOptions) -> None:
    for error in errors:
        report(error, debug=asked.debug)


def _deliver_groups(found: Sequence[GroupSnapshots], asked: SnapshotOptions, *, several: bool) -> None:
    names = {} if asked.names is None else load_instance_names(asked.names)
    for of in found:
        _warn([note._replace(message=f"{of.group_id}: {note.message}") if several else note for note in of.taken.notes])
    rows = measured_rows((row, of.measured) for of in found for row in of.taken.rows)
    named, unused = with_names(rows, names)
    _warn(unused)
    if named:
        _deliver(named, asked.out)


def _in_range(asked: SnapshotOptions) -> Callable[[int], bool]:
    """Return the test whether a time, since 1970, is in the range that is asked for.

    Raises:
        UsageError: a time cannot be read.
    """
    first, last = _time(asked.from_time, "--from"), _time(asked.to_time, "--to")
    last = _time(asked.as_of, "--as-of") if last is None else last
    return lambda at_ms: (first is None or first <= at_ms) and (last is None or at_ms <= last)


def _read(asked: SnapshotOptions, configs: PerApplication[Mapping[str, Any]]) -> LogHistory:
    return read_leader_logs(
        [*(asked.leader_log or ()), *(asked.more_logs or ())],
        application_id=only_application(asked.application_id),
        config=lambda application_id: configs.of(application_id) or {},
        names=None if asked.names is None else load_instance_names(asked.names),
    )


def _configs(asked: SnapshotOptions) -> PerApplication[Mapping[str, Any]]:
    return per_application(asked.streams_config, "--streams-config", _settings_in)


def _notes_beside_config(
    notes: Sequence[Note], found: LogHistory, wanted: Sequence[Entry], configs: PerApplication[Mapping[str, Any]]
) -> list[Note]:
    """Return what is not known where settings are given: those of some applications may not be among them."""
    configs.check_used({entry.application_id for entry in found.entries})
    missing = sorted({entry.application_id for entry in wanted if configs.of(entry.application_id) is None})
    without = [
        Note("no-config", f"--streams-config holds nothing for {printable(name)}: Kafka's defaults will count")
        for name in missing
    ]
    return [*(note for note in notes if note.code != "no-config"), *without]


def _settings_in(path: Path) -> Mapping[str, Any]:
    file = load_streams_config(path)
    for warning in file.warnings:
        talk(f"warning: {warning}")
    if not file.overrides and not file.group:
        talk(f"warning: {path} sets nothing that the assignor goes by: Kafka's defaults will count")
    return {name: list(value) if isinstance(value, tuple) else value for name, value in file.overrides.items()}


def _warn(notes: Sequence[Note]) -> None:
    for note in notes:
        talk(f"warning: {note.message}")


def _selected(entries: Sequence[Entry], asked: SnapshotOptions, in_range: Callable[[int], bool]) -> list[Entry]:
    """Return the generations that are asked for: in a range of time, or else the newest of every application.

    Raises:
        SnapshotError: there is none.
    """
    wanted = Selection(tuple(asked.application_id or ()))
    chosen = [
        entry
        for entry in entries
        if wanted.wants(entry.application_id) and (entry.at_ms is None or in_range(entry.at_ms))
    ]
    if not chosen:
        raise _nothing_selected(entries, wanted)
    if asked.listed or asked.wants_history:
        return chosen
    newest = {entry.application_id: entry for entry in chosen}
    return [newest[application_id] for application_id in sorted(newest)]


def _time(text: str | None, option: str) -> int | None:
    return None if text is None else time_asked_for(text, option) // 1000


def _now_ms(asked: SnapshotOptions) -> int | None:
    return None if asked.as_of is None else time_asked_for(asked.as_of, "--as-of") // 1000


def _until(row: Mapping[str, Any], as_of: str | None) -> Mapping[str, Any]:
    """Return the row of a group as it was at a time: until then its newest decision was the last."""
    if as_of is None or row.get("captured_at") is None:
        return row
    return {**row, "known_until": format_time(time_asked_for(as_of, "--as-of") // 1000)}


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
