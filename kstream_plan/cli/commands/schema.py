"""``schema``: print a JSON Schema."""

from __future__ import annotations

from typing import Annotated

import typer

from kstream_plan.answers import formats
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options.parameters import Options, one_of, takes
from kstream_plan.cli.output import write_stdout


class SchemaOptions(Options):
    """What ``schema`` is asked."""

    kind: Annotated[
        str,
        typer.Argument(help=f"Kind of file: {', '.join(formats.KINDS)}.", **one_of(formats.KINDS, "DOCUMENT")),
    ]


@takes(SchemaOptions)
def schema(options: SchemaOptions) -> None:
    """Print the JSON Schema of what is written (plan and more) or read (snapshot and more)."""
    with expected_failures(debug=options.debug):
        write_stdout(formats.load(options.kind))
