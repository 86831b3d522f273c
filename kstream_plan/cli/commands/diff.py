"""``diff``: what changed between two generations, or between the beginning and the end of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.options.groups import Given, Spark, takes
from kstream_plan.cli.output import OutputForm, Page, check_target, page, say, talk, written_at_once
from kstream_plan.cli.progress import progress
from kstream_plan.comparison.changes import Comparison
from kstream_plan.comparison.compare import compare
from kstream_plan.comparison.sides import Pair
from kstream_plan.documents.history import read_stretches
from kstream_plan.documents.two_sides import Given as Side
from kstream_plan.documents.two_sides import read_pairs
from kstream_plan.errors import UsageError
from kstream_plan.render.diff.json_form import diff_json
from kstream_plan.render.diff.markdown import diff_markdown
from kstream_plan.render.diff.protocol_view import protocol_view_markdown, protocol_view_table
from kstream_plan.render.diff.story import diff_summary
from kstream_plan.render.diff.table import diff_table
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL

Old = Annotated[str, typer.Argument(metavar="OLD", help="A snapshot or a saved plan; alone, a plan or a history.")]
New = Annotated[str | None, typer.Argument(metavar="NEW", help="A snapshot or a saved plan.", show_default=False)]
OldRound = Annotated[
    int | None,
    typer.Option("--old-round", metavar="N", min=0, help="OLD after this round of its plan (default: the last)."),
]
NewRound = Annotated[
    int | None,
    typer.Option("--new-round", metavar="N", min=0, help="NEW after this round of its plan (default: the last)."),
]
ProtocolViewWanted = Annotated[
    bool,
    typer.Option("--protocol-view", help="KIP-429: what the leader saw, who joins again, every member's callbacks."),
]
FromPoint = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="POINT", help="From where in a history: a generation or a time (default: its oldest)."
    ),
]
ToPoint = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="POINT", help="Up to where in a history: a generation or a time (default: its newest)."
    ),
]
EveryTask = Annotated[
    bool, typer.Option("--verbose", "-v", help="Every task that changed; of several applications all in full.")
]
FailIfChanged = Annotated[bool, typer.Option("--fail-on-changes", help="Exit code 5 if anything changed.")]


class Options:
    """What only this command is asked."""

    old: Old
    new: New = None
    old_round: OldRound = None
    new_round: NewRound = None
    from_point: FromPoint = None
    to_point: ToPoint = None
    application_id: options.ApplicationId = None
    view: ProtocolViewWanted = False
    output: options.Output = OutputForm.TABLE
    out: options.Out = None
    verbose: EveryTask = False
    fail_on_changes: FailIfChanged = False
    debug: options.Debug = False


@takes(Options, Spark)
def diff(given: Given) -> None:
    """Say what changed between two generations of a group, what it cost, and why."""
    with expected_failures(debug=given["debug"]):
        _check(given)
        with progress() as tell:
            tell("reading")
            found = _comparisons(given)
        text = "".join(f"{diff_json(comparison, view=given['view'])}\n" for comparison in found)
        if given["out"] is not None:
            with written_at_once(given["out"]) as file:
                file.write(text)
        say(text if given["output"] is OutputForm.JSON else _page(found, given, page()))
    changed = given["fail_on_changes"] and not all(comparison.empty for comparison in found)
    raise typer.Exit(ExitCode.CHANGES if changed else ExitCode.DONE)


def _check(given: Mapping[str, Any]) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: options that do not go together.
        KstreamPlanError: the place for ``--out`` cannot be written to.
    """
    points = [given["from_point"], given["to_point"]] != [None, None]
    if points and given["new"] is not None:
        raise UsageError("--from and --to pick from one history", fix="give one file, or leave them out")
    if points and (given["old_round"], given["new_round"]) != (None, None):
        raise UsageError("a history has no rounds", fix="leave --old-round and --new-round out")
    if given["out"] is not None:
        check_target(given["out"])


def _comparisons(given: Mapping[str, Any]) -> list[Comparison]:
    pairs = _pairs(given, tuple(given["application_id"] or ()))
    for note in dict.fromkeys(note for pair in pairs for note in pair.warnings):
        talk(f"warning: {note.message}")
    return [compare(pair.old, pair.new, pair.course) for pair in pairs]


def _pairs(given: Mapping[str, Any], application_ids: tuple[str, ...]) -> list[Pair]:
    if given["from_point"] is not None or given["to_point"] is not None:
        return read_stretches(given["old"], given["from_point"], given["to_point"], application_ids)
    return read_pairs(
        Side(given["old"], given["old_round"]),
        Side(given["old"] if given["new"] is None else given["new"], given["new_round"]),
        alone=given["new"] is None,
        application_ids=application_ids,
        master=given["master"],
        spark_conf=dict(given["spark_conf"] or ()),
        java_home=given["java_home"] and str(given["java_home"]),
        debug=given["debug"],
    )


def _page(found: Sequence[Comparison], given: Mapping[str, Any], shown: Page) -> str:
    """Return what changed in one application; of several a line each, and with ``verbose`` each of them as well."""
    form, verbose, view = given["output"], given["verbose"], given["view"]
    pages = []
    if len(found) > 1:
        pages.append(diff_summary(found, MARKDOWN if form is OutputForm.MARKDOWN else TERMINAL))
    for comparison in found if verbose or len(found) == 1 else ():
        if form is OutputForm.MARKDOWN:
            text = diff_markdown(comparison, verbose=verbose)
            pages.append(text + protocol_view_markdown(comparison) if view else text)
        else:
            text = diff_table(comparison, width=shown.width, colour=shown.colour, verbose=verbose)
            pages.append(text + protocol_view_table(comparison, width=shown.width) if view else text)
    return "\n".join(pages)
