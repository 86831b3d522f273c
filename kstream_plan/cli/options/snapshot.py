"""What ``snapshot`` is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options import shared, sources
from kstream_plan.cli.options.groups import Measuring
from kstream_plan.cli.options.parameters import number_option
from kstream_plan.cli.options.running import Limited
from kstream_plan.snapshots.group_files import GroupFile, GroupFiles, group_files


class SnapshotOptions(Measuring, Limited):
    """From where a snapshot is made, what of it is wanted, what is known besides, and where it goes."""

    group_paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND=]FILE...",
            show_default=False,
            help="Logs of instances or of Connect workers, Connect's status or Kafka's tables, by content or KIND; "
            "- is stdin.",
        ),
    ] = None
    broker_version: str | None = None
    connect_url: sources.ConnectUrl = None
    generation: Annotated[int | None, number_option("Generation of the workers' logs to take.", 0, rare=True)] = None
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
    names: Path | None = None
    bootstrap_server: sources.BootstrapServer = None
    group: sources.GroupIds = None
    command_config: sources.CommandConfig = None
    offsets_topic: bool = False
    out: shared.Out = None

    @cached_property
    def group_files(self) -> GroupFiles:
        """The files, and what they hold; it is looked up in them.

        Raises:
            UsageError: they are of several kinds.
        """
        return group_files(self.group_paths or ())

    def _paths(self, kind: GroupFile) -> Sequence[str]:
        return self.group_files.paths if self.group_files.kind is kind else ()

    @property
    def leader_log(self) -> Sequence[str]:
        """Logs of Kafka Streams."""
        return self._paths(GroupFile.LEADER_LOG)

    @property
    def connect_log(self) -> Sequence[str]:
        """Logs of Connect workers."""
        return self._paths(GroupFile.CONNECT_LOG)

    @property
    def connect_status(self) -> Sequence[str]:
        """What the REST interface of Connect answered."""
        return self._paths(GroupFile.CONNECT_STATUS)

    @property
    def describe_text(self) -> Sequence[str]:
        """What Kafka's own tool printed of streams groups."""
        return self._paths(GroupFile.DESCRIBE_TEXT)

    @property
    def all_groups(self) -> bool:
        """Whether every Kafka Streams group of the cluster is asked for."""
        return self.group is not None and "*" in self.group

    @property
    def wants_history(self) -> bool:
        """Whether more than the newest generation is asked for."""
        return bool(self.everything or self.from_time or self.to_time)
