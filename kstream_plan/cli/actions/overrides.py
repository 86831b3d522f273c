"""Settings, rates and stores of the command line, to put over a snapshot's own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

from kstream_plan.cli.actions.per_application import PerApplication, per_application
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.output import warn
from kstream_plan.documents.given_settings import GivenSettings
from kstream_plan.documents.streams_config import StreamsConfigFile, load_streams_config
from kstream_plan.model import Snapshot
from kstream_plan.model.scenario import SettingValue
from kstream_plan.model.settings import CONFIG_NAMES
from kstream_plan.model.snapshot import Stores


class Overrides(NamedTuple):
    """Settings of the applications' files, and what is given for all of them, which beats those."""

    files: PerApplication[StreamsConfigFile]
    common: GivenSettings

    def apply(self, snapshot: Snapshot) -> Snapshot:
        """Return ``snapshot`` with what is given in place of its own, and a note of the settings that differ."""
        file = self.files.value_for(snapshot.state.group.application_id)
        return self.common.apply(snapshot, file or StreamsConfigFile({}))


def overrides(options: Settings) -> Overrides:
    """Collect the settings that are asked for: options beat the files of ``--streams-config``."""
    settings: dict[str, SettingValue] = {}
    for name in CONFIG_NAMES:
        value = getattr(options, name.removesuffix("_ms"))
        if value is not None:
            settings[name] = _tags(value) if name == "rack_aware_assignment_tags" else value
    files = per_application(options.streams_config, "--streams-config", settings_in)
    stores = cast("Stores | None", options.stores)
    return Overrides(files, GivenSettings(settings, options.restore_rate, options.produce_rate, stores))


def settings_in(path: Path) -> StreamsConfigFile:
    """Read a file of settings, and warn of what is strange in it."""
    file = load_streams_config(path)
    warn(file.warnings)
    return file


def _tags(text: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())
