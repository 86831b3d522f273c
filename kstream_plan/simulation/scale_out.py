"""A scale-out, or a scale-in, as a scenario."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.errors import ScenarioError, UsageError
from kstream_plan.model import Group
from kstream_plan.model.scenario import Event, Join, NewInstance, Scenario, Stop
from kstream_plan.simulation.instance_names import process_id_of

#: Tag → value
Tags = tuple[tuple[str, str], ...]


def scale_out(
    group: Group,
    *,
    add: int = 0,
    threads: int | None = None,
    client_tags: Sequence[Tags] = (),
    racks: Sequence[str] = (),
    add_at_ms: int = 0,
    process_ids: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> Scenario:
    """Return the scenario: ``add`` instances with empty disks join at once, those of ``remove`` stop at 0.

    New instances have ``threads`` each (default: as most others), and ``process_ids`` as far as given; several
    ``client_tags`` and ``racks`` are dealt in turn. What is removed is named by process id or host, and stops by a
    default close: the group notices at the session time-out.

    Raises:
        ScenarioError: an instance to remove is not there, or none is left.
        UsageError: there are more process ids than new instances, one of them twice, or one is the host of somebody
            else.
    """
    if len(process_ids) > add:
        raise UsageError(
            f"{len(process_ids)} process ids for {add} new instances", fix="give one --process-id per new instance"
        )
    twice = next((one for place, one in enumerate(process_ids) if one in process_ids[:place]), None)
    if twice is not None:
        fix = "give every new instance an id of its own"
        raise UsageError(f"{twice!r} is given twice", where="--process-id", fix=fix)
    hosts = {instance.host for instance in group.instances}
    for name in process_ids:
        if name in hosts:
            what = f"process id {name!r} is the host of an instance that is there"
            raise UsageError(what, fix="give a new process id")
    events: list[Event] = []
    leaving = tuple(dict.fromkeys(process_id_of(group, name, "--remove") for name in remove))
    if len(leaving) == len(group.instances) and not add:
        fix = "leave one of them out, or add new ones with --add"
        raise ScenarioError("no instance is left", where="--remove", fix=fix)
    if leaving:
        events.append(Stop(at_ms=0, process_ids=leaving, where="--remove"))
    if add:
        instances = tuple(
            NewInstance(
                threads=threads,
                rack=racks[place % len(racks)] if racks else None,
                client_tags=client_tags[place % len(client_tags)] if client_tags else (),
                process_id=process_ids[place] if place < len(process_ids) else None,
            )
            for place in range(add)
        )
        where = "--process-id" if process_ids else "--add"
        events.append(Join(at_ms=add_at_ms, instances=instances, where=where))
    return Scenario(events=tuple(events))
