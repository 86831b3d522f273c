"""Where the results of a command go beside stdout: ``--out``, and ``--report FORMAT=FILE``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import Options, WrongValueError
from kstream_plan.cli.output import OutputForm
from kstream_plan.cli.panels import OUTPUT

if TYPE_CHECKING:
    from kstream_plan.cli.actions.results import ResultsRequest


class ReportFile(NamedTuple):
    """In which form a report is written, and to which file."""

    form: str
    file: str


def report_option(forms: Iterable[str], description: str, **settings: Any) -> Any:
    """Return the option ``--report`` of a command that has these forms; ``description`` is its help."""
    names = list(forms)

    def parse(text: str) -> ReportFile:
        form, equals, file = text.partition("=")
        if not equals or not file:
            raise WrongValueError(f"{text!r} is not FORMAT=FILE", fix=f"write {names[0]}={text or 'FILE'}")
        if form not in names:
            fix = f"write {' or '.join(f'{name}={file}' for name in names)}"
            raise WrongValueError(f"{form!r} is not one of {', '.join(names)}", fix=fix)
        return ReportFile(form, file)

    return typer.Option("--report", metavar="FORMAT=FILE", parser=parse, help=description, **settings)


class Drawing(Options, panel=OUTPUT):
    """Reports of commands whose answer is a plan, which can be drawn."""

    report: Annotated[
        list[ReportFile] | None,
        report_option(("html", "svg"), "File for the answer as a page (html) or timeline (svg); repeatable."),
    ] = None


class Paging(Options, panel=OUTPUT):
    """Reports of commands whose answer is no plan."""

    report: Annotated[
        list[ReportFile] | None, report_option(("html",), "File for the answer as a page of HTML; repeatable.")
    ] = None


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
