"""Snapshot and lag rows as they are written, field by field: what each is, may be and means.

From these types follow the JSON Schemas (``kstream-plan schema snapshot`` and ``lags``), the columns that Parquet files
may have, and what is checked when rows are read. A field without a default has to be there; ``None`` is null, which
means absent. How fields belong together only the readers know.

Annotations are evaluated with their classes: as texts they would cost every start some milliseconds more.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from kstream_plan.model.settings import MAX_LONG
from kstream_plan.model.snapshot import Stores
from kstream_plan.snapshots.rows.fields import RFC_3339


class Says:
    """What a JSON Schema says of a value beside its type; ``not_`` stands for ``not``."""

    __slots__ = ("keywords",)

    def __init__(self, **keywords: Any) -> None:
        self.keywords = {name.removesuffix("_"): value for name, value in keywords.items()}


class KeyedBy:
    """Of a list: the field with a name, by which it may be an object instead."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class LagSource(StrEnum):
    """Where a lag is from: the report at the last join, or what the application's own metrics said later.

    Of metrics without end offsets only the least that a copy is behind is known.
    """

    JOIN = "join"
    METRICS = "metrics"
    METRICS_AT_LEAST = "metrics, at least"


#: Tells a time from other texts.
TIME = Says(pattern=f"^{RFC_3339}$")
#: Tells a number of records, or one of Kafka's markers, from other numbers.
MARKED = Says(minimum=-3, maximum=MAX_LONG, not_={"const": -1})

Name: TypeAlias = Annotated[str, Says(minLength=1)]
TaskName: TypeAlias = Annotated[
    str,
    Says(minLength=1, pattern="^(.+__)?[0-9]+_[0-9]+$"),
    "subtopology_partition, with a named topology name__subtopology_partition.",
]
TaskNames: TypeAlias = tuple[TaskName, ...]
Time: TypeAlias = Annotated[str, TIME]
Whole: TypeAlias = Annotated[int, Says(minimum=0, maximum=MAX_LONG)]
#: An item of a connector, -1 for the connector itself; or a generation, -1 for none.
WholeOrMinusOne: TypeAlias = Annotated[int, Says(minimum=-1, maximum=MAX_LONG)]
Records: TypeAlias = Annotated[int, MARKED]
PerSecond: TypeAlias = Annotated[float, Says(minimum=0), "Records per second."]


class Settings(Mapping[str, Any]):
    """Settings by Kafka's names with ``_`` for ``.``, of any kind of group."""


class NewerRebalance(NamedTuple):
    """What begins after the snapshot and cannot be read."""

    place: Annotated[Name, "Where in the logs."]
    at: Annotated[Time | None, "When, RFC 3339."] = None


class ItemState(NamedTuple):
    """The state of a connector or of one of its tasks."""

    item: Annotated[WholeOrMinusOne | None, "Number of the task; -1 (the default) for the connector itself."] = None
    state: Annotated[str | None, "As Connect names it."] = None


class Connector(NamedTuple):
    """A connector of a Connect group."""

    name: Annotated[Name, "Its name."]
    task_count: Annotated[Whole, "Number of its tasks that are configured."]
    type: Annotated[str | None, "Source or sink."] = None
    states: Annotated[tuple[ItemState, ...] | None, "For items, -1 for the connector itself: FAILED gives a note."] = (
        None
    )


class SourcePartition(NamedTuple):
    """A partition that a task reads."""

    topic: Annotated[Name, "Its topic."]
    partition: Annotated[Whole, "Its number."]
    racks: Annotated[
        tuple[str | None, ...] | None, "The racks of the partition's replicas; null where a rack is unknown."
    ] = None


class ChangelogPartition(NamedTuple):
    """A partition that a task restores from."""

    topic: Annotated[Name, "Its topic."]
    partition: Annotated[Whole, "Its number."]
    racks: Annotated[
        tuple[str | None, ...] | None, "The racks of the partition's replicas; null where a rack is unknown."
    ] = None
    end_offset: Annotated[Whole | None, "The partition's end offset."] = None


class Task(NamedTuple):
    """A task of the topology."""

    task_id: TaskName
    stateful: Annotated[bool | None, "Default: whether it has a changelog, an end offset or a lag row."] = None
    end_offset_sum: Annotated[
        Whole | None,
        "The sum of its changelogs' end offsets. Default: the sum over changelog_partitions, else over the lag rows' "
        "end_offset; 2^63-1 replaces an unknown one.",
    ] = None
    input_lag: Annotated[
        Whole | None,
        "The records of its source partitions that were not processed yet when the snapshot was taken. Default: "
        "unknown.",
    ] = None
    source_partitions: Annotated[tuple[SourcePartition, ...] | None, "What it reads."] = None
    changelog_partitions: Annotated[tuple[ChangelogPartition, ...] | None, "What it restores from."] = None


