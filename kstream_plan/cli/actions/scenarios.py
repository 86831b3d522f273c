"""The scenario that a command line asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from kstream_plan.cli.options.check import CheckOptions
from kstream_plan.cli.options.parameters import option_of
from kstream_plan.cli.options.simulation import OF_NEW, Chance, NewInstances
from kstream_plan.cli.output import write_stderr
from kstream_plan.errors import UsageError
from kstream_plan.model import Group, is_uuid
from kstream_plan.model.scenario import Scenario
from kstream_plan.render.text.numbers import count

#: What counts for all new instances; of all else each may have its own.
_OF_ALL = ("threads", "at")
#: What happens to a group; raises a ``ScenarioError`` if it does not fit the group.
ScenarioOf: TypeAlias = Callable[[Group], Scenario]


def scenario_of(options: CheckOptions) -> ScenarioOf | None:
    """Return what ``--scenario``, or ``--add`` and its like, ask for; ``None``: nothing, a rebalance starts now."""
    members = members_given(options)
    if options.scenario is None and not {"add", "to", "remove"} & set(members):
        for name in options.command_line.names_given(NewInstances, Chance):
            option = option_of(name)
            raise UsageError(f"{option} goes with --add, --to or --scenario", fix=f"give one, or leave out {option}")
        return None
    if options.trigger is not None:
        raise UsageError("--set trigger is for a rebalance that starts now", fix="leave it out, the events say it")
    if options.scenario is None:
        return scale_out_of(options)
    if members:
        raise UsageError(f"{option_of(members[0])} is an event, too", fix="write it into the scenario")
    from kstream_plan.documents.scenario_file import load_scenario  # noqa: PLC0415 - not where saved plans are checked

    scenario = load_scenario(options.scenario)
    return lambda _group: scenario


def members_given(options: NewInstances) -> list[str]:
    """Return which options say who joins and who stops; what a file says of new instances is for where some join."""
    names = options.names_given(NewInstances)
    return names if {"add", "to", "remove"} & set(names) else options.command_line.names_given(NewInstances)


def scale_out_of(options: NewInstances) -> ScenarioOf:
    """Return the scenario of ``--add``, ``--to`` and ``--remove``."""
    if options.add is not None and options.to is not None:
        raise UsageError("--add and --to cannot be combined", fix="give one of them")
    if options.add is None and options.to is None and not options.remove:
        raise UsageError("no instance joins or stops", fix="give --add N, --to N or --remove ID")
    if options.to is None:
        _check_new(options, options.add or 0)
    return lambda group: _scale_out(group, options)


def _check_new(options: NewInstances, add: int) -> None:
    """Check what is said of ``add`` new instances."""
    for key in OF_NEW:
        number, option = len(options.command_line.of_new(key)), f"--new {key}"
        if not number:
            continue
        if not add:
            raise UsageError(
                f"{option} is for new instances, and none joins", fix=f"give --add N, or leave out {option}"
            )
        if key in _OF_ALL and number > 1:
            raise UsageError(f"{option} is given {number} times", fix="give it once: it is for all new instances")
        if number > add:
            message = f"{option} is given {number} times for {count(add, 'new instance')}"
            raise UsageError(message, fix=f"give {option} once per new instance at most")
    ids = options.of_new("id")
    if len(set(ids)) < len(ids):
        raise UsageError("--new id has a duplicate", fix="give every new instance its own")


def _scale_out(group: Group, options: NewInstances) -> Scenario:
    _warn_of_ids(group, options.of_new("id"))
    from kstream_plan.simulation.scale_out import scale_out  # noqa: PLC0415 - not where saved plans are checked

    return scale_out(
        group,
        add=options.add or 0,
        to=options.to,
        threads=next(iter(options.of_new("threads")), None),
        client_tags=options.of_new("tags"),
        racks=options.of_new("rack"),
        add_at_ms=next(iter(options.of_new("at")), 0),
        process_ids=options.of_new("id"),
        remove=options.remove or (),
    )


def _warn_of_ids(group: Group, process_ids: Sequence[str]) -> None:
    strange = [name for name in process_ids if not is_uuid(name)]
    if strange and all(is_uuid(name) for name in group.instance_index):
        write_stderr(
            f"warning: --new id={strange[0]!r} is no UUID like the others of {group.application_id!r}: ids decide "
            "ties, so real instances may get other tasks"
        )
