"""The fields of a plan's JSON for members, tasks, settings and holdings, and for the group at the plan's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from kstream_plan.documents.codec import (
    NUMBER,
    TEXT,
    WHOLE,
    Codec,
    WrongValueError,
    list_of,
    mapping_of,
    or_null,
    parsed_text,
    with_name,
)
from kstream_plan.documents.records import Codecs, Field
from kstream_plan.errors import ConfigError
from kstream_plan.model import Consumer, Instance, ItemName, Note, Partition, Task, WorkId, work_id
from kstream_plan.model.settings import (
    CONNECT_GROUP_ONLY,
    MAX_LONG,
    RACK_STRATEGIES,
    RANGES,
    STREAMS_GROUP_ONLY,
    AssignmentConfig,
)
from kstream_plan.plans.end import EndConsumer, EndCopy, EndInput, EndInstance, EndRate, EndTask, PlanEnd


class TaskDocument(NamedTuple):
    """A task."""

    task_id: WorkId
    stateful: bool
    end_offset_sum: int | None
    topics: tuple[str, ...]


class TaskIdsByRole(NamedTuple):
    """What a consumer holds: task ids by role."""

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]
    temporary: tuple[str, ...]


class InstanceHolding(NamedTuple):
    """What an instance holds: task ids by role, and the same for each of its consumers by id."""

    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]
    temporary: tuple[str, ...]
    consumers: Mapping[str, TaskIdsByRole]


#: By process id.
HoldingsDocument: TypeAlias = Mapping[str, InstanceHolding]


class TargetTasks(NamedTuple):
    """What an instance runs and copies in the end: task ids."""

    active: tuple[str, ...]
    standby: tuple[str, ...]


def _config(**settings: Any) -> AssignmentConfig:
    try:
        return AssignmentConfig(**settings)
    except ConfigError as error:
        raise WrongValueError(f"does not hold: {error.what}") from None


def _setting(low: int, high: int) -> Codec[int]:
    """Return the codec of a setting; the settings themselves tell what is out of range."""
    return replace(WHOLE, schema={"type": "integer", "minimum": low, "maximum": high})


def _task(task_id: WorkId, stateful: bool, end_offset_sum: int | None, topics: tuple[str, ...]) -> Task:
    if topics and isinstance(task_id, ItemName):
        raise WrongValueError(f"exist, but {str(task_id)!r} is not a task id", ".topics")
    if len(topics) > 1 and len(set(topics)) < len(topics):
        raise WrongValueError("name a topic twice", ".topics")
    sources = () if isinstance(task_id, ItemName) else [Partition(topic, task_id.partition) for topic in topics]
    return Task(
        task_id=task_id,
        stateful=stateful,
        end_offset_sum=MAX_LONG if end_offset_sum is None else end_offset_sum,
        end_offset_known=end_offset_sum is not None,
        source_partitions=tuple(sources),
    )


def _tags(tags: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(tags.items())


_TASK_ID = with_name(
    "task_id",
    parsed_text(
        work_id,
        str,
        description="subtopology_partition, with a named topology name__subtopology_partition; in a group that is not "
        "a Kafka Streams application, the name of the item.",
        minLength=1,
    ),
)
#: Task ids that are looked up among the plan's tasks, all at once.
_TASK_IDS = list_of(replace(TEXT, schema=_TASK_ID.schema, defs=_TASK_ID.defs))
_TEXTS_BY_NAME: Codec[Any] = mapping_of(TEXT)

_SETTINGS: dict[str, Any] = {name: _setting(*bounds) for name, bounds in RANGES.items()}
_OF_STREAMS_GROUP: dict[str, Any] = {
    name: Field(description="Only for a streams group.", default=None, left_out=True) for name in STREAMS_GROUP_ONLY
} | {name: Field(description="Only for a Connect group.", default=None, left_out=True) for name in CONNECT_GROUP_ONLY}

FORM = Codecs()
FORM.add(WorkId, _TASK_ID)
FORM.record(
    AssignmentConfig,
    "Every setting, resolved; Kafka's names with _ for dots, milliseconds for _ms.",
    ref="config",
    make=_config,
    **_SETTINGS,
    **_OF_STREAMS_GROUP,
    release=Field(
        description="Only where the leader runs another release of Kafka than the group began with.",
        default=None,
        left_out=True,
    ),
    rack_aware_assignment_strategy=replace(TEXT, schema={"enum": list(RACK_STRATEGIES)}),
)
NOTE = FORM.record(
    Note, ref="note", code="Stable name of this kind of note.", subjects="Tasks or instances it is about."
)
TASK = FORM.add(
    Task,
    FORM.record(
        TaskDocument,
        make=_task,
        end_offset_sum=Field(
            description="Sum of the changelogs' end offsets in records, 0 for a stateless task; null if unknown.",
            get=lambda task: task.end_offset_sum if task.end_offset_known else None,
        ),
        topics=Field(
            description="Source topics.",
            get=lambda task: dict.fromkeys(partition.topic for partition in task.source_partitions),
        ),
    ),
)
FORM.record(Consumer)
FORM.record(
    Instance,
    consumers="One per stream thread.",
    client_tags=replace(_TEXTS_BY_NAME, read=lambda value: _tags(_TEXTS_BY_NAME.read(value)), write=dict),
)

_ROLES: dict[str, Any] = {
    "active": _TASK_IDS.described("Tasks it runs."),
    "standby": _TASK_IDS.described("Standby copies, counted by num.standby.replicas."),
    "warmup": _TASK_IDS.described("Warm-up copies, which prepare a move, limited by max.warmup.replicas."),
    "temporary": _TASK_IDS.described(
        "Active tasks withheld from it until their owner has revoked them, held as standbys meanwhile."
    ),
}
FORM.record(TaskIdsByRole, ref="by_role", **_ROLES)
FORM.record(InstanceHolding, consumers="By consumer id.", **_ROLES)
FORM.add(
    HoldingsDocument,
    with_name(
        "holdings",
        mapping_of(FORM.codec_of(InstanceHolding)).described(
            "By process id: the instance's tasks by role, and the same for each of its consumers."
        ),
    ),
)
FORM.record(TargetTasks, active=_TASK_IDS, standby=_TASK_IDS)


_MAYBE = or_null(WHOLE)
_RATE = replace(NUMBER, schema={"type": "number", "minimum": 0})

FORM.record(Partition, racks="Racks of its replicas; null if unknown.")
FORM.record(EndConsumer, "What it was assigned at the last decision.")
FORM.record(
    EndInstance,
    started_ms=_MAYBE.described("When it started, on the plan's clock; null if unknown."),
)
FORM.record(
    EndCopy,
    lag=_MAYBE.described("As reported: records, -2 (running), -3 (unknown), null (nothing)."),
    to_restore="Where that differs from what was reported.",
    consumer_ids="The consumers that reported it.",
    since_ms=_MAYBE.described("When it was assigned or left over there, on the plan's clock; null if unknown."),
    made_ms=_MAYBE.described("When it was created; null if unknown."),
)
FORM.record(EndRate, of="A process id, or a task id.", per_second=_RATE)
FORM.record(EndTask)
FORM.record(EndInput, records="Records that its changelogs grow by once the input is processed.")
END = FORM.record(
    PlanEnd,
    "The group at the last decision: what is needed to plan on from there (show --as-snapshot) and is not in "
    "the rounds. Times are on the plan's clock.",
    begins_at="When the plan begins, RFC 3339 in UTC; null if unknown.",
    at_ms=WHOLE.described("When the last decision was made."),
    goes_on="Whether anything was decided in the plan.",
    to_come="Number of external changes after the plan's end.",
    copies="All copies but running ones that only their owner reported.",
    restore="By instance.",
    produce="By task.",
    tasks=Field(
        description="Partitions with their racks, where those decide; left out if they do not.",
        default=(),
        left_out=True,
    ),
    unprocessed=Field(
        description="Input that waits while its task restores, or that the snapshot had; left out if there is none.",
        default=(),
        left_out=True,
    ),
    stores=Field(
        description="Where the stores of tasks are; left out if that is unknown.",
        default=None,
        left_out=True,
    ),
)
