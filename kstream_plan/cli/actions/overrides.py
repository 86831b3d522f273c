"""Settings, rates and stores of the command line, to put over a snapshot's own; and files of one application each.

Those are given as ``ID=FILE``, as a folder of files named by application, or as one file for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from kstream_plan.cli.options.settings import Settings
from kstream_plan.cli.output import warn, write_stderr
from kstream_plan.documents.given_settings import GivenSettings, given_settings
from kstream_plan.documents.streams_config import StreamsConfigFile, load_streams_config
from kstream_plan.errors import UsageError
from kstream_plan.model import Snapshot
from kstream_plan.model.settings import CONFIG_NAMES

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class PerApplication(Generic[T]):
    """What an option gives: by application id, in a folder, and for every other application.

    A folder's file is an application's if its name is the id, whatever its ending.
    """

    option: str
    load: Callable[[Path], T]
    by_id: Mapping[str, T]
    folder: Path | None = None
    common: T | None = None

    def value_for(self, application_id: str) -> T | None:
        """Return what counts for an application; ``None`` if nothing is given."""
        if application_id in self.by_id:
            return self.by_id[application_id]
        matches = [] if self.folder is None else _files_for(self.folder, application_id)
        if len(matches) > 1:
            message = f"{matches[0].name} and {matches[1].name} are both named {application_id!r}"
            raise UsageError(
                message, where=f"{self.option} {self.folder}", fix=f"keep one, or give {self.option} ID=FILE"
            )
        return self.load(matches[0]) if matches else self.common

    def map(self, change: Callable[[T], U]) -> PerApplication[U]:
        """Return what the option gives, changed; no file is read again."""
        by_id = {application_id: change(value) for application_id, value in self.by_id.items()}
        common = None if self.common is None else change(self.common)
        return PerApplication(self.option, lambda path: change(self.load(path)), by_id, self.folder, common)

    def check_used(self, application_ids: Collection[str]) -> None:
        """Warn of what is given for an application that there is not."""
        for application_id in self.by_id:
            if application_id not in application_ids:
                write_stderr(f"warning: {self.option} {application_id}=… is for an application that is not there")


def per_application(values: Sequence[str] | None, option: str, load: Callable[[Path], T]) -> PerApplication[T]:
    """Sort out the values of an option; ``load`` reads a file."""
    load = cache(load)
    files: dict[str | None, Path] = {}
    for text in values or ():
        application_id, path = _split(text)
        if application_id in files:
            message = "is given more than once" + ("" if application_id is None else f" for {application_id!r}")
            fix = f"one for each application: {option} ID=FILE, or a folder of files named by their ids"
            raise UsageError(message, where=option, fix=fix)
        files[application_id] = path
    common = files.pop(None, None)
    folder = common if common is not None and common.is_dir() else None
    by_id = {application_id: load(path) for application_id, path in files.items() if application_id is not None}
    common_value = None if common is None or folder is not None else load(common)
    return PerApplication(option, load, by_id, folder, common_value)


def _split(text: str) -> tuple[str | None, Path]:
    """Return the application and the file; a file that is there may have a ``=`` in its name."""
    application_id, equals, path = text.partition("=")
    return (None, Path(text)) if not equals or Path(text).exists() else (application_id, Path(path))


def _files_for(folder: Path, application_id: str) -> list[Path]:
    return sorted(
        path for path in folder.iterdir() if path.is_file() and application_id in (path.name, path.with_suffix("").name)
    )


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