class ByRole(NamedTuple):
    """Tasks of a member of a streams group, by role."""

    active: Annotated[TaskNames | None, "Active tasks."] = None
    standby: Annotated[TaskNames | None, "Standby tasks."] = None
    warmup: Annotated[TaskNames | None, Says(maxItems=0), "Empty: brokers place no warm-ups."] = None


class TaskOffset(NamedTuple):
    """An offset that a member of a streams group reported."""

    task_id: Annotated[Name, "The task."]
    offset: Annotated[Whole, "How far its copy is."]


class Consumer(NamedTuple):
    """A stream thread, or a member of a streams group."""

    consumer_id: Annotated[Name, "Unique in the group."]
    group_instance_id: Annotated[str | None, "For a static member."] = None
    protocols: Annotated[tuple[Name, ...] | None, Says(minItems=1), "What it supports. Default cooperative."] = None
    active: Annotated[TaskNames | None, "The tasks it is assigned as active."] = None
    standby: Annotated[
        TaskNames | None,
        "The tasks it is assigned as standby (warm-ups and temporary standbys too, if the source cannot tell them "
        "apart).",
    ] = None
    warmup: Annotated[TaskNames | None, "The tasks it is assigned as warm-up."] = None
    client_id: Annotated[str | None, "Its client.id."] = None
    position: Annotated[
        Whole | None,
        "For a streams group: its row in the broker's table, from 0 on over the whole group, each once; or none has "
        "one.",
    ] = None
    member_epoch: Annotated[Whole | None, "For a streams group. Default: generation."] = None
    member_state: Annotated[
        Literal["STABLE", "UNREVOKED_TASKS", "UNRELEASED_TASKS"] | None, "For a streams group; null: unknown."
    ] = None
    target: Annotated[
        ByRole | None, "For a streams group: what it is to hold. Default: what it holds, if the group is Stable."
    ] = None
    revoking: Annotated[ByRole | None, "For a streams group: what it was asked to give up and has not confirmed."] = (
        None
    )
    task_offsets: Annotated[
        tuple[TaskOffset, ...] | None, "For a streams group (4.4): offsets that it reported of its directories."
    ] = None


class ConnectorItems(NamedTuple):
    """A connector, or some of its tasks."""

    connector: Annotated[Name, "Its name."]
    items: Annotated[tuple[WholeOrMinusOne, ...] | None, "Numbers of tasks; -1 is the connector itself."] = None


class Memory(NamedTuple):
    """What a Connect worker remembers of the rounds that it led."""

    previous: Annotated[tuple[ConnectorItems, ...] | None, "What it assigned last."] = None
    revocation: Annotated[tuple[ConnectorItems, ...] | None, "What it revoked last."] = None
    revoked_in_previous: Annotated[bool | None, "Whether the round before revoked something."] = None
    candidates: Annotated[tuple[Name, ...] | None, "Workers that get what is lost when the delay ends."] = None
    scheduled_at: Annotated[Time | None, "RFC 3339: when the running delay ends; captured_at is needed then."] = None
    delay_ms: Annotated[Whole | None, "How long the running delay is; 0: none runs."] = None
    generation: Annotated[WholeOrMinusOne | None, "The generation of that round; -1: none."] = None
    members: Annotated[tuple[Name, ...] | None, "Who was a member then."] = None
    successive: Annotated[Whole | None, "How many rounds in a row revoked something."] = None


class Instance(NamedTuple):
    """A process of the group: an instance, or a Connect worker."""

    process_id: Annotated[Name, "A UUID in its canonical text form; or any text, unique in the group."]
    host: Annotated[str | None, "Host or pod name."] = None
    rack: Annotated[str | None, "client.rack."] = None
    client_tags: Annotated[Mapping[str, str] | None, "client.tag.*"] = None
    leader: Annotated[bool | None, "Whether the group's leader runs here; at most one."] = None
    started_at: Annotated[
        Time | None,
        "RFC 3339: when it started; it checks for left-over state to delete every state.cleanup.delay.ms from then on.",
    ] = None
    consumers: Annotated[tuple[Consumer, ...] | None, "Its stream threads; a Connect worker has none."] = None
    java: Annotated[Whole | None, "For a Connect worker: the version of its Java. Default 17."] = None
    last_completed: Annotated[
        WholeOrMinusOne | None, "For a Connect worker: the generation of its last answer. Default: generation."
    ] = None
    answered: Annotated[
        bool | None,
        "For a worker known by REST: whether it answered at its own address. Absent: it was not asked.",
    ] = None
    config_offset: Annotated[
        WholeOrMinusOne | None, "For a Connect worker: how far it has read the configuration; all alike."
    ] = None
    held: Annotated[
        tuple[ConnectorItems, ...] | None,
        "For a Connect worker: what it holds, in the order in which it reports it; -1 is the connector itself.",
    ] = None
    memory: Annotated[
        Memory | None,
        "For a Connect worker: what it remembers of the rounds that it led. Default: for the leader what all hold, for "
        "others nothing.",
    ] = None


