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
    to: int | None = None,
    threads: int | None = None,
    client_tags: Sequence[Tags] = (),
    racks: Sequence[str] = (),
    add_at_ms: int = 0,
    process_ids: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> Scenario:
    """Return the scenario: new instances with empty disks join at once, those of ``remove`` stop at 0.

    ``add`` instances join, or so many that there are ``to`` in the end. They have ``threads`` each (default: as most
    others), and ``process_ids`` as far as given; several ``client_tags`` and ``racks`` are dealt in turn. What is
    removed is named by process id or host, and stops by a default close: the group notices at the session time-out.

    Raises:
        ScenarioError: an instance to remove is not there, or none is left.
        UsageError: both ``add`` and ``to``, more instances than ``to`` already, more process ids than new instances,
            one of them twice, or one is the host of another instance.
    """
    removed_ids = tuple(dict.fromkeys(process_id_of(group, name, "--remove") for name in remove))
    new_count = add if to is None else _new_count(group, add, to, len(removed_ids))
    _check_ids(group, process_ids, new_count)
    if len(removed_ids) == len(group.instances) and not new_count:
        fix = "leave one of them out, or add new ones with --add"
        raise ScenarioError("no instance is left", where="--remove", fix=fix)
    events: list[Event] = [Stop(at_ms=0, process_ids=removed_ids, where="--remove")] if removed_ids else []
    if new_count:
        instances = tuple(
            NewInstance(
                threads=threads,
                rack=racks[place % len(racks)] if racks else None,
                client_tags=client_tags[place % len(client_tags)] if client_tags else (),
                process_id=process_ids[place] if place < len(process_ids) else None,
            )
            for place in range(new_count)
        )
        option = "--new id" if process_ids else "--add"
        events.append(Join(at_ms=add_at_ms, instances=instances, where=option))
    return Scenario(events=tuple(events))


def _new_count(group: Group, add: int, size: int, removed_count: int) -> int:
    if add:
        raise UsageError("--add and --to say the same thing", fix="give one of them")
    new_count = size - (len(group.instances) - removed_count)
    if new_count < 0:
        raise UsageError(
            f"{group.application_id!r} has {len(group.instances)} instances already, --to {size} is less",
            fix="say which ones stop with --remove",
        )
    return new_count


def _check_ids(group: Group, process_ids: Sequence[str], new_count: int) -> None:
    if len(process_ids) > new_count:
        raise UsageError(
            f"{len(process_ids)} process ids for {new_count} new instances",
            fix="give one --new id=ID per new instance",
        )
    duplicate = next(
        (process_id for place, process_id in enumerate(process_ids) if process_id in process_ids[:place]), None
    )
    if duplicate is not None:
        fix = "give every new instance an id of its own"
        raise UsageError(f"{duplicate!r} is given twice", where="--new id", fix=fix)
    hosts = {instance.host for instance in group.instances}
    for name in process_ids:
        if name in hosts:
            message = f"process id {name!r} is the host of an instance that is there"
            raise UsageError(message, fix="give a new process id")
