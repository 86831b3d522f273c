"""The options that commands share: same name, same meaning everywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from kstream_plan.assignors import ASSIGNORS
from kstream_plan.cli.output import OutputForm
from kstream_plan.documents import schemas as json_schemas
from kstream_plan.documents.quantities import parse_duration, parse_rate
from kstream_plan.model.settings import RACK_STRATEGIES, RANGES
from kstream_plan.plans import Trigger
from kstream_plan.protocols import PROTOCOLS
from kstream_plan.protocols.transition import COOPERATIVE


def parser(
    parse: Callable[[str], float],
    low: float = 0,
    high: float = math.inf,
    show: Callable[[float], str] = str,
) -> Callable[[str], float]:
    """Return ``parse`` with a range, whose ends it says by ``show``; its errors become usage errors."""

    def parsed(text: str) -> float:
        try:
            value = parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if not low <= value <= high:
            raise typer.BadParameter(f"{text} is {f'below {show(low)}' if value < low else f'above {show(high)}'}")
        return value

    return parsed


def _number(setting: str) -> Callable[[str], float]:
    return parser(whole_number, *RANGES[setting])


def whole_number(text: str) -> int:
    """Return the number that ``text`` is; else ``ValueError``."""
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _duration(setting: str) -> Callable[[str], float]:
    return parser(parse_duration, *RANGES[setting], _shown_duration)


def _shown_duration(milliseconds: float) -> str:
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def _positive_rate(text: str) -> float:
    value = parse_rate(text)
    if not value:
        raise ValueError("a restore rate has to be above 0")
    return value


def key_value(text: str) -> tuple[str, str]:
    """Return the two sides of ``K=V``; else a usage error."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not K=V")
    return name, value


def _one_of(choices: Iterable[str]) -> dict[str, Any]:
    """Return the settings of an option that takes one of ``choices``."""
    names = list(choices)

    def parsed(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(names)}")
        return text

    return {"parser": parsed, "metavar": f"[{'|'.join(names)}]", "autocompletion": lambda: names}