_MARKERS = "A number of records, or Kafka's marker: -2 running active, -3 unknown."
_OFFSET = f"How far the store is restored. {_MARKERS}"
_LAG = f"How far the store is behind; not beside offset. {_MARKERS}"
_END_OFFSET = "The end offset of the store's changelog; a task's end_offset_sum beats it."
_STORE = "The state store; null for a row about the whole task, which beats rows about its stores of the same time."
_LOGGED = "false for a store without a changelog: it has no lag. Default true."
_REPORTERS = (
    "The consumers that reported, an empty list for none of them. Default: the consumer that is assigned the task, "
    "else the instance's first."
)


class Lag(NamedTuple):
    """What an instance reported about one store of one task, in a snapshot."""

    process_id: Annotated[Name, "The instance that reported."]
    task_id: TaskName
    store: Annotated[str | None, _STORE] = None
    offset: Annotated[Records | None, _OFFSET] = None
    end_offset: Annotated[Whole | None, _END_OFFSET] = None
    lag: Annotated[Records | None, _LAG] = None
    logged: Annotated[bool | None, _LOGGED] = None
    consumer_ids: Annotated[tuple[Name, ...] | None, _REPORTERS] = None
    reported_at: Annotated[
        Time | None,
        "When the instance reported it, at its last join, or when it was measured, RFC 3339. With an offset and the "
        "end_offset of then, an assigned copy that was caught up is assumed to be caught up now (--set "
        "lags.as.reported=true: not).",
    ] = None
    source: Annotated[
        LagSource | None,
        "Its source: the report at the last join (default), or the application's own metrics at reported_at; of "
        "metrics without end offsets only a lower bound of the lag is known, and nothing that depends on it counts as "
        "safe.",
    ] = None


class LagSnapshot(NamedTuple):
    """What one instance reported about one store of one task at one time; a history is many rows.

    null means absent; fields that are not listed are ignored. Whole numbers are written without a fraction or an
    exponent.
    """

    application_id: Annotated[Name, "The application."]
    process_id: Annotated[Name, "The instance that reported."]
    task_id: TaskName
    captured_at: Annotated[
        Time | None, Says(examples=["2026-11-21T12:00:00.000Z"]), "RFC 3339; UTC if it names no zone."
    ] = None
    store: Annotated[str | None, _STORE] = None
    offset: Annotated[Records | None, _OFFSET] = None
    end_offset: Annotated[Whole | None, _END_OFFSET] = None
    lag: Annotated[Records | None, _LAG] = None
    logged: Annotated[bool | None, _LOGGED] = None
    restoring: Annotated[
        bool | None,
        "Whether the active task is still restoring: only then rows about the active owner count. Default false.",
    ] = None
    consumer_ids: Annotated[tuple[Name, ...] | None, _REPORTERS] = None


class CopySince(NamedTuple):
    """How old a copy is."""

    process_id: Annotated[Name, "The instance."]
    task_id: TaskName
    since: Annotated[Time | None, "RFC 3339."] = None
    made_at: Annotated[
        Time | None, "RFC 3339: the instance has had a copy since then, assigned or left over, at the latest."
    ] = None
    to_restore: Annotated[
        Whole | None,
        "Records that it has to restore, where that is known to differ from what was reported; of an owner only if it "
        "reported nothing.",
    ] = None


_MEASURED_BY = "The source: log, offsets-topic, lags or metrics."


class ProduceRate(NamedTuple):
    """How fast the changelogs of a task grew."""

    task_id: TaskName
    records_per_second: PerSecond
    intervals: Annotated[Whole | None, "In how many intervals it was measured."] = None
    source: Annotated[str | None, _MEASURED_BY] = None


class RestoreRate(NamedTuple):
    """How fast an instance restored."""

    process_id: Annotated[Name, "The instance that restores."]
    records_per_second: PerSecond
    task_id: Annotated[
        TaskName | None,
        "The rate is that of this copy alone; those of an instance add up. Absent: it is the instance's.",
    ] = None
    intervals: Annotated[Whole | None, "In how many intervals it was measured."] = None
    at_least: Annotated[bool | None, "It always caught up before an interval ended: the rate is a lower bound."] = None
    source: Annotated[str | None, _MEASURED_BY] = None


