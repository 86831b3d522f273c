"""What ``snapshot`` is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.groups import Limited, Measuring
from kstream_plan.cli.options.shared import number_option, one_of
from kstream_plan.snapshots.leader_log.log_times import DATE_ORDERS


class SnapshotOptions(Measuring, Limited):
    """From where a snapshot is made, what of it is wanted, what is known besides, and where it goes."""

    more_logs: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="More logs of the same kind.", show_default=False)
    ] = None
    leader_log: Annotated[
        list[str] | None,
        typer.Option(
            "--leader-log",
            metavar="FILE...",
            help="Logs of the application's instances, plain or gzip, in any order; - is standard input.",
        ),
    ] = None
    describe_text: Annotated[
        list[str] | None,
        typer.Option(
            "--describe-text",
            metavar="FILE...",
            help="Saved text of kafka-streams-groups.sh --describe: --members, --state and --offsets, best --verbose.",
        ),
    ] = None
    broker_version: shared.BrokerVersion = None
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
    connect_url: Annotated[
        list[str] | None,
        typer.Option(
            "--connect-url", metavar="URL", help="REST interface of a running worker, http://host:8083; repeatable."
        ),
    ] = None
    connect_config: Annotated[
        list[str] | None,
        typer.Option(
            "--connect-config",
            hidden=True,
            metavar="[ID=]FILE",
            help="connect-distributed.properties of a worker, or a folder with one file per group.",
        ),
    ] = None
    generation: Annotated[int | None, number_option("Generation to take from --connect-log.", 0, rare=True)] = None
    now: shared.Now = None
    log_dates: Annotated[
        str | None,
        typer.Option(
            "--log-dates",
            hidden=True,
            **one_of(DATE_ORDERS),
            help="Order of day, month and year in the logs' dates, where they do not tell it.",
        ),
    ] = None
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
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="FILE", help="Hosts and racks by process id, client id or host (YAML, JSON)."),
    ] = None
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            metavar="HOST:PORT",
            help="Brokers of the running group's cluster, separated by commas; needs the extra [kafka].",
        ),
    ] = None
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="ID", help="Running group, by its application.id; repeatable."),
    ] = None
    all_groups: Annotated[bool, typer.Option("--all-groups", help="Take every Kafka Streams group of the cluster.")] = (
        False
    )
    command_config: Annotated[
        Path | None,
        typer.Option(
            "--command-config", metavar="FILE", help="client.properties as for Kafka's own tools: login and TLS."
        ),
    ] = None
    offsets_topic: Annotated[
        bool, typer.Option("--offsets-topic", help="Read every generation of the group from __consumer_offsets.")
    ] = False
    out: shared.Out = None

    @property
    def wants_history(self) -> bool:
        """Whether more than the newest generation is asked for."""
        return bool(self.everything or self.from_time or self.to_time)
