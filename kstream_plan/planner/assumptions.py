"""The assumptions of a plan of any design, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil

from kstream_plan.model import UNKNOWN, Note, Snapshot
from kstream_plan.model.note import count, name_list
from kstream_plan.model.ranking import reported_lag
from kstream_plan.model.releases import DYNAMIC_MEMBERS_LEAVE, NEWEST, STATIC_MEMBERS_LEAVE, subscription_version
from kstream_plan.model.scenario import Bounce, Burst, Event, Leave, ProduceRate
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import Ready
from kstream_plan.model.times import duration
from kstream_plan.planner.loop import RunResult
from kstream_plan.planner.membership_timeline import MembershipTimeline
from kstream_plan.plans.design import CopyDoubt, Design, FinishedRun
from kstream_plan.plans.pauses import RESTORES_UNNOTICED
from kstream_plan.plans.plan import INPUT_BEHIND, LAGS_MEASURED, MAYBE_READY, MAYBE_RESTORING, STORES

#: The code of the note on a snapshot that does not say when it was taken.
NO_CAPTURE_TIME = "no-capture-time"
#: The code of the assumption that the newest release runs, for which one does is unknown.
RELEASE_ASSUMED = "release-assumed"


def assumptions(
    design: Design, run: FinishedRun, outcome: RunResult, now_ms: int, *, ready: Ready, is_undated: bool
) -> tuple[Note, ...]:
    """Return the assumptions of a plan of any design; ``ready`` and ``is_undated`` as of a request."""
    snapshot, state, scenario, rounds = run.snapshot, run.state, run.scenario, run.rounds
    notes = []
    has_produce_rate = snapshot.rates.any_produce or (
        scenario is not None and any(isinstance(event, ProduceRate | Burst) for event in scenario.events)
    )
    if rounds and outcome.restore_totals.restores_any and run.rates.any_restore and not has_produce_rate:
        notes.append(Note("no-produce-rate", "The produce rate is unknown: nothing is assumed to be written meanwhile"))
    if snapshot.coverage is not None:
        bounds = sorted({task for task, _ in snapshot.least_lags})
        names = tuple(str(snapshot.state.group.tasks[task].task_id) for task in bounds)
        notes.append(Note(LAGS_MEASURED, snapshot.coverage.told(now_ms), names))
    notes += snapshot.assumptions
    left_over = [
        task
        for task, copies in enumerate(state.copies)
        if copies  # else it may be work that comes later, and is not in the snapshot
        and snapshot.state.copies[task]
        and any(copy.consumer is None and (task, copy.instance) not in snapshot.since_ms for copy in copies)
    ]
    if rounds and left_over:
        names = tuple(str(state.group.tasks[task].task_id) for task in left_over)
        notes.append(
            Note("left-over-age", "Left-over state in the snapshot is assumed to be left over since just now", names)
        )
    known_task_ids = {task.task_id for task in snapshot.state.group.tasks if task.end_offset_known}
    empty = [
        str(current_task.task_id)
        for current_task in state.group.tasks
        if current_task.stateful and not current_task.end_offset_known and current_task.task_id in known_task_ids
    ]
    if rounds and empty and snapshot.group_protocol != "connect":
        message = (
            "The snapshot's end offsets are those of the group's first start, when nothing had been written. What has "
            "been written since, and so what is to be restored, is unknown (--set produce.rate or a newer snapshot "
            "would tell)"
        )
        notes.append(Note("end-offsets-of-start", message, tuple(empty)))
    new_ids = sorted(set(run.group.instance_index).difference(state.group.instance_index))
    if new_ids and snapshot.rates.restore and snapshot.rates.restore_per_instance is None:
        message = (
            "New instances are assumed to restore at the median rate of the others: theirs cannot have been measured"
        )
        notes.append(Note("new-instances-restore-rate", message, tuple(new_ids)))
    unmeasured = _unmeasured(snapshot)
    if rounds and unmeasured:
        message = "Instances that were not seen restoring are assumed to restore at the median rate of the others"
        notes.append(Note("restore-rate-of-others", message, unmeasured))
    if outcome.doubts:
        notes.append(_doubts_note(outcome.doubts, design.since_unknown, snapshot, now_ms, ready))
    if run.group.stateful and snapshot.group_protocol != "connect":
        notes.append(stores_note(snapshot))
    if snapshot.captured_at is None:
        notes.append(no_capture_time(is_undated=is_undated))
    return tuple(notes)


def no_capture_time(*, is_undated: bool) -> Note:
    """Return the note on a snapshot that does not say when it was taken; ``is_undated`` as of a request."""
    consequence = ": --set now has no effect, and how old its reports are is unknown" if is_undated else ""
    return Note(NO_CAPTURE_TIME, f"The snapshot does not say when it was taken{consequence}")


def stores_note(snapshot: Snapshot) -> Note:
    """Return the note on the kind of stores that is assumed."""
    source = f" ({snapshot.stores_from})" if snapshot.stores_from else ""
    match snapshot.stores:
        case "persistent":
            message = f"Stores are persistent{source}: an instance that returns has its state"
        case "in-memory":
            message = (
                f"Stores are in memory{source}: nothing of them is left after a restart, or where a task was closed"
            )
        case "mixed":
            message = (
                f"Some stores are in memory{source}, the others are assumed to be persistent: those in memory are "
                "restored after a restart, and where a task was closed"
            )
        case None:
            message = (
                "Stores are assumed to be persistent, as is usual; whether they are is unknown (--set stores). After a "
                "restart, and where a task was closed, nothing is left of a store in memory"
            )
    return Note(STORES, message)


def not_noticed(outside: MembershipTimeline) -> tuple[Note, ...]:
    """Name the instances whose absence the group does not notice."""
    if not outside.unnoticed:
        return ()
    message = "Static members that return within session.timeout.ms never leave the group: only their tasks pause"
    return (Note("not-noticed", message, tuple(dict.fromkeys(outage.process_id for outage in outside.unnoticed))),)


def leavers_without_option(run: FinishedRun) -> tuple[Note, ...]:
    """Name the members that are assumed to leave, though ``leaveGroup`` of their release does not have them do so."""
    snapshot = run.snapshot
    if snapshot.group_protocol != "classic" or DYNAMIC_MEMBERS_LEAVE.is_in(snapshot.streams_version):
        return ()
    leave = STATIC_MEMBERS_LEAVE.is_in(snapshot.streams_version)
    not_removed_ids = {
        instance.process_id
        for instance in (*snapshot.state.group.instances, *run.group.instances)
        if not leave or any(consumer.group_instance_id is None for consumer in instance.consumers)
    }
    events = () if run.scenario is None else run.scenario.events
    leaver_ids = dict.fromkeys(
        process_id
        for event in events
        if isinstance(event, Leave) or (isinstance(event, Bounce) and event.leaves and not event.static)
        for process_id in event.process_ids
        if process_id in not_removed_ids
    )
    if not leaver_ids:
        return ()
    message = (
        "Instances are assumed to close with internal.leave.group.on.close=true: before 4.2 leaveGroup works for "
        "static members alone, and others are missed after session.timeout.ms"
        if leave
        else "Instances are assumed to close with internal.leave.group.on.close=true, and static members to be removed "
        "by an admin client: before 3.3 there is no leaveGroup, and others are missed after session.timeout.ms"
    )
    return (Note("leaves-dynamically", message, tuple(leaver_ids)),)


def late_stops(outside: MembershipTimeline) -> tuple[Note, ...]:
    """Name the stops that wait for the end of a rebalance, as a default close does."""
    if not outside.late_stops:
        return ()
    stops = [f"the stop at {duration(stop.at_ms)} happens at {duration(at_ms)}" for stop, at_ms in outside.late_stops]
    message = f"A default close waits for the end of a rebalance: {name_list(stops, 3)}"
    return (Note("stop-waits", message, tuple(name for stop, _ in outside.late_stops for name in stop.process_ids)),)


def emptied(outside: MembershipTimeline) -> tuple[Note, ...]:
    """Warn of those whose crash took state that they have to restore before anybody assigns them anything."""
    if not outside.emptied:
        return ()
    message = (
        "Static members keep their tasks after a crash that took their state, and restore it first. That time is in "
        "no figure here: neither in their pauses nor in when their copies are caught up"
    )
    return (Note(RESTORES_UNNOTICED, message, outside.emptied),)


def maybe_restoring(doubts: Sequence[CopyDoubt]) -> tuple[Note, ...]:
    """Warn of the tasks that may not run yet: whether their active copies have been restored is unknown."""
    tasks = tuple(dict.fromkeys(str(doubt.task_id) for doubt in doubts if doubt.active))
    if not tasks:
        return ()
    subject = f"{len(tasks)} tasks" if len(tasks) > 1 else "1 task"
    message = f"{subject} may not run yet after a cold start: whether all state is restored is unknown"
    return (Note(MAYBE_RESTORING, message, tasks),)


def input_behind(snapshot: Snapshot) -> tuple[Note, ...]:
    """Warn that tasks have more of their input to process than copies may lack: these fall behind by it meanwhile."""
    limit, tasks = snapshot.config.acceptable_recovery_lag, snapshot.state.group.tasks
    input_lags = {task: lag for task, lag in snapshot.input_lags.items() if snapshot.unwritten.get(task, 0) > limit}
    if not input_lags:
        return ()
    most = max(input_lags, key=lambda task: input_lags[task])
    message = (
        f"The group has a backlog of input: {sum(input_lags.values()):,} records of {len(input_lags)} stateful tasks "
        f"are not processed yet, up to {input_lags[most]:,} ({tasks[most].task_id}). Copies fall behind by what is "
        "written meanwhile, and how long that takes is unknown"
    )
    return (Note(INPUT_BEHIND, message, tuple(str(tasks[task].task_id) for task in sorted(input_lags))),)


def after_crashes(crashed: Sequence[str], snapshot: Snapshot) -> tuple[Note, ...]:
    """Name the instances that come back from a crash, with what is assumed of their state."""
    if not crashed or snapshot.group_protocol == "connect":
        return ()
    release = "" if snapshot.streams_version is None else f" ({snapshot.streams_version})"
    lost_records = snapshot.lost_in_crash
    if snapshot.offsets_in_stores:
        message = (
            f"State is assumed to be lost in a crash: since 4.3{release} offsets are inside the stores, and what was "
            "not flushed is gone (return: {state: kept} assumes otherwise)"
        )
    else:
        kept_state = (
            f"all but up to {lost_records:,} records of each task" if lost_records else "the state of the last commit"
        )
        message = (
            f"A crash is assumed to keep {kept_state}, the last checkpoint: before 4.3{release} offsets are beside the "
            "stores. With exactly-once it keeps nothing (return: {state: lost})"
        )
    return (Note("state-after-crash", message, tuple(crashed)),)


def led_by_restarted(events: Sequence[Event], outside: MembershipTimeline) -> tuple[Note, ...]:
    """Say from when the settings of restarted members apply, if there are any."""
    if not any(isinstance(event, Bounce) and event.settings for event in events):
        return ()
    sentences = ["New settings of restarted members apply from the rebalance in which one of them leads"]
    if outside.is_next_leader_unknown:
        sentences.append(
            "when the leader has left, the group elects any member, here the one that has been in it longest"
        )
    if any(isinstance(event, Bounce) and event.settings and event.static for event in events):
        sentences.append(
            "a static leader that restarted unnoticed brings its settings to the next rebalance; here they apply from "
            "the next change of members, though an earlier decision has them too"
        )
    return (Note("restarted-leader", "; ".join(sentences)),)


def version_probing(events: Sequence[Event], snapshot: Snapshot) -> tuple[Note, ...]:
    """Name the rolls to a release with another subscription version: its version probing is not modelled."""
    leading, rolls = snapshot.streams_version, []
    for event in events:
        release = dict(event.settings).get("release") if isinstance(event, Bounce) else None
        if isinstance(release, str):
            if leading is not None and subscription_version(release) != subscription_version(leading):
                rolls.append(f"{leading} to {release}")
            leading = release
    if not rolls:
        return ()
    message = (
        f"Version probing is not modelled ({', '.join(rolls)}): a leader of the older release cannot read members of "
        "the newer one and counts them all as one instance without state; they take nothing and join again at once, so "
        "that a rebalance in which one comes back may come twice"
    )
    return (Note("version-probing", message),)


def assumed_release(design: Design, run: FinishedRun) -> tuple[Note, ...]:
    """Name the release that is assumed, where it is unknown and matters."""
    if not (run.rounds and design.differs_by_release and run.snapshot.streams_version is None):
        return ()
    message = f"The release is unknown: {NEWEST[0]}.{NEWEST[1]} is assumed (--set release=3.9.1)"
    return (Note(RELEASE_ASSUMED, message),)


def led_by_release(settings: Sequence[tuple[int, AssignmentConfig]], snapshot: Snapshot) -> tuple[Note, ...]:
    """Name the rebalances from which on a leader of another release decides, by its rules."""
    changes, previous_release = [], snapshot.streams_version
    for number, config in settings:
        release = config.release or snapshot.streams_version
        if release != previous_release:
            changes.append(f"from rebalance {number} on a leader of {release or 'an unknown release'} decides")
        previous_release = release
    if not changes:
        return ()
    message = "; ".join(changes)
    return (Note("led-by-release", message[0].upper() + message[1:]),)


def _doubts_note(
    doubts: Sequence[CopyDoubt], since_unknown: str, snapshot: Snapshot, now_ms: int, ready: Ready
) -> Note:
    """Name the copies that may or may not have caught up, whether they count as caught up, and what rate is enough."""
    is_plural = len(doubts) > 1
    caught_up = [ready == "all" or (ready == "likely" and doubt.is_likely_ready) for doubt in doubts]
    are, pronoun = ("count", "they") if is_plural else ("counts", "it")
    part = f"{sum(caught_up):,} of them {'count' if sum(caught_up) > 1 else 'counts'} as caught up"
    counts = (
        part if 0 < sum(caught_up) < len(doubts) else f"{pronoun} {are} as {'not ' * (not any(caught_up))}caught up"
    )
    tasks = tuple(dict.fromkeys(str(doubt.task_id) for doubt in doubts))
    limit = snapshot.config.acceptable_recovery_lag
    rate, taken_ms = _deciding_rate(doubts, limit), snapshot.captured_at_ms
    if rate is None or taken_ms is None:
        since_when = f", {since_unknown}" if any(doubt.since_ms is None for doubt in doubts) else ""
        subject = f"Whether {count(len(doubts), 'copy has', 'copies have')} caught up is unknown ({name_list(tasks)})"
        return Note(MAYBE_READY, f"{subject}{since_when}: {counts}", tasks)
    amounts = [doubt.records for doubt in doubts if doubt.records is not None]
    first_ms, *later_ms = sorted({doubt.since_ms for doubt in doubts if doubt.since_ms is not None})
    since_when = "when last known" if later_ms else f"at {_clock(taken_ms + now_ms + first_ms)}"
    bound = "up to " if len(set(amounts)) > 1 else ""
    bound = bound if any(_was_reported(doubt, snapshot) for doubt in doubts) else "never reported: at most "
    lag_text = f"{bound}{count(max(amounts), 'record')} behind {since_when}"
    decision_time = _clock(taken_ms + now_ms + doubts[0].to_ms)
    subject = f"Whether {count(len(doubts), 'copy has', 'copies have')} caught up by {decision_time} is unknown"
    restores = "their instances restore" if is_plural else "its instance restores"
    enough = f"{'they have' if is_plural else 'it has'} if {restores} at least {count(rate, 'record')}/s"
    return Note(MAYBE_READY, f"{subject} ({name_list(tasks)}, {lag_text}): {counts}; {enough}", tasks)


def _was_reported(doubt: CopyDoubt, snapshot: Snapshot) -> bool:
    group = snapshot.state.group
    instance = group.instance_index.get(doubt.process_id)
    lag = None if instance is None else reported_lag(snapshot, group.task_index[doubt.task_id], instance)
    return lag not in (None, UNKNOWN)


def _clock(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M:%S} UTC"


def _deciding_rate(doubts: Sequence[CopyDoubt], limit: int) -> int | None:
    """Return how many records per second each instance has to restore; ``None``: not known.

    The instance that has to restore most decides, from the last time that anything is known of its copies: what they
    had to restore then, they had to since. They share its rate evenly, as in ``why``, until the largest is within the
    ``limit``.
    """
    of_instance: dict[str, list[CopyDoubt]] = {}
    for doubt in doubts:
        of_instance.setdefault(doubt.process_id, []).append(doubt)
    rates = []
    for copies in of_instance.values():
        for doubt in copies:
            if doubt.records is None or doubt.since_ms is None or doubt.to_ms <= doubt.since_ms:
                return None
        since_ms = max(doubt.since_ms for doubt in copies if doubt.since_ms is not None)
        amounts = [doubt.records for doubt in copies if doubt.records is not None]
        share = max(*amounts, limit + 1) - limit
        records = sum(min(amount, share) for amount in amounts)
        rates.append(ceil(records * 1000 / (copies[0].to_ms - since_ms)))
    return max(rates)


def _unmeasured(snapshot: Snapshot) -> tuple[str, ...]:
    """Return who counts as restoring like the others, because only theirs was measured."""
    rates, instances = snapshot.rates, snapshot.state.group.instances
    if not rates.restore or rates.restore_per_instance is not None:
        return ()
    measured_instances = rates.restore.keys() | rates.restore_of.keys()
    return tuple(instance.process_id for i, instance in enumerate(instances) if i not in measured_instances)
