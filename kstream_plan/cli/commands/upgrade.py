"""``upgrade``: how a group gets to another rebalance protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from kstream_plan import snapshots
from kstream_plan.cli.exit_codes import ExitCode
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options import shared as options
from kstream_plan.cli.output import OutputForm, page, say
from kstream_plan.cli.progress import progress
from kstream_plan.model import Snapshot
from kstream_plan.protocols.upgrade import upgrade as find_upgrade
from kstream_plan.render.upgrade import upgrade_json, upgrade_markdown, upgrade_table

OneBounce = Annotated[
    bool, typer.Option("--one-bounce", help="Ask for one rolling bounce: shows why it is refused, exit code 3.")
]


def upgrade(
    paths: options.Snapshots,
    to_protocol: options.ToProtocol,
    one_bounce: OneBounce = False,
    application_id: options.ApplicationId = None,
    as_of: options.AsOf = None,
    output: options.Output = OutputForm.TABLE,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    java_home: options.JavaHome = None,
    debug: options.Debug = False,
) -> None:
    """Print the rolling bounces to the cooperative protocol, member by member, and why there are two."""
    assert to_protocol
    with expected_failures(debug=debug):
        with progress() as tell:
            tell("reading")
            found = snapshots.read(
                paths,
                as_of=as_of,
                application_ids=application_id or (),
                master=master,
                spark_conf=dict(spark_conf or ()),  # type: ignore[arg-type] # its parser returns pairs
                java_home=None if java_home is None else str(java_home),
                debug=debug,
            )
        states = [snapshot.state for snapshot in found if isinstance(snapshot, Snapshot)]
        ways = [(find_upgrade(state), state.group) for state in states]
        texts = []
        for way, group in ways:
            if output is OutputForm.JSON:
                texts.append(f"{upgrade_json(way, group)}\n")
            elif output is OutputForm.MARKDOWN:
                texts.append(upgrade_markdown(way, group, one_bounce=one_bounce))
            else:
                texts.append(upgrade_table(way, group, width=page().width, one_bounce=one_bounce))
        say("".join(texts) if output is OutputForm.JSON else "\n".join(texts))
    refused = one_bounce and any(way.takes_two for way, _ in ways)
    raise typer.Exit(ExitCode.POLICY if refused else ExitCode.DONE)