class Rates(NamedTuple):
    """Rates measured over the generations before."""

    produce: Annotated[tuple[ProduceRate, ...] | None, "How fast the changelogs of each task grew lately."] = None
    restore: Annotated[tuple[RestoreRate, ...] | None, "How fast each instance restored lately."] = None


class DecidedOfConsumer(NamedTuple):
    """What was decided for a consumer."""

    consumer_id: Annotated[str | None, "The consumer, in a list."] = None
    active: Annotated[TaskNames | None, "What it is to run."] = None
    withheld: Annotated[TaskNames | None, "The part of it that it waits for: its owner has to stop it first."] = None
    standby: Annotated[TaskNames | None, "What it is to keep a copy of, warm-ups included if warmup has none."] = None
    warmup: Annotated[TaskNames | None, "What it is to warm up."] = None
    temporary: Annotated[TaskNames | None, "Tasks that are withheld from it though it has state of them."] = None


class Decided(NamedTuple):
    """What was decided for an instance."""

    consumers: Annotated[
        tuple[DecidedOfConsumer, ...],
        KeyedBy("consumer_id"),
        "Consumer id → the same, thread by thread; a list of objects with consumer_id is equivalent.",
    ]
    process_id: Annotated[str | None, "The instance, in a list."] = None
    instance: Annotated[str | None, "Its host."] = None
    active: Annotated[TaskNames | None, "What it is to run."] = None
    standby: Annotated[TaskNames | None, "What it is to keep a copy of, warm-ups included."] = None


class Decision(NamedTuple):
    """What the leader made of the state of the row."""

    at: Annotated[Time | None, "When it was made, RFC 3339."] = None
    generation: Annotated[Whole | None, "The generation that it led to. Default: the row's own + 1."] = None
    leader: Annotated[str | None, "The instance that made it."] = None
    trigger: Annotated[str | None, "Why it was made."] = None
    probing_rebalance: Annotated[
        bool | None, "Whether the leader probes again after probing.rebalance.interval.ms."
    ] = None
    plan: Annotated[str | None, "The id of the plan whose target file it followed."] = None
    without_plan: Annotated[str | None, "Why no target file counted, a code, where it could have."] = None
    next_rebalance_at: Annotated[Time | None, "When the next rebalance is due, RFC 3339, where that is known."] = None
    rejoin_at_once: Annotated[
        tuple[Name, ...] | None,
        "The ids of the consumers that were asked to rejoin at once: a follow-up is due.",
    ] = None
    decided: Annotated[
        tuple[Decided, ...] | None,
        KeyedBy("process_id"),
        "Process id → what was decided for it; a list of objects with process_id is equivalent. Without it the "
        "consumers of instances have it already.",
    ] = None


