"""``upgrade``: how a group gets to another rebalance protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kstream_plan import snapshots
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import number_option, one_of, option_of, takes
from kstream_plan.cli.options.running import Limited, Spark
from kstream_plan.cli.options.settings import RestoreRate
from kstream_plan.cli.output import OutputForm, page, write_stdout
from kstream_plan.cli.pages import answer_text, draw_page, inputs_of, with_commands
from kstream_plan.cli.progress import Report, show_progress
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.not_modelled import FOLLOWS_TARGET_FILES, LEAVES_ON_CLOSE, NEWER_UNREAD, NOT_MODELLED
from kstream_plan.model.snapshot import Stores
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.protocols import COOPERATIVE
from kstream_plan.protocols.upgrade import upgrade as find_upgrade
from kstream_plan.render.answers import to_json
from kstream_plan.render.pages.upgrade import upgrade_page

_STREAMS = "streams"
_SESSIONED = "sessioned"
#: What is asked of ways to one protocol, or to two, only.
_ABOUT = {
    "broker_version": (_STREAMS,),
    "restore_rate": (_STREAMS,),
    "stores": (_STREAMS,),
    "add": (_STREAMS, _SESSIONED),
    "restart": (_STREAMS, _SESSIONED),
    "draws": (_STREAMS, _SESSIONED),
    "one_bounce": (COOPERATIVE,),
}
_MOST_ADDED = 1_000
#: What is read with one of these may have other members, or rebalance by another protocol than they list.
_IN_DOUBT = {NEWER_UNREAD, *NOT_MODELLED} - {LEAVES_ON_CLOSE, FOLLOWS_TARGET_FILES}


class UpgradeOptions(Spark, Limited):
    """What ``upgrade`` is asked."""

    paths: shared.Snapshots
    to_protocol: Annotated[
        str, typer.Option("--to", **one_of([COOPERATIVE, _STREAMS, _SESSIONED]), help="Protocol to upgrade to.")
    ]
    one_bounce: bool = False
    broker_version: str | None = None
    add: Annotated[
        int | None,
        number_option(
            "Number of instances or workers that join on either side (not cooperative; default: 2).", 1, _MOST_ADDED
        ),
    ] = None
    restart: shared.Restart = None
    restore_rate: RestoreRate = None
    stores: Stores | None = None
    draws: int | None = None
    application_id: shared.ApplicationId = None
    as_of: shared.AsOf = None
    output: shared.Output = OutputForm.TABLE


@takes(UpgradeOptions)
def upgrade(options: UpgradeOptions) -> None:
    """Print the way to another protocol: to cooperative, to a streams group, or of Connect workers to sessioned."""
    is_refusal = False
    with expected_failures(debug=options.debug):
        _check(options)
        with show_progress(quiet=options.quiet) as progress:
            progress("reading")
            outcomes = snapshots.read(
                options.paths,
                as_of=options.as_of,
                application_ids=options.application_id or (),
                **options.session,
                debug=options.debug,
            )
            snapshots_read = [snapshot for snapshot in outcomes if isinstance(snapshot, Snapshot)]
            if options.to_protocol == COOPERATIVE:
                texts, is_refusal = _bounces(snapshots_read, options)
            else:
                texts = _migrations(snapshots_read, options, progress)
        write_stdout("".join(texts) if options.output is OutputForm.JSON else "\n".join(texts))
    raise typer.Exit(ExitCode.POLICY if is_refusal else ExitCode.DONE)


def _check(options: UpgradeOptions) -> None:
    """Check what does not need the input."""
    for name, protocols in _ABOUT.items():
        if getattr(options.command_line, name) not in (None, False) and options.to_protocol not in protocols:
            message = f"{option_of(name)} is about {' and '.join(f'--to {protocol}' for protocol in protocols)}"
            raise UsageError(message, fix="leave it out")
    if options.to_protocol == _STREAMS and options.broker_version not in BROKER_VERSIONS:
        problem = "is missing" if options.broker_version is None else "is not known"
        message = f"the release of the brokers {problem}: they decide by it"
        raise UsageError(message, where="--set broker.version", fix=f"give one of {', '.join(BROKER_VERSIONS)}")


def _bounces(group_snapshots: Sequence[Snapshot], options: UpgradeOptions) -> tuple[list[str], bool]:
    """Return the way to the cooperative protocol of each application, and whether that in one bounce is refused."""
    for snapshot in group_snapshots:
        if snapshot.group_protocol != "classic":
            fix = "give --to sessioned" if snapshot.group_protocol == "connect" else "there is nothing to do"
            raise UsageError(
                f"it is a {snapshot.group_protocol} group", where=snapshot.state.group.application_id, fix=fix
            )
    ways = [
        find_upgrade(
            group.state,
            group.untold_protocols,
            [note for note in group.warnings if note.code in _IN_DOUBT],
        )
        for group in group_snapshots
    ]
    names = (way.group.application_id for way in ways)
    sources = inputs_of(options.paths, names, is_selection=bool(options.application_id))
    texts = [
        f"{to_json(way, command=source.command)}\n"
        if options.output is OutputForm.JSON
        else draw_page(
            with_commands(upgrade_page(way, one_bounce=options.one_bounce), source.command),
            options.output,
            page(),
        )
        for way, source in zip(ways, sources, strict=True)
    ]
    return texts, options.one_bounce and any(way.takes_two or way.doubts for way in ways)


def _migrations(group_snapshots: Sequence[Snapshot], options: UpgradeOptions, progress: Report) -> list[str]:
    """Return what the way of each group to the streams protocol, or of each Connect group to sessioned, comes to."""
    from kstream_plan.simulation.connect_upgrade import to_sessioned  # noqa: PLC0415 - only here
    from kstream_plan.simulation.streams_migration import switch, with_given  # noqa: PLC0415 - only here

    add = 2 if options.add is None else options.add
    restart_ms = shared.USUAL_RESTART_MS if options.restart is None else options.restart
    texts = []
    for snapshot in group_snapshots:
        name = snapshot.state.group.application_id

        def on_line(number: int, total: int, name: str = name) -> None:
            progress(f"{name}: line {number} of {total}", number, total)

        migration: object
        if options.to_protocol == _SESSIONED:
            migration = to_sessioned(
                snapshot, add=add, restart_ms=restart_ms, number_of_draws=options.draws, on_row=on_line
            )
        else:
            migration = switch(
                with_given(snapshot, options.restore_rate, options.stores),
                options.broker_version or "",
                add=add,
                restart_ms=restart_ms,
                number_of_draws=options.draws,
                on_plan=on_line,
            )
        texts.append(
            f"{to_json(migration)}\n"
            if options.output is OutputForm.JSON
            else answer_text(migration, options.output, page(), verbose=False)
        )
    return texts
