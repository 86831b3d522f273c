"""The options of the commands that simulate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options.shared import key_value, parser, whole_number
from kstream_plan.documents.quantities import parse_duration


def _tags(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(key_value(part.strip()) for part in text.split(","))


def _name(text: str) -> str:
    if not text.strip():
        raise typer.BadParameter("it is empty")
    return text


OneSnapshot = Annotated[
    str, typer.Argument(metavar="SNAPSHOT", help="A path, folder or glob of JSON or Parquet; - is standard input.")
]
Instances = Annotated[
    list[str],
    typer.Argument(
        metavar="INSTANCE...", parser=_name, help="Who is to stop: process ids, their beginnings, or hosts."
    ),
]
RequireWarm = Annotated[
    bool, typer.Option("--require-warm", help="Exit code 3 if any task would start cold now, or might.")
]
LeaveCleanly = Annotated[
    bool, typer.Option("--leave", help="They leave the group cleanly, not by Kafka Streams' default close.")
]
ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO.yaml", help="A timed list of events; kstream-plan schema scenario describes it."),
]
Add = Annotated[
    int | None,
    typer.Option("--add", metavar="N", parser=parser(whole_number, 0, 10_000), help="So many instances join."),
]
To = Annotated[
    int | None,
    typer.Option(
        "--to", metavar="N", parser=parser(whole_number, 1, 10_000), help="So many join that there are N in the end."
    ),
]
Remove = Annotated[
    list[str] | None,
    typer.Option(
        "--remove",
        metavar="ID",
        parser=_name,
        help="This instance stops, by a default close: process id, the beginning of it, or host; repeatable.",
    ),
]
NewThreads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        parser=parser(whole_number, 1, 10_000),
        help="Stream threads of a new instance (default: as most have).",
    ),
]
NewClientTags = Annotated[
    list[str] | None,
    typer.Option(
        "--client-tags",
        metavar="K=V,...",
        parser=_tags,
        help="Client tags of the new instances; repeatable: in turn.",
    ),
]
NewRack = Annotated[
    list[str] | None,
    typer.Option("--rack", metavar="RACK", parser=_name, help="Rack of the new instances; repeatable: in turn."),
]
AddAt = Annotated[
    int | None,
    typer.Option("--add-at", metavar="DURATION", parser=parser(parse_duration), help="They join after so long."),
]
NewProcessId = Annotated[
    list[str] | None,
    typer.Option(
        "--process-id", metavar="ID", parser=_name, help="The process id of a new instance, for replays; repeatable."
    ),
]
NumberOfDraws = Annotated[
    int | None,
    typer.Option(
        "--draws",
        metavar="N",
        parser=parser(whole_number, 1, 1_000_000),
        help="So many draws of the new instances' random ids (default: by size, 200 at most).",
    ),
]
DrawsWithin = Annotated[
    int | None,
    typer.Option(
        "--draws-within",
        metavar="DURATION",
        parser=parser(parse_duration, 1, show="{}ms".format),
        help="No more draws after so long; how many then depends on the machine.",
    ),
]
WhatIf = Annotated[bool, typer.Option("--what-if/--no-what-if", help="Simulate other settings as well.")]
RecordSize = Annotated[
    int | None,
    typer.Option("--record-size", metavar="BYTES", parser=parser(whole_number, 1), help="Show restored bytes, too."),
]
