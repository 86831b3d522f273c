"""One row of an assignment snapshot → :class:`~kstream_plan.model.Snapshot`, by the input contract.

Plain Python values in, frozen model out; nothing here knows where rows come from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Group, GroupState, Holding, Instance, KnownDecision, Note, Snapshot, Task
from kstream_plan.model.not_modelled import newer_unread, warnings_of, with_release_warned_of
from kstream_plan.model.note import name_list
from kstream_plan.model.releases import kafka_release
from kstream_plan.model.setting_texts import stores_of
from kstream_plan.model.times import format_time
from kstream_plan.snapshots.rows import types as written
from kstream_plan.snapshots.rows.config import deciding_in, no_settings, read_config, with_names
from kstream_plan.snapshots.rows.copies import (
    Reports,
    copies_of,
    read_copies_since,
    reported_end_offsets,
    reports_of,
    told_in_part,
    with_ages,
)
from kstream_plan.snapshots.rows.decision import counted_from_ms, read_decision
from kstream_plan.snapshots.rows.fields import FieldError, Row, checked_text, printable, shown, time_ms
from kstream_plan.snapshots.rows.json_text import refuse_written
from kstream_plan.snapshots.rows.lag_age import coverage, ends_seen_at_ms, lags_at_most, lags_when_told, still_caught_up
from kstream_plan.snapshots.rows.lags import LagRow, read_lag_rows
from kstream_plan.snapshots.rows.measured_rates import read_rates
from kstream_plan.snapshots.rows.stalled_copies import Course, no_closer, notes_of
from kstream_plan.snapshots.rows.streams_group import (
    group_notes,
    no_epochs,
    no_group_settings,
    read_broker_group,
    read_group_config,
)
from kstream_plan.snapshots.rows.tasks_and_members import (
    TaskRow,
    complete_tasks,
    read_holdings,
    read_instances,
    read_starts,
    read_task_rows,
    untold_protocols,
)
from kstream_plan.snapshots.rows.typed_rows import reader_of
from kstream_plan.snapshots.rows.types import LagSource

if TYPE_CHECKING:
    from kstream_plan.snapshots.rows.lag_history import LagHistory
    from kstream_plan.snapshots.rows.lag_window import LagsWanted

#: The major number of the format that this reader understands.
FORMAT_MAJOR = 1

_FORMAT_VERSION = re.compile(r"(\d+)(?:\.\d+)*", re.ASCII)

_read_typed = reader_of(written.Snapshot)


def snapshot_from_row(
    row: Row,
    source: str,
    *,
    lags: LagHistory | None = None,
    lags_as_reported: bool = False,
    config_as_text: bool = False,
) -> Snapshot:
    """Read one row.

    Args:
        row: an object of the assignment-snapshot schema, as ``json.loads`` gives it; unknown fields are ignored.
        source: what the row comes from, a file's path for instance; error messages begin with it.
        lags: the lag history, instead of the row's own ``lags``.
        lags_as_reported: take a copy that was caught up at the last join for as far behind as it looks by now.
        config_as_text: the settings' values are text (a Parquet map from text to text).

    Raises:
        SnapshotError: the row breaks the schema or contradicts itself; the error names application, field, value
            and fix.
    """
    if lags is not None:
        row = {**row, "lags": None}
    try:
        return _read(_typed(row), lags, lags_as_reported, config_as_text)
    except FieldError as error:
        raise snapshot_error(error, source, row.get("application_id")) from None


def lags_wanted(row: Row, until_us: int | None, rates_over_ms: int | None) -> LagsWanted:
    """Return which lags are needed for a row, until a time, with rates over a time.

    Errors of the row are raised when it is read.
    """
    from kstream_plan.snapshots.rows.lag_window import LagsWanted  # noqa: PLC0415 - not without lag rows

    request = LagsWanted(until_us).extended_to(rates_over_ms or 0)
    try:
        typed = _typed(row)
        config, _ = read_config(typed.config or {})
        task_rows = read_task_rows(typed.tasks or ())
        instances, _ = read_instances(typed.instances)
        members = _group_of(typed.application_id, task_rows, instances)
        holdings = read_holdings(typed.instances, members)
    except FieldError:
        return request
    stateful_ids = {str(task.task_id) for task in task_rows if task.stateful or task.changelog_partitions}
    stateful_ids |= {str(task.task_id) for task in task_rows if task.stateful is None and task.end_offset_sum}
    role_seats = [
        (role, (members.instances[members.instance_of[consumer]].process_id, task_id))
        for consumer, holding in enumerate(holdings)
        for role, tasks in (("active", holding.active), ("standby", (*holding.standby, *holding.warmup)))
        for task in tasks
        if (task_id := str(members.tasks[task].task_id)) in stateful_ids
    ]
    return request.extended_to(config.state_cleanup_delay_ms)._replace(
        active=frozenset(seat for role, seat in role_seats if role == "active"),
        standby=frozenset(seat for role, seat in role_seats if role == "standby"),
    )


def snapshot_error(error: FieldError, source: str, application_id: object = None) -> SnapshotError:
    """Return the error with its whole place: file, application, field."""
    places = [printable(source)] if source else []
    if application_id is not None:
        places.append(f"application {shown(application_id)}")
    problem = f"{printable(error.path)} {error.problem}" if error.path else error.problem
    known_id = application_id if isinstance(application_id, str) else None
    return SnapshotError(problem, where=": ".join(places), fix=error.fix, application_id=known_id)


def _typed(row: Row) -> written.Snapshot:
    """Return a row as its type.

    Raises:
        FieldError: it is no snapshot, or of another version; a field is of the wrong type or out of range.
    """
    refuse_written(row)
    if row and not row.keys() & _OF_A_SNAPSHOT:
        problem = f"is JSON of something else, not a snapshot: it has {name_list(sorted(map(shown, row)), 1)}"
        fix = "make a snapshot with kstream-plan snapshot; kstream-plan schema snapshot says what it has"
        raise FieldError("", problem, fix)
    _check_format_version(row)
    return _read_typed(with_names(row))


def _read(row: written.Snapshot, lags: LagHistory | None, lags_as_reported: bool, config_as_text: bool) -> Snapshot:
    protocol, generation, captured_at_ms = _group_protocol(row), row.generation or 0, time_ms(row.captured_at)
    release = _streams_version(row)
    if protocol == "connect":
        from kstream_plan.snapshots.rows.connect_group import read_connect  # noqa: PLC0415 - most are of Kafka Streams

        snapshot = read_connect(row, generation, captured_at_ms, config_as_text=config_as_text, release=release)
        return replace(snapshot, warnings=(*_of_newer(row), *snapshot.warnings))
    streams = protocol == "streams"
    settings: Mapping[str, Any] = row.config or {}
    config, config_notes = (read_group_config if streams else read_config)(settings, as_text=config_as_text)
    task_rows = read_task_rows(row.tasks or ())
    instances, leader = read_instances(row.instances)
    members = _group_of(row.application_id, task_rows, instances)
    holdings = read_holdings(row.instances, members)
    lag_notes: list[Note] = []
    if lags is None:
        lag_rows = read_lag_rows(row.lags or (), members)
    else:
        from kstream_plan.snapshots.rows.lag_history import rates_of, usable_lag_rows  # noqa: PLC0415 - few have one

        lag_rows, lag_notes = usable_lag_rows(lags, members, holdings, config, captured_at_ms)
    reports = reports_of(lag_rows)
    nothing_logged = {row.task for row in lag_rows} - {row.task for row in lag_rows if row.logged}
    tasks, task_notes = complete_tasks(task_rows, reported_end_offsets(reports), nothing_logged)
    if lags is None:
        _check_stateless(lag_rows, task_rows)
        _check_ends(reports, task_rows, config.acceptable_recovery_lag)
    group = Group(row.application_id, tuple(tasks), members.instances)
    assumptions: tuple[Note, ...] = ()
    told_lags, most_lags = lags_when_told(reports), lags_at_most(reports, group)
    if not lags_as_reported:
        reports, assumptions = still_caught_up(reports, group, holdings, config.acceptable_recovery_lag)
    copies, copy_notes = copies_of(group, holdings, reports)
    decision = read_decision(row.decision, group, generation, captured_at_ms)
    still: Mapping[tuple[int, int], Course] = {}
    if lags is not None:
        still = no_closer(lags.stores, group, holdings, config.acceptable_recovery_lag, lags.most_intervals)
    held_now = holdings if decision is None or decision.consumers is None else decision.consumers
    ages = read_copies_since(row.copies_since or (), group, captured_at_ms)
    broker_group = read_broker_group(row, group, generation, captured_at_ms) if streams else None
    broker_notes = () if broker_group is None else tuple(group_notes(broker_group, group, holdings))
    if streams and row.generation is None:
        broker_notes += (no_epochs(row.application_id),)
    stores = row.stores or stores_of(settings)
    state = GroupState(
        group=group,
        generation=generation,
        at_ms=0,
        holdings=holdings,
        copies=with_ages(copies, ages),
        leader=None if leader is None else group.instance_index[leader],
        memory=broker_group,
    )
    reported_ms = _reported_ms(reports, captured_at_ms, decision, max)
    reported_from_ms = _reported_ms(reports, captured_at_ms, decision, min).items()
    snapshot = Snapshot(
        state=state,
        config=config,
        captured_at=None if captured_at_ms is None else format_time(captured_at_ms),
        rates=read_rates(row.rates, group)
        if lags is None
        else rates_of(lags.stores, group, config.acceptable_recovery_lag, lags.most_intervals),
        warnings=(
            *_of_newer(row),
            *config_notes,
            *lag_notes,
            *task_notes,
            *copy_notes,
            *broker_notes,
            *notes_of(group, still),
        ),
        assumptions=(*assumptions, *(no_group_settings if streams else no_settings)(settings, config)),
        coverage=coverage(reports, held_now, group, captured_at_ms),
        measured_lags=_seats_from(LagSource.METRICS, reports) - _seats_from(LagSource.JOIN, reports),
        least_lags=_seats_from(LagSource.METRICS_AT_LEAST, reports) | told_in_part(reports, tasks),
        input_lags=MappingProxyType({n: row.input_lag for n, row in enumerate(task_rows) if row.input_lag}),
        decision=decision,
        known_until_ms=_until_ms("known_until", row.known_until, captured_at_ms),
        seen_until_ms=_seen_until_ms(row, reports, captured_at_ms),
        since_ms=MappingProxyType(dict(ages.since_ms)),
        told_lags=MappingProxyType(told_lags),
        most_lags=MappingProxyType(most_lags),
        ends_seen_ms=MappingProxyType(
            ends_seen_at_ms(
                reports, (n for n, row in enumerate(task_rows) if row.end_offset_sum is None), captured_at_ms
            )
        ),
        no_closer_ms=MappingProxyType({seat: course.elapsed_ms for seat, course in still.items()}),
        reported_ms=MappingProxyType(reported_ms),
        reported_from_ms=MappingProxyType({seat: ms for seat, ms in reported_from_ms if ms < reported_ms[seat]}),
        undated_reports=_undated(reports, captured_at_ms, of_lag_files=lags is not None),
        started_ms=MappingProxyType(read_starts(row.instances, counted_from_ms(row.decision, captured_at_ms))),
        untold_protocols=untold_protocols(row.instances),
        session_by_default=not streams and settings.get("session_timeout_ms") is None,
        group_protocol=protocol,
        stores=stores,
        stores_from="" if stores is None else "the snapshot",
        measuring_failed=_measuring_failed(row, reports, held_now),
    )
    snapshot = with_release_warned_of(snapshot if release is None else snapshot.of_release(release))
    return replace(snapshot, warnings=(*warnings_of(deciding_in(settings), snapshot), *snapshot.warnings))


def _check_stateless(lag_rows: Sequence[LagRow], task_rows: Sequence[TaskRow]) -> None:
    """Check that no task with ``stateful: false`` has state.

    Raises:
        FieldError: a lag row has records of one.
    """
    for lag in lag_rows:
        records = max(lag.lag or 0, lag.offset or 0, lag.end_offset or 0)
        if task_rows[lag.task].stateful is False and lag.logged and records > 0:
            problem = f"tell of {records:,} records of task {task_rows[lag.task].task_id}, which tasks say has no state"
            raise FieldError("lags", problem, 'write "stateful": true, or leave the row out')


def _check_ends(reports: Reports, task_rows: Sequence[TaskRow], limit: int) -> None:
    """Check that no lag is above the limit where the whole changelogs are within it.

    Raises:
        FieldError: a lag is.
    """
    for (task, _), rows in reports.items():
        whole, copy_lag = task_rows[task].end_offset_sum, sum(row.lag or 0 for row in rows if (row.lag or 0) > 0)
        if whole is not None and whole <= limit < copy_lag:
            task_id = task_rows[task].task_id
            problem = (
                f"say that a copy of task {task_id} is {copy_lag:,} records behind, and tasks that it has {whole:,}"
            )
            raise FieldError("lags", problem, "give both of one time")


def _measuring_failed(row: written.Snapshot, reports: Reports, holdings: Sequence[Holding]) -> bool:
    """Tell whether lags were to be measured and none was: rates from metrics alone show that, too."""
    is_measured = any(row.source is not LagSource.JOIN for rows in reports.values() for row in rows)
    if is_measured or not any(holding.standby or holding.warmup for holding in holdings):
        return False
    rates = row.rates or written.Rates()
    sources = {rate.source for rate in rates.produce or ()} | {rate.source for rate in rates.restore or ()}
    return "metrics" in sources or row.measuring_failed is True


def _seats_from(source: LagSource, reports: Reports) -> frozenset[tuple[int, int]]:
    return frozenset(seat for seat, rows in reports.items() for row in rows if row.source is source)


def _until_ms(key: str, text: str | None, captured_at_ms: int | None) -> int:
    until_ms = time_ms(text)
    if until_ms is None or captured_at_ms is None:
        return 0
    if until_ms < captured_at_ms:
        problem = f"is {shown(text)}, before captured_at"
        raise FieldError(key, problem, "give a time at or after captured_at")
    return until_ms - captured_at_ms


def _seen_until_ms(row: written.Snapshot, reports: Reports, captured_at_ms: int | None) -> int:
    """Return until when the assignment was seen; of a row with measured lags a scrape alone may be later."""
    is_measured = any(row.source is not LagSource.JOIN for rows in reports.values() for row in rows)
    known_ms = _until_ms("known_until", row.known_until, captured_at_ms)
    has_seen_until = is_measured or row.seen_until is not None
    return min(known_ms, _until_ms("seen_until", row.seen_until, captured_at_ms)) if has_seen_until else known_ms


def _of_newer(row: written.Snapshot) -> tuple[Note, ...]:
    """Return the warning that a later rebalance cannot be read, if the logs have one."""
    newer = row.newer_rebalance
    return () if newer is None else (newer_unread(printable(newer.place)),)


def _streams_version(row: written.Snapshot) -> str | None:
    version = row.streams_version
    release = None if version is None else kafka_release(version)
    if version is not None and release is None:
        raise FieldError("streams_version", f"is {shown(version)}, not a release of Kafka Streams", 'write "4.3.1"')
    return release


def _reported_ms(
    reports: Reports, captured_at_ms: int | None, decision: KnownDecision | None, pick_time: Callable[[list[int]], int]
) -> dict[tuple[int, int], int]:
    """Return when the lag of each seat (task, instance) was reported: ``pick_time`` of the times of its stores.

    A store without a time is as old as the decision, or as the snapshot. A seat without any known time is left out.
    """
    reported_ms = {}
    decided_ms = 0 if decision is None else decision.at_ms
    for seat, rows in reports.items():
        times = [row.at_ms if row.reported_at_ms is None else row.reported_at_ms for row in rows]
        known_times = [time for time in times if time is not None]
        if captured_at_ms is None or not known_times:
            continue
        times_ms = [time - captured_at_ms for time in known_times]
        if len(known_times) == len(times):
            reported_ms[seat] = pick_time(times_ms)
        elif decided_ms is not None:
            reported_ms[seat] = pick_time([*times_ms, min(0, decided_ms)])
    return reported_ms


def _undated(reports: Reports, captured_at_ms: int | None, *, of_lag_files: bool) -> frozenset[tuple[int, int]]:
    """Return the seats (task, instance) whose reports are of unknown age.

    Nothing is counted from the time of a report if that of the snapshot is unknown. What a snapshot has without a time
    is as old as itself, rows of another file are of any time.
    """

    def is_undated(row: LagRow) -> bool:
        if captured_at_ms is None:
            return row.reported_at_ms is not None
        return of_lag_files and row.at_ms is None and row.reported_at_ms is None

    return frozenset(seat for seat, rows in reports.items() if any(map(is_undated, rows)))


#: A row without any of these is of something else.
_OF_A_SNAPSHOT = {"application_id", "instances", "tasks", "config", "group_protocol", "captured_at", "format_version"}


def _check_format_version(row: Row) -> None:
    if row.get("format_version") is None:
        return
    version = checked_text("format_version", row["format_version"])
    match = _FORMAT_VERSION.fullmatch(version)
    if match is None:
        raise FieldError("format_version", f"is {shown(version)}, not a version", f'write "{FORMAT_MAJOR}.0"')
    if match[1].lstrip("0") != str(FORMAT_MAJOR):
        problem = f"is {shown(version)}; this program reads {FORMAT_MAJOR}.x"
        raise FieldError("format_version", problem, "use a program of that version, or capture the snapshot anew")


def _group_protocol(row: written.Snapshot) -> str:
    protocol = (row.group_protocol or "classic").lower()
    if protocol not in ("classic", "streams", "connect"):
        problem, fix = f"is {shown(protocol)}, which Kafka Streams does not use", 'write "classic" or "streams"'
        raise FieldError("group_protocol", problem, fix)
    return protocol


def _group_of(application_id: str, task_rows: list[TaskRow], instances: list[Instance]) -> Group:
    """Return the group with its order settled and its tasks still unfinished."""
    return Group.of(application_id, [Task(task_id=row.task_id, stateful=False) for row in task_rows], instances)
