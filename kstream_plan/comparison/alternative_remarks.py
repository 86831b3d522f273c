"""Warnings, notes and assumptions of alternatives, each line once, with those that have it; and what to try next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from math import prod

from kstream_plan.comparison.alternatives import Change, SameOutcome, fastest
from kstream_plan.model import Note
from kstream_plan.model.note import Remarks
from kstream_plan.model.settings import CONFIG_NAMES, SETTINGS_IN_FORCE
from kstream_plan.plans.note_codes import STATELESS_MOVES
from kstream_plan.plans.rebalance_events import events, totals
from kstream_plan.plans.remarks import change_option, remarks
from kstream_plan.snapshots.rows.fields import printable

#: Settings whose purpose is safety: a plan that is faster with less of it is no better.
_SAFETY = {
    "num.standby.replicas": "standbys are what lets tasks start warm after a crash",
    "acceptable.recovery.lag": "a copy may be so far behind when its task starts on it, and restores before it runs",
    "session.timeout.ms": "a shorter time-out takes slow members for crashed ones, a longer one notices crashes later",
}

#: What is varied and has an option of its own; every other setting is one of ``--set``.
_OWN_OPTIONS = (
    "acceptable_recovery_lag",
    "max_warmup_replicas",
    "num_standby_replicas",
    "probing_rebalance_interval_ms",
)
_MAX_LEARNERS = "max_learners"


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
            if (having := tuple(same for same in outcome.alternatives if note in same.plan.assumptions))
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


def next_command(outcomes: Sequence[SameOutcome]) -> Iterator[Note]:
    """Yield the command that shows the fastest alternative in full, else the first one if it keeps to the policy."""
    alternative = (fastest(outcomes) or outcomes)[0].alternative
    if alternative.keeps_policy is False:
        return
    changes, change = alternative.changes, change_option(alternative.plan)
    names = [change.name.replace(".", "_") for change in changes]
    if names == ["plan"]:
        if changes[0].value.isprintable():
            yield Note("in-full", f"kstream-plan show {shlex.quote(changes[0].value)}")
    elif change is not None and {*names} <= {*CONFIG_NAMES, "assignor", "design", "protocol", _MAX_LEARNERS}:
        words = " ".join(filter(None, (change_words(setting, changes) for setting in changes)))
        command = "simulate-scaleout" if change else "assign"
        yield Note("in-full", f"kstream-plan {command} SNAPSHOT{change} {words}")


def change_words(change: Change, changes: Sequence[Change]) -> str:
    """Return the option for a change; empty: the option of another change includes it."""
    name, values = change.name.replace(".", "_"), {setting.name: setting.value for setting in changes}
    design, learners = values.get("design", "learner"), values.get("max.learners")
    if name == _MAX_LEARNERS:
        return f"--design learner:max.learners={learners}" if design == "learner" else ""
    if name == "design":
        return "" if change.value == "learner" and learners is not None else f"--design {shlex.quote(change.value)}"
    if name in _OWN_OPTIONS:
        return f"--{name.removesuffix('_ms').replace('_', '-')} {shlex.quote(change.value)}"
    return f"--set {shlex.quote(f'{change.name}={change.value}')}"
