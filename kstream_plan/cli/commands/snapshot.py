"""``snapshot``: a group's own records as snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from kstream_plan.cli.actions.overrides import PerApplication, per_application, settings_in
from kstream_plan.cli.actions.read import check_measuring, measured_rows, measurements, topologies
from kstream_plan.cli.actions.snapshot_connect import (
    connect_entries,
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
)
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options.parameters import option_of, takes
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.cli.output import Sort, bytes_written_at_once, check_target, warn, write_stderr, write_stdout
from kstream_plan.cli.pages import draw_pages, with_snapshot
from kstream_plan.cli.progress import show_progress
from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.documents.streams_config import (
    StreamsConfigFile,
    of_another_application,
    of_streams_groups_only,
)
from kstream_plan.errors import SnapshotError, UsageError
from kstream_plan.model import Note
from kstream_plan.model.not_modelled import DECIDING_IN_STREAMS_GROUPS, kept_settings
from kstream_plan.model.note import count, name_list
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.model.times import format_time
from kstream_plan.render.page import Page
from kstream_plan.render.pages.generations import Generation, connect_generations_page, generations_page
from kstream_plan.render.text.numbers import generation
from kstream_plan.snapshots.broker.given_names import with_names
from kstream_plan.snapshots.broker.streams_rows import without_effect
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file, standard_input, text_in
from kstream_plan.snapshots.files.kinds import naming_its_file
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.group_files import GroupFile
from kstream_plan.snapshots.leader_log.history import Entry, LogHistory, checked_rows, read_leader_logs
from kstream_plan.snapshots.leader_log.notes import notes_about, notes_about_logs
from kstream_plan.snapshots.rows.fields import printable, shown, time_asked_for
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from kstream_plan.snapshots.rows.write import check_ending, file_bytes, row_lines


@takes(SnapshotOptions)
def snapshot(options: SnapshotOptions) -> None:
    """Make snapshots of a group: from its leader's log, or of the running group and its broker's own records."""
    with expected_failures(debug=options.debug):
        if is_about_connect(options):
            _of_connect(options)
            return
        if options.describe_text:
            _of_text(options)
            return
        groups = _checked_source(options)
        in_range = _in_range(options)
        if groups is not None:
            _of_groups(groups, options, in_range)
            return
        with show_progress(quiet=options.quiet) as progress:
            progress("reading the logs")
            as_of_ms, settings = _time(options.as_of, "--as-of"), _settings(options)
            measures, configs = measurements(options, as_of_ms), settings.map(_row_config)
            history = _read(options, configs)
        entries = [entry.cut_off(as_of_ms) for entry in _select(history.entries, options, in_range)]
        notes = notes_about_logs(history, entries) if options.listed else notes_about(history, entries)
        _warn(notes if options.streams_config is None else _notes_beside_config(notes, history, entries, configs))
        if options.listed:
            write_stdout(_list(generations_page([_generation(entry) for entry in entries]), options))
            return
        rows = checked_rows(entries)
        _deliver(_with_stores(measured_rows((row, measures) for row in rows), settings), options.out)


def _checked_source(options: SnapshotOptions) -> RunningGroups | None:
    """Check what does not need the input; return the groups to ask the cluster for, ``None`` where logs are read."""
    groups = running_groups_of(options)
    if options.as_of is not None and options.wants_history:
        raise UsageError("--as-of is about one snapshot, --from, --to and --all are about many", fix="give one of them")
    if options.metrics and (options.listed or options.wants_history):
        raise UsageError(
            "--metrics has current lags, and a history is about the past",
            fix="leave out --metrics, or take one snapshot",
        )
    logs = options.leader_log
    check_measuring(options, reads_stdin=STDIN in logs, other_options=logs)
    _check_out(options)
    return groups


def _list(page: Page, options: SnapshotOptions) -> str:
    return draw_pages([with_snapshot(page, options.option_words, options.group_paths or ())])


def _check_out(options: SnapshotOptions) -> None:
    if options.out is not None:
        if options.listed:
            raise UsageError("--list shows what there is", fix="leave out --out, or --list")
        check_ending(options.out.name)
        check_target(options.out, sort=Sort.SNAPSHOT)


def _of_connect(options: SnapshotOptions) -> None:
    """Make rows of what workers of Kafka Connect have logged, or say by their REST interface."""
    _check_out(options)
    if not options.connect_log:
        _deliver(rest_rows(options), options.out)
        return
    with show_progress(quiet=options.quiet) as progress:
        progress("reading the logs")
        entries = connect_entries(options, _in_range(options))
    if options.listed:
        write_stdout(_list(connect_generations_page(entries), options))
    else:
        _deliver(connect_rows(entries, all_of_them=not options.wants_history), options.out)


def _of_text(options: SnapshotOptions) -> None:
    """Make a row of what Kafka's own tool printed of streams groups."""
    from kstream_plan.snapshots.broker.describe_text import rows_from_text  # noqa: PLC0415 - not for logs

    paths = options.describe_text
    names = ("bootstrap_server", "listed")
    if other_names := [name for name in names if getattr(options.command_line, name)]:
        message = f"{option_of(other_names[0])} does not go with {GroupFile.DESCRIBE_TEXT.text}"
        raise UsageError(message, fix="give one source")
    if options.broker_version is None:
        message = f"{GroupFile.DESCRIBE_TEXT.text} does not tell the release of the brokers"
        raise UsageError(message, fix=f"give --set broker.version, one of {', '.join(BROKER_VERSIONS)}")
    check_broker_version(options.broker_version)
    _check_out(options)
    files, topologies_by_id = (
        per_application(options.streams_config, "--streams-config", _group_settings_in),
        topologies(options),
    )
    with naming_its_file("a table of kafka-streams-groups.sh", "a table of kafka-consumer-groups.sh", among=paths):
        texts = [(path, _text(path)) for path in paths]
        rows = rows_from_text(texts, options.broker_version, topologies_by_id.value_for, files.value_for)
    selection = Selection(tuple(options.application_id or ()))
    rows_in_selection = [row for row in rows if selection.wants(row.row["application_id"])]
    if not rows_in_selection:
        ids = ", ".join(shown(row.row["application_id"]) for row in rows)
        raise SnapshotError("no group of the text is asked for", fix=f"it holds {ids}")
    for row in rows_in_selection:
        snapshot_from_row(row.row, ", ".join(paths))
        _warn(row.notes)
    _deliver([row.row for row in rows_in_selection], options.out)