class Snapshot(NamedTuple):
    """One application at one generation.

    null means absent; fields that are not listed are ignored. Whole numbers are written without a fraction or an
    exponent.
    """

    application_id: Annotated[Name, "The group's application id."]
    instances: Annotated[tuple[Instance, ...], Says(minItems=1), "The members, by process."]
    format_version: Annotated[
        str | None, Says(pattern=r"^0*1(\.[0-9]+)*$"), "Major and minor version of this format. Default 1.0."
    ] = None
    generation: Annotated[Whole | None, "The number of completed rebalances. Default 0."] = None
    captured_at: Annotated[
        Time | None, Says(examples=["2026-11-21T12:00:00.000Z"]), "RFC 3339; UTC if it names no zone."
    ] = None
    known_until: Annotated[
        Time | None,
        "Until when nothing else happened, RFC 3339: the last line of a log. Default: captured_at. A plan begins "
        "there, unless --set now or --as-of is given.",
    ] = None
    seen_until: Annotated[
        Time | None,
        "Until when who runs what was seen, RFC 3339, where lags were measured: they do not show that, though "
        "known_until may be of the last scrape. Default: known_until; of a row with measured lags captured_at.",
    ] = None
    newer_rebalance: Annotated[
        NewerRebalance | None,
        "Where in the logs a later rebalance begins that cannot be read, and when: what runs where since is unknown.",
    ] = None
    streams_version: Annotated[
        str | None,
        Says(pattern=r"^[0-9]{1,4}\.[0-9]{1,4}[A-Za-z0-9_.-]*$"),
        "The release of Kafka Streams, or of Connect's workers, the oldest that runs: since 4.3 a crash loses what was "
        "not flushed.",
    ] = None
    stores: Annotated[
        Stores | None,
        "Where the stores of tasks are: in memory nothing of them is left after a restart. Left out or null: as the "
        "settings dsl_store_suppliers_class and default_dsl_store of config say, else unknown.",
    ] = None
    measuring_failed: Annotated[
        bool | None,
        "Measuring was asked for (--metrics), and no copy was measured: then no report of the last join counts as "
        "true.",
    ] = None
    group_protocol: Annotated[
        str | None,
        Says(pattern="^([Cc][Ll][Aa][Ss][Ss][Ii][Cc]|[Ss][Tt][Rr][Ee][Aa][Mm][Ss]|[Cc][Oo][Nn][Nn][Ee][Cc][Tt])$"),
        "classic (the default), streams: then the broker decides (KIP-1071), or connect: workers of Kafka Connect.",
    ] = None
    broker_version: Annotated[
        str | None,
        Says(pattern=r"^4\.[234]([.-].*)?$"),
        "For a streams group, which needs it: the release of the brokers, 4.2, 4.3 or 4.4.",
    ] = None
    target_epoch: Annotated[
        Whole | None,
        "For a streams group: the epoch of its target; generation is the group's epoch. Default: generation.",
    ] = None
    target_at: Annotated[
        Time | None,
        "For a streams group: when its target was computed, RFC 3339. Default: longer ago than the assignment "
        "interval.",
    ] = None
    group_state: Annotated[str | None, "For a streams group: its state, as the broker names it. Default: Stable."] = (
        None
    )
    exact: Annotated[
        bool | None,
        "For a Connect group: false if member ids, orders, leader and memory are not known, as from REST; then process "
        "ids are worker ids, and only counts are exact. Default true.",
    ] = None
    config: Annotated[
        Settings | None,
        "Kafka's settings with _ for . and Kafka's defaults; an unknown key gives a warning.",
    ] = None
    connectors: Annotated[tuple[Connector, ...] | None, "For a Connect group: its connectors."] = None
    tasks: Annotated[tuple[Task, ...] | None, "The topology's tasks; none is fine."] = None
    lags: Annotated[
        tuple[Lag, ...] | None,
        "State on disk that was reported; a row about a task that is not assigned there is left-over state.",
    ] = None
    copies_since: Annotated[
        tuple[CopySince, ...] | None,
        "Since when copies are assigned to their instance or, if unassigned, left over; as far as that is known.",
    ] = None
    decision: Annotated[
        Decision | None,
        "The leader's decision from this state: the group continues after it (assign --replay: from before it).",
    ] = None
    rates: Annotated[
        Rates | None,
        "Rates measured over the generations before; --restore-rate and --set produce.rate replace them.",
    ] = None


def _if_protocol(pattern: str, **consequences: Any) -> Mapping[str, Any]:
    protocol = {"type": "string", "pattern": pattern}
    return {"if": {"required": ["group_protocol"], "properties": {"group_protocol": protocol}}, **consequences}


_OF_A_LAG: Mapping[str, Any] = {
    "anyOf": [
        {"required": ["lag"], "properties": {"lag": {"type": "integer"}}},
        {"required": ["offset"], "properties": {"offset": {"type": "integer"}}},
        {"required": ["logged"], "properties": {"logged": {"const": False}}},
    ],
    "not": {
        "required": ["lag", "offset"],
        "properties": {"lag": {"type": "integer"}, "offset": {"type": "integer"}},
    },
}
_NONE_OF_A_CONNECT_GROUP = ("tasks", "lags", "copies_since", "decision")
_WITH_CONSUMERS = {"required": ["consumers"], "properties": {"consumers": {"type": "array", "minItems": 1}}}

#: How fields belong together, as far as a JSON Schema can say it.
RULES: Mapping[type, Mapping[str, Any]] = {
    Lag: _OF_A_LAG,
    LagSnapshot: _OF_A_LAG,
    Snapshot: {
        "allOf": [
            _if_protocol(
                "^[Ss][Tt][Rr][Ee][Aa][Mm][Ss]$",
                then={"required": ["broker_version"], "properties": {"broker_version": {"type": "string"}}},
            ),
            _if_protocol(
                "^[Cc][Oo][Nn][Nn][Ee][Cc][Tt]$",
                then={"properties": {name: {"maxItems": 0, "maxProperties": 0} for name in _NONE_OF_A_CONNECT_GROUP}},
                **{"else": {"properties": {"instances": {"items": _WITH_CONSUMERS}}}},
            ),
        ]
    },
}
