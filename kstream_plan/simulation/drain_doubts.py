"""Why starts that count as warm may be cold, and what those rest on whose copies were behind: in words, for people."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.times import format_time
from kstream_plan.plans.caught_up_evidence import Evidence, Fact, Known, UnprovenStart, unsaid_of

#: The code of what is taken for granted of copies that were behind: the restore rate that is given.
RATE_GIVEN = "rate-given"

#: What is known of the copies that several tasks start from, by the fact that decides it.
_MESSAGES = {
    Fact.OLD_REPORT: "Copies may be behind by now: they were last heard of {when}",
    Fact.HEARD_LATER: "Copies were first reported {when}, after the time that counts as now: that proves nothing "
    "about now",
    Fact.UNDATED: "{unsaid}: how old reports of copies are is unknown",
    Fact.NOT_MEASURED: "The measurements (--metrics) say nothing of copies that were last heard of {when}",
    Fact.FORECAST: "Starts are warm only if copies, which were behind in their last report, {when}, are "
    "restored at the measured rate",
    Fact.RATES: "At the given restore rate the copies have caught up by then; at the part of it that one thread gets "
    "they have not",
    Fact.LEAST_LAG: "Only a lower bound of how far copies are behind is known",
    Fact.INPUT_BEHIND: "Tasks still work off a backlog of input, and copies fall behind by what they write",
    Fact.NOT_REPORTED: "Copies were never reported{bound} (--metrics would tell{brokers})",
    Fact.LEFT_OVER: "Starts depend on left-over state, which state.cleanup.delay.ms may have deleted by then",
    Fact.STORES_UNKNOWN: "Whether stores are persistent or in memory is unknown (--set stores): those in memory are "
    "empty after a restart, and once their task was closed",
    Fact.IN_MEMORY: "Stores are in memory: a restart or a move leaves nothing of them",
    Fact.HEARTBEATS: "When members send heartbeats, or in which order the broker has them, is unknown: otherwise than "
    "assumed, tasks may start from copies that have not caught up",
    Fact.NEW_COPY: "The copy to start from does not exist yet, and how fast it catches up is unknown",
}
_MESSAGES[Fact.WITHIN_LIMIT] = (
    "Copies count as caught up, because they are within acceptable.recovery.lag in any case; "
    "how long they restore before their tasks run is unknown"
)
_BEHIND = "Copies are behind"


def doubts_of(snapshot: Snapshot, unproven: Sequence[UnprovenStart]) -> tuple[Note, ...]:
    """Return why these starts may be cold, one note for each fact."""
    by_fact: dict[tuple[Fact, bool], list[UnprovenStart]] = {}
    unsaid = unsaid_of(snapshot)
    unsaid = f"{unsaid[0].upper()}{unsaid[1:]}"
    for start in unproven:
        evidence = start.evidence
        by_fact.setdefault((evidence.fact, evidence.known is Known.BEHIND), []).append(start)
    notes = []
    brokers = ", and so would brokers and clients of 4.4" if snapshot.group_protocol == "streams" else ""
    for (fact, is_behind), starts in by_fact.items():
        template = _BEHIND if is_behind and fact is not Fact.IN_MEMORY else _MESSAGES.get(fact, _BEHIND)
        bound = _bound(snapshot, starts)
        message = template.format(when=_heard_text(snapshot, starts), unsaid=unsaid, brokers=brokers, bound=bound)
        notes.append(Note(fact.value, message, tuple(dict.fromkeys(str(start.task_id) for start in starts))))
    return tuple(notes)


def heard_at(snapshot: Snapshot, start: UnprovenStart) -> str | None:
    """Return when a copy was last heard of, as RFC 3339; ``None``: not known."""
    return None if snapshot.captured_at_ms is None else _heard_at(snapshot.captured_at_ms, start.evidence)


def _heard_at(captured_at_ms: int, evidence: Evidence) -> str | None:
    return None if evidence.heard_ms is None else format_time(captured_at_ms + evidence.heard_ms)


def _bound(snapshot: Snapshot, starts: Sequence[UnprovenStart]) -> str:
    """Return how far copies that were never reported are behind at most in the snapshot; empty: not known."""
    group = snapshot.state.group
    tasks = [group.tasks[group.task_index[start.task_id]] for start in starts]
    is_known = all(task.end_offset_known for task in tasks)
    return (
        f": at most {max(task.end_offset_sum for task in tasks):,} records behind in the snapshot" if is_known else ""
    )


def _heard_text(snapshot: Snapshot, starts: Sequence[UnprovenStart]) -> str:
    times = sorted(heard_time for start in starts if (heard_time := heard_at(snapshot, start)) is not None)
    if not times:
        return "at an unknown time"
    first, last = (f"{heard_time[:10]} {heard_time[11:19]} UTC" for heard_time in (times[0], times[-1]))
    return f"at {first}" if first == last else f"from {first} to {last}"


def rests_on(snapshot: Snapshot, seats: Sequence[tuple[int, int]]) -> tuple[Note, ...]:
    """Return what is taken for granted of copies, as (task, instance), that were behind and count as caught up."""
    rates = snapshot.rates
    given_rates = [
        (task, rate)
        for task, instance in seats
        if (rates.restore_per_instance is not None or instance in rates.restore_of)
        and (rate := rates.restore_rate(instance)) is not None
    ]
    if not given_rates:
        return ()
    least, most = (f"{end(rate for _, rate in given_rates):,.0f}" for end in (min, max))
    span = least if least == most else f"{least} to {most}"
    message = (
        "Copies were behind in their last report: that they have caught up depends on the given "
        f"restore rate, {span} records/s per instance"
    )
    tasks = tuple(str(snapshot.state.group.tasks[task].task_id) for task, _ in given_rates)
    return (Note(RATE_GIVEN, message, tasks),)