def _text(path: str) -> str:
    try:
        return text_in(standard_input() if path == STDIN else read_file(path, SETTINGS_BYTES))
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SnapshotError(problem, where=path, fix="check the file") from None


def _group_settings_in(path: Path) -> Mapping[str, Any]:
    file = settings_in(path)
    _warn(without_effect(tuple(file.overrides)))
    deciding = kept_settings(file.deciding)
    return {**file.group, **{name: deciding[name] for name in DECIDING_IN_STREAMS_GROUPS if name in deciding}}


def _of_groups(groups: RunningGroups, options: SnapshotOptions, in_range: Callable[[int], bool]) -> None:
    """Ask the cluster instead of logs: one answer for each group; one that has none ends in exit code 1."""
    if options.listed:
        with show_progress(quiet=options.quiet) as progress:
            progress("reading the groups' records")
            lines, errors = each_group(
                groups, options, lambda cluster, group_id: list_group(cluster, group_id, in_range)
            )
        report_all(errors, debug=options.debug)
        page = generations_page([generation for generations in lines for generation in generations])
        write_stdout(_list(page, options))
    else:
        settings, measures = _settings(options), measurements(options, _time(options.as_of, "--as-of"))
        files = GroupFiles(settings.map(_row_config), settings, topologies(options), measures)
        files.check(groups)
        with show_progress(quiet=options.quiet) as progress:
            progress("asking the cluster")
            outcomes, errors = each_group(
                groups, options, lambda cluster, group_id: take_group(cluster, group_id, options, files, in_range)
            )
        report_all(errors, debug=options.debug)
        _deliver_groups(outcomes, options, settings, is_plural=groups.are_several)
    if errors:
        raise typer.Exit(ExitCode.FAILED)


def _deliver_groups(
    outcomes: Sequence[GroupSnapshots],
    options: SnapshotOptions,
    settings: PerApplication[StreamsConfigFile],
    *,
    is_plural: bool,
) -> None:
    names = {} if options.names is None else load_instance_names(options.names)
    for outcome in outcomes:
        _warn(
            [
                note._replace(message=f"{outcome.group_id}: {note.message}") if is_plural else note
                for note in outcome.history.notes
            ]
        )
    rows = measured_rows((row, outcome.measures) for outcome in outcomes for row in outcome.history.rows)
    rows_with_names, notes = with_names(_with_stores(rows, settings), names)
    _warn(notes)
    if rows_with_names:
        _deliver(rows_with_names, options.out)


def _in_range(options: SnapshotOptions) -> Callable[[int], bool]:
    """Return the test whether a time, since 1970, is in the range that is asked for."""
    first, last = _time(options.from_time, "--from"), _time(options.to_time, "--to")
    last = _time(options.as_of, "--as-of") if last is None else last
    return lambda at_ms: (first is None or first <= at_ms) and (last is None or at_ms <= last)


def _read(options: SnapshotOptions, configs: PerApplication[Mapping[str, Any]]) -> LogHistory:
    names = None if options.names is None else load_instance_names(options.names)
    with naming_its_file("a log"):
        return read_leader_logs(
            options.leader_log,
            application_id=only_application(options.application_id),
            config=lambda application_id: configs.value_for(application_id) or {},
            names=names,
            dates=options.log_dates,
        )


def _settings(options: SnapshotOptions) -> PerApplication[StreamsConfigFile]:
    return per_application(options.streams_config, "--streams-config", _settings_in)


