"""Warnings, notes and assumptions of alternatives: each line once, with the alternatives that have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from kstream_plan.comparison.alternatives import Change, SameOutcome
from kstream_plan.comparison.next_command import next_command
from kstream_plan.model import Note
from kstream_plan.model.note import Remarks
from kstream_plan.model.settings import SETTINGS_IN_FORCE
from kstream_plan.plans.note_codes import STATELESS_MOVES
from kstream_plan.plans.rebalance_events import events, totals
from kstream_plan.plans.remarks import remarks
from kstream_plan.snapshots.rows.fields import printable

#: Settings whose purpose is safety: a plan that is faster with less of it is no better.
_SAFETY = {
    "num.standby.replicas": "standbys are what lets tasks start warm after a crash",
    "acceptable.recovery.lag": "a copy may be so far behind when its task starts on it, and restores before it runs",
    "session.timeout.ms": "a shorter time-out takes slow members for crashed ones, a longer one notices crashes later",
}


def settings_text(changes: Sequence[Sequence[Change]], *, with_names: bool = True) -> str:
    """Return several alternatives as one text: ``max.warmup.replicas=8 or 20, assignor=balanced``; else only values."""

    def text(values: Sequence[str]) -> str:
        pairs = zip(changes[0], values, strict=True)
        return ", ".join(f"{change.name}={value}" if with_names else value for change, value in pairs)

    if axes := _grid(changes):
        return text([" or ".join(axis) for axis in axes])
    return " or ".join(text([change.value for change in alternative]) for alternative in changes)


def _grid(changes: Sequence[Sequence[Change]]) -> list[tuple[str, ...]]:
    """Return the values of each axis if the alternatives are every combination of them, else nothing."""
    axes = [tuple(dict.fromkeys(change.value for change in axis)) for axis in zip(*changes, strict=True)]
    return axes if prod(map(len, axes)) == len(changes) else []


def outcome_name(outcome: SameOutcome) -> str:
    """Return the settings of the alternatives that come to the same."""
    return printable(settings_text([alternative.changes for alternative in outcome.alternatives]))


def compare_remarks(outcomes: Sequence[SameOutcome]) -> Remarks:
    """Return the warnings, notes and assumptions of all alternatives, each once, with the alternatives they are of.

    A line that several have in other words stands once for each of them: it is not the same. Numbers that differ
    stand in one note.
    """
    owners_by_kind: tuple[dict[Note, list[str]], ...] = ({}, {})
    names, stateless_moves = [outcome_name(outcome) for outcome in outcomes], []
    for name, outcome in zip(names, outcomes, strict=True):
        activities = events(outcome.alternative.plan)
        stateless_moves.append(totals(activities).stateless_at_probes)
        for owners, notes in zip(
            owners_by_kind, remarks(outcome.alternative.plan, activities, outcome.alternative.draws)[:2], strict=True
        ):
            for note in dict.fromkeys(notes):
                owners.setdefault(note, []).append(name)
    _in_one_note(owners_by_kind[1], STATELESS_MOVES, "Moves of stateless tasks at probes", names, stateless_moves)
    warnings, notes = (
        tuple(_of_alternatives(note, owners[note], len(outcomes)) for note in owners) for owners in owners_by_kind
    )
    assumptions = (*_assumptions(outcomes), *_in_force_at_once(outcomes))
    return Remarks((*_safety_warnings(outcomes), *warnings), notes, assumptions, tuple(next_command(outcomes)))


def _assumptions(outcomes: Sequence[SameOutcome]) -> Iterator[Note]:
    """Yield what alternatives take for granted: those that come to the same may differ in it."""
    alternatives = [alternative for outcome in outcomes for alternative in outcome.alternatives]
    for note in dict.fromkeys(note for alternative in alternatives for note in alternative.plan.assumptions):
        owners = [
            SameOutcome(having, outcome.fastest)
            for outcome in outcomes
            if (having := tuple(each for each in outcome.alternatives if note in each.plan.assumptions))
        ]
        is_of_all = sum(len(owner.alternatives) for owner in owners) == len(alternatives)
        yield note if is_of_all else _of_alternatives(note, [outcome_name(owner) for owner in owners], 0)


def _in_force_at_once(outcomes: Sequence[SameOutcome]) -> Iterator[Note]:
    """Yield that settings are planned as if they held from the beginning, where instances restart to get them."""
    first = outcomes[0].alternative
    if len(outcomes) > 1 and first.plan.design != "streams" and any("." in change.name for change in first.changes):
        yield Note("settings-at-once", SETTINGS_IN_FORCE)


def _safety_warnings(outcomes: Sequence[SameOutcome]) -> Iterator[Note]:
    """Yield the purpose of each safety setting that differs between alternatives."""
    for change in outcomes[0].alternative.changes if len(outcomes) > 1 else ():
        if change.name in _SAFETY:
            yield Note("safety-setting", f"{change.name} is there for safety: {_SAFETY[change.name]}")


def _in_one_note(
    owners: dict[Note, list[str]], code: str, label: str, names: Sequence[str], numbers: Sequence[int]
) -> None:
    """Replace the notes of a code by one that has the number of each alternative, if they are several."""
    notes = [note for note in owners if note.code == code]
    if len(notes) > 1:
        for note in notes:
            del owners[note]
        parts = (f"{number:,} with {name}" for name, number in zip(names, numbers, strict=True))
        owners[Note(code, f"{label}: {'; '.join(parts)}")] = list(names)


def _of_alternatives(note: Note, names: Sequence[str], number: int) -> Note:
    if len(names) == number:
        return note
    return note._replace(message=f"With {' and '.join(names)}: {note.message}")
