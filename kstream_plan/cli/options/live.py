"""What commands are asked that look at a running group again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstream_plan.cli.options import shared, sources
from kstream_plan.cli.options.groups import Measuring
from kstream_plan.cli.options.parameters import parser
from kstream_plan.cli.options.running import Limited
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.panels import INPUT
from kstream_plan.documents.quantities import parse_duration

#: The usual time between two polls.
_USUAL_EVERY_MS = 5_000


class Live(Measuring, Settings, Limited, panel=INPUT):
    """Where the group runs, how often it is looked at, and for how long."""

    bootstrap_server: sources.BootstrapServer = None
    group: sources.GroupIds = None
    command_config: sources.CommandConfig = None
    leader_log: Annotated[
        list[str] | None,
        typer.Option(
            "--leader-log",
            metavar="FILE...",
            help="Logs of the application's instances, plain or gzip, in any order; - is standard input.",
        ),
    ] = None
    connect_url: sources.ConnectUrl = None
    acceptable_recovery_lag: int | None = None
    max_warmup_replicas: int | None = None
    num_standby_replicas: int | None = None
    probing_rebalance_interval: int | None = None
    application_id: shared.ApplicationId = None
    names: Path | None = None
    trust_reports_of: int | None = None
    every: int | None = None
    give_up_after: Annotated[
        int | None,
        typer.Option(
            "--give-up-after",
            metavar="DURATION",
            parser=parser(parse_duration),
            help="End with exit code 6 after this time (default: never).",
        ),
    ] = None

    @property
    def every_ms(self) -> int:
        """The time between two polls."""
        return _USUAL_EVERY_MS if self.every is None else self.every
