"""``upgrade``: how a group gets to another rebalance protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kstream_plan import snapshots
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Limited, Spark
from kstream_plan.cli.options.parameters import Options, option_of, takes
from kstream_plan.cli.options.settings import RestoreRate
from kstream_plan.cli.options.shared import one_of
from kstream_plan.cli.output import OutputForm, page, say
from kstream_plan.cli.panels import INPUT
from kstream_plan.cli.progress import Report, progress
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.protocols.transition import COOPERATIVE
from kstream_plan.protocols.upgrade import upgrade as find_upgrade
from kstream_plan.render.upgrade import upgrade_json, upgrade_markdown, upgrade_table

_STREAMS = "streams"
_SESSIONED = "sessioned"
#: What is asked of ways to one protocol, or to two, only.
_ABOUT = {
    "broker_version": (_STREAMS,),
    "restore_rate": (_STREAMS,),
    "add": (_STREAMS, _SESSIONED),
    "restart": (_STREAMS, _SESSIONED),
    "draws": (_STREAMS, _SESSIONED),
    "one_bounce": (COOPERATIVE,),
}
_MOST_ADDED = 1_000


class Debugging(Options, panel=INPUT):
    """What is shown of what goes wrong."""

    debug: shared.Debug = False


class UpgradeOptions(Spark, Limited, Debugging):
    """What ``upgrade`` is asked."""

    paths: shared.Snapshots
    to_protocol: Annotated[
        str, typer.Option("--to", **one_of([COOPERATIVE, _STREAMS, _SESSIONED]), help="Protocol to upgrade to.")
    ]
    one_bounce: Annotated[
        bool,
        typer.Option(
            "--one-bounce", help="Ask for a single rolling bounce; it is refused with its reason and exit code 3."
        ),
    ] = False
    broker_version: shared.BrokerVersion = None
    add: Annotated[
        int | None,
        typer.Option(
            "--add",
            metavar="N",
            parser=shared.parser(shared.whole_number, 1, _MOST_ADDED),
            help="Number of instances or workers that join on either side (not cooperative; default: 2).",
        ),
    ] = None
    restart: shared.Restart = None
    restore_rate: RestoreRate = None
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            metavar="N",
            parser=shared.parser(shared.whole_number, 1, 1_000),
            help="Number of random simulations for each side (not cooperative; default: by size, at most 10).",
        ),
    ] = None
    application_id: shared.ApplicationId = None
    as_of: shared.AsOf = None
    output: shared.Output = OutputForm.TABLE


@takes(UpgradeOptions)
def upgrade(asked: UpgradeOptions) -> None:
    """Print the way to another protocol: to cooperative, to a streams group, or of Connect workers to sessioned."""
    refused = False
    with expected_failures(debug=asked.debug):
        _check(asked)
        with progress() as tell:
            tell("reading")
            found = snapshots.read(
                asked.paths,
                as_of=asked.as_of,
                application_ids=asked.application_id or (),
                master=asked.master,
                spark_conf=dict(asked.spark_conf or ()),
                java_home=None if asked.java_home is None else str(asked.java_home),
                debug=asked.debug,
            )
            read = [snapshot for snapshot in found if isinstance(snapshot, Snapshot)]
            if asked.to_protocol == _STREAMS:
                texts = _switches(read, asked, tell)
            elif asked.to_protocol == _SESSIONED:
                texts = _to_sessioned(read, asked, tell)
            else:
                texts, refused = _bounces(read, asked)
        say("".join(texts) if asked.output is OutputForm.JSON else "\n".join(texts))
    raise typer.Exit(ExitCode.POLICY if refused else ExitCode.DONE)


def _check(asked: UpgradeOptions) -> None:
    """Check what does not need the input.

    Raises:
        UsageError: options that do not go together.
    """
    for name, protocols in _ABOUT.items():
        if getattr(asked, name) not in (None, False) and asked.to_protocol not in protocols:
            what = f"{option_of(name)} is about {' and '.join(f'--to {protocol}' for protocol in protocols)}"
            raise UsageError(what, fix="leave it out")
    if asked.to_protocol == _STREAMS and asked.broker_version not in BROKER_VERSIONS:
        given = "is missing" if asked.broker_version is None else "is not known"
        what = f"the release of the brokers {given}: they decide by it"
        raise UsageError(what, where="--broker-version", fix=f"give one of {', '.join(BROKER_VERSIONS)}")


def _bounces(read: Sequence[Snapshot], asked: UpgradeOptions) -> tuple[list[str], bool]:
    """Return the way to the cooperative protocol of each application, and whether that in one bounce is refused.

    Raises:
        UsageError: one is no classic group.
    """
    for of in read:
        if of.group_protocol != "classic":
            fix = "give --to sessioned" if of.group_protocol == "connect" else "there is nothing to do"
            raise UsageError(f"it is a {of.group_protocol} group", where=of.state.group.application_id, fix=fix)
    ways, texts = [(find_upgrade(of.state, of.untold_protocols), of.state.group) for of in read], []
    for way, group in ways:
        if asked.output is OutputForm.JSON:
            texts.append(f"{upgrade_json(way, group)}\n")
        elif asked.output is OutputForm.MARKDOWN:
            texts.append(upgrade_markdown(way, group, one_bounce=asked.one_bounce))
        else:
            texts.append(upgrade_table(way, group, width=page().width, one_bounce=asked.one_bounce))
    return texts, asked.one_bounce and any(way.takes_two for way, _ in ways)


def _switches(read: Sequence[Snapshot], asked: UpgradeOptions, tell: Report) -> list[str]:
    """Return what the switch of each application to a streams group comes to."""
    from kstream_plan.render.switch import switch_json, switch_markdown, switch_table  # noqa: PLC0415 - only here
    from kstream_plan.simulation.switch import switch, with_restore_rate  # noqa: PLC0415 - as above

    texts = []
    for of in read:
        name = of.state.group.application_id
        found = switch(
            of if asked.restore_rate is None else with_restore_rate(of, asked.restore_rate),
            asked.broker_version or "",
            add=2 if asked.add is None else asked.add,
            restart_ms=shared.USUAL_RESTART_MS if asked.restart is None else asked.restart,
            number_of_draws=asked.draws,
            on_plan=lambda done, all_, name=name: tell(f"{name}: line {done} of {all_}", done, all_),  # type: ignore[misc]
        )
        shown = page()
        if asked.output is OutputForm.JSON:
            texts.append(f"{switch_json(found)}\n")
        elif asked.output is OutputForm.MARKDOWN:
            texts.append(switch_markdown(found))
        else:
            texts.append(switch_table(found, width=shown.width, colour=shown.colour))
    return texts


def _to_sessioned(read: Sequence[Snapshot], asked: UpgradeOptions, tell: Report) -> list[str]:
    """Return the way of each Connect group to the protocol ``sessioned``."""
    from kstream_plan.render.sessioned import (  # noqa: PLC0415 - only here
        sessioned_json,
        sessioned_markdown,
        sessioned_table,
    )
    from kstream_plan.simulation.sessioned import to_sessioned  # noqa: PLC0415 - as above

    texts = []
    for of in read:
        name = of.state.group.application_id
        found = to_sessioned(
            of,
            add=2 if asked.add is None else asked.add,
            restart_ms=shared.USUAL_RESTART_MS if asked.restart is None else asked.restart,
            number_of_draws=asked.draws,
            on_row=lambda done, all_, name=name: tell(f"{name}: line {done} of {all_}", done, all_),  # type: ignore[misc]
        )
        shown = page()
        if asked.output is OutputForm.JSON:
            texts.append(f"{sessioned_json(found)}\n")
        elif asked.output is OutputForm.MARKDOWN:
            texts.append(sessioned_markdown(found))
        else:
            texts.append(sessioned_table(found, width=shown.width, colour=shown.colour))
    return texts
