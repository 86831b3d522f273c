"""The options of the commands that simulate."""

from __future__ import annotations

from typing import Annotated, NewType

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Bounded, PlansSnapshots, Ranged
from kstream_plan.cli.options.parameters import Options
from kstream_plan.cli.options.saving import Saving
from kstream_plan.cli.options.shared import (
    KeyValue,
    duration_option,
    key_value,
    name,
    number_option,
    parser,
    whole_number,
)
from kstream_plan.cli.panels import INSTANCES, PLANNING
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.model.scenario import MOST_INSTANCES

#: The client tags of one instance.
Tags = NewType("Tags", tuple[KeyValue, ...])


def _tags(text: str) -> Tags:
    return Tags(tuple(key_value(part.strip()) for part in text.split(",")))


class NewInstances(Options, panel=INSTANCES):
    """Who joins and who stops."""

    add: Annotated[int | None, number_option("Number of instances that join.", 0, MOST_INSTANCES)] = None
    to: Annotated[int | None, number_option("Scale out to N instances.", 1, MOST_INSTANCES)] = None
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove",
            metavar="ID",
            parser=name,
            help="Instance that stops (default close): process id, prefix, or host; repeatable.",
        ),
    ] = None
    threads: Annotated[
        int | None, number_option("Stream threads of a new instance (default: as most have).", 1, MOST_INSTANCES)
    ] = None
    client_tags: Annotated[
        list[Tags] | None,
        typer.Option(
            "--client-tags",
            hidden=True,
            metavar="K=V,...",
            parser=_tags,
            help="Client tags of the new instances; repeatable, used in turn.",
        ),
    ] = None
    rack: Annotated[
        list[str] | None,
        typer.Option(
            "--rack", metavar="RACK", parser=name, help="Rack of the new instances; repeatable, used in turn."
        ),
    ] = None
    add_at: Annotated[int | None, duration_option("Delay before the new instances join.", rare=True)] = None
    process_id: Annotated[
        list[str] | None,
        typer.Option(
            "--process-id",
            hidden=True,
            metavar="ID",
            parser=name,
            help="Process id of a new instance, for replays; repeatable.",
        ),
    ] = None


class Chance(Options, panel=PLANNING):
    """How often the random ids of new instances are drawn."""

    draws: Annotated[
        int | None,
        number_option(
            "Number of random simulations of the new instances' ids (default: by size, at most 200).",
            1,
            1_000_000,
            rare=True,
        ),
    ] = None
    draws_within: Annotated[
        int | None,
        typer.Option(
            "--draws-within",
            hidden=True,
            metavar="DURATION",
            parser=parser(parse_duration, 1, show="{}ms".format),
            help="Time limit for random simulations; their number then depends on the machine.",
        ),
    ] = None


class Simulating(Bounded, panel=PLANNING):
    """What is simulated besides, and what is shown of it."""

    what_if: Annotated[bool, typer.Option("--what-if/--no-what-if", help="Also simulate other settings.")] = True
    record_size: Annotated[
        int | None,
        typer.Option(
            "--record-size",
            hidden=True,
            metavar="BYTES",
            parser=parser(whole_number, 1),
            help="Size of a record, to show restored bytes as well.",
        ),
    ] = None
    full: shared.Full = False
    verbose: shared.Verbose = False


class SimulatesSnapshots(Saving, Ranged, Simulating, Chance, PlansSnapshots):
    """What every command takes that reads snapshots and simulates."""
