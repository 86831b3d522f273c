"""The application's settings and rates as options: their names and ranges are the model's."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import Options
from kstream_plan.cli.options.shared import number_option, one_of, parser
from kstream_plan.cli.panels import SETTINGS
from kstream_plan.documents.quantities import parse_duration, parse_rate
from kstream_plan.model.settings import RACK_STRATEGIES, RANGES


def _number(setting: str, text: str, *, rare: bool = False) -> Any:
    return number_option(text, *RANGES[setting], rare=rare)


def _duration(setting: str, text: str, *, rare: bool = False) -> Any:
    """Return an option that takes its unit in its value, not in its name as the setting does."""
    parse = parser(parse_duration, *RANGES[f"{setting}_ms"], _shown_duration)
    return typer.Option(parser=parse, metavar="DURATION", hidden=rare, help=text)


def _shown_duration(milliseconds: float) -> str:
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def _positive_rate(text: str) -> float:
    value = parse_rate(text)
    if not value:
        raise ValueError("a restore rate has to be above 0")
    return value


RestoreRate = Annotated[
    float | None,
    typer.Option(
        "--restore-rate",
        metavar="RATE",
        parser=parser(_positive_rate),
        help="Restore throughput per instance, e.g. 5000/s. Without it only a lower bound of the duration is known.",
    ),
]


class Settings(Options, panel=SETTINGS):
    """The application's settings, by their names in :class:`AssignmentConfig` without ``_ms``, and its rates."""

    streams_config: shared.StreamsConfig = None
    acceptable_recovery_lag: Annotated[
        int | None,
        _number("acceptable_recovery_lag", "Largest lag, in records, at which a copy counts as caught up."),
    ] = None
    max_warmup_replicas: Annotated[int | None, _number("max_warmup_replicas", "Number of warm-ups at a time.")] = None
    num_standby_replicas: Annotated[int | None, _number("num_standby_replicas", "Number of standbys per task.")] = None
    balance_factor: Annotated[
        int | None,
        _number("balance_factor", "Largest difference in tasks between instances (balanced only).", rare=True),
    ] = None
    probing_rebalance_interval: Annotated[
        int | None, _duration("probing_rebalance_interval", "Time between probing rebalances, at least 1m.")
    ] = None
    rack_aware_assignment_tags: Annotated[
        str | None, typer.Option(metavar="TAG,...", hidden=True, help="Client tags over which standbys are spread.")
    ] = None
    rack_aware_assignment_strategy: Annotated[
        str | None, typer.Option(**one_of(RACK_STRATEGIES), hidden=True, help="Strategy against cross-rack traffic.")
    ] = None
    rack_aware_assignment_traffic_cost: Annotated[
        int | None, _number("rack_aware_assignment_traffic_cost", "Weight of cross-rack traffic.", rare=True)
    ] = None
    rack_aware_assignment_non_overlap_cost: Annotated[
        int | None, _number("rack_aware_assignment_non_overlap_cost", "Weight of task moves.", rare=True)
    ] = None
    heartbeat_interval: Annotated[
        int | None, _duration("heartbeat_interval", "Setting heartbeat.interval.ms of the main consumer.", rare=True)
    ] = None
    session_timeout: Annotated[
        int | None, _duration("session_timeout", "Setting session.timeout.ms of the main consumer.", rare=True)
    ] = None
    state_cleanup_delay: Annotated[
        int | None, _duration("state_cleanup_delay", "Time that left-over state is kept.", rare=True)
    ] = None
    stores: Annotated[
        str | None,
        typer.Option(
            "--stores",
            **one_of(("persistent", "in-memory")),
            help="Where stores are, if metrics and settings do not tell.",
        ),
    ] = None
    restore_rate: RestoreRate = None
    produce_rate: Annotated[
        float | None,
        typer.Option(
            metavar="RATE", parser=parser(parse_rate), hidden=True, help="Write rate of each task, e.g. 100/s."
        ),
    ] = None
