"""Settings and rates given by hand, to put over a snapshot's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.output import talk
from kstream_plan.documents.streams_config import load_streams_config, with_overrides
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import CONFIG_NAMES


@dataclass(frozen=True, slots=True)
class Overrides:
    """Settings by name of :class:`AssignmentConfig`, and rates in records per second; ``None``: not given."""

    settings: Mapping[str, SettingValue]
    restore_rate: float | None = None
    produce_rate: float | None = None

    def over(self, snapshot: Snapshot) -> Snapshot:
        """Return ``snapshot`` with what is given in place of its own.

        Raises:
            ConfigError: the settings do not go together.
        """
        rates = snapshot.rates
        if self.restore_rate is not None:
            rates = replace(rates, restore_per_instance=self.restore_rate)
        if self.produce_rate is not None:
            rates = replace(rates, produce_per_task=self.produce_rate)
        return replace(snapshot, config=with_overrides(snapshot.config, self.settings), rates=rates)


def overrides(asked: Settings) -> Overrides:
    """Collect the settings that are asked for: options beat the file of ``--streams-config``.

    Raises:
        ConfigError: the file cannot be read, or a value in it is wrong.
    """
    settings: dict[str, SettingValue] = {}
    if asked.streams_config is not None:
        file = load_streams_config(asked.streams_config)
        settings |= file.overrides
        for warning in file.warnings:
            talk(f"warning: {warning}")
    for name in CONFIG_NAMES:
        value = getattr(asked, name.removesuffix("_ms"))
        if value is not None:
            settings[name] = _tags(value) if name == "rack_aware_assignment_tags" else value
    return Overrides(settings, asked.restore_rate, asked.produce_rate)


def _tags(text: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())
