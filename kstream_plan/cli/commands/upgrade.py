"""``upgrade``: how a group gets to another rebalance protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from kstream_plan import snapshots
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Limited, Spark
from kstream_plan.cli.options.parameters import Options, takes
from kstream_plan.cli.options.shared import one_of
from kstream_plan.cli.output import OutputForm, page, say
from kstream_plan.cli.progress import progress
from kstream_plan.model import Snapshot
from kstream_plan.protocols.transition import COOPERATIVE
from kstream_plan.protocols.upgrade import upgrade as find_upgrade
from kstream_plan.render.upgrade import upgrade_json, upgrade_markdown, upgrade_table


class Debugging(Options):
    """What is shown of what goes wrong."""

    debug: shared.Debug = False


class UpgradeOptions(Spark, Limited, Debugging):
    """What ``upgrade`` is asked."""

    paths: shared.Snapshots
    to_protocol: Annotated[str, typer.Option("--to", **one_of([COOPERATIVE]), help="The protocol to get to.")]
    one_bounce: Annotated[
        bool, typer.Option("--one-bounce", help="Ask for one rolling bounce: shows why it is refused, exit code 3.")
    ] = False
    application_id: shared.ApplicationId = None
    as_of: shared.AsOf = None
    output: shared.Output = OutputForm.TABLE


@takes(UpgradeOptions)
def upgrade(asked: UpgradeOptions) -> None:
    """Print the rolling bounces to the cooperative protocol, member by member, and why there are two."""
    with expected_failures(debug=asked.debug):
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
        states = [snapshot.state for snapshot in found if isinstance(snapshot, Snapshot)]
        ways = [(find_upgrade(state), state.group) for state in states]
        texts = []
        for way, group in ways:
            if asked.output is OutputForm.JSON:
                texts.append(f"{upgrade_json(way, group)}\n")
            elif asked.output is OutputForm.MARKDOWN:
                texts.append(upgrade_markdown(way, group, one_bounce=asked.one_bounce))
            else:
                texts.append(upgrade_table(way, group, width=page().width, one_bounce=asked.one_bounce))
        say("".join(texts) if asked.output is OutputForm.JSON else "\n".join(texts))
    refused = asked.one_bounce and any(way.takes_two for way, _ in ways)
    raise typer.Exit(ExitCode.POLICY if refused else ExitCode.DONE)
