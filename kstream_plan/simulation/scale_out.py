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

    So many join as ``add`` says, or that there are ``to`` in the end. They have ``threads`` each (default: as most
    others), and ``process_ids`` as far as given; several ``client_tags`` and ``racks`` are dealt in turn. What is
    removed is named by process id or host, and stops by a default close: the group notices at the session time-out.

    Raises:
        ScenarioError: an instance to remove is not there, or none is left.
        UsageError: both ``add`` and ``to``, more instances than ``to`` already, more process ids than new instances,
            one of them twice, or one is the host of somebody else.
    """
    leaving = tuple(dict.fromkeys(process_id_of(group, name, "--remove") for name in remove))
    joining = add if to is None else _joining(group, add, to, len(leaving))
    _check_ids(group, process_ids, joining)
    if len(leaving) == len(group.instances) and not joining:
        fix = "leave one of them out, or add new ones with --add"
        raise ScenarioError("no instance is left", where="--remove", fix=fix)
    events: list[Event] = [Stop(at_ms=0, process_ids=leaving, where="--remove")] if leaving else []
    if joining:
        instances = tuple(
            NewInstance(
                threads=threads,
                rack=racks[place % len(racks)] if racks else None,
                client_tags=client_tags[place % len(client_tags)] if client_tags else (),
                process_id=process_ids[place] if place < len(process_ids) else None,
            )
            for place in range(joining)
        )
        where = "--new id" if process_ids else "--add"
        events.append(Join(at_ms=add_at_ms, instances=instances, where=where))
    return Scenario(events=tuple(events))


def _joining(group: Group, add: int, to: int, leaving: int) -> int:
    if add:
        raise UsageError("--add and --to say the same thing", fix="give one of them")
    joining = to - (len(group.instances) - leaving)
    if joining < 0:
        raise UsageError(
            f"{group.application_id!r} has {len(group.instances)} instances already, --to {to} is less",
            fix="say which ones stop with --remove",
        )
    return joining


def _check_ids(group: Group, process_ids: Sequence[str], joining: int) -> None:
    if len(process_ids) > joining:
        raise UsageError(
            f"{len(process_ids)} process ids for {joining} new instances",
            fix="give one --new id=ID per new instance",
        )
    twice = next((one for place, one in enumerate(process_ids) if one in process_ids[:place]), None)
    if twice is not None:
        fix = "give every new instance an id of its own"
        raise UsageError(f"{twice!r} is given twice", where="--new id", fix=fix)
    hosts = {instance.host for instance in group.instances}
    for name in process_ids:
        if name in hosts:
            what = f"process id {name!r} is the host of an instance that is there"
            raise UsageError(what, fix="give a new process id")