def _notes_beside_config(
    notes: Sequence[Note], history: LogHistory, entries: Sequence[Entry], configs: PerApplication[Mapping[str, Any]]
) -> list[Note]:
    """Return what is not known where settings are given: those of some applications may not be among them."""
    configs.check_used({entry.application_id for entry in history.entries})
    absent_ids = sorted({entry.application_id for entry in entries if configs.value_for(entry.application_id) is None})
    ids = [
        Note("no-config", f"--streams-config holds nothing for {printable(name)}: Kafka's defaults will count")
        for name in absent_ids
    ]
    return [*(note for note in notes if note.code != "no-config"), *ids]


def _settings_in(path: Path) -> StreamsConfigFile:
    file = settings_in(path)
    if not file.overrides and not file.group and not file.deciding:
        write_stderr(f"warning: {path} sets nothing that the assignor goes by: Kafka's defaults will count")
    return file


def _row_config(file: StreamsConfigFile) -> Mapping[str, Any]:
    """Return a row's ``config`` as an application's file has it."""
    _warn(of_streams_groups_only(file.group))
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in file.overrides.items()}
    return {**values, **kept_settings(file.deciding)}


def _with_stores(
    rows: Sequence[Mapping[str, Any]], settings: PerApplication[StreamsConfigFile]
) -> list[Mapping[str, Any]]:
    """Return the rows with where stores are, as the application's settings say; what was measured stays."""
    files = {row["application_id"]: settings.value_for(row["application_id"]) for row in rows}
    for application_id, file in files.items():
        _warn(() if file is None else of_another_application(file, application_id))
    place_by_id = {application_id: None if file is None else file.stores for application_id, file in files.items()}
    return [
        row if place_by_id[row["application_id"]] is None else {"stores": place_by_id[row["application_id"]], **row}
        for row in rows
    ]


def _warn(notes: Sequence[Note]) -> None:
    warn(note.message for note in notes)


def _select(entries: Sequence[Entry], options: SnapshotOptions, in_range: Callable[[int], bool]) -> list[Entry]:
    """Return the generations that are asked for: in a range of time, or else the newest of every application."""
    selection = Selection(tuple(options.application_id or ()))
    entries_in_selection = [
        entry
        for entry in entries
        if selection.wants(entry.application_id) and (entry.at_ms is None or in_range(entry.at_ms))
    ]
    if not entries_in_selection:
        raise _nothing_selected(entries, selection)
    if options.listed or options.wants_history:
        return entries_in_selection
    newest = {entry.application_id: entry for entry in entries_in_selection}
    return [newest[application_id] for application_id in sorted(newest)]


def _time(text: str | None, option: str) -> int | None:
    return None if text is None else time_asked_for(text, option) // 1000


def _nothing_selected(entries: Sequence[Entry], selection: Selection) -> SnapshotError:
    applications = list(dict.fromkeys(entry.application_id for entry in entries))
    if not any(map(selection.wants, applications)):
        message = f"no application matches {shown(selection.application_ids[0])}"
        return SnapshotError(message, fix=f"the logs hold {', '.join(map(shown, applications))}")
    times = [entry.at_ms for entry in entries if entry.at_ms is not None]
    message = f"no generation is in that time; the logs hold {format_time(min(times))} to {format_time(max(times))}"
    return SnapshotError(message, fix="choose another time, or look at --list")


def _generation(entry: Entry) -> Generation:
    instances = entry.row["instances"]
    return Generation(
        entry.application_id,
        entry.row.get("captured_at"),
        entry.decision.get("generation"),
        entry.decision["trigger"],
        len(instances),
        sum(len(instance["consumers"]) for instance in instances),
        entry.moved_tasks,
        entry.withheld_tasks,
        entry.decision["probing_rebalance"],
        entry.decision.get("plan") or entry.decision.get("without_plan"),
    )


def _deliver(rows: Sequence[Mapping[str, Any]], out_file: Path | None) -> None:
    if out_file is None:
        write_stdout("".join(row_lines(rows)))
        return
    with bytes_written_at_once(out_file) as file:
        file.write(file_bytes(rows, out_file.name))
    write_stderr(f"wrote {_rows_text(rows)} to {out_file}")


def _rows_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what was written: one snapshot with its sizes, or how many of which applications."""
    names = list(dict.fromkeys(printable(row["application_id"]) for row in rows))
    if len(rows) != 1:
        return f"{count(len(rows), 'snapshot')} of {name_list(names)}"
    (row,) = rows
    number = (row.get("decision") or {}).get("generation") or row.get("generation")
    numbers = {noun: len(row.get(f"{noun}s") or ()) for noun in ("instance", "connector", "task")}
    if row.get("group_protocol") == "connect":
        numbers["task"] = sum(connector["task_count"] for connector in row["connectors"])
        numbers = {"worker": numbers.pop("instance"), **numbers}
    else:
        del numbers["connector"]
    sizes = ", ".join(count(number, noun) for noun, number in numbers.items())
    return f"{names[0]}{f', {generation(number)}' if number else ''} ({sizes})"
