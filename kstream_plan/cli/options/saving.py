"""Where the results of a command go beside stdout: ``--out``, and ``--report FORMAT=FILE``."""

from __future__ import annotations

from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.reports import Drawing
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.panels import OUTPUT

if TYPE_CHECKING:
    from kstream_plan.cli.actions.results import ResultsRequest


class PathAsGiven(PosixPath):
    """A path that knows how it was given: of ``hdfs:///results`` a path keeps one slash."""

    text: str


def _path(text: str) -> Path:
    path = PathAsGiven(text)
    path.text = text
    return path


class Saving(Drawing, panel=OUTPUT):
    """A file of JSON, a data set of results, and reports."""

    output: shared.Output = OutputForm.TABLE
    out: Annotated[
        PathAsGiven | None,
        typer.Option("--out", metavar="FILE", parser=_path, help="File to write the answer to, as JSON."),
    ] = None
    out_format: str | None = None
    overwrite: bool = False

    @property
    def out_file(self) -> Path | None:
        """The file of JSON, if one is asked for."""
        return self.out if self.out_format is None else None

    @property
    def uses_json(self) -> bool:
        """Whether the JSON is needed after the work, for stdout or a report."""
        return self.output is OutputForm.JSON or bool(self.report)

    @property
    def results(self) -> ResultsRequest | None:
        """The data set of results, if one is asked for."""
        from kstream_plan.cli.actions.results import results_request  # noqa: PLC0415 - not for help

        path = None if self.out is None else self.out.text
        return results_request(
            path,
            self.out_format,
            overwrite=(self if self.out_format else self.command_line).overwrite,
            json_shown=self.uses_json,
        )
