"""Reports that a command writes to files beside what it shows: ``--report FORMAT=FILE``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import typer

from kstream_plan.cli.options.parameters import Options, WrongValueError
from kstream_plan.cli.panels import OUTPUT


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
