"""The options of the commands that simulate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import typer

from kstream_plan.cli.options.groups import Bounded, Following, PlansSnapshots, Ranged
from kstream_plan.cli.options.parameters import (
    KeyValue,
    Options,
    WrongValueError,
    key_value,
    number_option,
    parse_name,
    parser,
)
from kstream_plan.cli.options.saving import Saving
from kstream_plan.cli.panels import INSTANCES, PLANNING
from kstream_plan.documents.quantities import parse_duration, parse_whole_number
from kstream_plan.model.scenario import MOST_INSTANCES


class NewValue(NamedTuple):
    """What new instances are like: one of :data:`OF_NEW`, and its value."""

    key: str
    value: Any


def _tags(text: str) -> tuple[KeyValue, ...]:
    return tuple(key_value(part.strip()) for part in text.split(","))


#: What ``--new`` says of new instances, and how it is read.
OF_NEW: Mapping[str, Callable[[str], Any]] = {
    "threads": parser(parse_whole_number, 1, MOST_INSTANCES),
    "tags": _tags,
    "rack": parse_name,
    "at": parser(parse_duration),
    "id": parse_name,
}


def _new(text: str) -> NewValue:
    key, value = key_value(text)
    if key not in OF_NEW:
        raise WrongValueError(
            f"{key!r} is not one of {', '.join(OF_NEW)}", fix="write rack=a, tags=zone=a or threads=2"
        )
    return NewValue(key, OF_NEW[key](value))


class NewInstances(Options, panel=INSTANCES):
    """Who joins and who stops."""

    add: Annotated[int | None, number_option("Number of instances that join.", 0, MOST_INSTANCES)] = None
    to: Annotated[int | None, number_option("Scale out to N instances.", 1, MOST_INSTANCES)] = None
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove",
            metavar="ID",
            parser=parse_name,
            help="Instance that stops (default close): process id, prefix, or host; repeatable.",
        ),
    ] = None
    new: Annotated[
        list[NewValue] | None,
        typer.Option(
            "--new",
            metavar="KEY=VALUE",
            parser=_new,
            help="Value of new instances, e.g. rack=a; also threads, tags, at (when they join), id.",
        ),
    ] = None

    def of_new(self, key: str) -> list[Any]:
        """Return what ``--new`` says of new instances under this name."""
        return [item.value for item in self.new or () if item.key == key]


class Chance(Options, panel=PLANNING):
    """How often the random ids of new instances are drawn."""

    draws: int | None = None
    draws_within: int | None = None


class Simulating(Bounded, panel=PLANNING):
    """What is simulated besides, and what is shown of it."""

    what_if: bool = True
    record_size: int | None = None
    full: bool = False


class SimulatesSnapshots(Saving, Ranged, Simulating, Chance, Following, PlansSnapshots):
    """What every command takes that reads snapshots and simulates."""
