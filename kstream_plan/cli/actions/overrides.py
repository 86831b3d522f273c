"""Settings, rates and stores of the command line, to put over a snapshot's own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kstream_plan.cli.actions.per_application import PerApplication, per_application
from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.output import warn
from kstream_plan.documents.given_settings import GivenSettings, given_settings
from kstream_plan.documents.streams_config import StreamsConfigFile, load_streams_config
from kstream_plan.model import Snapshot
from kstream_plan.model.settings import CONFIG_NAMES


class Overrides(NamedTuple):
    """Settings of the applications' files, and what is given for all of them, which beats those."""

    files: PerApplication[StreamsConfigFile]
    common: GivenSettings

    def apply(self, snapshot: Snapshot) -> Snapshot:
        """Return ``snapshot`` with what is given in place of its own, and a note of the settings that differ."""
        file = self.files.value_for(snapshot.state.group.application_id)
        return self.common.apply(snapshot, file or StreamsConfigFile({}))


def overrides(options: Settings, *, of_workers: bool = False) -> Overrides:
    """Collect the settings that are asked for: options beat the files of ``--streams-config``.

    ``of_workers``: those are of Connect workers, and in the group's rows.
    """
    fields = ((name, getattr(options, name.removesuffix("_ms"), None)) for name in (*CONFIG_NAMES, "restore_rate"))
    settings = [*(options.settings or ()), *(setting for setting in fields if setting[1] is not None)]
    files = per_application(None if of_workers else options.streams_config, "--streams-config", settings_in)
    return Overrides(files, given_settings(settings))


def settings_in(path: Path) -> StreamsConfigFile:
    """Read a file of settings, and warn of what is strange in it."""
    file = load_streams_config(path)
    warn(file.warnings)
    return file
