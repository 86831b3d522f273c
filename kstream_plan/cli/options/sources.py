"""Options that say where a running group is asked: the same for a snapshot of it and for following it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConnectUrl = Annotated[
    list[str] | None,
    typer.Option(
        "--connect-url", metavar="URL", help="REST interface of a running worker, http://host:8083; repeatable."
    ),
]
BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="Brokers of the running group's cluster, separated by commas; needs the extra [kafka].",
    ),
]
GroupIds = Annotated[
    list[str] | None,
    typer.Option(
        "--group", metavar="ID", help="Running group, by its application.id; repeatable; '*' in snapshot: all."
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option("--command-config", metavar="FILE", help="client.properties as for Kafka's own tools: login and TLS."),
]
