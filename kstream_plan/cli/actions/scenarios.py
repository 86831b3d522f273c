"""The scenario that a command line asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from kstream_plan.cli.options.groups import Chance, NewInstances, OptionGroup, defaults, option_of
from kstream_plan.cli.output import talk
from kstream_plan.errors import UsageError
from kstream_plan.model import Group, is_uuid
from kstream_plan.model.scenario import Scenario
from kstream_plan.render.text.numbers import count

#: Options that say what new instances are like.
_OF_NEW_INSTANCES = ("threads", "client_tags", "rack", "add_at", "process_id")
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
            option = option_of(name)
            raise UsageError(f"{option} goes with --add, --to or --scenario", fix=f"give one, or leave out {option}")
        return None
    if given["trigger"] is not None:
        raise UsageError("--trigger is for a rebalance that starts now", fix="leave it out, the events say it")
    if given["scenario"] is None:
        return scale_out_of(given)
    if members:
        raise UsageError(f"{option_of(members[0])} is an event, too", fix="write it into the scenario")
    from kstream_plan.documents.scenario_file import load_scenario  # noqa: PLC0415 - not where saved plans are checked

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
    if given["to"] is None:
        _check_new(given, given["add"] or 0)
    return lambda group: _scale_out(group, given)


def _check_new(given: Mapping[str, Any], add: int) -> None:
    """Check what is said of ``add`` new instances.

    Raises:
        UsageError: it is of nobody, there is more of it than instances, or two have one id.
    """
    for name in _OF_NEW_INSTANCES:
        value, option = given[name], option_of(name)
        if value is None:
            continue
        if not add:
            raise UsageError(
                f"{option} is for new instances, and nobody joins", fix=f"give --add N, or leave out {option}"
            )
        if isinstance(value, list) and len(value) > add:
            what = f"{option} is given {len(value)} times for {count(add, 'new instance')}"
            raise UsageError(what, fix=f"give {option} once per new instance at most")
    ids = given["process_id"] or ()
    if len(set(ids)) < len(ids):
        raise UsageError("--process-id names an id twice", fix="give every new instance its own")


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
    _warn_of_ids(group, given["process_id"] or ())
    from kstream_plan.simulation.scale_out import scale_out  # noqa: PLC0415 - not where saved plans are checked

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


def _warn_of_ids(group: Group, process_ids: Sequence[str]) -> None:
    strange = [name for name in process_ids if not is_uuid(name)]
    if strange and all(is_uuid(name) for name in group.instance_index):
        talk(
            f"warning: --process-id {strange[0]!r} is no UUID like the others of {group.application_id!r}: ids decide "
            "ties, so real instances may get other tasks"
        )
