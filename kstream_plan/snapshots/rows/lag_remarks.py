"""The remarks beside the figures of a lag history: instances that fall behind or are silent, and how to see more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kstream_plan.model import Note
from kstream_plan.model.note import Remarks, name_list
from kstream_plan.model.times import duration
from kstream_plan.snapshots.rows.lag_course import InstanceCourse, LagCourse

#: Such a part of a process id is enough to tell instances apart, nearly always.
_SHORT = 8
#: A history that fills no more steps is hardly seen.
FEW_STEPS = 2


def lag_remarks(course: LagCourse) -> Remarks:
    """Return the remarks beside the figures of a lag history."""
    names = instance_names(course.instances)
    notes = [Note("plan-with-lags", "To plan from these lags, give them to assign, with a snapshot: --metrics")]
    over_ms = (course.length_ms // 60_000 + 1) * 60_000
    if course.reported_steps > FEW_STEPS or over_ms >= course.until_ms - course.since_ms:
        return Remarks(tuple(_warnings(course, names)), tuple(notes))
    notes.insert(0, Note("short-history", "The history is short: the next command shows it in finer steps"))
    command = f"kstream-plan history LAGS --set over={duration(over_ms)}"
    return Remarks(tuple(_warnings(course, names)), tuple(notes), next=(Note("finer-steps", command),))


def instance_names(instances: Sequence[InstanceCourse]) -> dict[str, str]:
    """Return short forms of process ids that tell them apart."""
    ids = [instance.process_id for instance in instances]
    short = {name: f"{name[:_SHORT]}…" if len(name) > _SHORT + 1 else name for name in ids}
    return short if len(set(short.values())) == len(ids) else {name: name for name in ids}


def _warnings(course: LagCourse, names: Mapping[str, str]) -> Iterator[Note]:
    lagging_instances = [instance for instance in course.instances if instance.most_behind is not None]
    if lagging_instances:
        instances_text = name_list(
            [f"{names[instance.process_id]} ({_copies_behind(instance)})" for instance in lagging_instances]
        )
        subjects = tuple(instance.process_id for instance in lagging_instances)
        yield Note("copies-fall-behind", f"Copies fall behind on {instances_text}", subjects)
    silent = [instance for instance in course.instances if instance.is_silent]
    if silent:
        instances_text = name_list(
            [f"{names[instance.process_id]} for {duration(course.until_ms - instance.heard_ms)}" for instance in silent]
        )
        consequence = "it may be gone, and its last lag counts"
        if len(silent) > 1:
            consequence = "they may be gone, and their last lags count"
        subjects = tuple(instance.process_id for instance in silent)
        yield Note("silent-instances", f"No reports from {instances_text}: {consequence}", subjects)


def _copies_behind(instance: InstanceCourse) -> str:
    """Return how many copies fall behind, and which one most."""
    task_id, growth = instance.most_behind or ("", 0)
    noun = "copy" if instance.copies == 1 else "copies"
    return f"{instance.copies_behind:,} of {instance.copies:,} {noun}, most {task_id} by {growth:,} records"
