"""The instance that a name stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kstream_plan.errors import NoSuchInstanceError, ScenarioError
from kstream_plan.model import Group, Instance, is_uuid

_MOST_NAMED = 5


def process_id_of(group: Group, name: str, place: str = "") -> str:
    """Return the process id that ``name`` stands for.

    The first of these that fits an instance counts: a process id; a host; a host without its domain; the beginning of a
    process id; a host and such a beginning, with a ``/`` between. UUIDs compare without case.

    Raises:
        NoSuchInstanceError: it stands for none.
        ScenarioError: it stands for several.
    """
    if name in group.instance_index:
        return name
    process_ids = _meant(group.instances, name) if name else []
    if len(process_ids) == 1:
        return process_ids[0]
    if process_ids:
        fix = f"name one by its process id: {_first_names(process_ids)}"
        raise ScenarioError(f"{len(process_ids)} instances have the name {name!r}", where=place, fix=fix)
    fix = f"name one by its process id, the beginning of it, or host: {_first_names(_names(group.instances))}"
    raise NoSuchInstanceError(f"there is no instance {name!r}", where=place, fix=fix)


def _meant(instances: Sequence[Instance], name: str) -> list[str]:
    host, _, rest = name.rpartition("/")
    ways: tuple[Callable[[Instance], bool], ...] = (
        lambda instance: _begins(instance, name) and len(instance.process_id) == len(name),
        lambda instance: instance.host == name,
        lambda instance: instance.host is not None and instance.host.partition(".")[0] == name,
        lambda instance: _begins(instance, name),
        lambda instance: bool(rest) and instance.host == host and _begins(instance, rest),
    )
    matches = ([instance.process_id for instance in instances if fits(instance)] for fits in ways)
    return next(filter(None, matches), [])


def _begins(instance: Instance, name: str) -> bool:
    if is_uuid(instance.process_id):
        return instance.process_id.lower().startswith(name.lower())
    return instance.process_id.startswith(name)


def _names(instances: Sequence[Instance]) -> list[str]:
    """Return what each instance can be named by: its host if no other one has it, else its process id."""
    times = Counter(instance.host for instance in instances)
    return sorted(
        instance.host if instance.host and times[instance.host] == 1 else instance.process_id for instance in instances
    )


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
