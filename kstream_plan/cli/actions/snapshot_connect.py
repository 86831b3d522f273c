"""The part of ``snapshot`` that is about Kafka Connect's workers."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kstream_plan.cli.actions.overrides import PerApplication, per_application
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.snapshot import SnapshotOptions
from kstream_plan.cli.output import warn, write_stderr
from kstream_plan.documents.connect_config import load_connect_config
from kstream_plan.errors import ClusterError, ConfigError, SnapshotError, UsageError
from kstream_plan.model import Note
from kstream_plan.model.times import format_time
from kstream_plan.render.text.numbers import count
from kstream_plan.snapshots.connect_log.history import ConnectEntry, checked_row, read_connect_logs
from kstream_plan.snapshots.files.content import read_file, standard_input, unpacked
from kstream_plan.snapshots.files.kinds import naming_its_file
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.group_files import GroupFile
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

if TYPE_CHECKING:
    from kstream_plan.cli.options.live import Live
    from kstream_plan.snapshots.connect_rest.ask import Access
    from kstream_plan.snapshots.connect_rest.status import StatusRow

_SOURCES = ("connect_log", "connect_status", "connect_url")
#: What is of Kafka Streams' groups only.
_OF_STREAMS = (
    *("leader_log", "describe_text", "broker_version", "bootstrap_server", "group"),
    *("offsets_topic", "names", "topology", "metrics"),
)
#: What is of some of the sources only.
_OF_LOGS = ("generation", "now", "as_of", "from_time", "to_time", "everything", "listed", "log_dates")
#: The group that REST does not name.
_A_GROUP = "connect"


def is_about_connect(options: SnapshotOptions) -> bool:
    """Tell whether a group of Connect's workers is meant: their logs, or what their REST interface says."""
    sources = [name for name in _SOURCES if getattr(options, name)]
    if not sources:
        names = ("generation", "now")
        lonely = next((name for name in names if getattr(options.command_line, name) is not None), None)
        if lonely is not None:
            options.group_files.check_there()
            fix = "give its log, or leave it out"
            raise UsageError(f"{option_of(lonely)} is about a Connect group", fix=fix)
        return False
    other_options = [*sources[1:], *_OF_STREAMS]
    other_options += [] if sources[0] == "connect_log" else _OF_LOGS
    other_options += [] if sources[0] == "connect_url" else ["command_config"]
    typed = options.command_line  # what a file says of groups of Kafka Streams is not for these
    other_option = next(
        (name for name in other_options if getattr(typed if name in _OF_STREAMS else options, name)), None
    )
    if other_option is not None:
        message = f"{_source_text(other_option)} does not go with {_source_text(sources[0])}"
        raise UsageError(message, fix="leave one of them out")
    if len(options.connect_status) > 1:
        raise UsageError(f"{GroupFile.CONNECT_STATUS.text} is one file", fix="give one, of one worker")
    if options.generation is not None and (options.as_of or options.wants_history):
        raise UsageError("--generation names one already", fix="leave out --as-of, --from, --to and --all")
    return True


def _source_text(name: str) -> str:
    """Return how a source, or an option, is written; of files what they hold."""
    word = name.replace("_", "-")
    return GroupFile(word).text if word in tuple(GroupFile) else option_of(name)


def rest_rows(options: SnapshotOptions) -> list[Mapping[str, Any]]:
    """Return the row of what REST says, asked for or saved, and warn of what it does not say."""
    from kstream_plan.snapshots.connect_rest.status import StatusRow, row_of_status  # noqa: PLC0415 - not for logs

    if options.connect_url:
        status = live_status(options)
    else:
        group_id, config = _group_and_config(options)
        [path] = options.connect_status
        place, content = _source_name(path), _read_file(path)
        with naming_its_file("a status of Kafka Connect", "a resource of Kubernetes"):
            status = row_of_status(content, place, group_id=group_id, captured_at=None, config=config or {})
        status = StatusRow(status.row, (*status.notes, *_without_config(config)))
    snapshot_from_row(status.row, "the row of REST")
    warn(note.message for note in status.notes)
    return [status.row]


def _group_and_config(options: SnapshotOptions | Live) -> tuple[str, Mapping[str, Any] | None]:
    group_id = only_application(options.application_id) or _A_GROUP
    return group_id, _configs(options).value_for(group_id)


def _without_config(config: Mapping[str, Any] | None) -> list[Note]:
    message = (
        "REST does not tell the workers' settings: Kafka's defaults will count "
        "(scheduled.rebalance.max.delay.ms 300000, session.timeout.ms 10000). Give --streams-config"
    )
    return [Note("no-config", message)] if config is None else []


