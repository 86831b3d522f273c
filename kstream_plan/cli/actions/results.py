"""Results beside stdout: as a data set, and as reports, whose files are checked before the work."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kstream_plan.cli.options.reports import ReportFile
from kstream_plan.cli.output import check_target, written_at_once
from kstream_plan.errors import KstreamPlanError, UsageError
from kstream_plan.fleet.batches import packed, unpacked
from kstream_plan.snapshots.files.sources import STDIN

if TYPE_CHECKING:
    from pyspark import SparkContext

    from kstream_plan.documents.plan.read import SavedPlan
    from kstream_plan.plans.result import Result
    from kstream_plan.snapshots.spark.data_set import DataSet


class ResultsRequest(NamedTuple):
    """Where results go, in which form, and whether they replace others; ``lighter`` leaves out what is not shown."""

    path: str
    form: str
    overwrite: bool
    lighter: Callable[[bytes], bytes] | None

    def open_data_set(self, context: SparkContext) -> DataSet:
        """Return the data set, which may be written."""
        from kstream_plan.snapshots.spark.data_set import DataSet  # noqa: PLC0415 - loads Spark

        target = DataSet(context, self.path, overwrite=self.overwrite)
        target.check()
        return target


def results_request(
    out_file: str | None, form: str | None, *, overwrite: bool, json_shown: bool
) -> ResultsRequest | None:
    """Return what is asked for of ``--set out.format``; ``json_shown``: the JSON is to go to stdout as well."""
    if form is None:
        if overwrite:
            raise UsageError(
                "--set overwrite=true goes with --set out.format", fix="give that as well, or leave it out"
            )
        return None
    if out_file is None:
        raise UsageError("--set out.format needs a folder", fix="name a folder for them with --out")
    if Path(out_file).exists() and not overwrite:
        fix = "name another folder, or replace it with --set overwrite=true"
        raise KstreamPlanError("exists already", where=f"--out {out_file}", fix=fix)
    return ResultsRequest(out_file, form, overwrite, None if json_shown else without_json)


def rows_of(answer: bytes) -> list[tuple[Any, ...]]:
    """Return the row of an answer with its plan; none if it is an error, which rows are made of elsewhere."""
    from kstream_plan.documents.results import row_of  # noqa: PLC0415 - not for every plan

    result = unpacked(answer).result
    if result is None:
        return []
    return [row_of(replace(result.result.result, plan=zlib.decompress(result.json).decode().rstrip("\n")))]


def without_json(answer: bytes) -> bytes:
    """Return an answer without what only its row needs."""
    answer_without_json = unpacked(answer)
    return (
        answer
        if answer_without_json.result is None
        else packed(replace(answer_without_json, result=answer_without_json.result._replace(json=zlib.compress(b""))))
    )


def unreadable(error: KstreamPlanError) -> Result:
    """Return the result of an application, or a file, of which there is only an error."""
    from kstream_plan.plans.result import Result  # noqa: PLC0415 - loads what plans are made of

    return Result(application_id=error.application_id, outcome="unreadable", error=str(error))


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
