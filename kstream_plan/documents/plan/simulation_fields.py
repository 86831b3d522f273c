"""The fields of a plan's JSON for its simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

from kstream_plan.documents.codec import (
    ABSENT,
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    WHOLE,
    Codec,
    list_of,
    mapping_of,
    one_of,
    or_null,
    whole,
)
from kstream_plan.documents.plan.group_fields import FORM
from kstream_plan.documents.records import Field
from kstream_plan.model.scenario import (
    Bounce,
    Burst,
    ConfigChange,
    CreateConnectors,
    DeleteConnectors,
    Event,
    Join,
    Leave,
    ProduceRate,
    RescaleConnectors,
    RestoreRate,
    Return,
    SettingValue,
    Stop,
    TaskCount,
    Threads,
)
from kstream_plan.model.settings import CONFIG_NAMES, CONNECT_GROUP_ONLY, RELEASE
from kstream_plan.model.streams_group import GROUP_SETTINGS
from kstream_plan.plans.simulated import Draws, Range, WhatIf

CRASH = "crash"
ANNOUNCED = "announced-leave"
#: What can happen, by its name in a scenario file; a crash is a stop, and what is announced a leave.
EVENT_KINDS: dict[str, type[Event]] = {
    "join": Join,
    "leave": Leave,
    "stop": Stop,
    "return": Return,
    "bounce": Bounce,
    "threads": Threads,
    "produce_rate": ProduceRate,
    "restore_rate": RestoreRate,
    "burst": Burst,
    "config": ConfigChange,
    "create": CreateConnectors,
    "rescale": RescaleConnectors,
    "delete": DeleteConnectors,
}


class NewSetting(NamedTuple):
    """A setting that changes."""

    name: str
    value: SettingValue


class EventDocument(NamedTuple):
    """An event as simulated, and what follows from it until the next one; its own fields depend on its kind."""

    at_ms: int
    kind: str
    process_ids: tuple[str, ...]
    rebalances: int
    hops: int
    cold_handovers: int
    warm_ms: int | None
    balanced_ms: int | None
    keeps_disk: Any = ABSENT
    static: Any = ABSENT
    new_process_ids: Any = ABSENT
    state: Any = ABSENT
    flushed_per_second: Any = ABSENT
    restart_ms: Any = ABSENT
    pause_ms: Any = ABSENT
    leaves: Any = ABSENT
    surge: Any = ABSENT
    threads: Any = ABSENT
    per_second: Any = ABSENT
    subtopology: Any = ABSENT
    records: Any = ABSENT
    settings: Any = ABSENT
    task_counts: Any = ABSENT
    connectors: Any = ABSENT


class SimulationDocument(NamedTuple):
    """What is known of a simulation beside its plan; ``record_size`` is not there if 0.1.0 saved it."""

    draws: Draws | None
    events: tuple[EventDocument, ...]
    what_ifs: tuple[WhatIf, ...]
    cure: WhatIf | None
    record_size: Any


def _read_value(value: Any) -> SettingValue:
    if type(value) is list:
        return _TEXTS.read(value)
    return TEXT.read(value) if type(value) is str else WHOLE.read(value)


def _event_field(codec: Codec[Any], description: str) -> Field:
    """Return a field that only some kinds of events have."""
    return Field(codec, description, default=ABSENT, left_out=True)


def _end(description: str) -> Field:
    """Return a field that older versions did not save."""
    return Field(or_null(COUNT), description, default=None, left_out=True)


_TEXTS = list_of(TEXT)
_SETTING = one_of(sorted({*CONFIG_NAMES, *CONNECT_GROUP_ONLY, *GROUP_SETTINGS, RELEASE}))
FORM.record(
    NewSetting,
    name=_SETTING.described("As in `config`."),
    value=Codec(_read_value, None, {"type": ["integer", "string", "array"], "items": {"type": "string"}}),
)
FORM.record(TaskCount)
FORM.record(
    Range,
    "A figure over all random simulations: the median of the likely figures, and the ends of the possible ones.",
    ref="range",
)
FORM.record(
    Draws,
    number=whole(1).described("How many were simulated."),
    shown="Number of the random simulation that the plan shows, from 0: its figures are nearest to the medians.",
    settled="How many of them settle.",
    worst=mapping_of(or_null(COUNT)).described(
        "Rule of a policy: what it measures in its worst random simulation (null: unknown in one); empty for a "
        "single one."
    ),
    least_restored_records=Field(
        description="Minimum of the records to restore; null if that was not computed or is unknown.", default=None
    ),
)
FORM.record(
    EventDocument,
    at_ms=WHOLE,
    kind=one_of([*EVENT_KINDS, CRASH, ANNOUNCED]).described("As in a scenario file."),
    hops="Changes of the owning instance of stateful tasks.",
    warm_ms="Time until no copy has to be waited for; null: not before the next event.",
    balanced_ms="Time until every task has its final owner; null: not before the next event.",
    keeps_disk=_event_field(BOOLEAN, "For a return: whether with the state on its disk."),
    static=_event_field(BOOLEAN, "For a return or a bounce: as static members."),
    new_process_ids=_event_field(
        _TEXTS, "For a return without its disk, or a bounce with a surge: the new ids, in the order of `process_ids`."
    ),
    state=_event_field(or_null(one_of(["kept", "lost", "flushed"])), "For a return: what is left of its state."),
    flushed_per_second=_event_field(
        or_null(NUMBER), "For a return: records of its state that were flushed, per second; null: all, or nothing."
    ),
    restart_ms=_event_field(COUNT, "For a bounce: how long each instance is down."),
    pause_ms=_event_field(COUNT, "For a bounce: how long until the next one stops."),
    leaves=_event_field(BOOLEAN, "For a bounce: whether they leave the group cleanly."),
    surge=_event_field(
        COUNT,
        "For a bounce: number of new instances at a time that replace old ones; 0: the old ones return themselves.",
    ),
    threads=_event_field(whole(1), "For a change of threads: the number of threads that the instance then runs."),
    per_second=_event_field(NUMBER, "For a rate: records per second."),
    subtopology=_event_field(
        or_null(TEXT), "For a produce rate or a burst: only to tasks of this subtopology; null: to all."
    ),
    records=_event_field(COUNT, "For a burst: records for each task."),
    settings=_event_field(
        list_of(FORM.codec_of(NewSetting)), "For new settings, or a bounce with some: the settings, in the order given."
    ),
    task_counts=_event_field(
        list_of(FORM.codec_of(TaskCount)), "For connectors that are created, or have another number of tasks."
    ),
    connectors=_event_field(_TEXTS, "For connectors that are deleted."),
)
FORM.record(
    WhatIf,
    ref="what_if",
    setting=_SETTING,
    paused_task_ms=Field(
        or_null(COUNT),
        "For a Connect group: sum of the pauses of all connectors and tasks.",
        default=None,
        left_out=True,
    ),
    least_duration_ms=_end("The least that it takes; left out if unknown."),
    most_duration_ms=_end("The most that it takes; left out if unknown."),
    most_cold_handovers=_end("The most cold starts that there may be; left out if unknown."),
    may_not_settle=Field(
        BOOLEAN, "True: it settles in the likely outcome, and not in another one.", default=False, left_out=True
    ),
)
FORM.record(
    SimulationDocument,
    draws="The random simulations where ids of new instances are random; null if nothing is random.",
    events="What follows from each event until the next one. Which fields an event has beside the required ones "
    "depends on its `kind`; plans that 0.1.0 saved do not have them.",
    what_ifs="The same with one other setting.",
    cure="For a simulation that does not settle: another setting with which it does, as simulated; null if none was "
    "found.",
    record_size=Field(
        or_null(whole(1)),
        "Bytes of a record, to show restores in bytes as well; absent in plans that 0.1.0 saved.",
        default=ABSENT,
    ),
)
