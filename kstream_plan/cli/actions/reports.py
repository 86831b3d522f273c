"""Reports in files: checked before the work, written after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.output import check_target, written_at_once
from kstream_plan.errors import UsageError
from kstream_plan.snapshots.files.sources import STDIN

if TYPE_CHECKING:
    from kstream_plan.documents.plan.read import SavedPlan


def check_reports(
    reports: Iterable[ReportFile] | None, out_file: Path | None, shares_stdout: str | None = None
) -> None:
    """Check before the work that every file can be written.

    ``out_file`` is another file that is written, ``shares_stdout`` the one form that may stand below the table.
    """
    targets = [out_file.resolve()] if out_file else []
    for form, file in reports or ():
        if file == STDIN:
            if form != shares_stdout:
                hint = f", or take --output {form}" * (bool(shares_stdout) and form in ("json", "markdown"))
                fix = f"write --report {form}=FILE{hint}"
                raise UsageError(f"{form} cannot share standard output with the table", where="--report", fix=fix)
            continue
        check_target(Path(file), "--report")
        targets.append(Path(file).resolve())
    if len(set(targets)) < len(targets):
        raise UsageError("two outputs go to one file", where="--report", fix="name another file")


def write_reports(reports: Iterable[ReportFile] | None, texts: Mapping[str, Callable[[], str]]) -> None:
    """Write each report as the form's function makes it."""
    for form, file in reports or ():
        text = texts[form]()
        with written_at_once(Path(file)) as target:
            target.write(text)


def write_plan_reports(reports: Sequence[ReportFile] | None, lines: Iterable[str]) -> None:
    """Draw plans and simulations from their JSON, as it is saved: what was saved can be shown again."""
    if reports:
        from kstream_plan.documents.plan.read import read_saved  # noqa: PLC0415 - only for reports

        write_saved_reports(reports, [entry for line in lines for entry in read_saved(line.encode(), "the plan")])


def write_saved_reports(reports: Sequence[ReportFile] | None, entries: Sequence[SavedPlan]) -> None:
    """Draw saved plans and simulations."""
    if reports and entries:
        from kstream_plan.render.report.reports import plan_svg, plans_html  # noqa: PLC0415 - only for reports

        write_reports(reports, {"html": lambda: plans_html(entries), "svg": lambda: plan_svg(entries)})
