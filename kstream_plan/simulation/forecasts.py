"""What it rests on that a copy counts as caught up which was behind when it was last heard of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.reported_lag import reported_lag


class Basis(StrEnum):
    """Why a copy counts as caught up; the first that holds."""

    GIVEN = "rate-given"
    MEASURED = "rate-measured"
    BOUND = "rate-bound"
    AGE = "age"
    NOTHING = "not-reported"


def forecasts(snapshot: Snapshot, starts: Iterable[tuple[int, int]]) -> Mapping[Basis, Sequence[tuple[int, int]]]:
    """Return what tasks, as (task, instance), rest on that start warm on copies that were not caught up when reported.

    A rate that an option gives beats one that was measured, of this instance or of others, and this one a bound.
    """
    rates, found = snapshot.rates, dict[Basis, list[tuple[int, int]]]()
    for task, instance in starts:
        reported = reported_lag(snapshot, task, instance)
        whole = snapshot.state.group.tasks[task].end_offset_sum
        if is_caught_up(whole if reported is None else reported, snapshot.config.acceptable_recovery_lag):
            continue
        if reported is None and snapshot.group_protocol == "streams":
            basis = Basis.NOTHING
        elif rates.restore_per_instance is not None or instance in rates.restore_of:
            basis = Basis.GIVEN
        elif rates.restore:
            basis = Basis.MEASURED
        elif instance in rates.restore_at_least:
            basis = Basis.BOUND
        else:
            basis = Basis.AGE
        found.setdefault(basis, []).append((task, instance))
    return found


def doubtful(snapshot: Snapshot, found: Mapping[Basis, Sequence[tuple[int, int]]]) -> tuple[Note, ...]:
    """Return why some of these tasks may start cold: neither the usual rate nor time alone is a promise."""
    notes = []
    if aged := found.get(Basis.AGE, ()):
        message = "These tasks start warm only if their copies, which are behind or were not measured, catch up by then"
        notes.append(Note("not-measured-warm", message, _tasks(snapshot, aged)))
    if seats := found.get(Basis.MEASURED, ()):
        notes.append(Note("forecast", _usual(snapshot, seats), _tasks(snapshot, seats)))
    if seats := found.get(Basis.NOTHING, ()):
        message = (
            "Nothing tells how far behind the copies of these tasks are: a streams group runs them whether they have "
            "caught up or not. --metrics and --lags tell, and brokers of 4.4"
        )
        notes.append(Note(Basis.NOTHING, message, _tasks(snapshot, seats)))
    return tuple(notes)


def _usual(snapshot: Snapshot, seats: Sequence[tuple[int, int]]) -> str:
    rates = [rate for _, instance in seats if (rate := snapshot.rates.restore_rate(instance)) is not None]
    others = any(instance not in snapshot.rates.restore for _, instance in seats)
    return (
        f"These tasks start warm only if their copies, which are behind, go on being restored as was measured in the "
        f"middle, {_span(rates)} records/s per instance{' (of others, where none was measured)' if others else ''}"
    )


def relied_on(snapshot: Snapshot, found: Mapping[Basis, Sequence[tuple[int, int]]]) -> tuple[Note, ...]:
    """Return what is taken for granted of tasks that start warm on copies which were behind when last heard of."""
    notes = []
    rates = snapshot.rates
    for basis, seats in sorted(found.items()):
        if basis is Basis.GIVEN:
            given = [rate for _, instance in seats if (rate := rates.restore_rate(instance)) is not None]
            why = f"the restore rate that is given, {_span(given)} records/s per instance"
        elif basis is Basis.BOUND:
            least = [rates.restore_at_least[instance] for _, instance in seats]
            why = f"the least that their instances were seen to restore, {_span(least)} records/s"
        else:
            continue
        message = f"That the copies of these tasks, behind when last heard of, have caught up rests on {why}"
        notes.append(Note(basis, message, _tasks(snapshot, seats)))
    return tuple(notes)


def _span(rates: Sequence[float]) -> str:
    least, most = f"{min(rates):,.0f}", f"{max(rates):,.0f}"
    return least if least == most else f"{least} to {most}"


def _tasks(snapshot: Snapshot, seats: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(str(snapshot.state.group.tasks[task].task_id) for task, _ in seats)
