"""A saved plan and a history → the plan beside what happened, one per application. No Spark is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kstream_plan.comparison.plan_and_history import said_and_happened
from kstream_plan.comparison.prediction import Recorded, SaidAndHappened
from kstream_plan.documents.history import GENERATION, HistoryEntry, entries_of, generation_of, outcome_of, point_ms
from kstream_plan.documents.plan.files import is_plan_file, read_plan_file
from kstream_plan.errors import SnapshotError
from kstream_plan.model.times import format_time
from kstream_plan.plans import Plan, Trigger
from kstream_plan.snapshots.files.newest_rows import Selection
from kstream_plan.snapshots.files.sources import STDIN
from kstream_plan.snapshots.rows.fields import Row, parse_time, printable, shown
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

#: Of so many rows with their decisions on a history is one; a single one is a snapshot.
_LEAST_ROWS = 2
#: Its rows are what workers hold after a rebalance, and tell no decision apart from that.
_CONNECT = "connect"


class _Decision(NamedTuple):
    """One decision of a history: the row that it is of, the generation it led to, when, why, and by which file."""

    entry: HistoryEntry
    generation: int
    at_ms: int
    trigger: str | None
    plan: str | None = None
    without_plan: str | None = None


def read_said_and_happened(
    plan_path: str,
    history_path: str,
    first: str | None = None,
    last: str | None = None,
    application_ids: Sequence[str] = (),
) -> list[SaidAndHappened] | None:
    """Read saved plans and the history that followed, and hold them against each other.

    Args:
        plan_path: the file of one or more saved plans; ``None`` is returned for anything else.
        history_path: a file, folder or glob as ``snapshot --all`` writes it; ``None`` is returned for what has not two
            decisions, one of them after the plan's snapshot, of every application that is planned, unless ``first`` or
            ``last`` is given.
        first: when the event that was planned for happened: an RFC 3339 time, or the generation before it; by default
            the first decision after the plan's snapshot is the plan's first.
        last: up to when, or to which generation, the history belongs to the plan; by default up to the next thing
            that happens to the group from outside once the plan has ended.
        application_ids: globs; without any, every application that is planned.

    Raises:
        PlanFileError: a plan cannot be read.
        SnapshotError: the history cannot be read, or holds nothing of what is asked for.
        UsageError: a point is neither a generation nor a time.
    """
    if STDIN in (plan_path, history_path) or not is_plan_file(plan_path) or is_plan_file(history_path):
        return None
    selection, has_point = Selection(tuple(application_ids)), first is not None or last is not None
    plans = read_plan_file(plan_path)
    names = [plan.group.application_id for plan in plans]
    missing_ids = selection.unmatched_globs(names)
    if missing_ids:
        raise selection.nothing_found(missing_ids, names, [plan_path])[0]
    plans = [plan for plan in plans if selection.wants(plan.group.application_id)]
    try:
        history = entries_of(history_path)
    except SnapshotError:
        if has_point:
            raise
        return None  # what it is instead, and what is wrong with it, is found when it is read as that
    if not has_point and not all(_is_history(plan, history.get(plan.group.application_id, ())) for plan in plans):
        return None
    return [_held_against(plan, _entries(history, plan, history_path), first, last) for plan in plans]


def recorded_since(plan: Plan, rows: Sequence[Row], since_ms: int | None = None) -> list[Recorded]:
    """Return the generations of a plan's course in these rows, in time.

    Args:
        plan: the plan; generations before its first one are left out.
        rows: snapshot rows, each with the decision that was made of it; others are passed over.
        since_ms: only those later than this, since 1970.

    Raises:
        SnapshotError: a row breaks the contract.
    """
    entries = [HistoryEntry(row, "the group", _time(row.get("captured_at"))) for row in rows]
    decisions = _after_snapshot(plan, _decisions(entries, with_withheld=False))
    return [_recorded(decision) for decision in decisions if since_ms is None or decision.at_ms > since_ms]


def _is_history(plan: Plan, entries: Sequence[HistoryEntry]) -> bool:
    decisions = _decisions(entries)
    return len(decisions) >= _LEAST_ROWS and bool(_after_snapshot(plan, decisions))


def _entries(history: Mapping[str, Sequence[HistoryEntry]], plan: Plan, path: str) -> Sequence[HistoryEntry]:
    name = plan.group.application_id
    if name not in history:
        fix = f"it holds {', '.join(map(shown, sorted(history)[:3]))}"
        raise SnapshotError(f"holds nothing of {shown(name)}", where=printable(path), fix=fix)
    return history[name]


def _decisions(entries: Sequence[HistoryEntry], *, with_withheld: bool = True) -> list[_Decision]:
    """Return the decisions of known times, in order; ``with_withheld``: those with the new owners of withheld tasks."""
    decisions = []
    for previous_entry, entry in zip([None, *entries], entries, strict=False):
        if entry.row.get("group_protocol") == _CONNECT:
            if entry.at_ms is not None:
                decisions.append(
                    _Decision(entry, generation_of(entry.row), entry.at_ms, _trigger(previous_entry, entry))
                )
            continue
        decision = outcome_of(entry) if with_withheld else entry.row.get("decision")
        if not isinstance(decision, Mapping) or decision.get("decided") is None:
            continue
        at_ms, number = _time(decision.get("at")), decision.get("generation")
        at_ms = entry.at_ms if at_ms is None else at_ms
        if at_ms is not None:
            generation = number if isinstance(number, int) else generation_of(entry.row) + 1
            texts = (_text(decision.get(name)) for name in ("trigger", "plan", "without_plan"))
            decisions.append(_Decision(entry, generation, at_ms, *texts))
    return decisions


def _trigger(previous_entry: HistoryEntry | None, entry: HistoryEntry) -> str | None:
    """Return why Connect's workers rejoined: for a follow-up, if they are the same and have the same connectors."""
    previous_row = None if previous_entry is None else previous_entry.row
    is_same = previous_row is not None and _workers_and_connectors(previous_row) == _workers_and_connectors(entry.row)
    return Trigger.FOLLOW_UP if is_same else None


