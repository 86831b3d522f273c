"""The moment that a question about now is asked of, and whether what is known of the group reaches that far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.not_modelled import NEWER_UNREAD, NOT_MODELLED
from kstream_plan.model.scenario import Scenario, Stop
from kstream_plan.model.streams_group import CONTRADICTORY, NO_EPOCHS, NOT_READY, STATE_UNKNOWN
from kstream_plan.model.times import duration, format_time
from kstream_plan.planner.assumptions import no_capture_time
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Trigger
from kstream_plan.plans.caught_up_evidence import TRUST_MS
from kstream_plan.simulation.one_plan import as_assigned, plan

#: The code of the note that a rebalance was due before the moment, and was not seen.
OVERDUE = "overdue"
#: The code of the note that who is a member was last seen longer before the moment than reports count.
OLD_SNAPSHOT = "old-snapshot"
#: What is read with one of these may go on otherwise than a plan says.
_UNCERTAIN = (CONTRADICTORY, STATE_UNKNOWN, NO_EPOCHS, NOT_READY, NEWER_UNREAD, *NOT_MODELLED)
#: Of so many probing intervals at most it is simulated what was due.
_MOST_INTERVALS = 50
_DUE = {Trigger.FOLLOW_UP: "follow-up rebalance", Trigger.PROBING: "probing rebalance"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMoment:
    """The moment that a question about now is asked of.

    time: the moment, RFC 3339 in UTC; ``None``: not known.
    options: of plans that lead to the moment.
    at_ms: the moment on the clock of these plans; above 0 where they simulate what was due before it.
    doubts: why what is known of the group may be over by then, or contradicts itself, and which settings a plan does
        not go by.
    """

    time: str | None
    options: PlanOptions
    at_ms: int
    doubts: tuple[Note, ...]


def asked_moment(snapshot: Snapshot, options: PlanOptions, process_ids: Sequence[str]) -> AskedMoment:
    """Find the moment that is asked of, and what was due before it; ``process_ids`` are of those that are to stop.

    Plans with its ``options`` lead to the moment where something was due and it is not too far, else they begin at it.

    Raises:
        ScenarioError: none but these instances are there.
    """
    as_read = tuple(note for note in as_assigned(snapshot, options).warnings if note.code in _UNCERTAIN)
    taken_ms = snapshot.captured_at_ms
    if taken_ms is None:
        doubts = as_read if options.now_ms is None else (no_capture_time(is_undated=True), *as_read)
        return AskedMoment(time=None, options=options, at_ms=0, doubts=doubts)
    now_ms = taken_ms + snapshot.known_until_ms if options.now_ms is None else max(taken_ms, options.now_ms)
    as_given = AskedMoment(time=format_time(now_ms), options=options, at_ms=0, doubts=as_read)
    since_ms = now_ms - taken_ms - snapshot.seen_until_ms
    overdue = None if since_ms <= 0 else _overdue(snapshot, options, process_ids, since_ms)
    if overdue is None:
        is_old = since_ms > (TRUST_MS if options.trust_ms is None else options.trust_ms)
        return replace(as_given, doubts=(_old_snapshot(since_ms), *as_read)) if is_old else as_given
    is_measured_since = snapshot.known_until_ms > snapshot.seen_until_ms
    if is_measured_since or since_ms > _MOST_INTERVALS * snapshot.config.probing_rebalance_interval_ms:
        return replace(as_given, doubts=(overdue, *as_read))
    return replace(as_given, options=replace(options, now_ms=None), at_ms=since_ms, doubts=(overdue, *as_read))


def _old_snapshot(since_ms: int) -> Note:
    message = (
        f"The group was last seen {duration(since_ms)} ago: instances may have left or joined since, and tasks may "
        "have moved; a new snapshot tells (--set trust.reports.of accepts an older one)"
    )
    return Note(OLD_SNAPSHOT, message)


def _overdue(snapshot: Snapshot, options: PlanOptions, process_ids: Sequence[str], since_ms: int) -> Note | None:
    """Return what was due first after the snapshot, if that was before the moment that is asked of."""
    if snapshot.group_protocol == "classic" and snapshot.decision is None:
        return None
    stop = Stop(at_ms=since_ms, process_ids=tuple(process_ids))
    one_round = replace(options.of_one_run(), now_ms=None, max_rounds=1)
    seen_snapshot = replace(snapshot, known_until_ms=snapshot.seen_until_ms)
    first = next(
        iter(plan(seen_snapshot, one_round, scenario=Scenario(events=(stop,) if process_ids else ())).rounds), None
    )
    if first is None or first.at_ms >= since_ms or first.trigger is Trigger.MANUAL:
        return None
    due, overdue_by = _DUE.get(first.trigger, "rebalance"), duration(since_ms - first.at_ms)
    message = (
        f"A {due} was due {overdue_by} ago and is not in the snapshot: what runs where now is unknown; a new snapshot "
        "tells"
    )
    return Note(OVERDUE, message)
