"""A simulation as its JSON has it beside the plan, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kstream_plan.documents.codec import ABSENT, WrongValueError
from kstream_plan.documents.plan.simulation_fields import (
    ANNOUNCED,
    CRASH,
    EVENT_KINDS,
    EventDocument,
    NewSetting,
    SimulationDocument,
)
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.model import Group, Instance
from kstream_plan.model.scenario import (
    Bounce,
    ConfigChange,
    Event,
    Join,
    Leave,
    RestoreRate,
    Return,
    Scenario,
    Stop,
    Threads,
)
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import EventOutcome, Simulation

#: Written under other names, or not at all: the location of an event depends on the scenario file.
_APART = frozenset({"announced", "at_ms", "where", "crash", "instances", "new_instances", "process_id", "process_ids"})


def simulation_json(simulation: Simulation, *, full: bool = False) -> str:
    """Return a simulation as one line of ASCII, without the line end; ``full`` adds each round's outcome.

    It is the JSON of its plan, with what is known beside that under ``simulation``.
    """
    return plan_json(simulation.plan, full=full, simulation=simulation_document(simulation))


def simulation_document(simulation: Simulation) -> SimulationDocument:
    """Return the fields of a simulation beside its plan."""
    return SimulationDocument(
        draws=simulation.draws,
        events=tuple(map(_event_document, simulation.events)),
        what_ifs=simulation.what_ifs,
        cure=simulation.cure,
        record_size=simulation.record_size,
    )


def _event_document(outcome: EventOutcome) -> EventDocument:
    event = outcome.event
    follows = {field.name: getattr(outcome, field.name) for field in fields(outcome) if field.name != "event"}
    own_values = {name: getattr(event, name) for name in _own_fields(type(event))}
    if isinstance(event, ConfigChange | Bounce):
        own_values["settings"] = [NewSetting(*setting) for setting in event.settings]
    if isinstance(event, Bounce):
        own_values["new_process_ids"] = tuple(str(instance.process_id) for instance in event.new_instances)
    return EventDocument(at_ms=event.at_ms, kind=_kind(event), process_ids=_process_ids(event), **follows, **own_values)


def _own_fields(kind: type[Event]) -> list[str]:
    return [field.name for field in fields(kind) if field.name not in _APART]


def _kind(event: Event) -> str:
    if isinstance(event, Stop) and event.crash:
        return CRASH
    if isinstance(event, Leave) and event.announced:
        return ANNOUNCED
    return next(kind for kind, event_class in EVENT_KINDS.items() if isinstance(event, event_class))


def _process_ids(event: Event) -> tuple[str, ...]:
    match event:
        case Join():
            return tuple(str(instance.process_id) for instance in event.instances)
        case Threads():
            return (event.process_id,)
        case Leave() | Stop() | Return() | Bounce() | RestoreRate():
            return event.process_ids
        case _:
            return ()


def simulation_of(document: SimulationDocument, plan: Plan) -> Simulation | None:
    """Return the simulation that a plan came of; ``None`` if 0.1.0 saved it, which kept too little to show it again.

    Raises:
        WrongValueError: a field of an event is missing, or names what the plan does not have.
    """
    if document.record_size is ABSENT:
        return None
    events = tuple(
        _outcome(item, plan.group, f"[{place}]", ".events", ".simulation") for place, item in enumerate(document.events)
    )
    return Simulation(
        plan=plan,
        scenario=Scenario(events=tuple(outcome.event for outcome in events)),
        draws=document.draws,
        events=events,
        what_ifs=document.what_ifs,
        cure=document.cure,
        record_size=document.record_size,
    )


def _outcome(item: EventDocument, group: Group, *keys: str) -> EventOutcome:
    return EventOutcome(
        event=_event(item, group, *keys),
        rebalances=item.rebalances,
        hops=item.hops,
        cold_handovers=item.cold_handovers,
        warm_ms=item.warm_ms,
        balanced_ms=item.balanced_ms,
    )


def _event(item: EventDocument, group: Group, *keys: str) -> Event:
    event_class = {**EVENT_KINDS, CRASH: Stop, ANNOUNCED: Leave}[item.kind]
    values: dict[str, Any] = {"at_ms": item.at_ms}
    for name in _own_fields(event_class):
        values[name] = getattr(item, name)
        if values[name] is ABSENT:
            raise WrongValueError(f"has no field {name!r}", *keys)
    if event_class in (ConfigChange, Bounce):
        values["settings"] = tuple(map(tuple, values["settings"]))
    if item.kind == CRASH:
        values["crash"] = True
    if item.kind == ANNOUNCED:
        values["announced"] = True
    return event_class(**values, **_instance_values(event_class, item, group, *keys))


def _instance_values(event_class: type[Event], item: EventDocument, group: Group, *keys: str) -> Mapping[str, Any]:
    """Return the instances of an event, in the fields that its class has for them."""
    process_ids = item.process_ids
    instances = _instances(process_ids, ".process_ids", group, *keys)
    if event_class is Join:
        return {"instances": instances}
    if event_class is Bounce:
        if item.new_process_ids is ABSENT:
            raise WrongValueError("has no field 'new_process_ids'", *keys)
        new_instances = _instances(item.new_process_ids, ".new_process_ids", group, *keys)
        return {"process_ids": process_ids, "new_instances": new_instances}
    if event_class is Threads:
        if len(process_ids) != 1:
            raise WrongValueError("are not one instance, whose threads these are", ".process_ids", *keys)
        return {"process_id": process_ids[0]}
    return {"process_ids": process_ids} if "process_ids" in {field.name for field in fields(event_class)} else {}


def _instances(process_ids: tuple[str, ...], key: str, group: Group, *keys: str) -> tuple[Instance, ...]:
    for place, process_id in enumerate(process_ids):
        if process_id not in group.instance_index:
            raise WrongValueError(f"is {process_id!r}, which is not among the instances", f"[{place}]", key, *keys)
    return tuple(group.instances[group.instance_index[process_id]] for process_id in process_ids)
