"""``check-target``: whether a target file would count for a group as it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.commands.export_target import only_snapshot
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.options.running import Limited
from kstream_plan.cli.output import OutputForm, write_stdout
from kstream_plan.cli.pages import NOT_READ, answers_text
from kstream_plan.documents.target_file import target_content
from kstream_plan.model.answer import Answer
from kstream_plan.simulation.target_check import check_target_file


class CheckTargetOptions(Limited):
    """What ``check-target`` is asked."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help="Target file.")]
    snapshot: Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Snapshot of the group; - is standard input.")]
    now: int | None = None
    trust_reports_of: int | None = None
    output: shared.Output = OutputForm.TABLE


@takes(CheckTargetOptions)
def check_target(options: CheckTargetOptions) -> None:
    """Tell whether a target file would count; exit code 3 if not, or if that is unknown."""
    with expected_failures(debug=options.debug):
        now_ms = time.time_ns() // 1_000_000 if options.now is None else options.now
        check = check_target_file(
            target_content(options.file),
            only_snapshot(options.snapshot, debug=options.debug),
            now_ms,
            path=str(options.file),
            trust_ms=options.trust_reports_of,
        )
        write_stdout(answers_text([check], [NOT_READ], options.output))
    raise typer.Exit(ExitCode.DONE if check.answer is Answer.YES else ExitCode.POLICY)
