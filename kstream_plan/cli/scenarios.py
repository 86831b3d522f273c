"""The scenario that a command line asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kstream_plan.cli.option_groups import Chance, NewInstances, OptionGroup, defaults
from kstream_plan.errors import UsageError
from kstream_plan.model import Group
from kstream_plan.scenario import Scenario

#: What happens to a group; raises a ``ScenarioError`` if it does not fit the group.
ScenarioOf: TypeAlias = Callable[[Group], Scenario]


def scenario_of(given: Mapping[str, Any]) -> ScenarioOf | None:
    """Return what ``--scenario``, or ``--add`` and its like, ask for; ``None``: nothing of it, a rebalance starts now.

    Raises:
        UsageError: options that do not go together.
        ConfigError: the scenario cannot be read.
    """
    members = _asked(given, NewInstances)
    if given["scenario"] is None and not {"add", "to", "remove"} & set(members):
        for name in (*members, *_asked(given, Chance)):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} goes with --add, --to or --scenario", fix=f"give one, or leave out {option}")
        return None
    if given["trigger"] is not None:
        raise UsageError("--trigger is for a rebalance that starts now", fix="leave it out, the events say it")
    if given["scenario"] is None:
        return scale_out_of(given)
    if members:
        raise UsageError(f"--{members[0].replace('_', '-')} is an event, too", fix="write it into the scenario")
    from kstream_plan.config.scenario_file import load_scenario  # noqa: PLC0415 - not where saved plans are checked

    scenario = load_scenario(given["scenario"])
    return lambda _group: scenario


def _asked(given: Mapping[str, Any], group: OptionGroup) -> list[str]:
    return [name for name in defaults(group) if given[name] is not None]


def scale_out_of(given: Mapping[str, Any]) -> ScenarioOf:
    """Return the scenario of ``--add``, ``--to`` and ``--remove``.

    Raises:
        UsageError: nobody joins or stops, or options that do not go together.
    """
    if given["add"] is not None and given["to"] is not None:
        raise UsageError("--add and --to say the same thing", fix="give one of them")
    if given["add"] is None and given["to"] is None and not given["remove"]:
        raise UsageError("nobody joins or stops", fix="give --add N, --to N or --remove ID")
    return lambda group: _scale_out(group, given)


def _scale_out(group: Group, given: Mapping[str, Any]) -> Scenario:
    remove, to = given["remove"] or (), given["to"]
    add = given["add"] or 0
    if to is not None:
        add = to - (len(group.instances) - len(set(remove)))
        if add < 0:
            raise UsageError(
                f"{group.application_id!r} has {len(group.instances)} instances already, --to {to} is less",
                fix="say which ones stop with --remove",
            )
    from kstream_plan.studies.scale_out import scale_out  # noqa: PLC0415 - not where saved plans are checked

    return scale_out(
        group,
        add=add,
        threads=given["threads"],
        client_tags=given["client_tags"] or (),
        racks=given["rack"] or (),
        add_at_ms=given["add_at"] or 0,
        process_ids=given["process_id"] or (),
        remove=remove,
    )
