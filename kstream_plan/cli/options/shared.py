"""The options that commands share one by one: same name, same meaning everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options.parameters import parser
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.panels import INPUT, OUTPUT, PLANNING
from kstream_plan.documents.quantities import parse_duration

Snapshots = Annotated[
    list[str],
    typer.Argument(metavar="SNAPSHOT...", help="Snapshots, JSON or Parquet: files, folders, globs; - is stdin."),
]
StreamsConfig = Annotated[
    list[str] | None,
    typer.Option(
        "--streams-config",
        metavar="[ID=]FILE",
        help="Settings (.properties, YAML); a folder has one per application.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        rich_help_panel=INPUT,
        help="Ignore data newer than this time, e.g. 2026-11-21T12:00:00Z.",
    ),
]
ApplicationId = Annotated[
    list[str] | None,
    typer.Option(
        "--application-id",
        metavar="ID",
        rich_help_panel=INPUT,
        help="Only applications with this id; a glob, repeatable.",
    ),
]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay",
        rich_help_panel=PLANNING,
        help="Repeat the decision recorded in the snapshot, from the input it was made from.",
    ),
]
Output = Annotated[OutputForm, typer.Option("--output", rich_help_panel=OUTPUT, help="Form of the answer on stdout.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", rich_help_panel=OUTPUT, help="File to write the answer to, as JSON."),
]
Restart = Annotated[
    int | None,
    typer.Option(
        "--restart",
        metavar="DURATION",
        parser=parser(parse_duration, 1_000, show=lambda ms: f"{ms / 1_000:g}s"),
        help="Time from an instance's stop until it joins again (default: 40s).",
    ),
]
#: A stop, the start of a JVM, and joining.
USUAL_RESTART_MS = 40_000