def live_status(options: SnapshotOptions | Live) -> StatusRow:
    """Return what the first interface that answers says, and which of its workers answer themselves.

    Raises:
        UsageError: an address is none.
        ClusterError: no interface answers.
        SnapshotError: what it answers cannot be read.
    """
    from kstream_plan.snapshots.connect_rest.ask import ask_status, checked_url, who_answers  # noqa: PLC0415
    from kstream_plan.snapshots.connect_rest.status import StatusRow, row_of_status, with_answers  # noqa: PLC0415

    (group_id, config), notes = _group_and_config(options), list[Note]()
    addresses, login = [checked_url(url) for url in options.connect_url or ()], _login(options)
    if login.user_info is not None and any(address.scheme == "http" for address in addresses):
        message = "user and password of --command-config are sent over http, which others can read: ask by https"
        notes.append(Note("plain-http", message))
    for address in addresses:
        try:
            content = ask_status(address, login)
        except ClusterError as error:
            if address is addresses[-1]:
                raise
            notes.append(Note("no-answer", f"{error.where} {error.what}: the next --connect-url is asked"))
            continue
        break
    place, captured_at = f"{address.scheme}://{address.netloc}", format_time(time.time_ns() // 1_000_000)
    status = row_of_status(content, place, group_id=group_id, captured_at=captured_at, config=config or {})
    workers = [worker["process_id"] for worker in status.row["instances"]]
    status_with_answers = with_answers(status, who_answers(workers, address.scheme, login.ssl_context))
    return StatusRow(status_with_answers.row, (*notes, *status_with_answers.notes, *_without_config(config)))


def only_application(application_ids: Sequence[str] | None) -> str | None:
    """Return the application that ``--application-id`` names, if it names one, and by no pattern."""
    if not application_ids or len(application_ids) > 1 or any(char in application_ids[0] for char in "*?["):
        return None
    return application_ids[0]


def _login(options: SnapshotOptions | Live) -> Access:
    from kstream_plan.documents.client_properties import load_rest_login  # noqa: PLC0415 - only where it is needed
    from kstream_plan.snapshots.connect_rest.ask import Access  # noqa: PLC0415

    return Access() if options.command_config is None else Access(*load_rest_login(options.command_config))


def _source_name(path: str) -> str:
    return "standard input" if path == STDIN else path


def _read_file(path: str) -> bytes:
    try:
        return unpacked(standard_input() if path == STDIN else read_file(path))
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else f"it is damaged: {error}"
        raise SnapshotError(
            f"cannot be read: {reason}", where=printable(_source_name(path)), fix="check the file"
        ) from None


def connect_entries(options: SnapshotOptions, in_range: Callable[[int], bool]) -> list[ConnectEntry]:
    """Read the logs; return the generations that are asked for, of each group the newest unless more are."""
    configs = _configs(options)
    paths = options.connect_log
    with naming_its_file("a log"):
        entries = read_connect_logs(paths, config=configs.value_for, now_ms=options.now, dates=options.log_dates)
    configs.check_used({entry.group_id for entry in entries})
    selection = Selection(tuple(options.application_id or ()))
    matches = [entry for entry in entries if selection.wants(entry.group_id) and _is_meant(entry, options, in_range)]
    if not matches:
        raise _nothing_selected(entries, selection)
    if options.listed or options.wants_history:
        return matches
    return list({entry.group_id: entry for entry in matches}.values())


def connect_rows(entries: Sequence[ConnectEntry], *, all_of_them: bool) -> list[Mapping[str, Any]]:
    """Return the rows of generations, and warn once of each thing that is not known of them.

    ``all_of_them``: each has to have a row; else those that have none are left out, with a warning, but for all.
    """
    rows, errors = list[Mapping[str, Any]](), list[SnapshotError]()
    for entry in entries:
        try:
            rows.append(checked_row(entry))
        except SnapshotError as error:
            errors.append(error)
    if errors and (all_of_them or not rows):
        raise errors[0]
    if errors:
        left_out = count(len(errors), "generation")
        write_stderr(f"warning: {left_out} left out, the first of them: {errors[0].where}: {errors[0].what}")
    warn(dict.fromkeys(note.message for entry in entries for note in entry.notes))
    return rows


def _is_meant(entry: ConnectEntry, options: SnapshotOptions, in_range: Callable[[int], bool]) -> bool:
    in_time = entry.at_ms is None or in_range(entry.at_ms)
    return in_time and options.generation in (None, entry.generation)


def _nothing_selected(entries: Sequence[ConnectEntry], selection: Selection) -> SnapshotError:
    candidates = [entry for entry in entries if selection.wants(entry.group_id)]
    if not candidates:
        groups = ", ".join(shown(name) for name in dict.fromkeys(entry.group_id for entry in entries))
        return SnapshotError(f"no group matches {shown(selection.application_ids[0])}", fix=f"the logs hold {groups}")
    message = f"no such generation; the logs hold {candidates[0].generation} to {candidates[-1].generation}"
    return SnapshotError(message, fix="choose another one, or look at --list")


def _configs(options: SnapshotOptions | Live) -> PerApplication[Mapping[str, Any] | None]:
    """Return what workers set; a default that is no worker's is for groups of Kafka Streams, and does not count."""
    is_typed = options.command_line.streams_config is not None

    def settings_in(path: Path) -> Mapping[str, Any] | None:
        try:
            file = load_connect_config(path)
        except ConfigError:
            if is_typed:
                raise
            return None
        warn(file.warnings)
        return file.settings

    return per_application(options.streams_config, "--streams-config", settings_in)
