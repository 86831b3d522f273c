"""What ``snapshot`` is asked."""

from __future__ import annotations

from typing import Annotated

import typer

from kstream_plan.cli.options import shared, sources
from kstream_plan.cli.options.groups import Measuring
from kstream_plan.cli.options.running import Limited
from kstream_plan.cli.options.values import number_option


class SnapshotOptions(Measuring, Limited):
    """From where a snapshot is made, what of it is wanted, what is known besides, and where it goes."""

    more_logs: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="More logs of the same kind.", show_default=False)
    ] = None
    leader_log: sources.LeaderLog = None
    describe_text: Annotated[
        list[str] | None,
        typer.Option(
            "--describe-text",
            metavar="FILE...",
            help="Saved text of kafka-streams-groups.sh --describe: --members, --state and --offsets, best --verbose.",
        ),
    ] = None
    broker_version: str | None = None
    connect_log: Annotated[
        list[str] | None,
        typer.Option(
            "--connect-log",
            metavar="FILE...",
            help="Logs of all Kafka Connect workers, plain or gzip, in any order; - is standard input.",
        ),
    ] = None
    connect_status: Annotated[
        str | None,
        typer.Option(
            "--connect-status",
            metavar="FILE",
            help="Saved JSON of GET /connectors?expand=status&expand=info; - is standard input.",
        ),
    ] = None
    connect_url: sources.ConnectUrl = None
    connect_config: sources.ConnectConfig = None
    generation: Annotated[int | None, number_option("Generation to take from --connect-log.", 0, rare=True)] = None
    now: int | None = None
    log_dates: str | None = None
    listed: Annotated[
        bool,
        typer.Option("--list", help="List the generations found, with instances (threads), instead of a snapshot."),
    ] = False
    as_of: shared.AsOf = None
    from_time: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Make a history of the generations from this time on.")
    ] = None
    to_time: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Make a history of the generations up to this time.")
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="Make a history of all generations.")] = False
    application_id: shared.ApplicationId = None
    streams_config: shared.StreamsConfig = None
    names: sources.Names = None
    bootstrap_server: sources.BootstrapServer = None
    group: sources.GroupIds = None
    command_config: sources.CommandConfig = None
    offsets_topic: bool = False
    out: shared.Out = None

    @property
    def all_groups(self) -> bool:
        """Whether every Kafka Streams group of the cluster is asked for."""
        return self.group is not None and "*" in self.group

    @property
    def wants_history(self) -> bool:
        """Whether more than the newest generation is asked for."""
        return bool(self.everything or self.from_time or self.to_time)
