"""What a simulation's JSON has beside its plan, under ``simulation``: written, and read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any

from kstream_plan.documents.json_fields import JsonFields
from kstream_plan.documents.plan.read_figures import DURATION_KINDS, VERDICTS
from kstream_plan.documents.plan.write import Json
from kstream_plan.model import Group
from kstream_plan.model.scenario import (
    Bounce,
    Burst,
    ConfigChange,
    Event,
    Join,
    Leave,
    ProduceRate,
    RestoreRate,
    Return,
    Scenario,
    SettingValue,
    Stop,
    Threads,
)
from kstream_plan.model.settings import CONFIG_NAMES
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Draws, EventOutcome, Range, Simulation, WhatIf
from kstream_plan.policy.rules.over_draws import always_measured

#: Told by other names, or by nobody: where an event came from depends on where the scenario was read.
_APART = frozenset({"at_ms", "where", "crash", "instances", "process_id", "process_ids"})


def simulation_document(simulated: Simulation) -> dict[str, Json]:
    """Return what is known beside the plan as plain dictionaries, lists, texts and numbers."""
    return {
        "draws": None if simulated.draws is None else _draws_document(simulated.draws),
        "events": [_event_document(outcome.event) | _outcome_document(outcome) for outcome in simulated.events],
        "cure": None if simulated.cure is None else asdict(simulated.cure),
        "what_ifs": [asdict(what_if) for what_if in simulated.what_ifs],
        "record_size": simulated.record_size,
    }


def _draws_document(draws: Draws) -> Json:
    values = {field.name: getattr(draws, field.name) for field in fields(draws)}
    ranges = {name: value._asdict() for name, value in values.items() if isinstance(value, Range)}
    return values | {"worst": dict(draws.worst)} | ranges


def _outcome_document(outcome: EventOutcome) -> dict[str, Any]:
    return {field.name: getattr(outcome, field.name) for field in fields(outcome) if field.name != "event"}


def _event_document(event: Event) -> dict[str, Any]:
    """Return an event as it was played: its kind as a scenario file has it, whom it is about, and its numbers."""
    own = {field.name: getattr(event, field.name) for field in fields(event) if field.name not in _APART}
    if isinstance(event, ConfigChange):
        own["settings"] = [{"name": name, "value": value} for name, value in event.settings]
    return {"at_ms": event.at_ms, "kind": _kind(event), "process_ids": _process_ids(event)} | own


def _kind(event: Event) -> str:
    if isinstance(event, Stop) and event.crash:
        return _CRASH
    return next(kind for kind, of in _KINDS.items() if isinstance(event, of))


def _process_ids(event: Event) -> list[Json]:
    match event:
        case Join():
            return [instance.process_id for instance in event.instances]
        case Threads():
            return [event.process_id]
        case Leave() | Stop() | Return() | Bounce() | RestoreRate():
            return list(event.process_ids)
        case _:
            return []


_CRASH = "crash"

_KINDS: Mapping[str, type[Event]] = MappingProxyType(
    {
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
    }
)


def read_simulation(document: JsonFields, plan: Plan) -> Simulation | None:
    """Return what is known beside a plan that was read; ``None`` if it is of no simulation.

    Nor is it of one that 0.1.0 saved: that kept too little of it to be shown again.

    Raises:
        PlanFileError: a field is missing or of another type, or names what the plan does not have.
    """
    field = document.get("simulation")
    if field.is_null or not field.has("record_size"):
        return None
    events = tuple(_outcome(item, plan.group) for item in field["events"])
    record_size = field["record_size"].or_none(JsonFields.integer)
    if record_size is not None and record_size < 1:
        raise field["record_size"].fail(f"is {record_size}, which is no number of bytes")
    return Simulation(
        plan=plan,
        scenario=Scenario(events=tuple(outcome.event for outcome in events)),
        draws=field["draws"].or_none(_draws),
        events=events,
        what_ifs=tuple(map(_what_if, field["what_ifs"])),
        cure=field["cure"].or_none(_what_if),
        record_size=record_size,
    )


def _draws(field: JsonFields) -> Draws:
    number, settled, worst = read_over_draws(field)
    names = [one.name for one in fields(Draws) if one.type == "Range"]
    return Draws(
        number=number,
        shown=field["shown"].integer(),
        settled=settled,
        worst=worst,
        least_restored_records=field["least_restored_records"].or_none(_range),
        **{name: _range(field[name]) for name in names},
    )


def read_over_draws(draws: JsonFields) -> tuple[int, int, Mapping[str, int | None]]:
    """Return how many draws there are, how many of them settle, and what rules measure in the worst one.

    Raises:
        PlanFileError: these do not go together, or a rule is missing that is measured in every plan.
    """
    number = draws["number"].integer()
    if number < 1:
        raise draws["number"].fail(f"is {number}, which is no number of draws")
    settled = draws["settled"].integer()
    if not 0 <= settled <= number:
        raise draws["settled"].fail(f"is {settled}, of {number} draws")
    worst = {name: value.or_none(JsonFields.integer) for name, value in draws["worst"].items()}
    missing = [name for name in always_measured() if name not in worst] if number > 1 else []
    if missing:
        fix = "simulate again with this version"
        raise draws["worst"].fail(f"does not say what {missing[0]} comes to in the worst draw", fix)
    return number, settled, worst


def _range(field: JsonFields) -> Range:
    return Range(field["median"].integer(), field["least"].integer(), field["most"].integer())


def _what_if(field: JsonFields) -> WhatIf:
    return WhatIf(
        setting=field["setting"].choice(sorted(CONFIG_NAMES)),
        value=field["value"].integer(),
        verdict=field["verdict"].choice(VERDICTS),
        duration_ms=field["duration_ms"].integer(),
        duration_is=field["duration_is"].choice(DURATION_KINDS),
        rebalances=field["rebalances"].integer(),
        moves=field["moves"].integer(),
        peak_extra_copies=field["peak_extra_copies"].integer(),
        cold_handovers=field["cold_handovers"].integer(),
    )


def _outcome(item: JsonFields, group: Group) -> EventOutcome:
    return EventOutcome(
        event=_event(item, group),
        rebalances=item["rebalances"].integer(),
        hops=item["hops"].integer(),
        cold_handovers=item["cold_handovers"].integer(),
        warm_ms=item["warm_ms"].or_none(JsonFields.integer),
        balanced_ms=item["balanced_ms"].or_none(JsonFields.integer),
    )


def _event(item: JsonFields, group: Group) -> Event:
    kind = item["kind"].choice([*_KINDS, _CRASH])
    of = Stop if kind == _CRASH else _KINDS[kind]
    values = {one.name: _READERS[str(one.type)](item[one.name]) for one in fields(of) if one.name not in _APART}
    values |= {"at_ms": item["at_ms"].integer()} | _about(of, item["process_ids"], group)
    values |= {"crash": True} if kind == _CRASH else {}
    return of(**values)


def _about(of: type[Event], field: JsonFields, group: Group) -> dict[str, Any]:
    """Return whom an event is about, as such an event has it."""
    process_ids = tuple(field.texts())
    unknown = next((one for one in process_ids if one not in group.instance_index), None)
    if unknown is not None:
        raise field.fail(f"name {unknown!r}, which is not among the instances")
    if of is Join:
        return {"instances": tuple(group.instances[group.instance_index[one]] for one in process_ids)}
    if of is Threads:
        if len(process_ids) != 1:
            raise field.fail("are not one instance, whose threads these are")
        return {"process_id": process_ids[0]}
    return {"process_ids": process_ids} if "process_ids" in {one.name for one in fields(of)} else {}


def _settings(field: JsonFields) -> tuple[tuple[str, SettingValue], ...]:
    return tuple((item["name"].choice(sorted(CONFIG_NAMES)), _setting_value(item["value"])) for item in field)


def _setting_value(field: JsonFields) -> SettingValue:
    if field.is_a(list):
        return tuple(field.texts())
    return field.text() if field.is_a(str) else field.integer()


#: By how a field of an event is annotated.
_READERS: Mapping[str, Callable[[JsonFields], Any]] = MappingProxyType(
    {
        "bool": JsonFields.boolean,
        "int": JsonFields.integer,
        "float": JsonFields.number,
        "str | None": lambda field: field.or_none(JsonFields.text),
        "tuple[str, ...]": lambda field: tuple(field.texts()),
        "tuple[tuple[str, SettingValue], ...]": _settings,
    }
)
