"""``plugin``: the sources of the class that has Kafka Streams follow a target file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.actions.plugin_project import write_project
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options.parameters import Options, takes
from kstream_plan.cli.output import write_stdout
from kstream_plan.render.text.escape import printable


class PluginOptions(Options):
    """What ``plugin`` is asked."""

    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New or empty folder for the Maven project.")]


@takes(PluginOptions)
def plugin(options: PluginOptions) -> None:
    """Write the Maven project of the assignor that follows a target file."""
    with expected_failures(debug=options.debug):
        number = write_project(options.out)
        write_stdout(
            f"{number} files are in {printable(str(options.out))}; README.md says how to bring the class in.\n"
            f"Next: {printable(shlex.join(['mvn', '-f', str(options.out / 'pom.xml'), 'package']))}\n"
        )
