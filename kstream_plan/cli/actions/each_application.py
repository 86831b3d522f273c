"""The work of a command, one application after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kstream_plan.cli.actions.overrides import Overrides
from kstream_plan.errors import KstreamPlanError, SnapshotError
from kstream_plan.model import Snapshot

T = TypeVar("T")


@dataclass(slots=True)
class Work(Generic[T]):
    """What came of every application that could be worked on, and the errors of the others."""

    results: list[T] = field(default_factory=list)
    errors: list[KstreamPlanError] = field(default_factory=list)

    def __iadd__(self, other_work: Work[T]) -> Work[T]:
        self.results += other_work.results
        self.errors += other_work.errors
        return self


def each_application(
    outcomes: Sequence[Snapshot | SnapshotError],
    settings: Overrides,
    work_on: Callable[[Snapshot, int], T],
    *,
    keep_going: bool,
) -> Work[T]:
    """Call ``work_on`` for each snapshot under the settings, with how many came before it.

    Whatever goes wrong with an application names it; with ``keep_going`` it does not stop the others.
    """
    work: Work[T] = Work()
    settings.files.check_used([application_id_of(outcome) for outcome in outcomes])
    for number, outcome in enumerate(outcomes):
        try:
            if isinstance(outcome, KstreamPlanError):
                raise outcome
            work.results.append(work_on(settings.apply(outcome), number))
        except KstreamPlanError as error:
            if isinstance(outcome, Snapshot):
                error.came_up_in(outcome.state.group.application_id)
            if not keep_going:
                raise
            work.errors.append(error)
    return work


def application_id_of(outcome: Snapshot | SnapshotError) -> str:
    """Return whose snapshot it is, or would be; empty if that cannot be told."""
    return outcome.state.group.application_id if isinstance(outcome, Snapshot) else outcome.application_id or ""
