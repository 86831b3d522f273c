"""``check``: what plans do to a group, held against a policy, for a merge gate."""

from __future__ import annotations

import typer

from kstream_plan.cli.actions.check_saved import baselines, check_saved, sort_paths
from kstream_plan.cli.actions.elsewhere import plans_fetched
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading
from kstream_plan.cli.actions.reports import check_reports, write_reports
from kstream_plan.cli.actions.scenarios import scenario_of
from kstream_plan.cli.actions.told import AllTold, Telling, all_told
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.failures import report as report_error
from kstream_plan.cli.options.check import CheckOptions
from kstream_plan.cli.options.parameters import takes
from kstream_plan.cli.output import page, say
from kstream_plan.cli.progress import progress
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.model import Note
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import LimitValue, Policy
from kstream_plan.render.check.github import not_for_the_runner
from kstream_plan.snapshots.files.sources import STDIN

#: The one report that may share stdout with the table: whoever reads it takes its lines out of any text.
_BESIDE_THE_TABLE = "github"


@takes(CheckOptions)
def check(asked: CheckOptions) -> None:
    """Check what plans, saved or made now, do to a group against a policy; exit code 3 if they break it."""
    with expected_failures(debug=asked.debug):
        check_before_reading(asked, asked.out)
        check_reports(asked.report, asked.out, _BESIDE_THE_TABLE)
        rules = Policy() if asked.policy is None else load_policy(asked.policy)
        settings = overrides(asked)
        standard = Standard(rules, asked.clock, _guards(asked))
        forms = tuple(dict.fromkeys(one.form for one in asked.report or ()))
        telling = Telling(*page(), forms, asked.fail_on_warning)
        with progress(quiet=asked.quiet) as tell, plans_fetched(asked.paths, asked, debug=asked.debug):
            source = sort_paths(asked)
            happens = scenario_of(asked)
            before = baselines(asked.baseline or ())
            work = check_saved(source, standard, before, telling, asked, tell)
            if source.snapshots:
                from kstream_plan.cli.actions.check_made import check_snapshots  # noqa: PLC0415 - not for saved plans

                work += check_snapshots(source, happens, standard, before, telling, settings, asked, tell)
        errors = [(error.application_id, str(error)) for error in work.errors]
        unused = sorted(before.keys() - {one.application_id for one in work.results})
        result = all_told(work.results, standard.now, telling, errors, [(of, _not_checked(of)) for of in unused])
        for error in work.errors:
            report_error(error, debug=asked.debug)
        _deliver(result, asked)
    codes = [ExitCode.POLICY] if result.tally.violated else []
    raise typer.Exit(first_that_applies(codes, work.errors))


def _guards(asked: CheckOptions) -> dict[str, LimitValue]:
    guards: dict[str, LimitValue | None] = {
        "--require-generation": asked.require_generation,
        "--max-snapshot-age": asked.max_snapshot_age,
        "--expect-digest": tuple(asked.expect_digest) if asked.expect_digest else None,
    }
    return {name: value for name, value in guards.items() if value is not None}


def _not_checked(application_id: str) -> Note:
    return Note("baseline-unused", f"--baseline has a plan of {application_id!r}, which is not checked")


def _deliver(result: AllTold, asked: CheckOptions) -> None:
    """Write the reports, then show the table."""
    write_reports([one for one in asked.report or () if one.file != STDIN], result.reports)
    text = result.table()
    if any(file == STDIN for _, file in asked.report or ()):
        text = not_for_the_runner(text) + result.reports[_BESIDE_THE_TABLE]()
    say(text)