def _workers_and_connectors(row: Row) -> tuple[set[str], object]:
    instances = row.get("instances")
    workers = instances if isinstance(instances, list) else ()  # what is wrong with it is found when the row is read
    ids = {str(worker.get("process_id")) for worker in workers if isinstance(worker, Mapping)}
    return ids, row.get("connectors")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _time(value: object) -> int | None:
    try:
        return parse_time(value) if isinstance(value, str) else None
    except ValueError:
        return None  # what is wrong with it is found when the row is read


def _after_snapshot(plan: Plan, decisions: Sequence[_Decision]) -> list[_Decision]:
    """Return the decisions from the plan's first round on.

    Those later than its snapshot; the decision of that very moment too if it led to the plan's first generation.
    """
    first = plan.rounds[0].generation if plan.rounds else plan.generation + 1
    if plan.captured_at is None:
        return [decision for decision in decisions if decision.generation >= first]
    since_ms = parse_time(plan.captured_at)
    return [
        decision
        for decision in decisions
        if decision.at_ms > since_ms or (decision.at_ms == since_ms and decision.generation == first)
    ]


def _held_against(plan: Plan, entries: Sequence[HistoryEntry], first: str | None, last: str | None) -> SaidAndHappened:
    decisions, event_ms = _decisions(entries), None
    if first is None:
        matching_decisions = _after_snapshot(plan, decisions)
    elif GENERATION.fullmatch(first):
        matching_decisions = [decision for decision in decisions if decision.generation > int(first)]
    else:
        event_ms = point_ms(first, "--from")
        matching_decisions = [decision for decision in decisions if decision.at_ms >= event_ms]
    if last is not None:
        by_number = GENERATION.fullmatch(last)
        limit = int(last) if by_number else point_ms(last, "--to")
        matching_decisions = [
            decision
            for decision in matching_decisions
            if (decision.generation if by_number else decision.at_ms) <= limit
        ]
    if not matching_decisions:
        raise _no_decision_error(plan, decisions, entries)
    return said_and_happened(
        plan, [_recorded(decision) for decision in matching_decisions], event_ms, whole=last is not None
    )


def _recorded(decision: _Decision) -> Recorded:
    snapshot = snapshot_from_row(decision.entry.row, decision.entry.location, lags_as_reported=True)
    if snapshot.group_protocol == _CONNECT:
        return Recorded.from_holdings(snapshot, decision.at_ms, decision.trigger)
    return Recorded(
        snapshot=snapshot,
        at_ms=decision.at_ms,
        trigger=decision.trigger,
        plan=decision.plan,
        without_plan=decision.without_plan,
        has_withheld=outcome_of(decision.entry) is not None,
    )


def _no_decision_error(plan: Plan, decisions: Sequence[_Decision], entries: Sequence[HistoryEntry]) -> SnapshotError:
    problem = f"tells no decision of {shown(plan.group.application_id)} in that time"
    location = printable(entries[-1].location.rpartition(",")[0])
    if not decisions:
        return SnapshotError(problem, where=location, fix="make the history again with kstream-plan snapshot --all")
    times = f"{format_time(decisions[0].at_ms)} to {format_time(decisions[-1].at_ms)}"
    return SnapshotError(problem, where=location, fix=f"it tells those of {times}: choose another --from or --to")
