"""Which instance somebody means."""

from __future__ import annotations

from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group

_LEAST_PREFIX = 4


def process_id_of(group: Group, name: str, where: str = "") -> str:
    """Return the process id that ``name`` stands for: an id, a host, or the beginning of one id (4 characters or more).

    Raises:
        ScenarioError: it stands for none, or for several.
    """
    ids = [instance.process_id for instance in group.instances]
    if name in ids:
        return name
    if name.lower() in ids:
        return name.lower()
    hosts = [instance.process_id for instance in group.instances if instance.host == name]
    found = hosts or [of for of in ids if len(name) >= _LEAST_PREFIX and of.startswith(name)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(sorted(instance.host or instance.process_id for instance in group.instances)[:5])
    more = ", …" if len(ids) > 5 else ""
    what = f"{len(found)} instances are called {name!r}" if found else f"there is no instance {name!r}"
    raise ScenarioError(what, where=where, fix=f"name one by its process id or host: {known}{more}")