SchemaKind = Annotated[str, typer.Argument(help="Of what.", **_one_of(json_schemas.KINDS))]
Snapshots = Annotated[
    list[str],
    typer.Argument(
        metavar="SNAPSHOT...", help="Paths, folders or globs of JSON or Parquet snapshots; - is standard input."
    ),
]
SnapshotsFirst = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SNAPSHOT...",
        help="Paths, folders or globs of JSON or Parquet snapshots; - is standard input.",
        show_default=False,
    ),
]
Lags = Annotated[
    list[str] | None,
    typer.Option("--lags", metavar="PATH", help="Lag rows instead of the snapshot's own; repeatable."),
]
LagsTolerance = Annotated[
    int | None,
    typer.Option(
        "--lags-tolerance",
        metavar="DURATION",
        parser=parser(parse_duration),
        help="How much later than the snapshot a lag row may be (default 1m).",
    ),
]
LagsAsReported = Annotated[
    bool,
    typer.Option(
        "--lags-as-reported",
        help="Take copies that were caught up at the last join for as far behind as they look by now.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Ignore what is newer: 2026-11-21T12:00:00Z."),
]
ApplicationId = Annotated[
    list[str] | None,
    typer.Option("--application-id", metavar="ID", help="Only these applications; a glob, repeatable."),
]
ToProtocol = Annotated[str, typer.Option("--to", **_one_of([COOPERATIVE]), help="The protocol to get to.")]
KeepGoing = Annotated[
    bool,
    typer.Option("--keep-going", help="Report bad applications and plan the others."),
]
StreamsConfig = Annotated[
    Path | None,
    typer.Option(
        "--streams-config", metavar="FILE", help="Kafka Streams settings: .properties, or YAML with the same names."
    ),
]
AcceptableRecoveryLag = Annotated[
    int | None,
    typer.Option(parser=_number("acceptable_recovery_lag"), metavar="RECORDS", help="A copy is ready up to this lag."),
]
MaxWarmupReplicas = Annotated[
    int | None,
    typer.Option(parser=_number("max_warmup_replicas"), metavar="N", help="Copies that warm up at once."),
]
NumStandbyReplicas = Annotated[
    int | None,
    typer.Option(parser=_number("num_standby_replicas"), metavar="N", help="Standbys per task."),
]
BalanceFactor = Annotated[
    int | None,
    typer.Option(
        parser=_number("balance_factor"), metavar="N", help="Tasks by which instances may differ (balanced only)."
    ),
]
ProbingRebalanceInterval = Annotated[
    int | None,
    typer.Option(
        metavar="DURATION", parser=_duration("probing_rebalance_interval_ms"), help="Time between probes, 1m or more."
    ),
]
RackTags = Annotated[
    str | None,
    typer.Option("--rack-aware-assignment-tags", metavar="TAG,...", help="Client tags to spread standbys over."),
]
RackStrategy = Annotated[
    str | None,
    typer.Option("--rack-aware-assignment-strategy", **_one_of(RACK_STRATEGIES), help="Cross-rack traffic."),
]
TrafficCost = Annotated[
    int | None,
    typer.Option(
        "--rack-aware-assignment-traffic-cost",
        parser=_number("rack_aware_assignment_traffic_cost"),
        metavar="N",
        help="Weight of cross-rack traffic.",
    ),
]
NonOverlapCost = Annotated[
    int | None,
    typer.Option(
        "--rack-aware-assignment-non-overlap-cost",
        parser=_number("rack_aware_assignment_non_overlap_cost"),
        metavar="N",
        help="Weight of moving tasks.",
    ),
]
HeartbeatInterval = Annotated[
    int | None,
    typer.Option(
        metavar="DURATION",
        parser=_duration("heartbeat_interval_ms"),
        help="heartbeat.interval.ms of the main consumer.",
    ),
]
SessionTimeout = Annotated[
    int | None,
    typer.Option(
        metavar="DURATION", parser=_duration("session_timeout_ms"), help="session.timeout.ms of the main consumer."
    ),
]
StateCleanupDelay = Annotated[
    int | None,
    typer.Option(
        metavar="DURATION", parser=_duration("state_cleanup_delay_ms"), help="How long left-over state is kept."
    ),
]
RestoreRate = Annotated[
    float | None,
    typer.Option(
        metavar="RATE",
        parser=parser(_positive_rate),
        help="Records restored per instance: 5000/s. Without it, what restores makes the time a floor.",
    ),
]
ProduceRate = Annotated[
    float | None,
    typer.Option(metavar="RATE", parser=parser(parse_rate), help="Records written per task: 100/s."),
]
AssignorName = Annotated[
    str,
    typer.Option("--assignor", **_one_of(sorted(ASSIGNORS)), help="Who decides."),
]
ProtocolName = Annotated[
    str,
    typer.Option("--protocol", **_one_of(sorted(PROTOCOLS)), help="How the group gets there."),
]
TriggerName = Annotated[
    str | None,
    typer.Option(
        "--trigger",
        **_one_of(trigger.value for trigger in Trigger if trigger is not Trigger.FOLLOW_UP),
        help="What starts round 1 (default: join if an instance is new, else manual).",
    ),
]
MaxRounds = Annotated[
    int | None,
    typer.Option(
        parser=parser(whole_number, 1),
        metavar="N",
        help="Give up after so many (default: 4 x (stateful tasks + 10)).",
    ),
]
Bounds = Annotated[bool, typer.Option("--bounds", help="Also find the least state that has to be restored.")]
Output = Annotated[OutputForm, typer.Option("--output", help="What stdout shows.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the JSON to this file."),
]
Full = Annotated[bool, typer.Option("--full", help="JSON with each round's outcome in full.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Every step with its reason; of several applications all in full.")
]
ShowRanks = Annotated[bool, typer.Option("--show-ranks", help="Who could run each task.")]
FailOnChanges = Annotated[bool, typer.Option("--fail-on-changes", help="Exit code 5 if anything would move.")]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark master (default: local).")]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="K=V", parser=key_value, help="A Spark setting; repeatable."),
]
JavaHome = Annotated[
    Path | None,
    typer.Option(
        "--java-home", metavar="DIR", help="The Java to run Spark on, instead of the one that was installed along."
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and Spark's log.")]
RequireGeneration = Annotated[
    int | None,
    typer.Option(
        "--require-generation",
        metavar="N",
        parser=parser(whole_number),
        help="Refuse a plan that starts from another generation.",
    ),
]
MaxSnapshotAge = Annotated[
    int | None,
    typer.Option(
        "--max-snapshot-age",
        metavar="DURATION",
        parser=parser(parse_duration),
        help="Refuse a plan made from an older snapshot.",
    ),
]
