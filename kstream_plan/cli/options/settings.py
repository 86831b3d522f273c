"""The application's settings and rates as options: their names and ranges are the model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

import typer

from kstream_plan.cli.options import shared
from kstream_plan.cli.options.parameters import CommandLine, Options, number_option, parser
from kstream_plan.cli.panels import SETTINGS
from kstream_plan.documents.given_settings import READING, GivenSetting
from kstream_plan.documents.own_settings import OF_SNAPSHOTS
from kstream_plan.documents.quantities import parse_duration
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import RANGES


def _number(setting: str, text: str) -> Any:
    return number_option(text, *RANGES[setting])


def _shown_duration(milliseconds: float) -> str:
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


RestoreRate = Annotated[
    float | None,
    typer.Option(
        "--restore-rate",
        metavar="RATE",
        parser=parser(OF_SNAPSHOTS["restore_rate"].parse),
        help="Restore throughput per instance, e.g. 5000/s. Without it only a lower bound of the duration is known.",
    ),
]


class Settings(Options, panel=SETTINGS):
    """The application's settings, by their names in :class:`AssignmentConfig` without ``_ms``, and its rates.

    settings: what ``--set`` puts over a snapshot.
    """

    streams_config: shared.StreamsConfig = None
    acceptable_recovery_lag: Annotated[
        int | None,
        _number("acceptable_recovery_lag", "Largest lag, in records, at which a copy counts as caught up."),
    ] = None
    max_warmup_replicas: Annotated[int | None, _number("max_warmup_replicas", "Number of warm-ups at a time.")] = None
    num_standby_replicas: Annotated[int | None, _number("num_standby_replicas", "Number of standbys per task.")] = None
    probing_rebalance_interval: Annotated[
        int | None,
        typer.Option(
            parser=parser(parse_duration, *RANGES["probing_rebalance_interval_ms"], _shown_duration),
            metavar="DURATION",
            help="Time between probing rebalances, at least 1m.",
        ),
    ] = None
    restore_rate: RestoreRate = None
    settings: list[GivenSetting] | None = None

    @property
    def command_line(self) -> Self:
        """The options of the command line, also of ``--set``."""
        options = super().command_line
        settings = [setting for setting in self.settings or () if setting.name in CommandLine.settings]
        return type(self)(**{**vars(options), "settings": settings or None})

    @property
    def setting_values(self) -> Mapping[str, SettingValue | float]:
        """What ``--set`` gives, by name."""
        return dict(self.settings or ())

    @property
    def reading(self) -> Mapping[str, Any]:
        """How lags are read, as :func:`kstream_plan.snapshots.read` takes it."""
        return {READING[name]: value for name, value in self.settings or () if name in READING}
