"""``check``: what plans do to a group, held against a policy, for a merge gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from kstream_plan.cli.actions.check_saved import STDIN, baselines, check_saved, sort_paths
from kstream_plan.cli.actions.overrides import overrides
from kstream_plan.cli.actions.read import check_before_reading
from kstream_plan.cli.actions.scenarios import scenario_of
from kstream_plan.cli.exit_codes import ExitCode, first_that_applies
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.failures import report as report_error
from kstream_plan.cli.options import check as check_options
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options.groups import (
    Applications,
    Chance,
    Deciding,
    Given,
    NewInstances,
    Reading,
    Settings,
    Spark,
    takes,
)
from kstream_plan.cli.output import check_target, page, say, talk, written_at_once
from kstream_plan.cli.progress import progress
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.errors import KstreamPlanError, UsageError
from kstream_plan.policy.check import check_all
from kstream_plan.policy.findings import Check, Standard
from kstream_plan.policy.limits import LimitValue, Policy
from kstream_plan.render.check import REPORTS
from kstream_plan.render.check.github import not_for_the_runner
from kstream_plan.render.check.table import table_report

#: The one report that may share stdout with the table: whoever reads it takes its lines out of any text.
_BESIDE_THE_TABLE = "github"


class Options:
    """What only this command is asked."""

    paths: check_options.Checked
    policy: check_options.PolicyFile = None
    report: check_options.Reports = None
    baseline: check_options.Baseline = None
    require_generation: options.RequireGeneration = None
    max_snapshot_age: options.MaxSnapshotAge = None
    expect_digest: check_options.ExpectDigest = None
    fail_on_warning: check_options.FailOnWarning = False
    today: check_options.Today = None


@takes(Options, NewInstances, Chance, check_options.Planning, Reading, Settings, Deciding, Spark, Applications)
def check(given: Given) -> None:
    """Check what plans, saved or made now, do to a group against a policy; exit code 3 if they break it."""
    with expected_failures(debug=given["debug"]):
        _check_targets(given)
        rules = Policy() if given["policy"] is None else load_policy(given["policy"])
        settings = overrides(given)
        standard = Standard(rules, given["today"] or datetime.now(UTC), _guards(given))
        source = sort_paths(given)
        happens = scenario_of(given)
        before = baselines(given["baseline"] or ())
        with progress() as tell:
            work = check_saved(source, standard, before, given, tell)
            if source.snapshots:
                from kstream_plan.cli.actions.check_made import check_snapshots  # noqa: PLC0415 - not for saved plans

                work += check_snapshots(source, happens, standard, before, settings, given, tell)
        errors = [(error.application_id, str(error)) for error in work.errors]
        result = check_all(work.results, standard.now, fail_on_warning=given["fail_on_warning"], errors=errors)
        unused = sorted(before.keys() - {one.application_id for one in work.results})
        _say_what_was_missed(work.errors, unused, debug=given["debug"])
        _deliver(result, given)
    codes = [ExitCode.POLICY] if result.violated else []
    raise typer.Exit(first_that_applies(codes, work.errors))


def _check_targets(given: Mapping[str, Any]) -> None:
    """Check before the work that every file can be written.

    Raises:
        UsageError: a report that cannot go to stdout, or two that go to one file.
        KstreamPlanError: a file cannot be written.
    """
    check_before_reading(given)
    targets = [Path(given["out"]).resolve()] if given["out"] else []
    for form, file in given["report"] or ():
        if file == STDIN:
            if form != _BESIDE_THE_TABLE:
                what = f"{form} cannot share standard output with the table"
                raise UsageError(what, where="--report", fix=f"write --report {form}=FILE")
            continue
        check_target(Path(file), "--report")
        targets.append(Path(file).resolve())
    if len(set(targets)) < len(targets):
        raise UsageError("two outputs go to one file", where="--report", fix="name another file")


def _guards(given: Mapping[str, Any]) -> dict[str, LimitValue]:
    digests = given["expect_digest"]
    guards: dict[str, LimitValue | None] = {
        "--require-generation": given["require_generation"],
        "--max-snapshot-age": given["max_snapshot_age"],
        "--expect-digest": tuple(digests) if digests else None,
    }
    return {name: value for name, value in guards.items() if value is not None}


def _say_what_was_missed(errors: Sequence[KstreamPlanError], unused: Sequence[str], *, debug: bool) -> None:
    for error in errors:
        report_error(error, debug=debug)
    for application_id in unused:
        talk(f"warning: --baseline has a plan of {application_id!r}, which is not checked")


def _deliver(result: Check, given: Mapping[str, Any]) -> None:
    """Write the reports, then show the table."""
    for form, file in given["report"] or ():
        if file != STDIN:
            with written_at_once(Path(file)) as target:
                target.write(REPORTS[form](result))
    shown = page()
    text = table_report(result, width=shown.width, colour=shown.colour)
    if any(file == STDIN for _, file in given["report"] or ()):
        text = not_for_the_runner(text) + REPORTS[_BESIDE_THE_TABLE](result)
    say(text)
