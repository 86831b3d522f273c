"""A running group, asked again and again: its generations as snapshot rows, whatever they are read from."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kstream_plan.cli.actions.overrides import Overrides, overrides
from kstream_plan.cli.actions.read import topologies
from kstream_plan.cli.options.live import Live
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.documents.history import with_generations
from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.errors import ClusterError, KstreamPlanError, SnapshotError, UsageError
from kstream_plan.model import Note, Snapshot
from kstream_plan.model.not_modelled import kept_settings
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN, check_paths, local_path
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

_SOURCES = ("bootstrap_server", "leader_log", "connect_url")
#: A record that is so much later than now comes of clocks that run apart.
_APART_MS = 2_000
#: What belongs to one of the sources only.
_ONLY_WITH = {
    "group": "bootstrap_server",
    "command_config": "bootstrap_server",
    "application_id": "leader_log",
}


class LogEndedError(KstreamPlanError):
    """A log that was piped in has ended."""


class Generations(NamedTuple):
    """What a source knows of the group.

    rows: snapshot rows, oldest first; the newest one is the group as it is now.
    notes: what is not known of it.
    has_ended: whether nothing more will be known: a log that was piped in has ended.
    """

    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[Note] = ()
    has_ended: bool = False

    def check_goes_on(self) -> None:
        """Check that more will be known, where that is waited for.

        Raises:
            LogEndedError: the log has ended.
        """
        if self.has_ended:
            fix = "pipe a log in that goes on: kubectl logs -f"
            raise LogEndedError("ended before what is waited for", where="standard input", fix=fix)


class LiveGroup(NamedTuple):
    """The group at one moment.

    now_ms: the moment, since 1970: the later one where this machine's clock and that of the records run apart.
    snapshot: the group as it is, with what was measured of its copies and the settings that are given.
    generations: what the source knows of it.
    notes: what is not known.
    ahead_ms: how much later than this machine's clock the newest record is; at or below 0: it is not.
    """

    now_ms: int
    snapshot: Snapshot
    generations: Generations
    notes: Sequence[Note]
    ahead_ms: int


@contextmanager
def live_group(options: Live) -> Iterator[Callable[[int, int | None], LiveGroup]]:
    """Give what asks for the group as it is at a time, and for its generations since another one.

    Both are in milliseconds since 1970; without the second one only the newest generation is asked for.

    Raises:
        UsageError: not one source is given, or what belongs to another.
    """
    source = _checked_source(options)
    settings = overrides(options, of_workers=source == "connect_url")
    with _SOURCE_OF[source](options, settings) as ask:
        yield partial(_group_now, options, settings, ask)


def _group_now(options: Live, settings: Overrides, ask: _Source, now_ms: int, since_ms: int | None = None) -> LiveGroup:
    generations = ask.generations(now_ms, since_ms)
    row, notes = generations.rows[-1], list(generations.notes)
    if options.metrics:
        row, lag_notes = _row_with_lags(row, options.metrics, options, ask)
        notes += lag_notes
    snapshot = settings.apply(snapshot_from_row(row, "the group"))
    recorded_ms = snapshot.captured_at_ms or 0
    ahead_ms = recorded_ms + snapshot.seen_until_ms - now_ms
    if ahead_ms > _APART_MS:
        notes.append(Note("clocks-apart", "clocks run apart: the newest record is of later than now; times may be off"))
    return LiveGroup(max(now_ms, recorded_ms), snapshot, generations, [*notes, *snapshot.warnings], ahead_ms)


def _checked_source(options: Live) -> str:
    """Return which source is given."""
    typed = options.command_line
    sources = [name for name in _SOURCES if getattr(typed, name)] or [
        name for name in _SOURCES if getattr(options, name)
    ]
    if not sources:
        fix = "say where the group runs: --bootstrap-server HOST:PORT --group ID, or --leader-log, or --connect-url"
        raise UsageError("no running group is given", fix=fix)
    if len(sources) > 1:
        raise UsageError(f"{option_of(sources[0])} and {option_of(sources[1])} are two sources", fix="give one of them")
    [source] = sources
    for name, belongs_to in _ONLY_WITH.items():
        is_rest = name == "command_config" and source == "connect_url"
        if getattr(typed, name) and source != belongs_to and not (is_rest or (name, source) == _NAMES_A_GROUP):
            message = f"{option_of(name)} does not go with {option_of(source)}"
            raise UsageError(message, fix=f"leave it out, or give {option_of(belongs_to)}")
    if source == "bootstrap_server" and len(options.group or ()) != 1:
        raise UsageError("--bootstrap-server needs one group", fix="name the application's id: --group ID")
    if source == "connect_url" and options.metrics:
        raise UsageError("--metrics is about Kafka Streams, not about Connect", fix="leave it out")
    if (options.metrics or []).count(STDIN) + (options.leader_log or []).count(STDIN) > 1:
        raise UsageError("standard input is given twice", fix="give - once")
    if STDIN in (options.metrics or ()):
        raise UsageError("--metrics - is read once, and the group again and again", fix="give files, or an address")
    from kstream_plan.snapshots.metrics.endpoints import check_endpoint, is_endpoint  # noqa: PLC0415

    for text in filter(is_endpoint, options.metrics or ()):
        check_endpoint(text)
    return source


_NAMES_A_GROUP = ("application_id", "connect_url")


class _Source(Protocol):
    """A source that can be asked again and again."""

    def generations(self, now_ms: int, since_ms: int | None) -> Generations:
        """Return what is known by now, with the generations since a time, or else the newest one."""
        ...

    def with_offsets(self, measures: Any, row: Mapping[str, Any], now_ms: int) -> Any:
        """Return measurements with the end offsets that the source knows."""
        ...


class _Brokers:
    """The cluster, over one connection that is made anew after it has failed."""

    def __init__(self, options: Live, settings: Overrides) -> None:
        from kstream_plan.documents.client_properties import load_client_properties  # noqa: PLC0415

        self._group_id = (options.group or [""])[0]
        self._servers, self._wait_ms = str(options.bootstrap_server), options.limits.wait_ms
        path = options.command_config
        self._login: Mapping[str, Any] = {} if path is None else load_client_properties(path)
        self._topology = topologies(options).value_for(self._group_id)
        file = settings.files.value_for(self._group_id)
        self._config: Mapping[str, Any] = {} if file is None else {**file.overrides, **kept_settings(file.deciding)}
        self._names = {} if options.names is None else load_instance_names(options.names)
        self._connected: tuple[Any, Any] | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._connected is not None:
            self._connected[0].__exit__(None, None, None)
            self._connected = None

    def generations(self, now_ms: int, since_ms: int | None) -> Generations:
        """Ask the brokers; a group that rebalances is an error, which passes."""
        try:
            return self._ask(now_ms, since_ms)
        except ClusterError:
            self.close()
            raise

    def with_offsets(self, measures: Any, row: Mapping[str, Any], now_ms: int) -> Any:
        """Return measurements with the end offsets of now."""
        from kstream_plan.snapshots.metrics.measurements import with_asked_offsets  # noqa: PLC0415

        sources = {partition["topic"] for task in row["tasks"] for partition in task["source_partitions"]}
        return with_asked_offsets(measures, self._cluster(), self._group_id, now_ms, sources)

    def _ask(self, now_ms: int, since_ms: int | None) -> Generations:
        from kstream_plan.snapshots.broker.given_names import with_names  # noqa: PLC0415
        from kstream_plan.snapshots.broker.source import group_history, running_group  # noqa: PLC0415
        from kstream_plan.snapshots.broker.streams_group import check_stable_streams_group  # noqa: PLC0415

        cluster = self._cluster()
        described = cluster.describe_group(self._group_id)
        if described.group_type == "streams":
            history = running_group(cluster, self._group_id, self._topology, now_ms, self._config)
        else:
            if since_ms is None:
                check_stable_streams_group(self._group_id, described)
            history = group_history(
                cluster,
                self._group_id,
                self._topology,
                now_ms,
                lambda at_ms: since_ms is None or at_ms >= since_ms,
                newest_only=since_ms is None,
                config=self._config,
            )
        rows, notes = with_names(history.rows, self._names)
        return Generations(rows, [*history.notes, *notes])

    def _cluster(self) -> Any:
        if self._connected is None:
            from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster  # noqa: PLC0415 - needs the extra
            from kstream_plan.snapshots.broker.remembered import RememberedCluster  # noqa: PLC0415

            cluster = KafkaCluster(self._servers, self._login, self._wait_ms)
            self._connected = cluster, RememberedCluster(cluster)
        return self._connected[1]


class _Logs:
    """Logs of the instances: files that grow, or a stream of lines."""

    def __init__(self, options: Live, settings: Overrides) -> None:
        from kstream_plan.snapshots.leader_log.log_stream import LogStream  # noqa: PLC0415 - not for brokers

        self._paths = list(options.leader_log or ())
        check_paths([path for path in self._paths if _is_missing(path)])
        self._selection = Selection(tuple(options.application_id or ()))
        self._settings = settings
        self._names = None if options.names is None else load_instance_names(options.names)
        self._stream = LogStream(_standard_input()) if STDIN in self._paths else None
        self._read: tuple[object, Generations] | None = None

    def close(self) -> None:
        """There is nothing to close: the thread that reads a stream ends with the process."""

    def with_offsets(self, measures: Any, row: Mapping[str, Any], now_ms: int) -> Any:  # noqa: ARG002
        """Return the measurements: logs know no offsets of now."""
        return measures

    def generations(self, now_ms: int, since_ms: int | None) -> Generations:  # noqa: ARG002
        """Read what is new in the logs."""
        state = (_states(self._paths), self._stream and (self._stream.size, self._stream.ended), since_ms)
        if self._read is None or self._read[0] != state:
            has_ended = self._paths == [STDIN] and self._stream is not None and self._stream.ended
            try:
                generations = self._generations_in(since_ms)
            except SnapshotError as error:
                if not has_ended:
                    raise  # there may be more to read later
                raise LogEndedError(error.what, where=error.where, fix=error.fix) from None
            self._read = state, generations._replace(has_ended=has_ended)
        return self._read[1]

    def _generations_in(self, since_ms: int | None) -> Generations:
        from kstream_plan.snapshots.leader_log.history import checked_rows, read_leader_logs  # noqa: PLC0415
        from kstream_plan.snapshots.leader_log.notes import notes_about  # noqa: PLC0415 - not for brokers

        stdin = None if self._stream is None else self._stream.so_far()
        history = read_leader_logs(self._paths, config=self._config, names=self._names, stdin=stdin)
        names = sorted(
            {entry.application_id for entry in history.entries if self._selection.wants(entry.application_id)}
        )
        if len(names) != 1:
            fix = "choose one: --application-id ID" if names else "check --application-id"
            raise UsageError(f"the logs are of {', '.join(map(shown, names)) or 'other applications'}", fix=fix)
        entries = [entry for entry in history.entries if entry.application_id == names[0]]
        rows = with_generations(checked_rows(entries))
        times_ms = [entry.at_ms or 0 for entry in entries]
        newer = [row for row, at_ms in zip(rows[:-1], times_ms, strict=False) if since_ms and at_ms >= since_ms]
        return Generations([*newer, rows[-1]], notes_about(history, entries[-1:]))

    def _config(self, application_id: str) -> Mapping[str, Any]:
        file = self._settings.files.value_for(application_id)
        return {} if file is None else {**file.overrides, **kept_settings(file.deciding)}


def _is_missing(path: str) -> bool:
    """Tell whether a file of this machine is not there; one that is empty may grow, and a pattern match one later."""
    local = None if path == STDIN else local_path(path)
    return local is not None and not has_magic(local) and not os.path.exists(local)


def _states(paths: Sequence[str]) -> tuple[object, ...]:
    """Return what changes whenever a file is written to; of folders and globs something that always does."""
    states = list[object]()
    for path in paths:
        if path != STDIN:
            try:
                status = os.stat(path)
                states.append((status.st_mtime_ns, status.st_size) if os.path.isfile(path) else time.monotonic_ns())
            except OSError:
                states.append(time.monotonic_ns())
    return tuple(states)


def _standard_input() -> Any:
    import sys  # noqa: PLC0415 - tests put another one there

    return sys.stdin.buffer


class _Connect:
    """Connect's workers, by their REST interface."""

    def __init__(self, options: Live) -> None:
        self._options = options

    def close(self) -> None:
        """There is nothing to close: each question has its own connection."""

    def with_offsets(self, measures: Any, row: Mapping[str, Any], now_ms: int) -> Any:  # noqa: ARG002
        """Return the measurements: there are none of Connect."""
        return measures

    def generations(self, now_ms: int, since_ms: int | None) -> Generations:  # noqa: ARG002
        """Ask the first worker that answers."""
        from kstream_plan.cli.actions.snapshot_connect import live_status  # noqa: PLC0415 - not for Kafka Streams

        status = live_status(self._options)
        return Generations([status.row], status.notes)


