"""``history``: how far behind applications were over time, by their lag rows."""

from __future__ import annotations

from typing import Annotated

import typer

from kstream_plan.answers.history import lag_history_json
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.running import Limited, Spark
from kstream_plan.cli.output import OutputForm, write_stderr, write_stdout
from kstream_plan.cli.pages import draw_pages, lags_command, with_commands
from kstream_plan.cli.progress import show_progress
from kstream_plan.render.pages.history import history_page
from kstream_plan.render.text.numbers import count, name_list
from kstream_plan.snapshots.lag_histories import read_lag_courses
from kstream_plan.snapshots.rows.fields import printable

_DAY_MS = 86_400_000
_TOP = 10


class HistoryOptions(Spark, Limited):
    """What ``history`` is asked."""

    lags: Annotated[
        list[str], typer.Argument(metavar="LAGS...", help="Lag rows: files, folders, globs; - is standard input.")
    ]
    over: int | None = None
    top: int | None = None
    application_id: shared.ApplicationId = None
    as_of: shared.AsOf = None
    output: shared.Output = OutputForm.TABLE


@takes(HistoryOptions)
def history(options: HistoryOptions) -> None:
    """Show how far behind applications were over time, who falls behind, and which tasks are written to most."""
    with expected_failures(debug=options.debug), options.in_force():
        over_ms = _DAY_MS if options.over is None else options.over
        top = _TOP if options.top is None else options.top
        with show_progress(quiet=options.quiet) as progress:
            progress("reading")
            outcomes = read_lag_courses(
                options.lags,
                over_ms=over_ms,
                as_of=options.as_of,
                application_ids=options.application_id or (),
                **options.session,
                debug=options.debug,
            )
        if outcomes.skipped:
            files = f"{count(len(outcomes.skipped), 'file')} skipped, whose names say that they hold no lag rows"
            write_stderr(f"warning: {files}: {name_list([printable(name) for name in outcomes.skipped])}")
        if outcomes.passed_over:
            rows = count(outcomes.passed_over, "row")
            write_stderr(
                f"warning: {rows} without a readable application_id, process_id, task_id or captured_at left out"
            )
        command = lags_command(options.lags, options.application_id or ())
        if options.output is OutputForm.JSON:
            write_stdout("".join(f"{lag_history_json(course, command)}\n" for course in outcomes.courses))
        else:
            pages = (with_commands(history_page(course, top), command) for course in outcomes.courses)
            write_stdout(draw_pages(pages, options.output))
