"""``check``: what plans do to a group, held against a policy, for a merge gate."""

from __future__ import annotations

import typer

from kstream_plan.cli.actions.check_report import CheckReport, ReportForms, check_report
from kstream_plan.cli.actions.check_saved import baselines, check_saved, sort_paths
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading
from kstream_plan.cli.actions.remote_plans import download_plans
from kstream_plan.cli.actions.results import check_reports, write_reports
from kstream_plan.cli.actions.scenarios import scenario_of
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures, report_all
from kstream_plan.cli.options.check import CheckOptions
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.output import OutputForm, page, write_stdout
from kstream_plan.cli.pages import input_of, without_setting
from kstream_plan.cli.progress import show_progress
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.model import Note
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import LimitValue, Policy
from kstream_plan.render.check.github import not_for_the_runner
from kstream_plan.snapshots.files.sources import STDIN

#: The one report that may share stdout with the table: whoever reads it takes its lines out of any text.
_BESIDE_THE_TABLE = "github"
_UNUSED = "--baseline has a plan of {name!r}, which is not checked"


@takes(CheckOptions)
def check(options: CheckOptions) -> None:
    """Check what plans, saved or made now, do to a group against a policy; exit code 3 if they break it."""
    with expected_failures(debug=options.debug):
        check_before_reading(options, options.out)
        stdout_forms = () if options.output is OutputForm.TABLE else (options.output.value,)
        check_reports(options.report, options.out, "" if stdout_forms else _BESIDE_THE_TABLE)
        rules = Policy() if options.policy is None else load_policy(options.policy)
        settings = overrides(options)
        standard = Standard(rules, options.clock, _guards(options))
        forms = tuple(dict.fromkeys([*(report.form for report in options.report or ()), *stdout_forms]))
        words = dict(options.option_words)
        words["settings"] = without_setting(words.get("settings", ()), "now")
        if options.now is not None and options.policy:  # only compare goes by it as this command does
            words["clock"] = ("--set", f"now={options.clock:%Y-%m-%dT%H:%M:%SZ}")
        source_of_pages = input_of(options.paths, "", is_plural=False, option_words=tuple(words.items()))
        forms_of_report = ReportForms(*page(), forms, options.fail_on_warning, source_of_pages)
        with (
            show_progress(quiet=options.quiet) as progress,
            download_plans(options.paths, options, debug=options.debug),
        ):
            source = sort_paths(options)
            happens = scenario_of(options)
            plans_before = baselines(options.baseline or ())
            work = check_saved(source, standard, plans_before, forms_of_report, options, progress)
            if source.snapshots:
                from kstream_plan.cli.actions.check_snapshots import check_snapshots  # noqa: PLC0415 - not for saved plans

                work += check_snapshots(
                    source, happens, standard, plans_before, forms_of_report, settings, options, progress
                )
        errors = [(error.application_id, str(error)) for error in work.errors]
        extra_ids = sorted(plans_before.keys() - {part.application_id for part in work.results})
        result = check_report(
            work.results,
            standard.now,
            forms_of_report,
            errors,
            [(name, Note("baseline-unused", _UNUSED.format(name=name))) for name in extra_ids],
        )
        report_all(work.errors, debug=options.debug)
        _deliver(result, options)
    raise typer.Exit(first_that_applies([ExitCode.POLICY] * result.tally.violated, work.errors))


def _guards(options: CheckOptions) -> dict[str, LimitValue]:
    guards: dict[str, LimitValue | None] = {
        "--require-generation": options.require_generation,
        "--max-snapshot-age": options.max_snapshot_age,
        "--expect-digest": tuple(options.expect_digest) if options.expect_digest else None,
    }
    return {name: value for name, value in guards.items() if value is not None}


def _deliver(result: CheckReport, options: CheckOptions) -> None:
    """Write the reports, then show the answer."""
    write_reports([report for report in options.report or () if report.file != STDIN], result.reports)
    text = result.table() if options.output is OutputForm.TABLE else result.reports[options.output.value]()
    if any(file == STDIN for _, file in options.report or ()):
        text = not_for_the_runner(text) + result.reports[_BESIDE_THE_TABLE]()
    write_stdout(text)