_SOURCE_OF: Mapping[str, Callable[[Live, Overrides], AbstractContextManager[_Source]]] = {
    "bootstrap_server": lambda options, settings: closing(_Brokers(options, settings)),
    "leader_log": lambda options, settings: closing(_Logs(options, settings)),
    "connect_url": lambda options, _settings: closing(_Connect(options)),
}


def _row_with_lags(
    row: Mapping[str, Any], texts: Sequence[str], options: Live, source: _Source
) -> tuple[Mapping[str, Any], list[Note]]:
    """Return the row with the lags that instances publish now, and what could not be measured."""
    from kstream_plan.snapshots.metrics.endpoints import ask_endpoints, is_endpoint  # noqa: PLC0415
    from kstream_plan.snapshots.metrics.measured_files import measured_files  # noqa: PLC0415
    from kstream_plan.snapshots.metrics.measurements import read_measurements  # noqa: PLC0415
    from kstream_plan.snapshots.metrics.overlay import with_measured_lags  # noqa: PLC0415

    hosts = {instance["host"] for instance in row["instances"] if instance.get("host")}
    with tempfile.TemporaryDirectory(prefix="kstream-plan-") as folder:
        notes = ask_endpoints([text for text in texts if is_endpoint(text)], hosts, Path(folder))
        paths = [text for text in texts if not is_endpoint(text)]
        paths += [str(path) for path in sorted(Path(folder).iterdir())]
        if not paths:
            return {**row, "measuring_failed": True}, notes
        now_ms = time.time_ns() // 1_000_000
        measures = read_measurements(
            **measured_files(paths), topology_of=topologies(options).value_for, clock_ms=now_ms, now_ms=now_ms
        )
    try:
        row_and_notes = with_measured_lags(row, source.with_offsets(measures, row, now_ms))
    except SnapshotError as error:  # an instance publishes what the group does not have yet, or no more
        message = f"what was measured does not fit the group: {printable(str(error))}"
        return {**row, "measuring_failed": True}, [*notes, Note("not-measured", message)]
    return row_and_notes.row, [*notes, *row_and_notes.warnings]
